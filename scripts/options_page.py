"""Fill the tables of options in docs/command-line.md from the commands themselves.

    python scripts/options_page.py

A table stands between ``<!-- options: NAME -->`` and ``<!-- end -->``.  NAME is a command, or a
group of options that several commands share.  Below a command stand the options that no group
has, and links to the groups that it has options of.
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
from headlight.cli.setting_options import SERIES
from headlight.study_settings.texts import TextSettings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
TABLE = re.compile(r"(<!-- options: ([a-z0-9- ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
AFTER = "## Use results and runs"
"""What comes after the sections of studies."""
SPECIAL = ("out", "help")
"""Options whose default, or whose meaning, is said in words."""
OF_ALL = ("the model", "the run", "texts")
"""Groups that all commands, all studies and all studies of text have."""
GROUPS = {
    "all papers": ("reproduce abnar2020", "text|config|only|listed|out|resume|overwrite|seed"),
    "papers on classifiers": (
        "reproduce wiegreffe2019",
        "word_vectors|labelled|data|processes|selection|epochs|max_texts|max_words|distance",
    ),
    "papers on maps of tokens": ("reproduce abnar2020", "max_examples|max_length|removal|data"),
    "papers on segments of text": (
        "reproduce brunner2020",
        "dependency|segment_ids|max_examples|max_length",
    ),
    "chats": ("predict", "chat|system|no_template"),
    "answers": ("predict", "top|html|json|out"),
    "predictions": ("predict", "target|against|position|compare_text"),
    "comparisons": ("serve", "compare_model|compare_revision"),
    "measures": ("survey", "measures|value_bias|attribution_.*"),
    "attention": ("permutation", "kind|layers|batch_tokens|seed"),
    "annotation": (
        "parser-probes",
        "format|max_length|invalid|unencodable|queries|pooling|overflow",
    ),
    "labelled texts": (
        "permutation",
        "format|columns|label_column|class_names|max_length|max_examples",
    ),
    "word links": ("align", "null|unit|pooling|similarity_.*|inputs_.*|prefix"),
}
"""Other groups: a command that has the options, and a pattern of their names."""

COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def filled(page: str) -> str:
    """The page with all its tables as the commands are now, and a section for every study."""
    for study in (study for study in studies().values() if study.is_ours):
        if f"<!-- options: {study.command} -->" not in page:
            page = page.replace(AFTER, section(study) + AFTER)
    return TABLE.sub(lambda match: f"{match[1]}{options(match[2])}{match[3]}", page)


def section(study: Study) -> str:
    """What is said of a study of which the page says nothing yet."""
    examples = "\n".join(f"headlight {study.command} {line}" for line, _ in study.examples)
    return (
        f"## `headlight {study.command} [SOURCE]`\n\n"
        f"{study.question[:1].upper()}{study.question[1:]}.\n\n"
        f"<!-- options: {study.command} -->\n<!-- end -->\n\n"
        f"```\n{examples.rstrip()}\n```\n\n"
    )


def options(name: str) -> str:
    """The options of a group; or those of a command that no group has, and links to groups."""
    if name in (*OF_ALL, *GROUPS):
        return table(group(name))
    of_all = {option.name for title in of_all_groups(name) for option in group(title)}
    rest = {row(option): option for option in options_of(name) if option.name not in of_all}
    links = []
    for title in GROUPS:
        rows = [row(option) for option in group(title)]
        if shared := [line for line in rows if line in rest]:
            names = "" if len(shared) == len(rows) else f" ({named(rest[line] for line in shared)})"
            links.append(f"[{title}](#options-of-{title.replace(' ', '-')}){names}")
            rest = {line: option for line, option in rest.items() if line not in shared}
    text = table(rest.values())
    if links:
        text += f"\nAs well as those of {', '.join(links)}.\n"
    return text


def group(title: str) -> list[Any]:
    """The options of a group."""
    survey = options_of("survey")
    if title == "the run":
        return [option for option in survey if option.rich_help_panel == RUN]
    if title == "the model":
        return [option for option in survey if option.rich_help_panel == MODEL]
    if title == "texts":
        return [option for option in survey if option.name in TextSettings.hints()]
    command, names = GROUPS[title]
    return [option for option in options_of(command) if re.fullmatch(names, option.name)]


def of_all_groups(name: str) -> list[str]:
    """The groups that a command has because of its kind."""
    study = studies().get(name.replace("-", "_"))
    if study is None:
        return ["the model"]
    return list(OF_ALL if issubclass(study.settings, TextSettings) else OF_ALL[:2])


def options_of(name: str) -> list[Any]:
    """The options of a command, such as ``reproduce clark2019``, that are described."""
    first, _, second = name.partition(" ")
    command = COMMANDS[first].commands[second] if second else COMMANDS[first]
    return [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.hidden
    ]


def table(listed: Iterable[Any]) -> str:
    """Options, one a line."""
    rows = [row(option) for option in listed]
    return "\n".join(["| option | |", "| --- | --- |", *rows, ""]) if rows else ""


def row(option: Any) -> str:
    """The line of an option in a table."""
    return f"| {named([option], values=True)} | {meaning(option)} |"


def named(listed: Iterable[Any], values: bool = False) -> str:
    """Options as they are typed, perhaps with the values that there are."""
    return ", ".join(f"`{flag}`" for option in listed for flag in flags(option, values))


def flags(option: Any, values: bool) -> list[str]:
    """The names of an option, the long one first."""
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: -len(name))
    chosen = [name for name in names if name in option.opts]
    choices = get_args(option.type_descriptor.annotation)
    if values and all(isinstance(choice, str) for choice in choices):
        chosen[0] += f" {'|'.join(choices)}".rstrip().replace("|", "\\|")
    return chosen


def meaning(option: Any) -> str:
    """The help of the option, and its default where the help does not say it.

    How series are written, and the names that the help has explained, are said once.
    """
    words = re.sub(rf" (?:{'|'.join(SERIES.values())})[^.]*\.(?= |$)", "", str(option.help))
    explained, choices, rest = words.partition(" Choices: ")
    named, _, default = rest.partition(".")
    if choices and all(re.search(rf"\b{name}\b", explained) for name in named.split(", ")):
        words = explained + default
    words = words.replace("\\[", "[").replace("|", "\\|")
    if option.name not in SPECIAL and option.default not in (None, False, ()):
        words += f" Default: {option.default}."
    return words


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
