"""Options that are made of settings, so that each is declared, checked and explained once."""

import inspect
import re
from collections.abc import Callable, Collection, Iterator
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
    COMMON,
    LAYERS,
    REPEATED,
    Lettered,
    Names,
    OwnLayers,
    Settings,
    choices,
    default_of,
    parts,
)

NUMBERS = re.compile(r"(-?[0-9]{1,4})(?:-([0-9]{1,4}))?")
"""A number, or the first and the last of a range."""

HEAD = re.compile(r"L(\d{1,4})H(\d{1,4})")
"""Name of a head."""

MORE = "More"
"""Heading of the options without the mark `headlight.settings.COMMON`."""

FEW = 8
"""Largest number of settings that a command lists under a single heading."""

MODEL_PREFIX = "model:"
"""Prefix of layers that are numbered as in the model."""

SERIES = {int: "Such as 0,3-5", float: "Such as 0.1,0.5", str: "With commas between them"}
"""How several values are written, by their type."""


@dataclass(frozen=True)
class SettingOption:
    """Option of a command, made of a field of its settings.

    Attributes:
        path: Name of the field, after those of the settings that it is nested in.
        hint: Type of the field, with its marks.
        default: Default of the field.
        explanation: Explanation of the field in the docstring of its settings.
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
        """Return the name on the command line, such as ``--max-length``."""
        return flag(self.name)

    def parameter(self, panel: str | None = None) -> inspect.Parameter:
        """Return the parameter that typer reads; its default is None, for an option not given.

        Args:
            panel: Heading of the option in the help.
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
        """Return the heading of a less common option; nested settings have one of their own."""
        return MORE if len(self.path) == 1 else f"{MORE}: {self.path[0]}"

    @property
    def is_common(self) -> bool:
        """Return whether help lists it before the options under the heading `MORE`."""
        return COMMON in parts(self.hint)

    @property
    def is_list(self) -> bool:
        """Return whether it takes several values."""
        return tuple in _types(self.hint)

    @property
    def is_repeated(self) -> bool:
        """Return whether it is given once for each of its values."""
        return REPEATED in parts(self.hint)

    @property
    def is_chosen(self) -> bool:
        """Return whether its value is chosen automatically unless given."""
        return CHOSEN in parts(self.hint)

    @property
    def help(self) -> str:
        """Return the meaning of the option, its choices, and its default."""
        text = re.sub(r"`+([^`]*)`+", r"\1", self.explanation)
        words = [f"{text[:1].upper()}{text[1:].rstrip('.')}."]
        names = self._names() if self.is_list else ()
        if names:
            words.append(f"Choices: {', '.join(map(str, names))}.")
        if self.is_repeated:
            words.append("May be given more than once.")
        elif self.is_list and not names and len(self.default or ()) < 2:
            own = f", or {MODEL_PREFIX}3,7 as the model itself counts"
            written = SERIES[_single(self.hint)]
            words.append(f"{written}{own if LAYERS in parts(self.hint) else ''}.")
        if self.default is not None and self.default is not False and self.default != ():
            words.append(f"Default: {_text(self.default)}.")
        elif self.is_chosen:
            words.append(f"Default: {AUTO}.")
        return " ".join(words).replace("[", r"\[")  # brackets would be markup

    def _names(self) -> tuple[Any, ...]:
        tables = [part for part in parts(self.hint) if isinstance(part, Names)]
        return tables[0].listed() if tables else choices(self.hint)

    def parsed(self, value: Any) -> Any:
        """Return a value as its field takes it.

        Raises:
            UsageError: a part between commas is no number.
        """
        if self.is_chosen and value != AUTO:
            return self._chosen(value)
        if not self.is_list or not isinstance(value, str):
            return value
        if LAYERS in parts(self.hint) and value.startswith(MODEL_PREFIX):
            return OwnLayers(self.parsed(value.removeprefix(MODEL_PREFIX)))
        items = [item.strip() for item in value.split(",")]
        if int in _types(self.hint):
            return sorted({number for item in items for number in self._numbers(value, item)})
        if float in _types(self.hint):
            return [self._number(value, item) for item in items]
        return [item for item in items if item]

    def _chosen(self, value: str) -> int:
        if not value.isdecimal():
            raise UsageError(f"{self.flag} must be a number or auto, not {value!r}.")
        return int(value)

    def _numbers(self, value: str, item: str) -> range:
        letter = next((part.letter for part in parts(self.hint) if isinstance(part, Lettered)), "")
        match = NUMBERS.fullmatch(re.sub(rf"{letter}(?=\d)", "", item) if letter else item)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if letter and (head := HEAD.fullmatch(item)):
            layer, number = head.groups()
            raise UsageError(
                f"{self.flag} {value!r}: {item} is head {number} of layer {layer}, and only "
                f"{self.path[-1]} are named here; write {layer if letter == 'L' else number}."
            )
        if match and first > last:
            raise UsageError(
                f"{self.flag} {value!r}: the ends of {item} are reversed; write "
                f"{match[2]}-{match[1]}."
            )
        if not match:
            raise UsageError(
                f"{self.flag} {value!r}: {item!r} is not a number; write something like 0,3-5."
            )
        return range(first, last + 1)

    def _number(self, value: str, item: str) -> float:
        try:
            return float(item)
        except ValueError as problem:
            raise UsageError(
                f"{self.flag} {value!r}: {item!r} is not a number; write something like 0.1,0.5."
            ) from problem


