"""Record a step loop, train on it, and play the policy in the same environment as a world of the server.

The server was started with --world "walk=python3 examples/python/walk_world.py"; TACET_TOKEN is a steward's.
"""
# %% Your own loop; the Recorder keeps what is played.
import random

import tacet
from walk_world import Walk

env = tacet.Recorder(Walk(), expert="walker-0")
for episode in range(600):
    env.expert = f"walker-{episode // 2}"
    state, _ = env.reset(seed=episode)
    for _ in range(12):
        action = int(state[0] < 0) if random.random() < 0.9 else random.randrange(2)
        state, reward, terminated, truncated, _ = env.step(action)
env.reset()

# %% A dataset of the world "walk", and a private policy
client = tacet.connect()
data = client.create_dataset("loop", environment="walk", epsilon=3, delta=1e-6, nominal_experts=300)
data.upload(env.episodes).seal()
job = data.train("behaviour_cloning", epsilon=3, delta=1e-6, parameters={"steps": 100, "input_scale": 1}).wait(progress=True)

# %% Any released policy may be played in any world, free
played = client.evaluate(job.policy, {"name": "walk", "parameters": {"stride": 0.2}}, episodes=20).wait()
print(job, played["evaluation"])
