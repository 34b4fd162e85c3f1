"""Several servers and workers on one PostgreSQL database (scripts/test-postgres).

  servers_test.py [CASE]...

$TACET is the program, $POSTGRES_TEST_DATABASE the server (scripts/with-postgres). LONG=1 waits until the lease of a paused worker
has ended by itself."""
import atexit
import collections
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/siege"))
from house import Wire, request  # noqa: E402

TACET = os.environ["TACET"]
PLACE = os.environ["POSTGRES_TEST_DATABASE"]
KEYS = "/.well-known/jwks.json"
STATE = {"state": [0.01, -0.02, 0.03, 0.04]}
LINES = "".join(json.dumps({"expert": f"e{i % 40}", "states": [[0.01 * i, t, 0, 0.1] for t in range(5)],
                            "actions": [(i + t) % 2 for t in range(4)], "rewards": [1] * 4,
                            "terminated": True, "truncated": False}) + "\n" for i in range(80))
folder = tempfile.TemporaryDirectory(prefix="tacet-servers-")
running = []
wrong = []


@atexit.register
def end_all():
    for process in running:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()


def expect(holds, what):
    if not holds:
        wrong.append(what)
        print("servers_test: failed:", what, file=sys.stderr, flush=True)


def wait_until(what, holds, seconds=60):
    until = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > until:
            raise SystemExit("servers_test: it did not happen: " + what)
        time.sleep(0.05)
    return found


