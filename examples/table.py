#!/usr/bin/env python3
"""Writes simulated trajectories as the table that a hospital, a fund or a factory would have: CSV,
one row per step, in natural units and with names.

    tacet experts --environment ward --experts 600 --output ward.ndjson
    python3 examples/table.py examples/ward.json < ward.ndjson > ward.csv

The argument is a dataset's description (docs/own-data.md): its features in the order of the states,
its actions, and the columns of the table. A logarithmic feature is written as its number, a block
of categories as a name. With "last_state": "own_row" the state after the last action has a row
without action and reward; otherwise it is left out.
"""
import csv
import json
import sys

description = json.load(open(sys.argv[1]))
table, actions = description["table"], description["actions"]


def raw(state):
    """The features of a state, as they were before they became coordinates."""
    at = 0
    for feature in description["features"]:
        names = feature.get("categories")
        if names:
            block = state[at : at + len(names)]
            yield names[block.index(max(block))]
            at += len(names)
        else:
            yield "%.6g" % (10 ** state[at] if feature.get("scale") == "log" else state[at])
            at += 1


out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(
    [table["expert"], table["episode"], table["time"]]
    + [feature["name"] for feature in description["features"]]
    + [table["action"], table["reward"], table["terminated"]]
)
for episode, line in enumerate(sys.stdin):
    t = json.loads(line)
    length, ended = len(t["actions"]), int(t["terminated"])
    for time in range(length):
        last = int(ended and time == length - 1)
        out.writerow(
            [t["expert"], episode, time, *raw(t["states"][time])]
            + [actions[t["actions"][time]], "%.9g" % t["rewards"][time], last]
        )
    if table.get("last_state") == "own_row":
        out.writerow([t["expert"], episode, length, *raw(t["states"][length]), "", "", ended])
