"""Jobs, policies, teachers and the ledger: what the verbs of a client return."""
from __future__ import annotations

import json
import math
import os
import pathlib
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Optional, Union

from .errors import JobCancelled, problem_from
from .notebook import Progress, amount, card, queued, table

if TYPE_CHECKING:
    from .client import Client

__all__ = ["Answer", "Job", "Ledger", "Policy", "Resource", "Teacher", "bcq_actions", "plain"]

FORMATS = {".json": "json", ".onnx": "onnx", ".safetensors": "safetensors"}
TWO_HEADS = b"\x12\x05heads"  # in ONNX: the name of what the last node computes


def plain(value: Any) -> Any:
    """Numbers and lists of an array of any library: what JSON can say."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def is_batch(states: Any) -> bool:
    return bool(states) and isinstance(states[0], list)


def bcq_actions(heads: Any, threshold: float) -> list[int]:
    """The actions that a policy of bcq plays, from the output ``heads`` of its ONNX file, one row for each state.

    A row has the value of each action, then the logit of each. With G = softmax(logits) the action of the largest
    value is played among those with G(a) > threshold max G, the first of equals.
    """
    played = []
    for row in plain(heads):
        count = len(row) // 2
        values, logits = row[:count], row[count:]
        likely = max(logits)
        played.append(max((a for a in range(count) if math.exp(logits[a] - likely) > threshold), key=values.__getitem__))
    return played


class Resource:
    """An id, the service's last answer about it, and how to ask again."""

    shown: tuple[str, ...] = ("name", "state")

    def __init__(self, client: "Client", document: Union[str, Mapping[str, Any]]) -> None:
        self.client = client
        self.document: dict[str, Any] = {"id": document} if isinstance(document, str) else dict(document)

    @property
    def id(self) -> str:
        """The identifier under which the service knows it."""
        return self.document["id"]

    def __getitem__(self, member: str) -> Any:
        """A member of the service's last answer: ``job["state"]``."""
        return self.document[member]

    def refresh(self) -> "Resource":
        """Asks the service for its present state."""
        self.document = self._read()
        return self

    def _read(self) -> dict[str, Any]:
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        return {name: self.document.get(name) for name in self.shown}

    def __repr__(self) -> str:
        facts = " ".join(f"{k}={v}" for k, v in self._facts().items() if v is not None)
        return f"<{type(self).__name__} {self.id}{' ' + facts if facts else ''}>"

    def _repr_html_(self) -> str:
        return card(f"{type(self).__name__} {self.id}", self._facts())


class Job(Resource):
    """A training or an evaluation that runs in the service."""

    def _read(self) -> dict[str, Any]:
        return self.client.api.get_job(self.id)  # type: ignore[return-value]

    def _facts(self) -> dict[str, Any]:
        d, privacy, played = self.document, self.document.get("privacy") or {}, self.document.get("evaluation")
        return {"algorithm": d.get("algorithm"), "mechanism": d.get("mechanism"), "state": d.get("state"),
                "spent": amount(privacy.get("spent")) or None, "policy": d.get("policy"),
                "mean_return": played and played.get("mean_return")}

    def wait(self, progress: bool = False, timeout: Optional[float] = None) -> "Job":
        """Waits for the end and returns the job. A failed job raises its problem, a cancelled one ``JobCancelled``.

        ``progress``: writes a line of progress, and before it the advisor's verdict where ``train`` has just made the job.

        A program that was stopped may wait again: ``client.job("job_...").wait()``.
        """
        bar = Progress() if progress else None
        if bar and self.document.get("advice"):  # of the answer that made the job
            bar.say("{verdict}: {sentence}".format(**self.document["advice"]))
        try:
            self._wait_for_end(bar, None if timeout is None else time.monotonic() + timeout)
        except KeyboardInterrupt:
            print(f"\nThe job {self.id} goes on and pays: client.job({self.id!r}).wait() waits again, .cancel() stops it.",
                  file=sys.stderr)
            raise
        if bar:
            bar.show(self.document)
            bar.end()
        if self["state"] == "cancelled":
            raise JobCancelled(self.document)
        if self["state"] == "failed":
            raise problem_from(self.document.get("error") or {"title": f"The job {self.id} failed"})
        return self

    def _wait_for_end(self, bar: Optional[Progress], end: Optional[float]) -> None:
        pause = 0.05
        self.refresh()
        while self["state"] in ("queued", "running"):
            if bar:
                bar.show(self.document)
            if end is not None and time.monotonic() > end:
                place = f": {queued(self['progress'])}" if self["state"] == "queued" else ""
                raise TimeoutError(f"The job {self.id} is still {self['state']}{place}.")
            time.sleep(pause)
            pause = min(1.3 * pause, 1.0)
            self.refresh()

    def cancel(self) -> "Job":
        """Asks the service to stop it. What was spent stays spent."""
        self.document = self.client.api.cancel_job(self.id)  # type: ignore[assignment]
        return self

    @property
    def policy(self) -> "Policy":
        """What was trained."""
        if not self.document.get("policy"):
            raise LookupError(f"The job {self.id} has no policy: it is {self.document.get('state')}.")
        return Policy(self.client, self["policy"])


