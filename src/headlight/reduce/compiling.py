"""Loops over single numbers, compiled by numba where it is installed and works."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from inspect import unwrap
from types import FunctionType
from typing import Any

from headlight.errors import HeadlightWarning


def numba_version() -> str | None:
    """Return the version of the numba by which loops are compiled; None where they are not.

    Compiled loops add in another order, so that last bits depend on it.
    """
    numba = _numba()
    return None if numba is None else str(numba.__version__)


def _numba() -> Any | None:
    try:
        import numba
    except Exception as problem:  # noqa: BLE001 - a broken build raises anything
        if not (isinstance(problem, ModuleNotFoundError) and problem.name == "numba"):
            _note(" ".join(f"{type(problem).__name__}: {problem}".split()).rstrip(".:"))
        return None
    return numba


@cache
def _note(problem: str) -> None:
    warnings.warn(
        f"numba is installed and cannot be used ({problem}), so that loops take several times as "
        "long; install it again, or remove it.",
        HeadlightWarning,
        stacklevel=2,
    )


def compile_loop(loop: Callable[..., Any], **options: Any) -> Callable[..., Any] | None:
    """Compile a function, which then runs many times as fast; None without numba.

    It is compiled when first called, which takes about a second; so a function should be given to
    this once.  Decorate it with ``no_type_check``: what wraps a function to check its types cannot
    be compiled.

    Args:
        loop: of arrays and numbers alone.
        options: of ``numba.njit``.
    """
    numba = _numba()
    if numba is None:
        return None
    compiled: Callable[..., Any] = numba.njit(loop, **options)
    return compiled


def compile_together(
    loop: Callable[..., Any], helpers: Sequence[Callable[..., Any]], **options: Any
) -> Callable[..., Any] | None:
    """Compile a loop that calls other functions, each of which may call those before it.

    What was compiled is kept on the disk, where that can be written: a long loop takes seconds.
    Numbers that the loops name are part of what is kept; those of other modules must never change.
    """
    scope = dict(loop.__globals__)
    compiled = None
    for each in map(unwrap, (*helpers, loop)):  # out of what checks their types, if anything
        function = FunctionType(each.__code__, scope, each.__name__)
        function.__qualname__ = each.__qualname__
        compiled = _kept(function, options)
        scope[each.__name__] = compiled
    return compiled


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any] | None:
    try:
        return compile_loop(function, cache=True, **options)
    except RuntimeError:  # of numba, where no folder can be written
        return compile_loop(function, **options)
