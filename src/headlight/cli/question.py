"""Commands of questions of one text."""

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.catalogue.questions import Question
from headlight.catalogue.writers import writers
from headlight.cli.chat_options import NO_CHAT, ChatOptions, NumbersJson, Read, SecondText
from headlight.cli.help import HelpfulCommand, examples
from headlight.cli.model_options import LoadOptions, default_of, layers_of, load_options
from headlight.cli.output_files import demand_place, demand_places, out_help, tell_written
from headlight.cli.printing import command_line, show
from headlight.cli.setting_options import takes_settings
from headlight.cli.text_arguments import text_argument
from headlight.errors import UsageError
from headlight.settings import Settings

if TYPE_CHECKING:
    from headlight.corpora import Chat


Top = Annotated[
    int | None, typer.Option(min=1, help="Show tables too, with this many rows of each.")
]
"""Option of the number of rows of tables."""


def add_question(program: typer.Typer, question: Question, panel: str) -> None:
    """Add the command of a question."""
    epilog = examples(
        *((f"headlight {question.name} {words}", note) for words, note in question.examples)
    )
    make = program.command(
        question.name,
        cls=HelpfulCommand,
        help=question.sentence,
        epilog=epilog,
        rich_help_panel=panel,
    )
    if question.command:
        make(getattr(import_module(question.command), question.name))
    else:
        make(_question_command(question))


def _question_command(question: Question) -> Callable[..., None]:
    """Return the command of a question; its options are the settings of the question."""
    default_load = load_options(default_of(question))

    @takes_settings(settings=question.settings)
    def command(
        text: Read = None,
        pair: SecondText = None,
        chat: ChatOptions = NO_CHAT,
        top: Top = None,
        html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
        json: NumbersJson = None,
        out: Annotated[Path | None, typer.Option(help=out_help(question.name))] = None,
        load: LoadOptions = default_load,
        *,
        settings: Settings,
    ) -> None:
        demand_places(html=html, json=json)
        demand_place(out, *writers(question.name))
        subject = chat.subject(text, question.name)
        if subject is None:
            raise UsageError("there is nothing to read; give a text, or --chat.")
        _run_question(question, (subject, pair), top, (html, json, out), load, settings)

    return command


def _run_question(
    question: Question,
    texts: "tuple[str | Chat, str | None]",
    top: int | None,
    places: tuple[Path | None, ...],
    load: LoadOptions,
    settings: Settings,
) -> None:
    text, pair = texts
    pair = None if pair is None else text_argument(pair, question.name, "second text")
    if (other := getattr(settings, "compare_text", None)) is not None:
        other = text_argument(other, question.name, "text to compare with")
        settings = settings.replace(compare_text=other)
    layer, head = (getattr(settings, name, None) for name in ("layer", "head"))
    layers = getattr(settings, "layers", None) if layer is None else (layer,)
    heads = None if head is None else (head,)
    default = question.model_for(text, pair, other)
    model = load.load(default=default, layers=layers, heads=heads, head=question.head)
    if layer is None and layers is not None:
        settings = settings.replace(
            layers=layers_of(model, layers, getattr(settings, "kind", None))
        )
    tell_answer(
        question,
        partial(question.answer, model, text, pair, settings=settings),
        announcement=f"{question.name}: reading the text with {model}",
        places=places,
        top=top,
    )


def tell_answer(
    question: Question,
    answer: Callable[..., Any],
    *,
    announcement: str,
    places: Iterable[Path | None],
    top: int | None,
) -> None:
    """Answer a question, write the answer, and show it in the terminal.

    Args:
        question: Question that is answered.
        answer: Function of the ``command`` that answers it.
        announcement: Line about the work, while it is done.
        places: Files to write.
        top: Number of rows shown of each table; by default as `answer_terminal` does.
    """
    from headlight.engine.progress import announced
    from headlight.views.result_terminal import answer_terminal

    with announced(announcement):
        result = answer(command=command_line())
        # Files before the terminal, which may be a pipe that closes early.
        written = [result.save(path) for path in places if path is not None]
    show(answer_terminal(question.view, result.dataset, top))
    tell_written(*written)
