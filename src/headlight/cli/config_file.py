"""Options read from a file of YAML or TOML."""

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from headlight.cli.run_options import RUN
from headlight.errors import UnknownNameError, UsageError, flag

LARGEST = 1 << 20
"""Maximum size of a file of options, in bytes."""

ON_THE_COMMAND_LINE = {
    "trust_remote_code": "runs code that comes with a model",
    "out": "says where files are written",
    "overwrite": "removes files",
    "workers": "starts processes, on other machines too",
}
"""Options that a file may not set, and the effect of each, for the refusal.

Files of options are passed on to others, and `merge` reads the one in the folder of a run, so that
a file must not run code, remove files or start processes.
"""


def _load(context: Any, path: Path | None) -> Path | None:
    """Make the values in the file the defaults of all other parameters."""
    if path is not None:
        params = {
            str(param.name): param for param in context.command.params if param.name != "config"
        }
        values = _flat(_read(path))
        for name in values:
            if name not in params:
                raise UnknownNameError(f"option of {context.info_name}", name, params)
            if name in ON_THE_COMMAND_LINE:
                raise UsageError(
                    f"{path} sets {name}, which {ON_THE_COMMAND_LINE[name]}; take it out of the "
                    f"file, and give {flag(name)} on the command line if you want it."
                )
        context.default_map = {
            name: _typed(value, getattr(params[name], "multiple", False))
            for name, value in values.items()
        }
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=_load,
        is_eager=True,  # before the options whose defaults it sets
        help="YAML or TOML file with options; those on the command line take precedence.",
        rich_help_panel=RUN,
    ),
]


def _read(path: Path) -> Mapping[str, Any]:
    """Read a file of options.

    Raises:
        UsageError: the file cannot be read, or does not hold options.
    """
    from headlight import files

    try:
        text = files.read(path, most=LARGEST, error=UsageError).decode()
    except UnicodeDecodeError as problem:
        raise UsageError(f"{path} is not UTF-8; convert it first.") from problem
    options = _toml(path, text) if path.suffix == ".toml" else _yaml(path, text)
    if not isinstance(options, Mapping):
        raise UsageError(f"{path} holds no options; write lines such as max_length: 128.")
    return options


def _toml(path: Path, text: str) -> Any:
    try:
        return tomllib.loads(text)
    # Besides its own errors, the parser raises those of numbers of a thousand digits and of
    # brackets nested deeper than the stack.
    except Exception as problem:
        raise UsageError(f"{path} is no TOML: {_in_one_line(problem)}.") from problem


def _yaml(path: Path, text: str) -> Any:
    import yaml

    try:
        repeated = any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))
        content = yaml.safe_load(text)
    except Exception as problem:  # as above; dates may be impossible, too
        raise UsageError(f"{path} is no YAML: {_in_one_line(problem)}.") from problem
    if repeated:  # aliases of aliases grow exponentially
        raise UsageError(f"{path} repeats a value by its name (*name); write it out.")
    return {} if content is None else content


def _in_one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return the values by the names of their parameters, nested ones joined by underscores."""
    values_by_name: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{before}{key}".replace("-", "_")
        if isinstance(value, Mapping):
            values_by_name |= _flat(value, f"{name}_")
        elif value is not None:
            values_by_name[name] = _plain(name, value)
    return values_by_name


def _plain(name: str, value: Any) -> Any:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, bool | int | float | str | date) for item in values):
        raise UsageError(f"{name} is a list of lists, or no value at all; write {name}: [1, 2].")
    return value


def _typed(value: Any, is_repeated: bool) -> Any:
    # The parser converts defaults like words of the command line, where lists have commas.
    if is_repeated:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value
