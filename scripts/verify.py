#!/usr/bin/env python3
"""Check an export of tacet without tacet: structure, hashes, sums, limits, holds, certificates, signatures.

    verify.py [--keys FILE] [--earlier FILE] EXPORT

EXPORT     what "tacet export" wrote; - reads standard input
--keys     the service's /.well-known/jwks.json, fetched over a connection that you trust
--earlier  an export of before: EXPORT has to go on from its last entries

It needs Python's standard library and nothing else, and shares no code with "tacet verify", which also computes
every price again. docs/verify.md describes the file. Exit code 0: all is well, 1: something is not.
"""
import argparse
import base64
import hashlib
import json
import re
import struct
import sys

# ---- Ed25519 (RFC 8032, section 5.1), verification alone; it keeps no secret, so it may be slow

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def ed_add(a, b):
    """The sum of two points in extended coordinates."""
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    return ((f - e) * (d - c) % P, (d + c) * (f + e) % P, (d - c) * (d + c) % P, (f - e) * (f + e) % P)


def ed_times(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = ed_add(total, point)
        point = ed_add(point, point)
        scalar >>= 1
    return total


def ed_point(text):
    """The point that 32 bytes stand for, or None."""
    y = int.from_bytes(text, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


ED_BASE = ed_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed_holds(key, message, signature):
    a, r, s = ed_point(key), ed_point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(key) != 32 or len(signature) != 64 or a is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = ed_times(s, ED_BASE), ed_add(r, ed_times(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


# ---- the form of lines

TEXT, WHOLE, REAL, HASH = "text", "whole", "real", "hash"
ACCOUNT = {"id": TEXT, "kind": TEXT, "resource": TEXT, "client": TEXT, "owner": TEXT, "unit": TEXT,
           "renyi_order": REAL, "epsilon": REAL, "delta": REAL, "limit_units": WHOLE, "spent_units": WHOLE,
           "held_units": WHOLE, "limit_delta": WHOLE, "spent_delta": WHOLE, "held_delta": WHOLE, "entries": WHOLE,
           "head": HASH, "created_ms": WHOLE}
ENTRY = {"account": TEXT, "sequence": WHOLE, "time_ms": WHOLE, "kind": TEXT, "limit_units": WHOLE,
         "spent_units": WHOLE, "held_units": WHOLE, "limit_delta": WHOLE, "spent_delta": WHOLE, "held_delta": WHOLE,
         "epsilon": REAL, "delta": REAL, "client": TEXT, "resource": TEXT, "event": TEXT, "hash": HASH}
HEAD = {"version": WHOLE, "time_ms": WHOLE, "software_version": TEXT, "kid": TEXT, "x": TEXT}
END = {"lines": WHOLE, "digest": HASH, "signature": TEXT}
ACCOUNT_KINDS = ("dataset", "teacher", "client", "share")
ENTRY_KINDS = ("open", "limit", "debit", "hold", "settle", "folded", "handover")
BALANCES = ("limit_units", "spent_units", "held_units", "limit_delta", "spent_delta", "held_delta")
MOST = 4 * 10**18
HEX = re.compile("[0-9a-f]{64}")
FOLD = re.compile(r'\{"type":"FoldedEntries","first_sequence":(\d+),"count":(\d+),"first_time_ms":(-?\d+),'
                  r'"previous_hash":"([0-9a-f]{64})","digest":"[0-9a-f]{32}"\}')
SIGNATURE = re.compile(rb',"signature":(\{[^{}]*\})')


class Unreadable(Exception):
    """A line that is none of an export; nothing behind it is checked."""


def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name stands twice")
    return members


def is_kind(value, kind):
    if kind == WHOLE:
        return type(value) is int and -2**63 < value < 2**63
    if kind == REAL:
        return type(value) in (int, float) and abs(value) < float("inf")
    return type(value) is str and (kind != HASH or HEX.fullmatch(value) is not None)


def read_members(line, name, members):
    """The object that LINE has under NAME: these members, in this order."""
    try:
        whole = json.loads(line, object_pairs_hook=unique)
        found = whole[name]
        good = len(whole) == 1 and list(found) == list(members)
        good = good and all(is_kind(found[m], kind) for m, kind in members.items())
    except (ValueError, KeyError, TypeError, AttributeError):
        good = False
    if not good:
        raise Unreadable("the line cannot be read; nothing behind it was checked")
    return found


def unpadded(text):
    """The bytes that base64url TEXT stands for; none when it is written in another way."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (ValueError, TypeError, UnicodeError):
        return b""
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=") == text.encode() else b""


def key_id(key):
    return hashlib.blake2b(key, digest_size=16).hexdigest()[:16]


# ---- hashes of the ledger: numbers are little endian, each text follows its length

def canonical_text(text):
    raw = text.encode("utf-8", "surrogatepass")
    return struct.pack("<q", len(raw)) + raw


def hash_of(raw):
    return hashlib.blake2b(raw, digest_size=32).hexdigest()


def genesis(account):
    texts = ("id", "kind", "resource", "client", "owner", "unit")
    return hash_of(canonical_text("tacet ledger account 1")
                   + struct.pack("<dq", account["renyi_order"] + 0.0, account["created_ms"])
                   + b"".join(canonical_text(account[t]) for t in texts))


def entry_hash(entry, previous):
    texts = ("kind", "account", "client", "resource", "event")
    return hash_of(struct.pack("<9q2d", 1, entry["sequence"], entry["time_ms"], *(entry[b] for b in BALANCES),
                               entry["epsilon"] + 0.0, entry["delta"] + 0.0)
                   + bytes.fromhex(previous) + b"".join(canonical_text(entry[t]) for t in texts))


def effects_fit(entry):
    """Whether the amounts of ENTRY are those that its kind has."""
    limit, spent, held, limit_d, spent_d, held_d = (entry[b] for b in BALANCES)
    no_limit, no_spent, no_held = not (limit or limit_d), not (spent or spent_d), not (held or held_d)
    spends = spent >= 0 and spent_d >= 0
    kind = entry["kind"]
    if kind in ("open", "limit"):
        return no_spent and no_held
    if kind in ("debit", "folded"):
        return no_limit and no_held and spends
    if kind == "hold":
        return no_limit and no_spent and held >= 0 and held_d >= 0
    if kind == "settle":
        return no_limit and spends and spent <= -held and spent_d <= -held_d
    return no_limit and no_spent and no_held


class Account:
    """The account in hand: what its line says, and what its entries add up to."""

    def __init__(self, row):
        self.row, self.sums = row, dict.fromkeys(BALANCES, 0)
        self.epsilon = self.delta = 0
        self.entries, self.head, self.chained, self.holds = 0, genesis(row), True, {}

    def apply(self, entry):
        after = {b: self.sums[b] + entry[b] for b in BALANCES}
        good = (all(0 <= after[b] <= MOST for b in BALANCES)
                and after["spent_units"] + after["held_units"] <= after["limit_units"]
                and after["spent_delta"] + after["held_delta"] <= after["limit_delta"])
        if good:
            self.sums = after
        return good

    def move_hold(self, entry):
        amounts, name = (entry["held_units"], entry["held_delta"]), entry["resource"]
        if entry["kind"] == "hold":
            good = name not in self.holds and len(name.encode()) < 32
            if good:
                self.holds[name] = amounts
            return good
        if name not in self.holds or self.holds[name] != (-amounts[0], -amounts[1]):
            return False
        del self.holds[name]
        return True


class Export:
    """One pass over an export. Anchors are (account, sequence, hash, from): another's word for an entry's hash."""

    def __init__(self, keys, anchors):
        self.trusted, self.anchors, self.anchors_of = keys, list(anchors), None
        self.line, self.fault_count, self.faults = 0, 0, []
        self.counts = dict.fromkeys(("accounts", "entries", "folded", "open_holds", "certificates", "heads", "lost"), 0)
        self.heads, self.purposes, self.account = [], set(), None
        self.shares, self.aside = {}, {}  # of shares by account: spent; set aside or paid by their payers
        self.last_account, self.last_certificate, self.key = (-2**63, ""), "", None

    def fault(self, where, sequence, what):
        self.fault_count += 1
        if len(self.faults) < 16:
            at = f"line {self.line}" + (f", {where}" if where else "") + (f", entry {sequence}" if sequence else "")
            self.faults.append(f"{at}: {what}")

    def read_head(self, line):
        try:
            head = read_members(line, "export", HEAD)
        except Unreadable:
            raise Unreadable("it does not begin as an export of tacet does") from None
        if head["version"] != 1:
            raise Unreadable("this program knows exports of version 1 alone")
        self.key = unpadded(head["x"])
        if len(self.key) != 32 or key_id(self.key) != head["kid"]:
            self.fault("", 0, "the key's id is not that of the key")
        if self.trusted is not None and self.key not in self.trusted:
            self.fault("", 0, "it is signed with the key of another service")

    # ---- certificates

    def read_certificate(self, text):
        self.counts["certificates"] += 1
        try:
            certificate = json.loads(text, object_pairs_hook=unique)
            signature = certificate["signature"]
            where = certificate["id"]
            good = signature["algorithm"] == "Ed25519" and type(where) is str
        except (ValueError, KeyError, TypeError):
            self.fault("", 0, "the certificate cannot be read")
            return
        ledger = certificate.get("ledger", {})
        if signature.get("key_id") != key_id(self.key):
            self.fault(where, 0, "it is signed with the key of another service")
        elif not good or not ed_holds(self.key, SIGNATURE.sub(b"", text, count=1), unpadded(signature.get("value"))):
            self.fault(where, 0, "its signature does not hold: it was changed")
        if where <= self.last_certificate:
            self.fault(where, 0, "the certificates are not in the order of their ids")
        self.last_certificate = where
        if ledger.get("account") and ledger.get("entries") and ledger.get("head"):
            self.anchors.append((ledger["account"], ledger["entries"], ledger["head"], where))

    # ---- accounts

    def begin_account(self, row):
        if self.anchors_of is None:
            self.anchors_of = {}
            for anchor in sorted(self.anchors):
                self.anchors_of.setdefault(anchor[0], []).append(anchor)
        if row["kind"] not in ACCOUNT_KINDS:
            raise Unreadable("the line cannot be read; nothing behind it was checked")
        if (row["created_ms"], row["id"]) <= self.last_account:
            self.fault(row["id"], 0, "the accounts are not in the order of their opening")
        self.last_account = (row["created_ms"], row["id"])
        purpose = (row["kind"], row["resource"], row["client"])
        if purpose in self.purposes:
            self.fault(row["id"], 0, "two accounts are for the same resource and client")
        self.purposes.add(purpose)
        self.account, self.waiting = Account(row), self.anchors_of.pop(row["id"], [])
        self.counts["accounts"] += 1

    def end_account(self):
        account = self.account
        if not account:
            return
        row, sums = account.row, account.sums
        for what, names in (("what is spent", ("spent_units", "spent_delta")),
                            ("what is held", ("held_units", "held_delta"))):
            if any(row[n] != sums[n] for n in names):
                self.fault(row["id"], 0, f"{what} is not the sum of the entries")
        if (row["limit_units"], row["limit_delta"], row["epsilon"], row["delta"]) != (
                sums["limit_units"], sums["limit_delta"], account.epsilon, account.delta):
            self.fault(row["id"], 0, "the limit is not what the entries say")
        if (row["entries"], row["head"]) != (account.entries, account.head):
            self.fault(row["id"], 0, "the last entry is not the one that it should be")
        for anchor in self.waiting:
            self.fault(anchor[3] or row["id"], anchor[1],
                       "an entry that was there is missing: this is an older history")
        self.counts["open_holds"] += len(account.holds)
        self.aside.update({name: held for name, held in account.holds.items() if name.startswith("acc_")})
        if row["kind"] == "share":
            self.shares[row["id"]] = (sums["spent_units"], sums["spent_delta"])
        self.heads.append((row["id"], account.entries, account.head, ""))

    def check_chain(self, entry, first, previous):
        account, where, sequence = self.account, self.account.row["id"], entry["sequence"]
        if entry["account"] != where:
            self.fault(where, sequence, "the entry is another account's")
        if (entry["kind"] == "open") != (sequence == 1):
            self.fault(where, sequence, "opening stands in the wrong place")
        if not account.chained:
            return
        if first != account.entries + 1:
            account.chained = False
            self.fault(where, sequence, "an entry before this one is missing, or is there twice")
        elif previous != account.head if previous else entry_hash(entry, account.head) != entry["hash"]:
            account.chained = False
            self.fault(where, sequence, "its hash is not that of what it says behind the entry before it")

    def read_entry(self, entry):
        account, where, sequence, kind = self.account, self.account.row["id"], entry["sequence"], entry["kind"]
        first, previous = sequence, None
        if kind not in ENTRY_KINDS:
            raise Unreadable("the line cannot be read; nothing behind it was checked")
        if not 1 <= sequence <= 10**12:
            self.fault(where, sequence, "no account has so many entries")
            return
        if kind == "folded":
            fold = FOLD.fullmatch(entry["event"])
            if fold and 2 <= int(fold[1]) <= sequence and int(fold[2]) == sequence - int(fold[1]) + 1:
                first, previous = int(fold[1]), fold[4]
            else:
                self.fault(where, sequence, "the fold cannot be read")
        self.check_chain(entry, first, previous)
        if not effects_fit(entry):
            self.fault(where, sequence, "its amounts are not those of its kind")
        if not account.apply(entry):
            self.fault(where, sequence, "breaks 0 <= spent + held <= limit")
        if kind in ("hold", "settle") and not account.move_hold(entry):
            self.fault(where, sequence, "it begins or ends a hold that it cannot")
        if kind == "settle" and entry["resource"].startswith("acc_"):
            self.aside[entry["resource"]] = (entry["spent_units"], entry["spent_delta"])
        if kind in ("open", "limit"):
            account.epsilon, account.delta = entry["epsilon"], entry["delta"]
        self.meet_anchors(entry)
        account.entries, account.head = sequence, entry["hash"]
        self.counts["entries"] += sequence - first + 1
        self.counts["folded"] += sequence - first + 1 if kind == "folded" else 0

    def meet_anchors(self, entry):
        while self.waiting and self.waiting[0][1] <= entry["sequence"]:
            account, sequence, head, source = self.waiting.pop(0)
            if sequence < entry["sequence"]:
                self.counts["lost"] += 1
            elif head != entry["hash"]:
                self.fault(source or account, sequence, "another entry was there: this is another history")
            else:
                self.counts["heads"] += 1

    def check_shares(self):
        for share, spent in self.shares.items():
            aside = self.aside.get(share)
            if aside is None:
                self.fault(share, 0, "nobody pays for what this share spends")
            elif spent[0] > aside[0] or spent[1] > aside[1]:
                self.fault(share, 0, "the share has spent more than its payer set aside or paid")

    # ---- the stream

    def read_end(self, line, digest):
        end = read_members(line, "end", END)
        if end["digest"] != digest or end["lines"] != self.line - 1:
            self.fault("", 0, "the lines before it are not those that it counts")
        signed = f"tacet export 1 lines {end['lines']} digest {digest}\n".encode()
        if not ed_holds(self.key, signed, unpadded(end["signature"])):
            self.fault("", 0, "its signature does not hold for the lines before it")

    def read_line(self, line):
        if line.startswith(b'{"entry":') and self.account:
            self.read_entry(read_members(line, "entry", ENTRY))
        elif line.startswith(b'{"account":'):
            row = read_members(line, "account", ACCOUNT)
            self.end_account()
            self.begin_account(row)
        elif line.startswith(b'{"certificate":') and line.endswith(b"}\n") and not self.account:
            self.read_certificate(line[len(b'{"certificate":'):-2])
        else:
            raise Unreadable("the line cannot be read; nothing behind it was checked")

    def read_lines(self, file):
        digest, ended = hashlib.blake2b(digest_size=32), False
        for line in file:
            self.line += 1
            if ended:
                raise Unreadable("there are lines behind the last one")
            if not line.endswith(b"\n"):
                raise Unreadable("the export ends within a line: it was cut off")
            if self.line == 1:
                self.read_head(line)
            elif line.startswith(b'{"end":'):
                self.end_account()
                self.check_shares()
                for account in self.anchors_of.values() if self.anchors_of is not None else [self.anchors]:
                    for anchor in account:
                        self.fault(anchor[3] or anchor[0], 0, "the account that it names is missing")
                self.read_end(line, digest.hexdigest())
                ended = True
            else:
                self.read_line(line)
            digest.update(line)
        if not ended:
            raise Unreadable("the export ends before its last line: it was cut off")

    def read(self, file):
        try:
            self.read_lines(file)
        except Unreadable as why:
            self.fault("", 0, str(why))
        return self


def verify(name, keys, anchors):
    with (sys.stdin.buffer if name == "-" else open(name, "rb")) as file:
        export = Export(keys, anchors).read(file)
    word = "the export's own word" if keys is None else "of --keys"
    print(f"{name}: key {key_id(export.key or b'')} ({word})")
    print("  " + ", ".join(f"{count} {what}" for what, count in export.counts.items()))
    for fault in export.faults:
        print("  " + fault)
    print("  all of it holds" if export.fault_count == 0 else f"  IT DOES NOT HOLD: {export.fault_count} faults")
    return export


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys")
    parser.add_argument("--earlier")
    parser.add_argument("export")
    options = parser.parse_args()
    keys, anchors, good = None, [], True
    try:
        if options.keys:
            with open(options.keys, encoding="utf-8") as file:
                keys = [unpadded(key["x"]) for key in json.load(file)["keys"] if key.get("crv") == "Ed25519"]
        if options.earlier:
            earlier = verify(options.earlier, keys, [])
            anchors, good = earlier.heads, earlier.fault_count == 0
        good = verify(options.export, keys, anchors).fault_count == 0 and good
    except (OSError, ValueError, KeyError) as why:
        sys.exit(f"verify.py: {why}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
