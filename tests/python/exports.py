"""Exports that somebody made up, hashed and signed as a service would: what a service that lies could hand over."""
import base64
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TACET", "build/release/tacet")
sys.path.insert(0, str(ROOT / "scripts"))
import verify as checks  # noqa: E402
from ed25519 import L, P, ed_point, ed_times  # noqa: E402

BASE = ed_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
NOTHING = '{"type":"NoOpDpEvent"}'
DAY = "2026-11-28T00:00:00.000Z"


def encode(point):
    x, y = (point[i] * pow(point[2], P - 2, P) % P for i in (0, 1))
    return (y | (x & 1) << 255).to_bytes(32, "little")


def unpadded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


class Key:
    def __init__(self, seed):
        raw = hashlib.sha512(seed).digest()
        self.secret, self.prefix = int.from_bytes(raw[:32], "little") & (1 << 254) - 8 | 1 << 254, raw[32:]
        self.public = encode(ed_times(self.secret, BASE))
        self.kid = checks.hash_of(self.public, 16)[:16]

    def sign(self, message):
        nonce = int.from_bytes(hashlib.sha512(self.prefix + message).digest(), "little")
        point = encode(ed_times(nonce % L, BASE))
        challenge = int.from_bytes(hashlib.sha512(point + self.public + message).digest(), "little")
        return point + ((nonce + challenge * self.secret) % L).to_bytes(32, "little")


