"""The command `survey`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.arguments import (
    attribution_settings,
    command_line,
    layer_numbers,
    load,
    names,
    printable,
)
from headlight.cli.options import (
    BiasOption,
    Device,
    Exact,
    KindOption,
    Layers,
    LoneUnits,
    ModelName,
    Overflow,
    Precision,
    Probes,
    Revision,
    SegmentIds,
    Trust,
    ValueBias,
)
from headlight.errors import UsageError

if TYPE_CHECKING:
    from headlight.corpora import Corpus

STANDARD_INPUT = "-"

SURVEY_EXAMPLES = """
[bold]Examples[/bold]

  headlight survey                                     [dim]embedded model, sample corpus[/dim]

  headlight survey corpus.txt.gz --model bert-base-uncased --out run/

  headlight survey wiki/ --pairs --max-examples 992    [dim]as Clark and Kobayashi did[/dim]

  headlight survey wiki/ --measures weight,attribution --max-examples 50

  headlight survey hf:imdb:train:text --out imdb/ --resume
"""


def survey(
    corpus: Annotated[
        str | None,
        typer.Argument(
            help="File, folder, glob, hf:NAME[:CONFIG][:SPLIT][:COLUMN], or - for standard input. "
            "Default: the sample corpus, as pairs."
        ),
    ] = None,
    model: ModelName = None,
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("headlight-survey"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the run in --out first.")
    ] = False,
    pairs: Annotated[
        bool,
        typer.Option("--pairs", help="Two adjacent segments per example (Clark et al. 2019)."),
    ] = False,
    max_length: Annotated[
        int | None, typer.Option(help="Tokens per example. Default: 128 for pairs, else up to 512.")
    ] = None,
    overflow: Annotated[
        Overflow, typer.Option(help="What becomes of a text that is too long.")
    ] = Overflow.TRUNCATE,
    max_examples: Annotated[int | None, typer.Option(help="Stop after so many.")] = None,
    format: Annotated[
        str | None, typer.Option(help="Format of the corpus. Default: by suffix and content.")
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="Column or key that holds the text (CSV, TSV, JSON lines).")
    ] = None,
    kind: KindOption = None,
    layers: Layers = None,
    measures: Annotated[
        str,
        typer.Option(
            help="Of weight, norm and effective; and of gradient, which runs a language model "
            "backward, and attribution, of input tokens, which costs most."
        ),
    ] = "weight,norm,effective",
    exact: Exact = False,
    probes: Probes = None,
    value_bias: BiasOption = ValueBias.INCLUDE,
    segment_ids: Annotated[
        SegmentIds, typer.Option(help="Segment ids of pairs; zeros as in Clark's released maps.")
    ] = SegmentIds.PAIR,
    lone_units: Annotated[
        LoneUnits,
        typer.Option(
            help="A paragraph that fills a pair alone waits for the next, or ends its text."
        ),
    ] = LoneUnits.JOIN,
    batch_tokens: Annotated[int, typer.Option(help="Tokens per batch, padding included.")] = 2048,
    seed: Annotated[int, typer.Option(help="Where segments are cut.")] = 0,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Read a corpus through a model, and report what every head does.

    Writes report.html, result.nc and tables of CSV into --out, and a short table here.
    """
    opened = _corpus(corpus, format, column)  # complains before anything slow is imported

    from rich.console import Console

    from headlight.analysis.folder import RunFolder
    from headlight.reports import write_report
    from headlight.studies.heads import study as heads
    from headlight.studies.heads.settings import SurveySettings

    wanted = tuple(names(measures))
    settings = SurveySettings(
        pairs=pairs,
        max_length=max_length,
        overflow=overflow.value,
        segment_ids=segment_ids.value,
        lone_units=lone_units.value,
        max_examples=max_examples,
        kind=kind.value if kind else None,
        layers=layer_numbers(layers),
        measures=wanted,
        attribution=attribution_settings(
            wanted="attribution" in wanted, exact=exact, probes=probes
        ),
        value_bias=value_bias.value,
        batch_tokens=batch_tokens,
        seed=seed,
    )
    folder = RunFolder(path=out, resume=resume, overwrite=overwrite)
    folder.check_free()
    head = "language_model" if "gradient" in wanted else "none"
    captured = load(model, revision, device, dtype, trust_remote_code, head)
    result = heads.run(
        opened,
        captured,
        settings,
        folder=folder,
        command=command_line(),
    )
    report = write_report(result, out)
    from headlight.views import terminal_table

    Console().print(terminal_table(result))
    for note in _left_out(result.attrs):
        typer.echo(note, err=True)
    typer.echo(f"report: {printable(report)}")


def _corpus(source: str | None, format: str | None, column: str | None) -> "Corpus | None":
    """The corpus, of which the first document can be read; None for the sample corpus."""
    if source is None:
        if format is not None or column is not None:
            raise UsageError("the sample corpus has a format of its own; name a corpus.")
        return None
    from headlight.corpora import open_corpus

    corpus = open_corpus(source, format=format, column=column)
    if source != STANDARD_INPUT:  # which can be read only once
        next(iter(corpus))
    return corpus


def _left_out(attributes: dict[str, Any]) -> list[str]:
    """What the user should know about text that was not read."""
    meanings = {
        "truncated": "texts were longer than the limit, and truncated",
        "split": "documents were longer than the limit, and split",
        "discarded": "documents lost a rest that made no pair",
        "empty": "documents held no token",
    }
    return [
        f"note: {attributes[name]} {meaning}"
        for name, meaning in meanings.items()
        if attributes.get(name)
    ]
