"""Settings of studies and readings: choices and ranges that are checked, and explanations.

A field is declared once: its type says which values it may have, the ``Attributes`` section of the
class what it means.  The command line, config files and refusals are made from these.
"""

import dataclasses
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from headlight.errors import UnknownNameError, UsageError, setting

__all__ = [
    "AUTO",
    "CHOSEN",
    "NO_EFFECT",
    "REPEATED",
    "AtLeast0",
    "AtLeast1",
    "OwnLayers",
    "Range",
    "Settings",
    "StudySettings",
    "accepted",
    "choices",
    "default_of",
    "entries",
    "plain",
    "require_choice",
    "require_distinct",
    "require_place",
    "require_range",
]

Number = int | float
S = TypeVar("S", bound="Settings")


@dataclass(frozen=True)
class Range:
    """The numbers that a field may have: ``Annotated[int, Range(minimum=1)]``."""

    minimum: Number | None = None
    above: Number | None = None
    maximum: Number | None = None
    below: Number | None = None

    def holds(self, value: Number) -> bool:
        """Whether a number lies within; NaN never does."""
        return (
            (self.minimum is None or value >= self.minimum)
            and (self.above is None or value > self.above)
            and (self.maximum is None or value <= self.maximum)
            and (self.below is None or value < self.below)
            and value == value
        )

    def __str__(self) -> str:
        """``at least 1 and below 2``."""
        words = {
            "at least": self.minimum,
            "above": self.above,
            "at most": self.maximum,
            "below": self.below,
        }
        return " and ".join(
            f"{word} {bound:g}" for word, bound in words.items() if bound is not None
        )


class OwnLayers(tuple[int, ...]):
    """Layers by the numbers that a model itself gives them, which hybrids count otherwise."""

    __slots__ = ()


AtLeast0 = Annotated[int, Range(minimum=0)]
AtLeast1 = Annotated[int, Range(minimum=1)]


@dataclass(frozen=True)
class NoEffect:
    """No bit of the result depends on a field, such as the number of processes.

    It is no part of the signature of a run, of its plan or of its configuration.
    """


NO_EFFECT = NoEffect()


@dataclass(frozen=True)
class Repeated:
    """A series whose option is given once for each value, since a value may hold commas."""


REPEATED = Repeated()


AUTO = "auto"
"""None, in a config file and on the command line."""


@dataclass(frozen=True)
class Chosen:
    """A number that is chosen where it is not given, for which ``auto`` may be written."""


CHOSEN = Chosen()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all settings: frozen, checked when made.

    A ``Literal`` is checked against its values, an ``Annotated`` number against its `Range`, also
    inside ``tuple[…, ...]`` and beside ``None``.  A subclass that checks more than single fields
    extends ``__post_init__``.

    Raises:
        UnknownNameError: a value is none of those that a field may have.
        UsageError: a number is out of range.
    """

    def __post_init__(self) -> None:
        for name, hint in type(self).hints().items():
            _check(name, getattr(self, name), hint)

    @classmethod
    @cache
    def hints(cls) -> dict[str, Any]:
        """The types of all fields, with their ranges."""
        hints = get_type_hints(cls, include_extras=True)
        return {each.name: hints[each.name] for each in fields(cls)}

    @classmethod
    @cache
    def explanations(cls) -> dict[str, str]:
        """Return the meaning of each field, from the docstring of the class that declares it."""
        explanations: dict[str, str] = {}
        for base in reversed(cls.__mro__):
            explanations |= entries(base.__doc__ or "", "Attributes")
        return {each.name: explanations.get(each.name, "") for each in fields(cls)}

    @classmethod
    def from_mapping(cls: type[S], values: Mapping[str, Any]) -> S:
        """Settings from what a config file holds: lists for tuples, mappings for nested settings.

        Raises:
            UsageError: there is no such field, or a value is of the wrong type.
        """
        hints = cls.hints()
        for name in values:
            if name not in hints:
                raise UnknownNameError("setting", name, hints)
        return cls(**{name: _converted(name, value, hints[name]) for name, value in values.items()})

    def signature(self) -> dict[str, Any]:
        """Everything that the result depends on, as JSON."""
        hints = self.hints()
        values = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if NO_EFFECT not in _notes(hints[each.name])
        }
        plain = {
            name: value.signature() if isinstance(value, Settings) else value
            for name, value in values.items()
        }
        return dict(json.loads(json.dumps(plain)))

    def replace(self: S, **changes: Any) -> S:
        """Return the settings with these changed."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class StudySettings(Settings):
    """Base of the settings of studies: what a study asks of its model and of its sources."""

    @property
    def layers(self) -> tuple[int, ...] | None:
        """The layers that are looked at; None for all."""
        return None

    @property
    def required_head(self) -> str:
        """The head that the model is loaded with: ``none``, ``any``, or of which task."""
        return "none"

    @property
    def pages(self) -> int | None:
        """Return the number of texts with a page in the report; None in a study without pages."""
        return None

    def check_command(self) -> None:
        """Refuse what Python has a use for, and a command has not.

        Raises:
            UsageError: a setting is without effect.
        """

    def check_source(self, source: str | None) -> None:
        """Refuse a source of which not even the beginning can be read, before a model is loaded.

        Args:
            source: path, glob or name of a data set; None for the sample corpus.

        Raises:
            HeadlightError: it cannot be read.
        """

    def check_other_files(self) -> None:
        """Refuse files that settings name, of which not even the beginning can be read.

        Raises:
            HeadlightError: one cannot be read.
        """


def choices(hint: Any) -> tuple[Any, ...]:
    """The values of a ``Literal``, also inside ``Annotated``, ``tuple`` or beside ``None``."""
    return next((get_args(each) for each in _parts(hint) if get_origin(each) is Literal), ())


