"""A server of its own, people on it, and connections whose bytes are ours to choose."""
import atexit
import collections
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

Answer = collections.namedtuple("Answer", "status head body")
NOTHING = Answer(0, b"", b"")
ROLES = ("admin", "steward", "contributor", "student", "agent", "auditor", "monitor")
HOME = "127.0.0.1"


def request(method, path, token=None, body=None, key=None, kind="application/json", more=""):
    """The bytes of a request; BODY may be text, bytes or what JSON can say."""
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: t\r\n"
    if token:
        head += f"Authorization: Bearer {token}\r\n"
    if key is not None:
        head += f"Idempotency-Key: {key}\r\n"
    if body is not None:
        head += f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return (head + more + "\r\n").encode("utf-8", "surrogateescape") + (body or b"")


def whole_answer(text):
    """The first answer in TEXT and what follows it, or None while it is not all there."""
    end = text.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = text[:end]
    status = int(head[9:12])
    at = head.lower().find(b"\r\ncontent-length:")
    size = int(head[at + 17:].split(b"\r\n", 1)[0]) if at >= 0 else 0
    if len(text) < end + 4 + size:
        return None
    return Answer(status, head, text[end + 4:end + 4 + size]), text[end + 4 + size:]


class Wire:
    """A kept connection of one thread, from a loopback address of choice."""

    def __init__(self, port, address=HOME, timeout=60):
        self.port, self.address, self.timeout, self.socket = port, address, timeout, None

    def open(self):
        self.close()
        self.socket = socket.socket()
        self.socket.settimeout(self.timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((self.address, 0))
        self.socket.connect((HOME, self.port))

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def send(self, text):
        """Sends bytes and gives the answer; NOTHING when the server closed without one."""
        try:
            if not self.socket:
                self.open()
            self.socket.sendall(text)
        except OSError:
            pass  # it may have answered before it closed
        return self.receive()

    def receive(self):
        text = b""
        try:
            while not (got := whole_answer(text)):
                more = self.socket.recv(65536)
                if not more:
                    raise ConnectionError
                text += more
        except (OSError, AttributeError, ValueError):
            self.close()
            return NOTHING
        if b"\r\nConnection: close" in got[0].head:
            self.close()
        return got[0]

    def rest(self):
        """All that comes until the server closes; None when it does not within the timeout."""
        text = b""
        try:
            while more := self.socket.recv(65536):
                text += more
        except TimeoutError:
            text = None
        except OSError:
            pass
        self.close()
        return text

    def ask(self, *what, **options):
        return self.send(request(*what, **options))

    def make(self, *what, **options):
        """A call that must succeed; its answer, parsed."""
        answer = self.ask(*what, **options)
        if not 200 <= answer.status < 300:
            raise SystemExit(f"{what[0]} {what[1]}: {answer.status} {answer.body[:500]!r}")
        return json.loads(answer.body) if answer.body else None


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Person:
    def __init__(self, made):
        self.id, self.token = made["id"], made["token"]


class House:
    """A server process on a new directory. Its people are made over HTTP by its admin."""

    def __init__(self, program, *flags):
        self.program, self.flags = program, flags
        self.folder = tempfile.TemporaryDirectory(prefix="tacet-siege-")
        self.data = self.folder.name + "/data"
        self.log = open(self.folder.name + "/log", "ab")
        atexit.register(self.remove)
        self.start()
        token = subprocess.run(
            [program, "client", "create", "--data", self.data, "--role", "admin", "--name", "siege"],
            check=True, capture_output=True, text=True).stdout.strip()
        self.people = 0
        self.wire = Wire(self.port)
        self.admin = Person({"id": "", "token": token})
        self.steward, self.auditor = self.person("steward"), self.person("auditor")

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "--data", self.data, "--listen", HOME + ":0", *self.flags],
            stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise SystemExit("the server did not start: " + self.log_text()[-2000:])
        self.port = int(line.rsplit(":", 1)[1])
        self.wire = Wire(self.port)

    def end(self, number=signal.SIGTERM):
        self.wire.close()
        self.process.send_signal(number)
        code = self.process.wait()
        self.process.stdout.close()
        return code

    def remove(self):
        atexit.unregister(self.remove)
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        self.log.close()
        self.folder.cleanup()

    def log_text(self):
        return open(self.folder.name + "/log", errors="replace").read()

    def peak_mib(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) // 1024
        return 0

    # ---- people and what they own

    def person(self, role):
        self.people += 1
        return Person(self.wire.make("POST", "/v1/clients", self.admin.token,
                                     {"name": f"{role} {self.people}", "role": role}))

    def policy(self, steward):
        def layer(inputs, outputs):
            return {"weight": [[((r * 31 + c * 17) % 23 - 11) / 200 for c in range(inputs)]
                               for r in range(outputs)], "bias": [0] * outputs}
        body = {"name": "p", "environment": "cartpole",
                "network": {"activation": "relu", "output": "softmax",
                            "layers": [layer(4, 64), layer(64, 64), layer(64, 2)]}}
        return self.wire.make("POST", "/v1/policies", steward.token, body)["id"]

    def teacher(self, steward, policy, budget, client_budget, accounting="renyi", radius=1e-6):
        body = {"policy": policy, "accounting": accounting,
                "mechanism": {"name": "dirichlet", "concentration": 20, "min_probability": 0.1},
                "adjacency": {"unit": "observation", "radius": radius},
                "budget": {"epsilon": budget, "delta": 1e-5}}
        if client_budget:
            body["client_budget"] = {"epsilon": client_budget, "delta": 1e-5}
        return self.wire.make("POST", "/v1/teachers", steward.token, body)["id"]

    def dataset(self, steward, experts=40, sealed=True):
        token = steward.token
        made = self.wire.make("POST", "/v1/datasets", token, {
            "name": "d", "environment": "cartpole", "sensitivity": "private",
            "nominal_experts": experts, "budget": {"epsilon": 10, "delta": 1e-5}})
        path = "/v1/datasets/" + made["id"]
        self.wire.make("POST", path + "/trajectories", token, self.lines(experts),
                       kind="application/x-ndjson")
        if sealed:
            self.wire.make("POST", path + ":seal", token)
        return made["id"]

    @staticmethod
    def lines(experts, steps=20):
        return "".join(json.dumps({
            "expert": f"e{e}", "states": [[t / 100, e / 100, -0.01, 0.1] for t in range(steps + 1)],
            "actions": [(t + e) % 2 for t in range(steps)], "rewards": [1] * steps,
            "terminated": True, "truncated": False}) + "\n" for e in range(experts))

    def accounts(self):
        """All of them, page by page, as the auditor sees them."""
        self.wire.close()  # it may have been idle for too long
        found, page = [], ""
        while True:
            answer = self.wire.make("GET", "/v1/ledger/accounts?page_size=1000" + page,
                                    self.auditor.token)
            found += answer["items"]
            if not answer.get("next_page_token"):
                return found
            page = "&page_token=" + answer["next_page_token"]

    def books_fail(self):
        """What is wrong with the ledger: a sentence, or None."""
        for account in self.accounts():
            units = account["units"]
            if units["spent"] + units["held"] > units["limit"]:
                return f"{account['account']} is over its limit"
        verdict = self.wire.make("POST", "/v1/ledger:verify", self.auditor.token)
        return None if verdict["ok"] else "the ledger is not whole"
