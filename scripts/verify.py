#!/usr/bin/env python3
"""Check an export of tacet without tacet: structure, hashes, sums, limits, holds, certificates, signatures.

    verify.py [--keys FILE [--newer FILE]] [--earlier FILE] [--checkpoint FILE] EXPORT    (of "tacet export"; - is standard input)
--keys        the service's /.well-known/jwks.json, fetched over a connection that you trust
--newer       its jwks.json of now, from anywhere: for keys that have followed those of --keys
--earlier     an export of before: EXPORT has to go on from its last entries
--checkpoint  a checkpoint of before, as a witness keeps it: the log has to go on from it; needs --keys
It shares no code with "tacet verify", which computes prices, too: docs/verify.md. Exit code 0: all is well.
"""
import argparse
import base64
import hashlib
import itertools
import json
import pathlib
import re
import struct
import sys

try:
    from ed25519 import ed_holds
    from verify_keys import Chain, read_keys, read_newer, read_time, unpadded
    from verify_stated import MALFORMED, Stated, least_delta
except ImportError as missing:
    sys.exit(f"verify.py: {missing.name}.py has to stand beside it")

TEXT, WHOLE, REAL, HASH = "text", "whole", "real", "hash"
BALANCES = dict.fromkeys("limit_units spent_units held_units limit_delta spent_delta held_delta".split(), WHOLE)
ACCOUNT = {**dict.fromkeys("id kind resource client owner unit".split(), TEXT), "renyi_order": REAL, "epsilon": REAL,
           "delta": REAL, **BALANCES, "entries": WHOLE, "head": HASH, "created_ms": WHOLE}
ENTRY = {"account": TEXT, "sequence": WHOLE, "time_ms": WHOLE, "kind": TEXT, **BALANCES, "epsilon": REAL,
         "delta": REAL, "client": TEXT, "resource": TEXT, "event": TEXT, "hash": HASH}
LEAF = {"number": WHOLE, "account": TEXT, "sequence": WHOLE, "head": HASH}
AUDIT = {"number": WHOLE, **dict.fromkeys("time actor client role".split(), TEXT), "token": WHOLE,
         **dict.fromkeys("action resource subject".split(), TEXT), "status": WHOLE, "outcome": TEXT, "count": WHOLE,
         "address": TEXT, "request": TEXT}
KEY = dict.fromkeys("kid x follows from signature".split(), TEXT)
HEAD = {"version": WHOLE, "time_ms": WHOLE, "software_version": TEXT, "kid": TEXT, "x": TEXT}
FOLD = re.compile(r'\{"type":"FoldedEntries","first_sequence":([1-9][0-9]*),"count":([1-9][0-9]*),'
                  r'"first_time_ms":(?:0|-?[1-9][0-9]*),"previous_hash":"([0-9a-f]{64})","digest":"[0-9a-f]{32}"\}')
TILE = re.compile(rb'\{"tile":\{"number":(0|[1-9]\d{0,14}),"hashes":"([0-9a-f]{16384})"\}\}\n')
SUBTREE = re.compile(rb'\{"subtree":\{"level":([1-6]),"number":(0|[1-9]\d{0,14}),"hash":"([0-9a-f]{64})"\}\}\n')
RESTORED = "the account was restored from a backup: it does not go on from the earlier export, and has spent "
CONTROL = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")  # no terminal is shown these
SIGNATURE = re.compile(rb',"signature":(\{[^{}]*\})')


def unique(pairs):
    if len(members := dict(pairs)) == len(pairs):
        return members
    raise ValueError("a name stands twice")


def is_kind(value, kind):
    if kind == WHOLE:
        return type(value) is int and -2**63 < value < 2**63
    if kind == REAL:
        return type(value) in (int, float) and abs(value) < float("inf")
    return type(value) is str and (kind != HASH or re.fullmatch("[0-9a-f]{64}", value) is not None)


