"""A model at work on a corpus: what is planned, the passes of the model, and who observes it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.errors import CorpusError, UsageError, setting
from headlight.settings import CHOSEN, UNLISTED, AtLeast0, AtLeast1, StudySettings
from headlight.settings.flow import AttributionSettings
from headlight.vocabulary import (
    ATTRIBUTION,
    GRADIENT,
    MEASURES,
    Kind,
    Kinds,
    NormPooling,
    QueryPooling,
    ValueBias,
    check_measures,
)

__all__ = ["folder", "plan", "runner", "text_study"]

BATCH_TOKENS = 2048

RowsOfText = Literal["mean", "first", "last"]
"""Rows of attention that represent a text."""

Removal = Literal["mask", "delete", "attention"]
"""Way to remove a word."""

Scope = Literal["all", "layer", "head"]
"""Scope of the attention that is replaced at once: all layers, one layer, or one head."""

Rows = Literal["all", "first", "last"]
"""Rows that are replaced: of every token, of the first one ([CLS]), or of the last one."""

RANDOM = "random"
"""Name of the control beside all measures, which knows nothing of a text."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings(StudySettings):
    """Settings of the observed attention of a model.

    Attributes:
        kind: kind of attention; by default the first of encoder, decoder and cross-attention that
            the model has with these inputs; ``all`` analyses all in one pass.
        layers: layers, from 0, or by the model's own numbers (model:3,7); by default all. The
            others keep their fast attention.
        batch_tokens: tokens in a batch, padding included; it changes the last bits of results.
            By default 2,048; on a GPU the number at which the measures of a layer fill 1 GB.
    """

    kind: Kinds | None = None
    layers: tuple[int, ...] | None = None
    batch_tokens: Annotated[AtLeast1 | None, CHOSEN] = None


@dataclass(frozen=True, kw_only=True)
class MeasureSettings(StudySettings):
    """By which measures attention is looked at.

    Attributes:
        measures: measures of attention. ``gradient`` runs the model backward as well;
            ``attribution`` is one row for each layer, in the place of its first head.
        attribution: computation of contributions, if they are among the measures.
        value_bias: value bias in T of effective attention.
    """

    measures: tuple[str, ...] = MEASURES
    attribution: AttributionSettings | None = None
    value_bias: ValueBias = "include"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_measures(self.measures)

    @property
    def required_head(self) -> str:
        """Gradients need a loss."""
        return "language_model" if GRADIENT in self.measures else super().required_head

    def check_command(self) -> None:
        """Contributions are not told how to be computed where nobody asks for them."""
        super().check_command()
        check_attribution(self.attribution, self.measures)


@dataclass(frozen=True, kw_only=True)
class TextSettings(ModelSettings):
    """Settings of how a corpus of texts is read.

    Attributes:
        format: format of the corpus; by default inferred from suffix or content: plain text without
            blank lines that is not wrapped prose is read as ``lines``. ``pairs`` are sentence
            pairs, such as those of MRPC, CoLA or MNLI, ``translations`` the pairs that headlight
            align reads, for models with a decoder.
        column: key or column that holds the text; by default ``text``, or the only one.
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else what
            the model takes, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1, or ``zeros`` (the released maps of Clark et
            al.).
        lone_units: handling of a paragraph that fills a pair alone: wait for the next, or end the
            document (``discard``, the released code of Clark et al.).
        max_examples: largest number of examples.
        seed: random seed, of the cuts between segments as well.
    """

    format: str | None = None
    column: str | None = None
    pairs: bool = False
    max_length: AtLeast1 | None = None
    overflow: Literal["truncate", "split", "error"] = "truncate"
    segment_ids: Literal["pair", "zeros"] = "pair"
    lone_units: Annotated[Literal["join", "discard"], UNLISTED] = "join"
    max_examples: AtLeast1 | None = None
    seed: int = 0

    def check_source(self, source: str | None) -> None:
        """The first text, or pair of texts, is read; of a recording its transcript."""
        from headlight.corpora import (
            medium_of,
            open_corpus,
            open_recordings,
            pair_format,
        )

        if source is None or medium_of(source) == "pictures":
            return  # which are decoded where the model sees them
        if medium_of(source) == "speech":
            next(iter(open_recordings(source, column=self.column)))
        elif (pairs := pair_format(self.format)) is not None:
            next(iter(pairs.open(source)))
        else:
            try:
                next(iter(open_corpus(source, format=self.format, column=self.column)))
            except CorpusError as error:
                table = {self.format, source.rpartition(".")[2]} & {"csv", "tsv"}
                if table and "holds no text" in str(error):
                    error.args = (
                        f"{error.args[0]} The first line of a table is taken as its header; of "
                        "plain text the format is paragraphs or lines.",
                    )
                raise


