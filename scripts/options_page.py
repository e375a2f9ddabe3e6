"""Fill the tables of options in docs/command-line.md from the commands themselves.

    python scripts/options_page.py

A table stands between ``<!-- options: NAME -->`` and ``<!-- end -->``.  NAME is a command, or a
group of options that several commands share, which the tables of commands leave out.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, get_args

import typer.main

from headlight.catalogue import Study, studies
from headlight.cli.model_options import MODEL
from headlight.cli.program import app
from headlight.cli.run_options import RUN
from headlight.study_settings.texts import TextSettings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
TABLE = re.compile(r"(<!-- options: ([a-z0-9- ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
AFTER = "## `headlight status RUN`"
"""What comes after the sections of studies."""
SPECIAL = ("out", "help")
"""Options whose default, or whose meaning, is said in words."""

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def filled(page: str) -> str:
    """The page with all its tables as the commands are now, and a section for every study."""
    for study in (each for each in studies().values() if each.is_ours):
        if f"<!-- options: {study.command} -->" not in page:
            page = page.replace(AFTER, section(study) + AFTER)
    return TABLE.sub(lambda match: f"{match[1]}{table(match[2])}{match[3]}", page)


def section(study: Study) -> str:
    """What is said of a study of which the page says nothing yet."""
    examples = "\n".join(f"headlight {study.command} {each[0]}" for each in study.examples)
    return (
        f"## `headlight {study.command} [SOURCE]`\n\n"
        f"{study.question[:1].upper()}{study.question[1:]}.\n\n"
        f"<!-- options: {study.command} -->\n<!-- end -->\n\n"
        f"```\n{examples.rstrip()}\n```\n\n"
    )


def table(name: str) -> str:
    """The options of a command or a group, one a line."""
    rows = [f"| `{'`, `'.join(flags(each))}` | {meaning(each)} |" for each in options(name)]
    return "\n".join(["| option | |", "| --- | --- |", *rows, ""])


def options(name: str) -> list[Any]:
    """The options that a table lists."""
    every = [each for each in COMMANDS["survey"].params if is_option(each)]
    if name == "the run":
        return [each for each in every if each.rich_help_panel == RUN]
    if name == "the model":
        return [each for each in every if each.rich_help_panel == MODEL]
    if name == "texts":
        return [each for each in every if each.name in TextSettings.hints()]
    own = [each for each in command_of(name).params if is_option(each)]
    return [each for each in own if each.name not in shared(name)]


def command_of(name: str) -> Any:
    """The command of that name, such as ``reproduce clark2019``."""
    first, _, second = name.partition(" ")
    return COMMANDS[first].commands[second] if second else COMMANDS[first]


def shared(name: str) -> set[str]:
    """Options of a command that are in the tables of groups."""
    found = {each.name for each in options("the model")}
    if (study := studies().get(name.replace("-", "_"))) is None:
        return found
    found |= {each.name for each in options("the run")}
    return found | (
        set(TextSettings.hints()) if issubclass(study.settings, TextSettings) else set()
    )


def is_option(parameter: Any) -> bool:
    """Whether it is an option that is described."""
    return parameter.param_type_name == "option" and not parameter.hidden


def flags(option: Any) -> Iterable[str]:
    """As they are typed, with the values that there are."""
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: -len(name))
    chosen = [name for name in names if name in option.opts]
    values = get_args(option.type_descriptor.annotation)
    if all(isinstance(each, str) for each in values):
        chosen[0] += f" {'|'.join(values)}".rstrip().replace("|", "\\|")
    return chosen


def meaning(option: Any) -> str:
    """The help of the option, and its default where the help does not say it."""
    words = str(option.help).replace("\\[", "[").replace("|", "\\|")
    if option.name not in SPECIAL and option.default not in (None, False, ()):
        words += f" Default: {option.default}."
    return words


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
