"""Every endpoint of Tacet as a method. Written by generate.py from openapi.yaml: do not edit.

A method takes the path's variables, then the body, then the query. ``key`` is the Idempotency-Key: a fresh one
is made when it is left out. Answers are plain objects, as openapi.yaml describes them.
"""
from __future__ import annotations

from typing import Any, BinaryIO, Literal, Optional, TypedDict, Union
from urllib.parse import quote

from .transport import Transport, fresh_key

Account = TypedDict("Account", {
    "guaranteed": "Optional[dict[str, Any]]", "account": "str", "client_name": "Optional[str]", "unit": "str",
    "limit": "Amount", "spent": "Amount", "burnt": "Amount", "reserved": "Amount", "remaining": "Amount",
    "accounting": "Literal['basic', 'renyi']", "order": "float", "buys": "dict[str, Any]", "project": "ProjectName",
    "kind": "Literal['dataset', 'teacher', 'client', 'share']", "resource": "str", "resource_name": "Optional[str]",
    "continues": "Optional[str]", "closed_at": "Optional[str]", "client": "Optional[str]", "entries": "int",
    "head": "str", "created_at": "Time", "units": "Units", "approvals": "int",
}, total=False)
AdviceRequest = TypedDict("AdviceRequest", {
    "dataset": "str", "want": "Literal['policy', 'teacher', 'q_release']", "privacy": "dict[str, Any]",
    "bounds": "dict[str, Any]", "experts": "int", "state_dim": "int", "action_count": "int",
    "environment": "EnvironmentChoice", "max_episode_steps": "int", "discount": "float",
}, total=False)
Aggregation = TypedDict("Aggregation", {
    "project": "ProjectName", "id": "str", "name": "str", "state": "Literal['open', 'closed']",
    "environment": "Optional[str]", "state_dim": "int", "action_count": "int", "hidden": "int", "dimension": "int",
    "epsilon": "float", "unit": "Literal['agent']", "mechanism": "dict[str, Any]", "submissions_per_agent": "int",
    "buffer": "int", "learning_rate": "float", "discount": "float", "value_weight": "float", "entropy_weight": "float",
    "exploration": "float", "exploration_decay": "float", "stale": "Literal['accept', 'refuse']", "version": "int",
    "reports": "int", "waiting": "int", "created_at": "Time",
}, total=False)
AggregationRequest = TypedDict("AggregationRequest", {
    "project": "str", "name": "str", "environment": "str", "state_dim": "int", "action_count": "int", "hidden": "int",
    "mechanism": "Literal['privunit', 'half_sphere', 'laplace', 'projected_random_sign']", "epsilon": "float",
    "clip": "float", "projection_clip": "float", "submissions_per_agent": "int", "buffer": "int",
    "learning_rate": "float", "discount": "float", "value_weight": "float", "entropy_weight": "float",
    "exploration": "float", "exploration_decay": "float", "stale": "Literal['accept', 'refuse']", "seed": "int",
}, total=False)
Algorithm = TypedDict("Algorithm", {
    "name": "str", "summary": "str",
    "mechanisms": "list[Literal['dpsgd', 'selective_dpsgd', 'consensus', 'ldp_observations', 'local_reports', 'gaussian_process', 'gaussian', 'teacher_answers', 'none']]",
    "privacy_unit": "Optional[str]", "needs_dataset": "bool", "needs_environment": "bool", "needs_policy": "bool",
    "parameters": "list[dict[str, Any]]",
}, total=False)
Amount = TypedDict("Amount", {"epsilon": "float", "delta": "float"}, total=False)
Answer = TypedDict("Answer", {
    "query": "str", "probabilities": "list[Union[float, list[Any]]]", "concentration": "float", "sigma": "float",
    "error_radius": "float", "cost": "dict[str, Any]", "spent": "Amount", "remaining": "Amount", "at_floor": "str",
    "random": "bool", "protects": "Literal['observation', 'expert']", "does_not_protect": "str",
}, total=False)
AnswerError = TypedDict("AnswerError", {"uniform": "dict[str, Any]", "peaked": "dict[str, Any]"}, total=False)
AuditRow = TypedDict("AuditRow", {
    "number": "int", "time": "str", "actor": "Literal['client', 'operator', 'service']", "client": "str", "role": "str",
    "token": "int", "action": "str", "resource": "str", "subject": "str", "status": "int", "outcome": "str",
    "count": "int", "address": "str", "request": "str",
}, total=False)
Budget = TypedDict("Budget", {
    "guaranteed": "Optional[dict[str, Any]]", "account": "str", "client_name": "Optional[str]", "unit": "str",
    "limit": "Amount", "spent": "Amount", "burnt": "Amount", "reserved": "Amount", "remaining": "Amount",
    "accounting": "Literal['basic', 'renyi']", "order": "float", "buys": "dict[str, Any]",
}, total=False)
BudgetApproval = TypedDict("BudgetApproval", {"epsilon": "float", "delta": "float", "reason": "str"}, total=False)
BudgetDecline = TypedDict("BudgetDecline", {"reason": "str"}, total=False)
BudgetDeltaShare = float
BudgetOrder = float
BudgetRequest = TypedDict("BudgetRequest", {
    "id": "str", "client": "str", "client_name": "Optional[str]", "teacher": "str", "teacher_name": "Optional[str]",
    "status": "Literal['open', 'approved', 'declined']", "asked": "Amount", "reason": "str",
    "given": "Optional[Amount]", "answer": "Optional[str]", "created_at": "Time", "decided_at": "Time",
}, total=False)
BudgetRequestRequest = TypedDict("BudgetRequestRequest", {
    "teacher": "str", "account": "str", "epsilon": "float", "delta": "float", "reason": "str",
}, total=False)
Certificate = TypedDict("Certificate", {
    "expert_means": "Optional[str]", "dataset_description": "Optional[dict[str, Any]]",
    "dataset_covered": "Optional[bool]", "forced": "bool", "binds": "dict[str, Any]",
    "audited": "Optional[dict[str, Any]]", "ledger": "dict[str, Any]", "signature": "dict[str, Any]",
}, total=False)
Client = TypedDict("Client", {
    "id": "str", "name": "str", "role": "Role", "created_at": "Time", "revoked_at": "Time",
}, total=False)
ClientCertificate = TypedDict("ClientCertificate", {
    "sha256": "str", "client": "str", "created_at": "Time",
}, total=False)
ClientRequest = TypedDict("ClientRequest", {
    "name": "str", "role": "Role", "expires_in_days": "int", "scopes": "Scopes",
}, total=False)
ComposeRequest = TypedDict("ComposeRequest", {
    "events": "Union[Event, list[Event]]", "delta": "float", "epsilon": "float",
}, total=False)
ComposedCost = TypedDict("ComposedCost", {
    "epsilon": "float", "epsilon_lower": "float", "delta": "float", "delta_lower": "float",
    "accountant": "Literal['pld', 'gdp', 'renyi']", "epsilon_renyi": "float", "epsilon_exact": "float",
    "delta_renyi": "float", "delta_exact": "float", "events": "Event",
}, total=False)
Credential = TypedDict("Credential", {
    "number": "Optional[int]", "scopes": "list[Literal['read', 'write', 'spend']]", "created_at": "Time",
    "expires_at": "Time",
}, total=False)
Dataset = TypedDict("Dataset", {
    "project": "ProjectName", "id": "str", "name": "str", "state": "Literal['open', 'sealed']",
    "environment": "Optional[str]", "state_dim": "int", "action_count": "int", "max_episode_steps": "int",
    "discount": "float", "min_action_probability": "float", "sensitivity": "Literal['private', 'public']",
    "nominal_experts": "Optional[int]", "experts": "int", "trajectories": "int", "transitions": "int",
    "account": "Optional[str]", "created_at": "Time", "covered": "Optional[bool]", "uncovered": "Optional[str]",
    "expert_means": "Optional[str]", "retention_days": "RetentionDays", "exposure": "Exposure",
    "description": "Optional[DatasetDescription]",
}, total=False)
DatasetBudget = TypedDict("DatasetBudget", {
    "epsilon": "float", "delta": "float", "accounting": "Literal['basic', 'renyi']", "order": "BudgetOrder",
    "delta_share": "BudgetDeltaShare",
}, total=False)
DatasetChange = TypedDict("DatasetChange", {"retention_days": "RetentionDays"}, total=False)
DatasetDescription = TypedDict("DatasetDescription", {
    "row": "str", "expert": "str", "features": "list[DescribedFeature]", "outside": "Literal['refuse', 'clip']",
    "actions": "Union[list[str], DescribedBins]", "table": "DescribedTable",
}, total=False)
DatasetRequest = TypedDict("DatasetRequest", {
    "project": "str", "name": "str", "unique_name": "bool", "environment": "str", "state_dim": "int",
    "action_count": "int", "max_episode_steps": "int", "discount": "float", "budget": "DatasetBudget",
    "approvals": "int", "min_action_probability": "float", "sensitivity": "Literal['private', 'public']",
    "nominal_experts": "int", "retention_days": "RetentionDays", "description": "DatasetDescription",
}, total=False)
DescribedBins = TypedDict("DescribedBins", {
    "unit": "str", "low": "float", "high": "float", "edges": "list[float]", "names": "list[str]",
}, total=False)
DescribedFeature = TypedDict("DescribedFeature", {
    "name": "str", "unit": "str", "low": "float", "high": "float", "scale": "Literal['linear', 'log']",
    "categories": "list[str]",
}, total=False)
DescribedTable = TypedDict("DescribedTable", {
    "expert": "str", "episode": "str", "time": "str", "action": "str", "reward": "str", "terminated": "str",
    "truncated": "str", "last_state": "Literal['own_row', 'repeat', 'drop', 'repeat_or_drop']",
    "missing_reward": "float", "missing": "Union[Literal['refuse'], dict[str, Any]]",
}, total=False)
DirichletMechanism = TypedDict("DirichletMechanism", {
    "name": "Literal['dirichlet']", "concentration": "float", "min_probability": "float", "vanishing": "float",
    "at_floor": "Literal['uniform', 'refuse']", "temperature": "float",
}, total=False)
Enough = TypedDict("Enough", {"experts": "Optional[int]", "epsilon": "Optional[float]"}, total=False)
EnoughForBoth = TypedDict("EnoughForBoth", {"weak": "Enough", "good": "Enough"}, total=False)
Entry = TypedDict("Entry", {
    "account": "str", "sequence": "int", "time": "Time",
    "kind": "Literal['open', 'limit', 'debit', 'hold', 'settle', 'folded', 'handover', 'restored']", "units": "Units",
    "client": "Optional[str]", "client_name": "Optional[str]", "resource": "Optional[str]",
    "certificate": "Optional[str]", "reason": "Optional[str]", "request": "Optional[str]", "change": "Optional[str]",
    "approved_by": "Optional[str]", "approved_by_name": "Optional[str]", "event": "Any", "previous_hash": "str",
    "hash": "str",
}, total=False)
Environment = TypedDict("Environment", {
    "name": "str", "state_dim": "Optional[int]", "action_count": "Optional[int]", "max_episode_steps": "Optional[int]",
    "random_return": "Optional[float]", "parameters": "list[dict[str, Any]]", "id": "str", "runner": "str",
    "source_sha256": "str", "created_at": "str", "project": "ProjectName", "refused": "str",
}, total=False)
EnvironmentChoice = Union[str, dict[str, Any]]
EnvironmentRequest = TypedDict("EnvironmentRequest", {
    "name": "str", "runner": "str", "source": "str", "project": "str",
}, total=False)
ErasureReceipt = TypedDict("ErasureReceipt", {
    "type": "str", "dataset": "str", "expert": "Optional[str]", "client": "Optional[str]", "erased_at": "str",
    "meaning": "str", "signature": "dict[str, Any]",
}, total=False)
Event = dict[str, Any]
Exposure = TypedDict("Exposure", {"limit": "Amount", "greatest_limit": "Amount", "released": "Amount"}, total=False)
Fold = TypedDict("Fold", {
    "type": "Any", "first_sequence": "int", "count": "int", "first_time_ms": "int", "previous_hash": "str",
    "digest": "str",
}, total=False)
GaussianSimplexMechanism = TypedDict("GaussianSimplexMechanism", {
    "name": "Literal['gaussian_simplex']", "sigma": "float", "temperature": "float",
}, total=False)
GrantRequest = TypedDict("GrantRequest", {
    "epsilon": "float", "delta": "float", "guaranteed": "Guarantee", "reason": "str",
}, total=False)
Guarantee = TypedDict("Guarantee", {"answers": "int", "epsilon": "float", "delta": "float"}, total=False)
InferenceAnswer = TypedDict("InferenceAnswer", {
    "model_name": "str", "id": "str", "parameters": "dict[str, Any]", "outputs": "list[dict[str, Any]]",
}, total=False)
InferenceRequest = TypedDict("InferenceRequest", {
    "id": "str", "parameters": "dict[str, Any]", "inputs": "list[dict[str, Any]]", "outputs": "list[dict[str, Any]]",
}, total=False)
Job = TypedDict("Job", {
    "project": "ProjectName", "id": "str", "algorithm": "str", "mechanism": "str", "dataset": "Optional[str]",
    "dataset_name": "Optional[str]", "policy_name": "Optional[str]", "environment": "Optional[str]",
    "rehearse": "Optional[bool]", "judge": "Optional[dict[str, Any]]", "state": "JobState",
    "progress": "dict[str, Any]", "privacy": "Optional[dict[str, Any]]", "parameters": "Optional[dict[str, Any]]",
    "sweep": "Optional[dict[str, Any]]", "policy": "Optional[str]", "q_release": "Optional[str]",
    "release": "Optional[QReleaseTerms]", "choose": "Optional[dict[str, Any]]", "features": "Optional[str]",
    "shards": "Optional[int]", "teacher": "Optional[dict[str, Any]]", "notes": "list[str]", "cancel_requested": "bool",
    "evaluation": "Optional[dict[str, Any]]", "findings": "Optional[dict[str, Any]]", "paid": "Optional[Amount]",
    "why": "Optional[str]", "advice": "Optional[Outlook]", "error": "Optional[dict[str, Any]]", "created_at": "Time",
    "started_at": "Time", "finished_at": "Time",
}, total=False)
JobAdvice = TypedDict("JobAdvice", {
    "facts": "dict[str, Any]", "candidates": "list[Any]", "enough": "EnoughForBoth",
}, total=False)
JobEstimate = TypedDict("JobEstimate", {
    "advice": "Any", "feasible": "bool", "reason": "Optional[str]", "least": "Optional[Amount]",
    "grid_spacing": "Optional[list[str]]", "grid_warnings": "list[dict[str, Any]]", "leaves": "Optional[Amount]",
    "warning": "Optional[dict[str, Any]]", "cost": "Optional[Amount]", "plan": "Optional[StagePlan]",
    "running_time": "Optional[dict[str, Any]]", "running_time_unknown": "Optional[str]", "covered": "Optional[bool]",
    "uncovered": "Optional[str]", "asking": "Optional[dict[str, Any]]", "accounts": "list[Budget]",
    "parameters": "dict[str, Any]",
}, total=False)
JobPrivacy = TypedDict("JobPrivacy", {
    "epsilon": "float", "delta": "Union[float, str]", "force": "bool", "unit": "Literal['expert', 'reward']",
    "i_understand": "Literal['states_are_public']", "stable_share": "float", "stable_delta_share": "float",
    "plain_share": "float", "stable": "dict[str, Any]", "consensus": "dict[str, Any]",
}, total=False)
JobRequest = TypedDict("JobRequest", {
    "project": "str", "algorithm": "str",
    "mechanism": "Literal['auto', 'dpsgd', 'selective_dpsgd', 'consensus', 'ldp_observations', 'local_reports', 'gaussian_process', 'gaussian', 'teacher_answers', 'none']",
    "dataset": "str", "environment": "EnvironmentChoice", "policy": "str", "q_release": "str", "teacher": "str",
    "client": "str", "privacy": "JobPrivacy", "parameters": "dict[str, Any]", "evaluate": "dict[str, Any]",
    "judge": "dict[str, Any]", "features": "str", "audit": "str", "choose": "dict[str, Any]",
    "i_understand": "Literal['not_private']", "rehearse": "bool", "shards": "int", "sweep": "dict[str, Any]",
}, total=False)
JobState = Literal['queued', 'running', 'succeeded', 'failed', 'cancelled']
JudgedInterval = TypedDict("JudgedInterval", {
    "value": "Optional[float]", "low": "Optional[float]", "high": "Optional[float]",
}, total=False)
Judgement = TypedDict("Judgement", {
    "verdict": "Literal['supported', 'weak', 'not_supported']", "reasons": "list[str]", "value": "dict[str, Any]",
    "held_out": "dict[str, Any]", "outside_logged_range": "bool", "confidence": "float", "behaviour": "JudgedInterval",
    "logged": "dict[str, Any]", "fitted_q": "JudgedInterval", "importance_sampling": "JudgedInterval",
    "doubly_robust": "JudgedInterval", "bounds": "dict[str, Any]", "overlap": "dict[str, Any]",
    "unit": "Literal['expert', 'trajectory']", "units": "int", "horizon": "int",
}, total=False)
LedgerReport = TypedDict("LedgerReport", {
    "ok": "bool", "accounts": "int", "entries": "int", "folded": "int", "open_holds": "int", "fault_count": "int",
    "faults": "list[dict[str, Any]]", "head": "str", "log": "dict[str, Any]",
}, total=False)
LimitApproval = TypedDict("LimitApproval", {"reason": "str"}, total=False)
LimitChange = TypedDict("LimitChange", {
    "id": "str", "account": "str", "status": "Literal['open', 'approved', 'declined']", "limit": "Amount",
    "approvals": "int", "reason": "str", "proposed_by": "str", "proposed_by_name": "Optional[str]",
    "decided_by": "Optional[str]", "decided_by_name": "Optional[str]", "answer": "Optional[str]", "created_at": "Time",
    "decided_at": "Time",
}, total=False)
LimitRequest = TypedDict("LimitRequest", {"limit": "Amount", "approvals": "int", "reason": "str"}, total=False)
MechanismComparison = TypedDict("MechanismComparison", {
    "answers": "float", "budget": "Amount", "mechanisms": "list[dict[str, Any]]",
    "recommended": "Literal['dirichlet', 'gaussian_simplex', None]",
}, total=False)
Network = TypedDict("Network", {
    "activation": "Literal['relu', 'tanh']", "layers": "list[dict[str, Any]]",
    "output": "Literal['softmax', 'argmax', 'q', 'bcq']", "threshold": "float", "certificate": "dict[str, Any]",
}, total=False)
NewClient = TypedDict("NewClient", {
    "id": "str", "name": "str", "role": "Role", "token": "Optional[str]", "created_at": "Time", "revoked_at": "Time",
    "credential": "Credential",
}, total=False)
Outlook = TypedDict("Outlook", {
    "verdict": "Literal['good', 'weak', 'hopeless', 'unknown']", "quality": "dict[str, Any]",
    "signal": "Optional[float]", "runs": "Optional[float]", "measured": "bool", "sentence": "str",
    "judging": "Optional[str]",
}, total=False)
Page = TypedDict("Page", {"items": "list[Any]", "next_page_token": "Optional[str]"}, total=False)
Policy = TypedDict("Policy", {
    "project": "ProjectName", "id": "str", "name": "str", "environment": "Optional[str]", "state_dim": "int",
    "action_count": "int", "mechanism": "Optional[str]", "released": "bool", "owned": "bool",
    "visibility": "Literal['owner', 'granted', 'public']", "names": "list[str]", "dataset": "Optional[str]",
    "dataset_name": "Optional[str]", "job": "Optional[str]", "certificate": "Optional[str]", "shards": "Optional[int]",
    "warnings": "list[str]", "created_at": "Time",
}, total=False)
PolicyGrant = TypedDict("PolicyGrant", {
    "policy": "str", "client": "str", "client_name": "Optional[str]", "granted_by": "str",
    "granted_by_name": "Optional[str]", "granted_at": "Time",
}, total=False)
PolicyName = TypedDict("PolicyName", {
    "name": "str", "policy": "str", "project": "str", "revision": "int", "moved_at": "Time", "moved_by": "str",
    "moved_by_name": "Optional[str]", "moves": "list[dict[str, Any]]",
}, total=False)
Problem = TypedDict("Problem", {
    "type": "str", "title": "str", "status": "int", "detail": "str", "instance": "str", "request_id": "str",
    "errors": "list[dict[str, Any]]", "violated": "list[Violation]", "accounts": "list[ShortAccount]",
    "largest": "dict[str, Any]", "ask": "Optional[dict[str, Any]]", "least": "dict[str, Any]", "policies": "list[str]",
    "experts": "list[str]", "projects": "list[str]", "used_by": "dict[str, Any]", "dataset": "str",
    "keys_after": "Optional[str]", "error": "str",
}, total=False)
ProblemType = TypedDict("ProblemType", {
    "type": "str", "title": "str", "status": "int", "explanation": "str",
}, total=False)
Project = TypedDict("Project", {
    "id": "str", "name": "str", "invited_only": "bool", "role": "Optional[str]", "created_at": "str",
    "members": "list[ProjectMember]",
}, total=False)
ProjectChange = TypedDict("ProjectChange", {"name": "str", "invited_only": "bool"}, total=False)
ProjectMember = TypedDict("ProjectMember", {
    "client": "str", "name": "str", "role": "ProjectRole", "added_by": "str", "added_by_name": "Optional[str]",
    "added_at": "str",
}, total=False)
ProjectMemberRequest = TypedDict("ProjectMemberRequest", {"role": "ProjectRole"}, total=False)
ProjectName = TypedDict("ProjectName", {"id": "str", "name": "str"}, total=False)
ProjectRequest = TypedDict("ProjectRequest", {"name": "str"}, total=False)
ProjectRole = Literal['owner', 'steward', 'viewer', 'contributor', 'student']
ProjectTransfer = TypedDict("ProjectTransfer", {"to": "str", "reason": "str", "keep_members": "bool"}, total=False)
QRelease = TypedDict("QRelease", {
    "unit": "Literal['expert', 'reward']", "form": "Literal['path', 'features', 'grid']", "state_dim": "int",
    "action_count": "int", "bounds": "list[list[float]]", "outside": "Literal['refuse', 'clamp']", "shards": "int",
    "released": "Literal['values', 'advantages']", "updates": "int", "update_rate": "float", "batch_size": "int",
    "error_limit": "float", "reward_scale": "float", "value_limit": "float", "lipschitz": "float",
    "kernel": "dict[str, Any]", "bits": "int", "knot_bits": "int", "radius": "float", "features": "int", "seed": "int",
    "nodes": "int", "sensitivity": "float", "sigma": "float", "mu": "float", "noise_to_range": "float",
    "project": "ProjectName", "id": "str", "name": "str", "state": "Literal['open', 'ended']",
    "environment": "Optional[str]", "dataset": "Optional[str]", "job": "str", "certificate": "str",
    "created_at": "Time", "ended_at": "Time",
}, total=False)
QReleaseTerms = TypedDict("QReleaseTerms", {
    "unit": "Literal['expert', 'reward']", "form": "Literal['path', 'features', 'grid']", "state_dim": "int",
    "action_count": "int", "bounds": "list[list[float]]", "outside": "Literal['refuse', 'clamp']", "shards": "int",
    "released": "Literal['values', 'advantages']", "updates": "int", "update_rate": "float", "batch_size": "int",
    "error_limit": "float", "reward_scale": "float", "value_limit": "float", "lipschitz": "float",
    "kernel": "dict[str, Any]", "bits": "int", "knot_bits": "int", "radius": "float", "features": "int", "seed": "int",
    "nodes": "int", "sensitivity": "float", "sigma": "float", "mu": "float", "noise_to_range": "float",
}, total=False)
QueriesEstimate = TypedDict("QueriesEstimate", {
    "feasible": "bool", "cost": "Amount", "warnings": "list[dict[str, Any]]", "queries_in_budget": "int",
    "comparison": "MechanismComparison", "concentration": "float", "expected_error": "AnswerError",
    "alternative": "Optional[dict[str, Any]]", "paper": "dict[str, Any]",
}, total=False)
QueryRequest = TypedDict("QueryRequest", {
    "state": "list[float]", "states": "list[list[float]]", "concentration": "float", "max_epsilon": "float",
    "reuse": "Literal['exact']",
}, total=False)
Rehearsal = TypedDict("Rehearsal", {
    "quality": "Optional[float]", "random_return": "float", "best_return": "float", "episode_steps": "int",
    "runs": "list[dict[str, Any]]", "sentence": "str",
}, total=False)
RetentionDays = Optional[int]
Role = Literal['admin', 'steward', 'contributor', 'student', 'agent', 'auditor', 'monitor']
RotationRequest = TypedDict("RotationRequest", {
    "overlap_seconds": "int", "expires_in_days": "int", "scopes": "Scopes",
}, total=False)
Scopes = list[Literal['read', 'write', 'spend']]
ShortAccount = TypedDict("ShortAccount", {
    "id": "str", "kind": "Literal['dataset', 'teacher', 'client']", "resource": "Optional[str]",
    "name": "Optional[str]", "needed": "Amount", "available": "Amount", "held": "Amount", "missing": "Amount",
    "spent_by": "Optional[list[dict[str, Any]]]",
}, total=False)
SigningKey = TypedDict("SigningKey", {
    "kty": "str", "crv": "str", "use": "str", "alg": "str", "kid": "str", "x": "str", "follows": "dict[str, Any]",
}, total=False)
SigningKeys = TypedDict("SigningKeys", {"keys": "list[SigningKey]"}, total=False)
StagePlan = TypedDict("StagePlan", {
    "plain_share": "float", "stable": "dict[str, Any]", "consensus": "dict[str, Any]",
}, total=False)
Teacher = TypedDict("Teacher", {
    "project": "ProjectName", "id": "str", "policy": "str", "name": "Optional[str]", "policy_name": "Optional[str]",
    "dataset_name": "Optional[str]", "warnings": "list[str]", "mechanism": "dict[str, Any]",
    "adjacency": "dict[str, Any]", "accounting": "Literal['renyi', 'basic']", "order": "Optional[float]",
    "lipschitz": "Optional[float]", "sensitivity": "float", "renyi_units_per_query": "Optional[int]",
    "cost_per_query": "Optional[Amount]", "queries_in_client_budget": "Optional[int]", "client_budget": "Any",
    "account": "Optional[str]", "state": "Literal['open', 'closed']", "closed_at": "Optional[str]",
    "when_spent": "Literal['refuse', 'random']", "dataset": "Optional[str]", "dataset_account": "Optional[str]",
    "dataset_cost": "Optional[dict[str, Any]]", "certificate": "Optional[str]", "protects": "str",
    "does_not_protect": "str", "created_at": "Time",
}, total=False)
TeacherRequest = TypedDict("TeacherRequest", {
    "policy": "str", "name": "str", "mechanism": "Union[DirichletMechanism, GaussianSimplexMechanism]",
    "approvals": "int", "i_understand": "Literal['not_private']", "adjacency": "dict[str, Any]",
    "accounting": "Literal['renyi', 'basic']", "budget": "WantedAmount", "client_budget": "dict[str, Any]",
    "when_spent": "Literal['refuse', 'random']",
}, total=False)
TensorMetadata = TypedDict("TensorMetadata", {"name": "str", "datatype": "str", "shape": "list[int]"}, total=False)
Time = Optional[str]
Trajectory = TypedDict("Trajectory", {
    "expert": "str", "states": "list[list[float]]", "actions": "list[int]", "rewards": "list[float]",
    "terminated": "bool", "truncated": "bool",
}, total=False)
Units = TypedDict("Units", {
    "limit": "int", "spent": "int", "held": "int", "limit_delta": "int", "spent_delta": "int", "held_delta": "int",
    "burnt": "int", "burnt_delta": "int",
}, total=False)
Violation = TypedDict("Violation", {
    "account": "str", "limit": "Amount", "spent": "Amount", "reserved": "Amount", "requested": "Optional[Amount]",
}, total=False)
WantedAmount = TypedDict("WantedAmount", {"epsilon": "float", "delta": "float"}, total=False)