@dataclass(frozen=True, kw_only=True)
class QueryBlockSettings(StudySettings):
    """Settings of how much of a long text is in memory at a time.

    Attributes:
        query_block: queries for which attention is computed at a time, so that memory never holds
            all weights of a layer; ``auto`` where it matters, 0 for all. With gradients or
            contributions all queries are one block.
    """

    query_block: Annotated[AtLeast0 | None, CHOSEN] = None


@dataclass(frozen=True, kw_only=True)
class WordSettings(ModelSettings):
    """Settings of annotated text, and of attention between words instead of pieces.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        format: format of the files; by default inferred from suffix or content.
        invalid: handling of invalid annotation: refuse it with an error (``refuse``), or leave the
            sentence or document out and count it (``skip``).
        unencodable: handling of words that the tokenizer drops: refuse them with an ``error``, or
            leave the sentence or document out and count it (``skip``).
        queries: pooling over the pieces of the attending word: ``mean`` (Clark et al. 2019, Section
            4.1), ``first`` (their released code) or ``max``.
        pooling: pooling of norms over the pieces of the attended word: the sum of the ``norms``, or
            the norm of the summed ``vectors``.
    """

    kind: Kind | None = None
    format: str | None = None
    invalid: Literal["refuse", "skip"] = "refuse"
    unencodable: Literal["error", "skip"] = "error"
    queries: QueryPooling = "mean"
    pooling: Annotated[NormPooling, UNLISTED] = "norms"


@dataclass(frozen=True, kw_only=True)
class SentenceSettings(WordSettings):
    """Settings of how the sentences of a treebank are read.

    Attributes:
        max_length: tokens per sentence, special ones included; by default what the model takes, at
            most 512.
        overflow: handling of longer sentences: leave them out and count them (``skip``), truncate
            them (``truncate``), or refuse them with an ``error``.
    """

    max_length: AtLeast1 | None = None
    overflow: Literal["skip", "truncate", "error"] = "skip"

    def check_source(self, source: str | None) -> None:
        """The first sentence is read."""
        from headlight.corpora import open_treebank

        next(iter(open_treebank(str(source), format=self.format, invalid=self.invalid)))


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings(ModelSettings):
    """Settings of how the texts of a classifier, or the sentences of a tagger, are read.

    Attributes:
        format: format of the files; by default inferred from suffix or first line. Texts: ``tsv``,
            ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``, ``cola``, ``mrpc``,
            ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys that hold a text, or two of a pair; for a tagger the
            numbers, from 1, of the columns of word and tag. By default the usual names, and the
            first and the last column.
        label_column: name of the column or key that holds the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        kind: kind of attention; by default the first that the model has.
        max_length: tokens per example, special ones included; by default what the model takes, at
            most 512. Longer texts are truncated.
        max_examples: largest number of examples.
        seed: random seed.
    """

    format: str | None = None
    columns: tuple[str, ...] | None = None
    label_column: str | None = None
    class_names: tuple[str, ...] | None = None
    kind: Kind | None = None
    max_length: AtLeast1 | None = None
    max_examples: AtLeast1 | None = None
    seed: AtLeast0 = 0

    @property
    def required_head(self) -> str:
        """Return the head of a classifier, of texts or of tokens."""
        return "classification"

    def check_source(self, source: str | None) -> None:
        """Check that the files exist; what must be in them depends on the model."""
        check_files(str(source))


def check_files(source: str) -> None:
    """Refuse a source that is no data set, and of which there is no file.

    Raises:
        CorpusError: there is none.
    """
    from headlight.corpora.files import files
    from headlight.corpora.hub import PREFIX

    if not source.startswith(PREFIX):
        files(source)


def check_attribution(attribution: AttributionSettings | None, measures: tuple[str, ...]) -> None:
    """Refuse to say how contributions are computed where they are not among the measures.

    Raises:
        UsageError: it is said.
    """
    if attribution is not None and ATTRIBUTION not in measures:
        raise UsageError(
            "settings of contributions have no effect without them; add "
            f"attribution to {setting('measures')}."
        )
