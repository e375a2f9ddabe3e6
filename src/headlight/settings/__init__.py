"""Settings of studies and readings: choices and ranges that are checked, and explanations.

A field is declared once: its type says which values it may have, marks beside the type in
``Annotated`` how its option is written and listed, and the ``Attributes`` section of the class what
it means.  The command line, config files and refusals are made from these.
"""

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from headlight.errors import UnknownNameError, UsageError, setting

__all__ = [
    "AUTO",
    "CHOSEN",
    "COMMON",
    "LAYERS",
    "NO_EFFECT",
    "REPEATED",
    "AtLeast0",
    "AtLeast1",
    "Common",
    "Heads",
    "Layers",
    "Lettered",
    "Names",
    "OwnLayers",
    "Range",
    "Settings",
    "StudySettings",
    "accepted",
    "choices",
    "default_of",
    "entries",
    "parts",
    "plain",
    "require_choice",
    "require_distinct",
    "require_place",
    "require_range",
]

Number = int | float
S = TypeVar("S", bound="Settings")
T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """Range of the numbers that a field may have: ``Annotated[int, Range(minimum=1)]``."""

    minimum: Number | None = None
    above: Number | None = None
    maximum: Number | None = None
    below: Number | None = None

    def holds(self, value: Number) -> bool:
        """Return whether a number is within the range; NaN never is."""
        return (
            (self.minimum is None or value >= self.minimum)
            and (self.above is None or value > self.above)
            and (self.maximum is None or value <= self.maximum)
            and (self.below is None or value < self.below)
            and value == value
        )

    def __str__(self) -> str:
        """Return the range in words, such as ``at least 1 and below 2``."""
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
    """Layers by the model's own numbers, which in hybrids also count layers without attention."""

    __slots__ = ()


AtLeast0 = Annotated[int, Range(minimum=0)]
AtLeast1 = Annotated[int, Range(minimum=1)]


@dataclass(frozen=True)
class NoEffect:
    """Mark of a field that no bit of the result depends on, such as the number of processes.

    The field is no part of the signature of a run, of its plan or of its configuration.
    """


NO_EFFECT = NoEffect()


@dataclass(frozen=True)
class _Common:
    """Mark of a field that most users need."""


COMMON = _Common()

Common = Annotated[T, COMMON]
"""Type of a field that help lists before all others: ``format: Common[str | None] = None``."""


@dataclass(frozen=True)
class Repeated:
    """Mark of a series whose option is given once for each value, since a value may hold commas."""


REPEATED = Repeated()


AUTO = "auto"
"""Word for None in config files and on the command line."""


@dataclass(frozen=True)
class Chosen:
    """Mark of a number that is chosen automatically unless given, also by the word ``auto``."""


CHOSEN = Chosen()


@dataclass(frozen=True)
class Names:
    """Mark of a field whose names are the rows of a table, and not choices of its type.

    Attributes:
        listed: Function that returns the names; called late, as other packages may add rows.
    """

    listed: Callable[[], tuple[str, ...]]


@dataclass(frozen=True)
class Lettered:
    """Mark of numbers of layers or heads, which may be written as in the name of a head, L3H2.

    Attributes:
        letter: Letter that may stand before a number.
    """

    letter: str


LAYERS = Lettered("L")
HEADS = Lettered("H")

