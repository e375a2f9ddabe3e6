"""A run that several processes share: blocks of shards, who is at which, and what is done."""

import json
import os
import secrets
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from headlight import files
from headlight.errors import ResultError, RunError
from headlight.files import Location
from headlight.run.checkpoint import (
    SHARD_ELEMENTS,
    State,
    check_signature,
    from_earlier_version,
    load_state,
    save_state,
)

PLAN = "plan.json"
BLOCKS = "blocks"
CLAIMS = "claims"
COUNTS = "counts"
STALE = 120.0
"""Seconds after which somebody who gave no sign of life is taken to be gone."""
BEAT = 20.0
"""Seconds between two signs of life."""
_ALONE = 256
"""Of so many shards each is a block; then blocks double whenever the number of shards does."""
_LARGEST = 6
"""Blocks hold at most two to this power of shards."""
_ME = secrets.token_hex(8)


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
        """How many it has, which depends on where it begins alone.

        Small at first, so that short runs keep all workers busy; a power of two that divides
        `first`, so that it is a subtree of `headlight.reduce.Tree`.
        """
        grown = min((self.first // _ALONE).bit_length(), _LARGEST)
        aligned = (self.first & -self.first).bit_length() - 1 if self.first else 0
        return 1 << min(grown, aligned)

    @property
    def name(self) -> str:
        """Of its file."""
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
        for each in (folder, folder / BLOCKS, folder / CLAIMS, folder / COUNTS):
            files.make_folder(each, error=RunError)
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
                "hardware, or choose another folder with --out."
            )

    def is_done(self, block: Block) -> bool:
        """Whether it is measured."""
        return self._path(block).exists()

    def check_corpus(self, block: Block) -> None:
        """Notice workers with another corpus.

        Raises:
            RunError: somebody measured a block that begins here, of another corpus.
        """
        found = (self.folder / BLOCKS).glob(f"{block.first:09d}-*.safetensors")
        if any(path.stem != block.name for path in found):
            raise RunError(
                f"the corpus has changed since the run in {self.folder} began, or differs between "
                "its workers; give all of them the same, or begin anew with --overwrite."
            )

    def keep(self, block: Block, state: State) -> None:
        """Store what was measured: the state of the block's examples alone."""
        counted = json.dumps({"examples": state.examples}).encode()
        files.write(_counts_of(self.folder, block.name), counted, error=RunError)
        save_state(self._path(block), state, {"begins": block.digest})

    def read(self, block: Block) -> State:
        """What was measured.

        Raises:
            RunError: it cannot be read.
        """
        path = self._path(block)
        try:
            state, notes = load_state(path)
            begins = notes["begins"]
        except (ResultError, KeyError, TypeError, ValueError) as problem:
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
        """Whether nobody is at something: nobody claimed it, or whoever did is gone."""
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
        found = json.loads(files.read(folder / PLAN, error=RunError))
        return dict(found["signature"]), dict(found["hardware"])
    except (KeyError, TypeError, ValueError) as problem:
        raise RunError(f"{folder / PLAN} is damaged; begin anew with --overwrite.") from problem


def blocks_done(folder: Location) -> Sequence[str]:
    """The names of the blocks that are measured in a folder."""
    return sorted(path.stem for path in (folder / BLOCKS).glob("*.safetensors"))


def examples_in(folder: Location, name: str) -> int:
    """How many examples a block has that is measured; 0 where nobody can tell."""
    try:
        return int(json.loads(_counts_of(folder, name).read_bytes())["examples"])
    except (OSError, KeyError, TypeError, ValueError):
        return 0


def plans(folder: Location) -> Iterator[Location]:
    """The folders in which passes of a shared run are: its own, and those in it."""
    inside = [each for each in folder.glob("*") if each.is_dir()]
    yield from (each for each in (folder, *inside) if (each / PLAN).exists())


def workers_at(folder: Location) -> int:
    """How many processes are at a block now, as far as their signs of life tell."""
    return sum(map(workers_in, plans(folder)))


def workers_in(place: Location) -> int:
    """The same of one pass."""
    return sum(not _is_stale(path) for path in (place / CLAIMS).glob("*.json"))


def release_claims(folder: Location, hosts: Collection[str]) -> None:
    """Free what is claimed by machines that are known to be gone, in all passes of a run."""
    for path in [each for place in plans(folder) for each in (place / CLAIMS).glob("*.json")]:
        with suppress(OSError, ValueError):  # it was freed, or is being replaced
            if json.loads(path.read_bytes()).get("host") in hosts:
                path.unlink(missing_ok=True)


def remove_blocks(folder: Location) -> None:
    """Remove what is there only so that a shared run can go on."""
    for place in list(plans(folder)):
        inside = [place / name for name in (BLOCKS, CLAIMS, COUNTS)]
        for path in (*(each for folder in inside for each in folder.glob("*")), place / PLAN):
            path.unlink(missing_ok=True)
        for inner in inside:
            with suppress(OSError):
                inner.rmdir()


def _counts_of(folder: Location, name: str) -> Location:
    """Where it stands how many examples a block has, for bars, without its state."""
    return folder / COUNTS / f"{name}.json"


def _is_stale(claim: Location) -> bool:
    """Whether nobody is at what is claimed in a file: there is none, or its owner is gone."""
    try:
        silent = files.age(claim)
        owner = json.loads(claim.read_bytes())
    except FileNotFoundError:
        return True
    except (OSError, ValueError):  # it is being replaced
        return False
    return silent > STALE or _is_dead(owner)


def _is_dead(owner: Mapping[str, Any]) -> bool:
    """Whether a claim was made by a process of this machine that has ended."""
    if owner.get("host") != socket.gethostname() or files.WINDOWS:
        return False
    number = int(owner.get("process", 0))
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