def sql(text, database="postgres"):
    return subprocess.run(["psql", "-qAt", f"postgresql:///{database}?{PLACE}", "-c", text], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.strip()


def tacet(*words, text=None):
    return subprocess.run([TACET, *words], input=text, capture_output=True, text=True)


class Service:
    """One database, and processes on it, each with a directory of its own and the same key."""
    count = 0

    def __init__(self):
        Service.count += 1
        self.name = f"servers_{os.getpid()}_{Service.count}"
        self.url = f"postgresql:///{self.name}?{PLACE}"
        sql(f"CREATE DATABASE {self.name}")
        self.processes, self.directories = [], 0
        self.keys = f"{folder.name}/{self.name}-keys"
        self.first = self.directory(None)
        made = tacet("client", "create", "--data", self.first, "--database", self.url, "--role", "admin", "--name", "first")
        self.admin = made.stdout.strip()
        self.key = tacet("key", "export", "--data", self.first).stdout

    def directory(self, key):
        self.directories += 1
        path = f"{folder.name}/{self.name}-{self.directories}"
        if key:
            taken = tacet("key", "import", "--data", path, text=key)
            expect(taken.returncode == 0, f"key import: {taken.stderr}")
        return path

    def begin(self, command, directory, *flags):
        log = open(directory + ".log", "ab")
        process = subprocess.Popen([TACET, command, "--data", directory, "--database", self.url, "--keys-dir", self.keys,
                                    *flags], stdout=subprocess.PIPE, stderr=log, text=True)
        running.append(process)
        self.processes.append(process)
        process.line = process.stdout.readline().strip()
        process.directory = directory
        if not process.line:
            raise SystemExit(f"tacet {command} did not start: " + open(directory + ".log").read()[-1000:])
        return process

    def serve(self, *flags, directory=None):
        if not directory:
            directory = self.directory(self.key) if self.processes else self.first
        process = self.begin("serve", directory, "--listen", "127.0.0.1:0", *flags)
        process.wire = Wire(int(process.line.rsplit(":", 1)[1]))
        return process

    def work(self, *flags):
        return self.begin("work", self.directory(self.key), *flags)

    def person(self, server, role):
        return server.wire.make("POST", "/v1/clients", self.admin, {"name": role, "role": role})

    def teacher(self, server, steward, budget, client_budget, **more):
        policy = {"name": "p", "environment": "cartpole", "network": {
            "activation": "tanh", "output": "softmax",
            "layers": [{"weight": [[0.3, 0.1, -0.2, 0.4], [-0.1, 0.2, 0.5, 0.3]], "bias": [0.1, 0]},
                       {"weight": [[0.5, -0.3], [-0.4, 0.6]], "bias": [0, 0.1]}]}}
        body = {"policy": server.wire.make("POST", "/v1/policies", steward, policy)["id"],
                "mechanism": {"name": "dirichlet", "concentration": 20, "min_probability": 0.1},
                "adjacency": {"unit": "observation", "radius": 0.01}, "accounting": "renyi",
                "budget": {"epsilon": budget, "delta": 1e-5},
                "client_budget": {"epsilon": client_budget, "delta": 1e-5}, **more}
        return server.wire.make("POST", "/v1/teachers", steward, body)["id"]

    def verify(self):
        """What an auditor computes from the export: the ledger adds up, nothing is above its limit."""
        out = subprocess.run([TACET, "export", "--data", self.first, "--database", self.url], capture_output=True)
        checked = subprocess.run([TACET, "verify", "-"], input=out.stdout, capture_output=True)
        expect(checked.returncode == 0, f"the ledger: {out.stderr[-300:]}{checked.stdout[-500:]}{checked.stderr[-300:]}")
        over = sql("SELECT count(*) FROM tacet.ledger_accounts WHERE spent_units + held_units > limit_units", self.name)
        expect(over == "0", f"{over} accounts are above their limits")

    def close(self):
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.processes:
            process.wait()
        sql(f"DROP DATABASE {self.name} WITH (FORCE)")


def ask(wire, token, teacher, key):
    return wire.ask("POST", f"/v1/teachers/{teacher}/queries", token, STATE, key=key)


def two_spend_one_account():
    """16 clients ask through both servers until all is spent; one server is killed on the way."""
    service = Service()
    a, b = service.serve(), service.serve()
    steward = service.person(a, "steward")["token"]
    students = [service.person(b, "student")["token"] for _ in range(16)]
    teacher = service.teacher(a, steward, 2, 2)
    answered, refused, lock = {}, collections.Counter(), threading.Lock()
    killed = threading.Event()

    def spend(number):
        wires = [Wire(a.wire.port), Wire(b.wire.port)]
        spent = count = 0
        while spent < 3:
            count += 1
            key, server = f"{number}-{count}", (number + count) % 2
            if killed.is_set():
                server = 0
            answer = ask(wires[server], students[number], teacher, key)
            if answer.status == 0:  # killed: the same call again, elsewhere
                answer = ask(wires[0], students[number], teacher, key)
            with lock:
                if answer.status == 200:
                    answered[number, key] = answer.body
                else:
                    refused[answer.status] += 1
                if len(answered) == 60 and not killed.is_set():
                    killed.set()
                    b.kill()
            spent = spent + 1 if answer.status in (403, 409, 402, 429) else 0

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(spend, n) for n in range(16)]:
            done.result()
    expect(killed.is_set(), f"{len(answered)} answers are too few to kill a server on the way")
    expect(set(refused) == {403}, f"refusals: {dict(refused)}")
    b = service.serve(directory=b.directory)
    for (number, key), body in answered.items():
        again = ask(b.wire, students[number], teacher, key)
        expect(again.status == 200 and again.body == body, f"{number} {key} was answered anew: {again.status}")
    cap = service.name, "SELECT spent_units, limit_units, entries FROM tacet.ledger_accounts WHERE kind = 'teacher'"
    spent, limit, entries = map(int, sql(cap[1], cap[0]).split("|"))
    each = spent // (entries - 1)
    expect(spent <= limit and spent == each * (entries - 1) and limit - spent < each,
           f"{entries} entries spent {spent} of {limit}")
    stored = int(sql("SELECT count(*) FROM tacet.answers WHERE key ~ '^[0-9]+-[0-9]+$'", service.name))
    expect(entries - 1 == stored >= len(answered), f"{entries} entries, {stored} stored, {len(answered)} seen")
    service.verify()
    service.close()
    print(f"two_spend_one_account: {len(answered)} answers, {dict(refused)}")