Layers = Annotated[tuple[int, ...], LAYERS]
Heads = Annotated[tuple[AtLeast0, ...], HEADS]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all settings: frozen, checked when made.

    A ``Literal`` is checked against its values, an ``Annotated`` number against its `Range`, also
    inside ``tuple[…, ...]`` and beside ``None``.  A subclass that checks more than single fields
    extends ``__post_init__``.

    Raises:
        UnknownNameError: a value is not among the choices of its field.
        UsageError: a number is out of range.
    """

    def __post_init__(self) -> None:
        for name, hint in type(self).hints().items():
            _check(name, getattr(self, name), hint)

    @classmethod
    @cache
    def hints(cls) -> dict[str, Any]:
        """Return the types of all fields, with their ranges and marks."""
        hints = get_type_hints(cls, include_extras=True)
        return {field.name: hints[field.name] for field in fields(cls)}

    @classmethod
    @cache
    def explanations(cls) -> dict[str, str]:
        """Return the meaning of each field, from the docstring of the class that declares it."""
        explanations: dict[str, str] = {}
        for base in reversed(cls.__mro__):  # the explanation of a subclass replaces that of a base
            explanations |= entries(base.__doc__ or "", "Attributes")
        return {field.name: explanations.get(field.name, "") for field in fields(cls)}

    @classmethod
    def from_mapping(cls: type[S], values: Mapping[str, Any]) -> S:
        """Make settings of a config file: lists become tuples, mappings nested settings.

        Raises:
            UsageError: there is no such field, or a value is of the wrong type.
        """
        hints = cls.hints()
        for name in values:
            if name not in hints:
                raise UnknownNameError("setting", name, hints)
        return cls(**{name: _converted(name, value, hints[name]) for name, value in values.items()})

    def signature(self) -> dict[str, Any]:
        """Return all values that the result depends on, as JSON."""
        values = {
            name: getattr(self, name)
            for name, hint in self.hints().items()
            if NO_EFFECT not in parts(hint)
        }
        nested = {
            name: value.signature() if isinstance(value, Settings) else value
            for name, value in values.items()
        }
        # Through JSON, so that it equals a signature read from a file, where tuples are lists.
        return dict(json.loads(json.dumps(nested)))

    def replace(self: S, **changes: Any) -> S:
        """Return the settings with these changed."""
        return dataclasses.replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class StudySettings(Settings):
    """Base of the settings of studies, which also say what a study needs of model and source."""

    @property
    def layers(self) -> tuple[int, ...] | None:
        """Return the observed layers; None for all."""
        return None

    @property
    def required_head(self) -> str | None:
        """Return the head with which the model is loaded: ``none``, ``any``, or that of a task.

        None for whichever the checkpoint has, if it has one.
        """
        return "none"

    @property
    def pages(self) -> int | None:
        """Return the number of texts with a page in the report; None in a study without pages."""
        return None

    def check_command(self) -> None:
        """Refuse settings that have an effect in Python only.

        Raises:
            UsageError: a setting is without effect on the command line.
        """

    def check_source(self, source: str | None) -> None:
        """Refuse a source whose beginning cannot be read, before a model is loaded.

        Args:
            source: Path, glob or name of a data set; None for the sample corpus.

        Raises:
            HeadlightError: the source cannot be read.
        """

    def check_other_files(self) -> None:
        """Refuse files named by settings whose beginning cannot be read.

        Raises:
            HeadlightError: a file cannot be read.
        """


def choices(hint: Any) -> tuple[Any, ...]:
    """Return the values of a ``Literal``, also inside ``Annotated``, ``tuple`` or a union."""
    return next((get_args(part) for part in parts(hint) if get_origin(part) is Literal), ())


def require_choice(name: str, value: Any, allowed: Any) -> None:
    """Refuse a value that is not among the choices.

    Args:
        name: Name of the setting, for the refusal.
        value: Value to check.
        allowed: Choices, as a ``Literal`` or an iterable.

    Raises:
        UnknownNameError: the value is not among the choices.
    """
    values = choices(allowed) or tuple(allowed)
    if value not in values:
        raise UnknownNameError(name.replace("_", " "), str(value), [*map(str, values)])


def require_place(name: str, place: int, tokens: int) -> int:
    """Return the position of a token from the start, where it may be counted from the end.

    Args:
        name: Noun for the token, for the refusal.
        place: Position from 0, or from -1 backwards.
        tokens: Number of tokens of the text.

    Raises:
        UsageError: the text has no such position.
    """
    if not -tokens <= place < tokens:
        raise UsageError(
            f"there is no {name} {place}: this text has {tokens} tokens, from 0 to {tokens - 1}, "
            "or from -1 backwards."
        )
    return place % tokens


def require_distinct(name: str, values: tuple[Any, ...]) -> None:
    """Refuse a series that is empty or has a value twice.

    Raises:
        UsageError: the series is empty or has a value twice.
    """
    if not values or len(set(values)) < len(values):
        said = ", ".join(map(str, values)) or "empty"
        raise UsageError(f"{setting(name)} is {said}; name at least one, and each of them once.")


def require_range(name: str, value: Number, allowed: Range) -> None:
    """Refuse a number that is out of range.

    Raises:
        UsageError: the number is out of range.
    """
    if not allowed.holds(value):
        raise UsageError(f"{name} must be {allowed}, not {value}.")


def parts(hint: Any) -> Iterator[Any]:
    """Yield a type, the types that it is made of, and the marks beside them in ``Annotated``."""
    yield hint
    if get_origin(hint) in (Annotated, Union, UnionType, tuple):
        for inner in get_args(hint):
            yield from parts(inner)


def _check(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that its type does not allow; plain types are left to mypy."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        require_choice(name, value, hint)
    elif origin is Annotated:
        _check(name, value, inner[0])
        _check_ranges(name, value, inner[1:])
    elif origin is tuple:
        is_choice = get_origin(inner[0]) is Literal
        for item in value:
            _check(name.removesuffix("s") if is_choice else name, item, inner[0])
    elif origin in (Union, UnionType) and value is not None:
        for kind in inner:
            _check(name, value, kind)


def _check_ranges(name: str, value: Any, marks: tuple[Any, ...]) -> None:
    for mark in marks:
        if isinstance(mark, Range):
            require_range(setting(name), value, mark)


def _converted(name: str, value: Any, hint: Any) -> Any:
    """Convert a value of a config file to the type of its field."""
    if value is None or (value == AUTO and CHOSEN in parts(hint)):
        return None
    types = [part for part in parts(hint) if isinstance(part, type) and part is not NoneType]
    nested = next((kind for kind in types if issubclass(kind, Settings)), None)
    if nested is not None and not (bool in types and isinstance(value, bool)):
        return _nested(name, value, nested)
    series = next((part for part in parts(hint) if get_origin(part) is tuple), None)
    if series is not None and not isinstance(value, Mapping):
        items = value if isinstance(value, list | tuple) else [value]
        # The subclass of tuple tells layers by a model's own numbers from all others.
        make = OwnLayers if isinstance(value, OwnLayers) else tuple
        return make(_converted(name, item, get_args(series)[0]) for item in items)
    if isinstance(value, Mapping | list):
        what = "table" if isinstance(value, Mapping) else "list"
        raise UsageError(f"{setting(name)} is a single value, not a {what}; write {name}: VALUE.")
    # A bool is an int in Python, and neither is accepted in the place of the other.
    if float in types and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    kinds = tuple(kind for kind in types if kind in (bool, int, float, str))
    if kinds and not (type(value) in kinds or choices(hint)):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise UsageError(f"{setting(name)} is {value!r}, where a value of type {wanted} is needed.")
    return value


def _nested(name: str, value: Any, kind: type[S]) -> S:
    """Make settings within settings."""
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
    """Return the entries of a section of a docstring, such as ``Attributes``, each in one line."""
    text = inspect.cleandoc(docstring)
    match = re.search(rf"^{section}:\n((?:(?: .*)?\n?)*)", text, re.MULTILINE)
    if not match:
        return {}
    pairs = re.findall(r"^ {4}(\w+): ((?:.*\n?(?: {8}.*\n?)*))", match[1], re.MULTILINE)
    return {name: " ".join(words.split()) for name, words in pairs}


def default_of(settings: type[Settings], name: str) -> Any:
    """Return the default of a field."""
    field = next(field for field in fields(settings) if field.name == name)
    return field.default if field.default_factory is MISSING else field.default_factory()


def accepted(hint: Any) -> Any:
    """Return the types that a keyword takes: any series for a tuple, mappings for settings."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind = accepted(inner[0])
        return kind | Literal["auto"] if CHOSEN in inner else kind
    if origin in (Union, UnionType):
        return Union[tuple(map(accepted, inner))]  # noqa: UP007 - they are computed
    if origin is tuple:
        item = accepted(inner[0])
        return item | Iterable[item]  # type: ignore[valid-type]
    if hint is str:
        return str | Path
    if isinstance(hint, type) and issubclass(hint, Settings):
        return hint | Mapping[str, Any]
    return hint


def plain(value: Any) -> Any:
    """Return a value as a config file holds it: lists for ranges and arrays, text for paths."""
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # an array, without an import of NumPy
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str | Mapping):
        return [plain(item) for item in value]
    return value
