"""Sentence pairs, and the columns that hold them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from headlight.corpora.text_checks import demand_characters
from headlight.errors import CorpusError


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Example of a task that judges sentences or pairs of sentences.

    Attributes:
        name: Place that it is from, for messages: ``"dev.tsv:12"`` or ``"hf:glue:mrpc[3]"``.
        first: First sentence, or the premise; stripped and not empty.
        second: Second sentence, or the hypothesis; None where there is only one.
        label: Label as the source writes it; None where it has none, or says that there is none.
    """

    name: str
    first: str
    second: str | None
    label: str | None


SENTENCES: tuple[tuple[str, ...], ...] = (
    ("#1 String", "#2 String"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("document", "query"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("first", "second"),
    ("sentence",),
    ("String",),
    ("text",),
)
"""Names of columns by which sentences are found, in this order of preference."""

LABELS = ("gold_label", "Quality", "label")

NO_LABEL = ("", "-", "-1")
"""Values without a label: annotators of MNLI disagree, or a test set keeps its labels."""


def sentence_columns(available: Collection[str]) -> tuple[str, ...] | None:
    """Return the columns of sentences that are known by their names; None where none are."""
    return next((names for names in SENTENCES if all(n in available for n in names)), None)


@dataclass(frozen=True, slots=True)
class PairColumns:
    """Names of columns, or keys.

    Attributes:
        sentences: Columns of one or two sentences.
        label: Column of the label; None where there is no label.
    """

    sentences: tuple[str, ...]
    label: str | None

    @classmethod
    def choose(
        cls,
        available: Sequence[str],
        wanted: tuple[str, ...] | None,
        place: str,
        label: str | None = None,
    ) -> "PairColumns":
        """Return the requested columns, or those that are known by their names.

        Raises:
            CorpusError: There is none of them.
        """
        names = ", ".join(map(repr, available)) or "none"
        requested = (*(wanted or ()), *([label] if label is not None else []))
        missing = [name for name in requested if name not in available]
        if missing:
            raise CorpusError(
                f"{place}: there is no column {missing[0]!r}; name those there are: {names}."
            )
        sentences = wanted or sentence_columns(available)
        if sentences is None:
            raise CorpusError(
                f"{place}: no column is known to hold sentences (there are: {names}); name one "
                "or two of them."
            )
        label = label or next((name for name in LABELS if name in available), None)
        return cls(sentences, label if label not in sentences else None)

    def pair(self, row: Mapping[str, object], place: str) -> SentencePair:
        """Return the pair that a row holds.

        Raises:
            CorpusError: A column is missing, or holds no sentence.
        """
        first, *more = (_sentence(row, name, place) for name in self.sentences)
        label = None if self.label is None else _label(row.get(self.label))
        return SentencePair(place, first, more[0] if more else None, label)


def _sentence(row: Mapping[str, object], name: str, place: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        problem = "nothing" if value is None else "only blanks" if isinstance(value, str) else None
        raise CorpusError(
            f"{place}: {name!r} must hold a sentence, and holds "
            f"{problem or type(value).__name__}; complete the line, or leave it out."
        )
    demand_characters(value, place)
    return value.strip()


def _label(value: object) -> str | None:
    label = "" if value is None else str(value).strip()
    return None if label in NO_LABEL else label
