"""What hostile and greedy clients do, until they are told to stop, each in a process of its own that gets
only the processor time that nobody else wants (SCHED_IDLE). A tally says how often it did it, what it was answered, and what was wrong with
that."""
import collections
import multiprocessing
import os
import random
import selectors
import socket
import time

import heads
from house import HOME, NOTHING, Wire, request, whole_answer

HARD = {"delta": 1e-9, "events": {
    "type": "SelfComposedDpEvent", "count": 10 ** 12, "event": {
        "type": "PoissonSampledDpEvent", "sampling_probability": 0.01, "event": {
            "type": "GaussianDpEvent", "noise_multiplier": 0.3}}}}
STATE = {"state": [0.01, -0.02, 0.03, 0.04]}
PUT_POLICY = "/v1/datasets/ds_none/experts/e/policy"
MIB = 1024 * 1024


class Tally:
    def __init__(self):
        self.tried, self.statuses, self.wrong = 0, collections.Counter(), []

    def note(self, answer, allowed=None):
        """ALLOWED: the statuses that are right; None: all but the server's own failure (500)."""
        self.tried += 1
        self.statuses[answer.status] += 1
        bad = answer.status == 500 if allowed is None else answer.status not in allowed
        if bad and len(self.wrong) < 20:
            self.wrong.append(f"{answer.status} {answer.body[:200]!r}")


class Swarm:
    """Many connections in one thread: each asks, and asks again when it was answered."""

    def __init__(self, port, count, ask, heard, addresses):
        self.port, self.ask, self.heard = port, ask, heard
        self.waiting = selectors.DefaultSelector()
        self.addresses = addresses
        self.text = [b""] * count
        self.sockets = [None] * count
        self.asked = [None] * count

    def again(self, i):
        """Sends the next question, over a new connection where the old one is gone."""
        what, text = self.ask(i)
        self.asked[i], self.text[i] = what, b""
        try:
            if not self.sockets[i]:
                self.sockets[i] = socket.socket()
                self.sockets[i].bind((self.addresses[i % len(self.addresses)], 0))
                self.sockets[i].settimeout(5)
                self.sockets[i].connect((HOME, self.port))
                self.waiting.register(self.sockets[i], selectors.EVENT_READ, i)
            self.sockets[i].sendall(text)
        except OSError:
            self.gone(i)

    def gone(self, i):
        if self.sockets[i]:
            try:
                self.waiting.unregister(self.sockets[i])
            except KeyError:
                pass
            self.sockets[i].close()
        self.sockets[i] = None

    def read(self, i):
        try:
            more = self.sockets[i].recv(65536)
        except OSError:
            more = b""
        self.text[i] += more
        got = whole_answer(self.text[i])
        if got or not more:
            self.heard(i, self.asked[i], got[0] if got else NOTHING)
            if not more or b"\r\nConnection: close" in got[0].head:
                self.gone(i)
            self.asked[i] = None

    def run(self, stop):
        while not stop():
            for i, what in enumerate(self.asked):
                if what is None or not self.sockets[i]:
                    self.again(i)
            for key, _ in self.waiting.select(0.05):
                self.read(key.data)
        for i in range(len(self.sockets)):
            self.gone(i)


def swarm(field, stop, count, ask, heard, addresses=("127.0.0.2",)):
    Swarm(field.port, count, ask, heard, addresses).run(stop)


def open_socket(field, address):
    opened = socket.socket()
    opened.settimeout(5)
    try:
        opened.bind((address, 0))
        opened.connect((HOME, field.port))
    except OSError:
        opened.close()
        return None
    return opened


