#!/usr/bin/env python3
"""Check that a certificate is genuine, and that it was issued for these weights.

    verify_certificate.py CERTIFICATE KEYS [WEIGHTS]

CERTIFICATE  what /v1/policies/{id}/certificate (or of a teacher, a Q-release) answered, or the receipt of an erasure,
             unchanged
KEYS         what /.well-known/jwks.json answered; get it over a connection that you trust
WEIGHTS      a download (JSON, safetensors or ONNX), or JSON with the same network in other words

It needs Python's own library, and openssl 3 for the signature. Exit code 0: all is well; 1: it is not.
"""
import base64
import datetime
import hashlib
import json
import re
import struct
import subprocess
import sys
import tempfile

SIGNATURE = re.compile(rb'"signature":\{[^{}]*\},?')


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def read(name):
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as why:
        sys.exit(f"{name}: cannot be read: {why.strerror}.")


def read_object(name, text, member, what):
    """The JSON object TEXT of the file NAME, which has MEMBER, or else is not WHAT."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        sys.exit(f"{name}: it is {'not JSON' if text else 'empty'}.")
    if not isinstance(value, dict) or member not in value:
        sys.exit(f"{name}: it has no member \"{member}\", so it is not {what}.")
    return value


def find_parts(text, certificate, keys):
    """The public key, the text that was signed, and the signature; None: the key set has no such key."""
    signature = certificate["signature"]
    key = next((k for k in keys["keys"] if k["kid"] == signature["key_id"]), None)
    return key and {"key": bytes.fromhex("302a300506032b6570032100") + unpadded(key["x"]),
                    "message": SIGNATURE.sub(b"", text, count=1),
                    "signature": unpadded(signature["value"])}


def signature_holds(text, certificate, keys):
    """Ed25519 over the canonical JSON, which is TEXT without the member "signature"."""
    try:
        parts = find_parts(text, certificate, keys)
    except (ValueError, KeyError, TypeError, AttributeError):
        sys.exit("The signature, or a key of the key set, cannot be read.")
    if parts is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        for name, content in parts.items():
            with open(f"{folder}/{name}", "wb") as file:
                file.write(content)
        return subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", f"{folder}/key", "-rawin",
             "-in", f"{folder}/message", "-sigfile", f"{folder}/signature"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def check_time(certificate, keys):
    """Another key may have followed the one that signed: whoever has stolen that one signs with it still."""
    try:
        after = [key["follows"]["from"] for key in keys["keys"]
                 if key.get("follows") and key["follows"]["kid"] == certificate["signature"]["key_id"]]
        times = [datetime.datetime.strptime(time, "%Y-%m-%dT%H:%M:%S.%fZ")
                 for time in (*after, certificate.get("erased_at") or certificate.get("issued_at")) if after]
    except (ValueError, KeyError, TypeError, AttributeError):
        sys.exit("The time of the certificate, or that of a key, cannot be read.")
    if after and times[-1] > min(times[:-1]) + datetime.timedelta(days=1):  # clocks differ
        sys.exit("Another key had followed the one that signed it, at the time that it names.")


def weights_sha256(network):
    """The digest of a network, whatever file it comes from (docs/jobs.md, "Certificates")."""
    layers = network["layers"]
    widths = [len(layers[0]["weight"][0])] + [len(layer["bias"]) for layer in layers]
    line = " ".join([network["activation"], network["output"], *map(str, widths)]) + "\n"
    numbers = [network.get("threshold", 0)]
    for layer in layers:
        numbers += [x for row in layer["weight"] for x in row] + layer["bias"]
    return hashlib.sha256(line.encode() + struct.pack(f"<{len(numbers)}f", *(x + 0.0 for x in numbers))).hexdigest()


def without_certificate(content):
    """A download as it was before its certificate was put in (docs/jobs.md, "Certificates"), and the certificate; what
    both may be."""
    yield content, None
    if content[:1] == b"{":
        at = content.find(b',"certificate":{')
        yield content[:at] + b"}", content[at + 15:-1]
    elif content[8:9] == b"{":
        end = 8 + struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8:end])
        carried = header.get("__metadata__", {}).pop("certificate", "")
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        yield struct.pack("<Q", len(text)) + text + content[end:], carried.encode()
    else:  # ONNX: the last field, behind its tag and its length of one to five bytes
        at = content.rfind(b"\n\x11tacet.certificate\x12")
        value = content[at + 20:].lstrip(bytes(range(128, 256)))[1:]  # behind its length
        yield from ((content[:at - back], value) for back in range(2, 7) if at >= back)


def find_weights(content, binds, certificate):
    """Whether CONTENT has the weights that BINDS names, and whether it carries another text than CERTIFICATE."""
    bound = binds.get("files", {}).values()
    try:
        for bare, carried in without_certificate(content):
            if hashlib.sha256(bare).hexdigest() in bound:
                return True, carried not in (None, certificate)
        network = json.loads(content)
        other = network.get("certificate") not in (None, json.loads(certificate))
        return weights_sha256(network) == binds.get("weights_sha256"), other
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, struct.error):
        return False, False


def check_weights(content, binds, certificate):
    """CERTIFICATE is the given one's text. That of a teacher binds a policy's network, which carries its own."""
    fit, other = find_weights(content, binds, certificate)
    if fit and other:
        if "files" in binds:
            sys.exit("The weights are those of the certificate, but the certificate inside of the file is another one.")
        print("The certificate inside of the file is another one, which was not looked at.")
    if fit:
        return
    if not binds.get("weights_sha256"):
        sys.exit("This certificate binds no weights.")
    if "files" not in binds:
        sys.exit("This certificate binds a network, which only the JSON download shows; it is not the network of this file.")
    sys.exit("These weights are not those that the certificate was issued for.")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    text = read(sys.argv[1]).strip()
    certificate = read_object(sys.argv[1], text, "signature", "a certificate or receipt")
    keys = read_object(sys.argv[2], read(sys.argv[2]), "keys", "a key set")
    if not signature_holds(text, certificate, keys):
        sys.exit("The signature does not hold: the certificate was changed, or the key is another's.")
    check_time(certificate, keys)
    print("The signature holds.")
    if len(sys.argv) == 4:
        check_weights(read(sys.argv[3]), certificate.get("binds", {}), text)
        print("The weights are those that the certificate was issued for.")


try:
    main()
except FileNotFoundError:
    sys.exit("openssl is not installed: it checks the signature.")
