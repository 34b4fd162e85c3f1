"""Faults on the world, drawn from a seed, while clients ask; then everything is healed and checked (./torture runs this).

  torture.py PROGRAM FOLDER [SEED [MINUTES [QUERIES [FAULT,FAULT...]]]]

Two lanes draw at once: faults of servers and workers, and faults of PostgreSQL. A lane deals a shuffled deck of all its faults, then
another one. With QUERIES the clients end after so many answers, and the faults with them; otherwise after MINUTES. FAULTs are dealt alone."""
import bisect
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import load
from world import ADDRESS, BIN, PORT, URL, World, wait_until

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS, STUDENTS = 64, 16


def say(text):
    print(f"torture: {text}", flush=True)


class Lane(threading.Thread):
    """Deals faults one after another until the torture's time is over."""

    def __init__(self, torture, name, deck):
        super().__init__(daemon=True)
        self.torture, self.world, self.deck = torture, torture.world, deck
        self.random = random.Random(f"{torture.seed} {name}")
        self.wrong = None

    def run(self):
        try:
            while not self.torture.over.is_set():
                cards = list(self.deck)
                self.random.shuffle(cards)
                for card in cards:
                    self.hold(2, 8)
                    if self.torture.over.is_set():
                        return
                    record = {"kind": card.__name__, "begin": time.monotonic()}
                    record |= card(self) or {}
                    record["end"] = time.monotonic()
                    self.torture.faults.append(record)
                    say(f"{record['begin'] - self.torture.begun:6.1f} s {record['end'] - record['begin']:5.1f} s "
                        + " ".join(f"{name}={value}" for name, value in record.items() if name not in ("begin", "end")))
        except Exception as error:  # the world broke, which is a finding
            self.wrong = f"{card.__name__}: {error!r}"
            say(f"the lane ended in {self.wrong}")

    def hold(self, least, most):
        """Waits for so long, as the seed says; not longer than the torture."""
        self.torture.over.wait(self.random.uniform(least, most))

    def pick(self, of):
        return self.random.choice(of)


# ---- servers and workers

def kill_server(lane):
    node = lane.pick(lane.world.servers)
    node.send(signal.SIGKILL)
    return {"node": node.name}


def kill_worker(lane):
    node = lane.pick(lane.world.workers)
    node.send(signal.SIGKILL)
    return {"node": node.name}


def pause_node(lane, nodes, least, most):
    node = lane.pick(nodes)
    node.send(signal.SIGSTOP)
    lane.hold(least, most)
    node.send(signal.SIGCONT)
    return {"node": node.name}


def pause_server(lane):
    """Longer than the 20 seconds after which PostgreSQL ends a writer."""
    return pause_node(lane, lane.world.servers, 21, 35)


def pause_worker(lane):
    """Longer than a lease."""
    return pause_node(lane, lane.world.workers, 31, 45)


def cut_node(lane, nodes, way):
    node, others = lane.pick(nodes), (lane.world.primary, lane.world.standby)
    for other in others:
        node.drop(other, way)
    lane.hold(4, 25)
    for other in others:
        node.undrop(other)
    return {"node": node.name}


def cut_server_from_database(lane):
    return cut_node(lane, lane.world.servers, "both")


def cut_server_one_way(lane):
    """The database's packets still come."""
    return cut_node(lane, lane.world.servers, "out")


def cut_worker_from_database(lane):
    return cut_node(lane, lane.world.workers, "both")


def unplug_server(lane):
    node = lane.pick(lane.world.servers)
    node.link("down")
    lane.hold(3, 20)
    node.link("up")
    return {"node": node.name}


def slow_server(lane):
    node = lane.pick(lane.world.servers)
    how = node.slow(lane.pick([5, 50, 300]))
    lane.hold(5, 15)
    node.unslow()
    return {"node": node.name, "by": how}


def leap_clock_of_node(lane):
    node, seconds = lane.pick([lane.world.servers[2], lane.world.workers[1]]), lane.pick([-86400, -600, 600, 86400])
    node.set_clock(seconds)
    lane.hold(5, 15)
    if lane.pick([True, False]):  # otherwise it stays wrong until the next leap
        node.set_clock(0)
    return {"node": node.name, "seconds": seconds}


def fill_disk_of_server(lane):
    node, killed = lane.pick(lane.world.servers), lane.pick([True, False])
    node.fill()
    if killed:  # it has to begin on a full disk
        node.send(signal.SIGKILL)
    lane.hold(5, 10)
    node.unfill()
    return {"node": node.name, "killed": killed}


