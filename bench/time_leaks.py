#!/usr/bin/env python3
"""What times tell of neighbours: make time-leaks.

A server answers pairs of calls, one about each of two neighbouring inputs, in an order drawn by a
coin. If both take equally long, the sign of the difference of the two times is a fair coin,
whatever else the machine does; so the sign test is exact. Each row tells the median difference, its
confidence interval (of order statistics) and whether 0 is outside. All rows together say "differs"
of a pair that does not differ with probability ERROR at most. Two rows are controls: one that
cannot differ, and one that must.

    bench/time_leaks.py BUILD-DIRECTORY [PAIRS [ROWS]]

PAIRS: of questions and of what is not the caller's (2000); of uploads and jobs a tenth, of jobs of "none" a hundredth. ROWS:
neighbours or foreign; both without it.
"""
import datetime
import http.client
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time

ERROR = 0.01
ROWS = 25
EXPERTS = 40


class Service:
    """A server on data of its own, and people."""

    def __init__(self, program, folder):
        self.port_file = folder + "/port"
        self.log = open(folder + "/log", "wb")
        self.process = subprocess.Popen(
            [program, "serve", "--data", folder + "/data", "--listen", "127.0.0.1:0",
             "--port-file", self.port_file], stdout=self.log, stderr=self.log)
        while not (port := self.port()):
            time.sleep(0.05)
        self.connection = http.client.HTTPConnection("127.0.0.1", port)
        self.admin = subprocess.run(
            [program, "client", "create", "--data", folder + "/data", "--role", "admin", "--name",
             "bench"], check=True, capture_output=True, text=True).stdout.strip()
        self.keys = 0
        self.tokens = {}
        for role in ("steward", "student", "contributor"):
            made = self.call(self.admin, "POST", "/v1/clients", {"name": role, "role": role})
            self.tokens[role], self.tokens[role + " id"] = made["token"], made["id"]

    def port(self):
        try:
            return int(open(self.port_file).read())
        except (FileNotFoundError, ValueError):
            return None

    def send(self, token, method, path, body=None, lines=False, refused=False):
        """The answer, parsed, and the nanoseconds until its last byte; REFUSED: with 404 or 422."""
        self.keys += 1
        headers = {"Authorization": "Bearer " + token, "Idempotency-Key": f"k{self.keys}",
                   "Content-Type": "application/x-ndjson" if lines else "application/json"}
        text = body if lines or body is None else json.dumps(body)
        begun = time.perf_counter_ns()
        self.connection.request(method, path, text, headers)
        answer = self.connection.getresponse()
        read = answer.read()
        took = time.perf_counter_ns() - begun
        if answer.status not in ((404, 422) if refused else range(300)):
            sys.exit(f"{method} {path}: {answer.status} {read.decode()}")
        return (json.loads(read) if read else None), took

    def call(self, token, method, path, body=None, lines=False):
        return self.send(token, method, path, body, lines)[0]

    def end(self):
        self.process.terminate()
        self.process.wait()


# ---- data


def trajectory(expert, steps, size):
    states = [[size * math.sin(3 * t + k) for k in range(4)] for t in range(steps + 1)]
    return json.dumps({"expert": expert, "states": states, "actions": [t % 2 for t in range(steps)],
                       "rewards": [1] * steps, "terminated": True, "truncated": False}) + "\n"


def dataset(service, x=None, network=None, sealed=True, more={}):
    """Of EXPERTS experts; x: the steps of one more, or None; network: everybody has one, and
    its own weight for the angle is this."""
    steward = service.tokens["steward"]
    made = service.call(steward, "POST", "/v1/datasets", {
        "name": "d", "environment": "cartpole", "sensitivity": "private",
        "nominal_experts": EXPERTS, "min_action_probability": 0.4, "max_episode_steps": 2000,
        "budget": {"epsilon": 1e6, "delta": 0.9}} | more)
    path = "/v1/datasets/" + made["id"]
    lines = "".join(trajectory(f"e{e}", 50, 0.05) for e in range(EXPERTS))
    service.call(steward, "POST", path + "/trajectories", lines, True)
    if x:
        service.call(steward, "POST", path + "/trajectories", trajectory("x", x, 0.05), True)
    names = [f"e{e}" for e in range(EXPERTS)] + (["x"] if x else [])
    for name in names if network is not None else []:
        angle = network if name == "x" else 1
        service.call(steward, "PUT", f"{path}/experts/{name}/policy", {
            "activation": "relu", "output": "argmax",
            "layers": [{"weight": [[0, 0, 0, 0], [0.02, 0.1, angle, angle / 2]], "bias": [0, 0]}]})
    if sealed:
        service.call(steward, "POST", path + ":seal")
    return made["id"]


# ---- pairs


def question_time(service, teacher, states):
    return service.send(service.tokens["student"], "POST", f"/v1/teachers/{teacher}/queries",
                        {"states": states})[1] / 1000


