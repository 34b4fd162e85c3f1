#!/usr/bin/env python3
"""Fail when the code's names or forms leave the house style. clang-format decides layout; this is what it cannot see.

  check_style.py [-c] [FOLDER...]    print every break as file:line, exit 1 if any; -c prints only the counts

  one-word     a static function whose name is one word (`begin`): say which (`teacher_begin`)
  twice        a function name that two files define
  bare         an exported function whose declaration has no comment directly above it
  nested       a ?: inside a ?:
  null         `== NULL` or `!= NULL` in a condition: a pointer is tested by itself
  proof        a `function()` of docs/proofs that is not defined in the code
  memory       (counted, never a failure) lines that speak of memory that ran short
  ternary      (counted, never a failure) ?: in api/
"""

import collections
import glob
import os
import re
import sys

ROOMS = ["memory", "envs", "programs", "algos", "storage", "api", "server", "cli"]
DEFINITION = re.compile(
    r"^(static )?(?:inline )?(?:_Noreturn )?(?:__attribute__\(\(.*?\)\) )?[a-z_][\w ]*?[\w*] ?\**\b(\w+)\((?:[^;{]|\n)*?\)\n\{", re.M)
PROTOTYPE = re.compile(r"^(?!static|typedef|#|return|\s)([a-z_][\w ]*[ *])(\w+)\((?:[^;{])*?\)[^;{]*?;", re.M)
PROVEN = re.compile(r"`(\w+)\(\)`")
RULES = ("one-word", "twice", "bare", "nested", "null", "proof")
MEMORY = re.compile(r"no.memory|memory (?:is|was|runs?|ran) short|starv|out of memory|short of memory|finds? no memory", re.I)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def strip(text):
    """TEXT with comments and literals blanked, every position kept."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def statements(code):
    """Start and text of each piece between ; { and }."""
    for piece in re.finditer(r"[^;{}]+", code):
        yield piece.start(), piece.group(0)


def ternary_depth(piece):
    """How deep ?: stand inside one another: a ? b : c ? d : e counts two."""
    depth = most = 0
    stack = []
    for c in piece:
        if c in "([":
            stack.append(depth)
            depth = 0 if c == "[" else depth
        elif c in ")]" and stack:
            depth = stack.pop()
        elif c == ",":
            depth = 0
        elif c == "?":
            depth += 1
            most = max(most, depth)
    return most


def main():
    arguments = [a for a in sys.argv[1:] if a != "-c"]
    found = collections.defaultdict(list)
    names = collections.defaultdict(set)
    statics = lines = 0
    for room in arguments or ROOMS:
        for folder, _, files in sorted(os.walk(room)):
            for name in sorted(files):
                path = os.path.join(folder, name)
                if not name.endswith((".c", ".h", ".cpp")):
                    continue
                text = open(path, encoding="utf-8").read()
                code = strip(text)
                at = lambda i: "%s:%d" % (path, text.count("\n", 0, i) + 1)
                for m in MEMORY.finditer(text):
                    found["memory"].append(at(m.start()))
                for i, piece in statements(code):
                    if ternary_depth(piece) > 1:
                        found["nested"].append(at(i + len(piece) - len(piece.lstrip())))
                if path.startswith("api"):
                    lines += text.count("\n")
                    found["ternary"] += [at(m.start()) for m in re.finditer(r"\?", code)]
                for m in re.finditer(r"(?:if|while) \((?:[^;{]*?)([!=]= NULL)", code):
                    found["null"].append(at(m.start(1)))
                if name.endswith(".h"):
                    for m in PROTOTYPE.finditer(code):
                        before = text[: m.start()].rstrip("\n").split("\n")
                        above = before[-1].strip() if text[: m.start()].endswith("\n") else ""
                        if not above.endswith("*/"):
                            found["bare"].append("%s %s" % (at(m.start()), m.group(2)))
                    continue
                for m in DEFINITION.finditer(code):
                    names[m.group(2)].add(path)
                    if m.group(1):
                        statics += 1
                        if "_" not in m.group(2).strip("_"):
                            found["one-word"].append("%s %s" % (at(m.start(2)), m.group(2)))
    found["twice"] = ["%s: %s" % (n, " ".join(sorted(p))) for n, p in sorted(names.items()) if len(p) > 1 and n != "main"]
    for path in [] if arguments else sorted(glob.glob("docs/proofs/*.md")):
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            found["proof"] += ["%s:%d %s" % (path, number, n) for n in PROVEN.findall(line) if n not in names]
    if "-c" in sys.argv:
        for rule in RULES + ("memory", "ternary"):
            print("%-9s %d" % (rule, len(found[rule])))
        print("statics   %d\nternaries per 1000 lines of api: %.1f" % (statics, 1000 * len(found["ternary"]) / max(lines, 1)))
        return
    broken = ["%s: %s" % (rule, one) for rule in RULES for one in found[rule]]
    print("\n".join(broken) if broken else "names and forms keep the house style")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
