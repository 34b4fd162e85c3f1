#!/usr/bin/env python3
"""Say how a linked program is hardened, from readelf and objdump; fail when something is missing.

  check_hardening.py [--sanitized] PROGRAM...    one table a program, exit 1 if a line says "no"

--sanitized: a build with sanitizers or without an optimiser, which FORTIFY cannot be part of.
"""

import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def readelf(option, program):
    return run("readelf", "-W", option, program)


def segments(program):
    """(type, flags) of each program header."""
    return re.findall(r"^  ([A-Z_]+) +(?:0x[0-9a-f]+ +){5}([RWE ]+?) +0x", readelf("-l", program), re.M)


def properties(program, sanitized):
    """What is asked of PROGRAM, each with whether it is so and what was seen."""
    dynamic, headers, found = readelf("-d", program), readelf("-h", program), segments(program)
    symbols = readelf("--dyn-syms", program)
    checked = sorted(set(re.findall(r"\b__(\w+)_chk\b", symbols)))
    stack = [flags for kind, flags in found if kind == "GNU_STACK"]
    both = [kind for kind, flags in found if "W" in flags and "E" in flags]
    code = [flags for kind, flags in found if kind == "LOAD" and "E" in flags]
    first = next((flags for kind, flags in found if kind == "LOAD"), "")
    yield "position-independent", "Type:" in headers and " DYN " in headers and "PIE" in dynamic, ""
    yield "full RELRO", any(k == "GNU_RELRO" for k, _ in found) and "BIND_NOW" in dynamic, ""
    yield "stack not executable", len(stack) == 1 and "E" not in stack[0], ""
    yield "nothing writable and executable", not both, ""
    yield "code apart from data", bool(code) and "E" not in first, "%d segments of code" % len(code)
    yield "stack protector", "__stack_chk_fail" in symbols, ""
    if re.search(r"Machine:.*X86-64", headers):
        yield "shadow stack", "SHSTK" in readelf("-n", program), ""
        if not sanitized and "clang" not in run("readelf", "-p", ".comment", program):
            # gcc touches the pages of a large frame one after the other: it writes "or $0" to the stack's end.
            touched = len(re.findall(r"\bor[lq]? +\$0x0,\(%rsp\)", run("objdump", "-d", program)))
            yield "clash protection of the stack", touched > 0, "%d places" % touched
    yield "no path of libraries", "RPATH" not in dynamic and "RUNPATH" not in dynamic, ""
    if not sanitized:
        yield "FORTIFY", len(checked) >= 5, "%d checked functions" % len(checked)


def main():
    arguments = sys.argv[1:]
    sanitized = "--sanitized" in arguments
    programs = [a for a in arguments if not a.startswith("--")]
    if not programs:
        sys.exit(__doc__)
    good = True
    for program in programs:
        print(program)
        for what, so, seen in properties(program, sanitized):
            print("  %-33s %-4s %s" % (what, "yes" if so else "no", seen))
            good = good and so
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