def read_members(line, name, members):
    """The object that LINE has under NAME: these members, in this order."""
    whole = json.loads(line, object_pairs_hook=unique)
    found = whole[name]
    if len(whole) > 1 or list(found) != list(members) or not all(is_kind(found[m], members[m]) for m in members):
        raise ValueError("the line has other members")
    return found


# ---- hashes of the ledger: numbers are little endian, each text follows its length
def canonical_text(text):
    return struct.pack("<q", len(raw := text.encode("utf-8", "surrogatepass"))) + raw


def hash_of(raw, size=32):
    return hashlib.blake2b(raw, digest_size=size).hexdigest()


def genesis(account):
    return hash_of(canonical_text("tacet ledger account 1")
                   + struct.pack("<dq", account["renyi_order"] + 0.0, account["created_ms"])
                   + b"".join(canonical_text(account[t]) for t in "id kind resource client owner unit".split()))


def entry_hash(entry, previous):
    numbers = (1, entry["sequence"], entry["time_ms"], *(entry[b] for b in BALANCES))
    raw = struct.pack("<9q2d", *numbers, entry["epsilon"] + 0.0, entry["delta"] + 0.0) + bytes.fromhex(previous)
    return hash_of(raw + b"".join(canonical_text(entry[t]) for t in "kind account client resource event".split()))


# ---- the log: RFC 9162, section 2.1; C2SP's tlog-checkpoint and tlog-proof
def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def subtrees_of(leaves, known):
    """For each level the roots of full subtrees by number; those of KNOWN, by level and number, have no leaves."""
    levels = [leaves] + [{} for level in range(63)]
    for (level, number), root in known.items():
        levels[8 * level][number] = root
    for row, above in zip(levels, levels[1:]):
        for number in row.keys():
            if number & 1 and number ^ 1 in row:
                above[number >> 1] = sha(b"\1", row[number ^ 1], row[number])
    return levels


def root_of(levels, size):
    """The root of the first SIZE leaves: it joins full subtrees, the smallest at the right. None: one is missing."""
    root = b""
    for level, row in enumerate(levels):
        if size >> level & 1:
            if (left := row.get((size >> level) - 1)) is None:
                return None
            root = sha(b"\1", left, root) if root else left
    return root or sha()


def inclusion_root(leaf, node, size, path):
    """The root of the tree of SIZE in which LEAF is number NODE, by PATH; None when there is none."""
    last = size - 1
    for other in path:
        if node & 1 or node == last:
            leaf = sha(b"\1", other, leaf)
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            leaf = sha(b"\1", leaf, other)
        if last <= 0:
            return None
        node, last = node >> 1, last >> 1
    return leaf if node == last == 0 else None


def read_checkpoint(note, *keys):
    """Origin, size and root of a checkpoint that one of KEYS signed."""
    text, _, signatures = note.rpartition("\n\n")
    if text.count("\n") != 2:
        raise ValueError("it is no checkpoint of a log")
    origin, size, root = text.split("\n")
    for line in signatures.split("\n"):
        raw = base64.b64decode(line.rpartition(" ")[2], validate=True) if line.startswith(f"\u2014 {origin} ") else b""
        ours = (key for key in keys if raw[:4] == sha(f"{origin}\n\1".encode(), key)[:4])
        if any(ed_holds(key, f"{text}\n".encode(), raw[4:]) for key in ours):
            return origin, int(size), base64.b64decode(root, validate=True)
    raise ValueError("the checkpoint has no signature of this service that holds")


def read_proof(ledger, keys):
    """Origin, size and root of the log that LEDGER, of a certificate, proves its entry to be in."""
    head, _, note = ledger["proof"].partition("\n\n")
    name, index, *path = head.split("\n")
    origin, size, root = read_checkpoint(note, *keys)
    leaf = sha(f"\0{ledger['account']} {ledger['entries']} {ledger['head']}".encode())
    found = inclusion_root(leaf, int(index[6:]), size, [base64.b64decode(p, validate=True) for p in path])
    if name != "c2sp.org/tlog-proof@v1" or not index.startswith("index ") or found != root:
        raise ValueError("the proof does not hold")
    return origin, size, root


