#!/usr/bin/env python3
"""A server under siege: make siege.

First a student asks a teacher, over a connection that it keeps and over new ones: while nobody else
does, and while all attacks of attacks.py run at once, in turns. Its answers must all come, be stored
and be replayed byte for byte, also after kill -9; its account must show one entry for each; no account
may be over its limit. Then come the campaigns of campaigns.py, each on a server of its own, kill -9
under 64 clients, and the test programs that count faults, whole. Prints two tables in Markdown; ends with 1 when anything did not hold. The limit
of the ratio of p99 is 5.

    siege.py BUILD-DIRECTORY [PART]     PART: load, names of attacks, or the name of a campaign

SEED (printed; drawn when it is not set) decides all that clients choose. SIEGE_TURNS (5): turns of
quiet and attack. SIEGE_ASKED (3000): questions in each. SIEGE_KILLS (1600): times that a server is killed.
"""
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

import attacks
import campaigns
from house import House, Wire, cpu_seconds, request

ASKED = int(os.environ.get("SIEGE_ASKED", 3000))  # the student's questions on each kind of connection, quiet or attacked
PAUSE = 0.002  # before each
RATIO = 5
KILLS_A_HOUSE = 50


class Student:
    """One that behaves: one question at a time, and when told to come again it does, under the same key."""

    def __init__(self, house, teacher):
        self.house, self.person = house, house.person("student")
        self.path = f"/v1/teachers/{teacher}/queries"
        self.kept, self.again = {}, 0
        self.wire = Wire(house.port)

    def question(self, key):
        return request("POST", self.path, self.person.token, {"state": [0, 0.01 * (key % 50), 0.02, 0]}, f"s{key}")

    def ask(self, fresh):
        """Seconds until the answer came, however often it had to be asked for."""
        key = len(self.kept)
        text = self.question(key)
        if fresh:
            self.wire.close()
        begun = time.perf_counter()
        while (answer := self.wire.send(text)).status in (0, 429, 503):
            self.again += 1
            if time.perf_counter() - begun > 300:
                raise SystemExit(f"no answer in five minutes: {answer}")
        took = time.perf_counter() - begun
        if answer.status != 200:
            raise SystemExit(f"a student was answered {answer.status}: {answer.body!r}")
        self.kept[key] = answer.body
        return took

    def times(self, fresh):
        found = []
        for _ in range(ASKED):
            time.sleep(PAUSE)
            found.append(self.ask(fresh))
        return found

    def lost(self):
        """How many answers are not replayed byte for byte. Says what came instead of the first."""
        self.wire = Wire(self.house.port)
        bad = 0
        for key, body in self.kept.items():
            last = time.perf_counter() + 300
            while (answer := self.wire.send(self.question(key))).status in (0, 429, 503) and time.perf_counter() < last:
                self.again += 1
                time.sleep(0.1)
            if answer.status != 200 or answer.body != body or b"Idempotency-Replayed: true" not in answer.head:
                bad += 1
                if bad == 1:
                    print(f"LOST s{key}: {body!r}, now {answer}")
        return bad


def quantile(times, share):
    return sorted(times)[min(len(times) - 1, int(share * len(times)))] * 1e3


