#!/usr/bin/env python3
"""A world for Tacet: a cart on a rail is pushed left or right and must not leave it.

    tacet serve --world "rail=python3 examples/world.py"

Questions come one a line on standard input; each gets one line on standard output, at once.
docs/worlds.md is the contract. Print nothing else there: the log is standard error.
"""
import json
import random
import sys

DESCRIPTION = {
    "protocol": 1,
    "state_dim": 2,  # position, speed
    "action_count": 2,  # left, right
    "max_episode_steps": 200,
    "parameters": [
        {"name": "push", "default": 0.05, "minimum": 0, "maximum": 1, "unit": "m/s", "meaning": "What an action adds to the speed."},
        {"name": "gust", "default": 0.02, "minimum": 0, "maximum": 1, "unit": "m/s", "meaning": "Standard deviation of the wind's part."},
    ],
}


class Rail:
    def __init__(self, seed, parameters):
        self.random = random.Random(seed)  # all chance comes from the seed: the same episode again
        self.parameters = parameters
        self.position, self.speed = self.random.uniform(-0.1, 0.1), 0.0

    def step(self, action):
        wind = self.random.gauss(0, self.parameters["gust"])
        self.speed += (1 if action == 1 else -1) * self.parameters["push"] + wind
        self.position += self.speed
        lost = abs(self.position) > 1
        return {"observation": [self.position, self.speed], "reward": 0.0 if lost else 1.0, "terminated": lost}


instances = {}  # several may be played at once, by number
for line in sys.stdin:
    question = json.loads(line)
    if "describe" in question:
        answer = DESCRIPTION
    elif "reset" in question:
        asked = question["reset"]
        world = instances[asked["instance"]] = Rail(asked["seed"], asked["parameters"])
        answer = {"observation": [world.position, world.speed]}
    else:
        asked = question["step"]
        answer = instances[asked["instance"]].step(asked["action"])
    print(json.dumps(answer), flush=True)
