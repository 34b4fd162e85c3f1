#!/usr/bin/env python3
"""check_results.py NEW [PAGES]: are the numbers of PAGES (docs/results) those of the committed runs?

NEW holds the tables that the programs have just written from the committed runs (*-tables.md).
Each must be the committed one, byte for byte. A table of a page below a comment

    <!-- rows of NAME-tables.md -->

must consist of rows of that file: each of its lines is a line there.
"""
import pathlib
import re
import sys


def wrong_rows(page, tables):
    """Lines of PAGE's marked tables that are not in the named file."""
    source = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        mark = re.fullmatch(r"<!-- rows of (\S+) -->", line)
        if mark:
            source = set((tables / mark[1]).read_text().splitlines())
        elif source and not line.startswith("|"):
            source = None if line else source
        elif source and line not in source:
            yield f"{page}:{number}: no row of that file: {line}"


def main():
    new = pathlib.Path(sys.argv[1])
    pages = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "docs/results")
    faults = [
        f"{pages / table.name}: differs from what the runs give; make reports"
        for table in sorted(new.glob("*-tables.md"))
        if not (pages / table.name).is_file() or table.read_bytes() != (pages / table.name).read_bytes()
    ]
    for page in sorted(pages.glob("*.md")):
        faults += wrong_rows(page, pages)
    print("\n".join(faults) or "docs/results: tables are those of the runs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