def one_key_at_both_gets_one_answer():
    service = Service()
    a, b = service.serve("--workers", "0"), service.serve("--workers", "0")
    steward, student = (service.person(a, role) for role in ("steward", "student"))
    ready = b.wire.ask("GET", "/v2/health/ready")
    expect(ready.status == 200, f"ready: {ready}")
    strange = b.wire.ask("GET", "/v1/teachers", "tct_\udcff_" + 64 * "0")  # the byte 0xFF: no UTF-8
    expect(strange.status == 401, f"a token of strange bytes: {strange}")
    teacher = service.teacher(a, steward["token"], 5, 5)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for n in range(10):
            both = [pool.submit(ask, server.wire, student["token"], teacher, f"key-{n}") for server in (a, b)]
            first, second = (answer.result() for answer in both)
            expect(first.status == second.status == 200 and first.body == second.body, f"key-{n}: {first} {second}")
    entries = sql("SELECT entries FROM tacet.ledger_accounts WHERE kind = 'teacher'", service.name)
    expect(entries == "11", f"10 keys made {entries} entries")
    # What one server has ended, the other knows.
    closed = a.wire.ask("POST", f"/v1/teachers/{teacher}:close", steward["token"])
    expect(closed.status == 200, f"close: {closed}")
    answer = ask(b.wire, student["token"], teacher, "late")
    expect(answer.status == 410 and b"closed" in answer.body, f"closed on another server: {answer}")
    revoked = a.wire.ask("DELETE", f"/v1/clients/{student['id']}", service.admin)
    expect(revoked.status in (200, 204), f"revoke: {revoked}")
    answer = b.wire.ask("GET", "/v1/teachers", student["token"])
    expect(answer.status == 401, f"revoked on another server: {answer}")
    service.verify()
    service.close()


def a_batch_takes_few_statements():
    """What a batch of questions sends to PostgreSQL, counted in PostgreSQL's log: so many statements for the batch, none for each
    question. The questions arrive while the batch waits for another session, which has the lock of writers, and join it."""
    service = Service()
    service.url += "&options=-c%20log_statement%3Dall"
    a = service.serve("--workers", "0")
    steward, student = (service.person(a, role)["token"] for role in ("steward", "student"))
    teacher = service.teacher(a, steward, 50, 50)
    ask(a.wire, student, teacher, "first")  # opens the account, prepares the statements
    ask(a.wire, student, teacher, "second")

    def metric(name):
        text = a.wire.ask("GET", "/metrics", service.admin).body.decode()
        return int(text.split(f"\ntacet_{name} ", 1)[1].split("\n", 1)[0])

    log = pathlib.Path(os.environ["POSTGRES_TEST_CLUSTER"], "log")
    before, size = metric("batches_total"), log.stat().st_size
    lock = subprocess.Popen(["psql", "-qAt", f"postgresql:///{service.name}?{PLACE}"], stdin=subprocess.PIPE, text=True)
    lock.stdin.write("BEGIN; SELECT pg_advisory_xact_lock(1413563749, 0);\n")
    lock.stdin.flush()
    count = 60
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        wait_until("the lock is taken", lambda: sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 0"
                                                    " AND granted", service.name) == "1")
        asked = [pool.submit(ask, Wire(a.wire.port), student, teacher, f"key-{n}") for n in range(count)]
        wait_until("the questions have arrived", lambda: metric("requests_in_flight") == count + 1)
        lock.communicate("COMMIT;\n")
        answers = [one.result() for one in asked]
    expect(all(answer.status == 200 for answer in answers), f"answers: {collections.Counter(a.status for a in answers)}")
    made = metric("batches_total") - before
    with open(log, errors="replace") as lines:
        lines.seek(size)
        said = [line for line in lines if "LOG:  statement: " in line or "LOG:  execute s" in line]
    committer = {line.split("[")[1].split("]")[0] for line in said if "INSERT INTO answers" in line}
    expect(len(committer) == 1, f"batches ran in {committer}")
    sent = [line for line in said if f"[{committer.copy().pop()}]" in line]
    # The begin, four reads, three for each of two accounts, entries, answers and the commit.
    expect(len(sent) <= 14 and made == 1, f"{count} questions in {made} batches sent {len(sent)} statements: "
           + "".join(line[:160] + "\n" for line in sent))
    service.verify()
    service.close()
    print(f"a_batch_takes_few_statements: {len(sent)} for {count} questions in {made} batches")


