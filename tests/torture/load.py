"""Clients under torture: each asks a teacher and repeats the call, at any server, until it is answered or refused.

  load.py FOLDER SEED CLIENTS QUERIES     reads FOLDER/people.json; ends when FOLDER/stop is there, each client with its last answer

What was answered goes to FOLDER/answers.jsonl, a line a key: who asked, at what times by this machine's monotonic clock from the first
try to the answer, what the answer was. A steward beside them opens teachers whose budgets run dry and submits jobs (jobs.jsonl)."""
import collections
import json
import os
import pathlib
import random
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "siege"))
from house import request, whole_answer  # noqa: E402
import world  # noqa: E402

SERVERS = [world.ADDRESS[name] for name in ("s1", "s2", "s3")]
PATIENCE = 8  # seconds that a client waits for an answer
LINES = "".join(json.dumps({"expert": f"e{i % 40}", "states": [[0.01 * i, t, 0, 0.1] for t in range(5)],
                            "actions": [(i + t) % 2 for t in range(4)], "rewards": [1] * 4,
                            "terminated": True, "truncated": False}) + "\n" for i in range(80))


class Caller:
    """Connections of one thread, one to each server."""

    def __init__(self, seed, name):
        self.random, self.wires, self.statuses = random.Random(f"{seed} {name}"), {}, collections.Counter()

    def once(self, server, text):
        """Status and body; (0, b"") when no answer came."""
        try:
            wire = self.wires.get(server)
            if not wire:
                wire = self.wires[server] = socket.create_connection((server, world.PORT), 3)
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                wire.settimeout(PATIENCE)
            wire.sendall(text)
            got, came = None, b""
            while not got:
                more = wire.recv(65536)
                if not more:
                    raise ConnectionError
                came += more
                got = whole_answer(came)
            if b"\r\nConnection: close" in got[0].head:
                self.wires.pop(server).close()
            return got[0].status, got[0].body
        except OSError:
            wire = self.wires.pop(server, None)
            if wire:
                wire.close()
            return 0, b""

    def call(self, key, *what, **options):
        """Repeats the call until it has an answer that counts. Gives a row for the log."""
        text = request(*what, key=key, **options)
        begun, tries, wait = time.monotonic(), 0, 0.05
        while True:
            server = self.random.choice(SERVERS)
            tries += 1
            status, body = self.once(server, text)
            self.statuses[status] += 1
            if 200 <= status < 300 or (400 <= status < 500 and status not in (408, 409, 425, 429)):
                return {"key": key, "status": status, "body": body.decode(), "server": server, "begin": begun, "end": time.monotonic(),
                        "tries": tries}
            time.sleep(wait * self.random.uniform(0.5, 1))
            wait = min(2 * wait, 1)


