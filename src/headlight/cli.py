"""The command line: parse, call, print."""

import itertools
import os
import re
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight import __version__
from headlight.errors import HeadlightError, RunInterruptedError, UsageError

if TYPE_CHECKING:
    from headlight.capture import Site, Subject
    from headlight.corpora import Corpus
    from headlight.papers.plan import Paper, Plan
    from headlight.views.exhibits import Exhibit

STANDARD_INPUT = "-"
LAYER_RANGE = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
BROKEN_PIPE = 141
"""What a shell reports of a program whose reader went away."""

# The parser's own class of usage errors lies in typer or in click, as its version has it.
ParserRefusal: Any = typer.BadParameter.__base__

app = typer.Typer(
    name="headlight",
    help="What attention in Transformers really does, beyond the raw attention weight.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Kind(StrEnum):
    """Kinds of attention."""

    ENCODER = "encoder"
    DECODER = "decoder"
    CROSS = "cross"


class Overflow(StrEnum):
    """What becomes of a text that is too long."""

    TRUNCATE = "truncate"
    SPLIT = "split"
    ERROR = "error"


class ValueBias(StrEnum):
    """Whether T of effective attention holds the value bias."""

    INCLUDE = "include"
    EXCLUDE = "exclude"


class SegmentIds(StrEnum):
    """Segment ids of pairs."""

    PAIR = "pair"
    ZEROS = "zeros"


class LoneUnits(StrEnum):
    """What becomes of a paragraph that fills a pair alone."""

    JOIN = "join"
    DISCARD = "discard"


class Measure(StrEnum):
    """Measures that a reading shows."""

    WEIGHT = "weight"
    NORM = "norm"
    EFFECTIVE = "effective"


class PaperName(StrEnum):
    """Papers that can be reproduced."""

    CLARK_2019 = "clark2019"
    KOBAYASHI_2020 = "kobayashi2020"


class Broken(StrEnum):
    """What becomes of annotations that contradict themselves."""

    REFUSE = "refuse"
    SKIP = "skip"


ModelName = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", help="Name on the hub, or a folder. Default: the embedded model."
    ),
]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit on the hub.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps, or auto.")]
Precision = Annotated[str, typer.Option("--dtype", help="float32, bfloat16, float16 or float64.")]
Trust = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
Layers = Annotated[
    str | None, typer.Option(help="Layers to look at, such as 0,3-5 (zero-based). Default: all.")
]
KindOption = Annotated[
    Kind | None, typer.Option(help="Which attention. Default: the first that the model has.")
]
BiasOption = Annotated[
    ValueBias, typer.Option(help="Whether T of effective attention holds the value bias.")
]

SURVEY_EXAMPLES = """
[bold]Examples[/bold]

  headlight survey                                     [dim]embedded model, sample corpus[/dim]

  headlight survey corpus.txt.gz --model bert-base-uncased --out run/

  headlight survey wiki/ --pairs --max-examples 992    [dim]as Clark and Kobayashi did[/dim]

  headlight survey hf:imdb:train:text --out imdb/ --resume
"""


@app.command(epilog=SURVEY_EXAMPLES)
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

    from headlight.surveys import Folder, Settings, sample_settings, survey as run_survey
    from headlight.surveys.write import write_report

    settings = Settings(
        pairs=pairs,
        max_length=max_length,
        overflow=overflow.value,
        segment_ids=segment_ids.value,
        lone_units=lone_units.value,
        max_examples=max_examples,
        kind=kind.value if kind else None,
        layers=_layers(layers),
        value_bias=value_bias.value,
        batch_tokens=batch_tokens,
        seed=seed,
    )
    folder = Folder(path=out, resume=resume, overwrite=overwrite)
    folder.demand_free()
    subject = _load(model, revision, device, dtype, trust_remote_code)
    if opened is None:
        settings = sample_settings(settings, subject)
    result = run_survey(
        opened,
        subject,
        settings,
        folder=folder,
        command=_command(),
    )
    report = write_report(result, out)
    from headlight.views import terminal_table

    Console().print(terminal_table(result))
    for note in _left_out(result.attrs):
        typer.echo(note, err=True)
    typer.echo(f"report: {_printable(report)}")