def submit(service, server, steward, steps, key):
    dataset = server.wire.make("POST", "/v1/datasets", steward, {
        "name": "walks", "environment": "cartpole", "nominal_experts": 40, "budget": {"epsilon": 8, "delta": 1e-5}})["id"]
    server.wire.make("POST", f"/v1/datasets/{dataset}/trajectories", steward, LINES, kind="application/x-ndjson",
                     key=key + "-data")
    server.wire.make("POST", f"/v1/datasets/{dataset}:seal", steward)
    job = {"algorithm": "cql", "mechanism": "dpsgd", "dataset": dataset,
           "privacy": {"force": True, "epsilon": 2, "delta": 1e-6},
           "parameters": {"hidden": [16], "batch_size": 8, "steps": steps}}
    return server.wire.make("POST", "/v1/jobs", steward, job, key=key)["id"]


def a_job_runs_elsewhere():
    """Asked at a server without workers, followed there, run by a worker; a paused worker stores nothing."""
    service = Service()
    a = service.serve("--workers", "0")
    steward = service.person(a, "steward")["token"]
    row = lambda: sql(f"SELECT state, step, lease_owner FROM tacet.jobs WHERE id = '{job}'", service.name).split("|")
    job = submit(service, a, steward, 300, "short")
    follower = Wire(a.wire.port)
    follower.open()
    follower.socket.sendall(request("GET", f"/v1/jobs/{job}/events", steward))
    time.sleep(1.5)
    expect(row()[0] == "queued", f"a server without workers ran a job: {row()}")
    first = service.work("--workers", "1")
    seen = b""
    while b"event: done" not in seen and (more := follower.socket.recv(65536)):
        seen += more
    expect(b"event: done" in seen and b"succeeded" in seen, f"the follower saw {seen[-300:]}")

    job = submit(service, a, steward, 5000000, "long")
    wait_until("a checkpoint", lambda: sql("SELECT count(*) FROM tacet.checkpoints", service.name) == "1")
    first.send_signal(signal.SIGSTOP)
    if not os.environ.get("LONG"):  # its lease ends now, and not in half a minute
        sql(f"UPDATE tacet.jobs SET lease_until_ms = 1 WHERE id = '{job}'", service.name)
    owner = row()[2]
    second = service.work("--workers", "1")
    wait_until("another claim", lambda: row()[2] not in ("", owner))
    log = pathlib.Path(first.directory + ".log")
    first.send_signal(signal.SIGCONT)
    wait_until("the paused worker has noticed", lambda: "another worker has it" in log.read_text())
    second_owner = row()[2]
    expect(row()[0] == "running" and second_owner not in ("", owner), f"the paused worker has the job: {row()}")
    first.terminate()
    expect(first.wait() == 0, "a worker did not end in order")
    second.kill()
    sql(f"UPDATE tacet.jobs SET lease_until_ms = 1 WHERE id = '{job}'", service.name)
    third = service.work("--workers", "1")
    wait_until("a third claim", lambda: row()[2] not in ("", second_owner))
    a.wire.close()  # it may have been silent for too long
    a.wire.make("POST", f"/v1/jobs/{job}:cancel", steward)
    wait_until("the end", lambda: row()[0] == "cancelled")
    held = sql("SELECT sum(held_units) FROM tacet.ledger_accounts", service.name)
    expect(held == "0", f"{held} units are still held")
    expect("job-resumed" in open(third.directory + ".log").read(), "the job did not go on from its checkpoint")
    service.verify()
    service.close()


