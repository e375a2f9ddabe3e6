"""Settings of studies of classifiers: their texts, and rows of attention."""

from dataclasses import dataclass
from typing import Literal

from headlight.settings import AtLeast0, AtLeast1, Common
from headlight.study_settings.models import ModelSettings
from headlight.vocabulary import Kind

RowsOfText = Literal["mean", "first", "last"]
"""Rows of attention that represent a text."""

Scope = Literal["all", "layer", "head"]
"""Scope of the attention that is replaced at once: all layers, one layer, or one head."""

Rows = Literal["all", "first", "last"]
"""Rows that are replaced: those of all tokens, of the first one ([CLS]), or of the last one."""


@dataclass(frozen=True, kw_only=True)
class ClassifierSettings(ModelSettings):
    """Settings of the texts of a classifier, or of the sentences of a tagger.

    Attributes:
        format: format of the files; by default inferred from suffix or first line. Texts: ``tsv``,
            ``csv``, ``jsonl``, ``sst``, ``ag_news``, ``imdb``, ``newsgroups``, ``cola``, ``mrpc``,
            ``mnli``; sentences of a tagger: ``columns``.
        columns: names of the columns or keys of the text, or of both texts of a pair; for a tagger
            the numbers, from 1, of the columns of word and tag. By default the usual names, and the
            first and the last column.
        label_column: name of the column or key of the label; by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs; by
            default the model's own names, or numbers from 0.
        kind: kind of attention; by default the first that the model has.
        max_length: maximal number of tokens per example, special ones included; by default that of
            the model, at most 512. Longer texts are truncated.
        max_examples: maximal number of examples.
        seed: random seed.
    """

    format: Common[str | None] = None
    columns: Common[tuple[str, ...] | None] = None
    label_column: Common[str | None] = None
    class_names: Common[tuple[str, ...] | None] = None
    kind: Common[Kind | None] = None
    max_length: Common[AtLeast1 | None] = None
    max_examples: Common[AtLeast1 | None] = None
    seed: AtLeast0 = 0

    @property
    def required_head(self) -> str:
        """Return the head of a classifier, of texts or of tokens."""
        return "classification"

    def check_source(self, source: str | None) -> None:
        """Check that the files exist; their contents are checked with the model."""
        check_files(str(source))


def check_files(source: str) -> None:
    """Refuse a source that is neither a data set of the hub nor an existing file.

    Args:
        source: Path, glob or name of a data set.

    Raises:
        CorpusError: there is no such file.
    """
    from headlight.corpora.files import files
    from headlight.corpora.hub import PREFIX

    if not source.startswith(PREFIX):
        files(source)
