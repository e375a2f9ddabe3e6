"""The tables and figures of papers, computed on any model beside the published numbers."""

from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

from headlight.errors import UnknownNameError

if TYPE_CHECKING:
    from headlight.papers.exhibit import Paper

__all__ = ["NAMES", "PaperName", "find_paper"]

PaperName = Literal[
    "clark2019", "kobayashi2020", "brunner2020", "yang2020", "jain2019", "wiegreffe2019"
]
NAMES: tuple[PaperName, ...] = get_args(PaperName)


def find_paper(name: str) -> "Paper":
    """The paper of that name.

    Raises:
        UnknownNameError: it is none of `NAMES`.
    """
    if name not in NAMES:
        raise UnknownNameError("paper", name, NAMES)
    paper: Paper = import_module(f"headlight.papers.{name}").PAPER
    return paper