def _path(part: object) -> str:
    return quote(str(part), safe="@")


class Api:
    """All endpoints of one service."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_client(self, body: ClientRequest, *, key: Optional[str] = None) -> NewClient:
        """POST /v1/clients

        Make a client and show its token once.

        body: name*, role*, expires_in_days, scopes (* required)

        Roles: admin
        """
        return self._transport.call("POST", "/v1/clients", body=body, key=key or fresh_key())

    def list_clients(self, *, page_size: Optional[int] = None, page_token: Optional[str] = None) -> dict[str, Any]:
        """GET /v1/clients

        List clients, never their tokens.

        Roles: admin
        """
        return self._transport.call("GET", "/v1/clients", query={"page_size": page_size, "page_token": page_token})

    def get_client(self, id: str) -> dict[str, Any]:
        """GET /v1/clients/{id}

        Show the caller itself.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", f"/v1/clients/{_path(id)}")

    def revoke_client(self, id: str) -> None:
        """DELETE /v1/clients/{id}

        Revoke a client with all its tokens.

        Roles: admin
        """
        return self._transport.call("DELETE", f"/v1/clients/{_path(id)}")

    def rotate_token(self, id: str, body: RotationRequest, *, key: Optional[str] = None) -> NewClient:
        """POST /v1/clients/{id}:rotate

        Give a client a new token.

        body: overlap_seconds, expires_in_days, scopes

        Roles: admin, steward, contributor, student, agent, auditor, monitor
        """
        return self._transport.call("POST", f"/v1/clients/{_path(id)}:rotate", body=body, key=key or fresh_key())

    def list_tokens(self, id: str) -> dict[str, Any]:
        """GET /v1/clients/{id}/tokens

        List a client's tokens, never their secrets.

        Roles: admin, steward, contributor, student, agent, auditor, monitor
        """
        return self._transport.call("GET", f"/v1/clients/{_path(id)}/tokens")

    def end_token(self, id: str, token: str) -> None:
        """DELETE /v1/clients/{id}/tokens/{token}

        End one token of a client.

        Roles: admin, steward, contributor, student, agent, auditor, monitor
        """
        return self._transport.call("DELETE", f"/v1/clients/{_path(id)}/tokens/{_path(token)}")

    def list_certificates(self, id: str) -> dict[str, Any]:
        """GET /v1/clients/{id}/certificates

        List a client's TLS certificates.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", f"/v1/clients/{_path(id)}/certificates")

    def bind_certificate(self, id: str, sha256: str, *, key: Optional[str] = None) -> ClientCertificate:
        """PUT /v1/clients/{id}/certificates/{sha256}

        Bind a TLS client certificate to a client.

        Roles: admin
        """
        return self._transport.call(
            "PUT", f"/v1/clients/{_path(id)}/certificates/{_path(sha256)}", key=key or fresh_key(),
        )

    def end_certificate(self, id: str, sha256: str) -> None:
        """DELETE /v1/clients/{id}/certificates/{sha256}

        End the binding of a TLS client certificate.

        Roles: admin
        """
        return self._transport.call("DELETE", f"/v1/clients/{_path(id)}/certificates/{_path(sha256)}")

    def create_project(self, body: ProjectRequest, *, key: Optional[str] = None) -> Project:
        """POST /v1/projects

        Make a project.

        body: name* (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/projects", body=body, key=key or fresh_key())

    def list_projects(self, *, page_size: Optional[int] = None, page_token: Optional[str] = None) -> dict[str, Any]:
        """GET /v1/projects

        List the caller's projects.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", "/v1/projects", query={"page_size": page_size, "page_token": page_token})

    def get_project(self, id: str) -> Project:
        """GET /v1/projects/{id}

        Show a project.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", f"/v1/projects/{_path(id)}")

    def change_project(self, id: str, body: ProjectChange, *, key: Optional[str] = None) -> Project:
        """PATCH /v1/projects/{id}

        Rename a project, open it or close it.

        body: name, invited_only

        Roles: steward
        """
        return self._transport.call("PATCH", f"/v1/projects/{_path(id)}", body=body, key=key or fresh_key())

    def put_project_member(
        self, id: str, client: str, body: ProjectMemberRequest, *, key: Optional[str] = None,
    ) -> Project:
        """PUT /v1/projects/{id}/members/{client}

        Make a client a member, or change its role.

        body: role* (* required)

        Roles: steward
        """
        return self._transport.call(
            "PUT", f"/v1/projects/{_path(id)}/members/{_path(client)}", body=body, key=key or fresh_key(),
        )

    def remove_project_member(self, id: str, client: str) -> None:
        """DELETE /v1/projects/{id}/members/{client}

        Remove a member.

        Roles: steward
        """
        return self._transport.call("DELETE", f"/v1/projects/{_path(id)}/members/{_path(client)}")

    def transfer_project(self, id: str, body: ProjectTransfer, *, key: Optional[str] = None) -> Project:
        """POST /v1/projects/{id}:transfer

        Hand a project to another steward.

        body: to*, reason*, keep_members (* required)

        Roles: admin, steward
        """
        return self._transport.call("POST", f"/v1/projects/{_path(id)}:transfer", body=body, key=key or fresh_key())

    def register_environment(self, body: EnvironmentRequest, *, key: Optional[str] = None) -> Environment:
        """POST /v1/environments

        Register a world.

        body: name*, runner*, source*, project (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/environments", body=body, key=key or fresh_key())

    def list_environments(self) -> dict[str, Any]:
        """GET /v1/environments

        List the simulated worlds and their parameters.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", "/v1/environments")

    def delete_environment(self, id: str) -> None:
        """DELETE /v1/environments/{id}

        Remove a registered world with its program.

        Roles: steward
        """
        return self._transport.call("DELETE", f"/v1/environments/{_path(id)}")

    def list_algorithms(self) -> dict[str, Any]:
        """GET /v1/algorithms

        List the learning algorithms and their parameters.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", "/v1/algorithms")

    def create_dataset(self, body: DatasetRequest, *, key: Optional[str] = None) -> Dataset:
        """POST /v1/datasets

        Declare a dataset and its budget.

        body: project, name*, unique_name, environment, state_dim, action_count, max_episode_steps, discount,
        budget, approvals, min_action_probability, sensitivity, nominal_experts, retention_days, description (*
        required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/datasets", body=body, key=key or fresh_key())

    def list_datasets(
        self, *, project: Optional[str] = None, page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/datasets

        List datasets.

        Roles: steward, contributor
        """
        return self._transport.call(
            "GET", "/v1/datasets", query={"project": project, "page_size": page_size, "page_token": page_token},
        )

    def get_dataset(self, id: str) -> Dataset:
        """GET /v1/datasets/{id}

        Show a dataset.

        Roles: steward, contributor
        """
        return self._transport.call("GET", f"/v1/datasets/{_path(id)}")

    def change_dataset(self, id: str, body: DatasetChange, *, key: Optional[str] = None) -> Dataset:
        """PATCH /v1/datasets/{id}

        Change for how many days an expert's data are kept.

        body: retention_days* (* required)

        Roles: steward
        """
        return self._transport.call("PATCH", f"/v1/datasets/{_path(id)}", body=body, key=key or fresh_key())

    def delete_dataset(self, id: str, *, receipt: Optional[bool] = None) -> ErasureReceipt:
        """DELETE /v1/datasets/{id}

        Delete the data; the ledger stays.

        Roles: steward
        """
        return self._transport.call("DELETE", f"/v1/datasets/{_path(id)}", query={"receipt": receipt})

    def seal_dataset(self, id: str, *, key: Optional[str] = None) -> Dataset:
        """POST /v1/datasets/{id}:seal

        Fix the data, so that jobs may use them.

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/datasets/{_path(id)}:seal", key=key or fresh_key())

    def compose_dataset_budget(self, id: str, body: dict[str, Any], *, key: Optional[str] = None) -> Budget:
        """POST /v1/datasets/{id}:compose

        Let what is left of the budget add up by Renyi divergence.

        body: order, delta_share

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/datasets/{_path(id)}:compose", body=body, key=key or fresh_key())

    def upload_trajectories(
        self, id: str, raw: Union[bytes, BinaryIO], content_type: str = "application/x-ndjson", *,
        erased: Optional[Literal['accept']] = None, content_encoding: Optional[str] = None, key: Optional[str] = None,
    ) -> dict[str, Any]:
        """POST /v1/datasets/{id}/trajectories

        Upload trajectories, all or nothing.

        Roles: steward, contributor
        """
        return self._transport.call(
            "POST", f"/v1/datasets/{_path(id)}/trajectories", raw=raw, query={"erased": erased},
            headers={"Content-Encoding": content_encoding, "Content-Type": content_type}, key=key or fresh_key(),
        )

    def erase_expert(self, id: str, expert: str, *, client: Optional[str] = None) -> ErasureReceipt:
        """DELETE /v1/datasets/{id}/experts/{expert}

        Erase an expert's data, with a signed receipt.

        Roles: steward, contributor
        """
        return self._transport.call(
            "DELETE", f"/v1/datasets/{_path(id)}/experts/{_path(expert)}", query={"client": client},
        )

    def put_expert_policy(
        self, id: str, expert: str, body: Network, *, erased: Optional[Literal['accept']] = None,
        key: Optional[str] = None,
    ) -> None:
        """PUT /v1/datasets/{id}/experts/{expert}/policy

        Give an expert's own policy.

        body: activation*, layers*, output*, threshold, certificate (* required)

        Roles: steward, contributor
        """
        return self._transport.call(
            "PUT", f"/v1/datasets/{_path(id)}/experts/{_path(expert)}/policy", body=body, query={"erased": erased},
            key=key or fresh_key(),
        )

    def get_dataset_budget(self, id: str) -> Budget:
        """GET /v1/datasets/{id}/budget

        Show what is spent and what remains.

        Roles: steward, auditor
        """
        return self._transport.call("GET", f"/v1/datasets/{_path(id)}/budget")

    def create_job(self, body: JobRequest, *, key: Optional[str] = None) -> Job:
        """POST /v1/jobs

        Reserve the price and queue a training job.

        body: project, algorithm*, mechanism, dataset, environment, policy, q_release, teacher, client, privacy,
        parameters, evaluate, judge, features, audit, choose, i_understand, rehearse, shards, sweep (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/jobs", body=body, key=key or fresh_key())

    def list_jobs(
        self, *, state: Optional[JobState] = None, algorithm: Optional[str] = None,
        counts: Optional[Literal['true', 'false']] = None, project: Optional[str] = None,
        page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/jobs

        List jobs.

        Roles: steward
        """
        return self._transport.call(
            "GET", "/v1/jobs",
            query={"state": state, "algorithm": algorithm, "counts": counts, "project": project, "page_size": page_size, "page_token": page_token},
        )

    def estimate_job(self, body: JobRequest) -> JobEstimate:
        """POST /v1/jobs:estimate

        Say what a job would cost; spends nothing.

        body: project, algorithm*, mechanism, dataset, environment, policy, q_release, teacher, client, privacy,
        parameters, evaluate, judge, features, audit, choose, i_understand, rehearse, shards, sweep (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/jobs:estimate", body=body)

    def advise_job(self, body: AdviceRequest) -> JobAdvice:
        """POST /v1/jobs:advise

        Say which job to ask for and what it is likely to be worth; spends nothing.

        body: dataset, want, privacy*, bounds, experts, state_dim, action_count, environment, max_episode_steps,
        discount (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/jobs:advise", body=body)

    def get_job(self, id: str) -> Job:
        """GET /v1/jobs/{id}

        Show a job and its progress.

        Roles: steward
        """
        return self._transport.call("GET", f"/v1/jobs/{_path(id)}")

    def stream_job(self, id: str, *, last_event_id: Optional[str] = None) -> bytes:
        """GET /v1/jobs/{id}/events

        Follow a job by server-sent events.

        Roles: steward
        """
        return self._transport.call(
            "GET", f"/v1/jobs/{_path(id)}/events", headers={"Last-Event-ID": last_event_id}, want="bytes",
        )

    def cancel_job(self, id: str, *, key: Optional[str] = None) -> Job:
        """POST /v1/jobs/{id}:cancel

        Cancel a job.

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/jobs/{_path(id)}:cancel", key=key or fresh_key())

    def import_policy(self, body: dict[str, Any], *, key: Optional[str] = None) -> Policy:
        """POST /v1/policies

        Import a network as a policy.

        body: name*, environment*, network*, project (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/policies", body=body, key=key or fresh_key())

    def list_policies(
        self, *, project: Optional[str] = None, page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/policies

        List policies.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call(
            "GET", "/v1/policies", query={"project": project, "page_size": page_size, "page_token": page_token},
        )

    def get_policy(self, id: str) -> Policy:
        """GET /v1/policies/{id}

        Show a policy.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", f"/v1/policies/{_path(id)}")

    def delete_policy(self, id: str) -> None:
        """DELETE /v1/policies/{id}

        Erase the weights of a policy that nothing uses.

        Roles: steward
        """
        return self._transport.call("DELETE", f"/v1/policies/{_path(id)}")

    def get_policy_weights(
        self, id: str, *, format: Optional[Literal['json', 'safetensors', 'onnx']] = None,
        certificate: Optional[Literal['inside', 'none']] = None,
    ) -> bytes:
        """GET /v1/policies/{id}/weights

        Download a released network.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call(
            "GET", f"/v1/policies/{_path(id)}/weights", query={"format": format, "certificate": certificate},
            want="bytes",
        )

    def ask_policy(self, id: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST /v1/policies/{id}/actions

        Ask a released policy for actions; free.

        body: states* (* required)

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("POST", f"/v1/policies/{_path(id)}/actions", body=body)

    def get_policy_certificate(self, id: str) -> Certificate:
        """GET /v1/policies/{id}/certificate

        Show the signed certificate of a policy.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", f"/v1/policies/{_path(id)}/certificate")

    def grant_policy(self, id: str, body: dict[str, Any], *, key: Optional[str] = None) -> PolicyGrant:
        """POST /v1/policies/{id}/grants

        Let a client, or every client, read a released policy.

        body: client, public

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/policies/{_path(id)}/grants", body=body, key=key or fresh_key())

    def list_policy_grants(self, id: str) -> dict[str, Any]:
        """GET /v1/policies/{id}/grants

        List who may read a policy.

        Roles: steward
        """
        return self._transport.call("GET", f"/v1/policies/{_path(id)}/grants")

    def revoke_policy_grant(self, id: str, client: str) -> None:
        """DELETE /v1/policies/{id}/grants/{client}

        Take back a grant.

        Roles: steward
        """
        return self._transport.call("DELETE", f"/v1/policies/{_path(id)}/grants/{_path(client)}")

    def name_policy(
        self, id: str, name: str, *, if_match: Optional[str] = None, key: Optional[str] = None,
    ) -> PolicyName:
        """PUT /v1/policies/{id}/names/{name}

        Name a policy.

        Roles: steward
        """
        return self._transport.call(
            "PUT", f"/v1/policies/{_path(id)}/names/{_path(name)}", headers={"If-Match": if_match},
            key=key or fresh_key(),
        )

    def list_policy_names(self, *, page_size: Optional[int] = None, page_token: Optional[str] = None) -> dict[str, Any]:
        """GET /v1/policy-names

        List the caller's names of policies.

        Roles: steward
        """
        return self._transport.call("GET", "/v1/policy-names", query={"page_size": page_size, "page_token": page_token})

    def get_policy_name(self, name: str, *, project: Optional[str] = None) -> PolicyName:
        """GET /v1/policy-names/{name}

        Show what a name names, and every move of it.

        Roles: steward
        """
        return self._transport.call("GET", f"/v1/policy-names/{_path(name)}", query={"project": project})

    def create_teacher(self, body: TeacherRequest, *, key: Optional[str] = None) -> Teacher:
        """POST /v1/teachers

        Put a policy behind a noisy mechanism and a budget.

        body: policy*, name, mechanism*, approvals, i_understand, adjacency*, accounting, budget*,
        client_budget, when_spent (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/teachers", body=body, key=key or fresh_key())

    def list_teachers(
        self, *, project: Optional[str] = None, page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/teachers

        List teachers.

        Roles: steward, student
        """
        return self._transport.call(
            "GET", "/v1/teachers", query={"project": project, "page_size": page_size, "page_token": page_token},
        )

    def get_teacher(self, id: str) -> Teacher:
        """GET /v1/teachers/{id}

        Show a teacher.

        Roles: steward, student
        """
        return self._transport.call("GET", f"/v1/teachers/{_path(id)}")

    def delete_teacher(self, id: str) -> None:
        """DELETE /v1/teachers/{id}

        Delete a closed teacher; ledger and certificate stay.

        Roles: steward
        """
        return self._transport.call("DELETE", f"/v1/teachers/{_path(id)}")

    def close_teacher(self, id: str, *, key: Optional[str] = None) -> Teacher:
        """POST /v1/teachers/{id}:close

        Close a teacher for ever.

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/teachers/{_path(id)}:close", key=key or fresh_key())

    def get_teacher_certificate(self, id: str) -> Certificate:
        """GET /v1/teachers/{id}/certificate

        Show the signed certificate of a teacher.

        Roles: steward, student, auditor
        """
        return self._transport.call("GET", f"/v1/teachers/{_path(id)}/certificate")

    def put_client_budget(
        self, id: str, client: str, body: GrantRequest, *, if_match: Optional[str] = None, key: Optional[str] = None,
    ) -> Budget:
        """PUT /v1/teachers/{id}/budgets/{client}

        Grant or change a client's budget.

        body: epsilon*, delta*, guaranteed, reason (* required)

        Roles: steward
        """
        return self._transport.call(
            "PUT", f"/v1/teachers/{_path(id)}/budgets/{_path(client)}", body=body, headers={"If-Match": if_match},
            key=key or fresh_key(),
        )

    def get_client_budget(self, id: str, client: str) -> Budget:
        """GET /v1/teachers/{id}/budgets/{client}

        Show a client's budget.

        Roles: steward, student
        """
        return self._transport.call("GET", f"/v1/teachers/{_path(id)}/budgets/{_path(client)}")

    def create_budget_request(self, body: BudgetRequestRequest, *, key: Optional[str] = None) -> BudgetRequest:
        """POST /v1/budget-requests

        Ask the steward of a teacher for a larger budget.

        body: teacher, account, epsilon*, delta, reason* (* required)

        Roles: student
        """
        return self._transport.call("POST", "/v1/budget-requests", body=body, key=key or fresh_key())

    def list_budget_requests(
        self, *, status: Optional[Literal['open', 'approved', 'declined']] = None, project: Optional[str] = None,
        page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/budget-requests

        List requests for budgets.

        Roles: steward, student
        """
        return self._transport.call(
            "GET", "/v1/budget-requests",
            query={"status": status, "project": project, "page_size": page_size, "page_token": page_token},
        )

    def get_budget_request(self, id: str) -> BudgetRequest:
        """GET /v1/budget-requests/{id}

        Show a request for a budget.

        Roles: steward, student
        """
        return self._transport.call("GET", f"/v1/budget-requests/{_path(id)}")

    def approve_budget_request(self, id: str, body: BudgetApproval, *, key: Optional[str] = None) -> BudgetRequest:
        """POST /v1/budget-requests/{id}:approve

        Raise the client's limit.

        body: epsilon, delta, reason

        Roles: steward
        """
        return self._transport.call(
            "POST", f"/v1/budget-requests/{_path(id)}:approve", body=body, key=key or fresh_key(),
        )

    def decline_budget_request(self, id: str, body: BudgetDecline, *, key: Optional[str] = None) -> BudgetRequest:
        """POST /v1/budget-requests/{id}:decline

        Decline a request for a budget.

        body: reason* (* required)

        Roles: steward
        """
        return self._transport.call(
            "POST", f"/v1/budget-requests/{_path(id)}:decline", body=body, key=key or fresh_key(),
        )

    def query_teacher(self, id: str, body: QueryRequest, *, key: Optional[str] = None) -> Answer:
        """POST /v1/teachers/{id}/queries

        Ask for a noisy answer and pay for it.

        body: state, states, concentration, max_epsilon, reuse

        Roles: student, steward
        """
        return self._transport.call("POST", f"/v1/teachers/{_path(id)}/queries", body=body, key=key or fresh_key())

    def estimate_queries(self, id: str, body: dict[str, Any]) -> QueriesEstimate:
        """POST /v1/teachers/{id}/queries:estimate

        Say what n queries cost on a fresh account.

        body: count, states, concentration, budget, accounting

        Roles: student, steward
        """
        return self._transport.call("POST", f"/v1/teachers/{_path(id)}/queries:estimate", body=body)

    def begin_rollout(self, id: str, *, key: Optional[str] = None) -> dict[str, Any]:
        """POST /v1/teachers/{id}/rollouts

        Begin the client's next roll-out.

        Roles: student, steward
        """
        return self._transport.call("POST", f"/v1/teachers/{_path(id)}/rollouts", key=key or fresh_key())

    def inference_server(self) -> dict[str, Any]:
        """GET /v2

        What this server is.
        """
        return self._transport.call("GET", "/v2")

    def inference_live(self) -> dict[str, Any]:
        """GET /v2/health/live

        Answer as long as the process runs.
        """
        return self._transport.call("GET", "/v2/health/live")

    def inference_ready(self) -> dict[str, Any]:
        """GET /v2/health/ready

        Say whether requests will be served.
        """
        return self._transport.call("GET", "/v2/health/ready")

    def inference_model(self, id: str) -> dict[str, Any]:
        """GET /v2/models/{id}

        Show the tensors of a teacher.

        Roles: student, steward
        """
        return self._transport.call("GET", f"/v2/models/{_path(id)}")

    def inference_model_ready(self, id: str) -> dict[str, Any]:
        """GET /v2/models/{id}/ready

        Say that a teacher is there.

        Roles: student, steward
        """
        return self._transport.call("GET", f"/v2/models/{_path(id)}/ready")

    def infer(self, id: str, body: InferenceRequest, *, key: Optional[str] = None) -> InferenceAnswer:
        """POST /v2/models/{id}/infer

        Ask a teacher and pay for it.

        body: id, parameters, inputs*, outputs (* required)

        Roles: student, steward
        """
        return self._transport.call("POST", f"/v2/models/{_path(id)}/infer", body=body, key=key or fresh_key())

    def list_qreleases(
        self, *, project: Optional[str] = None, page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/q-releases

        List released Q-functions.

        Roles: steward, student
        """
        return self._transport.call(
            "GET", "/v1/q-releases", query={"project": project, "page_size": page_size, "page_token": page_token},
        )

    def get_qrelease(self, id: str) -> QRelease:
        """GET /v1/q-releases/{id}

        Show the terms of a released Q-function.

        Roles: steward, student
        """
        return self._transport.call("GET", f"/v1/q-releases/{_path(id)}")

    def end_qrelease(self, id: str) -> None:
        """DELETE /v1/q-releases/{id}

        Erase the key of a release, which then answers no more.

        Roles: steward
        """
        return self._transport.call("DELETE", f"/v1/q-releases/{_path(id)}")

    def get_qrelease_certificate(self, id: str) -> Certificate:
        """GET /v1/q-releases/{id}/certificate

        Show the signed certificate of a release.

        Roles: steward, student, auditor
        """
        return self._transport.call("GET", f"/v1/q-releases/{_path(id)}/certificate")

    def get_qrelease_weights(
        self, id: str, *, format: Optional[Literal['json', 'safetensors', 'onnx']] = None,
        certificate: Optional[Literal['inside', 'none']] = None,
    ) -> bytes:
        """GET /v1/q-releases/{id}/weights

        Download a released Q-function that is a network.

        Roles: steward, student
        """
        return self._transport.call(
            "GET", f"/v1/q-releases/{_path(id)}/weights", query={"format": format, "certificate": certificate},
            want="bytes",
        )

    def query_qrelease(self, id: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST /v1/q-releases/{id}/queries

        Give the released values of states; free, and always the same.

        body: states* (* required)

        Roles: steward, student
        """
        return self._transport.call("POST", f"/v1/q-releases/{_path(id)}/queries", body=body)

    def act_qrelease(self, id: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST /v1/q-releases/{id}/actions

        Give the best released action of states; free.

        body: states* (* required)

        Roles: steward, student
        """
        return self._transport.call("POST", f"/v1/q-releases/{_path(id)}/actions", body=body)

    def create_aggregation(self, body: AggregationRequest, *, key: Optional[str] = None) -> Aggregation:
        """POST /v1/aggregations

        Begin a collection of locally private reports.

        body: project, name, environment, state_dim, action_count, hidden, mechanism, epsilon*, clip,
        projection_clip, submissions_per_agent, buffer, learning_rate, discount, value_weight, entropy_weight,
        exploration, exploration_decay, stale, seed (* required)

        Roles: steward
        """
        return self._transport.call("POST", "/v1/aggregations", body=body, key=key or fresh_key())

    def list_aggregations(
        self, *, project: Optional[str] = None, page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/aggregations

        List aggregations.

        Roles: steward, agent
        """
        return self._transport.call(
            "GET", "/v1/aggregations", query={"project": project, "page_size": page_size, "page_token": page_token},
        )

    def get_aggregation(self, id: str) -> Aggregation:
        """GET /v1/aggregations/{id}

        Show an aggregation.

        Roles: steward, agent
        """
        return self._transport.call("GET", f"/v1/aggregations/{_path(id)}")

    def close_aggregation(self, id: str, *, key: Optional[str] = None) -> Aggregation:
        """POST /v1/aggregations/{id}:close

        End an aggregation; its parameters stay.

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/aggregations/{_path(id)}:close", key=key or fresh_key())

    def get_aggregation_parameters(self, id: str) -> bytes:
        """GET /v1/aggregations/{id}/parameters

        Give the present parameters, and an agent the seed of its next report.

        Roles: steward, agent
        """
        return self._transport.call("GET", f"/v1/aggregations/{_path(id)}/parameters", want="bytes")

    def submit_report(self, id: str, body: dict[str, Any], *, key: Optional[str] = None) -> dict[str, Any]:
        """POST /v1/aggregations/{id}/submissions

        Take an agent's randomised report.

        body: version*, report* (* required)

        Roles: agent
        """
        return self._transport.call(
            "POST", f"/v1/aggregations/{_path(id)}/submissions", body=body, key=key or fresh_key(),
        )

    def list_audit(
        self, *, resource: Optional[str] = None, client: Optional[str] = None, since: Optional[str] = None,
        until: Optional[str] = None, after: Optional[int] = None, page_size: Optional[int] = None,
        page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/audit

        List who changed what.

        Roles: admin, auditor
        """
        return self._transport.call(
            "GET", "/v1/audit",
            query={"resource": resource, "client": client, "since": since, "until": until, "after": after, "page_size": page_size, "page_token": page_token},
        )

    def list_limit_changes(
        self, *, status: Optional[Literal['open', 'approved', 'declined']] = None, page_size: Optional[int] = None,
        page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/limit-changes

        List changes of limits that two stewards decide.

        Roles: steward, auditor
        """
        return self._transport.call(
            "GET", "/v1/limit-changes", query={"status": status, "page_size": page_size, "page_token": page_token},
        )

    def get_limit_change(self, id: str) -> LimitChange:
        """GET /v1/limit-changes/{id}

        Show a change of a limit.

        Roles: steward, auditor
        """
        return self._transport.call("GET", f"/v1/limit-changes/{_path(id)}")

    def approve_limit_change(self, id: str, body: LimitApproval, *, key: Optional[str] = None) -> LimitChange:
        """POST /v1/limit-changes/{id}:approve

        Make the change, as the second steward.

        body: reason

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/limit-changes/{_path(id)}:approve", body=body, key=key or fresh_key())

    def decline_limit_change(self, id: str, body: BudgetDecline, *, key: Optional[str] = None) -> LimitChange:
        """POST /v1/limit-changes/{id}:decline

        Decline the change, or take it back.

        body: reason* (* required)

        Roles: steward
        """
        return self._transport.call("POST", f"/v1/limit-changes/{_path(id)}:decline", body=body, key=key or fresh_key())

    def compose_events(self, body: ComposeRequest) -> ComposedCost:
        """POST /v1/accounting:compose

        Say what a tree of events costs; stores nothing.

        body: events*, delta, epsilon (* required)

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("POST", "/v1/accounting:compose", body=body)

    def get_certificate(self, id: str) -> Certificate:
        """GET /v1/certificates/{id}

        Show a signed certificate.

        Roles: admin, steward, contributor, student, agent, auditor
        """
        return self._transport.call("GET", f"/v1/certificates/{_path(id)}")

    def list_accounts(
        self, *, project: Optional[str] = None, page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/ledger/accounts

        List budgets: a steward's own, a student's or agent's own, or all for an auditor.

        Roles: steward, student, agent, auditor
        """
        return self._transport.call(
            "GET", "/v1/ledger/accounts", query={"project": project, "page_size": page_size, "page_token": page_token},
        )

    def get_account(self, id: str) -> Account:
        """GET /v1/ledger/accounts/{id}

        Show one budget.

        Roles: steward, student, agent, auditor
        """
        return self._transport.call("GET", f"/v1/ledger/accounts/{_path(id)}")

    def change_limit(
        self, id: str, body: LimitRequest, *, if_match: Optional[str] = None, key: Optional[str] = None,
    ) -> Account:
        """PATCH /v1/ledger/accounts/{id}

        Change the limit of an account.

        body: limit, approvals, reason* (* required)

        Roles: steward
        """
        return self._transport.call(
            "PATCH", f"/v1/ledger/accounts/{_path(id)}", body=body, headers={"If-Match": if_match},
            key=key or fresh_key(),
        )

    def list_entries(
        self, id: str, *, page_size: Optional[int] = None, page_token: Optional[str] = None,
    ) -> dict[str, Any]:
        """GET /v1/ledger/accounts/{id}/entries

        List the entries of an account in their order.

        Roles: steward, student, agent, auditor
        """
        return self._transport.call(
            "GET", f"/v1/ledger/accounts/{_path(id)}/entries", query={"page_size": page_size, "page_token": page_token},
        )

    def get_checkpoint(self) -> str:
        """GET /v1/ledger/checkpoint

        Show the signed root of the ledger's log.

        Roles: auditor
        """
        return self._transport.call("GET", "/v1/ledger/checkpoint")

    def get_tile(self, level: str, tile: str) -> str:
        """GET /v1/ledger/tile/{level}/{tile}

        Give hashes or entries of the ledger's log.

        Roles: auditor
        """
        return self._transport.call("GET", f"/v1/ledger/tile/{_path(level)}/{_path(tile)}")

    def prove_consistency(self, *, old: Optional[int] = None) -> str:
        """GET /v1/ledger/proofs/consistency

        Prove that the log goes on from an older size.

        Roles: auditor
        """
        return self._transport.call("GET", "/v1/ledger/proofs/consistency", query={"old": old})

    def prove_account(self, id: str) -> str:
        """GET /v1/ledger/accounts/{id}/proof

        Prove that an account as it is now is in the log.

        Roles: steward, auditor
        """
        return self._transport.call("GET", f"/v1/ledger/accounts/{_path(id)}/proof")

    def verify_ledger(self) -> LedgerReport:
        """POST /v1/ledger:verify

        Recompute every balance and every hash from the entries.

        Roles: steward, auditor
        """
        return self._transport.call("POST", "/v1/ledger:verify")

    def live(self) -> dict[str, Any]:
        """GET /healthz/live

        Answer as long as the process runs.
        """
        return self._transport.call("GET", "/healthz/live")

    def ready(self) -> dict[str, Any]:
        """GET /healthz/ready

        Say whether requests will be served.
        """
        return self._transport.call("GET", "/healthz/ready")

    def metrics(self) -> str:
        """GET /metrics

        Counters of the server in Prometheus text.

        Roles: admin, monitor
        """
        return self._transport.call("GET", "/metrics")

    def home(self) -> str:
        """GET /

        The status page.
        """
        return self._transport.call("GET", "/")

    def status_script(self) -> str:
        """GET /status.js

        The script of the status page.
        """
        return self._transport.call("GET", "/status.js")

    def status_style(self) -> str:
        """GET /status.css

        The style sheet of all pages.
        """
        return self._transport.call("GET", "/status.css")

    def docs(self) -> str:
        """GET /docs

        The documentation of every endpoint, as a page.
        """
        return self._transport.call("GET", "/docs")

    def openapi(self) -> str:
        """GET /openapi.yaml

        This contract.
        """
        return self._transport.call("GET", "/openapi.yaml")

    def list_problems(self) -> dict[str, Any]:
        """GET /problems

        List the problem types.
        """
        return self._transport.call("GET", "/problems")

    def get_problem(self, slug: str) -> ProblemType:
        """GET /problems/{slug}

        Explain one problem type.
        """
        return self._transport.call("GET", f"/problems/{_path(slug)}")

    def signing_keys(self) -> SigningKeys:
        """GET /.well-known/jwks.json

        The public keys of certificates (RFC 7517).
        """
        return self._transport.call("GET", "/.well-known/jwks.json")