def restart_all_in_turn(lane):
    for node in (*lane.world.servers, *lane.world.workers):
        node.end(signal.SIGTERM, 60)
        node.start()
        if node in lane.world.servers:
            until = time.monotonic() + 30
            while not node.is_open() and time.monotonic() < until and not lane.torture.over.is_set():
                time.sleep(0.2)


# ---- PostgreSQL

def kill_database(lane, node):
    node.end(signal.SIGKILL)
    lane.hold(0, 5)
    node.start()


def kill_primary(lane):
    kill_database(lane, lane.world.primary)


def kill_standby(lane):
    kill_database(lane, lane.world.standby)


def restart_primary(lane):
    lane.world.primary.end(signal.SIGINT, 30)
    lane.world.primary.start()


def kill_backends(lane):
    """A process of PostgreSQL that writes for a server is killed. PostgreSQL then ends all others and recovers, within a second or so, and
    what had not reached the disk never was: its number of a transaction, too, which it gives again."""
    for _ in range(lane.pick([4, 8, 12])):
        pid = lane.world.primary.sql("SELECT pid FROM pg_stat_activity WHERE usename = 'tacet' AND backend_xid IS NOT NULL ORDER BY"
                                     " wait_event_type IS NOT DISTINCT FROM 'IO' DESC, random() LIMIT 1", check=False)
        if pid.isdigit():
            os.kill(int(pid), signal.SIGKILL)
        lane.hold(0, 3)


def pause_primary(lane):
    pause_node(lane, [lane.world.primary], 5, 25)


def pause_standby(lane):
    pause_node(lane, [lane.world.standby], 5, 15)


def cut_replication(lane):
    lane.world.primary.drop(lane.world.standby)
    lane.hold(5, 15)
    lane.world.primary.undrop(lane.world.standby)


def end_connections(lane, which="true"):
    lane.world.primary.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tacet' AND {which}", check=False)


ENDED = ["true", "wait_event = 'SyncRep'"]  # all; or those alone whose commit waits for the standby


def end_connections_without_standby(lane):
    """Commits that wait for the standby are given up by PostgreSQL, and are to be seen on the primary alone."""
    lane.world.primary.drop(lane.world.standby)
    lane.hold(1, 3)
    end_connections(lane, lane.pick(ENDED))
    lane.hold(2, 8)
    lane.world.primary.undrop(lane.world.standby)


def slow_replication(lane):
    how = lane.world.primary.slow(lane.pick([5, 50, 300]))
    lane.hold(5, 15)
    lane.world.primary.unslow()
    return {"by": how}


def leap_clock_of_primary(lane):
    """Leases end by this clock."""
    seconds = lane.pick([-3600, -60, 60, 3600])
    lane.world.primary.set_clock(seconds)
    lane.hold(5, 15)
    lane.world.primary.set_clock(0)
    return {"seconds": seconds}


def fill_log(lane, node):
    """Fills the disk and goes on to new segments of the log until PostgreSQL has used up those that it has in stock."""
    primary = lane.world.primary
    node.fill(node.wal)
    for _ in range(12):
        primary.sql("SELECT pg_logical_emit_message(false, 'full', ''), pg_switch_wal()", seconds=2, check=False)
    lane.hold(3, 8)
    node.unfill(node.wal)


def fill_log_of_primary(lane):
    fill_log(lane, lane.world.primary)


def fill_log_of_standby(lane):
    fill_log(lane, lane.world.standby)


def leap_schema(lane):
    """As if a newer program had changed the schema while connections were lost: these programs must store nothing."""
    primary = lane.world.primary
    version = primary.sql("SELECT max(version) FROM tacet.schema_versions", "tacet")
    columns = primary.sql("SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid ="
                          " 'tacet.schema_versions'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'version'", "tacet")
    primary.sql(f"INSERT INTO tacet.schema_versions (version{', ' if columns else ''}{columns}) SELECT version + 1"
                f"{', ' if columns else ''}{columns} FROM tacet.schema_versions WHERE version = {version}", "tacet")
    end_connections(lane)
    time.sleep(1)  # what was on its way
    count = "SELECT coalesce(sum(entries), 0) FROM tacet.ledger_accounts"
    before = primary.sql(count, "tacet")
    lane.hold(3, 8)
    after = primary.sql(count, "tacet")
    primary.sql(f"DELETE FROM tacet.schema_versions WHERE version = {int(version) + 1}", "tacet")
    if before != after:
        raise RuntimeError(f"an older program stored {int(after) - int(before)} entries under a newer schema")


