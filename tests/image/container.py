"""A container of an image that is mounted somewhere, as docker makes one: the image's own user, environment and command, a root
that nobody can write to, and processes of its own. It is in the network and the mount namespace of the test."""
import json
import signal
import subprocess

ENTER = r"""
set -eu
root=$1 user=$2 group=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755,size=64k tmpfs "$root/dev"
for device in null zero full random urandom; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
while [ "$1" != -- ]; do # pairs: what is mounted where
    mount --bind "$1" "$root$2"
    shift 2
done
shift
exec setpriv --no-new-privs chroot --userspec="$user:$group" --groups= "$root" env -i "$@"
"""


class Image:
    def __init__(self, root, config):
        self.root = root
        self.config = json.load(open(config))["Docker"]["config"]
        self.user, _, self.group = self.config["User"].partition(":")
        self.environment = dict(pair.split("=", 1) for pair in self.config["Env"])
        self.health = self.config["Healthcheck"]["Test"]


class Container:
    """VOLUMES: pairs of a folder of the host and its place in the container. COMMAND, ENTRYPOINT and MORE of the environment as
    docker run and compose have them."""

    def __init__(self, image, volumes, log, command=None, entrypoint=None, more=None):
        self.image, self.log = image, log
        self.variables = [f"{name}={value}" for name, value in {**image.environment, **(more or {})}.items()]
        words = (entrypoint or image.config["Entrypoint"]) + ((command if command else image.config["Cmd"]) if not entrypoint else command or [])
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "sh", "-c", ENTER, "container", image.root,
             image.user, image.group, *[part for pair in volumes for part in pair], "--", *self.variables, *words],
            stdin=subprocess.DEVNULL, stdout=open(log, "ab"), stderr=subprocess.STDOUT)

    def first(self):
        """The container's process 1, as the host numbers it; None when there is none."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True).stdout.split()
        return found[0] if found else None

    def run(self, *words, text=None):
        """docker exec."""
        first = self.first()
        if not first:
            return subprocess.CompletedProcess(words, 255, "", "the container has ended")
        return subprocess.run(["nsenter", "--target", first, "--mount", "--pid", "--ipc", "--root", "--wd",
                               "--setuid", self.image.user, "--setgid", self.image.group, "env", "-i", *self.variables, *words],
                              input=text, capture_output=True, text=True)

    def healthy(self):
        kind, *words = self.image.health
        return self.run(*(words if kind == "CMD" else ["sh", "-c", words[0]])).returncode == 0

    def end(self, number=signal.SIGTERM):
        """Its exit code, after docker stop."""
        first = self.first()
        if first:
            subprocess.run(["kill", f"-{int(number)}", first], check=True)
        return self.process.wait(timeout=120)