def effects_fit(entry):
    """Whether the amounts of ENTRY are those of its kind; a fold has nothing else."""
    limit, spent, held, limit_d, spent_d, held_d = (entry[b] for b in BALANCES)
    no_limit, no_spent, no_held = not (limit or limit_d), not (spent or spent_d), not (held or held_d)
    opens, pays = no_spent and no_held, no_limit and spent >= 0 and spent_d >= 0
    bare = not any(entry[word] for word in ("client", "resource", "epsilon", "delta"))
    return {"open": opens, "limit": opens, "debit": pays and no_held, "folded": pays and no_held and bare,
            "hold": no_limit and no_spent and held >= 0 and held_d >= 0, "restored": pays and no_held,
            "handover": no_limit and opens, "settle": pays and spent <= -held and spent_d <= -held_d}.get(entry["kind"])


class Account:
    """The account in hand: what its line says, and what its entries add up to."""

    def __init__(self, row):
        self.row, self.sums, self.holds = row, dict.fromkeys(BALANCES, 0), {}
        self.head, self.foldable = genesis(row), row["kind"] in ("teacher", "client")
        self.epsilon = self.delta = self.entries = self.leaf = self.first = 0  # the first that the last entry counts
        self.parted, self.reborn = [], False  # anchors that do not fit, and why; it was restored since then

    def apply(self, entry):
        after = {b: self.sums[b] + entry[b] for b in BALANCES}
        limit, spent, held, limit_d, spent_d, held_d = after.values()
        good = all(0 <= a <= 4e18 for a in after.values()) and spent + held <= limit and spent_d + held_d <= limit_d
        self.sums = after if good else self.sums
        return good

    def move_hold(self, entry):
        amounts, name = (entry["held_units"], entry["held_delta"]), entry["resource"]
        if entry["kind"] == "hold":
            return len(name.encode()) < 32 and self.holds.setdefault(name, amounts) is amounts
        held, self.holds[name] = self.holds.get(name), None  # it never begins again
        return held == (-amounts[0], -amounts[1])


