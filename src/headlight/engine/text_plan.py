"""Plan of a study of texts: the part of the model that runs, and the examples that it reads."""

from collections.abc import Mapping
from typing import Any

from headlight.capture import CapturedModel
from headlight.corpora import Corpus, as_sentence_pairs
from headlight.encode import Encoded, Examples, adjacent_segments, recordings, sentence_pairs, texts
from headlight.encode.pictures import pictures
from headlight.engine.max_length import choose_length, text_length
from headlight.engine.model_parts import check_tokenizer, choose_sites
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.text_sources import (
    TextSource,
    check_medium,
    open_source,
    reads_by_line,
    sample_source,
)
from headlight.errors import UsageError
from headlight.result.kinds import ALL
from headlight.study_settings.models import QueryBlockSettings
from headlight.study_settings.texts import TextSettings

NO_RECORDING = "are its recordings longer than the model hears at once?"
NO_PAIR = (
    "a pair needs a document of two paragraphs or more, which are lines without a blank line "
    "between them (in strings and tables: with one); write them so, or do without pairs."
)

BY_LINE = "read_by_line"
"""Option of a plan whose file is read line by line, although no format is set."""

OF_PICTURES = ("survey",)
"""Studies of texts that read pictures as well."""


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
    """Plan a study of texts; nothing runs yet.

    Args:
        name: Name of the study.
        title: Title of the result.
        source: Source of the texts, see `TextSource`; of examples that are made already, settings
            change nothing but their number.
        model: Model that reads the texts.
        settings: Settings of the study.  The sample corpus is read two paragraphs at a time.
        passes: Passes, see `StudyPlan`; in a pass backward an encoder-decoder runs whole, even
            where attention of its encoder is requested.
        measures: Measures, see `StudyPlan`.
        options: Options, see `StudyPlan`.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths; or no tokenizer.
        CorpusError: the corpus cannot be opened.
    """
    if not (model.sees and name in OF_PICTURES):
        check_tokenizer(model)
    check_medium(source, model, settings)
    if source is None:
        source, settings = sample_source(model, settings)
    if reads_by_line(source, settings):
        options = {**(options or {}), BY_LINE: True}
    whole = any(study_pass.objective is not None for study_pass in passes)
    opened = source if isinstance(source, Examples) else open_source(source, model, settings)
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
        if_empty=NO_RECORDING if model.hears else NO_PAIR if settings.pairs else StudyPlan.if_empty,
        all_kinds=settings.kind == ALL,
        query_block=settings.query_block if isinstance(settings, QueryBlockSettings) else 0,
        corpus=opened if isinstance(opened, Corpus) else None,
    )


def _part_that_runs(
    model: CapturedModel, settings: TextSettings, opened: Corpus | Examples, *, whole: bool
) -> CapturedModel:
    """Return the model, or its encoder where its decoder has no second text to read."""
    if not (isinstance(opened, Corpus) and opened.kind == "pictures"):
        model = model.reader()
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
    length = text_length(model, settings)
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
