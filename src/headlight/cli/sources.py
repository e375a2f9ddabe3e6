"""The command `sources`: its arguments; the rest follows from its row."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from headlight.catalogue.question_settings import SourceSettings
from headlight.catalogue.questions import QUESTIONS
from headlight.catalogue.writers import writers
from headlight.cli.chat_options import NO_CHAT, ChatOptions, NumbersJson
from headlight.cli.model_options import LoadOptions, default_of, load_options
from headlight.cli.output_files import demand_place, demand_places, out_help
from headlight.cli.question import Top, tell_answer
from headlight.cli.setting_options import takes_settings
from headlight.corpora.passages import examples_of, read_examples
from headlight.errors import UsageError
from headlight.vocabulary import place_of_head

ROW = QUESTIONS["sources"]
DEFAULT = load_options(default_of(ROW))


@takes_settings(settings=SourceSettings)
def sources(
    question: Annotated[str | None, typer.Argument(help="Question; - for standard input.")] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(help="A passage, or a file that is one. May be given more than once."),
    ] = None,
    answer: Annotated[
        str | None, typer.Option(help="The answer; by default what the model writes.")
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option(help="JSON lines with question, context (a list) and answer, for intervals."),
    ] = None,
    chat: ChatOptions = NO_CHAT,
    top: Top = None,
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a table of passages as CSV.")] = None,
    json: NumbersJson = None,
    out: Annotated[Path | None, typer.Option(help=out_help("sources"))] = None,
    load: LoadOptions = DEFAULT,
    *,
    settings: SourceSettings,
) -> None:
    """Ask about passages and an answer, or about a file of examples; no other question has them."""
    demand_places(html=html, csv=csv, json=json)
    demand_place(out, *writers("sources"))
    subject: Any = chat.subject(question, "sources")
    if examples is not None:
        if subject is not None or context or answer is not None:
            raise UsageError("--examples have questions of their own; leave the others out.")
        subject = read_examples(examples)
    elif subject is None:
        raise UsageError("there is no question; give one, or --chat, or --examples.")
    passages = None if examples is not None else [_passage(value) for value in context or ()]
    asked = examples_of(subject, passages, answer)
    heads = [place for name in settings.chosen or () if (place := place_of_head(name))]
    model = load.load(
        default=ROW.model_for(subject),
        layers=[layer for layer, _ in heads],
        heads=[head for _, head in heads],
        head=ROW.head,
    )
    ask = partial(ROW.answer, model, subject, passages, answer=answer, settings=settings)
    tell_answer(
        ROW,
        partial(_with_progress, ask, asked, settings),
        announcement=f"comparing what passages contribute with {model}",
        places=(html, csv, json, out),
        top=top,
    )


def _with_progress(
    ask: Callable[..., Any],
    asked: Sequence[Mapping[str, Any]],
    settings: SourceSettings,
    command: str,
) -> Any:
    """Return the answer; the texts that have been read are shown meanwhile."""
    from headlight.engine.progress import show_progress
    from headlight.reading.sources import texts_to_read

    with show_progress(texts_to_read(asked, settings), unit="texts") as bar:
        return ask(command=command, progress=bar)


FILE_NAME = re.compile(r"\S+\.(txt|text|md|csv|tsv|jsonl?|pdf|docx?|html?)", re.IGNORECASE)
"""Names of files that nobody means as a passage."""


def _passage(value: str) -> str:
    """Return a passage: the text of a file of that name, or the value itself."""
    from headlight.corpora.file_kinds import (
        LONGEST_START,
        kind_without_text,
        markup_of,
        why_no_text,
    )
    from headlight.files import read as content_of

    if not os.path.exists(value):  # noqa: PTH110 - any string
        if FILE_NAME.fullmatch(value):
            raise UsageError(f"there is no file {value}; correct its path, or write the passage.")
        return value
    content, suffix = content_of(Path(value), error=UsageError), Path(value).suffix.lower()
    if kind := kind_without_text(content[:LONGEST_START], suffix):
        raise UsageError(f"{value} is {kind}.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"{value} is not UTF-8; convert it first.") from problem
    if "\0" in text:
        raise UsageError(f"{value}: {why_no_text(content, suffix)}.")
    if markup := markup_of(text, suffix):
        raise UsageError(f"{value} is {markup}; give its text alone.")
    return text.strip()