def fail_over(lane):
    """The primary dies and is fenced, the standby is promoted. BEHIND: it lacks commits that were never confirmed. ALONE: it serves
    before it has a standby again; otherwise no commit is confirmed until the old primary has come back as its standby."""
    world = lane.world
    old, new = world.primary, world.standby
    behind, alone = lane.pick([True, False]), lane.pick([True, False])
    if behind:
        old.drop(new)
        lane.hold(1, 3)
        if lane.pick([True, False]):
            end_connections(lane, lane.pick(ENDED))
            lane.hold(1, 9)
    killed = time.monotonic()
    old.end(signal.SIGKILL)
    old.link("down")
    old.undrop(new)
    if new.sql("SELECT pg_promote(true, 60)", seconds=70) != "t":
        raise RuntimeError("the standby was not promoted")
    promoted = time.monotonic()
    world.primary, world.standby = new, old
    if alone:
        new.sql("ALTER SYSTEM SET synchronous_standby_names = ''")
        new.sql("SELECT pg_reload_conf()")
        lane.hold(5, 15)
    old.link("up")
    old.follow(new)
    wait_until("a standby that follows", lambda: new.sql(
        "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", check=False) == "1", 120)
    new.sql("ALTER SYSTEM RESET synchronous_standby_names")
    new.sql("SELECT pg_reload_conf()")
    return {"to": new.name, "behind": behind, "alone": alone, "killed": killed, "promoted": round(promoted - killed, 2),
            "whole": round(time.monotonic() - killed, 2)}


def database(fault):
    """The fault, and then the databases whole again: a lost standby is copied anew before the next one."""
    def faulty(lane):
        result = fault(lane)
        lane.world.repair_databases()
        return result
    faulty.__name__ = fault.__name__
    return faulty


SERVERS = [kill_server, kill_worker, pause_server, pause_worker, cut_server_from_database, cut_server_one_way, cut_worker_from_database,
           unplug_server, slow_server, leap_clock_of_node, fill_disk_of_server, restart_all_in_turn]
DATABASES = [database(fault) for fault in (
    kill_primary, kill_standby, kill_backends, restart_primary, pause_primary, pause_standby, cut_replication, end_connections,
    end_connections_without_standby, slow_replication, leap_clock_of_primary, fill_log_of_primary, fill_log_of_standby, leap_schema,
    fail_over)]