def teacher_of(service, policy, mechanism, adjacency):
    body = {"policy": policy, "mechanism": mechanism, "adjacency": adjacency,
            "budget": {"epsilon": 1e6, "delta": 1e-3},
            "client_budget": {"epsilon": 1e6, "delta": 1e-3}}
    return service.call(service.tokens["steward"], "POST", "/v1/teachers", body)["id"]


def imported_policy(service, more={}):
    def layer(inputs, outputs):
        return {"weight": [[((r * 31 + c * 17) % 23 - 11) / 100 for c in range(inputs)]
                           for r in range(outputs)], "bias": [0] * outputs}
    body = {"name": "p", "environment": "cartpole",
            "network": {"activation": "relu", "output": "softmax",
                        "layers": [layer(4, 64), layer(64, 64), layer(64, 2)]}} | more
    return service.call(service.tokens["steward"], "POST", "/v1/policies", body)["id"]


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def run_job(service, body):
    steward = service.tokens["steward"]
    path = "/v1/jobs/" + service.call(steward, "POST", "/v1/jobs", body)["id"]
    while (job := service.call(steward, "GET", path))["state"] in ("queued", "running"):
        time.sleep(0.01)
    if job["state"] != "succeeded":
        sys.exit(json.dumps(job))
    return job


def job_time(service, data, body):
    job = run_job(service, dict(body, dataset=data))
    return round((moment(job["finished_at"]) - moment(job["started_at"])) * 1000) * 1000


def upload_time(service, data):
    return service.send(service.tokens["contributor"], "POST", f"/v1/datasets/{data}/trajectories",
                        trajectory("late", 50, 0.05), True)[1] / 1000


# ---- the test


def sign_test(differences):
    """The p-value of a median of 0, two-sided; ties are left out."""
    above, below = (sum(d * s > 0 for d in differences) for s in (1, -1))
    n, k = above + below, min(above, below)
    if n == 0:
        return 1.0
    tail = sum(math.exp(math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
                        - n * math.log(2)) for i in range(k + 1))
    return min(1.0, 2 * tail)


def interval(differences, error):
    """Order statistics between which the median is, but for the probability ERROR."""
    ordered, n, tail, k = sorted(differences), len(differences), 0.0, 0
    while k < n // 2:
        tail += math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
                         - n * math.log(2))
        if 2 * tail > error:
            break
        k += 1
    return ordered[max(k - 1, 0)], ordered[min(n - k, n - 1)]


