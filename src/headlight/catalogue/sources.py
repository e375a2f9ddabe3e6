"""Kinds of sources of studies: what each may be, its sample, and the model that reads it."""

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
    """One kind of source, declared by who reads it.

    Attributes:
        name: what it is called in one word.
        explanation: what it may be in Python.
        argument: what it may be on the command line.
        label: what it is, in a table.
        noun: what is counted of it.
        panel: under which heading of the help its studies stand.
        model: which model may read it, in Python.
        default_model: name of the embedded model that reads it where none is named; None for the
            usual one.
        sample: file that is read where no source is named; None where the study itself chooses a
            sample.
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
        """Return the source, or the sample where none is named and there is one for all."""
        return source if source is not None or self.sample is None else str(self.sample)


STANDARD_INPUT = "-"
"""The name of a source that is standard input."""
