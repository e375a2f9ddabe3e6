"""Checkpoints of a run: its state on disk, written after every shard."""

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from headlight import files
from headlight.engine.state import State
from headlight.errors import ResultError, RunError, UsageError, setting
from headlight.files import Location
from headlight.reduce import Tally, Tree

FILE = "checkpoint.safetensors"

DAMAGED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors raised by reading a state whose digest is right, but whose content is not."""
SHARD_ELEMENTS = "shard_elements"
"""Name, among the settings of a run, of the maximum number of elements in a shard."""
ROUNDING = "rounding"
"""Name, among the settings of a run, of the rounding of libraries on the device it began on."""


class Checkpoint:
    """State of a run in a folder.

    State and tally are a single file, so that one renaming commits both: a process that is killed
    at any moment leaves either the old state or the new one.

    Args:
        folder: Folder of the run.
        signature: All settings that the result depends on, as JSON.
    """

    def __init__(self, folder: Location, signature: Mapping[str, Any]) -> None:
        self.path = folder / FILE
        self.signature = json.loads(json.dumps(dict(signature)))  # as it will come back from disk

    def begin(self, *, resume: bool) -> State:
        """Return the state to begin with: that of the file if there is one, else an empty one.

        Raises:
            UsageError: there is a state, but the user does not resume from it.
            RunError: the state is one of a run with other settings, or cannot be read.
        """
        if not self.path.exists():
            return State()
        if not resume:
            raise UsageError(
                f"{self.path.parent} holds a run already; go on with {setting('resume=True')}, or "
                f"choose another folder with {setting('out=')}."
            )
        return self._load()

    def save(self, state: State) -> None:
        """Replace the state on disk.

        Raises:
            RunError: the disk is full, the folder is read-only, and so on.
        """
        save_state(self.path, state, {"signature": self.signature})

    def _load(self) -> State:
        try:
            state, notes = load_state(self.path)
            signature = notes["signature"]
        except (ResultError, *DAMAGED) as problem:
            raise RunError(
                f"{self.path} cannot be read ({files.why_unread(problem)}); remove it, or choose "
                f"another folder with {setting('out=')}."
            ) from problem
        check_signature(self.path.parent, signature, self.signature)
        return state


def save_state(path: Location, state: State, notes: Mapping[str, Any]) -> None:
    """Write a state, with notes about it as JSON.

    Raises:
        RunError: the disk is full, the folder is read-only, and so on.
    """
    levels = [level for level, _ in state.tree.nodes]
    parts = Tally({**state.tree.flat(), **{f"{_WHOLE}/{k}": v for k, v in state.tally.items()}})
    parts.save(path, {**notes, "state": _counters_of(state), "levels": levels}, error=RunError)


def load_state(path: Location) -> tuple[State, dict[str, Any]]:
    """Load a state that `save_state` wrote, and its notes.

    Raises:
        RunError: the file was written by a version that cut the corpus into other shards.
        ResultError: it is missing, damaged, or something else.
    """
    tally, notes = Tally.load(path)
    counters = notes["state"]
    if "levels" not in notes or "shards" not in counters:
        raise from_earlier_version(path)
    counted = _state_of(counters)
    start = f"{_WHOLE}/"
    whole = {name: member for name, member in tally.items() if name.startswith(start)}
    tree = Tree.from_flat(
        Tally({k: v for k, v in tally.items() if k not in whole}), notes["levels"]
    )
    everything = Tally({name.removeprefix(start): member for name, member in whole.items()})
    return replace(counted, tally=everything, tree=tree), notes


def _counters_of(state: State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in _COUNTERS}


def _state_of(counters: Mapping[str, Any]) -> State:
    return State(**{name: counters[name] for name in _COUNTERS})


def from_earlier_version(path: Location) -> RunError:
    """Return the error for a state that cannot be resumed."""
    return RunError(
        f"{path} is of an earlier version of Headlight, which cut the corpus into other shards; "
        f"finish the run with that version, or start over with {setting('overwrite=True')}."
    )


def check_signature(folder: Location, kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse to go on with a run that was begun with other settings.

    Raises:
        RunError: something differs.
    """
    names = sorted(kept.keys() | wanted.keys())
    different = [name for name in names if kept.get(name) != wanted.get(name)]
    if different == [ROUNDING]:
        raise RunError(
            f"{folder} holds a run that was begun where numbers are rounded otherwise: "
            f"{_short(kept, ROUNDING)} there, {_short(wanted, ROUNDING)} here. Go on with the "
            "same kind of processor and the same libraries, or choose another folder with "
            f"{setting('out=')}."
        )
    if different:
        changes = "; ".join(
            f"{setting(name)} was {_short(kept, name)} and is now {_short(wanted, name)}"
            for name in different
        )
        raise RunError(
            f"{folder} holds a run with other settings: {changes}. Repeat the old settings, or "
            f"choose another folder with {setting('out=')}."
        )


_WHOLE = "all"

_COUNTERS = tuple(
    counter.name for counter in fields(State) if counter.name not in ("tally", "tree")
)


def _short(settings: Mapping[str, Any], name: str) -> str:
    if name not in settings:
        return "not set"
    text = json.dumps(settings[name], ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