def compare(name, pairs, one, two, coin):
    error = ERROR / ROWS
    differences, times = [], []
    for i in range(pairs + pairs // 20 + 2):
        swapped = coin.random() < 0.5
        first = (two if swapped else one)()
        second = (one if swapped else two)()
        a, b = (second, first) if swapped else (first, second)
        if i >= pairs // 20 + 2:  # the first ones warm up
            differences.append(b - a)
            times.append(a)
    low, high = interval(differences, error)
    p = sign_test(differences)
    median = sorted(differences)[len(differences) // 2]
    print(f"| {name} | {pairs} | {sorted(times)[pairs // 2]:.0f} | {median:+.1f} | "
          f"{low:+.1f} to {high:+.1f} | {p:.2g} | {'differs' if p < error else 'none seen'} |",
          flush=True)


NOISY = {"algorithm": "cql", "mechanism": "dpsgd",
         "privacy": {"epsilon": 4, "delta": 1e-5, "force": True},
         "parameters": {"hidden": [32], "batch_size": 8, "steps": 300}}
LABELS = {"algorithm": "cql", "mechanism": "consensus",
          "privacy": {"epsilon": 4, "delta": 1e-5, "force": True, "consensus": {
              "labels": 20, "max_length": 200,
              "skill": {"low": 0, "high": 200, "episodes": 16}}},
          "parameters": {"hidden": [8], "batch_size": 4, "steps": 20}}
BARE = {"algorithm": "cql", "mechanism": "none", "i_understand": "not_private",
        "parameters": {"hidden": [32], "batch_size": 8, "steps": 300}}
SHARDS = {"algorithm": "cql", "mechanism": "none", "shards": 20,
          "parameters": {"hidden": [16], "batch_size": 8, "steps": 50}}


def questions(service):
    """Names, and teacher and states of either side."""
    policy = imported_policy(service)
    near, also, far = [0.01, 0.02, 0.03, 0.04], [0.0185, 0.02, 0.03, 0.04], [2.0, -1.5, 0.2, 3.0]
    adjacency = {"unit": "observation", "radius": 0.01}
    simplex = {"name": "gaussian_simplex", "sigma": 1}
    one, two = (teacher_of(service, policy, m, adjacency) for m in (
        simplex, {"name": "dirichlet", "concentration": 20, "min_probability": 0.1}))
    yield "control: the same question twice", (one, [near]), (one, [near])
    yield "control: 1 state, 256 states", (one, [near]), (one, [near] * 256)
    yield "`gaussian_simplex`: two questions within the radius", (one, [near]), (one, [also])
    yield "`dirichlet`: two questions within the radius", (two, [near]), (two, [also])
    yield "`dirichlet`: two distant questions", (two, [near]), (two, [far])
    shards = [teacher_of(service, run_job(service, dict(SHARDS, dataset=data))["policy"], simplex,
                         {"unit": "expert"})
              for data in (dataset(service, 50), dataset(service))]
    yield "a teacher of shards: with x, without", (shards[0], [near]), (shards[1], [near])


def jobs(service):
    """Names, the job, the dataset of either side, and the share of pairs."""
    with_x, without, same, long = (dataset(service, x) for x in (50, None, 50, 2000))
    good, poor = (dataset(service, 50, w) for w in (1, -1))
    yield "control: `dpsgd` on equal datasets", NOISY, with_x, same, 10
    yield "`dpsgd`: with x, without", NOISY, with_x, without, 10
    yield "`dpsgd`: x has 50 transitions, 2000", NOISY, with_x, long, 10
    yield "`consensus` with `skill`: x plays well, badly", LABELS, good, poor, 10
    yield "`none`: x has 50 transitions, 2000", BARE, with_x, long, 100


def foreign(service):
    """Names of calls, who calls, and the call about what another steward's project has and about
    what nobody has."""
    stranger = service.call(service.admin, "POST", "/v1/clients", {"name": "o", "role": "steward"})
    own, service.tokens["steward"] = service.tokens["steward"], stranger["token"]
    project = service.call(stranger["token"], "POST", "/v1/projects", {"name": "foreign"})["id"]
    policy = imported_policy(service, {"project": project})
    teacher = teacher_of(service, policy, {"name": "gaussian_simplex", "sigma": 1},
                         {"unit": "observation", "radius": 0.01})
    data = dataset(service, sealed=False, more={"project": project})
    job = run_job(service, {"algorithm": "ppo", "environment": "cartpole", "project": project,
                            "parameters": {"transitions": 512}})["id"]
    account = service.call(stranger["token"], "GET", "/v1/teachers/" + teacher)["account"]
    service.tokens["steward"] = own
    state = {"state": [0.01, 0.02, 0.03, 0.04]}
    line = trajectory("late", 50, 0.05)
    yield "GET dataset", "steward", "GET", "/v1/datasets/{}", data, None
    yield "GET policy", "steward", "GET", "/v1/policies/{}", policy, None
    yield "GET policy's weights", "steward", "GET", "/v1/policies/{}/weights", policy, None
    yield "GET teacher", "steward", "GET", "/v1/teachers/{}", teacher, None
    yield "GET job", "steward", "GET", "/v1/jobs/{}", job, None
    yield "GET account", "steward", "GET", "/v1/ledger/accounts/{}", account, None
    yield "GET project", "steward", "GET", "/v1/projects/{}", project, None
    yield "POST job's cancellation", "steward", "POST", "/v1/jobs/{}:cancel", job, None
    yield "POST dataset's seal", "steward", "POST", "/v1/datasets/{}:seal", data, None
    yield "GET teacher, as student", "student", "GET", "/v1/teachers/{}", teacher, None
    yield "POST query, as student", "student", "POST", "/v1/teachers/{}/queries", teacher, state
    yield "GET policy, as student", "student", "GET", "/v1/policies/{}", policy, None
    yield "POST trajectories", "contributor", "POST", "/v1/datasets/{}/trajectories", data, line


def refusal_time(service, role, method, path, body):
    return service.send(service.tokens[role], method, path, body, isinstance(body, str),
                        True)[1] / 1000


def measure_foreign(service, pairs, coin):
    for name, role, method, path, named, body in foreign(service):
        missing = named[:-4] + ("qqqq" if named[-4:] != "qqqq" else "zzzz")
        compare(name + ": another's, nobody's", pairs,
                lambda: refusal_time(service, role, method, path.format(named), body),
                lambda: refusal_time(service, role, method, path.format(missing), body), coin)


def measure(service, pairs, coin):
    for name, one, two in questions(service):
        compare(name, pairs, lambda: question_time(service, *one),
                lambda: question_time(service, *two), coin)
    one, two = (dataset(service, x, sealed=False) for x in (50, None))
    compare("an upload beside x, without x", pairs // 10, lambda: upload_time(service, one),
            lambda: upload_time(service, two), coin)
    for name, body, one, two, share in jobs(service):
        compare(name, pairs // share, lambda: job_time(service, one, body),
                lambda: job_time(service, two, body), coin)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    rows = sys.argv[3] if len(sys.argv) > 3 else "all"
    folder = tempfile.mkdtemp()
    service = Service(sys.argv[1] + "/tacet", folder)
    print("| pair | pairs | median, us | difference, us | interval | p | |\n"
          "|---|---|---|---|---|---|---|")
    try:
        if rows != "neighbours":
            measure_foreign(service, pairs, random.Random(2))
        if rows != "foreign":
            measure(service, pairs, random.Random(1))
    finally:
        service.end()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
