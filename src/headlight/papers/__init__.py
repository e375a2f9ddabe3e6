"""The tables and figures of papers, computed on any model beside the published numbers."""

from typing import TYPE_CHECKING

from headlight.errors import UnknownNameError

if TYPE_CHECKING:
    from headlight.papers.plan import Paper

__all__ = ["NAMES", "find_paper"]

NAMES = ("clark2019",)


def find_paper(name: str) -> "Paper":
    """The paper of that name.

    Raises:
        UnknownNameError: it is none of `NAMES`.
    """
    if name not in NAMES:
        raise UnknownNameError("paper", name, NAMES)
    from headlight.papers.clark2019 import PAPER

    return PAPER
