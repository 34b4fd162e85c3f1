"""A table in natural units: upload it as it is, ask the advisor, estimate, train (docs/own-data.md).

walks.csv and walks.json are made by walks.py; TACET_TOKEN is a steward's.
"""
# %% The description says which column is what, and the public bounds of each feature.
import tacet

client = tacet.connect()
data = client.create_dataset("table", epsilon=6, delta=2e-6, nominal_experts=300, discount=0.9, max_episode_steps=20,
                             description="walks.json")
data.upload("walks.csv").seal()

# %% Advice and estimates read no data and spend nothing.
for candidate in data.advise(3, 1e-6)[:3]:
    print(candidate["verdict"], candidate["job"]["algorithm"], candidate["job"]["mechanism"], candidate["sentence"])
plan = dict(algorithm="behaviour_cloning", epsilon=3, delta=1e-6, parameters={"steps": 100})
estimate = data.estimate(**plan)
print(estimate["feasible"], estimate["cost"], estimate["running_time"]["seconds"])

# %% With a key of your own the same cell, run again, is the same job and is paid once.
job = data.train(**plan, key=f"table-{data.id}").wait(progress=True)
again = data.train(**plan, key=f"table-{data.id}").wait()
assert job.id == again.id
print(job.policy.act([[0.5, 0.1], [-0.5, 0.1]]), "left:", data.remaining())