def a_new_key_signs_on_every_server():
    """tacet key rotate, also twice at once, while both servers answer; who has the old key alone goes on."""
    service = Service()
    a, b = service.serve(), service.serve()
    steward, student = (service.person(a, role)["token"] for role in ("steward", "student"))
    teacher = service.teacher(a, steward, 900, 900)
    names = {name: f"{folder.name}/{service.name}-{name}" for name in ("old", "new", "certificate", "export")}

    def save(name, answer):
        with open(names[name], "wb") as file:
            file.write(answer.body)

    def rotate():
        return tacet("key", "rotate", "--data", service.first, "--database", service.url)

    save("old", a.wire.ask("GET", KEYS))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        rotations = [pool.submit(rotate) for _ in range(4)]
        for count in range(50):
            server = (a, b)[count % 2]
            expect(ask(server.wire, student, teacher, f"while-{count}").status == 200, "no answer meanwhile")
    for rotation in rotations:
        expect(rotation.result().returncode == 0, f"key rotate: {rotation.result().stderr}")
    keys = a.wire.make("GET", KEYS)["keys"]
    expect(b.wire.make("GET", KEYS)["keys"] == keys, "the servers show other keys")
    expect({key["kid"] for key in keys[:4]} == {rotation.result().stdout.strip() for rotation in rotations}, "other keys were made")
    expect([key["kid"] for key in keys[1:]] == [key["follows"]["kid"] for key in keys[:-1]], "the keys are no chain")
    save("new", b.wire.ask("GET", KEYS))
    for server in (a, b):
        made = service.teacher(server, steward, 2, 2)
        save("certificate", server.wire.ask("GET", f"/v1/teachers/{made}/certificate", steward))
        signer = json.load(open(names["certificate"]))["signature"]["key_id"]
        expect(signer == keys[0]["kid"], f"{signer} signs, and not the newest key")
        said = tacet("certificate", "verify", "--keys", names["old"], "--newer", names["new"], names["certificate"])
        expect(said.returncode == 0, f"by the old key: {said.stderr}")
    said = tacet("export", "--data", b.directory, "--database", service.url, "--out", names["export"])
    said = tacet("verify", "--keys", names["old"], names["export"])
    expect(said.returncode == 0, f"the export by the old key: {said.stdout}{said.stderr}")
    service.verify()
    service.close()


def an_answer_that_no_standby_has_is_not_given():
    """PostgreSQL shows a commit that was ended while it waited for a standby. A repeat at another server must not be answered from
    it: after a failover to that standby the answer would be another one. Nor is it shown to who only reads."""
    service = Service()
    a, b, c, d = (service.serve("--workers", "0") for _ in range(4))
    steward, student, auditor = (service.person(a, role)["token"] for role in ("steward", "student", "auditor"))
    teacher = service.teacher(a, steward, 5, 5)
    made = submit(service, b, steward, 10, "first")
    worker = service.work("--workers", "1")
    wait_until("a policy", lambda: b'"succeeded"' in b.wire.ask("GET", f"/v1/jobs/{made}", steward).body)
    worker.terminate()
    policy = json.loads(b.wire.ask("GET", f"/v1/jobs/{made}", steward).body)["policy"]
    queued = submit(service, b, steward, 10, "second")
    reads = [("/v1/ledger/checkpoint", auditor), ("/v1/ledger/proofs/consistency?old=1", auditor), (KEYS, None),
             (f"/v1/policies/{policy}/weights", steward), (f"/v1/policies/{policy}/certificate", steward)]
    job = {"algorithm": "cql", "mechanism": "dpsgd", "privacy": {"force": True, "epsilon": 2, "delta": 1e-6},
           "dataset": sql("SELECT id FROM tacet.datasets LIMIT 1", service.name), "parameters": {"hidden": [16], "batch_size": 8, "steps": 10}}
    calls = [("POST", "/v1/jobs", steward, job), ("POST", f"/v1/teachers/{teacher}/queries", student, STATE)]
    end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    stored = "SELECT count(*) FROM tacet.answers WHERE key = 'late'"

    def ask_all(*servers, timeout=60):
        for server, call in zip(servers, calls):
            yield pool.submit(Wire(server.wire.port, timeout=timeout).ask, *call, key="late")

    def has_ended(count):
        sql(end)
        time.sleep(0.5)  # for who connects again
        return sql(stored, service.name) == str(count)

    def read_all(server, timeout=60):
        return [pool.submit(Wire(server.wire.port, timeout=timeout).ask, "GET", *read) for read in reads]

    def read_cancelled():
        asked = pool.submit(Wire(b.wire.port).ask, "GET", *reads[0])
        wait_until("a cancelled read", lambda: sql(end.replace("terminate", "cancel")) and asked.done())
        return asked.result().status

    state = f"SELECT state FROM tacet.jobs WHERE id = '{queued}'"

    def follower():
        wire = Wire(b.wire.port, timeout=3)
        wire.open()
        wire.socket.sendall(request("GET", f"/v1/jobs/{queued}/events", steward))
        return wire

    def follow(wire):
        seen = b""
        try:
            while b"cancelled" not in seen and (more := wire.socket.recv(65536)):
                seen += more
        except TimeoutError:
            pass
        return seen

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        early_follower = follower()
        expect(b"queued" in follow(early_follower), "the follower sees nothing")
        for answer in read_all(b):  # its threads have their connections
            expect(answer.result().status == 200, f"before: {answer.result()}")
        sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try:
            sql("SELECT pg_reload_conf()")
            first = []
            for asked in ask_all(a, c):  # each server writes one thing after another
                first.append(asked)
                wait_until("a commit", lambda: has_ended(len(first)))
            cancels = pool.submit(Wire(d.wire.port).ask, "POST", f"/v1/jobs/{queued}:cancel", steward)
            wait_until("a cancelled job", lambda: sql(end) and sql(state, service.name) == "cancelled")
            expect(b.wire.ask("GET", "/metrics", service.admin).status == 200, "the metrics wait for a standby")
            status = read_cancelled()
            expect(b"cancelled" not in follow(early_follower), "an event that no standby has was sent")
            expect(status == 503, f"a read that no standby has: {status}")
            early = [asked.result() for asked in [*ask_all(b, b, timeout=3), *read_all(b, timeout=3)]]
        finally:
            sql("ALTER SYSTEM RESET synchronous_standby_names")
            sql("SELECT pg_reload_conf()")
        expect(not any(answer.status for answer in early), f"answers that no standby has: {[answer.status for answer in early]}")
        for one, two in zip(first, ask_all(b, b)):
            expect(one.result().status == two.result().status in (200, 202) and one.result().body == two.result().body,
                   f"with a standby: {one.result().status} {two.result().status}")
        expect(cancels.result().status == 200 and b"cancelled" in follow(follower()), f"the event: {cancels.result().status}")
        for read, one, two in zip(reads, read_all(a), read_all(b)):
            expect(one.result().status == two.result().status == 200 and one.result().body == two.result().body,
                   f"{read[0]} with a standby: {one.result().status} {two.result().status}")
    service.verify()
    service.close()


