"""A world for the tests: the example's, with an environment that prints."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "clients" / "python"), str(ROOT / "examples" / "python")]

import walk_world  # noqa: E402


class Walk(walk_world.Walk):
    def step(self, action):
        print("what an environment prints must not disturb the conversation", flush=True)
        return super().step(action)


if __name__ == "__main__":
    walk_world.tacet.world(Walk(), parameters={"stride": {"minimum": 0, "maximum": 1}})
