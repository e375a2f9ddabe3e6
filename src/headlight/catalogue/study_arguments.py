"""Arguments of the function of a study, its signature and its docstring."""

import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from headlight.catalogue.study import Study
from headlight.files import Location
from headlight.settings import accepted, default_of, entries

WIDTH = 100
OWN = ("folder", "command", "progress")
"""Arguments of ``run`` that a user gives under other names, or not at all."""


@dataclass(frozen=True)
class Argument:
    """Argument of the function of a study.

    Attributes:
        name: Name of the parameter.
        hint: Types that it takes.
        default: Value when it is not given.
        explanation: One or more sentences, without the final full stop.
    """

    name: str
    hint: Any
    default: Any
    explanation: str


RUN = (
    Argument(
        "out",
        str | Location | None,
        None,
        "a folder, which makes the run resumable and keeps result, report and tables",
    ),
    Argument("resume", bool, False, "go on with the run in `out`"),
    Argument("overwrite", bool, False, "remove the run in `out` first"),
    Argument(
        "workers",
        int | str | None,
        None,
        'processes that share the run: a number, ``"auto"``, ``"ray"`` or '
        '``"ray://HOST:PORT"`` for those of a cluster, or ``"join"`` for one of any number '
        "that were started elsewhere",
    ),
    Argument(
        "corpus_name",
        str | None,
        None,
        "what titles call the corpus, in place of the end of its path",
    ),
    Argument("progress", bool, True, "show a bar on standard error"),
)
"""Arguments of every study about its run."""


def arguments(study: Study) -> list[Argument]:
    """Return all arguments of the function of a study, the source first, and settings last."""
    return [
        Argument("source", Any, None, study.source.explanation),
        Argument("model", Any, None, study.source.model),
        Argument("tokenizer", Any, None, "of a model that comes without one"),
        Argument(
            "name", str | None, None, "what titles call the model, in place of the end of its path"
        ),
        *RUN,
        *_settings_and_objects(study),
    ]


def objects(study: Study) -> dict[str, Argument]:
    """Return the arguments of a study in Python besides settings, such as an objective.

    This imports the study, and so torch.
    """
    hints = get_type_hints(study.run)
    texts = entries(study.run.__doc__ or "", "Args")
    return {
        each.name: Argument(each.name, hints[each.name], each.default, texts.get(each.name, ""))
        for each in inspect.signature(study.run).parameters.values()
        if each.kind is inspect.Parameter.KEYWORD_ONLY and each.name not in OWN
    }


def signature(study: Study) -> inspect.Signature:
    """Return the signature of the function of a study."""
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(
            each.name, kinds[each.name != "source"], default=each.default, annotation=each.hint
        )
        for each in arguments(study)
    ]
    return inspect.Signature(parameters, return_annotation="xarray.Dataset")


def documentation(study: Study) -> str:
    """Return the docstring of the function of a study."""
    lines = [
        line
        for each in arguments(study)
        for line in textwrap.wrap(
            f"{each.name}: {each.explanation.rstrip('.')}.",
            WIDTH - 8,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]
    question = textwrap.wrap(study.sentence, WIDTH - 4)
    return "\n".join(
        [
            *question,
            "",
            f"Settings are those of `{study.settings.__module__}.{study.settings.__name__}`.",
            "",
            "Args:",
            *lines,
            "",
            "Raises:",
            "    HeadlightError: something is wrong with the request, the model, or what is read.",
            "",
            *textwrap.wrap(f"Source: {study.papers}.", WIDTH - 4, subsequent_indent="    "),
        ]
    )


def _settings_and_objects(study: Study) -> Iterator[Argument]:
    remaining_objects, explained = objects(study), study.settings.explanations()
    hints = study.settings.hints()
    for each in fields(study.settings):
        hint = accepted(hints[each.name])
        if (argument := remaining_objects.pop(each.name, None)) is not None:
            hint = hint | argument.hint
        yield Argument(each.name, hint, default_of(study.settings, each.name), explained[each.name])
    yield from remaining_objects.values()
