"""Let the process keep the memory that it frees."""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library
_A_GIGABYTE = 1 << 30


def keep_freed_memory() -> None:
    """Do not give blocks of up to a gigabyte back to the system between layers.

    Every layer of every batch asks for the same few large blocks; fetching them afresh as empty
    pages costs a tenth of a survey.  Peak memory stays what it was.  Does nothing without the GNU C
    library.
    """
    if sys.platform != "linux":
        return
    try:
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, _A_GIGABYTE)
        library.mallopt(_TRIM_THRESHOLD, _A_GIGABYTE)
    except (OSError, AttributeError):
        return
