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
"""Seconds after which somebody who gave no sign of life is taken to be gone."""
BEAT = 20.0
"""Seconds between two signs of life."""

_MOST_PROCESSES = 2**31
PROCESS_TOKEN = secrets.token_hex(8)


def workers_at(folder: Location) -> int:
    """Count the processes that are at a block now, as far as their signs of life tell."""
    return sum(map(workers_in, plans(folder)))


def workers_in(place: Location) -> int:
    """Count the processes that are at a block of one pass."""
    claims = [path for path in (place / CLAIMS).glob("*.json") if BLOCK_FILE.fullmatch(path.name)]
    return sum(not is_stale(path) for path in claims)


def release_claims(folder: Location, hosts: Collection[str]) -> None:
    """Free what is claimed by machines that are known to be gone, in all passes of a run."""
    for path in [each for place in plans(folder) for each in (place / CLAIMS).glob("*.json")]:
        with suppress(OSError):  # it was freed
            if _owner_of(path).get("host") in hosts:
                path.unlink(missing_ok=True)


def is_stale(claim: Location) -> bool:
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
        return owner.get("token") != PROCESS_TOKEN
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
