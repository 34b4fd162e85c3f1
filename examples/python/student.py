"""A student asks a teacher until the budget is gone, asks for more, and goes on alone.

    student.py TEACHER          TACET_TOKEN is the student's
"""
# %% The teacher
import random
import sys

import tacet

teacher = tacet.connect().teacher(sys.argv[1])
print(teacher, teacher.estimate(100)["cost"])

# %% Every question has a fresh key. After a lost connection it is repeated under that key, and charged once.
learnt, refusal = {}, None
while refusal is None:
    states = [[random.uniform(-1, 1), 0.0] for _ in range(200)]
    try:
        answer = teacher.ask(states)
    except tacet.BudgetExhausted as error:
        refusal = error
        continue
    if answer.random:
        break  # a teacher that answers at random when it is spent
    for state, row in zip(states, answer.probabilities):
        learnt.setdefault(round(state[0], 1), []).append(row[1])

# %% What was learnt, and what the refusal says
for place in sorted(learnt)[::5]:
    print(f"at {place:4}: right with {sum(learnt[place]) / len(learnt[place]):.2f}")
print(refusal)

# %% Ask the steward for the least limit that would pay
if refusal and refusal.ask:
    body = {**refusal.ask["body"], "reason": "to finish the experiment"}
    request = teacher.client.api.create_budget_request(body)
    print("request", request["id"], request["status"])
