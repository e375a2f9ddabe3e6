"""Everything that Headlight refuses, as one tree.

::

    HeadlightError
    ├── UsageError               the request is wrong             (exit code 2)
    │   └── UnknownNameError     a name that no table holds
    ├── CorpusError              text cannot be read, or there is none
    ├── ModelError               a model cannot be loaded
    │   ├── UnsupportedModelError   it loads, but its attention cannot be captured exactly
    │   └── MissingHeadError        it has no language-model head, and so no loss
    ├── CaptureError             capturing went wrong while the model ran
    ├── RunError                 a run cannot go on or be resumed
    │   └── RunInterruptedError  the user stopped it               (exit code 130)
    └── ResultError              a result file cannot be read or written

Every message is one sentence, or two: what was wrong, where, and what to do about it.
"""

import copyreg
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class HeadlightError(Exception):
    """The root: catching it catches every refusal, and nothing else."""

    exit_code = 1


class UsageError(HeadlightError):
    """The request is wrong: an argument, an option, or a combination of them."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that no table holds; the message offers the nearest one."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        super().__init__(f"no {kind} is called {name!r}.{hint} Known: {', '.join(names)}.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again of its sentence, in another process."""
        return copyreg.__newobj__, (type(self), *self.args)  # type: ignore[attr-defined]


class CorpusError(HeadlightError):
    """Text that cannot be read, or a corpus that holds none."""


class ModelError(HeadlightError):
    """A model that cannot be loaded."""


class UnsupportedModelError(ModelError):
    """A model whose attention Headlight cannot capture exactly, and therefore does not analyse."""


class MissingHeadError(ModelError):
    """A model without a language-model head, where a loss is needed."""


class CaptureError(HeadlightError):
    """Capturing went wrong while the model ran."""


class RunError(HeadlightError):
    """A run that cannot start, go on or be resumed."""


class RunInterruptedError(RunError):
    """A run that the user stopped; the message says how to go on."""

    exit_code = 130


class ResultError(HeadlightError):
    """A result file that cannot be read or written."""


class HeadlightWarning(RuntimeWarning):
    """Something went wrong, and the result is right all the same."""
