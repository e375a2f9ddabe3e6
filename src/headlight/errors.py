"""Errors of Headlight, as one tree: every refusal is one of them.

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

Every message is one sentence, or two: what was wrong, where, and what to do about it.  It names
settings by `setting`, so that Python reads the name of an argument, the command line an option, and
the app the name alone; `per_door` gives the three different words.
"""

import copyreg
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

_MARK = "\ufdd0"
"""Mark around a setting in a sentence; no text has it, since Unicode keeps it for internal use."""


def setting(argument: str) -> str:
    """Return a setting with marks, so that a refusal can show an argument or an option.

    Args:
        argument: Name of the setting, with its value if there is one: ``max_length``, ``out=``,
            ``kind=decoder``, ``resume=True``.
    """
    return f"{_MARK}{argument}{_MARK}"


_DOORS, _OR = "\ufdd1", "\ufdd2"
"""Marks around the words of the three doors, Python, command line and app, and between them."""


def per_door(*, python: str, command_line: str, app: str) -> str:
    """Return words of a refusal that Python, the command line and the app say differently."""
    return f"{_DOORS}{python}{_OR}{command_line}{_OR}{app}{_DOORS}"


def with_head(model: str, such_as: str = "") -> str:
    """Return the advice of a refusal of a model without its head.

    Args:
        model: Noun for the model with its article: ``a classifier``.
        such_as: Name of an embedded model that has such a head, if there is one.
    """
    needed = f"{model} that was saved with its head"
    python, command_line, app = (
        (f", such as {way}" if such_as else "")
        for way in (f"headlight.load({such_as!r})", such_as, such_as)
    )
    return per_door(
        python=f"load {needed}{python}",
        command_line=f"name {needed} (--model){command_line}",
        app=f"start the app with {needed}{app}",
    )


def flag(name: str) -> str:
    """Return the option of the command line for a setting: ``--max-length``."""
    return f"--{name.replace('_', '-')}"


class HeadlightError(Exception):
    """Root of the tree: catching it catches every refusal, and nothing else."""

    exit_code = 1

    def marked(self) -> str:
        """Return the sentence with its marks around settings."""
        return super().__str__()

    def _said(self, door: int, written: Callable[[str], str]) -> str:
        """Return the sentence in the words of a door, with settings as it writes them."""
        words = (
            f"{_DOORS}([^{_DOORS}{_OR}]*){_OR}([^{_DOORS}{_OR}]*){_OR}([^{_DOORS}{_OR}]*){_DOORS}"
        )
        parts = re.sub(words, lambda match: match[door], self.marked()).split(_MARK)
        parts[1::2] = map(written, parts[1::2])
        return "".join(parts)

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings in the sentence, in their order."""
        return tuple(argument.partition("=")[0] for argument in self.marked().split(_MARK)[1::2])

    def __str__(self) -> str:
        """Return the sentence as Python reads it: ``kind='decoder'``."""
        return self._said(1, lambda argument: _written(argument, None))

    def with_options(self, option: Callable[[str], str | None] = flag) -> str:
        """Return the sentence as the command line reads it: ``--kind decoder``.

        Args:
            option: Function from the name of a setting to its option; it returns None for a
                setting that only Python has.
        """
        return self._said(
            2, lambda argument: _written(argument, option(argument.partition("=")[0]))
        )

    def for_app(self) -> str:
        """Return the sentence as the app shows it, with settings as words: ``kind decoder``."""
        return self._said(
            3,
            lambda argument: _written(argument, argument.partition("=")[0].replace("_", " ")),
        )


def _written(argument: str, option: str | None) -> str:
    name, is_set, value = argument.partition("=")
    if option is not None:
        return f"{option} {value.removeprefix('True')}".rstrip()
    return f"{name}={value if value in ('', 'True') else repr(value)}" if is_set else name


class UsageError(HeadlightError):
    """The request is wrong: an argument, an option, or a combination of them."""

    exit_code = 2


class UnknownNameError(UsageError):
    """A name that no table holds; the message offers the nearest one."""

    def __init__(self, kind: str, name: str, available: Iterable[str]) -> None:
        names = sorted(available)
        close = get_close_matches(name, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        super().__init__(f"no {kind} is called {name!r}.{hint} Known: {', '.join(names)}.")

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the parts of a pickle, which is not made by ``__init__`` again."""
        # A worker sends it with its sentence alone, and `__init__` would need kind and names.
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
    """Something went wrong, but the result is right."""
