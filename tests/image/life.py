"""What people do with a service, and what must still hold after it was stopped and began again."""
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "siege"))
from container import Container  # noqa: E402
from house import Wire  # noqa: E402

LINES = "".join(json.dumps({"expert": f"e{i % 40}", "states": [[0.01 * i, t, 0, 0.1] for t in range(5)],
                            "actions": [(i + t) % 2 for t in range(4)], "rewards": [1] * 4,
                            "terminated": True, "truncated": False}) + "\n" for i in range(80))
STATE = {"state": [0.01, -0.02, 0.03, 0.04]}
NETWORK = {"activation": "tanh", "output": "softmax",
           "layers": [{"weight": [[0.3, 0.1, -0.2, 0.4], [-0.1, 0.2, 0.5, 0.3]], "bias": [0.1, 0]},
                      {"weight": [[0.5, -0.3], [-0.4, 0.6]], "bias": [0, 0.1]}]}
wrong = []


def expect(holds, what):
    if not holds:
        wrong.append(what)
        print("test-image: failed:", what, file=sys.stderr, flush=True)


def finish(said):
    print(f"test-image: {said}" if not wrong else f"test-image: {len(wrong)} failures", flush=True)
    sys.exit(1 if wrong else 0)


def wait_until(what, holds, seconds=180):
    until = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > until:
            raise SystemExit("test-image: it did not happen: " + what)
        time.sleep(0.1)
    return found


def begin(image, volumes, log, **how):
    """A container whose health check says that it serves."""
    container = Container(image, volumes, log, **how)

    def serves():
        if container.process.poll() is not None:
            raise SystemExit("test-image: it ended: " + open(log).read()[-2000:])
        return container.healthy()
    wait_until("the health check says that it serves", serves)
    return container


def stop(container):
    code = container.end()
    expect(code == 0, f"SIGTERM ended it with {code}")


def people(container, wire):
    """The tokens of a steward and a student, by an admin that is made within CONTAINER."""
    made = container.run("tacet", "client", "create", "--role", "admin", "--name", "first")
    expect(made.returncode == 0, f"client create: {made.stderr}")
    return [wire.make("POST", "/v1/clients", made.stdout.strip(), {"name": role, "role": role})["token"]
            for role in ("steward", "student")]


def train(wire, steward):
    """A dataset, a job on it, and its policy."""
    dataset = wire.make("POST", "/v1/datasets", steward, {
        "name": "walks", "environment": "cartpole", "nominal_experts": 40, "budget": {"epsilon": 8, "delta": 1e-5}})["id"]
    wire.make("POST", f"/v1/datasets/{dataset}/trajectories", steward, LINES, kind="application/x-ndjson", key="data")
    wire.make("POST", f"/v1/datasets/{dataset}:seal", steward)
    job = wire.make("POST", "/v1/jobs", steward, {
        "algorithm": "cql", "mechanism": "dpsgd", "dataset": dataset, "privacy": {"force": True, "epsilon": 2, "delta": 1e-6},
        "parameters": {"hidden": [16], "batch_size": 8, "steps": 100}}, key="job")["id"]

    def ended():
        shown = wire.make("GET", f"/v1/jobs/{job}", steward)
        return shown if shown["state"] in ("succeeded", "failed", "cancelled") else None
    shown = wait_until("the job's end", ended)
    expect(shown["state"] == "succeeded", f"the job: {shown}")
    weights = wire.ask("GET", f"/v1/policies/{shown['policy']}/weights", steward)
    expect(weights.status == 200 and b"certificate" in weights.body, f"the policy: {weights.status}")


def teach(wire, steward):
    policy = wire.make("POST", "/v1/policies", steward, {"name": "p", "environment": "cartpole", "network": NETWORK})["id"]
    return wire.make("POST", "/v1/teachers", steward, {
        "policy": policy, "mechanism": {"name": "dirichlet", "concentration": 20, "min_probability": 0.1},
        "adjacency": {"unit": "observation", "radius": 0.01}, "accounting": "renyi", "budget": {"epsilon": 2, "delta": 1e-5},
        "client_budget": {"epsilon": 2, "delta": 1e-5}})["id"]


def ask(wire, token, teacher, key):
    return wire.ask("POST", f"/v1/teachers/{teacher}/queries", token, STATE, key=key)


class Life:
    """One life of a service, from its first client to an answer that was paid for."""

    def __init__(self, container, wire):
        self.steward, self.student = people(container, wire)
        train(wire, self.steward)
        self.teacher = teach(wire, self.steward)
        self.answer = ask(wire, self.student, self.teacher, "once")
        expect(self.answer.status == 200, f"the teacher: {self.answer}")
        self.accounts = wire.make("GET", "/v1/ledger/accounts", self.steward)

    def goes_on(self, wire):
        again = ask(wire, self.student, self.teacher, "once")
        expect(again.status == 200 and again.body == self.answer.body, f"the question was answered anew: {again}")
        expect(wire.make("GET", "/v1/ledger/accounts", self.steward) == self.accounts, "the accounts have changed")
        expect(wire.make("POST", "/v1/ledger:verify", self.steward)["ok"], "the ledger does not add up")


def live_twice(image, volume, log, look=lambda container: None, **how):
    """A life on VOLUME, which LOOK may look at; then its second container."""
    container = begin(image, [(volume, "/data")], log, **how)
    look(container)
    life = Life(container, Wire(8080))
    stop(container)
    container = begin(image, [(volume, "/data")], log, **how)
    life.goes_on(Wire(8080))
    stop(container)
