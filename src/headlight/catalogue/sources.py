"""Kinds of sources of studies: their values, samples, and the models that read them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ANNOTATED = "Study annotated text"

_MODEL = (
    "its name or folder, a loaded `Model`, or a model of transformers in memory (then with "
    "``tokenizer=``); by default the embedded one."
)


@dataclass(frozen=True, kw_only=True)
class SourceKind:
    """Kind of source, declared beside the code that reads it.

    Attributes:
        name: Name, a single word.
        explanation: Explanation of its values in Python.
        argument: Explanation of its values on the command line.
        label: Label in tables.
        noun: Noun for the units that are counted.
        panel: Heading of its studies in the help.
        model: Explanation of the models that may read it, in Python.
        default_model: Name of the embedded model that reads it by default; None for the usual one.
        sample: File that is read by default; None where the study itself chooses a sample.
    """

    name: str
    explanation: str
    argument: str
    label: str
    noun: str
    panel: str = _ANNOTATED
    model: str = _MODEL
    default_model: str | None = None
    sample: Path | None = None

    def or_sample(self, source: Any) -> Any:
        """Return the source, or the sample if the source is None and the kind has a sample."""
        return source if source is not None or self.sample is None else str(self.sample)


STANDARD_INPUT = "-"
"""Name of a source that is standard input."""
