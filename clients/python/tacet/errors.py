"""Exceptions: one class for each problem type of the service (GET /problems lists them).

``except tacet.BudgetExhausted`` catches one type, ``except tacet.Problem`` every refusal,
``except tacet.TacetError`` also a lost connection. No exception contains a token.
"""
from __future__ import annotations

from typing import Any, Mapping, Optional

__all__ = ["TacetError", "ConnectionLost", "Problem", "BudgetProblem", "JobCancelled", "problem_from"]


class TacetError(Exception):
    """Everything that this package raises about a service. ``key`` is the call's Idempotency-Key, where it had one."""

    key: Optional[str] = None


class ConnectionLost(TacetError):
    """No answer came, although the call was repeated under the same key.

    The call may have taken effect. Repeat it with ``key=error.key`` to get its answer: it is charged once.
    """

    def __init__(self, message: str, key: Optional[str] = None) -> None:
        super().__init__(message)
        self.key = key


class JobCancelled(TacetError):
    """The job was cancelled. ``document`` is the job."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(f"The job {document.get('id')} was cancelled. {document.get('why') or ''}".strip())
        self.document = document


class Problem(TacetError):
    """A refusal of the service (RFC 9457). ``document`` is the whole answer."""

    def __init__(self, document: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        super().__init__(document)
        self.document = document
        self.retry_after = retry_after
        self.slug: str = str(document.get("type", "")).rsplit("/", 1)[-1]
        self.status: int = int(document.get("status") or 0)
        self.title: str = str(document.get("title", ""))
        self.detail: str = str(document.get("detail", ""))
        self.request_id: str = str(document.get("request_id", ""))
        self.errors: list[dict[str, Any]] = list(document.get("errors") or [])

    def __str__(self) -> str:
        lines = [f"{self.title}. {self.detail}" if self.title else self.detail]
        for error in self.errors:
            place = error.get("pointer") or error.get("parameter") or ""
            line = f"line {error['line']} " if "line" in error else ""
            lines.append(f"  {line}{place}: {error.get('detail', '')}")
        return "\n".join(lines + self._numbers())

    def _numbers(self) -> list[str]:
        least = self.document.get("least")
        return [f"  The least that would do: {least}"] if least else []


class BudgetProblem(Problem):
    """An account cannot pay.

    ``accounts`` says what was needed, available and missing on each account; ``largest`` is the largest request
    that would be paid now; ``ask`` is the request that asks for more, or None; ``violated`` has the limits.
    """

    def __init__(self, document: Mapping[str, Any], retry_after: Optional[float] = None) -> None:
        super().__init__(document, retry_after)
        self.accounts: list[dict[str, Any]] = list(document.get("accounts") or [])
        self.violated: list[dict[str, Any]] = list(document.get("violated") or [])
        self.largest: Optional[dict[str, Any]] = document.get("largest")
        self.ask: Optional[dict[str, Any]] = document.get("ask")

    def _numbers(self) -> list[str]:
        lines = []
        for account in self.accounts:
            lines.append("  the %s's account %s: needed %s, available %s" % (
                account.get("kind"), account.get("id"), _amount(account.get("needed")), _amount(account.get("available"))))
        if self.largest:
            lines.append("  The largest request that would be paid now: " +
                         ", ".join(f"{name} {value:g}" for name, value in self.largest.items()))
        return lines


def _amount(amount: Any) -> str:
    if not isinstance(amount, Mapping):
        return "unknown"
    return ", ".join(f"{name} {value:g}" for name, value in amount.items() if isinstance(value, (int, float)))


class BudgetExhausted(BudgetProblem):
    """The budget cannot pay for this."""


class BudgetReserved(BudgetProblem):
    """The budget is reserved by running jobs."""


class BadRequest(Problem):
    """The request is malformed."""


class NotJson(Problem):
    """The body is not JSON."""


class Validation(Problem):
    """The request is not valid."""


class Unauthorized(Problem):
    """A valid token is needed."""


class Forbidden(Problem):
    """This role may not do that."""


class InsufficientScope(Problem):
    """The token's scopes do not include this."""


