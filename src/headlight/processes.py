"""Processes: how they start, what they take from the working folder, their cores and their memory.

Processes of this machine: how many cores they may use, and how Python is started.
Python that is started as ``python -c`` or ``python -m`` looks for modules in the working folder
before all others, where a corpus may lie that somebody else packed: a file ``numpy.py`` beside it
would be run. What Headlight starts, and what is started for it, runs in the safe-path mode of
Python instead (``-P``, ``PYTHONSAFEPATH``), in which the working folder is not looked into; folders
that ``PYTHONPATH`` names are.
Libraries that look for settings there are imported from elsewhere if it holds any.
"""

import atexit
import ctypes
import gc
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module
from types import ModuleType

from headlight.errors import HeadlightWarning

SAFE_PATH = "PYTHONSAFEPATH"
SETTINGS_OF_FOLDER = {"numba": ".numba_config.yaml", "matplotlib": "matplotlibrc"}
"""Libraries that take settings from the working folder, and the file in which they look there.

Those of numba say where compiled loops are kept, as files that run code when they are read.
"""


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def python_command(*arguments: str) -> list[str]:
    """Return the command that starts this Python in safe-path mode.

    Whatever this process ignores, the environment or packages of the user, the other ignores too.

    Args:
        arguments: Those of Python, such as ``-m headlight``.
    """
    ignored = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site}
    return [sys.executable, "-P", *(flag for flag, is_set in ignored.items() if is_set), *arguments]


@contextmanager
def safe_start() -> Iterator[None]:
    """Start processes in safe-path mode within the block, where a library writes their command.

    `multiprocessing` also hands on the search path of this process, in which the empty string
    stands for the working folder of a notebook or an interactive session.  It goes to the end, so
    that modules of that folder can still be imported, and take the place of no others.
    """
    before, path = os.environ.get(SAFE_PATH), list(sys.path)
    os.environ[SAFE_PATH] = "1"
    sys.path.sort(key=lambda folder: not folder)  # stable: all others stay in their order
    try:
        yield
    finally:
        sys.path[:] = path
        if before is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = before


def import_apart(library: str) -> ModuleType:
    """Import a library as if the working folder held no settings of it.

    The working folder of all threads is another one for the moment of the import, and only if there
    are such settings.

    Args:
        library: of `SETTINGS_OF_FOLDER`.

    Raises:
        ImportError: it is not installed, or damaged.
    """
    file = SETTINGS_OF_FOLDER[library]
    elsewhere: AbstractContextManager[None] = nullcontext()
    if os.path.lexists(file):
        warnings.warn(f"{file} of the working folder is not read.", HeadlightWarning, stacklevel=2)
        if library not in sys.modules:
            elsewhere = chdir(sys.prefix)
    with elsewhere:
        module = import_module(library)
    if library == "numba":
        module.config._config_fname = os.devnull  # else it would look there again for each loop
        module.config.reload_config()  # without what the file said, if somebody else imported it
    return module


def ignore_settings_of_folder() -> None:
    """Import now what would take settings from the working folder, if it holds any.

    Whichever library needs it later then finds it imported.  Only for a program: who calls
    Headlight from Python may mean the settings for pictures of their own.
    """
    for library, file in SETTINGS_OF_FOLDER.items():
        if os.path.lexists(file):
            with suppress(Exception):  # refused by who needs it
                import_apart(library)


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


@contextmanager
def lasting_imports() -> Iterator[None]:
    """Import torch and what needs it within the block, without a search for garbage.

    Imports make some million objects that last as long as the process, and the collector of Python
    would walk through them again and again, for a fifth of the time of all imports.  They are
    frozen at the end, and so are skipped until the process ends.  Where torch is imported already,
    objects of others may be garbage, and nothing changes.
    """
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # extension modules complain of what they have left by then
        gc.enable()
