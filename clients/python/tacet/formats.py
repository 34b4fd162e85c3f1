"""Readers and writers of what researchers have: HDF5 (D4RL, Minari, d3rlpy), NPZ, tables, episode objects.

A reader must be told who the expert of an episode is, because that is the unit that privacy protects:

    experts_by="collector"     an array with one number or text for each step (Minari: an attribute of the group;
                               objects: an attribute, or a function of the episode)
    episodes_per_expert=10     each expert has 10 episodes in a row
    expert_per_episode=True    each episode has an expert of its own

Where the data do not hold the state after the last action, it must also be told which rule to apply:
``last_state="repeat"``, ``"drop"`` or ``"repeat_or_drop"`` (docs/own-data.md).
"""
from __future__ import annotations

import csv
import importlib
import itertools
import math
import os
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

from .episodes import Episode, finish

__all__ = ["read_csv", "read_episodes", "read_hdf5", "read_npz", "to_d3rlpy", "write_csv", "write_hdf5", "write_npz"]

Path = Union[str, "os.PathLike[str]"]
By = Union[None, str, Callable[[Any], Any]]


def _needs(module: str, what: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{what} needs {module}: pip install {module}") from None


class _Naming:
    """Says which expert an episode belongs to."""

    def __init__(self, by: By, per_expert: Optional[int], per_episode: bool) -> None:
        if (by is not None) + (per_expert is not None) + bool(per_episode) != 1:
            raise ValueError("Say who the expert of an episode is, by exactly one of experts_by, episodes_per_expert and "
                             "expert_per_episode. Privacy protects one expert with all its episodes.")
        self.by, self.every = by, 1 if per_episode else per_expert

    def name(self, index: int, key: Any) -> str:
        """The name of episode INDEX; KEY is what experts_by found."""
        return f"e{index // self.every}" if self.every else _name(key)


def _item(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell


def _name(key: Any) -> str:
    """The name that KEY is, as `tacet import` writes it: "1" of 1.0."""
    key = _item(key)
    if key is None or isinstance(key, float) and not key.is_integer():
        raise ValueError(f"An expert or an episode is named {key}, and each name must be a text or a whole number.")
    return key.decode() if isinstance(key, bytes) else str(int(key) if isinstance(key, float) else key).strip()


def _truth(cell: Any, place: str) -> bool:
    text = str(_item(cell)).strip().lower()
    if text in ("0", "false", "no", "f", "n", "0.0"):
        return False
    if text in ("1", "true", "yes", "t", "y", "1.0"):
        return True
    raise ValueError(f"{place} has {cell!r}, and each mark must be 0 or 1.")


def _truths(marks: Any, place: str) -> list[bool]:
    """Of each step; MARKS may be one."""
    return [_truth(mark, place) for mark in (marks if hasattr(marks, "__len__") else [marks])]


def _episode(which: Any, name: str, states: Any, actions: Any, rewards: Any, terminated: Any, last_state: Optional[str],
             truncated: Any = None) -> Episode:
    """Episode WHICH of the source; errors name it. TERMINATED and TRUNCATED are of each step, or of the last."""
    states, actions, rewards = list(states), list(actions), list(rewards)
    try:
        if not actions:
            raise ValueError(f"expert {name} has no step in it.")
        marks = [_truths(terminated, "terminated")] + ([] if truncated is None else [_truths(truncated, "truncated")])
        if any(any(mark[:-1]) for mark in marks):
            raise ValueError("it goes on after a step that ends it.")
        if truncated is not None and not any(mark[-1] for mark in marks):
            raise ValueError("its last step neither terminates nor truncates it: is something cut off?")
        ended = marks[0][-1]
        if len(states) == len(actions):
            return finish(name, states, actions, rewards, ended, last_state)
        return Episode(name, states, actions, rewards, ended, not ended)
    except ValueError as error:
        raise ValueError(f"Episode {which}: {error}") from None


def _flat(arrays: Mapping[str, Any], naming: _Naming, last_state: Optional[str], ends_by: Optional[str]) -> list[Episode]:
    """Arrays of D4RL's form. An episode ends where any array that marks ends is 1, and at the end of the arrays."""
    terminals = [name for name in ("terminals", "terminations") if name in arrays] or ["terminals"]
    needed = ["observations", "actions", "rewards", *terminals, *([ends_by] if ends_by not in (None, "terminals") else [])]
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise ValueError(f"The file has no array {', '.join(missing)}. It has {', '.join(sorted(arrays)) or 'none'}.")
    limits = [name for name in ("timeouts", "truncations", "episode_terminals", ends_by or "timeouts") if name in arrays]
    if not limits and not ends_by:
        raise ValueError("The file has no array timeouts, so it does not say where an episode ends that did not terminate: "
                         "several would become one, of one expert. Say ends_by='terminals' if every episode but the last "
                         "terminated, or name an array that is 1 at the last step of each episode.")
    keys = None
    if naming.by is not None:
        if naming.by not in arrays:
            raise ValueError(f"The file has no array {naming.by!r} that names experts. "
                             f"It has {', '.join(sorted(arrays))}.")
        keys = arrays[str(naming.by)]
    states, actions, rewards = (arrays[n] for n in ("observations", "actions", "rewards"))
    steps = len(actions)
    following = arrays.get("next_observations")
    for name in ("observations", "rewards", *terminals, "next_observations", *limits):
        if name in arrays and len(arrays[name]) != steps:
            raise ValueError(f"The array {name} has {len(arrays[name])} rows, and actions has {steps}.")
    ends, others = ([_truths(arrays[name], f"The array {name}") for name in names] for names in (terminals, limits))
    found: list[Episode] = []
    first = 0
    for at in range(steps):
        terminated = any(e[at] for e in ends)
        if not (terminated or any(o[at] for o in others) or at == steps - 1):
            continue
        part = slice(first, at + 1)
        if keys is not None and any(key != keys[first] for key in keys[part]):
            raise ValueError(f"The array {naming.by} names two experts in one episode, which begins at step {first}.")
        rows = list(states[part]) + ([following[at]] if following is not None else [])
        name = naming.name(len(found), None if keys is None else keys[first])
        found.append(_episode(len(found), name, rows, actions[part], rewards[part], terminated, last_state))
        first = at + 1
    return found


def _minari(file: Any, naming: _Naming) -> Iterator[Episode]:
    groups = sorted((name for name in file if name.startswith("episode_")), key=lambda n: int(n.rsplit("_", 1)[1]))
    for index, name in enumerate(groups):
        group = file[name]
        if not hasattr(group["observations"], "shape"):
            raise ValueError("The observations are a dictionary. Make one row of numbers of each first.")
        if naming.by is not None and naming.by not in group.attrs:
            raise ValueError(f"The group {name} has no attribute {naming.by!r} that names an expert. "
                             f"It has {', '.join(sorted(group.attrs)) or 'none'}.")
        key = group.attrs[naming.by] if naming.by is not None else None
        yield _episode(index, naming.name(index, key), group["observations"][()], group["actions"][()], group["rewards"][()],
                       group["terminations"][()], None, group["truncations"][()])


def _d3rlpy_file(file: Any, naming: _Naming, last_state: Optional[str]) -> Iterator[Episode]:
    if naming.by is not None:
        raise ValueError("A file of d3rlpy names no experts: use episodes_per_expert or expert_per_episode.")
    for index in range(sum(name.startswith("observations_") for name in file)):
        if f"observations_{index}" not in file:
            raise ValueError(f"The file has no observations_{index}, and its episodes must be numbered from 0 without gaps.")
        part = {n: file[f"{n}_{index}"][()] for n in ("observations", "actions", "rewards", "terminated")}
        yield _episode(index, naming.name(index, None), part["observations"], part["actions"], part["rewards"].reshape(-1),
                       part["terminated"], last_state)


def read_hdf5(path: Path, *, experts_by: Optional[str] = None, episodes_per_expert: Optional[int] = None,
              expert_per_episode: bool = False, last_state: Optional[str] = None,
              ends_by: Optional[str] = None) -> list[Episode]:
    """Episodes of an HDF5 file of D4RL, Minari or d3rlpy; which of them is seen from the file. It needs h5py.

    ``ends_by``: of D4RL's arrays without ``timeouts``, an array that is 1 at the last step of each episode.
    ``ends_by="terminals"`` says that every episode but the last terminated. An array in a group is named with it:
    ``experts_by="infos/who"``.
    """
    naming = _Naming(experts_by, episodes_per_expert, expert_per_episode)
    with _needs("h5py", "Reading HDF5").File(path, "r") as file:
        if any(name.startswith("episode_") and hasattr(file[name], "attrs") and "actions" in file[name]
               for name in file if not hasattr(file[name], "shape")):
            return list(_minari(file, naming))
        if "observations_0" in file:
            return list(_d3rlpy_file(file, naming, last_state))
        arrays = {name: file[name] for name in file}
        file.visititems(lambda name, item: arrays.setdefault(name, item) and None)  # those in groups, too
        named = (experts_by, ends_by)
        return _flat({name: item[()] if "/" not in name or name in named else item for name, item in arrays.items()
                      if getattr(item, "shape", None)}, naming, last_state, ends_by)


def read_npz(path: Path, *, experts_by: Optional[str] = None, episodes_per_expert: Optional[int] = None,
             expert_per_episode: bool = False, last_state: Optional[str] = None,
             ends_by: Optional[str] = None) -> list[Episode]:
    """Episodes of an NPZ file with D4RL's arrays; ``ends_by`` as in ``read_hdf5``. It needs numpy."""
    naming = _Naming(experts_by, episodes_per_expert, expert_per_episode)
    with _needs("numpy", "Reading NPZ").load(path, allow_pickle=False) as file:
        return _flat({name: file[name] for name in file.files}, naming, last_state, ends_by)


def read_episodes(source: Any, *, experts_by: By = None, episodes_per_expert: Optional[int] = None,
                  expert_per_episode: bool = False, last_state: Optional[str] = None) -> list[Episode]:
    """Episodes of a Minari dataset, of d3rlpy's MDPDataset, or of a list of their episodes."""
    naming = _Naming(experts_by, episodes_per_expert, expert_per_episode)
    objects = source.iterate_episodes() if hasattr(source, "iterate_episodes") else getattr(source, "episodes", source)
    found = []
    for index, one in enumerate(objects):
        by = naming.by
        key = None if by is None else by(one) if callable(by) else getattr(one, by)
        ended = next((getattr(one, n) for n in ("terminated", "terminal", "terminations") if hasattr(one, n)), None)
        if ended is None:
            raise ValueError("An episode has neither terminated, terminal nor terminations.")
        rewards = [row[0] if hasattr(row, "__len__") else row for row in one.rewards]
        found.append(_episode(index, naming.name(index, key), one.observations, one.actions, rewards, ended, last_state,
                              getattr(one, "truncations", None)))
    return found


def read_csv(table: Any, *, expert: str = "expert", episode: str = "episode", states: Optional[Sequence[str]] = None,
             action: str = "action", reward: str = "reward", terminated: str = "terminated",
             last_state: str = "own_row") -> list[Episode]:
    """Episodes of a CSV file, or of a data frame, with one row for each step. The arguments name columns.

    ``states``: by default the columns that begin with ``state_``. ``last_state="own_row"``: an episode ends with a
    row without action and reward. An episode that did not terminate is truncated. For a table with units, categories
    or missing values upload the file itself to a dataset with a description.
    """
    if isinstance(table, (str, os.PathLike)):
        with open(table, newline="", encoding="utf-8-sig") as file:
            rows: list[Mapping[str, Any]] = list(csv.DictReader(file))
        for at, row in enumerate(rows, 1):
            if None in row or None in row.values():
                raise ValueError(f"Row {at} has more or fewer cells than the header: is it cut short?")
    else:
        rows = table.to_dict("records") if hasattr(table, "to_dict") else list(table)
    if not rows:
        return []
    states = list(states or (name for name in rows[0] if str(name).startswith("state_")))
    missing = [n for n in (expert, episode, action, reward, terminated, *states) if n not in rows[0]]
    if missing or not states:
        raise ValueError(f"The table has no column {', '.join(missing) or 'state_...'}. "
                         f"It has {', '.join(map(str, rows[0]))}.")
    found, known = [], set()
    for (name, number), group in itertools.groupby(rows, lambda row: (_name(row[expert]), _name(row[episode]))):
        if (name, number) in known:
            raise ValueError(f"Episode {number} of expert {name} has rows further up: all rows of an episode must stand together.")
        known.add((name, number))
        places = [(f"in step {at} of episode {number} of expert {name}", row) for at, row in enumerate(group)]
        seen = [[_number(row, n, place) for n in states] for place, row in places]
        own = places.pop() if last_state == "own_row" else None
        ended = [_truth(row[terminated], f"The column {terminated} {place}") for place, row in places]
        if own:
            place, row = own
            if not (_is_empty(row[action]) and _is_empty(row[reward])):
                raise ValueError(f"An episode of expert {name} does not end with a row without action and reward. If the table "
                                 "has no such rows, name a rule: last_state='repeat', 'drop' or 'repeat_or_drop'.")
            if not _is_empty(row[terminated]) and _truth(row[terminated], f"The column {terminated} {place}"):
                ended[-1:] = [True]
        actions, rewards = ([_number(row, n, place) for place, row in places] for n in (action, reward))
        found.append(_episode(number, name, seen, actions, rewards, ended, None if last_state == "own_row" else last_state))
    return found


def _number(row: Mapping[str, Any], column: str, place: str) -> float:
    try:
        number = math.nan if _is_empty(row[column]) else float(row[column])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"The column {column} has {row[column]!r} {place} (steps count from 0), and each number must be "
                         "finite. To fill in missing values, upload the file itself to a dataset with a description "
                         "(docs/own-data.md).")
    return number


def _is_empty(cell: Any) -> bool:
    return cell is None or cell != cell or str(cell).strip().lower() in ("", "na", "nan", "null")


def _arrays(episodes: Iterable[Episode]) -> dict[str, Any]:
    numpy = _needs("numpy", "Writing arrays")
    kept = list(episodes)
    last = [at == len(e) - 1 for e in kept for at in range(len(e))]
    ended = [e.terminated for e in kept for _ in range(len(e))]
    return {"observations": numpy.array([s for e in kept for s in e.states[:-1]], "f4"),
            "next_observations": numpy.array([s for e in kept for s in e.states[1:]], "f4"),
            "actions": numpy.array([a for e in kept for a in e.actions]),
            "rewards": numpy.array([r for e in kept for r in e.rewards]),
            "terminals": numpy.logical_and(last, ended),
            "timeouts": numpy.logical_and(last, numpy.logical_not(ended)),
            "experts": numpy.array([e.expert.encode() for e in kept for _ in range(len(e))])}


def write_npz(path: Path, episodes: Iterable[Episode]) -> None:
    """D4RL's arrays with next_observations, and ``experts``, as NPZ. It needs numpy."""
    _needs("numpy", "Writing NPZ").savez_compressed(path, **_arrays(episodes))


def write_hdf5(path: Path, episodes: Iterable[Episode]) -> None:
    """D4RL's arrays with next_observations, and ``experts``, as HDF5. It needs h5py."""
    with _needs("h5py", "Writing HDF5").File(path, "w") as file:
        for name, array in _arrays(episodes).items():
            file.create_dataset(name, data=array)


def write_csv(path: Path, episodes: Iterable[Episode]) -> None:
    """A table that ``read_csv`` reads with its default names."""
    kept = list(episodes)
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        width = len(kept[0].states[0]) if kept else 0
        out.writerow(["expert", "episode", *(f"state_{i}" for i in range(width)), "action", "reward", "terminated"])
        for number, one in enumerate(kept):
            for state, action, reward in zip(one.states, one.actions, one.rewards):
                out.writerow([one.expert, number, *state, action, reward, 0])
            out.writerow([one.expert, number, *one.states[-1], "", "", int(one.terminated)])


def to_d3rlpy(episodes: Iterable[Episode]) -> Any:
    """d3rlpy's MDPDataset, which does not keep the state after the last action. It needs d3rlpy."""
    made, arrays = _needs("d3rlpy.dataset", "This").MDPDataset, _arrays(episodes)
    return made(observations=arrays["observations"], actions=arrays["actions"], rewards=arrays["rewards"],
                terminals=arrays["terminals"], timeouts=arrays["timeouts"])