class NotFound(Problem):
    """Not found."""


class MethodNotAllowed(Problem):
    """This path does not take the method."""


class NotAcceptable(Problem):
    """No acceptable format."""


class RequestTimeout(Problem):
    """The request took too long to arrive."""


class BodyTooLarge(Problem):
    """The body is too large."""


class ClientDiskFull(Problem):
    """The client's share of the disk is full."""


class UnsupportedMediaType(Problem):
    """The format of the body is not supported."""


class CorruptEncoding(Problem):
    """The compressed body is damaged."""


class UriTooLong(Problem):
    """The request target is too long."""


class HeadersTooLarge(Problem):
    """The request headers are too large."""


class Conflict(Problem):
    """The state of the resource does not allow this."""


class PreconditionFailed(Problem):
    """The resource has changed in the meantime."""


class PreconditionRequired(Problem):
    """Say which revision you mean to change."""


class DatasetNotOpen(Problem):
    """The dataset takes no more data."""


class DatasetNotSealed(Problem):
    """The dataset is still open."""


class DatasetEmpty(Problem):
    """The dataset holds nothing to learn from."""


class JobNotCancellable(Problem):
    """The job has ended."""


class NotReleased(Problem):
    """The guarantee does not cover this."""


class TeacherSilent(Problem):
    """The teacher does not answer any more."""


class NoBudget(Problem):
    """No budget was given to this client."""


class AggregationClosed(Problem):
    """The aggregation takes no more reports."""


class StaleVersion(Problem):
    """The parameters have changed."""


class AlreadyReported(Problem):
    """This agent has sent all its reports."""


class IdempotencyKeyRequired(Problem):
    """This call can spend: it needs an Idempotency-Key."""


class IdempotencyKeyInvalid(Problem):
    """The Idempotency-Key is malformed."""


class IdempotencyKeyReused(Problem):
    """This Idempotency-Key was used for another call."""


class IdempotencyKeyExpired(Problem):
    """The time of this Idempotency-Key is over."""


class Closed(Problem):
    """The teacher is closed."""


class CostAboveMaximum(Problem):
    """The call would cost more than max_epsilon."""


class Infeasible(Problem):
    """No plan fits what was asked for."""


class HopelessPlan(Problem):
    """The plan is hopeless."""


class TrainingFailed(Problem):
    """The training failed."""


class EvaluationFailed(Problem):
    """The policy could not be evaluated."""


class DataUnreadable(Problem):
    """The stored data could not be read."""


class JobInterrupted(Problem):
    """The job was interrupted and could not resume."""


class RateLimited(Problem):
    """Too many requests."""


class Overloaded(Problem):
    """The server has too much to do."""


class ShuttingDown(Problem):
    """The server is shutting down."""


class StorageFull(Problem):
    """Nothing can be made durable now."""


class NotReady(Problem):
    """The server is not ready."""


class InternalError(Problem):
    """The server failed."""



def _classes(base: type[Problem]) -> dict[str, type[Problem]]:
    found: dict[str, type[Problem]] = {}
    for kind in base.__subclasses__():
        found[kind.__name__.lower()] = kind
        found.update(_classes(kind))
    return found


_BY_NAME = _classes(Problem)
__all__ += [kind.__name__ for kind in _BY_NAME.values() if kind is not BudgetProblem]


def problem_from(document: Mapping[str, Any], retry_after: Optional[float] = None) -> Problem:
    """The exception for a problem document; a type that is newer than this package gives a plain ``Problem``."""
    slug = str(document.get("type", "")).rsplit("/", 1)[-1]
    return _BY_NAME.get(slug.replace("-", ""), Problem)(document, retry_after)
