"""A run is measured with the same settings by all its processes, and after interruptions."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
import yaml

from engine.test_run import CASES, CORPUS, Case
from headlight.catalogue import studies
from headlight.engine.folder import RunFolder
from headlight.errors import HeadlightError
from headlight.settings import NO_EFFECT, Range, Settings
from long_cases import mostly_long

WITHOUT_BITS = {"processes", "pages", "memory"}
"""Settings that no number depends on: how many work, pages beside the result, what is on disk."""

OF_ONE_VALUE = {"alignment": {"kind"}}
"""Settings of studies that have one value alone."""

FIRST = list({case.name: case for case in reversed(CASES)}.values())
"""One case of each study: who joins a run is refused by its settings alone."""


def others(hint: Any, value: Any) -> Iterator[Any]:
    """Values that a setting of this type may have instead."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        ranges = [each for each in inner[1:] if isinstance(each, Range)]
        found = others(inner[0], value)
        yield from (each for each in found if all(_within(each, one) for one in ranges))
    elif origin is Literal:
        yield from (each for each in inner if each != value)
    elif origin is tuple:
        yield from ((each,) for each in others(inner[0], None))
    elif inner:
        yield from (found for each in inner for found in others(each, value))
    else:
        yield from _plain(hint, value)


def _plain(hint: Any, value: Any) -> Iterator[Any]:
    if isinstance(hint, type) and issubclass(hint, Settings):
        yield from variations(value if isinstance(value, hint) else hint())
    known = {
        bool: (not value,),
        int: (3, 7),
        float: (0.3, 3.0, 0.02),
        str: ("other", "weight", "L1H2"),
    }
    yield from (each for each in known.get(hint, ()) if each != value)


def _within(value: Any, allowed: Range) -> bool:
    return not isinstance(value, int | float) or allowed.holds(value)


def variations(settings: Settings) -> Iterator[Settings]:
    """The same settings with another value of one field, for each field that can have one."""
    for name, hint in type(settings).hints().items():
        for value in others(hint, getattr(settings, name)):
            try:
                made = settings.replace(**{name: value})
            except HeadlightError:  # the two do not go together
                continue
            if made != settings:
                yield made
                break


def different(one: Settings, other: Settings) -> str:
    """The one field in which they differ."""
    (name,) = (each for each in type(one).hints() if getattr(one, each) != getattr(other, each))
    return name


def without_effect(kind: type[Settings]) -> set[str]:
    """Fields that are no part of a signature, in nested settings as well."""
    found = set()
    for name, hint in kind.hints().items():
        found |= {name} if NO_EFFECT in get_args(hint) else set()
        for each in (hint, *get_args(hint)):
            if isinstance(each, type) and issubclass(each, Settings):
                found |= without_effect(each)
    return found


@pytest.mark.parametrize("name", studies())
def test_a_run_says_everything_that_its_bits_depend_on(name: str) -> None:
    """So each worker, who knows its configuration alone, measures with the same settings."""
    kind = studies()[name].settings
    assert without_effect(kind) <= WITHOUT_BITS
    values: dict[str, Any] = {"lambdas": (0.5,)} if "lambdas" in kind.hints() else {}
    varied = set()
    for settings in variations(kind(**values)):
        said = yaml.safe_load(yaml.safe_dump(settings.signature()))
        again = kind.from_mapping(said)
        unsaid = {
            each: getattr(settings, each) for each in without_effect(kind) & set(kind.hints())
        }
        assert again.replace(**unsaid) == settings
        varied.add(different(settings, kind(**values)))
    assert set(kind.hints()) - varied <= OF_ONE_VALUE.get(name, set())


def stop(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    mostly_long(FIRST, *(case for case in FIRST if case.name == "distances")),
    ids=lambda case: case.name,
)
def test_no_part_of_a_run_is_measured_with_other_settings(case: Case, tmp_path: Path) -> None:
    """Whoever resumes it or joins it with another value of a setting is refused.

    Only where the value means the same, such as the kind that a model has anyway, it is gone on
    with, to the same bits.
    """
    whole = case.run(CORPUS).drop_attrs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headlight.engine.run.joined", stop)
        for workers in (None, 1):
            folder = RunFolder(path=tmp_path / str(workers), workers=workers)
            with pytest.raises(KeyboardInterrupt):
                case.run(CORPUS, folder=folder)
    refused: set[str] = set()
    for number, settings in enumerate(variations(case.settings)):
        for workers in (None, 1):
            copy = tmp_path / f"{number} {workers}"
            copytree(tmp_path / str(workers), copy)
            folder = RunFolder(path=copy, resume=workers is None, workers=workers)
            try:
                found = case.run(CORPUS, folder=folder, settings=settings)
            except HeadlightError as error:
                # Some values are of no use for this model; others would need another run.
                if "with other settings" in str(error):
                    refused.add(different(settings, case.settings))
            else:
                assert found.drop_attrs().identical(whole), different(settings, case.settings)
    assert {"batch_tokens", "max_length", "max_examples", "seed"} <= refused
