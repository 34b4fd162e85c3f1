"""Tacet: policies under differential privacy, from Python.

    import tacet
    client = tacet.connect("http://127.0.0.1:8080", token)
    data = client.create_dataset("carts", environment="cartpole", epsilon=10, delta=2e-5)
    data.upload("experts.ndjson").seal()
    job = data.train("cql", epsilon=8, delta=1e-5).wait(progress=True)
    job.policy.save("policy.onnx")

The core needs Python's standard library alone. docs/python.md is the manual.
"""
from . import errors, formats
from .api import Api
from .client import Client, connect
from .dataset import Dataset
from .episodes import Episode, Recorder
from .errors import *  # noqa: F401,F403
from .formats import *  # noqa: F401,F403
from .resources import Answer, Job, Ledger, Policy, Teacher, bcq_actions
from .transport import Secret, fresh_key
from .world import world

__version__ = "0.1.0"
__all__ = ["Answer", "Api", "Client", "Dataset", "Episode", "Job", "Ledger", "Policy", "Recorder", "Secret", "Teacher",
           "bcq_actions", "connect", "fresh_key", "world"] + errors.__all__ + formats.__all__
