"""Processes of this machine: their start, their working folder, their cores and their memory.

Python that is started as ``python -c`` or ``python -m`` looks for modules in the working folder
before all others.  A corpus that somebody else packed may lie there, and a file ``numpy.py`` beside
it would be run.  Processes that Headlight starts, and those of its libraries, therefore run in the
safe-path mode of Python (``-P``, ``PYTHONSAFEPATH``), which skips the working folder, but not the
folders in ``PYTHONPATH``.  Libraries that look for settings in the working folder are imported from
elsewhere if it holds any.
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
    if hasattr(os, "sched_getaffinity"):  # only Linux tells the cores of a container or a job
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def python_command(*arguments: str) -> list[str]:
    """Return the command that starts this Python in safe-path mode.

    The environment and the packages of the user are ignored if this process ignores them.

    Args:
        arguments: Arguments of Python, such as ``-m headlight``.
    """
    ignored = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site}
    return [sys.executable, "-P", *(flag for flag, is_set in ignored.items() if is_set), *arguments]


@contextmanager
def safe_start() -> Iterator[None]:
    """Start processes in safe-path mode within the block, where a library writes their command."""
    before, path = os.environ.get(SAFE_PATH), list(sys.path)
    os.environ[SAFE_PATH] = "1"
    # `multiprocessing` hands on the search path of this process, in which the empty string is the
    # working folder of a notebook or an interactive session.  At the end of the path, modules of
    # that folder can still be imported, and replace no others.
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

    Args:
        library: Name of a library in `SETTINGS_OF_FOLDER`.

    Raises:
        ImportError: It is not installed, or damaged.
    """
    file = SETTINGS_OF_FOLDER[library]
    elsewhere: AbstractContextManager[None] = nullcontext()
    if os.path.lexists(file):
        warnings.warn(f"{file} of the working folder is not read.", HeadlightWarning, stacklevel=2)
        if library not in sys.modules:
            # The working folder of all threads, and so only for the moment of the import.
            elsewhere = chdir(sys.prefix)
    with elsewhere:
        module = import_module(library)
    if library == "numba":
        # numba reads its settings again for each loop that it compiles; and somebody else may have
        # imported it with those of the working folder.
        module.config._config_fname = os.devnull
        module.config.reload_config()
    return module


def ignore_settings_of_folder() -> None:
    """Import libraries that take settings from the working folder now, if it holds any.

    Other libraries that need them then have them imported.  Only programs may call this: users who
    call Headlight from Python may have made the settings for their own pictures.
    """
    for library, file in SETTINGS_OF_FOLDER.items():
        if os.path.lexists(file):
            with suppress(Exception):  # raised again where it is needed
                import_apart(library)


SECONDS, BYTES = 20.0, 1 << 29
"""Maximum time and additional memory of a call in a `BoundedCopy`."""


class BoundedCopy:
    """Copy of this process in which a function is called, within limits of time and memory.

    It runs programs of others, such as chat templates: Python itself stops neither a loop nor one
    operation on large numbers.  Arguments and results travel as JSON.  The copy has no threads and
    no open files, ends with this process, and is made again after a call that exceeded a limit.
    Where processes cannot be copied, the function is called in this one.

    Args:
        function: Function of JSON values that returns a JSON value.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._process = self._owner = 0
        self._request = self._answer = -1

    def __call__(self, *arguments: Any) -> Any:
        """Return the result of the function.

        Raises:
            RuntimeError: The function has raised an error, which the message names, or has taken
                too much time or memory.
        """
        if sys.platform != "linux":
            return self._function(*arguments)
        request = json.dumps(arguments).encode() + b"\n"
        with self._lock:
            if self._owner != os.getpid():  # there is no copy, or a fork has inherited this object
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
            # Python warns of forks of processes with threads, whose locks may stay locked; the copy
            # uses none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process = os.fork()
        if not self._process:
            try:
                _answer_calls(self._function, request, answer)
            finally:
                os._exit(0)  # whatever was raised, the copy must not go on as this process
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
    """Answer calls, a line each, until the other end of the pipe is closed."""
    import resource  # Windows has none

    gc.disable()  # it would write to all shared memory, and so copy it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The pipes take the place of standard input and output, and all else is closed: a lock or a
    # socket that the copy kept open would outlive this process's hold on it.
    silent = os.open(os.devnull, os.O_WRONLY)
    for place, descriptor in enumerate((request, answer, silent)):
        os.dup2(descriptor, place)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - no paths
        if descriptor > 2:
            with suppress(OSError):  # the descriptor of the listing itself is closed by now
                os.close(descriptor)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads are not copied
    # The limit counts the whole address space, of which libraries reserve far more than they use:
    # the call may have so much beside what is reserved already.
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with open(0, "rb", closefd=False) as calls:
        for line in calls:
            try:
                reply = {"result": function(*json.loads(line))}
            except MemoryError:
                reply = {"error": _TOO_LARGE}
            except Exception as problem:  # noqa: BLE001 - the caller judges it
                first = (str(problem).splitlines() or [""])[0]
                reply = {"error": first or type(problem).__name__}
            _write(1, json.dumps(reply).encode() + b"\n")


def _write(descriptor: int, content: bytes) -> None:
    # A pipe may take a part of the content at a time.
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h of the GNU C library
_A_GIGABYTE = 1 << 30


def keep_freed_memory() -> None:
    """Keep freed blocks of up to a gigabyte for this process, which only a program may ask for.

    It holds for the whole process and for good; without the GNU C library nothing is done.
    """
    # Every layer of every batch asks for the same few large blocks; fetching them afresh as empty
    # pages costs a tenth of a survey.  Peak memory stays what it was.
    library = _library()
    if library is not None:
        library.mallopt(_MMAP_THRESHOLD, _A_GIGABYTE)
        library.mallopt(_TRIM_THRESHOLD, _A_GIGABYTE)


def give_freed_memory_back() -> None:
    """Give all free pages back to the system; without the GNU C library nothing is done."""
    # Blocks of a different size for every text leave holes that no later one fits into, and the
    # memory that is kept would grow with the corpus.
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
    """Import torch and libraries that need it within the block, without garbage collection."""
    # Where torch is imported already, objects of others may be garbage, which must not be frozen.
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    # Imports make some million objects that last as long as the process; the collector would walk
    # through them again and again, for a fifth of the time of all imports.  Frozen, they are
    # skipped from then on.
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # extension modules complain of what they have left by then
        gc.enable()
