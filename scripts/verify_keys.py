"""Signing keys that follow one another: for verify.py.

Each key but the first is signed by the one before it, in a key set and in an export. In an export the audit trail tells of
each, and no key signs a certificate whose log says already that another one had followed.
"""
import base64
import hashlib
import json
import re

from ed25519 import ed_holds

ROTATED = re.compile(rb'"actor":"operator","client":"","role":"","token":0,"action":"tacet key rotate","resource":"(\w*)"')


def unpadded(text):
    """The bytes that base64url TEXT stands for; none when it is written in another way."""
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=") == text.encode() else b""


def key_id(key):
    return hashlib.blake2b(key, digest_size=16).hexdigest()[:16]


def follows(before, key, since, signature):
    """Whether the key BEFORE has signed that KEY follows it from SINCE on."""
    new, old = (base64.urlsafe_b64encode(k).rstrip(b"=").decode() for k in (key, before))
    return ed_holds(before, f"tacet key 1 {new} follows {old} from {since}\n".encode(), unpadded(signature))


def ed_keys(raw):
    return [key for key in json.loads(raw)["keys"] if key.get("crv") == "Ed25519"]


def read_keys(raw):
    return [unpadded(key["x"]) for key in ed_keys(raw)]


def read_newer(raw, keys):
    """KEYS, and those of the set RAW to which signed statements lead from them."""
    found = list(keys)
    for before in found:  # grows
        next_ones = [key for key in ed_keys(raw) if key.get("follows", {}).get("kid") == key_id(before)]
        if len(next_ones) > 1:
            raise ValueError("two keys of the set follow the same one")
        for key in next_ones:
            if not follows(before, unpadded(key["x"]), key["follows"]["from"], key["follows"]["signature"]):
                raise ValueError("a key of the set is not signed by the one that it follows")
            found += [unpadded(key["x"])] if unpadded(key["x"]) not in found else []
    return found


class Chain:
    """The keys of an export, in their order."""

    def __init__(self, fault):
        self.fault, self.keys, self.leaves, self.signers, self.rotated = fault, [], [], [], False

    def read(self, line):
        """A line about the next key."""
        key, first = unpadded(line["x"]), not self.keys
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

    def read_row(self, number, text):
        """A row of the audit trail, whose leaf comes next."""
        found, after = ROTATED.search(text), self.keys[len(self.leaves) + 1:]
        self.rotated = found is not None
        if found and not (after and found[1].decode() == key_id(after[0])):
            self.fault("audit", number, "it tells of another signing key than the export")

    def read_leaf(self, number):
        self.leaves += [number] if self.rotated else []

    def end(self, key):
        """KEY signs the export."""
        if self.keys[-1:] != [key]:
            self.fault("", 0, "its keys do not lead to the one that signs it")
        if len(self.leaves) + 1 != len(self.keys):
            self.fault("", 0, "the audit trail does not tell of each signing key")
        for where, place, leaves in self.signers:
            if place < len(self.leaves) and leaves > self.leaves[place]:
                self.fault(where, 0, "it is signed with a key that another one had followed before")