def hold(field, stop, tally, count, addresses, first, drip, pause):
    """COUNT connections that send FIRST and then DRIP after every PAUSE; those cut off come back."""
    sockets = [None] * count
    while not stop():
        for i in range(count):
            if stop():
                break
            try:
                if not sockets[i]:
                    sockets[i] = open_socket(field, addresses[i % len(addresses)])
                    tally.tried += 1
                    sockets[i].sendall(first)
                else:
                    sockets[i].sendall(drip)
            except (OSError, AttributeError):
                if sockets[i]:
                    sockets[i].close()
                sockets[i] = None
            time.sleep(pause / count)
    for one in sockets:
        if one:
            one.close()


# ---- the attacks: (field, stop, tally, random)


def silent_connections(field, stop, tally, rng):
    """Two addresses take all connections and say nothing."""
    hold(field, stop, tally, 1024, ("127.0.0.3", "127.0.0.4"), b"", b"", 4)


def slow_heads(field, stop, tally, rng):
    hold(field, stop, tally, 512, ("127.0.0.5", "127.0.0.6"),
         b"GET /healthz/live HTTP/1.1\r\nHost: t\r\nX: ", b"a", 8)


def strangers_bodies(field, stop, tally, rng):
    """62 without a token announce 16 MiB and send 8."""
    head = (f"PUT {PUT_POLICY} HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
            f"Content-Length: {16 * MIB}\r\n\r\n").encode()
    hold(field, stop, tally, 62, ("127.0.0.7",), head + b" " * (8 * MIB), b" ", 8)


def clients_bodies(field, stop, tally, rng):
    """The same with the token of a contributor."""
    head = (f"PUT {PUT_POLICY} HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {field.contributor}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {16 * MIB}\r\n\r\n").encode()
    hold(field, stop, tally, 62, ("127.0.0.8",), head + b" " * (8 * MIB), b" ", 8)


def slow_uploads(field, stop, tally, rng):
    head = (f"POST /v1/datasets/{field.dataset}/trajectories HTTP/1.1\r\nHost: t\r\n"
            f"Authorization: Bearer {field.contributor}\r\nContent-Type: application/x-ndjson\r\n"
            f"Content-Length: {16 * MIB}\r\n\r\n{{\"expert\":").encode()
    hold(field, stop, tally, 8, ("127.0.0.9",), head, b" ", 2)


def prices(field, stop, tally, rng):
    """Twenty connections of one agent ask for prices that take all the work that one call may."""
    hard = request("POST", "/v1/accounting:compose", field.agent, HARD)
    swarm(field, stop, 20, lambda i: (1, hard), lambda i, what, answer: tally.note(answer))


def plans(field, stop, tally, rng):
    """A steward asks for estimates, sweeps and advice."""
    job = {"algorithm": "cql", "mechanism": "dpsgd", "dataset": field.sealed,
           "privacy": {"epsilon": 2, "delta": 1e-6}, "parameters": {"steps": 20000}}
    sweep = job | {"evaluate": {"environment": "cartpole"},
                   "sweep": {"steps": [1000 * k for k in range(1, 17)]}}
    wanted = [("/v1/jobs:estimate", job), ("/v1/jobs:estimate", sweep), ("/v1/jobs:advise", {
        "dataset": field.sealed, "privacy": {"epsilon": 3, "delta": 1e-6}}),
        (f"/v1/teachers/{field.teacher}/queries:estimate", {"count": 10 ** 6})]

    def ask(i):
        path, body = rng.choice(wanted)
        return 1, request("POST", path, field.greedy_steward, body)
    swarm(field, stop, 20, ask, lambda i, what, answer: tally.note(answer))


def books(field, stop, tally, rng):
    """A steward has the whole ledger verified and listed, again and again."""
    def ask(i):
        if rng.random() < 0.5:
            return 1, request("POST", "/v1/ledger:verify", field.greedy_steward)
        return 1, request("GET", "/v1/ledger/accounts?page_size=1000", field.greedy_steward)
    swarm(field, stop, 16, ask, lambda i, what, answer: tally.note(answer))


