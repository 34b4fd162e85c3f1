"""Campaigns: something tried thousands of times, of which each time must hold. A campaign gives how
often it was tried and what did not hold; it is a function of a house and a random source."""
import concurrent.futures
import gzip
import json
import re
import threading

import heads
from house import ROLES, Wire, request

SOME_ID = "abcdefghijklmnopqrstuvwxyz0123456789"
TYPES = {"clients": "cli_", "accounts": "acc_", "certificates": "crt_", "datasets": "ds_",
         "jobs": "job_", "policies": "pol_", "teachers": "tch_", "q-releases": "qre_",
         "aggregations": "agg_", "models": "tch_"}


class Result:
    def __init__(self):
        self.tried, self.broken, self.note = 0, [], ""

    def expect(self, holds, what):
        self.tried += 1
        if not holds:
            self.broken.append(what)


def some_id(rng, prefix=""):
    return prefix + "".join(rng.choices(SOME_ID, k=16))


# ---- who may call what


def routes(house):
    """(method, pattern, roles) of openapi.yaml, as the server gives it; roles () is everybody."""
    text = house.wire.ask("GET", "/openapi.yaml").body.decode()
    found, path, method = [], None, None
    for line in text[text.index("\npaths:"):].splitlines():
        if found and re.match(r"\S", line):
            break
        if match := re.match(r'  "?(/[^\s"]*)"?:$', line):
            path = match[1]
        elif path and (match := re.match(r"    (get|post|put|delete|patch):$", line)):
            found.append([match[1].upper(), path, ()])
        elif found and (match := re.match(r"      x-roles: \[(.*)\]", line)):
            found[-1][2] = tuple(match[1].split(", "))
    return [tuple(one) for one in found]


def roles(house, rng):
    """Each role, a stranger, a wrong token and a revoked one at each endpoint."""
    result = Result()
    people = {role: house.person(role).token for role in ROLES}
    revoked = house.person("steward")
    house.wire.make("DELETE", "/v1/clients/" + revoked.id, house.admin.token)
    callers = people | {"stranger": None, "wrong": revoked.token[:-1], "revoked": revoked.token,
                        "shouting": people["steward"].upper()}
    table = routes(house)
    for turn in range(11):
        for method, pattern, allowed in table:
            path = re.sub(r"\{\w+\}", lambda match: some_id(rng, "x_"), pattern)
            body = rng.choice(("{}", "", "[", '{"a":1}', "null")) if method in ("POST", "PUT") else None
            for caller, token in callers.items():
                answer = house.wire.ask(method, path, token, body, f"k{turn}")
                if not allowed:
                    right = answer.status not in (0, 401, 403, 500)
                elif caller not in people:
                    right = answer.status == 401
                elif caller in allowed:
                    refused = answer.status == 403 and not (
                        pattern.startswith("/v1/clients/{id}") and b"only for itself" in answer.body)
                    right = not refused and answer.status not in (0, 401, 500)
                else:
                    right = answer.status == 403 and b"/problems/forbidden" in answer.body
                result.expect(right, f"{caller} {method} {path}: {answer.status} {answer.body[:200]!r}")
    return result


# ---- what a name tells


def owned(house, steward):
    """What STEWARD has, by collection."""
    wire, token = house.wire, steward.token
    policy = house.policy(steward)
    teacher = house.teacher(steward, policy, 10, None)
    dataset = house.dataset(steward)
    job = wire.make("POST", "/v1/jobs", token, {
        "algorithm": "ppo", "environment": "cartpole", "parameters": {"transitions": 2000}}, "one")["id"]
    aggregation = wire.make("POST", "/v1/aggregations", token, {
        "environment": "cartpole", "epsilon": 5, "seed": 3, "buffer": 1})["id"]
    account = wire.make("GET", "/v1/ledger/accounts", token)["items"][0]["account"]
    return {"datasets": dataset, "jobs": job, "policies": policy, "teachers": teacher,
            "models": teacher, "aggregations": aggregation, "accounts": account}


BODIES = {"budgets/{client}": {"epsilon": 1, "delta": 1e-5}, "queries": {"state": [0, 0, 0, 0]},
          "queries:estimate": {"count": 10}, "actions": {"states": [[0, 0, 0, 0]]},
          "experts/{expert}/policy": {"activation": "relu", "output": "argmax", "layers": [
              {"weight": [[0, 0, 0, 0], [0, 0, 1, 0]], "bias": [0, 0]}]},
          "infer": {"inputs": [{"name": "state", "datatype": "FP32", "shape": [1, 4], "data": [0, 0, 0, 0]}]}}


