"""Loops over single numbers, compiled by numba where it is installed."""

from collections.abc import Callable, Sequence
from inspect import unwrap
from types import FunctionType
from typing import Any


def compile_loop(loop: Callable[..., Any], **options: Any) -> Callable[..., Any] | None:
    """What does as the function does, many times as fast; None without numba.

    It is compiled when first called, which takes about a second; so a function should be given to
    this once.  Decorate it with ``no_type_check``: what wraps a function to check its types cannot
    be compiled.

    Args:
        loop: of arrays and numbers alone.
        options: of ``numba.njit``.
    """
    try:
        from numba import njit
    except ImportError:
        return None
    compiled: Callable[..., Any] = njit(loop, **options)
    return compiled


def compile_together(
    loop: Callable[..., Any], helpers: Sequence[Callable[..., Any]], **options: Any
) -> Callable[..., Any] | None:
    """The same for a loop that calls other functions, each of which may call those before it.

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
