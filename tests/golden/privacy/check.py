"""What the programs beside the golden files share: reading a file, and comparing numbers with what it holds."""
import json
import os
import sys

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
