"""Options that are made of settings, so that each is declared, checked and explained once."""

import inspect
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import wraps
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from headlight.errors import HeadlightError, UsageError, flag
from headlight.settings import (
    AUTO,
    CHOSEN,
    REPEATED,
    OwnLayers,
    Settings,
    choices,
    default_of,
)
from headlight.vocabulary import measure_names

NUMBERS = re.compile(r"(-?[0-9]{1,4})(?:-([0-9]{1,4}))?")
"""A number, or the first and the last of a range."""

MORE = "More"
"""The heading of the options that are asked for more rarely."""
FEW = 8
"""Settings of a command that are all of the first rank."""
COMMON = frozenset(
    {
        # What is read, and how much of it.
        "format",
        "column",
        "columns",
        "label_column",
        "class_names",
        "pairs",
        "target",
        "train",
        "held_out",
        "max_length",
        "max_examples",
        "max_sentences",
        "max_pairs",
        "overlap",
        "text",
        "dependency",
        "dependency_train",
        "coreference",
        "tagged",
        "labelled",
        "translations",
        "translations_target",
        "cola",
        "mnli",
        "links",
        "parallel",
        "parallel_target",
        # What is looked at.
        "kind",
        "layers",
        "heads",
        "layer",
        "head",
        "number",
        "method",
        "measures",
        "by",
        "rows",
        "relations",
        "changes",
        "removals",
        "maps",
        "units",
        "probes",
        "candidates",
        "exact",
        # What is asked for besides.
        "gold",
        "start",
        "lambdas",
        "also",
        "keep",
        "keep_models",
        "pages",
        "word_vectors",
        "frequency_ranks",
        "sinks",
    }
)
"""Settings of the first rank, which stand first in the help."""

HEAD = re.compile(r"L(\d{1,4})H(\d{1,4})")
LETTERS = {"layers": "L", "heads": "H"}
"""Letters that may stand before the numbers of these settings, as in the names of heads: L3H2."""

OWN = "model:"
"""Prefix of layers that are numbered as in the model."""

KNOWN_NAMES: Mapping[str, Callable[[], tuple[str, ...]]] = {"measures": measure_names}
"""Functions that give the names that a setting takes, where its type does not say them."""