def options_of(settings: type[Settings], path: tuple[str, ...] = ()) -> Iterator[SettingOption]:
    """Yield an option for each field, also for those of nested settings.

    Args:
        settings: Class of the settings.
        path: Names of the fields that it is nested in.
    """
    for name, hint in settings.hints().items():
        place = (*path, name)
        nested = next((kind for kind in _types(hint) if issubclass(kind, Settings)), None)
        if nested is not None:
            yield from options_of(nested, place)
        else:
            default = default_of(settings, name)
            yield SettingOption(place, hint, default, settings.explanations()[name])


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of groups of options that several commands share; each field is an option of typer."""


def takes_settings(
    *,
    without: Collection[str] = (),
    **classes: type[Settings],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting, and the command the settings made of them.

    A parameter whose default is an object of `Options` becomes an option for each of its fields.

    Args:
        without: Names of parameters and of options that the command does not have.
        classes: Classes of settings, by the parameters through which the command receives them.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        options_by_class = {
            name: [option for option in options_of(settings) if option.name not in without]
            for name, settings in classes.items()
        }
        setting_options = [option for options in options_by_class.values() for option in options]
        declared = [
            parameter
            for parameter in inspect.signature(command).parameters.values()
            if parameter.name not in (*classes, *without)
        ]
        groups = {
            parameter.name: parameter.default
            for parameter in declared
            if isinstance(parameter.default, Options)
        }

        @wraps(command)
        def wrapped(**values: Any) -> None:
            for name, group in groups.items():
                chosen = {field.name: values.pop(field.name) for field in fields(group)}
                values[name] = type(group)(**chosen)
            with naming_options(setting_options, [parameter.name for parameter in parameters]):
                for name, options in options_by_class.items():
                    values[name] = classes[name].from_mapping(_gathered(options, values))
                command(**values)

        without_settings = [
            option
            for parameter in declared
            for option in (
                _parameters(groups[parameter.name])
                if parameter.name in groups
                else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
            )
        ]
        is_ranked = len(setting_options) > FEW
        first = [option for option in setting_options if option.is_common or not is_ranked]
        rest = [option for option in setting_options if option not in first]
        parameters = [
            *(option.parameter() for option in first),
            *without_settings,
            *(option.parameter(option.panel) for option in rest),
        ]
        # Typer reads the signature, and types from the annotations.
        wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wrapped

    return decorate


def _parameters(group: Options) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each field of a group, with the value of the group as its default."""
    hints = get_type_hints(type(group), include_extras=True)
    for field in fields(group):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=getattr(group, field.name),
            annotation=hints[field.name],
        )


@contextmanager
def naming_options(options: list[SettingOption], others: Collection[str]) -> Iterator[None]:
    """Let refusals name settings by the options of a command, such as ``--training-epochs``.

    Args:
        options: Options that are made of settings.
        others: Names of the other parameters of the command.
    """
    # A setting of the command itself wins over a nested one of the same name.
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
    """Return the classes that a type is made of; ``tuple`` for ``tuple[…, ...]``."""
    if isinstance(hint, type):
        return [hint]
    origin = get_origin(hint)
    if origin is Annotated:
        return _types(get_args(hint)[0])
    inner = get_args(hint) if origin in (Union, UnionType, tuple) else ()
    kinds = [kind for part in inner for kind in _types(part)]
    return [tuple, *kinds] if origin is tuple else kinds


def _single(hint: Any) -> type:
    return next((kind for kind in (int, float) if kind in _types(hint)), str)


def _text(value: Any) -> str:
    """Return a default as it could be typed."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, float):
        return f"{value:g}"
    return "yes" if value is True else str(value)
