"""The tables and figures of papers, computed on any model beside the published numbers."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, get_args

from headlight.errors import UnknownNameError

if TYPE_CHECKING:
    from headlight_papers.papers.paper import Paper
    from headlight_papers.papers.settings import PaperSettings

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
    """Return the paper of that name.

    Raises:
        UnknownNameError: The name is none of `NAMES`.
    """
    settings = find_settings(name)
    if settings.__module__.startswith(f"{__name__}.token_maps."):
        result: Paper = import_module(f"{__name__}.token_maps.exhibits").paper_of(settings)
    else:
        result = import_module(f"{settings.__module__}.paper").PAPER
    return result


def find_settings(name: str) -> "type[PaperSettings]":
    """Return the settings of the paper of that name, without an import of torch.

    A paper is a package with a module ``paper``, or, if it is on maps of tokens, a class of
    settings that describes all of it.

    Raises:
        UnknownNameError: The name is none of `NAMES`.
    """
    if name not in NAMES:
        raise UnknownNameError("paper", name, NAMES)
    if find_spec(f"{__name__}.{name}"):
        settings: type[PaperSettings] = import_module(f"{__name__}.{name}").Settings
    else:
        settings = import_module(f"{__name__}.token_maps").MAP_PAPERS[name]
    return settings