class Torture:
    def __init__(self, program, folder, seed, minutes, queries, only):
        self.seed, self.minutes, self.queries = seed, minutes, queries
        self.world = World(shutil.copy(program, folder), folder)  # a build must not change it meanwhile
        self.kept, self.faults, self.over = self.world.kept, [], threading.Event()
        decks = [[card for card in deck if not only or card.__name__ in only] for deck in (SERVERS, DATABASES)]
        self.lanes = [Lane(self, name, deck) for name, deck in zip(("servers", "databases"), decks) if deck]
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    def write_people(self, token):
        caller, people = load.Caller(self.seed, "torture"), {"students": [], "servers": [f"{ADDRESS[s]}:{PORT}" for s in ("s1", "s2", "s3")]}
        for name in ["steward"] + [f"student {n}" for n in range(STUDENTS)]:
            row = caller.call(name.replace(" ", "-"), "POST", "/v1/clients", token, {"name": name, "role": name.split()[0]})
            made = json.loads(row["body"])
            if name == "steward":
                people[name] = made
            else:
                people["students"].append({"id": made["id"], "token": made["token"]})
        primary = self.world.primary
        people["psql"] = [f"{BIN}/psql", "-Xq", "-h", primary.sockets, "-U", "postgres", "-d", "tacet"]
        pathlib.Path(self.kept, "people.json").write_text(json.dumps(people))

    def live(self):
        token = self.world.begin()
        self.write_people(token)
        clients = subprocess.Popen([sys.executable, HERE / "load.py", self.kept, str(self.seed), str(CLIENTS), str(self.queries)])
        wait_until("answers", lambda: os.path.exists(self.kept + "/answers.jsonl") and os.path.getsize(self.kept + "/answers.jsonl"))
        self.begun = time.monotonic()
        for lane in self.lanes:
            lane.start()
        until = self.begun + 60 * self.minutes
        while time.monotonic() < until and clients.poll() is None and not any(lane.wrong for lane in self.lanes):
            time.sleep(0.5)
        self.over.set()
        for lane in self.lanes:
            lane.join()
        self.world.heal()
        time.sleep(5)
        pathlib.Path(self.kept, "stop").touch()
        code = clients.wait(300)
        self.ended = time.monotonic()
        if code:
            raise RuntimeError("the clients ended badly")
        wait_until("the end of all jobs", lambda: self.world.primary.sql(
            "SELECT count(*) FROM tacet.jobs WHERE state NOT IN ('succeeded', 'failed', 'cancelled')", "tacet") == "0", 300, 1)

    def judge(self):
        """Whether all rules hold, by check.py and by tacet verify."""
        people = json.loads(pathlib.Path(self.kept, "people.json").read_text())
        people["psql"][people["psql"].index("-h") + 1] = self.world.primary.sockets
        pathlib.Path(self.kept, "people.json").write_text(json.dumps(people))
        good = subprocess.run([sys.executable, HERE / "check.py", self.kept]).returncode == 0
        with open(self.kept + "/export", "w") as out:
            self.world.tacet("export", "--data", self.world.servers[0].folder, "--database", URL, out=out)
        lines = pathlib.Path(self.kept, "export").read_text().splitlines(keepends=True)
        os.unlink(self.kept + "/export")
        verified, less = (subprocess.run([self.world.program, "verify", "-"], input="".join(text), capture_output=True, text=True)
                          for text in (lines, lines[:len(lines) // 2] + lines[len(lines) // 2 + 1:]))
        say(f"tacet verify: exit code {verified.returncode}; without one line of the export: {less.returncode}")
        found = subprocess.run([sys.executable, HERE / "check.py", self.kept, "--check-self"]).returncode == 0
        return good and verified.returncode == 0 and less.returncode == 1 and found

    def report(self):
        rows = [json.loads(line) for line in open(self.kept + "/answers.jsonl")]
        ends = sorted(row["end"] for row in rows if row["status"] == 200)
        statuses = json.loads(pathlib.Path(self.kept, "statuses.json").read_text())
        said = collections.Counter(row["status"] for row in rows)
        jobs = [json.loads(line)["status"] for line in open(self.kept + "/jobs.jsonl")]
        seconds = self.ended - self.begun
        say(f"seed {self.seed}: {said[200]} answers in {seconds:.0f} s ({said[200] / seconds:.0f} a second), {said[403]} refused, "
            f"{sum(row['tries'] > 1 for row in rows)} calls were repeated; jobs: {dict(collections.Counter(jobs))}")
        say("single tries: " + ", ".join(f"{count} times {name if name != '0' else 'no answer'}" for name, count in sorted(statuses.items())))
        say("ends that nobody asked for: " + ", ".join(f"{node.name} {dict(collections.Counter(node.ends))}"
                                                       for node in self.world.nodes() if node.ends))
        self.report_outages(ends)
        odd = sorted(status for status in said if status not in (200, 403))
        if odd:
            say(f"unexpected answers: {odd}")
        return not odd

    def report_outages(self, ends):
        """A time without any answer belongs to the first fault that began in it or just before, or else to the last one before it."""
        faults = sorted(self.faults, key=lambda fault: fault["begin"])
        begins, longest = [fault["begin"] for fault in faults], collections.Counter()
        for before, after in zip(ends, ends[1:]):
            at = bisect.bisect(begins, before - 0.5)
            at -= at == len(begins) or begins[at] > after
            if at >= 0:
                kind = faults[at]["kind"]
                longest[kind] = max(longest[kind], after - before)
        counts = collections.Counter(fault["kind"] for fault in faults)
        for kind in sorted(counts):
            say(f"  {kind:34} {counts[kind]:3} times, longest time without an answer {longest[kind]:5.1f} s")
        for fault in faults:
            if fault["kind"] == "fail_over":
                at = bisect.bisect(ends, fault["killed"] + 0.5)  # what was on its way has come
                serves = ends[at] - fault["killed"] if at < len(ends) else -1
                say(f"  failover to {fault['to']} behind={fault['behind']} alone={fault['alone']}: promoted after {fault['promoted']} s,"
                    f" answers again after {serves:.1f} s, standby in step after {fault['whole']} s")


def main():
    program, folder = sys.argv[1:3]
    words = dict(enumerate(sys.argv[3:]))
    seed = int(words.get(0) or 0) or random.SystemRandom().randrange(1, 1 << 31)
    minutes, queries = float(words.get(1) or 3), int(words.get(2) or 0)
    say(f"SEED={seed} MINUTES={minutes:g} QUERIES={queries}")
    torture = Torture(program, folder, seed, minutes if not queries else 1e9, queries, (words.get(3) or "").split(",") if words.get(3) else None)
    good = False
    try:
        torture.live()
        good = torture.judge() & torture.report()
        good = good and not any(lane.wrong for lane in torture.lanes)
    finally:
        torture.world.end()
        pathlib.Path(torture.kept, "faults.json").write_text(json.dumps(torture.faults))
        say(f"SEED={seed}: {'all holds' if good else 'FAILED'}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
