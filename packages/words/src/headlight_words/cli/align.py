"""The command `align`."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headlight.cli.help import examples
from headlight.cli.model_options import LOAD, LoadOptions
from headlight.cli.output_files import demand_place
from headlight.cli.printing import command_line, complain, names, say, say_lines
from headlight.cli.run_options import RUN
from headlight.cli.setting_options import takes_settings
from headlight.corpora.corpus import Corpus
from headlight.errors import CorpusError, MissingHeadError, UsageError
from headlight_words.links import LinkFormat, LinkWriter, Symmetrization, open_links
from headlight_words.sources import EMBEDDED_TRANSLATOR
from headlight_words.word_alignment import INPUT_MEASURES, AlignerSettings, AlignmentMeasure

if TYPE_CHECKING:
    from headlight.capture import CapturedModel
    from headlight_words.corpora import TranslationPair
    from headlight_words.links import Gold
    from headlight_words.word_alignment.aligner import Alignment
    from headlight_words.word_alignment.directions import Choice
    from headlight_words.word_alignment.output import LinkFile

BARS = " ||| "
DRAWN = 20
"""Number of pairs on a page."""
ROWS = {
    False: "Every row is a target word, and shows its shares of the source words; what special "
    "tokens have is not shown.",
    True: "Every row is a target word, and shows how similar the source words are to it.",
}
"""Explanations of the maps of a page, by whether they show similarities."""
OUTPUT = "The links"
WHY = {"empty": "without words on a side", "too long": "longer than the model takes"}

ALIGN_EXAMPLES = examples(
    ("headlight align", "embedded translator, sample pairs"),
    'headlight align "das haus ist klein . ||| the house is small ."',
    ("headlight align corpus.de-en > links.txt", "a line for a line, as 0-0 1-1 2-2"),
    "headlight align test.de test.en --measure difference --out links.txt",
    "headlight align corpus.tsv --columns german,english --output-format tsv --scores",
    ("headlight align test.de test.en --html soft.html --gold gold.talp", "as pictures"),
    "headlight align pairs.txt -m Helsinki-NLP/opus-mt-de-en "
    "--reverse-model Helsinki-NLP/opus-mt-en-de",
)


@dataclass(frozen=True, kw_only=True)
class Output:
    """Output of links: its place and its format."""

    out: Path | None
    html: Path | None
    gold: str | None
    resume: bool
    overwrite: bool
    writer: LinkWriter


@takes_settings(settings=AlignerSettings)
def align(
    source: Annotated[
        str | None,
        typer.Argument(
            help="Pairs: a file, folder or glob (source ||| target, TSV, CSV, JSON lines), "
            "hf:NAME, - for standard input, or one pair itself; or the source sentences alone. "
            "Default: sample pairs."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Argument(help="Translations, if SOURCE holds source sentences only.")
    ] = None,
    load: LoadOptions = LOAD,
    reverse_model: Annotated[
        str | None,
        typer.Option(
            help="Model from the target language to the source, whose links are symmetrized with "
            "those of --model."
        ),
    ] = None,
    symmetrize: Annotated[
        Symmetrization | None,
        typer.Option(
            help="Symmetrization of two directions: those of two models (default: "
            "grow-diag-final-and), or of one encoder, in place of --extraction."
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="Format of the pairs: bars, tsv, csv or jsonl.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns, keys or languages of source and target, such as german,2."),
    ] = None,
    output_format: Annotated[
        LinkFormat, typer.Option(help="Format of the links.", rich_help_panel=OUTPUT)
    ] = "pharaoh",
    scores: Annotated[
        bool,
        typer.Option(
            "--scores",
            help="Write the score of each link: its share of the row of the target word; of an "
            "encoder, the similarity of the two words.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="File for the links, which can be resumed.", rich_help_panel=OUTPUT),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help=f"Write a page with pictures of the first {DRAWN} pairs.", rich_help_panel=OUTPUT
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(help="Gold links, framed on the page.", rich_help_panel=OUTPUT),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume --out.", rich_help_panel=RUN)
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace --out.", rich_help_panel=RUN)
    ] = False,
    *,
    settings: AlignerSettings,
) -> None:
    """Link the words of sentences and their translations by a translator or an encoder.

    A line of links for each pair, in order, words counted from 0; nothing else goes to standard
    output. For how good links are see headlight aer and headlight alignment.
    """
    words = output_format in ("tsv", "jsonl")
    writer = LinkWriter(output_format, scores=scores, words=words)
    output = Output(
        out=out, html=html, gold=gold, resume=resume, overwrite=overwrite, writer=writer
    )
    pairs = _open(source, target, format, columns)
    _check(output)
    load.check(default=EMBEDDED_TRANSLATOR)
    other = replace(load, model=reverse_model, revision=None, tokenizer=None)
    if reverse_model is not None:
        other.check()

    needs_head = settings.measure in INPUT_MEASURES
    chosen = settings.of_attention and settings.layer is None and reverse_model is None
    predicts = needs_head or chosen
    forward = _loaded(load, head="language_model" if predicts else "none", needs_head=needs_head)
    backward = None if reverse_model is None else other.load()
    settings = settings.for_model(forward.name, translates=forward.has_decoder_inputs)
    job = Job(pairs, forward, backward, settings, symmetrize)
    from headlight.engine.progress import announced

    with announced(f"linking words with {forward}"):
        if html is not None:
            job = job.with_layers()
            _draw(job, html, gold)
        if out is not None:
            _write(job, output)
        elif html is None:
            say_lines(_texts(job.alignments(), writer))


def _loaded(load: LoadOptions, *, head: str, needs_head: bool) -> "CapturedModel":
    """Load the model with a head, or without it if it has none and needs none."""
    try:
        return load.load(default=EMBEDDED_TRANSLATOR, head=head)
    except MissingHeadError:
        if needs_head:
            raise
        return load.load(default=EMBEDDED_TRANSLATOR)


@dataclass(frozen=True)
class Job:
    """Job of an alignment: its pairs and models."""

    pairs: "Corpus[TranslationPair]"
    model: "CapturedModel"
    reverse_model: "CapturedModel | None"
    settings: AlignerSettings
    symmetrization: Symmetrization | None
    choice: "Choice | None" = None

    def with_layers(self) -> "Job":
        """Return the job with layers that are chosen once, by the first pairs, for all directions.

        Raises:
            UsageError: The pairs can be read only once.
        """
        from headlight_words.word_alignment.directions import SAMPLE, choose_layers, needs_choice

        if self.pairs.once:
            raise UsageError("pairs on a page are read twice; save standard input to a file first.")
        if not needs_choice(self.settings):
            return self
        first = list(islice(self.pairs, SAMPLE))
        choice = choose_layers(first, self.model, self.settings, self.reverse_model)
        _tell_choice(choice)
        return replace(self, choice=choice)

    def alignments(
        self, pairs: "Iterable[TranslationPair] | None" = None, start: int = 0
    ) -> "Iterator[Alignment]":
        """Yield an alignment for each pair."""
        from headlight_words.word_alignment.directions import align_pairs

        return align_pairs(
            self.pairs if pairs is None else pairs,
            self.model,
            self.settings,
            reverse_model=self.reverse_model,
            symmetrization=self.symmetrization,
            start=start,
            choice=self.choice,
            on_choice=_tell_choice,
        )

    def signature(self) -> dict[str, Any]:
        """Return everything that the links depend on, as JSON."""
        other = self.reverse_model
        return {
            "pairs": self.pairs.source,
            "settings": self.settings.signature(),
            "model": self.model.identity(),
            "reverse_model": None if other is None else other.identity(),
            "symmetrization": self.symmetrization,
        }


def _tell_choice(choice: "Choice") -> None:
    if choice.reason:
        complain(f"note: layer {choice.layer} is used: {choice.reason}.")


def _open(
    source: str | None, target: str | None, format: str | None, columns: str | None
) -> "Corpus[TranslationPair]":
    """Open the pairs; a pair given in place of a file is a corpus of its own."""
    from headlight_words.corpora import SAMPLE_TRANSLATIONS, TranslationPair, open_parallel

    pair = source if target is None and _is_pair(source) else None
    if (source is None or pair is not None) and (format is not None or columns is not None):
        raise UsageError("--format and --columns are about files of pairs; name one as SOURCE.")
    if source is None:
        return open_parallel(SAMPLE_TRANSLATIONS)
    if pair is not None:
        first, _, second = pair.partition(BARS)
        return open_parallel([TranslationPair.of("the command line", first, second)])
    try:
        opened = open_parallel(
            source, target, format=format, columns=None if columns is None else names(columns)
        )
        if not opened.once:
            next(iter(opened))  # complain before anything slow is imported
    except CorpusError as error:
        if " " in source.strip() and not Path(source).exists():
            error.args = (f"{error.args[0]} A pair is written 'das haus{BARS}the house'.",)
        raise
    return opened


def _is_pair(source: str | None) -> bool:
    return source is not None and BARS in source and not Path(source).exists()


def _check(output: Output) -> None:
    """Complain before the work about files that could not be written after it."""
    if output.html is not None:
        demand_place(output.html, ".html")
    if output.gold is not None and output.html is None:
        raise UsageError(
            "gold links are drawn on a page; name it with --html, or see headlight alignment."
        )
    if output.gold is not None:
        next(iter(open_links(output.gold)))
    if output.out is None and (output.resume or output.overwrite):
        raise UsageError("only a file is resumed or replaced; name it with --out.")
    if output.out is not None:
        _file(output, {}).check_free()


def _file(output: Output, signature: dict[str, Any]) -> "LinkFile":
    from headlight_words.word_alignment.output import LinkFile

    assert output.out is not None  # noqa: S101 - the callers have looked
    return LinkFile(output.out, signature, output.resume, output.overwrite)


def _write(job: Job, output: Output) -> None:
    """Write the links of all pairs to a file, with progress."""
    from headlight.engine.progress import show_progress

    signature = job.signature() | {"format": output.writer.format, "scores": output.writer.scores}
    with _file(output, signature).opened() as opened, show_progress(None, unit="pairs") as bar:
        written = opened.pairs
        if written:
            bar.skip(written, 0)
        else:
            opened.begin(output.writer.header)
        for text in _texts(job.alignments(start=written), output.writer, written, header=False):
            opened.write(text)
            bar.advance(1, 0)
    say(f"written: {output.out}")


def _texts(
    alignments: "Iterable[Alignment]", writer: LinkWriter, first: int = 0, *, header: bool = True
) -> Iterator[str]:
    """Yield the lines of each pair, and report pairs that were left out at the end."""
    omitted: dict[str, int] = {}
    if header and writer.header:
        yield writer.header
    for number, alignment in enumerate(alignments, first):
        if alignment.omitted:
            omitted[alignment.omitted] = omitted.get(alignment.omitted, 0) + 1
        words = (alignment.pair.source.split(), alignment.pair.target.split())
        yield writer.text(number, alignment.links, alignment.scores, words)
    for why, count in omitted.items():
        pairs = "pair" if count == 1 else "pairs"
        complain(f"note: {count:,} {pairs} {WHY[why]}, and without links.")


def _draw(job: Job, path: Path, gold: str | None) -> None:
    """Write a page with the first pairs: weights beside the chosen measure."""
    from headlight import files
    from headlight.views.parts.alignment_drawings import DrawnAlignment
    from headlight.views.section_pages import SectionPage, section_page

    pairs = list(islice(job.pairs, DRAWN))
    golds = _gold(gold, len(pairs))
    soft = _measures(job, pairs)
    chosen = _measure(job.settings)
    drawn = [
        DrawnAlignment(
            pair.name,
            pair.source.split(),
            pair.target.split(),
            {
                name: shares
                for name, aligned in soft.items()
                if (shares := aligned[at].soft) is not None
            },
            soft[chosen][at].links,
            golds[at].possible if golds else None,
        )
        for at, pair in enumerate(pairs)
    ]
    framed = "gold links" if golds else "links"
    similar = any("similarity" in alignment.soft for alignment in drawn)
    note = f" The first {DRAWN} pairs are shown." if len(pairs) == DRAWN else ""
    rates = _error_rates(golds, soft) if golds else []
    page = section_page(
        SectionPage(
            title="Word alignment",
            introduction=f"{job.model}. {ROWS[similar]} The {framed} are framed.{note}",
            sections=[alignment.section(number) for number, alignment in enumerate(drawn, 1)],
            facts=rates,
            command=command_line(),
            kind="alignment",
        )
    )
    files.write(path, page.encode())
    say(f"written: {path}")
    for label, rate in rates:
        say(f"{label}: {rate}")


def _error_rates(golds: "list[Gold]", soft: "dict[str, list[Alignment]]") -> list[tuple[str, str]]:
    """Return the AER of the drawn pairs, by measure, with its interval of 95%."""
    from headlight_words.links import score_links

    rates = []
    for name, alignments in soft.items():
        score = score_links(golds, [alignment.links for alignment in alignments])
        low, high = score.intervals["error_rate"]
        within = "" if math.isnan(low) else f" ({low:.1%} to {high:.1%})"
        label = f"AER by the gold links, {name}, {len(golds)} pairs"
        rates.append((label, f"{score.error_rate:.1%}{within}"))
    return rates


def _measures(job: Job, pairs: "Sequence[TranslationPair]") -> "dict[str, list[Alignment]]":
    """Return alignments by weight, for comparison, and by the chosen measure."""
    settings = job.settings
    chosen = _measure(settings)
    compared = ["weight"] if settings.of_attention and chosen != "weight" else []
    return {
        measure: list(replace(job, settings=settings.replace(measure=measure)).alignments(pairs))
        for measure in (*compared, chosen)
    }


def _measure(settings: AlignerSettings) -> AlignmentMeasure:
    assert settings.measure is not None  # noqa: S101
    return settings.measure


def _gold(path: str | None, count: int) -> "list[Gold]":
    """Return the first gold links of a file; none without a file."""
    if path is None:
        return []
    gold_links = list(islice(open_links(path), count))
    if len(gold_links) < count:
        raise UsageError(f"{path} has links of {len(gold_links)} sentences, and {count} are drawn.")
    return gold_links