STATES_MAX = 1024  # of one call, unless the operator allows fewer


class Policy(Resource):
    """A trained or imported policy."""

    shown = ("name", "environment", "mechanism", "state_dim", "action_count", "released")

    def _read(self) -> dict[str, Any]:
        return self.client.api.get_policy(self.id)  # type: ignore[return-value]

    def act(self, state: Any) -> Any:
        """The action in a state, or the actions in a list of states, which is sent in parts where it is long. It is
        free: the policy is released.

        A value outside of what the dataset's description declares gives a Python warning.
        """
        states = plain(state)
        batch = is_batch(states)
        if not batch and not states:
            raise ValueError("There is no state: give one, or a list of states.")
        actions: list[Any] = []
        outside: list[str] = []
        rows = states if batch else [states]
        for at in range(0, len(rows), STATES_MAX):
            answer = self.client.api.ask_policy(self.id, {"states": rows[at:at + STATES_MAX]})
            actions += answer["actions"]
            for one in answer["warnings"]:
                _, name, number, *rest = one["pointer"].split("/")
                outside.append(f"/{'/'.join([name, str(at + int(number)), *rest])}: {one['detail']}")
        if outside:
            warnings.warn(f"{outside[0]}: the policy has never seen the like. Outside values: {len(outside)}.", stacklevel=2)
        return actions if batch else actions[0]

    def save(self, path: Union[str, os.PathLike[str]],
             certificate: Union[None, str, os.PathLike[str]] = None) -> pathlib.Path:
        """Writes the network to a file whose name ends in .onnx, .safetensors or .json.

        ``certificate``: a file for the certificate, byte by byte as the service sent it, because its signature
        holds only so. ``examples/verify_certificate.py`` checks both. An ONNX file of a policy of bcq comes with a
        warning that says how to play it: see ``bcq_actions``.
        """
        path = pathlib.Path(path)
        if path.suffix not in FORMATS:
            raise ValueError(f"The name must end in one of {', '.join(FORMATS)}.")
        content = self.client.api.get_policy_weights(self.id, format=FORMATS[path.suffix])  # type: ignore[arg-type]
        path.write_bytes(content)
        if certificate is not None:
            signed = self.client.transport.call("GET", f"/v1/policies/{self.id}/certificate", want="bytes")
            pathlib.Path(certificate).write_bytes(signed)
        if path.suffix == ".onnx" and TWO_HEADS in content:
            threshold = json.loads(self.client.api.get_policy_weights(self.id, format="json"))["threshold"]
            warnings.warn(f"A policy of bcq plays no argmax over its output heads: tacet.bcq_actions(heads, {threshold}) "
                          "gives its actions (docs/python.md).", stacklevel=2)
        return path

    def certificate(self) -> dict[str, Any]:
        """The signed statement of the guarantee."""
        return self.client.api.get_policy_certificate(self.id)  # type: ignore[return-value]

    def teach(self, mechanism: Mapping[str, Any], epsilon: float, delta: float, radius: Optional[float] = None,
              client_budget: Optional[Mapping[str, Any]] = None, **more: Any) -> "Teacher":
        """Makes a teacher that answers questions about this policy under a budget (docs/teachers.md).

        ``radius`` protects the question; without it the teacher is of unit expert, for a policy with shards.
        ``client_budget`` opens it to every student; it is also what the maker itself needs in order to ask.
        """
        adjacency: dict[str, Any] = {"unit": "expert"} if radius is None else {"unit": "observation", "radius": radius}
        body = {"policy": self.id, "mechanism": dict(mechanism), "adjacency": adjacency,
                "budget": {"epsilon": epsilon, "delta": delta}, **more}
        if client_budget:
            body["client_budget"] = dict(client_budget)
        key = body.pop("key", None)
        return Teacher(self.client, self.client.api.create_teacher(body, key=key))  # type: ignore[arg-type]