def same_but_for_name(answer, name):
    return (answer.status, re.sub(rb"req_[0-9a-f]+", b"", answer.body.replace(name.encode(), b"")),
            re.sub(rb"(?im)^(Date|Request-Id|RateLimit):[^\r]*", b"", answer.head.replace(name.encode(), b"")))


def names(house, rng):
    """What another steward has, beside what nobody has: the two must look alike."""
    result = Result()
    other, owner, student = house.person("steward"), house.person("steward"), house.person("student")
    has = owned(house, owner)
    for turn in range(15):
        for method, pattern, allowed in routes(house):
            match = re.match(r"/v\d/(?:ledger/)?([\w-]+)/\{id\}", pattern)
            if not match or match[1] not in has or "steward" not in allowed:
                continue
            real, made_up = has[match[1]], some_id(rng, TYPES[match[1]])
            made_up = made_up[:len(real)].ljust(len(real), "a")
            body = BODIES.get(pattern.partition("{id}/")[2])
            kind = "application/json"
            if pattern.endswith("/trajectories"):
                body, kind = house.lines(1), "application/x-ndjson"
            seen = []
            for name in (real, made_up):
                path = pattern.replace("{id}", name).replace("{client}", student.id).replace("{expert}", "e")
                answer = house.wire.ask(method, path, other.token, body, f"n{turn}-{name}", kind)
                seen.append(same_but_for_name(answer, name))
            result.expect(seen[0] == seen[1], f"{method} {pattern}: {seen}")
    for place, name in has.items():
        path = ("/v2/" if place == "models" else "/v1/ledger/" if place == "accounts" else "/v1/") + f"{place}/{name}"
        result.expect(house.wire.ask("GET", path, owner.token).status == 200, f"{path} is gone")
    return result


def guesses(house, rng):
    """Identifiers and keys of any form."""
    result = Result()
    policy = house.policy(house.steward)
    teacher = house.teacher(house.steward, policy, 1e6, 1e6)
    student = house.person("student")
    odd = ["..", ".", "%2e%2e", "%00", "%zz", "%", "a%2Fb", "'", "\"", "%27%20OR%201=1--", "*", "{id}",
           "-1", "0", "18446744073709551616", "%c3%28", "a" * 41, "a" * 5000, "~", "%F0%9F%98%80", "null",
           "tch_", "tch_%20", teacher.upper(), teacher + "x", teacher[:-1], teacher + "%00", ";", "=", "$(id)"]
    patterns = [path for method, path, allowed in routes(house) if "{id}" in path and method == "GET"]
    for _ in range(1000):
        name = rng.choice(odd) if rng.random() < 0.7 else "".join(
            rng.choices("abc019_-.%~!$&'()*+,;=:@", k=rng.randrange(1, 60)))
        path = rng.choice(patterns).replace("{id}", name).replace("{client}", name)
        answer = house.wire.ask("GET", path, house.steward.token)
        result.expect(answer.status in (400, 403, 404, 405, 414, 422), f"{path}: {answer.status}")
    letters = [chr(c) for c in range(33, 127)]
    for turn in range(1000):
        good = rng.random() < 0.5
        key = "".join(rng.choices(letters, k=rng.choice((1, 2, 30, 254, 255)))) if good else rng.choice((
            "", "a b", "a\tb", "\xe4", "k" * 256, "k" * 4000, "\x7f", "a\xa0"))
        if good:
            key = f"{turn}-"[:255] + key[:255 - len(f"{turn}-")]
        call = ("POST", f"/v1/teachers/{teacher}/queries", student.token, {"state": [0, 0, 0, 0]}, key)
        answer = house.wire.ask(*call)
        if not good:
            result.expect(answer.status == 400, f"key {key[:40]!r}: {answer.status}")
            continue
        again = house.wire.ask(*call)
        result.expect(answer.status == again.status == 200 and answer.body == again.body,
                      f"key {key[:40]!r}: {answer.status} {again.status}")
    return result


# ---- bytes


def malformed(house, rng):
    """Heads that are not HTTP, each with a request hidden behind it."""
    result = Result()
    student = house.person("student")

    def try_one(case):
        defect, text = case
        wire = Wire(house.port, timeout=30)
        wire.open()
        try:
            wire.socket.sendall(text + heads.hidden(student.token))
        except OSError:
            pass
        got = wire.rest()
        return not heads.was_heard(got), f"{defect}: {text[:200]!r} {(got or b'stays open')[:200]!r}"
    with concurrent.futures.ThreadPoolExecutor(16) as crew:
        for right, what in crew.map(try_one, [heads.bad(rng) for _ in range(4000)]):
            result.expect(right, what)
    return result


