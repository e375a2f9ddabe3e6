"""Let the process keep the memory that it frees, or give it back."""

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library
_A_GIGABYTE = 1 << 30


def keep_freed_memory() -> None:
    """Do not give blocks of up to a gigabyte back to the system between layers.

    Every layer of every batch asks for the same few large blocks; fetching them afresh as empty
    pages costs a tenth of a survey.  Peak memory stays what it was.  It holds for the whole process
    and for good, so only a program may ask for it, as the command line does.  Does nothing without
    the GNU C library.
    """
    library = _library()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, _A_GIGABYTE)
        library.mallopt(_TRIM_THRESHOLD, _A_GIGABYTE)


def give_freed_memory_back() -> None:
    """Give the system all pages that are free.

    Blocks of a different size for every text leave holes that no later one fits into, and kept
    memory would grow with the corpus.  Does nothing without the GNU C library.
    """
    library = _library()
    if library is not None:
        library.malloc_trim(0)


@cache
def _library() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    try:
        library = ctypes.CDLL(None)
        return library if library.mallopt and library.malloc_trim else None
    except (OSError, AttributeError):
        return None