class Answer(dict):  # type: ignore[type-arg]
    """A teacher's answer: the service's object, its main members also as attributes."""

    @property
    def probabilities(self) -> Any:
        """A row for one state, a list of rows for a list of states. Noisy."""
        return self["probabilities"]

    @property
    def random(self) -> bool:
        """The budget is spent, and this answer says nothing of the policy."""
        return bool(self.get("random"))

    def _repr_html_(self) -> str:
        rows = self["probabilities"] if is_batch(self["probabilities"]) else [self["probabilities"]]
        title = f"cost {amount(self.get('cost'))}; remaining {amount(self.get('remaining'))}"
        return table(title, [f"action {i}" for i in range(len(rows[0]))], [[f"{p:.3f}" for p in row] for row in rows])


class Teacher(Resource):
    """A policy that answers behind a noisy mechanism, for a price."""

    shown = ("name", "state", "policy", "queries_in_client_budget")

    def _read(self) -> dict[str, Any]:
        return self.client.api.get_teacher(self.id)  # type: ignore[return-value]

    def ask(self, states: Any, key: Optional[str] = None, **more: Any) -> Answer:
        """A noisy distribution over actions for a state, or for each of a list of states.

        A lost connection is repeated under the same key, and is charged once. Under your own ``key`` you get the
        same answer again later, free. ``max_epsilon=0.5`` refuses to pay more. Raises ``BudgetExhausted`` when
        the budget cannot pay, ``NoBudget`` without a budget and ``TeacherSilent`` when the teacher has ended.
        """
        states = plain(states)
        body = {"states" if is_batch(states) else "state": states, **more}
        return Answer(self.client.api.query_teacher(self.id, body, key=key))  # type: ignore[arg-type]

    def begin_rollout(self, key: Optional[str] = None) -> dict[str, Any]:
        """Takes the next step of a vanishing schedule."""
        return self.client.api.begin_rollout(self.id, key=key)

    def estimate(self, count: Optional[int] = None, states: Any = None) -> dict[str, Any]:
        """What so many answers cost, or answers about these ``states``. It is free. Of states the reply's
        ``warnings`` say which values the policy has never seen the like of; an answer does not say it.
        """
        if (count is None) == (states is None):
            raise TypeError("estimate takes a count of answers, or states")
        states = plain(states)
        body = {"count": count} if states is None else {"states": states if is_batch(states) else [states]}
        return self.client.api.estimate_queries(self.id, body)  # type: ignore[arg-type, return-value]

    def certificate(self) -> dict[str, Any]:
        """The signed statement of the guarantee."""
        return self.client.api.get_teacher_certificate(self.id)  # type: ignore[return-value]


class Ledger:
    """The accounts that the caller may see. ``list(ledger)`` reads them anew, page by page."""

    def __init__(self, client: "Client") -> None:
        self.client = client

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.client.pages(self.client.api.list_accounts)

    def entries(self, account: Union[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        """The entries of an account, the oldest first. ``account`` is its id, or what the ledger listed."""
        name = account if isinstance(account, str) else account["account"]
        return self.client.pages(self.client.api.list_entries, name)

    def verify(self) -> dict[str, Any]:
        """Lets the service recompute every balance and every hash."""
        return self.client.api.verify_ledger()  # type: ignore[return-value]

    def _rows(self) -> list[tuple[Any, ...]]:
        return [(a["account"], a["kind"], a.get("resource_name") or a.get("resource"), *_sums(a)) for a in self]

    def __repr__(self) -> str:
        return "\n".join(f"{i}  {kind:<8} {name}: limit {limit}; spent {spent}; reserved {held}; remaining {left}"
                         for i, kind, name, limit, spent, held, left in self._rows()) or "<Ledger without accounts>"

    def _repr_html_(self) -> str:
        return table("Ledger", ("account", "kind", "of", "limit", "spent", "reserved", "remaining"), self._rows())


def _sums(account: Mapping[str, Any]) -> list[str]:
    """Limit, and its parts that were spent, are reserved and remain. An account that counts Renyi divergence shares out
    epsilon alone: all its epsilons hold at the one delta of the limit."""
    sums = [account[name] for name in ("limit", "spent", "reserved", "remaining")]
    if account.get("accounting") != "renyi":
        return [amount(one) for one in sums]
    first, *parts = [amount({"epsilon": one["epsilon"]}) for one in sums]
    return [f"{first} at delta {account['limit']['delta']:.4g}", *parts]
