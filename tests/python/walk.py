"""A world for the tests: tacet.world() over an environment with Gymnasium's methods."""
import pathlib
import random
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients" / "python"))


class Walk:
    """A walker on a line; the middle is best."""

    observation_space = types.SimpleNamespace(shape=(2,))
    action_space = types.SimpleNamespace(n=2)
    spec = types.SimpleNamespace(max_episode_steps=20)
    stride = 0.1

    @property
    def unwrapped(self):
        return self

    def reset(self, seed=None):
        self.state = [random.Random(seed).uniform(-1, 1), 0.0]
        return tuple(self.state), {}

    def step(self, action):
        print("what an environment prints must not disturb the conversation")
        speed = self.stride if action else -self.stride
        self.state = [self.state[0] + speed, speed]
        return tuple(self.state), -abs(self.state[0]), abs(self.state[0]) > 1.9, False, {}


if __name__ == "__main__":
    import tacet

    tacet.world(Walk(), parameters={"stride": {"minimum": 0, "maximum": 1}})
