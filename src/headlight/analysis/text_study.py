"""Studies of texts: what is run of a corpus, and each kind of attention observed by itself."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import xarray
from jaxtyping import Float
from torch import Tensor

from headlight.analysis import QueryBlockSettings, TextSettings
from headlight.analysis.batch_runner import (
    AttentionObserver,
    LossObserver,
    Observer,
    StreamObserver,
)
from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import (
    Pass,
    StudyPlan,
    check_tokenizer,
    choose_length,
    choose_sites,
    text_length,
)
from headlight.analysis.runner import category_names, run_study
from headlight.analysis.word_study import CorpusStudy, GradientStudy
from headlight.capture import CapturedModel, Kind, LayerRecord, Objective
from headlight.capture.one_text import require_reader
from headlight.corpora import (
    SAMPLE_TEXT,
    Corpus,
    Source,
    as_sentence_pairs,
    find_format,
    holds_a_text_a_line,
    medium_of,
    open_corpus,
    open_pictures,
    open_recordings,
    pair_format,
)
from headlight.encode import Encoded, Examples, adjacent_segments, recordings, sentence_pairs, texts
from headlight.encode.batch import Batch
from headlight.encode.pictures import pictures
from headlight.errors import UsageError, setting
from headlight.reduce import Tally
from headlight.result.kinds import ALL, concat_kinds
from headlight.run import State

SAMPLE_LENGTH = 256
"""Two paragraphs of the sample corpus."""

NO_RECORDING = "are its recordings longer than the model hears at once?"
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
        if_empty=NO_RECORDING if model.hears else NO_PAIR if settings.pairs else StudyPlan.if_empty,
        all_kinds=settings.kind == ALL,
        query_block=settings.query_block if isinstance(settings, QueryBlockSettings) else 0,
        corpus=opened if isinstance(opened, Corpus) else None,
    )


def is_read_once(source: object) -> bool:
    """Whether a corpus cannot be read again: standard input, or an iterator."""
    read_once = isinstance(source, Corpus) and source.once
    return source == "-" or isinstance(source, Iterator) or read_once


def reads_by_line(source: object, settings: TextSettings) -> bool:
    """Whether each line of a file is a text, although nobody has said so; pairs need documents."""
    has_format = settings.format is not None or settings.column is not None or settings.pairs
    return not has_format and holds_a_text_a_line(source)


def open_texts(source: Source | Corpus, settings: TextSettings) -> Corpus:
    """Return the corpus, opened as the settings say; refuse a format that does not go with it."""
    if isinstance(source, Corpus):
        return source
    if (two_texts := pair_format(settings.format)) is not None:
        if settings.pairs:
            raise UsageError(
                f"{settings.format} are two segments already; leave out pairs, which joins "
                "adjacent paragraphs."
            )
        if not isinstance(source, str | Path):
            raise UsageError(
                f"{settings.format} are read from files; give a path, or open them first."
            )
        return two_texts.open(str(source))
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
    """Refuse to hear or see texts, to read sound or pictures, and what is said of texts alone."""
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
        translations = find_format("translations", needed=f"the sample that {model} reads")
        if translations and translations.sample:
            return translations.open(str(translations.sample)), settings
    longest = min(SAMPLE_LENGTH, model.longest or SAMPLE_LENGTH)
    settings = settings.replace(pairs=True, max_length=settings.max_length or longest)
    return open_corpus(SAMPLE_TEXT), settings


def _part_that_runs(
    model: CapturedModel, settings: TextSettings, opened: Corpus | Examples, *, whole: bool
) -> CapturedModel:
    """Return the model, or its encoder where it has a decoder that no second text is read by."""
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


E = TypeVar("E", bound=Encoded)

Observe = Callable[[Pass, Batch, Sequence[Encoded]], Observer]
ToDataset = Callable[[Pass, State], xarray.Dataset]


def run_kinds(
    plan: StudyPlan[Encoded],
    make: Callable[[StudyPlan[Encoded]], tuple[Observe, ToDataset]],
    **options: Any,
) -> xarray.Dataset:
    """Run a plan of one kind of attention, or of all at once; `make` gives what one kind needs."""
    if not plan.all_kinds:
        return run_study(plan, *make(plan), **options)
    if any(one.attribution is not None for one in plan.passes):
        raise UsageError(
            "contributions are those of one kind of attention at a time; choose one with kind, or "
            "leave attribution out of the measures."
        )
    parts = plan.by_kind()
    makers = {kind: make(part) for kind, part in parts.items()}

    def observer(one: Pass, batch: Batch, examples: Sequence[Encoded]) -> KindsObserver:
        observers = {kind: observe(one, batch, examples) for kind, (observe, _) in makers.items()}
        return KindsObserver(observers)

    def to_dataset(one: Pass, state: State) -> xarray.Dataset:
        by_kind = {
            kind: to_dataset(one, replace(state, tally=tally_of(state.tally, kind)))
            for kind, (_, to_dataset) in makers.items()
        }
        return concat_kinds(
            {kind: each.assign_attrs(category_names(parts[kind])) for kind, each in by_kind.items()}
        )

    return run_study(plan, observer, to_dataset, **options)


class KindsObserver:
    """Hands each layer to the observer of its kind; what they saw is one tally."""

    def __init__(self, observers: Mapping[Kind, Observer]) -> None:
        self._observers = observers
        self.wants_stream = any(
            isinstance(each, StreamObserver) and each.wants_stream for each in observers.values()
        )

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer."""
        observer = self._observers[record.site.kind]
        if isinstance(observer, AttentionObserver):
            observer.visit(record)

    def note_losses(self, losses: Float[Tensor, " batch"]) -> None:
        """The loss of each text, for those that want to know it."""
        for observer in self._observers.values():
            if isinstance(observer, LossObserver):
                observer.note_losses(losses)

    def tally(self) -> Tally:
        """Return the tally of all kinds."""
        return Tally(
            {
                f"{kind}/{name}": member
                for kind, observer in self._observers.items()
                for name, member in observer.tally().items()
            }
        )


