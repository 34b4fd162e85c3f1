"""Episodes: what an expert did, in the form that the service takes.

An episode of T steps has T actions, T rewards and T+1 states. The last state is the one after the last action.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Optional, Union

from .transport import not_finite, to_json

__all__ = ["Episode", "LAST_STATE", "Recorder", "as_line", "finish"]

LAST_STATE = ("repeat", "drop", "repeat_or_drop")


@dataclass
class Episode:
    """One trajectory of one expert, who is the unit that privacy protects."""

    expert: str
    states: list[list[float]] = field(repr=False)
    actions: list[int] = field(repr=False)
    rewards: list[float] = field(repr=False)
    terminated: bool = False
    truncated: bool = True

    def __post_init__(self) -> None:
        steps = len(self.actions)
        if steps == 0:
            raise ValueError("An episode needs at least one step.")
        if len(self.rewards) != steps or len(self.states) != steps + 1:
            raise ValueError(f"An episode of {steps} actions needs {steps} rewards and {steps + 1} states, not "
                             f"{len(self.rewards)} and {len(self.states)}. If the state after the last action is not "
                             "in your data, name a rule: last_state='repeat', 'drop' or 'repeat_or_drop'.")
        if self.terminated == self.truncated:
            raise ValueError("Exactly one of terminated and truncated must be true.")
        if not isinstance(self.expert, str):
            raise ValueError(f"The name of an expert is a text, such as {str(self.expert)!r}.")
        if not self.expert or len(self.expert) > 64:
            raise ValueError("The name of an expert has 1 to 64 characters.")
        self.states = [_row(state) for state in self.states]
        self.actions = [_action(action) for action in self.actions]
        self.rewards = [float(reward) for reward in self.rewards]
        if not all(all(map(math.isfinite, numbers)) for numbers in (*self.states, self.rewards)):
            raise ValueError(f"Expert {self.expert}: {not_finite({'states': self.states, 'rewards': self.rewards})}")

    def document(self) -> dict[str, Any]:
        """The trajectory as the service reads it."""
        return {"expert": self.expert, "states": self.states, "actions": self.actions, "rewards": self.rewards,
                "terminated": self.terminated, "truncated": self.truncated}

    def __len__(self) -> int:
        return len(self.actions)


def _row(state: Any) -> list[float]:
    """A state as one flat list of numbers."""
    if hasattr(state, "tolist"):
        state = state.tolist()
    if isinstance(state, (list, tuple)):
        return [number for part in state for number in _row(part)]
    return [float(state)]


def _action(action: Any) -> int:
    if hasattr(action, "tolist"):
        action = action.tolist()
    while isinstance(action, (list, tuple)) and len(action) == 1:
        action = action[0]
    if isinstance(action, (list, tuple)) or not math.isfinite(action) or action != int(action):
        raise ValueError("Actions are whole numbers from 0 on. Divide a continuous action into a few levels first.")
    return int(action)


def finish(expert: Any, states: list[Any], actions: list[Any], rewards: list[Any], terminated: bool,
           last_state: Optional[str]) -> Episode:
    """An episode of T states, in which the state after the last action is missing, by the rule that the user names.

    ``repeat``: the last state once more; only right where the episode terminated, so others are an error.
    ``drop``: the last action and its reward are dropped, and the episode is truncated. ``repeat_or_drop``: repeat
    where it terminated, drop elsewhere.
    """
    if last_state not in LAST_STATE:
        raise ValueError("These data do not hold the state after the last action. Name a rule: last_state='repeat', "
                         "'drop' or 'repeat_or_drop' (docs/own-data.md, \"The last-state rule\").")
    if terminated and last_state != "drop":
        return Episode(str(expert), [*states, states[-1]], actions, rewards, True, False)
    if last_state == "repeat":
        raise ValueError(f"An episode of expert {expert} did not terminate, and its last state may not be repeated: "
                         "use last_state='repeat_or_drop'.")
    if len(actions) < 2:
        raise ValueError(f"An episode of expert {expert} has one step, of which last_state={last_state!r} leaves nothing: take "
                         "such episodes out, or find their last states.")
    return Episode(str(expert), states, actions[:-1], rewards[:-1], False, True)


def as_line(episode: Union[Episode, Mapping[str, Any]]) -> bytes:
    """The line of NDJSON of an episode or of its dictionary."""
    document = episode.document() if isinstance(episode, Episode) else dict(episode)
    return to_json(document, separators=(",", ":")) + b"\n"


class Recorder:
    """A Gymnasium environment that keeps what is played in it. Your own loop stays as it is:

        env = tacet.Recorder(gymnasium.make("CartPole-v1"), expert="player-1")
        ...                               # env.reset() and env.step(action) as usual
        data.upload(env.episodes)

    ``expert`` may be changed between episodes. An episode that reset() cuts off counts as truncated.
    """

    def __init__(self, env: Any, expert: str) -> None:
        self.env, self.expert = env, expert
        self._done: list[Episode] = []
        self._states: list[Any] = []
        self._actions: list[Any] = []
        self._rewards: list[Any] = []
        self._name = expert

    def __getattr__(self, name: str) -> Any:
        return getattr(self.env, name)

    def reset(self, **options: Any) -> Any:
        """Begins an episode."""
        self._keep(False)
        answer = self.env.reset(**options)
        first = answer[0] if isinstance(answer, tuple) else answer
        self._states, self._actions, self._rewards, self._name = [_row(first)], [], [], self.expert
        return answer

    def step(self, action: Any) -> Any:
        """Takes a step. The older form of four values is understood, too."""
        answer = self.env.step(action)
        state, reward, terminated = answer[:3]
        truncated = answer[3] if len(answer) == 5 else bool(answer[-1].get("TimeLimit.truncated"))
        if len(answer) == 4 and truncated:
            terminated = False
        self._states.append(_row(state))
        self._actions.append(_action(action))
        self._rewards.append(float(reward))
        if terminated or truncated:
            self._keep(bool(terminated))
        return answer

    def _keep(self, terminated: bool) -> None:
        states, actions, rewards = self._states, self._actions, self._rewards
        self._states, self._actions, self._rewards = states[-1:], [], []
        if actions:
            self._done.append(Episode(self._name, states, actions, rewards, terminated, not terminated))

    @property
    def episodes(self) -> list[Episode]:
        """What was played so far; the episode under way belongs to it once it ends or reset() begins another."""
        return list(self._done)


def lines(episodes: Iterable[Union[Episode, Mapping[str, Any]]]) -> Iterator[bytes]:
    """NDJSON, line by line."""
    index = -1
    for index, episode in enumerate(episodes):
        if not isinstance(episode, (Episode, Mapping)):
            raise TypeError(f"An upload is of episodes (tacet.Episode, or dictionaries), not of {type(episode).__name__}. "
                            "tacet.read_hdf5, read_npz and read_csv make them from arrays and files.")
        try:
            line = as_line(episode)
        except ValueError as error:
            expert = episode.expert if isinstance(episode, Episode) else episode.get("expert")
            raise ValueError(f"Episode {index}, of expert {expert}: {error}") from None
        yield line
    if index < 0:
        raise ValueError("There is no episode to upload.")
