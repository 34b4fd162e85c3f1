#!/usr/bin/env python3
"""Makes data to try the other examples with: experts who walk back to the middle of a line.

    walks.py FOLDER      writes walks.hdf5, walks.csv and walks.json (the description) into FOLDER

A state is a position and a speed; the actions are left and right. An expert does the right thing in 9 of 10 steps.
"""
import json
import pathlib
import random
import sys

import tacet

DESCRIPTION = {
    "row": "one step of one walk",
    "expert": "the walker, with all walks",
    "features": [
        {"name": "state_0", "unit": "m", "low": -2, "high": 2},
        {"name": "state_1", "unit": "m/s", "low": -2, "high": 2},
    ],
    "actions": ["left", "right"],
    "table": {"expert": "expert", "episode": "episode", "action": "action", "reward": "reward",
              "terminated": "terminated", "last_state": "own_row"},
}


def walks(experts, episodes=5, steps=12):
    """The episodes of so many experts."""
    draw = random.Random(1)
    for expert in range(experts):
        for _ in range(episodes):
            state, states, actions, rewards = [draw.uniform(-1, 1), 0.0], [], [], []
            for _ in range(steps):
                action = int(state[0] < 0) if draw.random() < 0.9 else draw.randrange(2)
                states.append(state)
                actions.append(action)
                speed = 0.1 if action else -0.1
                state = [max(-2.0, min(2.0, state[0] + speed)), speed]
                rewards.append(-abs(state[0]))
            yield tacet.Episode(f"walker-{expert}", states + [state], actions, rewards)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    tacet.write_hdf5(folder / "walks.hdf5", walks(300))
    tacet.write_csv(folder / "walks.csv", walks(300))
    (folder / "walks.json").write_text(json.dumps(DESCRIPTION, indent=1))
