"""What the programs beside the golden files share: reading and writing a file, and comparing numbers with what it holds."""
import json
import os
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))


class Check:
    """Compares the numbers of one golden file with numbers that were computed anew."""

    def __init__(self, name):
        with open(os.path.join(HERE, name), encoding="utf-8") as file:
            self.data = json.load(file)
        self.name, self.worst, self.count, self.bad = name, {}, {}, 0

    def close(self, group, want, got, tolerance):
        """WANT, of the file, and GOT agree to a relative TOLERANCE."""
        off = abs(float(got) / float(want) - 1) if want else abs(float(got))
        self.worst[group] = max(off, self.worst.get(group, 0.0))
        self.count[group] = self.count.get(group, 0) + 1
        if not off <= tolerance:
            self.bad += 1
            print(f"{self.name} {group}: {got} is not {want}")

    def true(self, group, fact, what):
        """FACT holds."""
        self.count[group] = self.count.get(group, 0) + 1
        if not fact:
            self.bad += 1
            print(f"{self.name} {group}: {what}")

    def end(self):
        """Says how far off the worst number of each group was; ends the program with 1 when one was too far."""
        for group, count in self.count.items():
            print(f"{self.name} {group}: {count} numbers, worst relative distance {self.worst.get(group, 0.0):.1e}")
        if self.bad:
            sys.exit(1)


def layout(value, indent=0, before=0):
    """VALUE as JSON in lines of 120 columns: whole where it fits, else a member a line, and numbers side by side."""
    whole, space = json.dumps(value), "\n" + " " * (indent + 1)
    if not isinstance(value, (dict, list)) or indent + before + len(whole) < 120:
        return whole
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {layout(member, indent + 1, len(name) + 4)}" for name, member in value.items()]
    elif all(isinstance(member, (int, float)) for member in value):
        parts = [space.join(textwrap.wrap(whole[1:-1], 118 - indent))]
    else:
        parts = [layout(member, indent + 1) for member in value]
    return whole[0] + space + f",{space}".join(parts) + space[:-1] + whole[-1]


def dump(name, value):
    """Writes VALUE as the golden file of that name."""
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        file.write(layout(value) + "\n")