def questions(field, stop, tally, rng):
    """A student with 200 connections that never waits."""
    count = [0]

    def ask(i):
        count[0] += 1
        return 1, request("POST", field.queries, field.greedy_student, STATE,
                          f"g{field.round}-{count[0]}")
    swarm(field, stop, 200, ask,
          lambda i, what, answer: tally.note(answer, (200, 429, 503, 0)))


def many_states(field, stop, tally, rng):
    """The largest questions that are allowed, of which each is a thousand answers."""
    body = {"states": [[rng.uniform(-1, 1) for _ in range(4)] for _ in range(1024)]}
    count = [0]

    def ask(i):
        count[0] += 1
        return 1, request("POST", field.queries, field.heavy_student, body,
                          f"h{field.round}-{count[0]}")
    swarm(field, stop, 16, ask, lambda i, what, answer: tally.note(answer, (200, 429, 503, 0)))


def spent(field, stop, tally, rng):
    """A student whose budget is soon gone goes on asking."""
    count = [0]

    def ask(i):
        count[0] += 1
        return 1, request("POST", field.queries, field.poor_student, STATE,
                          f"p{field.round}-{count[0]}")
    swarm(field, stop, 8, ask, lambda i, what, answer: tally.note(answer, (200, 403, 429, 503, 0)))


def keys_again(field, stop, tally, rng):
    """Keys of answered questions with another question, and with the same one."""
    first = {}
    other = {"state": [0.5, 0, 0, 0]}

    def ask(i):
        key, same = f"r{field.round}-{rng.randrange(50)}", rng.random() < 0.5
        return (key, same or key not in first), request(
            "POST", field.queries, field.replay_student,
            STATE if same or key not in first else other, key)

    def heard(i, what, answer):
        key, same = what
        tally.note(answer, (200, 429, 503, 0) if same else (422, 429, 503, 0))
        if same and answer.status == 200:
            if first.setdefault(key, answer.body) != answer.body:
                tally.wrong.append(f"{key}: another answer under the same key")
    swarm(field, stop, 16, ask, heard)


def one_key(field, stop, tally, rng):
    """Sixteen connections at once under one new key, again and again."""
    told, place = {}, [0]

    def ask(i):
        place[0] += 1
        key = f"o{field.round}-{place[0] // 16}"
        return key, request("POST", field.queries, field.replay_student, STATE, key)

    def heard(i, key, answer):
        tally.note(answer, (200, 409, 429, 503, 0))
        if answer.status == 200 and told.setdefault(key, answer.body) != answer.body:
            tally.wrong.append(f"{key}: two answers under one key")
    swarm(field, stop, 16, ask, heard)


def bad_heads(field, stop, tally, rng):
    while not stop():
        defect, text = heads.bad(rng)
        wire = Wire(field.port, "127.0.0.10", timeout=20)
        try:
            wire.open()
            wire.socket.sendall(text + heads.hidden(field.student))
        except OSError:
            pass
        got = wire.rest() if wire.socket else b""
        tally.tried += 1
        if heads.was_heard(got):
            tally.wrong.append(f"{defect}: {(got or b'nothing, and it stayed open')[:200]!r}")


