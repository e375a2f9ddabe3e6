"""Cases of a test of which `make test` runs some, and `make test-long` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_long(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """Return the cases, marked `long` but for those that are kept."""
    return [case if case in kept else pytest.param(case, marks=pytest.mark.long) for case in cases]