KEY = Key(b"a key of tests")


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def canonical(value):
    """VALUE as certificates are signed. Numbers between 1e-6 and 1e-4 are written in another way there."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    return re.sub(r"(\d)\.0(?=[,}])", r"\1", text.replace("e-0", "e-"))


class Account:
    """An account of WORLD, with its lines."""

    def __init__(self, world, name, kind, resource, client="", unit="expert", order=0.0):
        self.world, self.lines = world, []
        self.row = dict(id=name, kind=kind, resource=resource, client=client, owner="cli_owner", unit=unit, renyi_order=order,
                        epsilon=0.0, delta=0.0, **dict.fromkeys(checks.BALANCES, 0), entries=0, head="",
                        created_ms=len(world.accounts) + 1)
        self.row["head"] = checks.genesis(self.row)
        world.accounts.append(self)

    def add(self, kind, limit=0, spent=0, held=0, limit_d=0, spent_d=0, held_d=0, epsilon=0.0, delta=0.0, resource="",
            client="", event=NOTHING):
        row = self.row
        amounts = dict(zip(checks.BALANCES, (limit, spent, held, limit_d, spent_d, held_d)))
        entry = dict(account=row["id"], sequence=row["entries"] + 1, time_ms=row["entries"] + 1, kind=kind, **amounts,
                     epsilon=float(epsilon), delta=float(delta), client=client, resource=resource, event=event)
        entry["hash"] = checks.entry_hash(entry, row["head"])
        for name, amount in amounts.items():
            row[name] += amount
        row.update({"entries": entry["sequence"], "head": entry["hash"]})
        row.update({"epsilon": entry["epsilon"], "delta": entry["delta"]} if kind in ("open", "limit") else {})
        self.lines += [("entry", entry), ("leaf", self.world.leaf(row["id"], entry["sequence"], entry["hash"]))]
        return self

    def open(self, epsilon, delta=0.0):
        """A Renyi account counts all of epsilon as divergence but 10, which pay for the conversion."""
        counted = epsilon - 10 if self.row["renyi_order"] else epsilon
        delta_units = 0 if self.row["renyi_order"] else int(delta * 1e18)
        return self.add("open", limit=int(counted * 1e9), limit_d=delta_units, epsilon=epsilon, delta=delta)

    def hold(self, job, units, delta_units=0):
        return self.add("hold", held=units, held_d=delta_units, resource=job)

    def settle(self, job, units, delta_units=0, event=NOTHING, held=None):
        """Ends the hold of JOB, which pays all of it, or so much of what it HELD."""
        held = held or (units, delta_units)
        return self.add("settle", spent=units, spent_d=delta_units, held=-held[0], held_d=-held[1], resource=job, event=event)


    def fold(self):
        """Puts one fold where all entries but the first stand. The leaf of the last one stays."""
        entries = [line for name, line in self.lines if name == "entry"]
        last = entries[-1]
        event = compact(dict(type="FoldedEntries", first_sequence=2, count=last["sequence"] - 1, first_time_ms=2,
                             previous_hash=entries[0]["hash"], digest="0" * 32))
        sums = {name: sum(entry[name] for entry in entries[1:]) for name in checks.BALANCES}
        self.lines[2:] = [("entry", {**last, **sums, "kind": "folded", "client": "", "resource": "", "event": event}), self.lines[-1]]


class World:
    """What an export says that KEY signs. Its log has whatever was added, in that order."""

    def __init__(self, key=KEY):
        self.key = key
        self.accounts, self.leaves, self.trail, self.certificates, self.tiles = [], [], [], [], []
        self.subtrees = []  # of which the export has the root alone: level, number

    def leaf(self, account, sequence, head):
        leaf = dict(number=len(self.leaves), account=account, sequence=sequence, head=head)
        self.leaves.append(checks.sha(f"\0{account} {sequence} {head}".encode()))
        return leaf

    def dataset(self, name="ds_a", epsilon=10, delta=1e-4, order=0.0):
        return Account(self, "acc_" + name, "dataset", name, order=order).open(epsilon, delta)

    def row(self, action, resource, subject="", actor="service", change=lambda text: text):
        number = len(self.trail) + 1
        text = change(compact(dict(number=number, time=DAY, actor=actor, client="", role="", token=0, action=action,
                                   resource=resource, subject=subject, status=200, outcome="ok", count=1, address="",
                                   request="")))
        self.trail.append((text, self.leaf("audit", number, checks.hash_of(text.encode()))))

    def root(self, leaves):
        return checks.root_of(checks.subtrees_of(dict(enumerate(leaves)), {}), len(leaves))

    def subtree(self, level, number):
        root = self.root(self.leaves[number * 256**level:(number + 1) * 256**level])
        return compact({"subtree": dict(level=level, number=number, hash=root.hex())})

    def note(self):
        origin = "tacet/" + self.key.kid
        text = f"{origin}\n{len(self.leaves)}\n{base64.b64encode(self.root(self.leaves)).decode()}\n"
        signature = checks.sha(f"{origin}\n\1".encode(), self.key.public)[:4] + self.key.sign(text.encode())
        return f"{text}\n\u2014 {origin} {base64.b64encode(signature).decode()}\n"

    def path(self, number, leaves):
        if len(leaves) == 1:
            return []
        half = 1 << (len(leaves) - 1).bit_length() - 1
        left, right = leaves[:half], leaves[half:]
        return self.path(number, left) + [self.root(right)] if number < half else \
            self.path(number - half, right) + [self.root(left)]

    def proof(self, number):
        path = "".join(base64.b64encode(h).decode() + "\n" for h in self.path(number, self.leaves))
        return f"c2sp.org/tlog-proof@v1\nindex {number}\n{path}\n{self.note()}"

    def certify(self, about, account, job, epsilon, delta=0.0, dataset="ds_a", limit=None, **more):
        """A certificate about ABOUT, which names the last entry of ACCOUNT, or none."""
        ledger = dict(account=None, entries=None, head=None, hold=job, proof=None, exposure=None)
        if account:
            limit = limit or dict(epsilon=account.row["epsilon"], delta=account.row["delta"])
            ledger.update(account=account.row["id"], entries=account.row["entries"], head=account.row["head"],
                          proof=self.proof(account.lines[-1][1]["number"]),
                          exposure=dict(limit=limit, greatest_limit=limit))
        subject = {"pol": "policy", "tch": "teacher", "qrl": "q_release"}[about[:3]]
        text = {"id": "crt_" + about, subject: about, "job": job, "dataset": dataset, "dataset_covered": True,
                "issued_at": DAY, "software_version": "1", "privacy": dict(unit="expert", epsilon=epsilon, delta=delta),
                "ledger": ledger, **more}
        signature = dict(algorithm="Ed25519", key_id=self.key.kid, value=unpadded(self.key.sign(canonical(text).encode())))
        self.certificates.append({**text, "signature": signature})

    def text(self, version=3, without=()):
        """The export, of that version and WITHOUT the lines that begin so."""
        lines = [compact({"export": dict(version=version, time_ms=1764288000000, software_version="1", kid=self.key.kid,
                                         x=unpadded(self.key.public))})]
        lines += ['{"certificate":%s}' % canonical(c) for c in sorted(self.certificates, key=lambda c: c["id"])]
        for account in self.accounts:
            lines += [compact({name: line}) for name, line in [("account", account.row), *account.lines]]
        for text, leaf in self.trail:
            lines += ['{"audit":%s}' % text, compact({"leaf": leaf})]
        lines += [compact({"tile": dict(number=n, hashes=b"".join(self.leaves[256 * n:256 * n + 256]).hex())}) for n in self.tiles]
        lines += [self.subtree(*place) for place in self.subtrees]
        lines.append(compact({"checkpoint": self.note()}))
        lines = [line for line in lines if not line.startswith(without)]
        raw = "".join(line + "\n" for line in lines).encode()
        digest = checks.hash_of(raw)
        signature = unpadded(self.key.sign(f"tacet export 1 lines {len(lines)} digest {digest}\n".encode()))
        return raw + compact({"end": dict(lines=len(lines), digest=digest, signature=signature)}).encode() + b"\n"


def ask(text, earlier=None, checkpoint=None, trusted=KEY):
    """What `tacet verify` and scripts/verify.py print about the export TEXT, each with its exit code. TRUSTED may be None."""
    with tempfile.TemporaryDirectory(prefix="tacet-exports-") as folder:
        files = {"export": text, "earlier": earlier, "checkpoint": checkpoint and checkpoint.encode(),
                 "keys": trusted and json.dumps({"keys": [dict(kty="OKP", crv="Ed25519", x=unpadded(trusted.public))]}).encode()}
        options = []
        for name, raw in files.items():
            if raw is not None:
                pathlib.Path(folder, name).write_bytes(raw)
                options += [f"--{name}", f"{folder}/{name}"] if name != "export" else []
        answers = []
        for command in ([PROGRAM, "verify"], [sys.executable, "scripts/verify.py"]):
            ran = subprocess.run([*command, *options, f"{folder}/export"], cwd=ROOT, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
            answers.append((ran.returncode, ran.stdout.decode(errors="replace")))
        return answers