class Export:
    """One pass. Anchors are others' words for entries: (sequence, hash, from, balances behind it, may be folded)."""

    def __init__(self, keys, earlier, kept=None):
        self.trusted, self.key_before = keys, earlier and earlier.key
        self.demanded, self.anchors = (dict(earlier.certificates), dict(earlier.heads)) if earlier else ({}, {})
        self.claims = [(*log, "") for log in (earlier and earlier.log, kept) if log and log[1]]
        self.row_before, self.log_before = (earlier.row[:2], earlier.log or ("", 0)) if earlier else ((0, ""), ("", 0))
        self.restored, self.restored_before = set(), earlier.restored if earlier else set()
        self.certificates, self.certified, self.paid = {}, {}, set()  # certified: what by which job
        self.line, self.fault_count, self.faults, self.heads, self.purposes = 0, 0, [], {}, set()
        self.counts = {c: 0 for c in "accounts entries folded unseen holds certificates leaves unshown rows heads lost".split()}
        self.stated, self.chain = Stated(self.fault), Chain(self.fault)
        self.shares, self.aside = {}, {}  # of shares by account: spent; set aside or paid by their payers
        self.opened, self.converted = {}, {}  # of converted accounts: what the next one began with; what they paid for it
        self.last_account, self.account, self.key = (-2**63, ""), None, None
        self.followed = ""  # since when another key has followed the one that signs it
        self.leaves, self.tiles, self.log, self.version, self.time_ms, self.digest = {}, {}, (), 0, 0, None
        self.subtrees = {}  # of which the export has the root alone, by level and number
        self.row = (0, "", True)  # of the audit trail, the last one: number, hash, whether its leaf has come

    def fault(self, where, sequence, what):
        self.fault_count += 1
        if len(self.faults) < 16:
            at = f"line {self.line}" + (f", {where}" if where else "") + (f", entry {sequence}" if sequence else "")
            self.faults.append(CONTROL.sub("?", f"{at}: {what}"))

    def when(self, bad, *fault):
        if bad:
            self.fault(*fault)

    def read_head(self, line):
        head = read_members(line, "export", HEAD)
        self.version, self.time_ms, self.key = head["version"], head["time_ms"], unpadded(head["x"])
        if self.version not in (3, 4):
            raise ValueError("this program knows exports of versions 3 and 4 alone")
        self.when(hash_of(self.key, 16)[:16] != head["kid"], "", 0, "the key's id is not that of the key")
        self.chain.keys = [self.key] if self.version < 4 else []

    def read_certificate(self, text):
        self.counts["certificates"] += 1
        certificate = json.loads(text, object_pairs_hook=unique)
        signature, where, ledger = certificate["signature"], certificate["id"], certificate.get("ledger", {})
        signer = self.chain.signer(signature.get("key_id"))
        good = signature["algorithm"] == "Ed25519" and \
            ed_holds(signer, SIGNATURE.sub(b"", text, count=1), unpadded(signature.get("value")))
        self.when(not good, where, 0, "its signature does not hold: it was changed, or the key is another's")
        last, self.certificates[where] = next(reversed(self.certificates), ""), hash_of(text)
        self.when(where <= last, where, 0, "the certificates are not in the order of their ids")
        other = self.demanded.pop(where, hash_of(text)) != hash_of(text)
        self.when(other, where, 0, "the earlier export has another certificate of this id")
        about = (certificate.get(name) for name in ("teacher", "q_release", "policy"))
        about, job = next((name for name in about if type(name) is str and name), ""), certificate.get("job") or ""
        self.when(about and about in self.certified, where, 0, "two certificates are about the same")
        self.certified[about] = job
        try:
            self.claims += [(*read_proof(ledger, self.chain.keys), where)] if ledger.get("proof") else []
        except MALFORMED:
            self.fault(where, 0, "its proof that the log has its entry does not hold")
        self.stated.read(where, certificate, about, self.claims)
        proven = self.claims and self.claims[-1][3] == where
        self.chain.read_certificate(where, signature.get("key_id"), self.claims[-1][1] if proven else 0)
        anchor = (ledger.get("entries"), ledger.get("head"), where, (), False)
        if anchor[:2] != (None, None):
            good = is_kind(anchor[0], WHOLE) and anchor[0] > 0 and is_kind(anchor[1], HASH)
            self.when(not good, where, 0, "the entry of the ledger that it names cannot be read")
            self.anchors.setdefault(ledger["account"], []).append(anchor)

    def begin_account(self, row):
        self.end_account()
        self.when(row["kind"] not in ("dataset", "teacher", "client", "share"), row["id"], 0, "it is of no kind")
        last, self.last_account = self.last_account, (row["created_ms"], row["id"])
        self.when(self.last_account <= last, row["id"], 0, "the accounts are not in the order of their opening")
        bad = (row["client"] != "") != (row["kind"] in ("client", "share"))
        self.when(bad, row["id"], 0, "accounts of its kind are of a client, or of none")
        purpose = (row["kind"], row["resource"], row["client"])
        self.when(purpose in self.purposes, row["id"], 0, "two accounts are for the same resource and client")
        self.purposes.add(purpose)
        self.account, self.waiting = Account(row), sorted(self.anchors.pop(row["id"], []))
        self.account.proven_to = max((sequence for sequence, _, source, *_ in self.waiting if not source), default=0)
        self.counts["accounts"] += 1

    def end_account(self):
        if not self.account:
            return
        account, row, sums = self.account, self.account.row, self.account.sums
        for name, value in {**vars(account), **sums}.items():
            self.when(row.get(name, value) != value, row["id"], 0, f"{name} is not what the entries say")
        if account.leaf != account.entries:
            self.fault(row["id"], account.entries, "the last entry is not in the log")
        spent, name = (sums["spent_units"], sums["spent_delta"]), row["id"]
        account.parted += [(*anchor, "an entry that was there is missing") for anchor in self.waiting]
        for sequence, _, source, before, _, what in account.parted:
            if account.reborn and not source:
                less = spent[0] < before[1] or spent[1] < before[4]
                what = RESTORED + ("less than it had there: budget was given back" if less else "at least what it had there")
            self.fault(source or name, sequence, what)
        self.stated.end_account(row)
        open_holds = {name: held for name, held in account.holds.items() if held is not None}
        self.counts["holds"] += len(open_holds)
        for share, held in open_holds.items():
            self.set_aside(share, held)
        if row["kind"] == "share":
            self.shares[name] = spent

    def set_aside(self, name, amounts):
        if name.startswith("acc_"):
            bad = name in self.aside or self.account.row["kind"] in ("client", "share")
            self.when(bad, name, 0, "two accounts pay for this share, or one that cannot")
            self.aside[name] = amounts

    def read_conversion(self, entry):
        """ENTRY may pay for the conversion of a dataset's account, or open the one that goes on from it."""
        name, before = self.account.row["id"], self.account.row["resource"]
        if entry["kind"] == "debit" and entry["resource"] == before:
            self.when(name in self.converted, name, 0, "it was converted twice")
            self.converted[name] = (entry["spent_units"], entry["spent_delta"])
        if entry["kind"] == "open" and before.startswith("acc_"):  # it declares what was paid, as the nearest double
            self.opened[before] = (entry["epsilon"] * 1e9 * (1 - 1e-12), entry["delta"] * 1e18 * (1 - 1e-12))

    def check_chain(self, entry, first, previous):
        account, where, sequence = self.account, self.account.row["id"], entry["sequence"]
        self.when(entry["account"] != where, where, sequence, "the entry is another account's")
        self.when((entry["kind"] == "open") != (sequence == 1), where, sequence, "opening stands in the wrong place")
        follows = previous == account.head if previous else entry_hash(entry, account.head) == entry["hash"]
        self.when(not follows or first != account.entries + 1, where, sequence, "it does not follow the one before it")

    def read_entry(self, entry):
        account, where, sequence, kind = self.account, self.account.row["id"], entry["sequence"], entry["kind"]
        first, previous, before = sequence, None, tuple(account.sums.values())
        fold = FOLD.fullmatch(entry["event"]) if kind == "folded" else None
        if fold and 2 <= int(fold[1]) <= sequence and int(fold[2]) == sequence - int(fold[1]) + 1:
            first, previous = int(fold[1]), fold[3]
        self.when(kind == "folded" and not previous, where, sequence, "the fold cannot be read")
        self.when(previous and not account.foldable, where, sequence, "entries of datasets and shares are never folded")
        self.check_chain(entry, first, previous)
        fits = effects_fit(entry) and sequence <= 10**12
        self.when(not fits, where, sequence, "its amounts are not those of its kind")
        self.when(not account.apply(entry), where, sequence, "breaks 0 <= spent + held <= limit")
        if kind in ("hold", "settle") and not account.move_hold(entry):
            self.fault(where, sequence, "it begins or ends a hold that it cannot")
        answers = kind == "debit" and account.row["kind"] in ("dataset", "share")  # they may pay by divergence
        if kind in ("debit", "settle") and not answers and account.row["renyi_order"] <= 1:
            short = entry["spent_delta"] < least_delta(entry["event"])
            self.when(short, where, sequence, "no epsilon is enough for its event at the delta that was paid")
        if kind == "settle":
            self.set_aside(entry["resource"], (entry["spent_units"], entry["spent_delta"]))
            self.paid |= {entry["resource"]} if entry["spent_units"] or entry["spent_delta"] else set()
        if account.row["kind"] == "dataset":
            self.read_conversion(entry)
        if kind in ("open", "limit"):
            account.epsilon, account.delta = entry["epsilon"], entry["delta"]
        self.restored |= {entry["hash"]} if kind == "restored" else set()
        account.reborn |= kind == "restored" and entry["hash"] not in self.restored_before
        self.stated.read_entry(entry)
        self.meet_anchors(entry, before, after := tuple(account.sums.values()))
        heads = self.heads.setdefault(where, [])  # for a later export: the first, the last, what no fold may count
        if len(heads) > 1 and not (account.foldable and not heads[-1][4]):
            heads.pop()
        heads.append((sequence, entry["hash"], "", after, kind in ("debit", "folded")))
        account.entries, account.head, account.first = sequence, entry["hash"], first
        self.counts["entries"] += sequence - first + 1
        self.counts["folded"] += sequence - first + 1 if kind == "folded" else 0
        self.counts["unseen"] += max(0, sequence - max(first - 1, account.proven_to)) if previous else 0

    def meet_anchors(self, entry, before, after):
        while self.waiting and self.waiting[0][0] <= entry["sequence"]:
            sequence, known, _, balances, debit = anchor = self.waiting.pop(0)
            lost = sequence < entry["sequence"]
            self.counts["lost" if lost else "heads"] += 1
            between = all(a <= b <= c for a, b, c in zip(before, balances, after))
            good = between if lost else known == entry["hash"] and balances in ((), after)
            if not good or (entry["kind"] == "folded" and not debit):
                self.account.parted.append((*anchor, "another entry, or another sum, was there"))

    def read_row(self, row, text):
        if json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() != text or read_time(row["time"]) is None:
            raise ValueError("the row of the audit trail is not laid out as it was written")
        number = row["number"]
        self.end_account()
        self.when((number - 1, True) != self.row[::2], "audit", number, "a row before it, or its leaf, is missing")
        self.account, self.row, self.counts["rows"] = None, (number, hash_of(text), False), number
        self.row_before = (0, "") if self.row[:2] == self.row_before else self.row_before
        self.stated.read_row(row)
        self.chain.read_row(row)
        teacher = row["action"] == "POST /v1/teachers"
        if (teacher or row["action"] == "release") and row["outcome"] == "ok":
            job, released = ("", row["resource"]) if teacher else (row["resource"], row["subject"])
            missing = (job in self.paid or released[:4] != "pol_") and released not in self.certified
            self.when(missing, released, 0, "it was released, as the audit trail says, and has no certificate")
            if self.certified.get(released, job) != job:
                self.fault(released, 0, "its certificate names another job than the audit trail")

    def read_leaf(self, leaf):
        account, sequence, row, self.row = self.account, leaf["sequence"], self.row, (*self.row[:2], True)
        if row[0]:
            self.chain.read_leaf(leaf["number"])
            good = (leaf["account"], sequence, leaf["head"], False) == ("audit", *row)
        else:
            good = leaf["account"] == account.row["id"] and max(account.leaf + 1, account.first) <= sequence
            good = good and (sequence < account.entries or (sequence, leaf["head"]) == (account.entries, account.head))
            account.leaf, self.counts["lost"] = sequence, self.counts["lost"] + (sequence < account.entries)
        good = good and leaf["number"] not in self.leaves
        self.when(not good, leaf["account"], sequence, "the log has another entry: this is another history")
        self.counts["leaves"] += 1
        self.stated.read_leaf(leaf)
        self.leaves[leaf["number"]] = sha(f"\0{leaf['account']} {sequence} {leaf['head']}".encode())

    def check_log(self):
        whole = {**self.tiles, **self.leaves}
        parts = sorted([(number, 1) for number in whole] + [(n * 256**level, 256**level) for level, n in self.subtrees])
        size = sum(leaves for _, leaves in parts)
        gap = any(begin != end for (begin, _), end in zip(parts, itertools.accumulate((p[1] for p in parts), initial=0)))
        hidden = [(n, 1) for n in self.tiles.keys() - self.leaves.keys()] + [p for p in parts if p[1] > 1]
        self.counts["unshown"] = sum(max(0, min(n, begin + n - self.log_before[1])) for begin, n in hidden)
        bad = self.counts["unshown"] > self.counts["unseen"] or self.tiles.items() - whole.items()
        what = "as after a restore" if self.log_before[:1] != self.log[:1] else "or it is missing here"
        self.when(self.row_before[0], "audit", self.row_before[0], f"the earlier export has another row, {what}")
        self.when(bad, "", 0, "a tile is not that of its leaves, or too many leaves are removed")
        self.when(not self.row[2], "audit", self.row[0], "the row is not in the log")
        if gap:
            self.fault("", 0, "a leaf of the log is missing, or is there twice")
        elif self.log[1:] != (size, root_of(levels := subtrees_of(whole, self.subtrees), size)):
            self.fault("", 0, "the log is not that of its checkpoint")
        else:
            self.counts["heads"] += len(self.claims)
            for origin, leaves, root, source in self.claims:
                what, then = "the log once had other leaves: it is older, or another history", root_of(levels, leaves)
                if then is None and leaves <= size:
                    what = "the log does not show any more what it once was: a part of it that had to stay is gone"
                if not source and origin != self.log[0]:
                    what = "the log has another name, as after a restore: it does not go on from the log before"
                self.when(leaves > size or then != root, source, 0, what)

    def check_keys(self):
        keys = self.chain.keys
        self.chain.end(self.key, len(keys) if self.version > 3 else 0)
        known = self.trusted is None or any(key in self.trusted for key in keys)
        self.when(not known or self.key_before not in (None, *keys), "", 0, "it has the key of another service")
        self.followed = self.chain.meet_trusted(self.trusted or {}, self.time_ms)

    def read_end(self, line, digest):
        end, self.digest = read_members(line, "end", {"lines": WHOLE, "digest": HASH, "signature": TEXT}), digest
        signed = f"tacet export 1 lines {self.line - 1} digest {digest}\n".encode()
        good = ed_holds(self.key, signed, unpadded(end["signature"])) and (end["digest"], end["lines"]) == (digest, self.line - 1)
        self.when(not good, "", 0, "its signature does not hold for the lines before it")

    def read_line(self, line):
        in_tree = self.tiles or self.subtrees
        if self.log or (in_tree and not line.startswith((b'{"tile":', b'{"subtree":', b'{"checkpoint":'))):
            raise ValueError("the line cannot be read")
        if line.startswith(b'{"key":') and self.version > 3 and self.line == 2 + len(self.chain.keys):
            self.chain.read(read_members(line, "key", KEY))
        elif line.startswith(b'{"leaf":') and (self.account or self.row[0]):
            self.read_leaf(read_members(line, "leaf", LEAF))
        elif line.startswith(b'{"checkpoint":'):
            for key in self.chain.keys[-2:]:  # the newest has signed it, and the one before
                self.log = read_checkpoint(json.loads(line)["checkpoint"], key)
        elif line.startswith(b'{"audit":'):
            self.read_row(read_members(line, "audit", AUDIT), line[len(b'{"audit":'):-2])
        elif row := TILE.fullmatch(line):
            raw, number = bytes.fromhex(row[2].decode()), 256 * int(row[1])
            self.when(number <= next(reversed(self.tiles), -1), "", 0, "the tiles are not in order")
            self.tiles.update((number + i, raw[32 * i:32 * i + 32]) for i in range(256))
        elif row := SUBTREE.fullmatch(line):
            where = int(row[1]), int(row[2])
            bad = where in self.subtrees or (where[1] + 1) * 256**where[0] > 2**62
            self.when(bad, "", 0, "a leaf of the log is missing, or is there twice")
            self.subtrees[where] = bytes.fromhex(row[3].decode())
        elif line.startswith(b'{"entry":') and self.account:
            self.read_entry(read_members(line, "entry", ENTRY))
        elif line.startswith(b'{"account":') and not self.row[0]:
            self.begin_account(read_members(line, "account", ACCOUNT))
        elif line.startswith(b'{"certificate":') and line.endswith(b"}\n") and not (self.account or self.row[0]):
            self.read_certificate(line[len(b'{"certificate":'):-2])
        else:
            raise ValueError("the line cannot be read")

    def read_lines(self, file):
        digest, ended = hashlib.blake2b(digest_size=32), False
        for line in file:
            self.line += 1
            if line.endswith(b"\r\n") or line.startswith(b"\xef\xbb\xbf"):
                raise ValueError("it has CRLF or a byte order mark, not as it was written: something has changed the file")
            if ended or not line.endswith(b"\n"):
                raise ValueError("the export ends within a line, or goes on behind its last one")
            if self.line == 1:
                self.read_head(line)
            elif line.startswith(b'{"end":'):
                self.end_account()
                for share, spent in self.shares.items():
                    short = any(a > b for a, b in zip(spent, self.aside.get(share, (-1, -1))))
                    self.when(short, share, 0, "the share has spent more than its payer set aside or paid")
                for name, began in self.opened.items():
                    short = any(a > b for a, b in zip(began, self.converted.get(name, (-1, -1))))
                    self.when(short, name, 0, "the account that goes on from it has more than it paid")
                self.stated.end(self.paid)
                for where in (*self.anchors, *self.demanded):
                    self.fault(where, 0, "it was there, in the earlier export or as a certificate says, and is missing")
                self.check_log()
                self.check_keys()
                self.read_end(line, digest.hexdigest())
                ended = True
            else:
                self.read_line(line)
            digest.update(line)
        if not ended:
            raise ValueError("the export ends before its last line: it was cut off")


