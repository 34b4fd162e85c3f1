#!/usr/bin/env python3
"""What a released Q-function tells of the rewards behind it: a reward-inference attack by the Bellman residual.

The attacker knows the world (a state in [0, 1]; action 0 moves up, 1 down, by up to 1/4 uniformly), the discount and the
release. He asks for values and solves the Bellman equation for the reward:

    r(s, a) = Q(s, a) - discount * mean over next states s' of max_a' Q(s', a')

With unit "reward" the reward function is what the release protects: the error of his guess against epsilon is printed,
beside that of guessing the mean reward everywhere, which needs no release at all.

    examples/reward_attack.py --url http://127.0.0.1:8080 --steward TOKEN [--scale 1000] [--epsilons 0.45,0.9,4,16,64,256]

The rewards that neighbours may differ by are 1/scale; the true ones lie in [0, 1/2]. Needs nothing but Python's own
library; uploads 40 episodes of random play as a dataset of its own and runs one job for each epsilon.
"""
import argparse
import json
import random
import sys
import time
import urllib.error
import urllib.request

DISCOUNT = 0.5
STATES = [i / 20 for i in range(21)]
MOVES = [(i + 0.5) / 40 for i in range(10)]  # of the uniform law on [0, 1/4]


def call(options, method, path, body=None, kind="application/json", key=None):
    headers = {"Authorization": "Bearer " + options.steward, "Content-Type": kind}
    if key:
        headers["Idempotency-Key"] = key
    data = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    request = urllib.request.Request(options.url + path, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request) as reply:
            text = reply.read()
            return json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")


def step(state, action, move):
    return min(max(state + (move if action == 0 else -move), 0.0), 1.0)


def reward(state):
    return 0.5 - abs(state - 0.5)


def upload(options):
    dataset = call(options, "POST", "/v1/datasets", {
        "name": "reward attack", "state_dim": 1, "action_count": 2, "max_episode_steps": 50, "discount": DISCOUNT,
        "budget": {"epsilon": 1.01 * sum(options.epsilons), "delta": 0.01}})["id"]
    lines = []
    draw = random.Random(1)
    for episode in range(40):
        states, actions, rewards = [draw.random()], [], []
        for _ in range(50):
            actions.append(draw.randrange(2))
            states.append(step(states[-1], actions[-1], 0.25 * draw.random()))
            rewards.append(reward(states[-1]))
        lines.append(json.dumps({"expert": f"e{episode}", "states": [[s] for s in states], "actions": actions,
                                 "rewards": rewards, "terminated": False, "truncated": True}))
    call(options, "POST", f"/v1/datasets/{dataset}/trajectories", "\n".join(lines), "application/x-ndjson")
    call(options, "POST", f"/v1/datasets/{dataset}:seal", {})
    return dataset


def release(options, dataset, epsilon):
    job = call(options, "POST", "/v1/jobs", {
        "algorithm": "gp_q_learning", "dataset": dataset,
        "privacy": {"unit": "reward", "epsilon": epsilon, "delta": 1e-4, "force": True,
                    "i_understand": "states_are_public"},
        "parameters": {"reward_scale": options.scale, "value_limit": 2 * options.scale, "updates": 40, "update_rate": 3,
                       "batch_size": 512, "knot_bits": 6, "error_limit": 100000}}, key=f"attack-{dataset}-{epsilon}")
    while job["state"] in ("queued", "running"):
        time.sleep(0.3)
        job = call(options, "GET", "/v1/jobs/" + job["id"])
    if job["state"] != "succeeded":
        sys.exit(f"the job ended as {job['state']}: {job['error']}")
    return job["q_release"]


def values(options, q_release, states):
    answer = call(options, "POST", f"/v1/q-releases/{q_release}/queries", {"states": [[s] for s in states]})
    return [[v / options.scale for v in row] for row in answer["values"]]


def infer(options, q_release):
    """The attacker's rewards at STATES for both actions."""
    here = values(options, q_release, STATES)
    guesses = []
    for state, q in zip(STATES, here):
        for action in (0, 1):
            there = values(options, q_release, [step(state, action, move) for move in MOVES])
            guesses.append(q[action] - DISCOUNT * sum(map(max, there)) / len(MOVES))
    return guesses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--steward", required=True, help="a steward's token")
    parser.add_argument("--scale", type=float, default=1000, help="rewards of neighbours differ by at most 1/scale")
    parser.add_argument("--epsilons", type=lambda text: [float(x) for x in text.split(",")], default="0.45,0.9,4,16,64,256")
    options = parser.parse_args()
    truth = [sum(reward(step(s, a, m)) for m in MOVES) / len(MOVES) for s in STATES for a in (0, 1)]
    mean = sum(truth) / len(truth)

    def error(guess):
        return (sum((g - t) ** 2 for g, t in zip(guess, truth)) / len(truth)) ** 0.5

    dataset = upload(options)
    print(f"neighbours' rewards differ by at most {1 / options.scale:g}; guessing the mean errs by {error([mean] * len(truth)):.4f}")
    print("epsilon  error of the inferred rewards (root mean square)")
    for epsilon in options.epsilons:
        print(f"{epsilon:7g}  {error(infer(options, release(options, dataset, epsilon))):.4f}", flush=True)


if __name__ == "__main__":
    main()
