"""A run that several processes share: blocks of shards, who is at which, and what is done."""

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headlight import files
from headlight.errors import ResultError, RunError, setting
from headlight.files import Location
from headlight.run.checkpoint import (
    DAMAGED,
    FILE as CHECKPOINT,
    SHARD_ELEMENTS,
    State,
    check_signature,
    from_earlier_version,
    load_state,
    save_state,
)

SHARED = ".shared"
"""An empty file in the folder of a run that workers share, from before its plan to its end."""
PLAN = "plan.json"
BLOCKS = "blocks"
CLAIMS = "claims"
COUNTS = "counts"
MERGE = "merge"
"""Name of the claim of the process that merges the blocks."""
PASS = ".pass"
"""In a folder within that of a run: it is a pass of this run, and no run of its own."""
STALE = 120.0
"""Seconds after which somebody who gave no sign of life is taken to be gone."""
BEAT = 20.0
"""Seconds between two signs of life."""
_ALONE = 256
"""First shards that are a block each; then blocks double whenever the number of shards does."""
_LARGEST = 6
"""Blocks hold at most two to this power of shards."""
_MOST_PROCESSES = 2**31
_ME = secrets.token_hex(8)
_OWN = re.compile(rf"\d{{9}}-[0-9a-f]{{16}}\.(safetensors|json)|{MERGE}\.json")
"""Names of the files in the folders of blocks, claims and counts."""


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
            raise RunError(f"{path} cannot be read ({problem}); remove it.") from problem
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
        return _is_stale(self._claim(name))

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
        owner = {"host": socket.gethostname(), "process": os.getpid(), "token": _ME}
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


def begin_pass(folder: Location, name: str) -> Location:
    """The folder of a pass within that of its run, with the mark that it is one.

    Raises:
        RunError: it is a link, or holds a run of its own.
    """
    place = folder / name
    refuse_link(place)
    if not (place / PASS).exists():
        if any((place / each).exists() for each in (CHECKPOINT, PLAN)):
            raise RunError(
                f"{place} holds a run, and this one would keep a part of itself there; choose "
                f"another folder with {setting('out=')}."
            )
        _mark_pass(files.make_folder(place, error=RunError) / PASS)
    return place


def _mark_pass(mark: Location) -> None:
    """Make the mark at once, not under another name first.

    What a killed process left of that name would lie in a folder that is not yet seen as a pass.
    """
    try:
        mark.touch()
    except Exception as problem:  # drivers of stores raise errors of their own
        raise RunError(f"{mark} cannot be written: {files.reason(problem)}.") from problem


def passes(folder: Location) -> Iterator[Location]:
    """The folders in which passes of a run are: its own, and those in it that it has marked.

    Other runs that lie in it have none of these marks; what a link leads to is never the run's.
    """
    yield folder
    inside = [each for each in folder.glob("*") if not files.is_link(each)]
    yield from (each for each in inside if (each / PASS).exists())


def plans(folder: Location) -> Iterator[Location]:
    """The folders in which passes of a shared run are."""
    yield from (each for each in passes(folder) if (each / PLAN).exists())


def workers_at(folder: Location) -> int:
    """Count the processes that are at a block now, as far as their signs of life tell."""
    return sum(map(workers_in, plans(folder)))


def workers_in(place: Location) -> int:
    """Count the processes that are at a block of one pass."""
    claims = [path for path in (place / CLAIMS).glob("*.json") if _OWN.fullmatch(path.name)]
    return sum(not _is_stale(path) for path in claims)


def release_claims(folder: Location, hosts: Collection[str]) -> None:
    """Free what is claimed by machines that are known to be gone, in all passes of a run."""
    for path in [each for place in plans(folder) for each in (place / CLAIMS).glob("*.json")]:
        with suppress(OSError):  # it was freed
            if _owner_of(path).get("host") in hosts:
                path.unlink(missing_ok=True)


def remove_passes(folder: Location) -> None:
    """Remove what is there only so that a run can go on: checkpoints, plans and blocks.

    Nothing but what a run writes is removed, and nothing through a link.
    """
    for place in list(passes(folder)):
        (place / CHECKPOINT).unlink(missing_ok=True)
        # Without a plan as well: who came late may have put something there when it was gone.
        for name in (BLOCKS, CLAIMS, COUNTS):
            _remove_files(place / name)
        (place / PLAN).unlink(missing_ok=True)  # the last, or others could be measured beside them
        if place != folder:
            (place / PASS).unlink(missing_ok=True)
            files.remove_empty(place)


def _remove_files(folder: Location) -> None:
    """Remove the files of blocks, and the folder if it holds nothing else."""
    if files.is_link(folder):
        return
    for path in [each for each in folder.glob("*") if _OWN.fullmatch(each.name)]:
        path.unlink(missing_ok=True)
    if isinstance(folder, Path):
        files.remove_partials(folder)
    files.remove_empty(folder)


def remove_partials(folder: Path, others: Sequence[str] = ()) -> None:
    """Clear away what killed processes have left half written in the folders of a run.

    Nobody else may be writing there.

    Args:
        folder: of the run.
        others: names of folders in it, besides those of passes and blocks.
    """
    files.remove_partials(folder)
    inside: list[Location] = [folder / name for name in others]
    for place in passes(folder):
        inside += [place, *(place / name for name in (BLOCKS, CLAIMS, COUNTS))]
    for each in inside:
        if isinstance(each, Path) and not files.is_link(each):
            files.remove_partials(each)


def refuse_link(place: Location, use: str = "keeps files of its own") -> None:
    """Refuse a link where a run would write, and so write elsewhere.

    Args:
        place: a file or folder of a run.
        use: what the run does there.

    Raises:
        RunError: it is one.
    """
    if files.is_link(place):
        raise RunError(
            f"{place} is a link, where a run {use}; remove it, or choose another folder with "
            f"{setting('out=')}."
        )


def _counts_of(folder: Location, name: str) -> Location:
    """Return the file with the number of examples of a block, for bars, without its state."""
    return folder / COUNTS / f"{name}.json"


def _is_stale(claim: Location) -> bool:
    """Whether nobody is at what is claimed in a file: there is none, or its owner is gone.

    A claim from a future that is as far away is none either: the clock that wrote it was wrong.
    """
    try:
        return abs(files.age(claim)) > STALE or _is_dead(_owner_of(claim))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _owner_of(claim: Location) -> Mapping[str, Any]:
    """Return what a claim says of who made it; nothing while it is replaced, or if it is none."""
    try:
        owner = files.read_json(claim)
    except (ResultError, ValueError):
        return {}
    return owner if isinstance(owner, Mapping) else {}


def _is_dead(owner: Mapping[str, Any]) -> bool:
    """Whether a claim was made by a process of this machine that has ended."""
    if owner.get("host") != socket.gethostname() or files.WINDOWS:
        return False
    number = owner.get("process")
    if not isinstance(number, int) or not 0 < number < _MOST_PROCESSES:
        return False
    if number == os.getpid():
        return owner.get("token") != _ME
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _said(hardware: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in hardware.items()) or "unknown hardware"