@dataclass(frozen=True)
class SettingOption:
    """One option.

    Attributes:
        path: the field, and before it those of the settings that it is nested in.
        hint: the type of the field.
        default: what it is when it is not given.
        explanation: from the docstring of the settings.
    """

    path: tuple[str, ...]
    hint: Any
    default: Any
    explanation: str

    @property
    def name(self) -> str:
        """Return the name of the parameter."""
        return "_".join(self.path)

    @property
    def flag(self) -> str:
        """As it is typed."""
        return flag(self.name)

    def parameter(self, panel: str | None = None) -> inspect.Parameter:
        """As typer reads it; None stands for what is not given.

        Args:
            panel: the heading under which the help has it.
        """
        flags = [self.flag]
        kind: Any = str
        if bool in _types(self.hint):
            kind, flags = bool, [f"{self.flag}/--no-{self.flag[2:]}"]
        elif self.is_repeated:
            kind = list[str]
        elif not self.is_list:
            named = choices(self.hint)
            kind = Literal[named] if named else _single(self.hint)
        metavar = "LIST" if self.is_list and not self.is_repeated else None
        if self.is_chosen:
            kind, metavar = str, f"{_single(self.hint).__name__.upper()}|{AUTO}"
        option = typer.Option(*flags, help=self.help, metavar=metavar, rich_help_panel=panel)
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[kind | None, option],
        )

    @property
    def panel(self) -> str:
        """Return the panel of a secondary option in the help: options of one thing together."""
        return MORE if len(self.path) == 1 else f"{MORE}: {self.path[0]}"

    @property
    def is_list(self) -> bool:
        """Whether the field takes several values."""
        return tuple in _types(self.hint)

    @property
    def is_repeated(self) -> bool:
        """Whether it is given once for each of its values."""
        return REPEATED in get_args(self.hint)

    @property
    def is_chosen(self) -> bool:
        """Whether the field is chosen where it is not given."""
        return CHOSEN in get_args(self.hint)

    @property
    def help(self) -> str:
        """Return the meaning of the option, its values, and its default."""
        text = re.sub(r"`+([^`]*)`+", r"\1", self.explanation)
        words = [f"{text[:1].upper()}{text[1:].rstrip('.')}."]
        names_known = KNOWN_NAMES[self.path[-1]]() if self.path[-1] in KNOWN_NAMES else ()
        if self.is_list and (names := choices(self.hint) or names_known):
            words.append(f"Choices: {', '.join(map(str, names))}.")
        if self.is_repeated:
            words.append("May be given more than once.")
        if self.default is not None and self.default is not False and self.default != ():
            words.append(f"Default: {_text(self.default)}.")
        elif self.is_chosen:
            words.append(f"Default: {AUTO}.")
        return " ".join(words).replace("[", r"\[")

    def parsed(self, value: Any) -> Any:
        """The value as its field takes it.

        Raises:
            UsageError: something between the commas is no number.
        """
        if self.is_chosen and value != AUTO:
            return self._chosen(value)
        if not self.is_list or not isinstance(value, str):
            return value
        if self.path == ("layers",) and value.startswith(OWN):
            return OwnLayers(self.parsed(value.removeprefix(OWN)))
        parts = [part.strip() for part in value.split(",")]
        if int in _types(self.hint):
            return sorted({number for part in parts for number in self._numbers(value, part)})
        if float in _types(self.hint):
            return [self._number(value, part) for part in parts]
        return [part for part in parts if part]

    def _chosen(self, value: str) -> int:
        if not value.isdecimal():
            raise UsageError(f"{self.flag} must be a number or auto, not {value!r}.")
        return int(value)

    def _numbers(self, value: str, part: str) -> range:
        letter = LETTERS.get(self.path[-1], "")
        match = NUMBERS.fullmatch(re.sub(rf"{letter}(?=\d)", "", part) if letter else part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if letter and (head := HEAD.fullmatch(part)):
            layer, number = head.groups()
            raise UsageError(
                f"{self.flag} {value!r}: {part} is head {number} of layer {layer}, and only "
                f"{self.path[-1]} are named here; write {layer if letter == 'L' else number}."
            )
        if first > last:
            raise UsageError(
                f"{self.flag} {value!r}: {part!r} is no number; write something like 0,3-5."
            )
        return range(first, last + 1)

    def _number(self, value: str, part: str) -> float:
        try:
            return float(part)
        except ValueError as problem:
            raise UsageError(
                f"{self.flag} {value!r}: {part!r} is no number; write something like 0.1,0.5."
            ) from problem


def options_of(settings: type[Settings], path: tuple[str, ...] = ()) -> Iterator[SettingOption]:
    """An option for each field, and for each field of settings that are nested."""
    for each in fields(settings):
        hint = settings.hints()[each.name]
        here = (*path, each.name)
        nested = [one for one in _types(hint) if issubclass(one, Settings)]
        if nested:
            yield from options_of(nested[0], here)
        else:
            default = default_of(settings, each.name)
            explanation = settings.explanations()[each.name]
            yield SettingOption(here, hint, default, explanation)


class Options:
    """Base of options that several commands have: frozen dataclasses whose fields typer reads."""


def takes_settings(
    *,
    without: Collection[str] = (),
    **classes: type[Settings],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting, and the command the settings made of them.

    A parameter whose default is an object of `Options` becomes an option for each of its fields.

    Args:
        without: parameters of the command, and options of settings, that it is not to have.
        classes: of the parameters that the command takes settings by.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options_of_settings = {
            name: [option for option in options_of(each) if option.name not in without]
            for name, each in classes.items()
        }
        every = [option for options in options_of_settings.values() for option in options]
        plain = inspect.signature(command).parameters.values()
        shared = {
            each.name: list(_of_options(each.default))
            for each in plain
            if isinstance(each.default, Options) and each.name not in without
        }
        defaults = {each.name: each.default for each in plain}

        @wraps(command)
        def wrapped(**given: Any) -> None:
            for name, own in shared.items():
                chosen = {each.name: given.pop(each.name) for each in own}
                given[name] = type(defaults[name])(**chosen)
            with naming_options(every, [each.name for each in parameters]):
                for name, options in options_of_settings.items():
                    given[name] = classes[name].from_mapping(_gathered(options, given))
                command(**given)

        own = [
            parameter
            for each in plain
            if each.name not in (*classes, *without)
            for parameter in shared.get(
                each.name, [each.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
            )
        ]
        ranked = len(every) > FEW
        first = [each for each in every if not ranked or each.name in COMMON]
        rest = [each for each in every if each not in first]
        parameters = [
            *(each.parameter() for each in first),
            *own,
            *(each.parameter(each.panel) for each in rest),
        ]
        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {each.name: each.annotation for each in parameters}
        return wrapped

    return decorate


def _of_options(default: Any) -> Iterator[inspect.Parameter]:
    """A parameter for each field, with the value that it has in an object."""
    hints = get_type_hints(type(default), include_extras=True)
    for each in fields(default):
        yield inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(default, each.name),
            annotation=hints[each.name],
        )


@contextmanager
def naming_options(options: list[SettingOption], others: Collection[str]) -> Iterator[None]:
    """Let refusals name settings by the options of a command, such as ``--training-epochs``.

    Args:
        options: those made of settings.
        others: the names of its other parameters.
    """
    nested_first = sorted(options, key=lambda option: -len(option.path))
    flags = {name: flag(name) for name in others}
    flags |= {option.path[-1]: option.flag for option in nested_first}
    try:
        yield
    except HeadlightError as error:
        error.args = (error.with_options(flags.get),)
        raise


def _gathered(options: list[SettingOption], values: dict[str, Any]) -> dict[str, Any]:
    """Remove the settings from `values` and return them nested as settings are."""
    nested: dict[str, Any] = {}
    for option in options:
        value = values.pop(option.name)
        if value is not None:
            inner = nested
            for name in option.path[:-1]:
                inner = inner.setdefault(name, {})
            inner[option.path[-1]] = option.parsed(value)
    return nested


def _types(hint: Any) -> list[type]:
    """The classes that a type is made of; ``tuple`` for ``tuple[…, ...]``."""
    if isinstance(hint, type):
        return [hint]
    origin = get_origin(hint)
    if origin is Annotated:
        return _types(get_args(hint)[0])
    inner = get_args(hint) if origin in (Union, UnionType, tuple) else ()
    return [tuple] * (origin is tuple) + [one for each in inner for one in _types(each)]


def _single(hint: Any) -> type:
    """The class of a single value."""
    return next((kind for kind in (int, float) if kind in _types(hint)), str)


def _text(value: Any) -> str:
    """A default as it could be typed."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "yes" if value is True else str(value)
