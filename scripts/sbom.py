#!/usr/bin/env python3
"""Write what a program was made of, as CycloneDX 1.5 in JSON: sbom.py PROGRAM [TIME] > FILE

The files that were linked stand in PROGRAM.link, which the linker wrote; a library that is only a header is found by the
sources that include it. Debian's dpkg says of which packages they are; docs/dependencies.md has the packages' licences as SPDX writes
them. A package that is not in its table is an error. TIME is in seconds since 1970; the same commit gives the same file.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent.parent
FIELDS = "${Package}\t${Version}\t${Architecture}\t${source:Package}\n"


def words_of(file):
    """The absolute paths in a file of make's rules."""
    return {os.path.realpath(word.rstrip(":")) for word in file.read_text().replace("\\\n", " ").split() if word[0] == "/"}


def dpkg(*words):
    return subprocess.run(["dpkg-query", *words], capture_output=True, text=True, check=False).stdout


def headers_of(tree):
    """The headers from outside that the program's sources name."""
    names = set()
    for pattern in ("*.c", "*.h", "*.cpp"):
        for file in tree.rglob(pattern):
            if file.relative_to(tree).parts[0] not in ("tests", "bench", "build"):
                names.update(re.findall(r"^#include <(.+)>", file.read_text(), re.MULTILINE))
    return {path for name in names for path in (f"/usr/include/{name}",) if os.path.exists(path)}


def packages_of(paths):
    """The package of each path; dpkg knows some by the place from before /usr was merged."""
    found = {}
    asked = sorted(paths | {path.removeprefix("/usr") for path in paths})
    for line in dpkg("-S", *asked).splitlines():
        owner, _, path = line.rpartition(": ")
        found[path if path in paths else f"/usr{path}"] = owner.split(",")[0].split(":")[0]
    return found


def facts_of(packages):
    """Version, architecture and source of each package."""
    rows = (line.split("\t") for line in dpkg("-W", f"-f={FIELDS}", *sorted(packages)).splitlines())
    return {row[0]: row[1:] for row in rows}


def licences():
    """The licence of each package that the table names, and of every package from the same source."""
    rows = re.findall(r"^\|[^|]+\|([^|]+)\|([^|]+)\|", (HERE / "docs/dependencies.md").read_text(), re.MULTILINE)
    named = {}
    for packages, texts in rows[2:]:
        packages, texts = ([word.strip() for word in cell.split(",")] for cell in (packages, texts))
        texts = texts if len(texts) == len(packages) else texts * len(packages)
        named.update((p, re.sub(r" \(.*", "", text)) for p, text in zip(packages, texts))
    return {facts[2]: named[package] for package, facts in facts_of(named).items()}


def kind_of(path):
    return "header" if path.startswith("/usr/include/") else "shared" if ".so" in path else "static"


def is_linked(path, needed):
    """Whether it is not a shared library that only another one needs."""
    return kind_of(path) != "shared" or os.path.basename(path).startswith(needed)


def component(package, facts, kinds, licence):
    version, architecture, _ = facts
    name = f"pkg:deb/debian/{package}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}"
    return {"type": "library", "bom-ref": name, "name": package, "version": version, "purl": name,
            "licenses": [{"expression": licence}],
            "properties": [{"name": "tacet:linked", "value": kind} for kind in sorted(kinds)]}


def main():
    program = pathlib.Path(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    dynamic = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    needed = tuple(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    paths = {path for path in words_of(pathlib.Path(f"{program}.link")) if is_linked(path, needed)}
    paths = {path for path in paths if path.startswith(("/usr/", "/lib"))}
    headers = {path for path in headers_of(HERE) if path not in paths}
    owners = packages_of(paths | headers)
    if paths - owners.keys():
        sys.exit(f"sbom.py: no package has {', '.join(sorted(paths - owners.keys())[:5])}")
    facts, known, kinds = facts_of(set(owners.values())), licences(), {}
    linked = {facts[owners[path]][2] for path in paths}
    for path, package in owners.items():
        if path in paths or facts[package][2] not in linked:
            kinds.setdefault(package, set()).add(kind_of(path))
    facts = {package: facts[package] for package in kinds}
    unknown = sorted(p for p in facts if facts[p][2] not in known)
    if unknown:
        sys.exit(f"sbom.py: docs/dependencies.md has no licence of {', '.join(unknown)}")
    parts = [component(p, facts[p], kinds[p], known[facts[p][2]]) for p in sorted(facts)]
    version = subprocess.run([program, "version"], capture_output=True, text=True, check=True).stdout.split()[1]
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    whole = {"type": "application", "bom-ref": "tacet", "name": "tacet", "version": version,
             "hashes": [{"alg": "SHA-256", "content": digest}], "licenses": [{"expression": "Apache-2.0"}]}
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    json.dump({"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32])}",
               "version": 1, "metadata": {"timestamp": stamp, "component": whole}, "components": parts,
               "dependencies": [{"ref": "tacet", "dependsOn": [part["bom-ref"] for part in parts]}]},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