def require_choice(name: str, value: Any, allowed: Any) -> None:
    """Refuse a value that is none of the known ones; `allowed` is a ``Literal`` or an iterable.

    Raises:
        UnknownNameError: it is not.
    """
    values = choices(allowed) or tuple(allowed)
    if value not in values:
        raise UnknownNameError(name.replace("_", " "), str(value), [str(each) for each in values])


def require_place(name: str, place: int, tokens: int) -> int:
    """The place of a token, which may be counted from the end.

    Args:
        name: of what stands there, for the refusal.
        place: from 0, or from -1 backwards.
        tokens: of the text.

    Raises:
        UsageError: there is no such place.
    """
    if not -tokens <= place < tokens:
        raise UsageError(
            f"there is no {name} {place}: this text has {tokens} tokens, from 0 to {tokens - 1}, "
            "or from -1 backwards."
        )
    return place % tokens


def require_distinct(name: str, values: tuple[Any, ...]) -> None:
    """Refuse a series that is empty, or has a value twice.

    Raises:
        UsageError: it is so.
    """
    if not values or len(set(values)) < len(values):
        raise UsageError(
            f"{setting(name)} is {values!r}; name at least one, and each of them once."
        )


def require_range(name: str, value: Number, allowed: Range) -> None:
    """Refuse a number that is out of range.

    Raises:
        UsageError: it is.
    """
    if not allowed.holds(value):
        raise UsageError(f"{name} must be {allowed}, not {value}.")


def _parts(hint: Any) -> Iterator[Any]:
    """A type and the types that it is made of."""
    yield hint
    if get_origin(hint) in (Annotated, Union, UnionType, tuple):
        for inner in get_args(hint):
            yield from _parts(inner)


def _notes(hint: Any) -> tuple[Any, ...]:
    """Return the annotations beside a type in ``Annotated``."""
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()


def _check(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that its type does not allow; plain types are left to mypy."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        require_choice(name, value, hint)
    elif origin is Annotated:
        _check(name, value, inner[0])
        _check_ranges(name, value, inner[1:])
    elif origin is tuple:
        for each in value:
            _check(name, each, inner[0])
    elif origin in (Union, UnionType) and value is not None:
        for each in inner:
            _check(name, value, each)


def _check_ranges(name: str, value: Any, notes: tuple[Any, ...]) -> None:
    for allowed in notes:
        if isinstance(allowed, Range):
            require_range(setting(name), value, allowed)


def _converted(name: str, value: Any, hint: Any) -> Any:
    """A value of a config file as the type of its field."""
    if value is None or (value == AUTO and CHOSEN in _notes(hint)):
        return None
    types = [each for each in _parts(hint) if isinstance(each, type) and each is not NoneType]
    nested = next((each for each in types if issubclass(each, Settings)), None)
    if nested is not None and not (bool in types and isinstance(value, bool)):
        return _nested(name, value, nested)
    series = next((each for each in _parts(hint) if get_origin(each) is tuple), None)
    if series is not None and not isinstance(value, Mapping):
        items = value if isinstance(value, list | tuple) else [value]
        kind = OwnLayers if isinstance(value, OwnLayers) else tuple
        return kind(_converted(name, each, get_args(series)[0]) for each in items)
    if isinstance(value, Mapping | list):
        what = "table" if isinstance(value, Mapping) else "list"
        raise UsageError(f"{setting(name)} is a single value, not a {what}; write {name}: VALUE.")
    if float in types and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    kinds = tuple(each for each in types if each in (bool, int, float, str))
    if kinds and not (type(value) in kinds or choices(hint)):
        wanted = " or ".join(each.__name__ for each in kinds)
        raise UsageError(f"{setting(name)} is {value!r}, where a value of type {wanted} is needed.")
    return value


def _nested(name: str, value: Any, kind: type[S]) -> S:
    """Settings within settings."""
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        first_name = next(iter(kind.hints()))
        raise UsageError(
            f"{setting(name)} is a table of settings, not {value!r}; write "
            f"{name}: {{{first_name}: VALUE}}."
        )
    return kind.from_mapping(value)


def entries(docstring: str, section: str) -> dict[str, str]:
    """The entries of a section of a docstring, such as ``Attributes``, each in one line."""
    text = inspect.cleandoc(docstring)
    match = re.search(rf"^{section}:\n((?:(?: .*)?\n?)*)", text, re.MULTILINE)
    if not match:
        return {}
    pairs = re.findall(r"^ {4}(\w+): ((?:.*\n?(?: {8}.*\n?)*))", match[1], re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in pairs}


def default_of(settings: type[Settings], name: str) -> Any:
    """Return the value of a field that is not given."""
    field = next(each for each in fields(settings) if each.name == name)
    return field.default if field.default_factory is MISSING else field.default_factory()


def accepted(hint: Any) -> Any:
    """The types that a keyword takes for a field: any series for a tuple, mappings for settings."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        one = accepted(inner[0])
        return one | Literal["auto"] if CHOSEN in inner else one
    if origin in (Union, UnionType):
        return Union[tuple(accepted(each) for each in inner)]  # noqa: UP007 - they are computed
    if origin is tuple:
        one = accepted(inner[0])
        return one | Iterable[one]  # type: ignore[valid-type]
    if hint is str:
        return str | Path
    if isinstance(hint, type) and issubclass(hint, Settings):
        return hint | Mapping[str, Any]
    return hint


def plain(value: Any) -> Any:
    """Return a value as a config file holds it: lists for ranges and arrays, text for paths."""
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # of NumPy, which settings do without
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return [plain(item) for item in value]
    return value
