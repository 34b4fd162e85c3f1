"""The world under torture: eight network namespaces on a bridge, three servers, two workers, and PostgreSQL twice.

Everything is made inside the namespaces of ./torture, so nothing of it is seen outside, and all of it ends with them."""
import glob
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

NET = "10.77.0."
HERE = NET + "254"
ADDRESS = {"s1": NET + "1", "s2": NET + "2", "s3": NET + "3", "w1": NET + "4", "w2": NET + "5", "a": NET + "11", "b": NET + "12"}
PORT = 8080
URL = f"postgresql://tacet@{ADDRESS['a']},{ADDRESS['b']}/tacet?target_session_attrs=read-write"
FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")[0]
AS_POSTGRES = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]
BIN = max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]), default="")


def run(*words, check=True, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout[-600:]}")
    return done.stdout.strip()


def wait_until(what, holds, seconds=90, step=0.1):
    until = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > until:
            raise RuntimeError("it did not happen: " + what)
        time.sleep(step)
    return found


def read_file(path):
    try:
        return pathlib.Path(path).read_text(errors="replace")
    except OSError:
        return ""


def children(pid):
    return [int(child) for task in glob.glob(f"/proc/{pid}/task/*/children") for child in read_file(task).split()]


class Node:
    """A namespace with an address, and one program in it that is begun again when it ends by itself."""

    def __init__(self, world, name):
        self.world, self.name, self.address = world, name, ADDRESS[name]
        self.folder = f"{world.folder}/{name}"
        self.log, self.clock = f"{world.kept}/{name}.log", f"{self.folder}/clock"
        self.process, self.wanted, self.lock = None, False, threading.RLock()
        self.ends = []  # exit codes of ends that nobody asked for
        run("ip", "netns", "add", name)
        run("ip", "link", "add", "v-" + name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", "v-" + name, "master", "lan", "up")
        run("ip", "-n", name, "addr", "add", self.address + "/24", "dev", "eth0")
        for link in ("lo", "eth0"):
            run("ip", "-n", name, "link", "set", link, "up")
        os.mkdir(self.folder, 0o700)
        run("mount", "-t", "tmpfs", "-o", f"mode=700,size={self.room}", name, self.folder)

    room = "96m"  # of its folder: small, so that it can be filled
    fakes_time = False

    def begin(self, *command, user=()):
        """Begins COMMAND, behind the words of USER that change who runs it."""
        environment = [f"PATH={BIN}:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
        if self.fakes_time:
            environment += [f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={self.clock}", "FAKETIME_CACHE_DURATION=1",
                            "FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1"]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.name}", *user, "env", "-i", *environment, *command],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def start(self):
        with self.lock:
            self.wanted = True
            self.launch()

    def watch(self):
        """Begins again what has ended by itself."""
        with self.lock:
            if self.wanted and self.process and self.process.poll() is not None:
                self.ends.append(self.process.returncode)
                self.launch()

    def end(self, number=signal.SIGTERM, seconds=60):
        with self.lock:
            self.wanted = False
            if self.process and self.process.poll() is None:
                self.send(signal.SIGCONT)
                self.send(number)
                try:
                    self.process.wait(seconds)
                except subprocess.TimeoutExpired:
                    self.send(signal.SIGKILL)
                    self.process.wait()

    def send(self, number):
        for pid in (self.process.pid, *children(self.process.pid)):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    # ---- what is done to it

    def drop(self, other, way="both"):
        """Packets to and from the node OTHER vanish; WAY "out": only those to it."""
        rules = f"chain o {{ type filter hook output priority 0; ip daddr {other.address} drop; }}"
        if way == "both":
            rules += f"\nchain i {{ type filter hook input priority 0; ip saddr {other.address} drop; }}"
        run("ip", "netns", "exec", self.name, "nft", "-f", "-", input=f"table inet to{other.name} {{\n{rules}\n}}\n")

    def undrop(self, other):
        run("ip", "netns", "exec", self.name, "nft", "delete", "table", "inet", "to" + other.name, check=False)

    def link(self, state):
        run("ip", "link", "set", "v-" + self.name, state)

    def slow(self, milliseconds):
        """What leaves it is late by so much, or, in a kernel without netem, squeezed through a thin pipe. Gives which."""
        for how in (["netem", "delay", f"{milliseconds}ms"], ["tbf", "rate", "400kbit", "burst", "5kb", "latency", "3s"]):
            if subprocess.run(["tc", "-n", self.name, "qdisc", "replace", "dev", "eth0", "root", *how],
                              stderr=subprocess.DEVNULL).returncode == 0:
                return how[0]
        raise RuntimeError("tc has neither netem nor tbf")

    def unslow(self):
        run("tc", "-n", self.name, "qdisc", "del", "dev", "eth0", "root", check=False)

    def set_clock(self, seconds):
        pathlib.Path(self.clock).write_text(f"{seconds:+d}\n")

    def fill(self, folder=None):
        folder = folder or self.folder
        run("dd", "if=/dev/zero", f"of={folder}/filler", "bs=64k", check=False)

    def unfill(self, folder=None):
        pathlib.Path(folder or self.folder, "filler").unlink(missing_ok=True)


class Program(Node):
    """A server ("s1") or a worker ("w1"), with a data directory of its own."""

    def __init__(self, world, name):
        self.fakes_time = name in ("s3", "w2")
        super().__init__(world, name)
        self.set_clock(0)

    def launch(self):
        kind = ["serve", "--listen", f"{self.address}:{PORT}", "--workers", "0", "--connections-per-client", "1000",
                "--connections-per-ip", "0"]
        if self.name[0] == "w":
            kind = ["work", "--workers", "1"]
        self.begin(self.world.program, *kind, "--data", self.folder, "--database", URL, "--keys-dir", self.world.keys)

    def is_open(self):
        try:
            with socket.create_connection((self.address, PORT), 1) as wire:
                wire.settimeout(5)
                wire.sendall(b"GET /healthz/ready HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
                return wire.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False


class Postgres(Node):
    """One of the two: its log is in a small file system of its own, which can be filled."""
    room, fakes_time = "16m", True

    def __init__(self, world, name):
        super().__init__(world, name)
        self.base, self.wal, self.sockets = f"{world.folder}/{name}-base", f"{world.folder}/{name}-wal", f"{world.folder}/{name}-socket"
        for folder in (self.base, self.wal, self.sockets):
            os.mkdir(folder, 0o700)
        run("mount", "-t", "tmpfs", "-o", "mode=700,size=512m", name + "-wal", self.wal)
        self.set_clock(0)
        for folder in (self.base, self.wal, self.sockets, self.folder):
            shutil.chown(folder, "postgres", "postgres")

    def launch(self):
        for left in (f"{self.base}/data/postmaster.pid", f"{self.sockets}/.s.PGSQL.5432", f"{self.sockets}/.s.PGSQL.5432.lock"):
            pathlib.Path(left).unlink(missing_ok=True)
        self.begin(f"{BIN}/postgres", "-D", f"{self.base}/data", user=AS_POSTGRES)

    def end(self, number=signal.SIGINT, seconds=60):
        """SIGKILL ends the children too, and waits until they are gone."""
        with self.lock:
            self.wanted = False
            if not self.process or self.process.poll() is not None:
                return
            pids = [self.process.pid, *children(self.process.pid)]
            if number == signal.SIGKILL:
                self.send(signal.SIGKILL)
                self.process.wait()
                for pid in pids:
                    wait_until("the end of a child", lambda: not read_file(f"/proc/{pid}/cmdline"), step=0.02)
            else:
                super().end(number, seconds)

    def sql(self, text, database="postgres", seconds=20, check=True):
        """Over the socket, whatever the network does; "" when it does not answer and CHECK is false."""
        try:
            done = subprocess.run([f"{BIN}/psql", "-XqAt", "-h", self.sockets, "-U", "postgres", "-d", database, "-c", text],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess([], 1, "", "timeout")
        if check and done.returncode:
            raise RuntimeError(f"{self.name}: {text}: {done.stderr[-400:]}")
        return done.stdout.strip() if done.returncode == 0 else ""

    def configure(self, other):
        """What docs/operating.md asks for; the other one is the standby that every commit waits for."""
        pathlib.Path(self.base, "data/postgresql.auto.conf").write_text("")
        pathlib.Path(self.base, "data/pg_hba.conf").write_text(
            f"local all all trust\nhost all tacet {NET}0/24 trust\nhost replication all {NET}0/24 trust\n")
        settings = {
            "listen_addresses": self.address, "unix_socket_directories": self.sockets, "max_connections": "200",
            "synchronous_standby_names": "standby", "synchronous_commit": "on", "fsync": "on", "full_page_writes": "on",
            "primary_conninfo": f"host={other.address} user=postgres application_name=standby connect_timeout=3 "
                                "keepalives_idle=3 keepalives_interval=2 keepalives_count=3",
            "wal_keep_size": "128MB", "max_wal_size": "96MB", "min_wal_size": "32MB", "wal_sender_timeout": "6s",
            "wal_receiver_timeout": "6s", "wal_retrieve_retry_interval": "500ms", "shared_buffers": "64MB",
            "log_parameter_max_length": "0", "log_parameter_max_length_on_error": "0", "autovacuum_naptime": "20s"}
        with open(f"{self.base}/data/postgresql.conf", "w") as out:
            out.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
        shutil.chown(f"{self.base}/data/postgresql.conf", "postgres", "postgres")

    def make(self, other):
        run(*AS_POSTGRES, f"{BIN}/initdb", "-D", f"{self.base}/data", "-X", f"{self.wal}/wal", "-A", "trust", "-E", "UTF8",
            "--locale=C", "-U", "postgres", cwd=self.base)
        self.configure(other)

    def follow(self, primary):
        """Throws away what it has and copies PRIMARY."""
        self.end(signal.SIGKILL)
        for folder in (f"{self.base}/data", f"{self.wal}/wal"):
            shutil.rmtree(folder, ignore_errors=True)
        self.unfill(self.wal)
        run("nsenter", f"--net=/run/netns/{self.name}", *AS_POSTGRES, f"{BIN}/pg_basebackup", "-h", primary.address,
            "-U", "postgres", "-D", f"{self.base}/data", "--waldir", f"{self.wal}/wal", "-X", "stream", "-c", "fast", cwd=self.base)
        self.configure(primary)
        pathlib.Path(self.base, "data/standby.signal").touch()
        self.start()

    def is_primary(self):
        return self.sql("SELECT pg_is_in_recovery()", check=False) == "f"

    def has_standby(self):
        """Whether the other one follows, and every commit waits for it."""
        return self.sql("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'", check=False) == "sync"


class World:
    def __init__(self, program, folder):
        self.program, self.folder, self.kept, self.keys = program, folder, folder + "/kept", folder + "/keys"
        for place, mode in (("/run", "755"), ("/dev/shm", "1777")):
            run("mount", "-t", "tmpfs", "-o", "mode=" + mode, "none", place)
        os.mkdir("/run/netns")
        os.mkdir(self.kept)
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "lan", "type", "bridge")
        run("ip", "addr", "add", HERE + "/24", "dev", "lan")
        run("ip", "link", "set", "lan", "up")
        self.servers = [Program(self, name) for name in ("s1", "s2", "s3")]
        self.workers = [Program(self, name) for name in ("w1", "w2")]
        self.primary, self.standby = Postgres(self, "a"), Postgres(self, "b")
        self.done = threading.Event()

    def nodes(self):
        return [*self.servers, *self.workers, self.primary, self.standby]

    def begin(self):
        """A service whose first administrator's token is given back."""
        self.primary.make(self.standby)
        self.primary.start()
        wait_until("PostgreSQL", lambda: self.primary.sql("SELECT 1", check=False))
        alone = "dbname=postgres options=-csynchronous_commit=local"
        self.primary.sql("CREATE ROLE tacet LOGIN", alone)
        self.primary.sql("CREATE DATABASE tacet OWNER tacet TEMPLATE template0 ENCODING 'UTF8'", alone)
        self.standby.follow(self.primary)
        wait_until("a standby in step", self.primary.has_standby)
        first = self.servers[0]
        token = self.tacet("client", "create", "--data", first.folder, "--database", URL, "--role", "admin", "--name", "torture")
        key = self.tacet("key", "export", "--data", first.folder)
        for node in (*self.servers[1:], *self.workers):
            self.tacet("key", "import", "--data", node.folder, text=key)
        for node in (*self.servers, *self.workers):
            node.start()
        wait_until("three servers", lambda: all(server.is_open() for server in self.servers))
        threading.Thread(target=self.watch_all, daemon=True).start()
        return token.strip()

    def tacet(self, *words, text=None, out=subprocess.PIPE):
        done = subprocess.run([self.program, *words], input=text, stdout=out, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"tacet {words[0]}: {done.stderr[-600:]}")
        return done.stdout

    def watch_all(self):
        while not self.done.wait(0.5):
            for node in self.nodes():
                if node.lock.acquire(blocking=False):
                    try:
                        node.watch()
                    finally:
                        node.lock.release()

    def heal(self):
        """Takes back all that was done, and waits until the world is whole."""
        for node in self.nodes():
            if node.process.poll() is None:
                node.send(signal.SIGCONT)
            node.link("up")
            node.unslow()
            node.unfill()
            for other in self.nodes():
                node.undrop(other)
            if not node.wanted:
                node.start()
        self.repair_databases()
        wait_until("three servers", lambda: all(server.is_open() for server in self.servers), 180)

    def repair_databases(self):
        """The primary serves and its standby is in step; a standby that has lost the thread is copied anew."""
        wait_until("the primary", self.primary.is_primary, 120)
        self.primary.sql("ALTER SYSTEM RESET synchronous_standby_names")
        self.primary.sql("SELECT pg_reload_conf()")
        until = time.monotonic() + 20
        while not self.primary.has_standby() and time.monotonic() < until:
            time.sleep(0.2)
        if not self.primary.has_standby():
            self.standby.follow(self.primary)
        wait_until("a standby in step", self.primary.has_standby, 120)

    def end(self):
        self.done.set()
        for node in self.nodes():
            node.wanted = False
        for node in self.nodes():
            if node.process:
                node.end(seconds=40)
