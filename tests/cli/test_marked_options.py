"""Marks on the fields of settings: what they make of options, in any package."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest

from headlight.cli.setting_options import FEW, MORE, SettingOption, options_of, takes_settings
from headlight.errors import UsageError
from headlight.settings import CHOSEN, REPEATED, Common, Heads, Layers, Names, OwnLayers, Settings


@dataclass(frozen=True, kw_only=True)
class Marked(Settings):
    """Settings that another package could declare.

    Attributes:
        rare: rarely needed number.
        layers: layers.
        heads: heads.
        ways: ways.
        texts: texts.
        size: size.
        words: words.
        shares: shares.
    """

    rare: int = 0
    layers: Common[Layers | None] = None
    heads: Heads | None = None
    ways: Annotated[tuple[str, ...], Names(lambda: ("near", "far"))] = ()
    texts: Common[Annotated[tuple[str, ...], REPEATED]] = ()
    size: Annotated[int | None, CHOSEN] = None
    words: tuple[str, ...] | None = None
    shares: tuple[float, ...] = (0.1, 1.0)


@dataclass(frozen=True, kw_only=True)
class Large(Marked):
    """Settings that are too many for a single heading."""

    first: int = 0
    second: int = 0
    third: int = 0


def option(name: str) -> SettingOption:
    return next(option for option in options_of(Marked) if option.name == name)


def headings(settings: type[Settings]) -> dict[str, str | None]:
    """Return the heading of each option, in the order of the help."""

    @takes_settings(settings=settings)
    def command(*, settings: Settings) -> None:
        """Do nothing."""

    parameters = inspect.signature(command).parameters
    return {
        name: parameter.annotation.__metadata__[0].rich_help_panel
        for name, parameter in parameters.items()
    }


def test_common_options_stand_first_where_there_are_many() -> None:
    rest = ("rare", "heads", "ways", "size", "words", "shares", "first", "second", "third")
    assert len(rest) + 2 > FEW
    assert headings(Large) == {"layers": None, "texts": None, **dict.fromkeys(rest, MORE)}
    assert [*headings(Large)][:2] == ["layers", "texts"]
    assert headings(Marked) == dict.fromkeys(Marked.hints())


def test_numbers_are_read_with_their_letter() -> None:
    assert option("layers").parsed("L3,0,4-5") == [0, 3, 4, 5]
    assert option("heads").parsed("H2,1") == [1, 2]
    own = option("layers").parsed("model:7,3")
    assert (own, type(own)) == ((3, 7), OwnLayers)
    with pytest.raises(UsageError, match=r"L3H2 is head 2 of layer 3, .* write 2"):
        option("heads").parsed("L3H2")
    with pytest.raises(UsageError, match="'model:3' is not a number"):
        option("heads").parsed("model:3")


def test_help_lists_names_of_a_table_and_what_may_be_written() -> None:
    assert option("ways").help == "Ways. Choices: near, far."
    assert option("texts").help == "Texts. May be given more than once."
    assert option("heads").help == "Heads. Such as 0,3-5."
    assert (
        option("layers").help == "Layers. Such as 0,3-5, or model:3,7 as the model itself counts."
    )
    assert option("words").help == "Words. With commas between them."
    assert option("shares").help == "Shares. Default: 0.1,1."  # which shows it
    assert option("size").help == "Size. Default: auto."
    assert option("size").parsed("auto") == "auto"
    assert Marked.from_mapping({"size": "auto"}).size is None
