"""The verbs: connect, create_dataset, upload, train, policy, teacher, ledger."""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Union

from .api import Api
from .dataset import Dataset, Source
from .errors import Problem, TacetError
from .notebook import card
from .resources import Job, Ledger, Policy, Teacher
from .transport import Secret, Transport

__all__ = ["Client", "connect"]


def connect(url: Optional[str] = None, token: Optional[str] = None, *, patience: float = 300, timeout: float = 60,
            ca: Optional[str] = None, certificate: Optional[tuple[str, str]] = None) -> "Client":
    """A client of the service at ``url``, with what the token allows.

    Without arguments the environment's TACET_URL and TACET_TOKEN are taken. A wrong address or token is told at
    once. ``patience``: seconds for which a call is repeated, after its first failure, while connections are lost or the server
    is busy.
    ``timeout``: seconds of silence after which a connection counts as lost. ``ca``: a file of authorities to trust.
    ``certificate``: a client certificate and its key, two files.
    """
    url = url or os.environ.get("TACET_URL") or "http://127.0.0.1:8080"
    token = token or os.environ.get("TACET_TOKEN")
    if not token and not certificate:
        raise TacetError("A token is needed: tacet.connect(url, token), or the environment variable TACET_TOKEN.")
    first = Transport(url, token, patience=3, timeout=timeout, ca=ca, certificate=certificate)
    try:
        me = Api(first).get_client("me")
    except Problem as problem:
        problem.detail = f"{problem.detail} The server that was asked is {first.server}{first.base}.".lstrip()
        raise
    first.patience = patience
    return Client(first, me)


