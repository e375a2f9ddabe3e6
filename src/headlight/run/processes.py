"""Processes of this machine, and whether a run is shared by several."""

import os
from typing import Literal

Mode = Literal["begin", "resume", "share"]
"""How a folder is used: it must be empty, a run in it is gone on with, or others work in it too."""


def usable_cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
