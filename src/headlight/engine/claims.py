"""Claims of blocks: which process is at which, and whether it still gives signs of life."""

import os
import secrets
import socket
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from headlight import files
from headlight.engine.file_names import BLOCK_FILE, CLAIMS
from headlight.engine.pass_folders import plans
from headlight.errors import ResultError
from headlight.files import Location

STALE = 120.0
"""Seconds without a sign of life after which a process is taken to be gone."""
BEAT = 20.0
"""Seconds between two signs of life."""

_MOST_PROCESSES = 2**31  # larger numbers make `os.kill` raise an OverflowError
PROCESS_TOKEN = secrets.token_hex(8)


def workers_at(folder: Location) -> int:
    """Count the processes that are at a block now, as far as their signs of life tell."""
    return sum(map(workers_in, plans(folder)))


def workers_in(place: Location) -> int:
    """Count the processes that are at a block of one pass."""
    claims = [path for path in (place / CLAIMS).glob("*.json") if BLOCK_FILE.fullmatch(path.name)]
    return sum(not is_stale(path) for path in claims)


def release_claims(folder: Location, hosts: Collection[str]) -> None:
    """Release the claims of machines that are known to be gone, in all passes of a run."""
    for path in [path for place in plans(folder) for path in (place / CLAIMS).glob("*.json")]:
        with suppress(OSError):  # it was released
            if _owner_of(path).get("host") in hosts:
                path.unlink(missing_ok=True)


def is_stale(claim: Location) -> bool:
    """Whether a claim is stale: its file is missing, or its owner is gone.

    A claim that lies as far in the future is stale, too: the clock that wrote it was wrong.
    """
    try:
        return abs(files.age(claim)) > STALE or _is_dead(_owner_of(claim))
    except FileNotFoundError:
        return True
    except OSError:  # of the disk, which says nothing about the owner
        return False


def _owner_of(claim: Location) -> Mapping[str, Any]:
    """Return the owner that a claim names; nothing while it is replaced, or if it is no claim."""
    try:
        owner = files.read_json(claim)
    except (ResultError, ValueError):
        return {}
    return owner if isinstance(owner, Mapping) else {}


def _is_dead(owner: Mapping[str, Any]) -> bool:
    """Whether a claim was made by a process of this machine that has ended."""
    # On Windows signal 0 is Ctrl-C, and no mere test.
    if owner.get("host") != socket.gethostname() or files.WINDOWS:
        return False
    number = owner.get("process")
    if not isinstance(number, int) or not 0 < number < _MOST_PROCESSES:
        return False
    # The number of a process that has ended may be used again; its token is not.
    if number == os.getpid():
        return owner.get("token") != PROCESS_TOKEN
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