def sqlite_moves_to_postgres():
    """tacet migrate: refusals that change nothing, then the same answers and balances from PostgreSQL."""
    service = Service()
    other = Service()
    data = f"{folder.name}/{service.name}-moving"
    sql(f"DROP DATABASE {service.name}")
    sql(f"CREATE DATABASE {service.name}")
    service.first, service.url, postgres = data, "sqlite", service.url
    service.admin = tacet("client", "create", "--data", data, "--role", "admin", "--name", "first").stdout.strip()
    a = service.serve("--workers", "1")
    steward, student = (service.person(a, role)["token"] for role in ("steward", "student"))
    teacher = service.teacher(a, steward, 5, 5)
    bodies = {key: ask(a.wire, student, teacher, key).body for key in ("one", "two", "three")}
    job = submit(service, a, steward, 100, "job")
    wait_until("the job's end", lambda: b'"succeeded"' in a.wire.ask("GET", f"/v1/jobs/{job}", steward).body)
    accounts = a.wire.make("GET", "/v1/ledger/accounts", steward)
    rotated = tacet("key", "rotate", "--data", data)
    keys = a.wire.make("GET", KEYS)
    expect(keys["keys"][0]["kid"] == rotated.stdout.strip(), f"key rotate: {rotated.stderr}")

    def refused(what, words, target=postgres):
        said = tacet("migrate", "--from", data, "--to", target)
        expect(said.returncode == 1 and words in said.stderr, f"{what}: {said.stdout}{said.stderr}")

    refused("a running server", "in use by another server")
    a.terminate()
    a.wait()
    refused("a target with a service", "has a service already", other.url)
    refused("a target that is away", "cannot be reached", "postgresql:///x?host=/nowhere")
    a = service.serve(directory=data)  # nothing was changed
    a.terminate()
    a.wait()
    moved = tacet("migrate", "--from", data, "--to", postgres)
    expect(moved.returncode == 0, f"migrate: {moved.stderr}")
    print(moved.stdout.strip())
    refused("a second time", "has a service already")
    said = tacet("serve", "--data", data, "--listen", "127.0.0.1:0")
    expect(said.returncode == 1 and "is in PostgreSQL" in said.stderr, f"a start on SQLite: {said.stderr}")
    service.url = postgres
    a = service.serve(directory=data)
    for key, body in bodies.items():
        again = ask(a.wire, student, teacher, key)
        expect(again.status == 200 and again.body == body, f"{key} was answered anew: {again.status}")
    expect(a.wire.make("GET", "/v1/ledger/accounts", steward) == accounts, "the accounts are not those of before")
    expect(a.wire.make("GET", KEYS) == keys, "the signing keys are not those of before")
    expect(ask(a.wire, student, teacher, "four").status == 200, "no new answer")
    service.verify()
    # What was spent since is in no other database: tacet.db is not moved again.
    sql(f"CREATE DATABASE {service.name}again")
    a.terminate()
    a.wait()
    refused("another target", "the service is in PostgreSQL", postgres.replace(service.name, service.name + "again"))
    service.close()
    # An empty database is not taken for the service's, and does not get the service of before.
    sql(f"CREATE DATABASE {service.name}")
    refused("the target made anew", "the service is in PostgreSQL")
    said = tacet("serve", "--data", data, "--database", postgres, "--listen", "127.0.0.1:0")
    expect(said.returncode == 1 and "the database is empty" in said.stderr, f"an empty database: {said.stderr}")
    sql(f"DROP DATABASE {service.name}")
    sql(f"DROP DATABASE {service.name}again")
    other.close()


