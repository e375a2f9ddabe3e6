"""Settings of our own: what is checked, said and kept of them."""

import copy
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from headlight.errors import UnknownNameError, UsageError
from headlight.settings import (
    NO_EFFECT,
    AtLeast1,
    Range,
    Settings,
    choices,
    require_choice,
    require_range,
)


@dataclass(frozen=True, kw_only=True)
class Part(Settings):
    """Settings within settings.

    Attributes:
        size: how large it is.
        memory: bytes that may be taken.
    """

    size: AtLeast1 = 3
    memory: Annotated[AtLeast1, NO_EFFECT] = 10


@dataclass(frozen=True, kw_only=True)
class Base(Settings):
    """What others build on.

    Attributes:
        seed: of everything that is random,
            in two lines.
        way: how it is done.
    """

    seed: int = 0
    way: Literal["fast", "exact"] | None = None


@dataclass(frozen=True, kw_only=True)
class Whole(Base):
    """All there is.

    Attributes:
        way: said again.
        share: a part of one; see ``seed: 0``.
        names: some of two.
        layers: which ones.
        part: its settings.
        other: settings that may be left out.
        title: any text.
    """

    share: Annotated[float, Range(above=0, maximum=1)] = 0.5
    names: tuple[Literal["one", "two"], ...] = ("one",)
    layers: tuple[AtLeast1, ...] | None = None
    part: Part = field(default_factory=Part)
    other: Part | None = None
    title: str | None = None


@pytest.mark.parametrize("share", [1e-9, 0.5, 1.0, 1])
def test_a_number_within_its_range_is_taken(share):
    assert Whole(share=share).share == share


@pytest.mark.parametrize("share", [0.0, -1.0, 1.0001, float("nan"), float("inf")])
def test_a_number_out_of_its_range_is_refused(share):
    with pytest.raises(UsageError, match=r"^share must be above 0 and at most 1, not "):
        Whole(share=share)


def test_ranges_say_what_they_hold():
    assert str(Range(minimum=1)) == "at least 1"
    assert str(Range(above=0, below=0.5)) == "above 0 and below 0.5"
    inside = Range(minimum=0, below=1)
    assert [inside.holds(value) for value in (-1, 0, 0.5, 1)] == [False, True, True, False]
    require_range("rate", 0.5, inside)
    with pytest.raises(UsageError, match=r"^rate must be at least 0 and below 1, not 1\.$"):
        require_range("rate", 1, inside)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"way": "slow"}, "no way is called 'slow'. Known: exact, fast"),
        ({"names": ("one", "three")}, "no name is called 'three'"),
    ],
)
def test_a_value_that_is_none_of_the_choices_is_refused_with_the_choices(values, said):
    with pytest.raises(UnknownNameError, match=said):
        Whole(**values)


def test_what_may_be_left_out_is_checked_where_it_is_given():
    assert Whole(way=None, layers=None).layers is None
    assert Whole(way="exact", layers=(1, 2)).layers == (1, 2)
    with pytest.raises(UsageError, match="layers must be at least 1, not 0"):
        Whole(layers=(2, 0))


def test_settings_within_settings_are_checked_as_well():
    with pytest.raises(UsageError, match="size must be at least 1, not 0"):
        Whole(part=Part(size=0))


def test_what_replaces_a_value_is_checked():
    changed = Whole(seed=3).replace(share=1.0)
    assert (changed.seed, changed.share) == (3, 1.0)
    with pytest.raises(UsageError, match="share"):
        changed.replace(share=2.0)


def test_choices_are_found_inside_other_types():
    hints = Whole.hints()
    assert choices(hints["way"]) == ("fast", "exact")
    assert choices(hints["names"]) == ("one", "two")
    assert choices(hints["share"]) == ()


def test_a_single_choice_can_be_checked():
    require_choice("way", "one", ("one", "two"))
    require_choice("way", "one", Literal["one"])
    with pytest.raises(
        UnknownNameError, match=r"no way to go is called 'tow'\. Did you mean 'two'"
    ):
        require_choice("way_to_go", "tow", ("one", "two"))