def verify(name, keys, earlier=None, kept=None):
    with (sys.stdin.buffer if name == "-" else open(name, "rb")) as file:
        export = Export(keys, earlier, kept)
        try:
            export.read_lines(file)
        except MALFORMED as why:
            export.fault("", 0, f"{why}; nothing behind it was checked")
    trusted = [key for key in export.chain.keys if key in (keys or ())]
    known = "none of --keys" if not trusted else "one of --keys" if export.key in trusted else "follows one of --keys"
    known = "the export's own word" if keys is None else known
    key = f"key {hash_of(export.key, 16)[:16]} ({known}{export.followed})" if export.key else "its first line is not that of an export"
    print(f"{name}: {key}")
    counts = ", ".join(f"{count} {what}" for what, count in export.counts.items())
    end = f"IT DOES NOT HOLD: {export.fault_count} faults" if export.fault_count else "all of it holds"
    print("  " + "\n  ".join((counts, *export.faults, end)))
    return export


def read_file(name, read, otherwise):
    """What READ makes of the bytes of the file NAME; OTHERWISE says what is wrong, or the error itself does."""
    raw = pathlib.Path(name).read_bytes()
    try:
        return read(raw)
    except MALFORMED as why:
        raise ValueError(f"{name}: {otherwise or why}") from why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--keys", "--newer", "--earlier", "--checkpoint", "export"):
        parser.add_argument(name, action="append")
    options = parser.parse_args()
    for name, given in vars(options).items():
        if len(given or ()) > 1:
            parser.error(f"--{name} is given twice")
        setattr(options, name, given and given[0])
    for name in ("newer", "checkpoint"):
        if getattr(options, name) and not options.keys:
            parser.error(f"--{name} needs --keys")
    keys = kept = None
    try:
        if options.keys:
            keys = read_file(options.keys, read_keys, "")
        if options.newer:
            keys = read_file(options.newer, lambda raw: read_newer(raw, keys), "")
        if options.checkpoint:
            kept = read_file(options.checkpoint, lambda raw: read_checkpoint(raw.decode(), *keys), "")
        earlier = verify(options.earlier, keys) if options.earlier else None
        export = verify(options.export, keys, earlier, kept)
    except (OSError, *MALFORMED) as why:
        sys.exit(f"verify.py: {why}")
    if earlier and export.key and earlier.time_ms > export.time_ms:
        print(f"--earlier is of a later time than {options.export}: are the two swapped?")
    if earlier and export.digest and earlier.digest == export.digest:
        print(f"--earlier is the same export as {options.export}: that it goes on from itself shows nothing")
    sys.exit(1 if export.fault_count or (earlier and earlier.fault_count) else 0)


if __name__ == "__main__":
    main()
