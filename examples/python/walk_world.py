#!/usr/bin/env python3
"""An environment with Gymnasium's methods, and the one line that makes it a world of a Tacet server:

    tacet serve --world "walk=python3 examples/python/walk_world.py"

With Gymnasium the file would be: tacet.world(gymnasium.make("CartPole-v1")).
"""
import random
import types

import tacet


class Walk:
    """A walker on a line. A state is position and speed; the middle is best."""

    observation_space = types.SimpleNamespace(shape=(2,))
    action_space = types.SimpleNamespace(n=2)
    spec = types.SimpleNamespace(max_episode_steps=20)
    stride = 0.1

    def reset(self, seed=None):
        self.state = [random.Random(seed).uniform(-1, 1), 0.0]
        return tuple(self.state), {}

    def step(self, action):
        speed = self.stride if action else -self.stride
        self.state = [self.state[0] + speed, speed]
        return tuple(self.state), -abs(self.state[0]), abs(self.state[0]) > 1.9, False, {}


if __name__ == "__main__":
    tacet.world(Walk(), parameters={"stride": {"minimum": 0, "maximum": 1}})
