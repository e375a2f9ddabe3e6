"""Effect on the predictions of a model of removing one head, or all heads of a layer."""

from dataclasses import dataclass
from typing import Literal

from headlight.catalogue import TEXT_OR_LABELLED, Study
from headlight.errors import UsageError, setting
from headlight.settings import AtLeast0, Common, require_distinct
from headlight.study_settings.classifiers import ClassifierSettings, check_files
from headlight.study_settings.texts import TextSettings
from headlight.vocabulary import Kind

Removed = Literal["head", "layer"]
"""Component removed at a time: one head, or all heads of a layer."""

OF_TEXT = ("column", "pairs", "overflow", "segment_ids", "lone_units")
OF_LABELS = ("columns", "label_column", "class_names")
"""Settings of a corpus for language models only, and for classifiers only."""


@dataclass(frozen=True, kw_only=True)
class AblationSettings(TextSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        kind: kind of attention; by default the first that the model has.
        format: format of the corpus; by default inferred from suffix or content. Classifiers read
            the formats of headlight permutation.
        seed: random seed of the cuts between segments and of masked words.
        by: units of removal: each ``head``, or all heads of each ``layer``.
        columns: names of the columns or keys of the text, or of both texts of a pair (classifiers);
            for a tagger the numbers, from 1, of the columns of word and tag. By default the usual
            names, and the first and the last column.
        label_column: name of the column or key of the label (classifiers); by default ``label``.
        class_names: names of the classes in the corpus, in the order of the model's outputs
            (classifiers); by default the model's own names, or numbers from 0.
        sentences: keep passages around the predictions that change most, for the report (language
            models).
    """

    kind: Common[Kind | None] = None
    format: Common[str | None] = None
    seed: AtLeast0 = 0
    by: Common[tuple[Removed, ...]] = ("head", "layer")
    columns: Common[tuple[str, ...] | None] = None
    label_column: Common[str | None] = None
    class_names: Common[tuple[str, ...] | None] = None
    sentences: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_distinct("by", self.by)

    @property
    def required_head(self) -> str:
        """Return ``any``: the head of a language model or of a classifier."""
        return "any"

    def check_source(self, source: str | None) -> None:
        """Check that the files exist; their contents are checked with the model."""
        if source is None:
            super().check_source(source)
        else:
            check_files(source)

    def of_classifier(self) -> ClassifierSettings:
        """Return the settings by which a classifier reads a corpus.

        Raises:
            UsageError: a setting applies to language models only.
        """
        self._require_default(
            OF_TEXT,
            "classifier",
            f"{setting('columns')}, {setting('label_column')} and {setting('class_names')}",
        )
        shared = ClassifierSettings.hints().keys() & type(self).hints().keys()
        return ClassifierSettings(**{name: getattr(self, name) for name in shared})

    def check_of_language_model(self) -> None:
        """Refuse settings that apply to classifiers only.

        Raises:
            UsageError: such a setting is not its default.
        """
        self._require_default(OF_LABELS, "language model", "column and format")

    def _require_default(self, names: tuple[str, ...], model: str, cure: str) -> None:
        default = type(self)()
        for name in names:
            if getattr(self, name) != getattr(default, name):
                raise UsageError(
                    f"{setting(name)} does not apply to the corpus of a {model}; leave it out (the "
                    f"corpus is described by {cure})."
                )


STUDY = Study(
    name="ablation",
    title="effect of ablating each head",
    question="measure the effect of ablating each head, or all heads of a layer, on predictions",
    papers="Michel et al. 2019, Section 3; Kobayashi et al. 2020",
    source=TEXT_OR_LABELLED,
    settings=AblationSettings,
    examples=(
        ("wiki/ --max-examples 100", "a masked language model"),
        ("wiki/ --model gpt2 --max-length 128", "loss of the next token"),
        ("reviews.tsv --model ./my-classifier", "also how many predictions stay correct"),
    ),
    order=6,
)