def machine_seconds():
    """Busy and idle seconds of all processors."""
    fields = [int(f) / os.sysconf("SC_CLK_TCK") for f in open("/proc/stat").readline().split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, idle


class Shares:
    """Who had the processors while the student was attacked."""

    def __init__(self):
        self.seconds = dict.fromkeys(("server", "attackers", "student", "others", "nobody"), 0.0)

    def begin(self, house, army):
        self.before = self.now(house, army)

    def now(self, house, army):
        busy, idle = machine_seconds()
        own = os.times()
        return {"server": cpu_seconds(house.process.pid), "attackers": sum(map(cpu_seconds, army.pids())),
                "student": own.user + own.system, "busy": busy, "nobody": idle}

    def end(self, house, army):
        after = self.now(house, army)
        spent = {name: after[name] - self.before[name] for name in after}
        spent["others"] = spent.pop("busy") - spent["server"] - spent["attackers"] - spent["student"]
        for name, seconds in spent.items():
            self.seconds[name] += seconds

    def line(self):
        whole = sum(self.seconds.values())
        return ", ".join(f"{name} {seconds / whole:.0%}" for name, seconds in self.seconds.items())


def load_turns(house, student, field, seed, turns, shares, names):
    times = {(kind, when): [] for kind in ("kept", "new") for when in ("quiet", "attacked")}
    tallies = {}
    wanted = [a for a in attacks.ATTACKS if not names or a.__name__ in names]
    for turn in range(turns):
        for kind in ("kept", "new"):
            times[kind, "quiet"].append(student.times(kind == "new"))
        field.round = turn
        army = attacks.Army(field, f"{seed} {turn}", wanted)
        time.sleep(3)  # they take their places
        shares.begin(house, army)
        for kind in ("kept", "new"):
            times[kind, "attacked"].append(student.times(kind == "new"))
        shares.end(house, army)
        for name, tally in army.end().items():
            if name in tallies:
                tallies[name].tried += tally.tried
                tallies[name].statuses += tally.statuses
                tallies[name].wrong += tally.wrong
            else:
                tallies[name] = tally
        time.sleep(3)  # what they left is swept away
    return times, tallies


def print_tallies(tallies):
    print("\n| attack | tried | answered |\n|---|---|---|")
    for name, tally in tallies.items():
        told = ", ".join(f"{status or 'none'}: {count:,}" for status, count in sorted(tally.statuses.items()))
        print(f"| {name.replace('_', ' ')} | {tally.tried:,} | {told or '-'} |")
    for name, tally in tallies.items():
        for wrong in tally.wrong:
            print(f"WRONG {name}: {wrong}")


def print_times(times):
    """The table, and the median over the turns of the ratio of p99, of each kind of connection."""
    print("\n| the student's answers | p50 ms | p99 ms | slowest ms |\n|---|---|---|---|")
    ratios = {}
    for (kind, when), turns in times.items():
        every = [t for turn in turns for t in turn]
        print(f"| {kind} connection, {when} | {quantile(every, 0.5):.2f} | {quantile(every, 0.99):.2f} | {max(every) * 1e3:.1f} |")
    for kind in ("kept", "new"):
        pairs = zip(times[kind, "attacked"], times[kind, "quiet"])
        ratios[kind] = [quantile(a, 0.99) / quantile(q, 0.99) for a, q in pairs]
        print(f"p99 attacked / quiet, {kind} connection: {statistics.median(ratios[kind]):.1f} "
              f"({min(ratios[kind]):.1f} to {max(ratios[kind]):.1f})")
    return [statistics.median(ratio) for ratio in ratios.values()]


def load(program, seed, turns, names):
    """What did not hold, in sentences."""
    house = House(program)
    teacher = house.teacher(house.steward, house.policy(house.steward), 1e6, 1e6)
    student = Student(house, teacher)
    field = attacks.Field(house, student.person, teacher)
    put = f"/v1/teachers/{teacher}/budgets/"
    poor = next(c["id"] for c in house.wire.make("GET", "/v1/clients?page_size=1000", house.admin.token)["items"]
                if field.poor_student.startswith("tct_" + c["id"].removeprefix("cli_")))
    house.wire.make("PUT", put + poor, house.steward.token, {"epsilon": 0.01, "delta": 1e-5})
    shares = Shares()
    times, tallies = load_turns(house, student, field, seed, turns, shares, names)
    broken = [f"{name}: {wrong}" for name, tally in tallies.items() for wrong in tally.wrong]
    print_tallies(tallies)
    ratios = print_times(times)
    print("processors while attacked:", shares.line())
    broken += [f"p99 is {ratio:.1f} times the quiet one" for ratio in ratios if ratio > RATIO]
    for when in ("at once", "after kill -9"):
        lost, books = student.lost(), house.books_fail()
        entries = sum(a["entries"] for a in house.accounts() if a.get("client") == student.person.id)
        print(f"{when}: {len(student.kept):,} answers, {lost} lost, {entries:,} entries, books: {books or 'whole'}; "
              f"asked again {student.again} times")
        if lost or books or entries != len(student.kept) + 1:  # the first opened the account
            broken.append(f"{when}: {lost} answers lost, {entries} entries, {books}")
        if when == "at once":
            print("peak memory:", house.peak_mib(), "MiB")
            house.end(signal.SIGKILL)
            house.start()
    if house.end() != 0:
        broken.append("the server did not end well")
    house.remove()
    return broken


CAMPAIGNS = (  # name, function, flags of the server
    ("roles at endpoints", campaigns.roles, ()),
    ("others' and unknown names", campaigns.names, ()),
    ("odd names and keys", campaigns.guesses, ()),
    ("malformed heads", campaigns.malformed, ()),
    ("bodies and bombs", campaigns.bodies, ("--max-upload", "64M")),
    ("races of 64 for the last epsilon", campaigns.last_epsilon, ()),
    ("races of 64 under one key", campaigns.one_key, ()),
)


def campaign(program, seed, name, function, flags):
    house = House(program, "--address-rate", "0", *flags)  # campaigns of thousands from one address
    result = function(house, random.Random(f"{seed} {name}"))
    result.expect(not (wrong := house.books_fail()), wrong)
    result.expect(house.end() == 0, "the server did not end well")
    house.remove()
    return result


def kills(directory, seed, wanted):
    """kill -9 under the questions of 64 clients (tests/crash)."""
    result, acknowledged, unknown = campaigns.Result(), 0, 0
    for house in range(-(-wanted // KILLS_A_HOUSE)):
        number = random.Random(f"{seed} kills {house}").randrange(1, 2 ** 63)
        run = subprocess.run([directory + "/test_crash", "--filter", "crash/killed*"], capture_output=True, text=True,
                             env=os.environ | {"TACET": directory + "/tacet", "CRASH_ROUNDS": str(KILLS_A_HOUSE),
                                               "CRASH_SEED": str(number)})
        said = re.search(r"(\d+) kills, (\d+) acknowledged, \d+ refused, (\d+) without", run.stderr)
        if not said or run.returncode != 0:
            result.expect(False, f"CRASH_SEED={number}: {run.stderr[-1000:]}")
            continue
        result.tried += int(said[1])
        acknowledged, unknown = acknowledged + int(said[2]), unknown + int(said[3])
    result.note = f"{acknowledged:,} answers acknowledged, {unknown:,} cut off"
    return result


ALL = {"FAULTS_TESTED": "all"}
PROGRAMS = (  # name, test program, its tests, its environment, what it counts
    ("power cuts", "test_storage", "power_cut/*", {"TACET_POWER_SEEDS": "100"}, r"^(\d+) power cuts"),
    ("failing calls, endpoints", "test_faults", "endpoint_faults/*", ALL, r"^(\d+) failing calls"),
    ("failing calls, jobs", "test_faults", "job_faults/*", ALL, r"^(\d+) failing calls"),
    ("failing system calls", "test_system", "system_faults/*", ALL, r"^(\d+) failing system calls"),
    ("steps of a simulated service", "test_simulator", "simulator/nothing*", {"STEPS": "1000000"}, r"^ *(\d+) steps"),
)


def counted(directory, seed, name, program, tests, environment, count):
    """What a test program tried, by the lines in which it says so."""
    result = campaigns.Result()
    run = subprocess.run([f"{directory}/{program}", "--filter", tests], capture_output=True, text=True,
                         env=os.environ | {"TACET": directory + "/tacet", "SEED": seed} | environment)
    result.tried = sum(map(int, re.findall(count, run.stderr, re.MULTILINE)))
    if run.returncode != 0 or result.tried == 0:
        result.broken.append(run.stderr[-1000:])
    return result


def main():
    directory, asked = sys.argv[1], " ".join(sys.argv[2:]).strip()
    seed = os.environ.get("SEED") or str(random.SystemRandom().randrange(10 ** 9))
    turns, killed = int(os.environ.get("SIEGE_TURNS", 5)), int(os.environ.get("SIEGE_KILLS", 1600))
    program, broken = directory + "/tacet", []
    parts = asked.split()
    names = [a.__name__ for a in attacks.ATTACKS if a.__name__ in parts]
    runs = [(name, lambda row=row: campaign(program, seed, *row)) for row in CAMPAIGNS for name in row[:1]]
    runs.append(("kill -9 under 64 clients", lambda: kills(directory, seed, killed)))
    runs += [(row[0], lambda row=row: counted(directory, seed, *row)) for row in PROGRAMS]
    known = ["load"] + [name for name, _ in runs]
    if asked and not names and asked not in known:
        raise SystemExit(f"no part is called {asked}; there are: " + ", ".join(known))
    print(f"SEED={seed}", flush=True)
    if not parts or "load" in parts or names:
        broken += load(program, seed, turns, names)
    print("\n| campaign | tried | held | |\n|---|---|---|---|", flush=True)
    for name, run in runs:
        if asked and name != asked:
            continue
        result = run()
        print(f"| {name} | {result.tried:,} | {result.tried - len(result.broken):,} | {result.note} |", flush=True)
        broken += [f"{name}: {what}" for what in result.broken]
    for what in broken[:100]:
        print("DID NOT HOLD", what)
    print(f"SEED={seed}:", f"{len(broken)} did not hold" if broken else "all held")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
