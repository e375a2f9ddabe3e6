"""The commands that ask one text a question, one for each row of the table."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from headlight.catalogue.questions import Question
from headlight.cli.arguments import command_line, demand_place, text_argument
from headlight.cli.help import HelpfulCommand, examples
from headlight.cli.options import LOAD, LoadOptions, Read, SecondText
from headlight.cli.printing import say, show
from headlight.cli.setting_options import takes_settings
from headlight.settings import Settings

FILES = {".html": "html", ".json": "json"}
"""Options of files by suffix; others are written by --out."""


def add_question(program: typer.Typer, question: Question, panel: str) -> None:
    """Add the command of a question."""
    epilog = examples(
        *((f"headlight {question.name} {words}", note) for words, note in question.examples)
    )
    make = program.command(question.name, cls=HelpfulCommand, epilog=epilog, rich_help_panel=panel)
    make(_command(question))


def _command(question: Question) -> Callable[..., None]:
    """Return the command of a question; its options are the settings of the question."""
    others = [each for each in question.suffixes if each not in FILES]

    @takes_settings(settings=question.settings)
    def command(
        text: Read,
        pair: SecondText = None,
        top: Annotated[int, typer.Option(min=1, help="Rows shown of each table.")] = 10,
        html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
        json: Annotated[Path | None, typer.Option(help="Write every number as JSON.")] = None,
        out: Annotated[
            Path | None,
            typer.Option(help=f"Write a file, by its suffix: {', '.join(others)}."),
        ] = None,
        load: LoadOptions = LOAD,
        *,
        settings: Settings,
    ) -> None:
        demand_place(html, ".html")
        demand_place(json, ".json")
        demand_place(out, *question.suffixes)
        _run(question, (text, pair), top, (html, json, out), load, settings)

    command.__doc__ = question.sentence
    command.__name__ = question.name
    return command


def _run(
    question: Question,
    texts: tuple[str, str | None],
    top: int,
    places: tuple[Path | None, ...],
    load: LoadOptions,
    settings: Settings,
) -> None:
    text = text_argument(texts[0], question.name)
    pair = texts[1] and text_argument(texts[1], question.name, "second text")
    layer = getattr(settings, "layer", None)
    layers = None if layer is None else (layer,)
    load.check(layers=layers)
    from headlight.views.study_terminal import answer_terminal

    model = load.load(layers=layers, head=question.head)
    answer = question.answer(model, text, pair, settings=settings, command=command_line())
    # Files before the terminal, which may be a pipe that closes early.
    written = [answer.save(path) for path in places if path is not None]
    show(answer_terminal(question, answer.dataset, top))
    for path in written:
        say(f"written: {path}")
