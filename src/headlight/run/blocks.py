"""Blocks of a run that several processes share: aligned runs of shards, in a folder with a plan."""

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from headlight import files
from headlight.errors import ResultError, RunError, setting
from headlight.files import Location
from headlight.run.checkpoint import (
    DAMAGED,
    SHARD_ELEMENTS,
    check_signature,
    from_earlier_version,
    load_state,
    save_state,
)
from headlight.run.claims import BEAT, PROCESS_TOKEN, is_stale
from headlight.run.file_names import BLOCKS, CLAIMS, COUNTS, PLAN
from headlight.run.pass_folders import refuse_link
from headlight.run.state import State

_ALONE = 256
"""First shards that are a block each; then blocks double whenever the number of shards does."""
_LARGEST = 6
"""Blocks hold at most two to this power of shards."""


@dataclass(frozen=True, slots=True)
class Block:
    """An aligned run of shards, measured by one process.

    Attributes:
        first: the number of its first shard.
        digest: of all that is read before it, so that workers with another corpus are noticed.
    """

    first: int
    digest: str

    @property
    def shards(self) -> int:
        """Return the number of shards, which depends on where the block begins alone.

        Small at first, so that short runs keep all workers busy; a power of two that divides
        `first`, so that it is a subtree of `headlight.reduce.Tree`.
        """
        grown = min((self.first // _ALONE).bit_length(), _LARGEST)
        aligned = (self.first & -self.first).bit_length() - 1 if self.first else 0
        return 1 << min(grown, aligned)

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"{self.first:09d}-{self.digest[:16]}"


class BlockFolder:
    """The folder of a shared run: a plan, finished blocks under their names, and claims.

    A block is a pure function of the plan, so that measuring it twice gives the same bytes: claims
    save double work, and nothing depends on them.

    Args:
        folder: of the run, or of one of its passes; made if need be.
        signature: everything that the result depends on, as JSON.
        hardware: what else the last bits depend on, as JSON.

    Raises:
        RunError: the folder holds a run with other settings, or begun on another kind of hardware.
    """

    def __init__(
        self, folder: Location, signature: Mapping[str, Any], hardware: Mapping[str, Any]
    ) -> None:
        self.folder = folder
        files.make_folder(folder, error=RunError)
        for name in (BLOCKS, CLAIMS, COUNTS):
            refuse_link(folder / name)
            files.make_folder(folder / name, error=RunError)
        wanted = json.loads(json.dumps({"signature": dict(signature), "hardware": dict(hardware)}))
        content = json.dumps(wanted, indent=1).encode()
        if not files.write_new(folder / PLAN, content, error=RunError):
            self._check(wanted)
        self._beaten = 0.0

    def _check(self, wanted: Mapping[str, Any]) -> None:
        signature, hardware = read_plan(self.folder)
        if SHARD_ELEMENTS not in signature:
            raise from_earlier_version(self.folder / PLAN)
        check_signature(self.folder, signature, wanted["signature"])
        if hardware != wanted["hardware"]:
            raise RunError(
                f"{self.folder} holds a run on {_said(hardware)}, and this is "
                f"{_said(wanted['hardware'])}, which rounds otherwise; work on the same kind of "
                f"hardware, or choose another folder with {setting('out=')}."
            )

    def is_done(self, block: Block) -> bool:
        """Whether it is measured."""
        return self._path(block).exists()

    def check_corpus(self, block: Block) -> None:
        """Notice workers with another corpus.

        Raises:
            RunError: somebody measured a block that begins here, of another corpus.
        """
        paths = (self.folder / BLOCKS).glob(f"{block.first:09d}-*.safetensors")
        if any(path.stem != block.name for path in paths):
            raise RunError(
                f"the corpus has changed since the run in {self.folder} began, or differs between "
                "its workers; give all of them the same, or start over with "
                f"{setting('overwrite=True')}."
            )

    def keep(self, block: Block, state: State) -> None:
        """Store what was measured: the state of the block's examples alone."""
        counted = json.dumps({"examples": state.examples}).encode()
        files.write(_counts_of(self.folder, block.name), counted, error=RunError)
        save_state(self._path(block), state, {"begins": block.digest})

    def read(self, block: Block) -> State:
        """Read the measured state of a block.

        Raises:
            RunError: it cannot be read.
        """
        path = self._path(block)
        try:
            state, notes = load_state(path)
            begins = notes["begins"]
        except (ResultError, *DAMAGED) as problem:
            why = files.why_unread(problem)
            raise RunError(f"{path} cannot be read ({why}); remove it.") from problem
        if begins != block.digest:
            raise RunError(f"{path} is of another corpus; remove it.")
        return state

    def claim(self, name: str) -> bool:
        """Say that this process is at something, unless another is."""
        path = self._claim(name)
        if files.write_new(path, self._sign(), error=RunError):
            return True
        if not self.is_abandoned(name):
            return False
        files.write(path, self._sign(), error=RunError)
        return True

    def release(self, name: str) -> None:
        """Say that it no longer is."""
        with suppress(OSError):
            self._claim(name).unlink(missing_ok=True)

    def beat(self, name: str) -> None:
        """Give a sign of life, if the last is some time ago."""
        if time.monotonic() - self._beaten > BEAT:
            self._beaten = time.monotonic()
            files.write(self._claim(name), self._sign(), error=RunError)

    def is_abandoned(self, name: str) -> bool:
        """Whether nobody is at something: nobody claimed it, or the claimant is gone."""
        return is_stale(self._claim(name))

    def check_there(self) -> None:
        """Notice that others are through with everything, and have put away the blocks.

        Raises:
            RunError: the plan is gone.
        """
        if not (self.folder / PLAN).exists():
            raise RunError(f"the run in {self.folder} was completed or removed by another process.")

    def _path(self, block: Block) -> Location:
        return self.folder / BLOCKS / f"{block.name}.safetensors"

    def _claim(self, name: str) -> Location:
        return self.folder / CLAIMS / f"{name}.json"

    def _sign(self) -> bytes:
        owner = {"host": socket.gethostname(), "process": os.getpid(), "token": PROCESS_TOKEN}
        return json.dumps(owner).encode()


def read_plan(folder: Location) -> tuple[dict[str, Any], dict[str, Any]]:
    """The signature of a shared run, and the hardware that it was begun on.

    Raises:
        RunError: the plan is missing or damaged.
    """
    try:
        plan = files.read_json(folder / PLAN, error=RunError)
        return dict(plan["signature"]), dict(plan["hardware"])
    except (KeyError, TypeError, ValueError) as problem:
        raise RunError(
            f"{folder / PLAN} is damaged; start over with {setting('overwrite=True')}."
        ) from problem


def blocks_done(folder: Location) -> Sequence[str]:
    """The names of the blocks that are measured in a folder."""
    return sorted(path.stem for path in (folder / BLOCKS).glob("*.safetensors"))


def examples_in(folder: Location, name: str) -> int:
    """Return the number of examples in a measured block; 0 where it is not known."""
    try:
        return int(files.read_json(_counts_of(folder, name))["examples"])
    except (ResultError, KeyError, TypeError, ValueError, OverflowError):
        return 0


def _counts_of(folder: Location, name: str) -> Location:
    """Return the file with the number of examples of a block, for bars, without its state."""
    return folder / COUNTS / f"{name}.json"


def _said(hardware: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in hardware.items()) or "unknown hardware"