class Client:
    """One service, one token. ``api`` has a method for every endpoint; the verbs below are made of them."""

    def __init__(self, transport: Transport, me: Mapping[str, Any]) -> None:
        self.transport, self.me = transport, dict(me)
        self.api = Api(transport)

    def __repr__(self) -> str:
        return f"<Client {self.me['name']} ({self.me['role']}) at {self.transport.server}>"

    def _repr_html_(self) -> str:
        return card("Tacet", {"server": self.transport.server, "client": self.me["name"], "role": self.me["role"]})

    def pages(self, operation: Callable[..., Mapping[str, Any]], *path: str, **query: Any) -> Iterator[dict[str, Any]]:
        """All items of a list, page by page: ``client.pages(client.api.list_jobs, state="running")``."""
        token: Optional[str] = None
        while True:
            page = operation(*path, **query, **({"page_token": token} if token else {}))
            yield from page["items"]
            token = page.get("next_page_token")
            if not token:
                return

    def new_client(self, name: str, role: str, **more: Any) -> Secret:
        """Makes a client (an administrator may) and returns its token, which is shown once.

        If the connection is lost, the repeated answer holds no token. Then give the client a new one:
        ``api.rotate_token``.
        """
        body: Any = {"name": name, "role": role, **more}
        made = self.api.create_client(body)
        if not made.get("token"):
            raise TacetError(f"The client {made['id']} was made, but its token was lost with the connection: "
                             "use api.rotate_token.")
        return Secret(made["token"])

    def create_dataset(self, name: str, epsilon: float, delta: float, *, key: Optional[str] = None,
                       budget: Optional[Mapping[str, Any]] = None, **members: Any) -> Dataset:
        """An empty dataset with the limit of its budget.

        Give ``environment`` for a built-in world. Without one give ``state_dim`` and ``action_count``, or a
        ``description`` of features and actions (docs/own-data.md), and ``discount`` and ``max_episode_steps``.
        ``nominal_experts`` is a public number. ``description`` may be the name of a JSON file. ``budget`` has further
        members, such as ``{"accounting": "renyi"}``.
        """
        if isinstance(members.get("description"), (str, os.PathLike)):
            with open(members["description"], encoding="utf-8") as file:
                members["description"] = json.load(file)
        body = {"name": name, "budget": {"epsilon": epsilon, "delta": delta, **(budget or {})}, **members}
        return Dataset(self, self.api.create_dataset(body, key=key))  # type: ignore[arg-type]

    def dataset(self, id: str) -> Dataset:
        """A dataset that exists."""
        return Dataset(self, self.api.get_dataset(id))

    def upload(self, dataset: Union[str, Dataset], episodes: Source, key: Optional[str] = None) -> Dataset:
        """Uploads episodes, all or nothing: episodes of this package, their dictionaries, or the name of an .ndjson
        or .csv file, which is sent as it is."""
        target = dataset if isinstance(dataset, Dataset) else Dataset(self, dataset)
        return target.upload(episodes, key=key)

    def train(self, *which: Union[None, str, Dataset], epsilon: Optional[float] = None,
              delta: Union[None, float, str] = "auto", key: Optional[str] = None,
              privacy: Optional[Mapping[str, Any]] = None, **job: Any) -> Job:
        """Starts a job; ``.wait(progress=True)`` waits for it. Other members of the job (docs/jobs.md) are arguments.

        ``train(dataset, "cql", ...)``, ``train("cql", dataset=dataset, ...)`` and both by name are the same. What plays
        instead of reading data has no dataset: ``train("reinforce", environment="cartpole", ...)``. A job takes no seed:
        repeated under another key it draws fresh noise, and is paid for again.
        ``algorithm="auto"`` takes the best candidate of the advisor. ``delta="auto"`` takes the part of delta that
        epsilon is of what the dataset has left; without a dataset it is left out. With your own ``key`` the same call, made again, is the same job.
        """
        return Job(self, self.api.create_job(self._job(which, epsilon, delta, privacy, job), key=key))

    def estimate(self, *which: Union[None, str, Dataset], epsilon: Optional[float] = None,
                 delta: Union[None, float, str] = "auto", privacy: Optional[Mapping[str, Any]] = None,
                 **job: Any) -> dict[str, Any]:
        """What the same call of ``train`` would cost, and what it is likely to be worth. It is free."""
        body = self._job(which, epsilon, delta, privacy, job)
        return self.api.estimate_job(body)  # type: ignore[return-value]

    @staticmethod
    def _job(which: tuple[Any, ...], epsilon: Optional[float], delta: Union[None, float, str],
             privacy: Optional[Mapping[str, Any]], more: Mapping[str, Any]) -> Any:
        if "seed" in more:
            raise TypeError("A job takes no seed: the noise must not be known. A run under another key draws fresh noise.")
        algorithm_first = which and isinstance(which[0], str) and not which[0].startswith("ds_")
        order = ("algorithm", "dataset") if algorithm_first else ("dataset", "algorithm")
        unnamed = [name for name in order if name not in more]
        if len(which) > len(unnamed):
            raise TypeError("A job has one dataset and one algorithm: client.train(dataset, \"cql\", ...) or "
                            "data.train(\"cql\", ...).")
        body: dict[str, Any] = {"algorithm": "auto", **more, **dict(zip(unnamed, which))}
        dataset = body.pop("dataset", None)
        if dataset is not None:
            body["dataset"] = dataset if isinstance(dataset, str) else dataset.id
        if dataset is None and delta == "auto":
            delta = None  # there is no account that it could be a part of
        if epsilon is not None:
            body["privacy"] = {"epsilon": epsilon, **({} if delta is None else {"delta": delta}), **(privacy or {})}
        elif privacy:
            body["privacy"] = dict(privacy)
        return body

    def evaluate(self, policy: Union[str, Policy], environment: Any, episodes: int = 100, **more: Any) -> Job:
        """A job that plays a policy in a world of the service. It is free. ``.wait()["evaluation"]`` has the mean return."""
        name = policy if isinstance(policy, str) else policy.id
        return self.train(None, "evaluate", policy=name,
                          evaluate={"environment": environment, "episodes": episodes, **more})

    def job(self, id: str) -> Job:
        """A job that exists."""
        return Job(self, self.api.get_job(id))

    def jobs(self, **query: Any) -> Iterable[Job]:
        """The caller's jobs, the newest first."""
        return (Job(self, document) for document in self.pages(self.api.list_jobs, **query))

    def policy(self, id: str) -> Policy:
        """A policy by its id or its name, such as ``treatment@current``."""
        return Policy(self, self.api.get_policy(id))

    def teacher(self, id: str) -> Teacher:
        """A teacher that exists."""
        return Teacher(self, self.api.get_teacher(id))

    def ledger(self) -> Ledger:
        """The accounts that the caller may see."""
        return Ledger(self)
