"""Options from a file: what is given on the command line comes before what the file says."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from headlight.cli.options import RUN
from headlight.errors import UnknownNameError, UsageError


def _load(context: Any, path: Path | None) -> Path | None:
    """Make what the file says the defaults of all parameters that come after this one."""
    if path is not None:
        known = {str(each.name): each for each in context.command.params if each.name != "config"}
        found = _flat(_read(path))
        for name in found:
            if name not in known:
                raise UnknownNameError(f"option of {context.info_name}", name, known)
        context.default_map = {
            name: _typed(value, getattr(known[name], "multiple", False))
            for name, value in found.items()
        }
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_load,
        is_eager=True,
        help="YAML or TOML file with options; those on the command line come first.",
        rich_help_panel=RUN,
    ),
]


def _read(path: Path) -> Mapping[str, Any]:
    """What the file holds.

    Raises:
        UsageError: it cannot be read, or holds something else.
    """
    from headlight.files import reason

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{path} cannot be read: {reason(problem)}.") from problem
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path} is not UTF-8; convert it first.") from problem
    found = _toml(path, text) if path.suffix == ".toml" else _yaml(path, text)
    if not isinstance(found, Mapping):
        raise UsageError(f"{path} holds no options; write lines such as max_length: 128.")
    return found


def _toml(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise UsageError(f"{path} is no TOML: {problem}.") from problem


def _yaml(path: Path, text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as problem:
        where = str(problem).replace("\n", " ")
        raise UsageError(f"{path} is no YAML: {where}.") from problem


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Values by the names of their parameters."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{before}{key}".replace("-", "_")
        if isinstance(value, Mapping):
            found |= _flat(value, f"{name}_")
        elif value is not None:
            found[name] = value
    return found


def _typed(value: Any, is_repeated: bool) -> Any:
    """A value as it would be typed: a list with commas, or as so many values."""
    if is_repeated:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value
