"""A Gymnasium environment as a world of a Tacet server: `tacet.world(env)` in a program that the operator declares."""
from __future__ import annotations

import copy
import json
import os
import sys
from typing import Any, Callable, Mapping, Optional, TextIO, Union

from .episodes import _row

__all__ = ["world"]

_NAMES = "action_space.n, observation_space.shape, reset and step"


def world(env: Union[Any, Callable[[], Any]], *, max_episode_steps: Optional[int] = None,
          parameters: Optional[Mapping[str, Mapping[str, Any]]] = None, random_return: Optional[float] = None) -> None:
    """Plays an environment for a server, until it asks nothing more. The whole program is

        import gymnasium, tacet
        tacet.world(gymnasium.make("CartPole-v1"))

    and the operator declares it with ``--world "cart=python3 cart.py"`` (docs/worlds.md).

    ``env``: an environment, which is copied for each instance, or a function that makes one. Observations become one
    row of numbers; actions must be discrete. ``max_episode_steps``: by default the environment's own limit.
    ``parameters``: attributes of the environment that a job may vary, each with ``minimum`` and ``maximum``, and
    ``default``, ``unit`` and ``meaning`` where wanted: ``{"gravity": {"minimum": 5, "maximum": 15}}``. They are set
    before reset. An episode that the environment truncates before that limit ends there, as if it terminated. What the
    environment prints goes to standard error.
    """
    is_env = hasattr(env, "reset") and not isinstance(env, type)
    if not is_env and not callable(env):
        raise TypeError(f"An environment has {_NAMES}: {type(env).__name__} has no reset.")
    first = env if is_env else env()
    missing = [name for name in ("action_space", "observation_space", "step") if not hasattr(first, name)]
    if missing:
        raise TypeError(f"An environment has {_NAMES}: {type(first).__name__} has no {' and no '.join(missing)}.")
    pristine = copy.deepcopy(first) if is_env else None
    make: Callable[[], Any] = (lambda: copy.deepcopy(pristine)) if is_env else env
    out = os.fdopen(os.dup(1), "w")
    sys.stdout.flush()
    os.dup2(2, 1)
    _serve(sys.stdin, out, make, _describe(first, max_episode_steps, parameters or {}, random_return))


def _describe(env: Any, limit: Optional[int], parameters: Mapping[str, Mapping[str, Any]],
              random_return: Optional[float]) -> dict[str, Any]:
    if not hasattr(env.action_space, "n"):
        raise TypeError("The actions of a world are discrete: wrap the environment so that it takes a few numbered actions.")
    limit = limit or getattr(getattr(env, "spec", None), "max_episode_steps", None)
    if not limit:
        raise ValueError("The environment has no limit of steps: give max_episode_steps.")
    size = 1
    for length in getattr(env.observation_space, "shape", None) or ():
        size *= length
    base = getattr(env, "unwrapped", env)
    found = [{"name": name, "default": float(getattr(base, name)), **about} for name, about in parameters.items()]
    said: dict[str, Any] = {"protocol": 1, "state_dim": int(size), "action_count": int(env.action_space.n),
                            "max_episode_steps": int(limit), "parameters": found}
    return said if random_return is None else {**said, "random_return": random_return}


def _serve(questions: TextIO, out: TextIO, make: Callable[[], Any], description: Mapping[str, Any]) -> None:
    """protocol 1: one JSON object a line, one answer to a question."""
    instances: dict[int, Any] = {}
    steps: dict[int, int] = {}  # of the episode under way
    for line in questions:
        question = json.loads(line)
        if "describe" in question:
            answer: Mapping[str, Any] = description
        elif "reset" in question:
            asked = question["reset"]
            if asked["instance"] not in instances:
                instances[asked["instance"]] = make()
            env = instances[asked["instance"]]
            steps[asked["instance"]] = 0
            for name, value in asked["parameters"].items():
                setattr(getattr(env, "unwrapped", env), name, value)
            answer = {"observation": _row(env.reset(seed=asked["seed"])[0])}
        else:
            env = instances[question["step"]["instance"]]
            steps[question["step"]["instance"]] += 1
            action = question["step"]["action"] + int(getattr(env.action_space, "start", 0))
            state, reward, terminated, *more = env.step(action)
            early = len(more) == 2 and more[0] and steps[question["step"]["instance"]] < description["max_episode_steps"]
            answer = {"observation": _row(state), "reward": float(reward), "terminated": bool(terminated or early)}
        out.write(json.dumps(answer) + "\n")
        out.flush()
