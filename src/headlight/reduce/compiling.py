"""Loops over single numbers, compiled by numba where it is installed."""

from collections.abc import Callable
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
