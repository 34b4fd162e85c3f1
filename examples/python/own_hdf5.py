"""From an HDF5 file to a certified ONNX policy and a refused query, without an environment (docs/python.md)."""
import tacet

data = tacet.connect().create_dataset("walks", epsilon=3, delta=2e-6, nominal_experts=300, discount=0.9,
                                      max_episode_steps=20, description="walks.json", key="walks")
if data.refresh()["state"] == "open": data.upload(tacet.read_hdf5("walks.hdf5", experts_by="experts"), key="walks-data").seal()  # noqa: E701
policy = data.train("behaviour_cloning", epsilon=1.5, delta=1e-6, parameters={"steps": 100},
                    key="walks-job").wait(progress=True).policy
policy.save("walks.onnx", certificate="walks.certificate.json")
teacher = policy.teach({"name": "gaussian_simplex", "sigma": 0.2}, epsilon=8, delta=1e-5, radius=0.01,
                       client_budget={"epsilon": 1, "delta": 1e-5}, key="walks-teacher")
try:
    while teacher.ask([0.5, 0.1]): pass  # noqa: E701
except tacet.BudgetExhausted as refusal:
    print(refusal)