def guesses(field, stop, tally, rng):
    """Paths and identifiers that are nobody's, and tokens that were never given."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    places = [("GET", "/v1/ledger/accounts/acc_{}"), ("GET", "/v1/teachers/tch_{}"),
              ("GET", "/v1/certificates/crt_{}"), ("POST", "/v1/teachers/tch_{}/queries"),
              ("GET", "/v1/teachers/../ledger/{}"), ("GET", "/v1/%2e%2e/{}"), ("GET", "/{}")]

    def ask(i):
        method, path = rng.choice(places)
        token = rng.choice((field.guesser, None, "tct_" + "".join(rng.choices(letters, k=40))))
        name = "".join(rng.choices(letters, k=rng.randrange(1, 60)))
        return 1, request(method, path.format(name), token, STATE if method == "POST" else None,
                          "k" if method == "POST" else None)
    swarm(field, stop, 16, ask,
          lambda i, what, answer: tally.note(answer, (400, 401, 403, 404, 405, 429, 503, 0)))


def pages(field, stop, tally, rng):
    """Strangers fetch the largest pages, and some never read them."""
    paths = ("/openapi.yaml", "/docs", "/problems", "/status.js", "/healthz/ready")
    deaf = [open_socket(field, "127.0.0.11") for _ in range(16)]
    for one in deaf:
        if one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            try:
                one.sendall(request("GET", "/openapi.yaml") * 20)
            except OSError:
                pass
    swarm(field, stop, 16, lambda i: (1, request("GET", rng.choice(paths))),
          lambda i, what, answer: tally.note(answer, (200, 429, 503, 0)), ("127.0.0.11",))


def watchers(field, stop, tally, rng):
    """Event streams that are opened and dropped."""
    text = request("GET", f"/v1/jobs/{field.job}/events", field.greedy_steward)
    while not stop():
        held = [open_socket(field, "127.0.0.12") for _ in range(80)]
        for one in held:
            if one:
                try:
                    one.sendall(text)
                except OSError:
                    pass
        tally.tried += len(held)
        time.sleep(0.5)
        for one in held:
            if one:
                one.close()


def trainings(field, stop, tally, rng):
    """Jobs, one after another."""
    wire, number = Wire(field.port, "127.0.0.13"), 0
    while not stop():
        number += 1
        answer = wire.ask("POST", "/v1/jobs", field.greedy_steward,
                          {"algorithm": "ppo", "environment": "cartpole",
                           "parameters": {"transitions": 20000 + rng.randrange(1000)}},
                          f"j{field.round}-{number}")
        tally.note(answer)
        time.sleep(1)


ATTACKS = (silent_connections, slow_heads, strangers_bodies, clients_bodies, slow_uploads, prices,
           plans, books, questions, many_states, spent, keys_again, one_key, bad_heads, guesses,
           pages, watchers, trainings)


class Field:
    """Where the attackers stand: a port, the tokens they have, and what they know."""

    def __init__(self, house, student, teacher):
        house.wire.close()
        for role in ("agent", "contributor"):
            setattr(self, role, house.person(role).token)
        steward = house.person("steward")
        self.greedy_steward = steward.token
        for name in ("greedy", "heavy", "poor", "replay"):
            setattr(self, name + "_student", house.person("student").token)
        self.guesser = house.person("student").token
        self.student = student.token
        self.dataset = house.dataset(steward, sealed=False)
        self.sealed = house.dataset(steward)
        self.teacher, self.queries = teacher, f"/v1/teachers/{teacher}/queries"
        self.job = house.wire.make(
            "POST", "/v1/jobs", steward.token,
            {"algorithm": "ppo", "environment": "cartpole", "parameters": {"transitions": 20000}},
            key="first")["id"]
        self.port, self.round = house.port, 0


def act(attack, field, seed, stop, results):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    tally = Tally()
    attack(field, stop.is_set, tally, random.Random(seed))
    results.put((attack.__name__, tally))


class Army:
    """All attacks at once."""

    def __init__(self, field, seed, attacks=ATTACKS):
        self.stop, self.results = multiprocessing.Event(), multiprocessing.Queue()
        self.soldiers = [
            multiprocessing.Process(target=act, args=(attack, field, f"{seed} {attack.__name__}",
                                                      self.stop, self.results), daemon=True)
            for attack in attacks]
        for soldier in self.soldiers:
            soldier.start()

    def pids(self):
        return [soldier.pid for soldier in self.soldiers]

    def end(self):
        """The tally of each attack, by its name."""
        self.stop.set()
        tallies = dict(self.results.get(timeout=120) for _ in self.soldiers)
        for soldier in self.soldiers:
            soldier.join()
        return tallies