def tally_of(tally: Tally, kind: Kind) -> Tally:
    """Return the tally of the observers of a kind."""
    start = f"{kind}/"
    return Tally(
        {name.removeprefix(start): each for name, each in tally.items() if name.startswith(start)}
    )


class TextStudy(CorpusStudy[S]):
    """A study of texts; a subclass says what is observed, and what the result is.

    Where several kinds of attention are looked at, each has observers and a dataset of its own,
    made by the plan of that kind.

    Args:
        source: see `headlight.analysis.text_study.TextSource`.
        model: the model.
        settings: of the study.
        objective: whose gradient is looked at, in studies that take one.

    Attributes:
        plan: what is run.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, objective.
        CorpusError: the corpus cannot be opened.
    """

    def __init__(
        self,
        source: TextSource,
        model: CapturedModel,
        settings: S,
        objective: Objective | None = None,
    ) -> None:
        self.model = model
        self.settings = settings
        self.plan = plan_text_study(
            self.name,
            self.title,
            source,
            model,
            settings,
            passes=self.choose_passes(objective),
            measures=self.measures,
        )
        self.prepare()

    def prepare(self) -> None:
        """Complete the plan, and refuse what the study cannot be asked for, before anything runs.

        Raises:
            UsageError: it is so.
        """

    @property
    def measures(self) -> tuple[str, ...]:
        """By which attention is looked at, where that can be chosen."""
        return tuple(getattr(self.settings, "measures", ()))

    def choose_pass(self, objective: Objective | None) -> Pass:
        """Return the pass over the corpus, for attention alone or with gradients."""
        return Pass(objective=objective)

    def choose_passes(self, objective: Objective | None) -> tuple[Pass, ...]:
        """All passes over the corpus, each of which is observed as if it were the only one."""
        return (self.choose_pass(objective),)

    @abstractmethod
    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> Observer:
        """The observer of one kind of attention in one batch."""

    @abstractmethod
    def dataset(self, plan: StudyPlan[Encoded], tally: Tally) -> xarray.Dataset:
        """The result, made of what the observers of all batches saw of one kind of attention."""

    def result(
        self, *, folder: RunFolder | None, command: str | None, progress: bool
    ) -> xarray.Dataset:
        """Run the plan, or go on with it; see `run`."""
        return run_kinds(self.plan, self._make, folder=folder, command=command, progress=progress)

    def _make(self, plan: StudyPlan[Encoded]) -> tuple[Observe, ToDataset]:
        def of_pass(one: Pass) -> StudyPlan[Encoded]:
            return replace(plan, passes=(one,))

        return (
            lambda one, batch, examples: self.observe(of_pass(one), batch, examples),
            lambda one, state: self.dataset(of_pass(one), state.tally),
        )


class LossStudy(TextStudy[S], GradientStudy[S]):
    """A study of texts that can look at gradients, and so at a loss."""