def bad_body(rng, good):
    """The name of a defect, a body that has it, and a further header line."""
    text = json.dumps(good)
    member = rng.choice(list(good))
    deep = rng.choice((33, 64, 1000, 100000))
    choices = {
        "deep array": "[" * deep + "]" * deep,
        "deep member": text[:-1] + ',"z":' + '{"a":' * deep + "1" + "}" * deep + "}",
        "cut off": text[:rng.randrange(1, len(text))],
        "something behind": text + rng.choice(("{}", ",", "x", "\0", "]")),
        "NaN": json.dumps(good | {member: 0}).replace(f'"{member}": 0', f'"{member}": ' + rng.choice(
            ("NaN", "Infinity", "-Infinity", "0x10", "01", "1.", ".5", "+1", "1e", "--1"))),
        "number": json.dumps(good | {member: 0}).replace(f'"{member}": 0', f'"{member}": ' + rng.choice(
            ("1e400", "-1e400", "9" * 1500, "123456789012345678901234567890"))),
        "bytes": text.encode()[:-1] + b',"a":"' + rng.choice((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc3")) + b'"}',
        "surrogate": text[:-1] + ',"a":"\\ud800"}',
        "control character": text[:-1] + ',"a":"' + chr(rng.randrange(1, 32)) + '"}',
        "member twice": text[:-1] + f',"{member}":null}}',
        "unknown member": json.dumps(good | {"nobody_knows_" + some_id(rng): 1}),
        "no object": rng.choice(("[]", "1", '"a"', "null", "true", "[{}]")),
        "another type": json.dumps(good | {member: rng.choice(([[]], {"a": {}}, [None], [[[1]]]))}),
        "missing": json.dumps({k: v for k, v in good.items() if k != member} | {"absent": 1}),
        "many values": text[:-1] + ',"z":[' + "0," * 400000 + "0]}",
        "long text": text[:-1] + ',"z":"' + "x" * 900000 + '"}',
        "too large": " " * (1024 * 1024 + 1),
        "byte order mark": b"\xef\xbb\xbf" + text.encode() + b"x",
        "nothing": "",
    }
    name = rng.choice(list(choices))
    return name, choices[name]


def bodies(house, rng):
    """Bodies that say nothing, or too much; bombs; compressed streams that are none."""
    result = Result()
    steward = house.person("steward")
    open_data, policy = house.dataset(steward, sealed=False), house.policy(steward)
    teacher = house.teacher(steward, policy, 10, 1)
    student, agent = house.person("student"), house.person("agent")
    layer = {"weight": [[0, 0, 0, 0], [0, 0, 1, 0]], "bias": [0, 0]}
    targets = (
        (steward, "/v1/datasets", {"name": "d", "environment": "cartpole", "budget": {"epsilon": 1, "delta": 1e-5}}),
        (steward, "/v1/jobs", {"algorithm": "cql", "dataset": open_data, "privacy": {"epsilon": 1, "delta": 1e-6}}),
        (steward, "/v1/jobs:estimate", {"algorithm": "cql", "dataset": open_data, "privacy": {"epsilon": 1, "delta": 1e-6}}),
        (steward, "/v1/jobs:advise", {"dataset": open_data, "privacy": {"epsilon": 1, "delta": 1e-6}}),
        (steward, "/v1/policies", {"name": "p", "environment": "cartpole", "network": {"activation": "relu", "layers": [layer], "output": "softmax"}}),
        (steward, "/v1/teachers", {"policy": policy, "mechanism": {"name": "dirichlet", "concentration": 20, "min_probability": 0.1}, "adjacency": {"unit": "observation", "radius": 1e-6}, "budget": {"epsilon": 1, "delta": 1e-5}}),
        (steward, "/v1/aggregations", {"environment": "cartpole", "epsilon": 5, "seed": 3, "buffer": 1}),
        (student, f"/v1/teachers/{teacher}/queries", {"state": [0, 0, 0, 0]}),
        (student, f"/v1/teachers/{teacher}/queries:estimate", {"count": 10}),
        (agent, "/v1/accounting:compose", {"events": [{"type": "GaussianDpEvent", "noise_multiplier": 3}], "delta": 1e-5}),
        (house.admin, "/v1/clients", {"name": "n", "role": "agent"}))
    wrong = (400, 404, 409, 413, 415, 422)
    for turn in range(800):
        person, path, good = rng.choice(targets)
        defect, body = bad_body(rng, good)
        answer = house.wire.ask("POST", path, person.token, body, f"b{turn}")
        allowed = wrong + ((403,) if defect in ("member twice",) else ())
        result.expect(answer.status in allowed, f"{path} {defect}: {answer.status} {answer.body[:200]!r} {body[:200]!r}")
    place = f"/v1/datasets/{open_data}/trajectories"
    line = house.lines(1).encode()
    for turn in range(120):
        kind, more, body = "application/x-ndjson", "", line
        squeezed = gzip.compress(line)
        which = turn % 6
        if which == 0:  # 128 MiB of blanks in 130 KB
            body, more = gzip.compress(b" " * (128 << 20)) if turn == 0 else bomb, "Content-Encoding: gzip\r\n"
            bomb = body
        elif which == 1:
            at = rng.randrange(len(squeezed))
            body, more = squeezed[:at], "Content-Encoding: gzip\r\n"
        elif which == 2:
            at = rng.randrange(10, len(squeezed))
            body, more = squeezed[:at] + bytes([squeezed[at] ^ 1 << rng.randrange(8)]) + squeezed[at + 1:], "Content-Encoding: gzip\r\n"
        elif which == 3:
            body, more = line, "Content-Encoding: " + rng.choice(("gzip", "zstd", "br", "deflate", "gzip, gzip", "x")) + "\r\n"
        elif which == 4:
            kind = rng.choice(("text/plain", "application/xml", "multipart/form-data", "a"))
        else:
            body = line[:rng.randrange(1, len(line) - 1)]
        answer = house.wire.ask("POST", place, steward.token, body, f"u{turn}", kind, more)
        result.expect(answer.status in wrong, f"upload {which}: {answer.status} {answer.body[:200]!r}")
    result.expect(house.peak_mib() < 512, f"the server took {house.peak_mib()} MiB")
    result.note = f"at most {house.peak_mib()} MiB"
    return result


# ---- races


def at_once(count, work):
    """WORK(i) in COUNT threads that begin together; their results."""
    gate = threading.Barrier(count)

    def run(i):
        gate.wait()
        return work(i)
    with concurrent.futures.ThreadPoolExecutor(count) as crew:
        return list(crew.map(run, range(count)))


def last_epsilon(house, rng):
    """64 clients ask at once for what is left of one teacher's budget; then one key from 64 places."""
    result = Result()
    policy = house.policy(house.steward)
    students = [house.person("student") for _ in range(64)]
    wires = [Wire(house.port) for _ in students]
    told, ways = set(), (lambda work: [work(i) for i in range(64)], lambda work: at_once(64, work))
    for race in range(201):  # in the first they ask one after another
        teacher = house.teacher(house.steward, policy, 1e-5, 1e-5, "basic")
        path = f"/v1/teachers/{teacher}/queries"
        bodies_of = [request("POST", path, student.token, {"state": [0, 0, 0, rng.random()]}, f"e{race}")
                     for student in students]
        answers = ways[race > 0](lambda i: wires[i].send(bodies_of[i]))
        paid = sum(answer.status == 200 for answer in answers)
        told.add(paid)
        right = all(answer.status in (200, 403) for answer in answers) and 0 < paid < 64
        result.expect(right and len(told) == 1, f"race {race}: {paid} answers")
    result.note = f"{sorted(told)} of 64 were answered each time, as one after another"
    wrong = house.books_fail()
    result.expect(not wrong, wrong)
    return result


def one_key(house, rng):
    """64 connections of one client ask at once under one key: one draw, one charge."""
    result = Result()
    teacher = house.teacher(house.steward, house.policy(house.steward), 1e6, 1e6)
    student = house.person("student")
    wires = [Wire(house.port) for _ in range(64)]
    path = f"/v1/teachers/{teacher}/queries"
    for race in range(200):
        text = request("POST", path, student.token, {"state": [0, 0, 0, rng.random()]}, f"o{race}")
        answers = at_once(64, lambda i: wires[i].send(text))
        result.expect(len({(a.status, a.body) for a in answers}) == 1 and answers[0].status == 200,
                      f"race {race}: {sorted({a.status for a in answers})}")
    # The first entry opened the account.
    mine = [a for a in house.accounts() if a.get("client") == student.id]
    result.expect(len(mine) == 1 and mine[0]["entries"] == 201, f"{mine}")
    return result
