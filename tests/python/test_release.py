"""What belongs to a release: the list of parts, and the signature over all files."""
import json
import pathlib
import subprocess
import tempfile
import unittest

from service import PROGRAM

WHO = "maintainers@tacet.example"


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = subprocess.run(["scripts/sbom.py", PROGRAM, "1795780800"], capture_output=True, text=True, check=True).stdout
        cls.list = json.loads(text)

    def test_it_has_what_cyclonedx_asks_for(self):
        self.assertEqual(("CycloneDX", "1.5", 1), tuple(self.list[name] for name in ("bomFormat", "specVersion", "version")))
        self.assertRegex(self.list["serialNumber"], "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertEqual("2026-11-27T12:00:00Z", self.list["metadata"]["timestamp"])
        whole = self.list["metadata"]["component"]
        self.assertEqual(("application", "tacet"), (whole["type"], whole["name"]))
        self.assertRegex(whole["hashes"][0]["content"], "^[0-9a-f]{64}$")
        for part in self.list["components"]:
            self.assertTrue(part["version"] and part["licenses"][0]["expression"], part)
            self.assertEqual("library", part["type"])
            self.assertTrue(part["purl"].startswith(f"pkg:deb/debian/{part['name']}@"), part)
        self.assertEqual([part["bom-ref"] for part in self.list["components"]], self.list["dependencies"][0]["dependsOn"])

    def test_it_knows_what_is_linked_in_each_way(self):
        kinds = {part["name"]: [kind["value"] for kind in part["properties"]] for part in self.list["components"]}
        for name, kind in (("libjansson4", "shared"), ("libsodium23", "shared"), ("libminizip-dev", "static"),
                           ("libopenblas-serial-dev", "static"), ("libkissfft-dev", "header")):
            self.assertIn(kind, kinds[name])

    def test_it_has_every_library_that_the_program_loads(self):
        loaded = subprocess.run(["readelf", "-d", PROGRAM], capture_output=True, text=True, check=True).stdout
        shared = [part for part in self.list["components"] if {"name": "tacet:linked", "value": "shared"} in part["properties"]]
        self.assertGreaterEqual(len(shared), loaded.count("(NEEDED)") - 2)  # libm and libc are of one package


class Signature(unittest.TestCase):
    def verify(self, folder, signers):
        sums = (folder / "SHA256SUMS").read_bytes()
        signed = subprocess.run(["ssh-keygen", "-Y", "verify", "-f", signers, "-I", WHO, "-n", "tacet-release", "-s",
                                 folder / "SHA256SUMS.sig"], input=sums, capture_output=True, check=False)
        same = subprocess.run(["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=folder, capture_output=True, check=False)
        return signed.returncode == 0 and same.returncode == 0

    def test_it_holds_for_the_files_that_were_signed_alone(self):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            folder, key, signers = place / "dist", place / "key", place / "signers"
            folder.mkdir()
            (folder / "tacet.deb").write_bytes(b"package")
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
            signers.write_text(f"{WHO} {key.with_suffix('.pub').read_text()}")
            subprocess.run(["scripts/sign-release", folder, key], check=True)
            self.assertTrue(self.verify(folder, signers))
            (folder / "tacet.deb").write_bytes(b"packagf")
            self.assertFalse(self.verify(folder, signers))
            sums = folder / "SHA256SUMS"
            sums.write_text(subprocess.run(["sha256sum", "tacet.deb"], cwd=folder, capture_output=True, text=True, check=True).stdout)
            self.assertFalse(self.verify(folder, signers))


if __name__ == "__main__":
    unittest.main()
