"""The command `sources`."""

import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from headlight.catalogue.question_settings import SourceSettings
from headlight.catalogue.writers import writers
from headlight.cli.chat_options import NO_CHAT, ChatOptions, NumbersJson
from headlight.cli.help import examples
from headlight.cli.model_options import LOAD, LoadOptions
from headlight.cli.output_files import demand_place, demand_places, out_help, tell_written
from headlight.cli.printing import command_line, show
from headlight.cli.setting_options import takes_settings
from headlight.corpora.passages import examples_of, read_examples
from headlight.errors import UsageError
from headlight.vocabulary import place_of_head

SOURCES_EXAMPLES = examples(
    (
        'headlight sources "Where is the key?" --context "The key is in the shed." --context '
        '"The shed is green." --model gpt2',
        "the model answers",
    ),
    'headlight sources "Who won?" --context a.txt --context b.txt --answer "Ada" --model gpt2',
    ("headlight sources --chat rag.json --context a.txt --model NAME", "passages of a chat"),
    ("headlight sources --examples questions.jsonl --model NAME --html used.html", "intervals"),
)


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
    top: Annotated[int, typer.Option(min=1, help="Rows shown of each table.")] = 10,
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write a table of passages as CSV.")] = None,
    json: NumbersJson = None,
    out: Annotated[Path | None, typer.Option(help=out_help("sources"))] = None,
    load: LoadOptions = LOAD,
    *,
    settings: SourceSettings,
) -> None:
    """Compare what passages contribute to an answer: attention, contributions, removal."""
    demand_places(html=html, csv=csv, json=json)
    demand_place(out, *writers("sources"))
    subject: Any = chat.subject(question, "sources")
    if examples is not None:
        if subject is not None or context or answer is not None:
            raise UsageError("--examples have questions of their own; leave the others out.")
        subject = read_examples(examples)
    elif subject is None:
        raise UsageError("there is no question; give one, or --chat, or --examples.")
    passages = None if examples is not None else [_passage(each) for each in context or ()]
    examples_of(subject, passages, answer)
    heads = [place for name in settings.chosen or () if (place := place_of_head(name))]
    model = load.load(
        layers=[layer for layer, _ in heads], heads=[head for _, head in heads], head="any"
    )
    from headlight.engine.progress import announced
    from headlight.reading.sources import sources as compare
    from headlight.views.reading import sources as view
    from headlight.views.result_terminal import answer_terminal

    with announced(f"comparing what passages contribute with {model}"):
        result = compare(
            model, subject, passages, answer=answer, settings=settings, command=command_line()
        )
        # Files before the terminal, which may be a pipe that closes early.
        written = [result.save(path) for path in (html, csv, json, out) if path is not None]
    show(answer_terminal(view, result.dataset, top))
    tell_written(*written)


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
