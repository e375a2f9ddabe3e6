"""Plans of studies that read a corpus of texts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from headlight.analysis import QueryBlockSettings, TextSettings
from headlight.analysis.plan import (
    Pass,
    StudyPlan,
    check_tokenizer,
    choose_length,
    choose_sites,
)
from headlight.capture import CapturedModel
from headlight.capture.one_text import require_reader
from headlight.corpora import (
    OF_TWO_TEXTS,
    SAMPLE_TEXT,
    SAMPLE_TRANSLATIONS,
    Corpus,
    Source,
    as_sentence_pairs,
    holds_a_text_a_line,
    medium_of,
    open_corpus,
    open_parallel,
    open_pictures,
    open_recordings,
)
from headlight.encode import Encoded, Examples, adjacent_segments, recordings, sentence_pairs, texts
from headlight.encode.pictures import pictures
from headlight.errors import UsageError, setting
from headlight.result.kinds import ALL

SAMPLE_LENGTH = 256
"""Two paragraphs of the sample corpus."""
PAIR_LENGTH = 128

NO_PAIR = (
    "a pair needs a document of two paragraphs or more, which are lines without a blank line "
    "between them (in strings and tables: with one); write them so, or do without pairs."
)

BY_LINE = "read_by_line"
"""Among the options of a plan whose file is read line by line, although nobody has said so."""

TextSource = Source | Corpus | Examples | None
"""A path, a glob, ``hf:NAME``, ``-``, texts, an open corpus, or examples made for the very model;
None is a sample that comes with the package: texts, or for a decoder that reads them,
translations.  For a model that hears, recordings; see `headlight.corpora.open_recordings`; for one
that sees, pictures; see `headlight.corpora.open_pictures`."""

OF_PICTURES = ("survey",)
"""Studies of texts that read pictures as well."""

S = TypeVar("S", bound=TextSettings)


def plan_text_study(  # noqa: PLR0913 - each is a choice of its own
    name: str,
    title: str,
    source: TextSource,
    model: CapturedModel,
    settings: TextSettings,
    *,
    passes: tuple[Pass, ...] = (Pass(),),
    measures: tuple[str, ...] = (),
    options: Mapping[str, Any] | None = None,
) -> StudyPlan[Encoded]:
    """Choose what runs; nothing of it runs yet.

    Args:
        name: of the study.
        title: what the result is about.
        source: see `TextSource`; of examples that are made already, no setting changes anything but
            their number.
        model: the model.
        settings: those of the study.  The sample corpus is read two paragraphs at a time.
        passes: see `StudyPlan`; in a pass backward an encoder-decoder runs whole, also where
            attention of its encoder is asked for.
        measures: see `StudyPlan`.
        options: see `StudyPlan`.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths; or no tokenizer.
        CorpusError: the corpus cannot be opened.
    """
    if not (model.sees and name in OF_PICTURES):
        check_tokenizer(model)
    _check_kind(source, model, settings)
    if source is None:
        source, settings = _sample(model, settings)
    if reads_by_line(source, settings):
        options = {**(options or {}), BY_LINE: True}
    whole = any(one.objective is not None for one in passes)
    opened = source if isinstance(source, Examples) else _open(source, model, settings)
    model = _part_that_runs(model, settings, opened, whole=whole)
    kind, sites = choose_sites(model, settings)
    return StudyPlan(
        name=name,
        title=title,
        source="examples" if isinstance(opened, Examples) else opened.source,
        model=model,
        kind=kind,
        sites=sites,
        examples=opened if isinstance(opened, Examples) else _encode(opened, model, settings),
        settings=settings,
        passes=passes,
        measures=measures,
        max_examples=settings.max_examples,
        options=options or {},
        if_empty=_why_empty(model, settings),
        all_kinds=settings.kind == ALL,
        query_block=settings.query_block if isinstance(settings, QueryBlockSettings) else 0,
        corpus=opened if isinstance(opened, Corpus) else None,
    )


def _why_empty(model: CapturedModel, settings: TextSettings) -> str:
    """Return the question to ask if no example can be made."""
    if model.hears:
        return "are its recordings longer than the model hears at once?"
    return NO_PAIR if settings.pairs else StudyPlan.if_empty


def is_read_once(source: object) -> bool:
    """Whether a corpus cannot be read again: standard input, or an iterator."""
    read_once = isinstance(source, Corpus) and source.once
    return source == "-" or isinstance(source, Iterator) or read_once


def reads_by_line(source: object, settings: TextSettings) -> bool:
    """Whether each line of a file is a text, although nobody has said so; pairs need documents."""
    has_format = settings.format is not None or settings.column is not None or settings.pairs
    return not has_format and holds_a_text_a_line(source)


def open_texts(source: Source | Corpus, settings: TextSettings) -> Corpus:
    """The corpus, opened as the settings say.

    Raises:
        UsageError: the format is unknown, or does not go with the source.
        CorpusError: it cannot be opened.
    """
    if isinstance(source, Corpus):
        return source
    if settings.format is not None and settings.format in OF_TWO_TEXTS:
        if settings.pairs:
            raise UsageError(
                f"{settings.format} are two segments already; leave out pairs, which joins "
                "adjacent paragraphs."
            )
        if not isinstance(source, str | Path):
            raise UsageError(
                f"{settings.format} are read from files; give a path, or open them first."
            )
        return OF_TWO_TEXTS[settings.format](str(source))
    format = "lines" if reads_by_line(source, settings) else settings.format
    return open_corpus(source, format=format, column=settings.column)


def refuse_recordings(source: Any, model: CapturedModel) -> None:
    """Refuse sound, or pictures, that a model of text is given.

    Raises:
        UsageError: it is so.
    """
    medium = None if isinstance(source, Examples) else medium_of(source)
    if medium == "pictures":
        raise UsageError(
            f"{source} holds pictures, and {model} reads text; name an encoder of pictures, "
            "such as google/vit-base-patch16-224."
        )
    if medium == "speech":
        raise UsageError(
            f"{source} holds recordings, and {model} reads text; name a model of speech, such "
            "as openai/whisper-tiny.en."
        )


def _check_kind(source: TextSource, model: CapturedModel, settings: TextSettings) -> None:
    """Refuse to hear or see texts, to read sound or pictures, and what is said of texts alone.

    Raises:
        UsageError: it is so.
    """
    if not (model.hears or model.sees):
        refuse_recordings(source, model)
        return
    if source is None:
        what = "speech" if model.hears else "pictures"
        cure = (
            "give a folder of WAV files, each with its transcript in a .txt file of the same name"
            if model.hears
            else "give a folder of PNG or JPEG files"
        )
        raise UsageError(f"{model} reads {what}, for which there is no sample; {cure}.")
    if settings.pairs or settings.format is not None:
        what = "recordings" if model.hears else "pictures"
        raise UsageError(f"{what} are no texts; leave out pairs and format.")
    if model.sees and isinstance(source, list | tuple) and isinstance(next(iter(source), ""), str):
        require_reader(model)
    if model.sees and (settings.column is not None or settings.max_length is not None):
        raise UsageError(
            f"pictures are read whole, one a file; leave out {setting('column')} and "
            f"{setting('max_length')}."
        )


def _open(source: Source | Corpus | None, model: CapturedModel, settings: TextSettings) -> Corpus:
    """Recordings for a model that hears, pictures for one that sees, else texts."""
    if model.sees:
        return open_pictures(source)  # type: ignore[arg-type]  # refuses
    if model.hears:
        return open_recordings(source, column=settings.column)  # type: ignore[arg-type]  # refuses
    return open_texts(source, settings)  # type: ignore[arg-type]  # a sample is opened already


def _sample(model: CapturedModel, settings: S) -> tuple[Corpus, S]:
    """Translations for a decoder that reads them, else texts, two adjacent paragraphs together."""
    if model.has_decoder_inputs and settings.kind != "encoder":
        return open_parallel(SAMPLE_TRANSLATIONS), settings
    longest = min(SAMPLE_LENGTH, model.longest or SAMPLE_LENGTH)
    settings = settings.replace(pairs=True, max_length=settings.max_length or longest)
    return open_corpus(SAMPLE_TEXT), settings


def _part_that_runs(
    model: CapturedModel, settings: TextSettings, opened: Corpus | Examples, *, whole: bool
) -> CapturedModel:
    """The model, or of an encoder-decoder the encoder, where its decoder is not needed.

    Neither a translation nor a transcript is read by the encoder, so there the model always runs
    whole.
    """
    translated = isinstance(opened, Corpus) and opened.kind in ("parallel", "speech")
    two_texts = settings.pairs or isinstance(opened, Examples) or opened.kind == "pairs"
    wants_decoder = two_texts and (whole or settings.kind != "encoder")
    if not model.has_decoder_inputs or wants_decoder or translated:
        return model
    if whole:
        raise UsageError(f"the loss of {model} needs two texts per example; use pairs.")
    if settings.kind in ("decoder", "cross", ALL):
        raise UsageError(
            f"{settings.kind} attention of {model} needs two texts per example; use pairs."
        )
    return model.encoder()


def _encode(corpus: Corpus, model: CapturedModel, settings: TextSettings) -> Examples:
    if corpus.kind == "pictures":
        return pictures(corpus, model.viewer.layout)
    tokenizer: Any = model.tokenizer
    if corpus.kind == "speech":
        return recordings(
            corpus,
            tokenizer,
            model.listener.hearing,
            decoder_start=int(model.decoder_start or 0),
            max_length=choose_length(model, settings.max_length),
            overflow=settings.overflow,
        )
    length = choose_length(model, settings.max_length, *([PAIR_LENGTH] if settings.pairs else []))
    if corpus.kind in ("pairs", "parallel"):
        return sentence_pairs(
            corpus if corpus.kind == "pairs" else as_sentence_pairs(corpus),
            tokenizer,
            max_length=length,
            overflow=settings.overflow,
            decoder_start=model.decoder_start,
        )
    if not settings.pairs:
        return texts(corpus, tokenizer, max_length=length, overflow=settings.overflow)
    return adjacent_segments(
        corpus,
        tokenizer,
        length=length,
        seed=settings.seed,
        segment_ids=settings.segment_ids,
        lone_units=settings.lone_units,
        decoder_start=model.decoder_start,
    )
