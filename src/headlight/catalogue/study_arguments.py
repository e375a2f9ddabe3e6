"""Arguments, signature and docstring of the function of a study."""

import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

from headlight.catalogue.study import Study
from headlight.files import Location
from headlight.settings import accepted, default_of, entries

WIDTH = 100
INTERNAL = ("folder", "command", "progress")
"""Arguments of ``run`` that the function of a study makes itself."""


@dataclass(frozen=True)
class Argument:
    """Argument of the function of a study.

    Attributes:
        name: Name of the parameter.
        hint: Accepted types.
        default: Default value.
        explanation: Explanation in the docstring, without the final full stop.
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
        "folder of the run, which can then be resumed and keeps result, report and tables",
    ),
    Argument("resume", bool, False, "resume the run in `out`"),
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
        "display name of the corpus; by default the end of its path",
    ),
    Argument("progress", bool, True, "show a bar on standard error"),
)
"""Arguments about the run, which all studies have."""


def arguments(study: Study) -> list[Argument]:
    """Return all arguments of the function of a study, the source first, and settings last."""
    return [
        Argument("source", Any, None, study.source.explanation),
        Argument("model", Any, None, study.source.model),
        Argument("tokenizer", Any, None, "tokenizer, for a model that comes without one"),
        Argument(
            "name", str | None, None, "display name of the model; by default the end of its path"
        ),
        *RUN,
        *_settings_and_objects(study),
    ]


def objects(study: Study) -> dict[str, Argument]:
    """Return the arguments that a study has in Python besides settings, such as an objective.

    This imports the study, and so torch.
    """
    hints = get_type_hints(study.run)
    texts = entries(study.run.__doc__ or "", "Args")
    return {
        name: Argument(name, hints[name], parameter.default, texts.get(name, ""))
        for name, parameter in inspect.signature(study.run).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and name not in INTERNAL
    }


def signature(study: Study) -> inspect.Signature:
    """Return the signature of the function of a study."""
    parameters = [
        inspect.Parameter(
            argument.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=argument.default,
            annotation=argument.hint,
        )
        for argument in arguments(study)
    ]
    source = parameters[0].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return inspect.Signature([source, *parameters[1:]], return_annotation="xarray.Dataset")


def documentation(study: Study) -> str:
    """Return the docstring of the function of a study."""
    lines = [
        line
        for argument in arguments(study)
        for line in textwrap.wrap(
            f"{argument.name}: {argument.explanation.rstrip('.')}.",
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
            "    HeadlightError: the request, the model or the source is refused.",
            "",
            *textwrap.wrap(f"Source: {study.papers}.", WIDTH - 4, subsequent_indent="    "),
        ]
    )


def _settings_and_objects(study: Study) -> Iterator[Argument]:
    remaining_objects, explained = objects(study), study.settings.explanations()
    for name, hint in study.settings.hints().items():
        kinds = accepted(hint)
        if (argument := remaining_objects.pop(name, None)) is not None:
            # `run` takes objects in the place of this setting, besides what a file can hold.
            kinds = kinds | argument.hint
        yield Argument(name, kinds, default_of(study.settings, name), explained[name])
    yield from remaining_objects.values()
