#!/usr/bin/env python3
"""Budget leases, simulated: what they would gain beyond one database, and what a crash would lose.

A server takes a slice of an account's remaining budget from the primary, durably, and spends it from its own disk. It
asks for the next one when half of a slice is left, and gives an idle one back. A slice is a SHARE of the remaining budget
divided by the number of servers. What a crashed server held counts as spent.

    bench/leases.py [--seed N] [--seconds S]

Servers stand in three regions. Questions to one account arrive at each server independently. Nothing of the service runs
here: its times (MODEL) are those of docs/scale.md, or are stated assumptions.
"""
import argparse
import heapq
import random

# Seconds. A transaction of n questions holds the primary's lock for COMMIT + n * QUESTION and ROUNDS round trips, since its
# statements wait for each other. Taking a slice is one statement, so the lock is held for COMMIT alone.
MODEL = {"commit": 2e-3, "question": 0.25e-3, "rounds": 14, "local": 1e-3}
REGIONS = (0.5e-3, 40e-3, 90e-3)  # round trips to the primary: its own region, a neighbour, another continent
BATCH = 64  # questions in a transaction


class Primary:
    """One lock: transactions wait for each other, in order of arrival."""

    def __init__(self, budget):
        self.left, self.free_at = budget, 0.0

    def transact(self, now, hold):
        """The time at which a transaction ends that arrives NOW and holds the lock for HOLD."""
        self.free_at = max(now, self.free_at) + hold
        return self.free_at


class Server:
    def __init__(self, number, rtt):
        self.number, self.rtt, self.slice, self.asked, self.queue, self.idle_since = number, rtt, 0, False, [], 0.0


class World:
    def __init__(self, options, share, regions=REGIONS):
        self.random, self.options, self.share, self.regions = random.Random(options.seed), options, share, regions
        self.primary = Primary(options.budget)
        self.servers = [Server(i, regions[i % len(regions)]) for i in range(options.servers)]
        self.events, self.count, self.answered, self.late = [], 0, 0, []
        self.lost, self.crashes, self.refused_at, self.refusals = [], 0, None, 0

    def at(self, time, what, server, *rest):
        self.count += 1
        heapq.heappush(self.events, (time, self.count, what, server, rest))

    def arrive(self, now, server):
        self.at(now + self.random.expovariate(self.options.rate), self.arrive, server)
        server.queue.append(now)
        self.serve(now, server)

    def serve(self, now, server):
        if self.share is None:
            if not server.asked:
                self.send_batch(now, server)
            return
        server.idle_since = now
        while server.queue and server.slice:
            server.slice -= 1
            self.answered += 1
            self.late.append(now + MODEL["local"] - server.queue.pop(0))
        if not server.asked and server.slice <= self.next_slice() // 2:
            self.ask_slice(now, server)

    # ---- without leases: each batch is a transaction at the primary
    def send_batch(self, now, server):
        n = min(len(server.queue), BATCH)
        server.asked = n > 0
        if n:
            hold = MODEL["commit"] + n * MODEL["question"] + MODEL["rounds"] * server.rtt
            self.at(self.primary.transact(now + server.rtt / 2, hold) + server.rtt / 2, self.end_batch, server, n)

    def end_batch(self, now, server, n):
        paid = min(n, self.primary.left)
        self.primary.left -= paid
        self.answered += paid
        self.late += [now - asked for asked in server.queue[:paid]]
        self.note_refusal(now, n - paid)
        del server.queue[:n]
        self.send_batch(now, server)

    # ---- with leases
    def next_slice(self):
        return max(int(self.primary.left * self.share / len(self.servers)), 1)

    def ask_slice(self, now, server):
        server.asked = True
        self.at(self.primary.transact(now + server.rtt / 2, MODEL["commit"]) + server.rtt / 2, self.get_slice, server)

    def get_slice(self, now, server):
        taken = min(self.next_slice(), self.primary.left)
        self.primary.left -= taken
        server.slice += taken
        server.asked = False
        if not taken:
            self.note_refusal(now, len(server.queue))
            server.queue.clear()
            return
        self.serve(now, server)

    def give_back(self, now, server):
        """Twice a second: an idle server's slice returns, so that others can spend it."""
        self.at(now + 0.5, self.give_back, server)
        if server.slice and now - server.idle_since > 0.5:
            self.primary.transact(now, MODEL["commit"])
            self.primary.left += server.slice
            server.slice = 0

    def crash(self, now, server):
        self.at(now + self.random.expovariate(1 / self.options.lives), self.crash, server)
        self.crashes += 1
        self.lost.append(server.slice / self.options.budget)
        server.slice = 0
        server.queue.clear()

    def note_refusal(self, now, n):
        self.refusals += n
        if n and self.refused_at is None:
            held = sum(server.slice for server in self.servers)
            self.refused_at = (now, (self.primary.left + held) / self.options.budget)

    def run(self):
        for server in self.servers:
            self.at(self.random.random() / self.options.rate, self.arrive, server)
            if self.share is not None:
                self.at(self.random.random(), self.give_back, server)
                self.at(self.random.expovariate(1 / self.options.lives), self.crash, server)
        now = 0.0
        while self.events and now < self.options.seconds and self.refused_at is None:
            now, _, what, server, rest = heapq.heappop(self.events)
            what(now, server, *rest)
        return self.report(now)

    def report(self, now):
        late = sorted(self.late)
        worst = max(self.lost, default=0)
        mean = sum(self.lost) / max(len(self.lost), 1)
        stranded = f"{100 * self.refused_at[1]:.2f} %" if self.refused_at else "none refused"
        name = "no leases" if self.share is None else f"{self.share:g}"
        crashes = f"{self.crashes} | {100 * mean:.3f} % | {100 * worst:.3f} %" if self.share is not None else "| | "
        return (f"| {name}, {len(self.regions)} region{'s' if len(self.regions) > 1 else ''} | {self.answered / now:,.0f} | "
                f"{1e3 * late[len(late) // 2]:,.1f} | {1e3 * late[len(late) * 99 // 100]:,.1f} | {crashes} | {stranded} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("seed", 1), ("seconds", 150), ("servers", 100), ("budget", 2_000_000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=200, help="questions a second at each server")
    parser.add_argument("--lives", type=float, default=600, help="seconds between two crashes of a server")
    options = parser.parse_args()
    print(f"{options.servers} servers, {options.rate:g} questions a second each, a budget of {options.budget} questions")
    print("| slice | answered a second | p50 ms | p99 ms | crashes | lost by one, mean | greatest | left at the first refusal |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    print(World(options, None, REGIONS[:1]).run(), flush=True)
    for share in (None, 1, 0.3, 0.1, 0.03, 0.01):
        print(World(options, share).run(), flush=True)


if __name__ == "__main__":
    main()
