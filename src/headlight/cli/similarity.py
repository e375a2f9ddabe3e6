"""The command `similarity`: two texts or a file of pairs; the rest follows from its row."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from headlight.catalogue.question_settings import SimilaritySettings
from headlight.catalogue.questions import QUESTIONS
from headlight.catalogue.writers import writers
from headlight.cli.chat_options import NumbersJson
from headlight.cli.model_options import LoadOptions, default_of, load_options
from headlight.cli.output_files import demand_place, demand_places, out_help
from headlight.cli.question import Top, tell_answer
from headlight.cli.setting_options import takes_settings
from headlight.cli.text_arguments import text_argument
from headlight.errors import UsageError

ROW = QUESTIONS["similarity"]
DEFAULT = load_options(default_of(ROW))


@takes_settings(settings=SimilaritySettings)
def similarity(
    text: Annotated[str | None, typer.Argument(help="First text; - for standard input.")] = None,
    pair: Annotated[str | None, typer.Argument(help="Second text.")] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="A file of pairs (a table, JSON lines): a row for each, and means."),
    ] = None,
    top: Top = None,
    html: Annotated[Path | None, typer.Option(help="Write a page.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table of pairs as CSV.")] = None,
    json: NumbersJson = None,
    out: Annotated[Path | None, typer.Option(help=out_help("similarity"))] = None,
    load: LoadOptions = DEFAULT,
    *,
    settings: SimilaritySettings,
) -> None:
    """Ask about two texts, or about a file of pairs of texts."""
    from headlight.corpora import open_sentence_pairs

    demand_places(html=html, csv=csv, json=json)
    demand_place(out, *writers("similarity"))
    subject: tuple[Any, ...]
    if pairs is not None:
        if text is not None:
            raise UsageError("--pairs has texts of its own; leave the others out.")
        subject = (list(open_sentence_pairs(pairs)),)
    elif text is None or pair is None:
        raise UsageError("a similarity is that of two texts; give two, or a file of --pairs.")
    else:
        second = text_argument(pair, "similarity", "second text")
        subject = (text_argument(text, "similarity"), second)
    model = load.load(default=ROW.default_model, head=ROW.head)
    tell_answer(
        ROW,
        partial(ROW.answer, model, *subject, settings=settings),
        announcement=f"embedding the texts with {model}",
        places=(html, csv, json, out),
        top=top,
    )