SLOW_PAGE = 4_000_000
"""Numbers above which a browser takes its time over a page."""

READ_EXAMPLES = """
[bold]Examples[/bold]

  headlight read "The cat sat on the mat."

  headlight read "The cat sat." "It purred." --measure norm --html cat.html

  headlight read "The cat sat." --model gpt2 --json cat.json

  echo "The cat sat." | headlight read -
"""


@app.command(epilog=READ_EXAMPLES)
def read(
    text: Annotated[str, typer.Argument(help="What the model reads; - for standard input.")],
    pair: Annotated[
        str | None, typer.Argument(help="A second text: next segment, or the decoder's text.")
    ] = None,
    model: ModelName = None,
    measure: Annotated[Measure, typer.Option(help="What the terminal shows.")] = Measure.NORM,
    top: Annotated[int, typer.Option(min=1, help="Links shown per head.")] = 3,
    html: Annotated[Path | None, typer.Option(help="Write a page of heat maps.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write every number as JSON.")] = None,
    netcdf: Annotated[Path | None, typer.Option(help="Write every number as NetCDF.")] = None,
    kind: KindOption = None,
    layers: Layers = None,
    value_bias: BiasOption = ValueBias.INCLUDE,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Read one text, or two, and show the strongest links of every head."""
    for path, suffix in ((html, ".html"), (json, ".json"), (netcdf, ".nc")):
        _demand_place(path, suffix)
    chosen = _layers(layers)
    text = _text(text)

    from rich.console import Console

    from headlight.reading import read as read_text

    subject = _load(model, revision, device, dtype, trust_remote_code)
    reading = read_text(
        subject,
        text,
        pair,
        kind=kind.value if kind else None,
        layers=chosen,
        value_bias=value_bias.value,
        command=_command(),
    )
    from headlight.views import reading_terminal

    # Files before the terminal, which may be a pipe that closes early.
    written = [reading.save(path) for path in (html, json, netcdf) if path is not None]
    Console().print(reading_terminal(reading.dataset, measure=measure.value, top=top))
    for path in written:
        typer.echo(f"written: {_printable(path)}")
    numbers = sum(variable.size for variable in reading.dataset.data_vars.values())
    if html is not None and numbers > SLOW_PAGE:
        typer.echo(
            f"note: {_printable(html)} holds {numbers / 1e6:.0f} million numbers and is slow to "
            "open; choose some with --layers.",
            err=True,
        )


REPRODUCE_EXAMPLES = """
[bold]Examples[/bold]

  headlight reproduce clark2019 --list                 [dim]the exhibits, and what each needs[/dim]

  headlight reproduce clark2019 --data corpora/        [dim]embedded model; folders by name[/dim]

  headlight reproduce clark2019 --model bert-base-uncased --dependency ptb.conll

  headlight reproduce clark2019 --only table-1,figure-5 --dependency en_ewt-ud-dev.conllu --resume

  headlight reproduce kobayashi2020 --model bert-base-uncased --text wiki/
"""


@app.command(epilog=REPRODUCE_EXAMPLES)
def reproduce(
    paper: Annotated[PaperName, typer.Argument(help="Which paper.")],
    model: ModelName = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data, whose folders say by their names what they hold: wikipedia… or "
            "text… (text), ud_…, treebank… or ptb… (treebanks), …coref…, glove… or word2vec…"
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Text: file, folder, glob or hf:NAME. Default: the sample corpus."),
    ] = None,
    dependency: Annotated[
        list[str] | None,
        typer.Option(help="Treebank (CoNLL-U, CoNLL-X, columns); may be given more than once."),
    ] = None,
    dependency_train: Annotated[
        str | None,
        typer.Option(help="Treebank to train probes on. Default: a part of the first treebank."),
    ] = None,
    coreference: Annotated[
        list[str] | None,
        typer.Option(
            help="Coreference (CoNLL-2012, LitBank, CorefUD); may be given more than once."
        ),
    ] = None,
    word_vectors: Annotated[
        str | None,
        typer.Option(help="GloVe or word2vec text file. Default: the model's input embeddings."),
    ] = None,
    frequency_ranks: Annotated[
        str | None,
        typer.Option(
            help="Lines of rank, count and token id, for this tokenizer. Default: counted in the "
            "text."
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Exhibits, such as table-1,figure-3. Default: all.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the exhibits, and make none.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to. Default: headlight-PAPER.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Use the results that are in --out already.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the results in --out first.")
    ] = False,
    measures: Annotated[
        str, typer.Option(help="What is compared with one another.")
    ] = "weight,norm,effective,gradient",
    max_examples: Annotated[int, typer.Option(min=1, help="Segments of text.")] = 992,
    max_length: Annotated[int, typer.Option(min=8, help="Tokens per segment of text.")] = 128,
    max_sentences: Annotated[
        int | None, typer.Option(min=1, help="Sentences of each treebank. Default: all.")
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Read whole documents for coreference, in windows that share so many words. "
            "Default: cut them off after 128 tokens, as Clark did.",
        ),
    ] = None,
    segment_ids: Annotated[
        SegmentIds | None,
        typer.Option(help="Segment ids of pairs. Default: as the paper's authors set them."),
    ] = None,
    broken: Annotated[
        Broken,
        typer.Option(help="What becomes of sentences and documents with broken annotations."),
    ] = Broken.REFUSE,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Make the tables and figures of a paper on your model and data, beside the published numbers.

    Writes index.html, and every exhibit as SVG, PNG and CSV, into --out.
    """
    from headlight.papers import find_paper

    chosen = find_paper(paper.value)
    if listed:
        _list_exhibits(chosen)
        return
    wanted = None if only is None else tuple(_names(only))
    chosen.chosen(wanted)  # complains before anything slow

    from headlight.papers.sources import Sources
    from headlight.papers.study import Options, Place

    found = Sources(
        text=text,
        dependency=tuple(dependency or ()),
        dependency_train=dependency_train,
        coreference=tuple(coreference or ()),
        word_vectors=word_vectors,
        frequency_ranks=frequency_ranks,
    )
    sources = found if data is None else found.or_else(Sources.found_in(data))
    options = Options(
        measures=tuple(_names(measures)),
        max_examples=max_examples,
        max_length=max_length,
        segment_ids=segment_ids.value if segment_ids else chosen.segment_ids,
        max_sentences=max_sentences,
        overlap=overlap,
        broken=broken.value,
        seed=seed,
    )
    place = Place(out or Path(f"headlight-{paper.value}"), resume=resume, overwrite=overwrite)
    folder = place.made()

    from headlight.papers.reproduce import reproduce as reproduce_paper
    from headlight.papers.study import open_study

    study = open_study(
        model,
        sources,
        options,
        folder,
        revision=revision,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
    )
    page = reproduce_paper(chosen, study, wanted, command=_command(), told=_tell_exhibit)
    typer.echo(f"page: {_printable(page)}")


def _tell_exhibit(plan: "Plan", exhibit: "Exhibit | None") -> None:
    from rich.console import Console

    from headlight.views import comparison_table

    if exhibit is None:
        typer.echo(f"{plan.name}: left out, see the page", err=True)
    else:
        Console().print(comparison_table(exhibit))


def _list_exhibits(paper: "Paper") -> None:
    for plan in paper.plans:
        needs = f" (needs {' and '.join(plan.needs)})" if plan.needs else ""
        typer.echo(f"{plan.name:<12}  {plan.title}{needs}")


def _names(spec: str) -> list[str]:
    return [name.strip() for name in spec.split(",") if name.strip()]


CHECK_EXAMPLES = """
[bold]Examples[/bold]

  headlight check bert-base-uncased

  headlight check ./my-checkpoint --dtype bfloat16
"""


@app.command(epilog=CHECK_EXAMPLES)
def check(
    model: Annotated[
        str | None,
        typer.Argument(help="Name on the hub, or a folder. Default: the embedded model."),
    ] = None,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Say whether the attention of a model can be captured exactly, module by module."""
    from rich.console import Console

    subject = _load(model, revision, device, dtype, trust_remote_code)
    Console().print(_sites_table(subject.name, subject.sites))
    worst = max(site.error for site in subject.sites)
    typer.echo(
        f"{len(subject.sites)} attention modules; Eq. 3 (Kobayashi et al. 2020) holds to "
        f"{worst:.1e} of the output's norm."
    )


def _sites_table(name: str, sites: "list[Site]") -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(name), title_justify="left", box=None, pad_edge=False)
    table.add_column("kind, layer", no_wrap=True)
    for heading in ("module", "W^O"):
        table.add_column(heading, overflow="fold")
    for heading in ("heads", "kv", "dim", "error"):
        table.add_column(heading, justify="right", no_wrap=True)
    for site in sites:
        texts = (f"{site.kind} {site.layer}", site.name, _beside(site.name, site.projection.name))
        numbers = (site.heads, site.kv_heads, site.head_dim)
        table.add_row(*map(Text, texts), *map(str, numbers), f"{site.error:.0e}")
    table.caption = "kv: heads with values of their own; dim: size of a head; error: of Eq. 3"
    return table


def _beside(module: str, projection: str) -> str:
    """The name of a projection, without what it shares with that of its attention module."""
    parts = projection.split(".")
    pairs = zip(parts, module.split("."), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    rest = ".".join(parts[len(list(same)) :])
    return f"….{rest}" if rest != projection else projection


def _load(
    model: str | None, revision: str | None, device: str, dtype: str, trust_remote_code: bool
) -> "Subject":
    from headlight.capture import load_subject

    return load_subject(
        model, revision=revision, device=device, dtype=dtype, trust_remote_code=trust_remote_code
    )


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


def _text(argument: str) -> str:
    """What to read: the argument, or standard input for ``-``.

    Raises:
        UsageError: there is no text in it, or it is not UTF-8.
    """
    text = argument
    if argument == STANDARD_INPUT:
        try:
            text = sys.stdin.buffer.read().decode()
        except UnicodeDecodeError as problem:
            raise UsageError("standard input is not UTF-8; convert it first.") from problem
    if not text.strip():
        raise UsageError("there is no text to read; write at least one word.")
    return text.strip()


def _layers(spec: str | None) -> tuple[int, ...] | None:
    """The numbers in ``0,3-5``.

    Raises:
        UsageError: it cannot be read.
    """
    if spec is None:
        return None
    layers: set[int] = set()
    for part in spec.split(","):
        match = LAYER_RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise UsageError(
                f"--layers {spec!r}: {part!r} is no layer; write something like 0,3-5."
            )
        layers.update(range(first, last + 1))
    return tuple(sorted(layers))


def _demand_place(path: Path | None, suffix: str) -> None:
    """Complain before the work about a file that could not be written after it."""
    if path is None:
        return
    if path.suffix != suffix:
        raise UsageError(f"{path}: the name of this file must end in {suffix}.")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {path.parent}; create it first.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; give the name of a file.")


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


def _command() -> str:
    return _printable(shlex.join(["headlight", *sys.argv[1:]]))


def _printable(text: str | Path) -> str:
    """Text that can be shown and stored, whatever bytes the names of files hold."""
    return str(text).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _version(wanted: bool | None) -> None:
    if wanted:
        typer.echo(f"headlight {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool | None,  # None when it is not given, because a callback is eager
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = None,
) -> None:
    pass


def main() -> None:
    """Run, and turn every refusal into one sentence and an exit code."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        if code == RunInterruptedError.exit_code:  # Ctrl-C, which the parser makes an exit code of
            _complain("interrupted.")
        sys.exit(code)
    except HeadlightError as error:
        _complain(f"error: {error}")
        sys.exit(error.exit_code)
    except ParserRefusal as error:
        _complain(f"error: {error.format_message().rstrip('.')}; see --help.")
        sys.exit(UsageError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted.")
        sys.exit(RunInterruptedError.exit_code)
    except BrokenPipeError:
        # What is still waiting to be printed goes nowhere, instead of complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(BROKEN_PIPE)


def _complain(sentence: str) -> None:
    typer.echo(sentence, err=True)
