"""One real server for all tests: started at the first call of `service()`, ended with the process."""
import atexit
import ctypes
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients" / "python"))
sys.path.insert(0, str(ROOT / "examples" / "python"))
import tacet  # noqa: E402
from walks import DESCRIPTION, walks  # noqa: E402,F401

PROGRAM = os.environ.get("TACET", "build/release/tacet")


def die_with_parent():
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


class Service:
    """The process, its address and a client of each role."""

    def __init__(self, marks=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tacet-python-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        data, self.marks = self.folder / "data", ["--marks", self.folder / "marks"] if marks else []
        for argument in self.marks[1:]:
            argument.mkdir()
        self.admin_token = subprocess.run(
            [PROGRAM, "client", "create", "--data", data, "--role", "admin", "--name", "root"], cwd=ROOT, check=True,
            stdout=subprocess.PIPE, text=True).stdout.strip()
        self.start()
        atexit.register(self.stop)
        self.admin = tacet.connect(self.url, self.admin_token)
        self.steward_token = self.admin.new_client("stella", "steward")
        self.student_token = self.admin.new_client("bob", "student")
        self.steward = tacet.connect(self.url, self.steward_token)
        self.student = tacet.connect(self.url, self.student_token)

    def start(self):
        world = f"walk={sys.executable} {ROOT}/tests/python/walk.py"
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen([PROGRAM, "serve", "--data", self.folder / "data", "--listen", "127.0.0.1:0",
                                             "--world", world, "--world-timeout", "120", *self.marks],
                                            cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True,
                                            preexec_fn=die_with_parent)
        line = self.process.stdout.readline()
        found = re.match(r"listening on (http://\S+)", line)
        assert found, (line, (self.folder / "log").read_text())
        self.url = found[1]

    def restore(self):
        """Begins a second life, as after a restore from a backup. Its address is another one."""
        self.stop()
        subprocess.run([PROGRAM, "restore", "--data", self.folder / "data", *self.marks], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        self.start()

    def stop(self):
        self.process.stdout.close()
        self.process.terminate()
        self.process.wait()

    @functools.cached_property
    def data(self):
        """A sealed dataset of walks, which nobody spends all of."""
        made = self.steward.create_dataset("walks", epsilon=100, delta=1e-3, nominal_experts=60, description=DESCRIPTION,
                                           discount=0.9, max_episode_steps=20)
        return made.upload(walks(60, 2)).seal()

    @functools.cached_property
    def job(self):
        """A finished job on those data: tiny, and of no use."""
        return self.data.train("behaviour_cloning", epsilon=5, delta=1e-5, privacy={"force": True},
                               parameters={"steps": 20}, mechanism="dpsgd").wait()


@functools.lru_cache(None)
def service():
    return Service()