def a_move_that_was_killed_goes_to_the_same_target():
    """The note and the marks are written, the copy is not: only the same target may be tried again."""
    service, other = Service(), Service()
    data, marks = f"{folder.name}/{service.name}-killed", f"{folder.name}/{service.name}-marks"
    os.mkdir(marks, 0o700)
    for name in (service.name, other.name):
        sql(f"DROP DATABASE {name}")
        sql(f"CREATE DATABASE {name}")
    service.first, postgres = data, service.url
    service.url = "sqlite"
    service.admin = tacet("client", "create", "--data", data, "--role", "admin", "--name", "first").stdout.strip()

    def run_once():
        process = service.serve("--marks", marks, directory=data)
        process.terminate()
        process.wait()

    run_once()
    life = open(f"{marks}/marks", "rb").read()

    def move(*more, target=postgres):
        return tacet("migrate", "--from", data, "--to", target, *more)

    said = move()
    expect(said.returncode == 1 and "give --marks DIR" in said.stderr, f"without marks: {said.stderr}")
    sql("CREATE TABLE other ()", service.name)  # another program's: the copy fails
    said = move("--marks", marks)
    expect(said.returncode == 1 and not os.path.exists(f"{data}/postgresql"), f"a foreign table: {said.stderr}")
    expect(open(f"{marks}/marks", "rb").read().split(b"\n")[0] == life.split(b"\n")[0], "the marks are of another life")
    run_once()
    sql("DROP TABLE other", service.name)
    said = sql("SELECT system_identifier || ' ' || oid FROM pg_control_system(), pg_database "
               "WHERE datname = current_database()", service.name)
    with open(f"{data}/postgresql", "w") as note:  # as the killed program leaves it
        note.write(f"moves to {said.strip()}\n")
    said = move("--marks", marks, target=other.url)
    expect(said.returncode == 1 and "a move to another database" in said.stderr, f"another target: {said.stderr}")
    said = move("--marks", marks)
    expect(said.returncode == 0, f"the same target: {said.stderr}")
    said = move("--marks", marks)
    expect(said.returncode == 1 and "has a service already" in said.stderr, f"once more: {said.stderr}")
    expect(open(f"{marks}/marks", "rb").read().split(b"\n")[0] != life.split(b"\n")[0], "the marks are the service's again")
    for name in (service.name, other.name):
        sql(f"DROP DATABASE {name}")


CASES = [two_spend_one_account, one_key_at_both_gets_one_answer, a_batch_takes_few_statements, a_job_runs_elsewhere,
         a_new_key_signs_on_every_server, an_answer_that_no_standby_has_is_not_given, sqlite_moves_to_postgres,
         a_move_that_was_killed_goes_to_the_same_target]


def main():
    wanted = sys.argv[1:]
    for case in CASES:
        if not wanted or case.__name__ in wanted:
            begun = time.monotonic()
            case()
            print(f"servers_test: {case.__name__}: {time.monotonic() - begun:.1f} s", flush=True)
    sys.exit(1 if wrong else 0)


main()
