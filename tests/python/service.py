"""One real server for all tests: started at the first call of `service()`, ended with the process."""
import atexit
import functools
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients" / "python"))
import tacet  # noqa: E402

PROGRAM = os.environ.get("TACET", "build/release/tacet")
DESCRIPTION = {"row": "a step", "expert": "a walker",
               "features": [{"name": "position", "low": -2, "high": 2},
                            {"name": "speed", "low": -2, "high": 2}],
               "actions": ["left", "right"]}


class Service:
    """The process, its address and a client of each role."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tacet-python-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        data = self.folder / "data"
        self.admin_token = subprocess.run(
            [PROGRAM, "client", "create", "--data", data, "--role", "admin", "--name", "root"], cwd=ROOT, check=True,
            stdout=subprocess.PIPE, text=True).stdout.strip()
        world = f"walk={sys.executable} {ROOT}/tests/python/walk.py"
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen([PROGRAM, "serve", "--data", data, "--listen", "127.0.0.1:0", "--world", world],
                                            cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
        atexit.register(self.stop)
        line = self.process.stdout.readline()
        found = re.match(r"listening on (http://\S+)", line)
        assert found, (line, (self.folder / "log").read_text())
        self.url = found[1]
        self.admin = tacet.connect(self.url, self.admin_token)
        self.steward_token = self.admin.new_client("stella", "steward")
        self.student_token = self.admin.new_client("bob", "student")
        self.steward = tacet.connect(self.url, self.steward_token)
        self.student = tacet.connect(self.url, self.student_token)

    def stop(self):
        self.process.stdout.close()
        self.process.terminate()
        self.process.wait()

    @functools.cached_property
    def data(self):
        """A sealed dataset of walks, which nobody spends all of."""
        made = self.steward.create_dataset("walks", epsilon=100, delta=1e-3, nominal_experts=60, description=DESCRIPTION,
                                           discount=0.9, max_episode_steps=20)
        return made.upload(walks(60)).seal()

    @functools.cached_property
    def job(self):
        """A finished job on those data: tiny, and of no use."""
        return self.data.train("behaviour_cloning", epsilon=5, delta=1e-5, privacy={"force": True},
                               parameters={"steps": 20}, mechanism="dpsgd").wait()


@functools.lru_cache(None)
def service():
    return Service()


def walks(experts, episodes=2, steps=12):
    """Episodes of experts who walk back to the middle of a line."""
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
