"""The tables and figures of papers, computed on any model beside the published numbers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, get_args

from headlight.errors import UnknownNameError

if TYPE_CHECKING:
    from headlight.papers.exhibit import Paper
    from headlight.papers.settings import PaperSettings

__all__ = ["NAMES", "PaperName", "find_paper", "find_settings"]

PaperName = Literal[
    "clark2019",
    "kobayashi2020",
    "brunner2020",
    "yang2020",
    "jain2019",
    "wiegreffe2019",
    "kobayashi2021",
    "abnar2020",
    "modarressi2022",
    "ferrando2022",
    "modarressi2023",
]
NAMES: tuple[PaperName, ...] = get_args(PaperName)


def find_paper(name: str) -> "Paper":
    """The paper of that name.

    Raises:
        UnknownNameError: it is none of `NAMES`.
    """
    paper: Paper = _lookup(name, "paper", "PAPER")
    return paper


def find_settings(name: str) -> "type[PaperSettings]":
    """The settings of the paper of that name, which say what it takes; without torch.

    Raises:
        UnknownNameError: it is none of `NAMES`.
    """
    settings: type[PaperSettings] = _lookup(name, "settings", "Settings")
    return settings


def _lookup(name: str, module: str, what: str) -> Any:
    if name not in NAMES:
        raise UnknownNameError("paper", name, NAMES)
    return getattr(import_module(f"headlight.papers.{name}.{module}"), what)
