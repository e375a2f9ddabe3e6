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
import json
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, chdir, contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

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


SECONDS, BYTES = 20.0, 1 << 29
"""Time and memory that a call in a `BoundedCopy` may take."""


class BoundedCopy:
    """A copy of this process in which a function is called, each time within limits.

    That is for programs of others, in which Python itself stops neither a loop nor one operation on
    large numbers.  Arguments and results travel as JSON.  The copy has no threads and no open
    files, ends with this process, and is made again after a call that went too far.  Where
    processes cannot be copied, the function is called in this one.

    Args:
        function: Of values of JSON, to a value of JSON.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._process = self._owner = 0
        self._request = self._answer = -1

    def __call__(self, *arguments: Any) -> Any:
        """Return what the function does.

        Raises:
            RuntimeError: The function has raised something, which the message names, or has taken
                too much time or memory.
        """
        if sys.platform != "linux":
            return self._function(*arguments)
        request = json.dumps(arguments).encode() + b"\n"
        with self._lock:
            if self._owner != os.getpid():  # there is none, or that of another copy of this object
                self._begin()
            try:
                answer = json.loads(self._exchanged(request))
            except BaseException:
                self.end()
                raise
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def end(self) -> None:
        """End the copy; the next call makes another."""
        if self._owner == os.getpid():
            self._owner = 0
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
            os.close(self._request)
            os.close(self._answer)

    def __del__(self) -> None:
        with suppress(Exception):
            self.end()

    def _begin(self) -> None:
        request, self._request = os.pipe()
        self._answer, answer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of other threads, left behind
            self._process = os.fork()
        if not self._process:
            try:
                _answer_calls(self._function, request, answer)
            finally:
                os._exit(0)  # whatever it was, the copy must not go on as this process
        self._owner = os.getpid()
        os.close(request)
        os.close(answer)

    def _exchanged(self, request: bytes) -> bytes:
        until = time.monotonic() + SECONDS
        watched = select.poll()
        watched.register(self._answer, select.POLLIN)
        answer = b""
        try:
            _write(self._request, request)
            while not answer.endswith(b"\n"):
                if not watched.poll(max(0.0, until - time.monotonic()) * 1000):
                    raise RuntimeError(f"it takes more than {SECONDS:.0f} seconds")
                part = os.read(self._answer, 1 << 20)
                if not part or len(answer) > BYTES:
                    raise RuntimeError(_TOO_LARGE)
                answer += part
        except BrokenPipeError as problem:
            raise RuntimeError(_TOO_LARGE) from problem
        return answer


_TOO_LARGE = f"it takes more than {BYTES >> 20} MB of memory"


def _answer_calls(function: Callable[..., Any], request: int, answer: int) -> None:
    """Answer calls, a line each, as long as somebody asks."""
    import resource  # not everywhere

    gc.disable()  # it would write to all memory that is shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # In place of standard input and output; no lock, socket or pipe of the process is kept open.
    silent = os.open(os.devnull, os.O_WRONLY)
    for place, descriptor in enumerate((request, answer, silent)):
        os.dup2(descriptor, place)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - no paths
        if descriptor > 2:
            with suppress(OSError):  # that of the list itself
                os.close(descriptor)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # threads, of which there is one
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with open(0, "rb", closefd=False) as calls:
        for line in calls:
            try:
                reply = {"result": function(*json.loads(line))}
            except MemoryError:
                reply = {"error": _TOO_LARGE}
            except Exception as problem:  # noqa: BLE001 - it is the caller's to judge
                first = (str(problem).splitlines() or [""])[0]
                reply = {"error": first or type(problem).__name__}
            _write(1, json.dumps(reply).encode() + b"\n")


def _write(descriptor: int, content: bytes) -> None:
    """Write all to a pipe, which may take a part at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


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
