"""Loops over single numbers, compiled by numba for the processor."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import unwrap
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from headlight.errors import UsageError
from headlight.processes import import_apart


def import_numba() -> ModuleType:
    """Import numba, which takes half a second, without its settings in the working folder.

    Raises:
        UsageError: It is missing or damaged.
    """
    try:
        return import_apart("numba")
    except Exception as problem:
        reason = " ".join(f"{type(problem).__name__}: {problem}".split()).rstrip(".:")
        raise UsageError(
            f"numba, which compiles loops, cannot be loaded ({reason}); reinstall it with pip."
        ) from problem


def compile_loop(
    loop: Callable[..., Any],
    helpers: Sequence[Callable[..., Any]] = (),
    *,
    finite: bool = False,
) -> Callable[..., Any]:
    """Compile a loop and its helpers, each of which may call those before it.

    It is compiled when first called, which takes seconds, and kept on the disk where that can be
    written, so that they are spent once for each version of the loop, of numba and of the
    processor.  Constants that the loops name are part of the kept code; those of other modules must
    never change.  Decorate all with ``no_type_check``: a wrapper that checks the types of a
    function cannot be compiled.

    Args:
        loop: Function of arrays and numbers alone.
        helpers: Functions that the loop calls.
        finite: Whether all numbers that the loop reads or computes are finite, so that several
            cells can be compared in one step.

    Raises:
        UsageError: Numba is missing or damaged.
    """
    numba = import_numba()
    functions = [unwrap(source) for source in (*helpers, loop)]  # without wrappers that check types
    # Loops of several modules are compiled as if one module held them all, with its constants.
    scope: dict[str, Any] = {}
    for source in functions:
        scope |= source.__globals__
    for source in functions:
        function = FunctionType(source.__code__, scope, source.__name__)
        function.__qualname__ = source.__qualname__
        scope[source.__name__] = _compile(numba, function, finite=finite)
    compiled: Callable[..., Any] = scope[loop.__name__]
    return compiled


def run_in_threads(work: Callable[[int, int], object], threads: int) -> None:
    """Call a function with the number of threads and that of each, every call in its own thread.

    Args:
        work: Function to call; each call must have results of its own, so that no bit depends on
            the number of threads.
        threads: Number of threads; with one, the call runs in this thread.
    """
    if threads == 1:
        work(1, 0)
        return
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(partial(work, threads), range(threads)))  # raises what a thread has raised


def _compile(numba: ModuleType, function: Callable[..., Any], *, finite: bool) -> Any:
    # "reassoc" lets sums run in steps of several cells; fastmath as a whole would promise, for all
    # loops, that numbers are finite.
    liberties = {"reassoc", "contract", "nsz"} | ({"nnan", "ninf"} if finite else set())
    options = {"nogil": True, "fastmath": liberties}
    has_home = Path(os.path.expanduser("~")).is_absolute()  # noqa: PTH111 - pathlib raises
    try:
        # For a user without a home, the folder of kept loops would lie in the working folder.
        return numba.njit(function, cache=has_home, **options)
    except RuntimeError:  # of numba, where no folder can be written
        return numba.njit(function, **options)
