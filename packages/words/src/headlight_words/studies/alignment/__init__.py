"""Alignment of the words of a translation by cross-attention, gradients and predictions."""

from dataclasses import dataclass, field
from typing import Literal

from headlight.catalogue import Study
from headlight.errors import UsageError, setting
from headlight.settings import AtLeast1, Common
from headlight.study_settings.models import ModelSettings
from headlight.vocabulary import require_names_of_heads
from headlight_words.sources import PARALLEL
from headlight_words.word_alignment import (
    ATTENTION_MEASURES,
    INPUT_MEASURES,
    AlignmentMeasure,
    Extraction,
    InputMeasure,
    InputMeasureSettings,
    LinkSettings,
    check_measure,
)


@dataclass(frozen=True, kw_only=True)
class AlignmentSettings(LinkSettings, ModelSettings):
    """Everything that the result depends on besides model and pairs.

    Attributes:
        gold: file of gold links, at least a line for each pair (talp, Pharaoh, NAACL). Not for
            recordings, whose word times are in files beside the sound.
        gold_format: format of the gold links; by default inferred.
        target: file of the translations, line for line, if the source file holds source sentences
            only.
        format: format of the pairs (``bars``, ``tsv``, ``csv``, ``jsonl``); by default
            inferred from suffix or content.
        columns: columns, keys or languages of source and target, by name or number.
        swap: swap source and target of pairs and links.
        measures: measures that link words: of cross-attention ``weight``, ``norm`` and
            ``effective``, by layer and by head; of the whole model ``gradient``, ``smoothgrad`` and
            ``difference``, with another pass for each piece of a sentence; of an encoder, which
            reads each sentence by itself, ``similarity`` only. By default those of cross-attention
            in translation models, and similarity in encoders.
        extractions: extraction of links from similarities; see headlight align.
        layers: layers, from 0; by default all. For an encoder the number of layers that are run, 0
            for embeddings.
        chosen_heads: heads of a speech model to average, such as L2H5; by default those that the
            model itself names.
        inputs: computation of gradients and differences.
        prefix: prompt before every source, such as ``translate German to English:``.
        kind: cross-attention, from the words of one text to those of another.
        max_length: maximal number of tokens per sentence, special ones included; by default that of
            the model. Longer pairs are refused.
        max_examples: maximal number of examples.
    """

    gold: Common[str | None] = None
    gold_format: str | None = None
    target: Common[str | None] = None
    format: Common[str | None] = None
    columns: Common[tuple[str, ...] | None] = None
    swap: bool = False
    measures: Common[tuple[AlignmentMeasure, ...] | None] = None
    extractions: tuple[Extraction, ...] = (
        "argmax",
        "itermax",
        "match",
        "softmax",
    )
    chosen_heads: tuple[str, ...] | None = None
    inputs: InputMeasureSettings = field(default_factory=InputMeasureSettings)
    prefix: str = ""
    kind: Common[Literal["cross"]] = "cross"
    max_length: Common[AtLeast1 | None] = None
    max_examples: Common[AtLeast1 | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("measures", "extractions"):
            if getattr(self, name) == ():
                raise UsageError(f"{setting(name)} is empty; name at least one.")
        require_names_of_heads(self.chosen_heads or ())
        if self.of_hidden_states and self.measures != ("similarity",):
            raise UsageError(
                "similarity is of an encoder that reads each sentence by itself; ask for it alone."
            )

    @property
    def required_head(self) -> str | None:
        """Return the head of a language model if gradients or differences are measured."""
        return "language_model" if self.of_input else super().required_head

    def check_source(self, source: str | None) -> None:
        """Read the first pair, or the transcript of the first recording, to refuse a faulty one."""
        from headlight.corpora import medium_of, open_recordings
        from headlight_words.corpora import open_parallel

        if medium_of(source) == "speech":
            next(iter(open_recordings(str(source))))
            return
        next(
            iter(
                open_parallel(
                    str(source), target=self.target, format=self.format, columns=self.columns
                )
            )
        )

    def check_other_files(self) -> None:
        """Read the first gold links, so that a faulty file is refused at once."""
        from headlight_words.links import open_links

        if self.gold:
            next(iter(open_links(self.gold, format=self.gold_format)))

    def for_speech(self) -> "AlignmentSettings":
        """Return the settings for a model of speech, where words are linked to time.

        Raises:
            UsageError: A setting applies to translations only.
        """
        of_texts = ("gold", "target", "format", "columns")
        unfit = [name for name in of_texts if getattr(self, name)]
        if unfit or self.swap or self.prefix:
            raise UsageError(
                f"recordings are no translations; leave out {(unfit or ['swap and prefix'])[0]}. "
                "Times of words lie beside each sound, in a file with the suffix .times."
            )
        others = sorted(set(self.measures or ()) - set(ATTENTION_MEASURES))
        if others:
            raise UsageError(
                f"words are linked to time by cross-attention, not by {others[0]}; choose of "
                f"{', '.join(ATTENTION_MEASURES)}."
            )
        return self.replace(measures=self.measures or ("weight", "norm"))

    def for_model(self, name: str, *, translates: bool) -> "AlignmentSettings":
        """Return the settings with the measures that suit a model, where none are named.

        Args:
            name: Name of the model.
            translates: Decoder that attends to a source.

        Raises:
            UsageError: The model lacks a measure.
        """
        if self.chosen_heads is not None:
            raise UsageError(
                f"heads are chosen to be put together for speech, and {name} reads text; leave out "
                f"{setting('chosen_heads')}."
            )
        measures = self.measures or (ATTENTION_MEASURES if translates else ("similarity",))
        if not translates:
            for measure in measures:
                check_measure(measure, name)
        return self.replace(measures=measures)

    @property
    def of_hidden_states(self) -> bool:
        """Return whether words are linked by the similarity of an encoder's hidden states."""
        return "similarity" in (self.measures or ())

    @property
    def of_attention(self) -> tuple[str, ...]:
        """Return the requested measures of cross-attention."""
        measures = ATTENTION_MEASURES if self.measures is None else self.measures
        return tuple(name for name in measures if name in ATTENTION_MEASURES)

    @property
    def of_input(self) -> tuple[InputMeasure, ...]:
        """Return the requested measures of the input of the whole model."""
        return tuple(name for name in INPUT_MEASURES if name in (self.measures or ()))


STUDY = Study(
    name="alignment",
    title="word alignment",
    question="evaluate word alignments by cross-attention, gradients and predictions",
    papers="Kobayashi et al. 2020, Section 5; Ding et al. 2019; Li et al. 2019",
    source=PARALLEL,
    settings=AlignmentSettings,
    examples=(
        ("test.de-en --gold gold.talp", "embedded translator, by layer and head"),
        ("test.de --target test.en --gold gold.talp --measures norm,difference", ""),
        ("pairs.tsv --gold links.naacl --model Helsinki-NLP/opus-mt-de-en", ""),
        ("recordings/ --model openai/whisper-tiny.en", "words and the time when they are said"),
    ),
    smallest={"measures": ["weight", "norm", "effective", "difference"]},
    order=12,
)
