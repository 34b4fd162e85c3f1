"""Signing keys that follow one another: for verify.py.

Each key but the first is signed by the one before it, in a key set and in an export. In an export the audit trail tells of
each, and no key signs a certificate whose log says already that another one had followed.
"""
import base64
import datetime
import hashlib
import json
import re

from ed25519 import ed_holds

KEYS_MOST, DAY_MS = 256, 86400000
UNSIGNED = "a key of the set is not signed by the one that it follows"


def unpadded(text):
    """The bytes that base64url TEXT stands for; none when it is written in another way."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=") == text.encode() else b""


def key_id(key):
    return hashlib.blake2b(key, digest_size=16).hexdigest()[:16]


def read_time(text):
    """The milliseconds since 1970 of the time TEXT, in UTC, as the service writes it; None: it is none."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text, re.ASCII) or text < "1970":
        return None
    try:
        passed = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ") - datetime.datetime(1970, 1, 1)
    except ValueError:
        return None
    return passed // datetime.timedelta(milliseconds=1)


def follows(before, key, since, signature):
    """Whether the key BEFORE has signed that KEY follows it from SINCE on."""
    new, old = (base64.urlsafe_b64encode(k).rstrip(b"=").decode() for k in (key, before))
    return read_time(since) is not None and \
        ed_holds(before, f"tacet key 1 {new} follows {old} from {since}\n".encode(), unpadded(signature))


def ed_keys(raw):
    """The Ed25519 keys of the set RAW, each with what is said of it."""
    try:
        keys = json.loads(raw)["keys"]
        if type(keys) is list:
            return [(unpadded(key.get("x", "")), key.get("follows")) for key in keys
                    if type(key) is dict and key.get("crv") == "Ed25519"]
        raise TypeError
    except (ValueError, KeyError, TypeError) as why:
        raise ValueError("it is no key set") from why


def said_of(said):
    """Whom a key follows, since when, and the signature, as a set has SAID; nothing: it is the first one."""
    if said is None:
        return "", "", ""
    words = [said.get(name) if type(said) is dict else None for name in ("kid", "from", "signature")]
    if not all(type(word) is str for word in words) or len(words[0].encode()) != 16 or read_time(words[1]) is None or \
            len(unpadded(words[2])) != 64:
        raise ValueError(UNSIGNED)
    return tuple(words)


def next_key(keys, key):
    """The one of KEYS that has followed KEY, and since when, or None."""
    return next(((other, since) for other, (before, since) in keys.items() if before == key_id(key)), None)


def read_keys(raw):
    """The keys of the trusted set RAW, each with the id of the one that it follows, or "", and since when."""
    found, signatures = {}, {}
    for key, said in ed_keys(raw):
        if len(key) == 32 and not found.get(key, ("",))[0]:
            before, since, signatures[key] = said_of(said)
            found[key] = before, since
    for key in found:
        after = next_key(found, key)
        if after and not follows(key, *after, signatures[after[0]]):
            raise ValueError(UNSIGNED)
    before = [link[0] for link in found.values() if link[0]]
    if len(set(before)) < len(before):
        raise ValueError("two keys of the set follow the same one")
    if not 0 < len(found) <= KEYS_MOST:
        raise ValueError("the key set has no Ed25519 key, or too many")
    return found


def read_newer(raw, keys):
    """KEYS, and those of the set RAW to which signed statements lead from them."""
    found, order = dict(keys), list(keys)
    for before in order:  # grows
        next_ones = [(key, said) for key, said in ed_keys(raw) if type(said) is dict and said.get("kid") == key_id(before)]
        if len(next_ones) > 1:
            raise ValueError("two keys of the set follow the same one")
        for key, said in next_ones:
            link = said_of(said)
            if not follows(before, key, *link[1:]):
                raise ValueError(UNSIGNED)
            if (next_key(found, before) or (key,))[0] != key:
                raise ValueError("the set names another successor of a key than is known")
            order += [key] if key not in found else []
            found[key] = found[key] if found.get(key, ("",))[0] else link[:2]
    if len(found) > KEYS_MOST:
        raise ValueError("the key set has too many keys")
    return found


class Chain:
    """The keys of an export, in their order."""

    def __init__(self, fault):
        self.fault, self.keys, self.leaves, self.signers, self.rotated = fault, [], [], [], False

    def read(self, line):
        """A line about the next key."""
        key, first = unpadded(line["x"]), not self.keys
        if len(self.keys) == KEYS_MOST:
            raise ValueError("the export has too many keys")
        good = key_id(key) == line["kid"] and line["follows"] == ("" if first else key_id(self.keys[-1]))
        good = good and (not (line["from"] or line["signature"]) if first
                         else follows(self.keys[-1], key, line["from"], line["signature"]))
        if not good:
            self.fault("", 0, "the key before it has not signed that this one follows")
        self.keys.append(key)

    def signer(self, name):
        return next((key for key in self.keys if key_id(key) == name), b"")

    def read_certificate(self, where, name, leaves):
        """A certificate that the key NAME has signed, when the log had LEAVES, or 0."""
        self.signers += [(where, self.keys.index(self.signer(name)), leaves)] if self.signer(name) else []

    def read_row(self, row):
        """A row of the audit trail, whose leaf comes next."""
        after = self.keys[len(self.leaves) + 1:]
        self.rotated = (row["actor"], row["action"]) == ("operator", "tacet key rotate")
        if self.rotated and not (after and row["resource"] == key_id(after[0])):
            self.fault("audit", row["number"], "it tells of another signing key than the export")

    def read_leaf(self, number):
        self.leaves += [number] if self.rotated else []

    def meet_trusted(self, trusted, time_ms):
        """None has another follower in TRUSTED. Says so where one has followed the last."""
        for key, after in zip(self.keys, self.keys[1:]):
            if (next_key(trusted, key) or (after,))[0] != after:
                self.fault("", 0, "it names another successor of a trusted key than the trusted set does")
        after = next_key(trusted, self.keys[-1]) if self.keys else None
        if after and time_ms > read_time(after[1]) + DAY_MS:
            self.fault("", 0, "another key had followed the one that signs it")
        return f"; a key that another followed at {after[1]}" if after else ""

    def end(self, key, lines):
        """KEY signs the export, which has as many LINES of keys; none: there is one key."""
        if self.keys[-1:] != [key] or lines == 1:
            self.fault("", 0, "its keys do not lead to the one that signs it")
        if len(self.leaves) + 1 != len(self.keys):
            self.fault("", 0, "the audit trail does not tell of each signing key")
        for where, place, leaves in self.signers:
            if place < len(self.leaves) and leaves > self.leaves[place]:
                self.fault(where, 0, "it is signed with a key that had already been replaced")