class Load:
    def __init__(self, folder, seed, queries):
        self.folder, self.seed, self.queries = folder, seed, queries
        self.people = json.loads(pathlib.Path(folder, "people.json").read_text())
        self.lock, self.callers = threading.Lock(), []
        self.answers, self.jobs = open(f"{folder}/answers.jsonl", "w"), open(f"{folder}/jobs.jsonl", "w")
        self.plenty, self.scarce = [], []  # teachers with budgets for all of it, and with small ones
        self.answered = 0

    def stopped(self):
        return os.path.exists(self.folder + "/stop")

    def write(self, file, row, **more):
        with self.lock:
            file.write(json.dumps(row | more) + "\n")
            file.flush()

    def caller(self, name):
        self.callers.append(Caller(self.seed, name))
        return self.callers[-1]

    def client(self, number):
        caller = self.caller(number)
        student = self.people["students"][number % len(self.people["students"])]
        count = 0
        while not self.stopped() and (not self.queries or self.answered < self.queries):
            count += 1
            scarce = self.scarce and caller.random.random() < 0.2
            teacher = caller.random.choice(self.scarce[-3:] if scarce else self.plenty)
            question = self.question(caller.random)
            row = caller.call(f"{number}-{count}", "POST", f"/v1/teachers/{teacher}/queries", student["token"], question)
            self.write(self.answers, row, client=student["id"], teacher=teacher, question=question)
            with self.lock:
                self.answered += len(question.get("states", [1])) if row["status"] == 200 else 0

    @staticmethod
    def question(chance):
        """About one state, every other time; else about up to 64, or up to 1,024."""
        most = chance.choice([1, 1, 1, 1, 1, 64, 64, 64, 64, 1024])
        states = [[round(chance.uniform(-0.05, 0.05), 4) for _ in range(4)] for _ in range(chance.randint(1, most))]
        return {"state": states[0]} if most == 1 else {"states": states}

    # ---- the steward

    def made(self, caller, key, path, body, **options):
        row = caller.call(key, "POST", path, self.people["steward"]["token"], body, **options)
        if row["status"] >= 300:
            raise SystemExit(f"load: {path}: {row['status']} {row['body'][:300]}")
        return json.loads(row["body"] or "{}")

    def teacher(self, caller, key, epsilon, client_epsilon, radius):
        layers = [{"weight": [[0.3, 0.1, -0.2, 0.4], [-0.1, 0.2, 0.5, 0.3]], "bias": [0.1, 0]},
                  {"weight": [[0.5, -0.3], [-0.4, 0.6]], "bias": [0, 0.1]}]
        policy = self.made(caller, key + "-policy", "/v1/policies", {
            "name": "p", "environment": "cartpole", "network": {"activation": "tanh", "output": "softmax", "layers": layers}})["id"]
        body = {"policy": policy, "mechanism": {"name": "dirichlet", "concentration": 20, "min_probability": 0.1},
                "adjacency": {"unit": "observation", "radius": radius}, "accounting": "renyi",
                "budget": {"epsilon": epsilon, "delta": 1e-5}, "client_budget": {"epsilon": client_epsilon, "delta": 1e-5}}
        return self.made(caller, key, "/v1/teachers", body)["id"]

    def dataset(self, caller, key):
        made = self.made(caller, key, "/v1/datasets", {
            "name": "walks", "environment": "cartpole", "nominal_experts": 40, "budget": {"epsilon": 8, "delta": 1e-5}})["id"]
        self.made(caller, key + "-data", f"/v1/datasets/{made}/trajectories", LINES, kind="application/x-ndjson")
        self.made(caller, key + "-seal", f"/v1/datasets/{made}:seal", None)
        return made

    def open_plenty(self):
        caller = self.caller("owner")
        self.plenty = [self.teacher(caller, f"plenty-{n}", 100, 100, 1e-5) for n in range(4)]

    def steward(self):
        """Opens a teacher that runs dry and submits two jobs, again and again; after 16 jobs their dataset's budget is spent."""
        caller, count = self.caller("steward"), 0
        while not self.stopped():
            if count % 10 == 0:
                dataset = self.dataset(caller, f"data-{count}")
            self.scarce.append(self.teacher(caller, f"scarce-{count}", 2, 0.95, 0.03))
            for n in range(2):
                job = {"algorithm": "cql", "mechanism": "dpsgd", "dataset": dataset,
                       "privacy": {"force": True, "epsilon": 0.5, "delta": 6e-7},
                       "parameters": {"hidden": [16], "batch_size": 8, "steps": caller.random.choice([50, 2000, 20000])}}
                row = caller.call(f"job-{count}-{n}", "POST", "/v1/jobs", self.people["steward"]["token"], job)
                self.write(self.jobs, row, dataset=dataset)
            count += 1
            for _ in range(40):
                if not self.stopped():
                    time.sleep(0.2)


def main():
    load = Load(sys.argv[1], sys.argv[2], int(sys.argv[4]))
    load.open_plenty()
    threads = [threading.Thread(target=load.client, args=(n,)) for n in range(int(sys.argv[3]))]
    threads.append(threading.Thread(target=load.steward))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pathlib.Path(load.folder, "statuses.json").write_text(json.dumps(sum((caller.statuses for caller in load.callers), collections.Counter())))


if __name__ == "__main__":
    main()