def test_the_signature_is_json_without_what_has_no_effect():
    settings = Whole(names=("two", "one"), other=Part(size=4, memory=5))
    assert settings.signature() == {
        "seed": 0,
        "way": None,
        "share": 0.5,
        "names": ["two", "one"],
        "layers": None,
        "part": {"size": 3},
        "other": {"size": 4},
        "title": None,
    }
    assert settings.signature() == settings.replace(part=Part(memory=99)).signature()
    assert settings.signature() != settings.replace(part=Part(size=9)).signature()


def test_every_field_is_explained_by_the_class_that_says_it_last():
    assert Whole.explanations() == {
        "seed": "of everything that is random, in two lines.",
        "way": "said again.",
        "share": "a part of one; see ``seed: 0``.",
        "names": "some of two.",
        "layers": "which ones.",
        "part": "its settings.",
        "other": "settings that may be left out.",
        "title": "any text.",
    }
    assert list(Whole.explanations()) == list(Whole.hints())


def test_a_mapping_is_read_as_a_config_file_has_it():
    found = Whole.from_mapping(
        {
            "seed": 4,
            "share": 1,
            "names": ["two"],
            "layers": [1, 3],
            "part": {"size": 7},
            "other": {"memory": 2},
            "title": None,
        }
    )
    assert found == Whole(
        seed=4, share=1.0, names=("two",), layers=(1, 3), part=Part(size=7), other=Part(memory=2)
    )
    assert isinstance(found.share, float)
    assert Whole.from_mapping({"names": "two", "layers": 2}) == Whole(names=("two",), layers=(2,))
    assert Whole.from_mapping({}) == Whole()


def test_what_a_signature_says_makes_the_same_settings():
    settings = Whole(names=("two",), layers=(1,), part=Part(size=9), title="x")
    assert Whole.from_mapping(settings.signature()) == settings


@pytest.mark.parametrize(
    ("values", "error", "said"),
    [
        ({"sede": 1}, UnknownNameError, "no setting is called 'sede'. Did you mean 'seed'"),
        ({"part": {"syze": 1}}, UnknownNameError, "no setting is called 'syze'"),
        ({"part": {"size": 0}}, UsageError, "size must be at least 1"),
        ({"part": "large"}, UsageError, "part is a table of settings"),
        ({"other": [1]}, UsageError, "other is a table of settings"),
        ({"seed": {"a": 1}}, UsageError, "seed is a single value, not a table"),
        ({"seed": [1]}, UsageError, "seed is a single value, not a list"),
        ({"seed": "1"}, UsageError, "seed is '1', where a value of type int is needed"),
        ({"seed": 1.5}, UsageError, "seed is 1.5, where a value of type int"),
        ({"seed": True}, UsageError, "seed is True, where a value of type int"),
        ({"share": "half"}, UsageError, "share is 'half', where a value of type float"),
        ({"share": 2}, UsageError, "share must be above 0"),
        ({"title": 1}, UsageError, "title is 1, where a value of type str"),
        ({"way": "slow"}, UnknownNameError, "no way is called 'slow'"),
        ({"names": ["three"]}, UnknownNameError, "no name is called 'three'"),
        ({"layers": ["one"]}, UsageError, "layers is 'one', where a value of type int is needed"),
        ({"layers": [[1]]}, UsageError, "layers is a single value, not a list"),
    ],
)
def test_what_a_config_file_may_not_say_is_refused(values, error, said):
    with pytest.raises(error, match=said):
        Whole.from_mapping(values)


def test_a_name_that_is_not_known_crosses_processes() -> None:
    refusal = UnknownNameError("measure", "wait", ["weight"])
    again = copy.copy(refusal)  # made again as in another process
    assert (type(again), str(again)) == (UnknownNameError, str(refusal))
