#!/usr/bin/env python3
"""A student of a Tacet teacher that trains outside Tacet; the standard library suffices.

    TACET_TOKEN=tct_... examples/student.py http://127.0.0.1:8080 tch_... [EPISODES] [SEED]

Teacher is the part to take away: a roll-out, questions under keys of their own, None for ever after the budget is spent.
Below it a small policy learns CartPole; answers pull at it from beyond half their own noise's radius."""
import http.client, json, math, os, random, sys, time, urllib.error, urllib.request, uuid


def fresh_key():
    """A UUID of version 7, which names the time: a server may keep answers for so long only."""
    key = bytearray(int(time.time() * 1000).to_bytes(6, "big") + os.urandom(10))
    key[6], key[8] = 0x70 | key[6] & 15, 0x80 | key[8] & 63
    return str(uuid.UUID(bytes=bytes(key)))


class Teacher:
    def __init__(self, server, teacher, token, patience=300):
        self.url, self.token, self.patience = f"{server}/v1/teachers/{teacher}", token, patience
        self.silent, self.spent, self.asked, self.why = False, None, 0, None

    def call(self, path, body):
        """The answer, or None when no budget pays for it. A repeat under the same key is charged once, answered alike."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                   "Idempotency-Key": fresh_key()}
        call = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers, method="POST")
        give_up, pause = time.monotonic() + self.patience, 0.1
        while True:
            try:
                with urllib.request.urlopen(call, timeout=30) as answer:
                    return json.load(answer)
            except (OSError, http.client.HTTPException, ValueError) as failure:
                code = getattr(failure, "code", None)  # None: no answer came, or half of one
                why = b"" if code is None else failure.read()
                if code == 403 and any(w in why for w in (b"/problems/budget", b"/problems/no-budget", b"/problems/teacher-silent")):
                    self.why = json.loads(why)["detail"]
                    return None
                if code not in (None, 408, 425, 429, 502, 503, 504) or time.monotonic() > give_up:
                    sys.exit(f"{failure} {why.decode(errors='replace')}")
            time.sleep(pause := min(2 * pause, 5))

    def ask(self, states):
        """One roll-out's (probabilities of each state, radius of their noise), or None: the student goes on alone."""
        self.silent = self.silent or self.call("/rollouts", {}) is None  # the next step of a vanishing schedule
        answer = None if self.silent else self.call("/queries", {"states": states})
        self.silent = answer is None or answer.get("random", False)  # a spent teacher is silent or draws at random
        if answer and self.silent:
            self.why = "The teacher is spent and answers at random."
        if not self.silent:
            self.spent, self.asked = answer["spent"], self.asked + len(states)
        return None if self.silent else (answer["probabilities"], answer["error_radius"])


def step(s, right):
    x, v, angle, spin = s  # CartPole (Barto, Sutton and Anderson 1983)
    push = ((10 if right else -10) + 0.05 * spin * spin * math.sin(angle)) / 1.1
    turn = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
    s = [x + 0.02 * v, v + 0.02 * (push - 0.05 * turn * math.cos(angle) / 1.1), angle + 0.02 * spin, spin + 0.02 * turn]
    return s, abs(s[0]) <= 2.4 and abs(s[2]) <= 0.2095


def learn(teacher, episodes, weight=0.5, rate=0.02):
    chance = lambda s: 1 / (1 + math.exp(-sum(a * b for a, b in zip(w, s))))  # of pushing to the right
    w, baseline, returns = [0.0] * 4, 0.0, []
    for _ in range(episodes):
        state, alive, played = [random.uniform(-0.05, 0.05) for _ in range(4)], True, []
        while alive and len(played) < 500:
            played.append((state, random.random() < chance(state)))
            state, alive = step(*played[-1])
        returns.append(len(played))  # a step is worth one
        baseline = 0.9 * baseline + 0.1 * len(played)
        pulls = [(s, (right - chance(s)) * (len(played) - t - baseline / 2) / 50) for t, (s, right) in enumerate(played)]
        asked = [s for s, _ in random.sample(played, min(16, len(played)))]
        answer = teacher.ask(asked)
        for s, p in zip(asked, answer[0] if answer else []):
            if math.sqrt(2) * abs(chance(s) - p[1]) > weight * answer[1]:
                pulls.append((s, -math.sqrt(2) * math.copysign(chance(s) * (1 - chance(s)), chance(s) - p[1])))
        w = [a + rate * sum(pull * s[i] for s, pull in pulls) for i, a in enumerate(w)]
    return returns


if __name__ == "__main__":
    if len(sys.argv) < 3 or "TACET_TOKEN" not in os.environ:
        sys.exit(__doc__)
    random.seed(sys.argv[4] if len(sys.argv) > 4 else None)
    guide = Teacher(sys.argv[1].rstrip("/"), sys.argv[2], os.environ["TACET_TOKEN"])
    curve = learn(guide, int(sys.argv[3]) if len(sys.argv) > 3 else 200)
    print(json.dumps({"returns": curve, "states_asked": guide.asked, "spent": guide.spent,
                      "alone": guide.silent, "why": guide.why}))
