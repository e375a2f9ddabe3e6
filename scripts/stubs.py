"""Write what editors and type checkers read of functions and methods made of tables.

    python scripts/stubs.py

The functions of the root, and the methods of a model that answer questions, are made of the
catalogue while the program runs; the ``__init__.pyi`` of each distribution, and that of the
methods, have their signatures and docstrings as text.
"""

import inspect
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from headlight.catalogue import DISTRIBUTIONS, IN_OTHER_DISTRIBUTIONS, Question, Study, studies
from headlight.catalogue.questions import QUESTIONS
from headlight.catalogue.study_arguments import Argument, arguments, documentation

ROOT = Path(__file__).resolve().parent.parent
STUB = "__init__.pyi"

HEAD = '''"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

{imports}
from headlight.api import open as open
from headlight.errors import HeadlightError as HeadlightError
from headlight.findings import heads as heads
from headlight.reading.given_weights import view as view
from headlight.reading.model import Model as Model, load as load, wrap as wrap
from headlight.reading import Reading as Reading
from headlight.reports.gallery import gallery as gallery
from headlight.version import __version__ as __version__

# Modules, and studies of other packages.
def __getattr__(name: str) -> Any: ...
'''

OTHER_HEAD = '''"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

{imports}

# Modules, and rows of entry points.
def __getattr__(name: str) -> Any: ...
'''


METHODS_HEAD = '''"""Written by scripts/stubs.py from the table of questions; do not edit."""

{imports}

class QuestionMethods:
    """Base of models that answer questions: a method for each row of the table."""

'''


def stubs() -> dict[Path, str]:
    """The whole files, of this distribution and of each other, by where they are."""
    ours = [each for each in studies().values() if each.is_ours]
    core = [each for each in ours if each.name not in IN_OTHER_DISTRIBUTIONS]
    package = ROOT / "src" / "headlight"
    files = {
        package / STUB: stub(HEAD, core),
        package / "reading" / "question_methods.pyi": methods_stub(),
    }
    for each in DISTRIBUTIONS.values():
        place = ROOT / "packages" / each.extra / "src" / each.package / STUB
        files[place] = stub(OTHER_HEAD, [study for study in ours if study.name in each.studies])
    return files


def stub(head: str, rows: Sequence[Study]) -> str:
    """A file of functions."""
    classes = {"Any": "typing"}
    functions = [function(each, classes) for each in rows]
    return "\n".join([head.format(imports=imports_of(classes)), *functions])


def methods_stub() -> str:
    """The file of the methods that answer questions."""
    classes: dict[str, str] = {}
    methods = [method(question, classes) for question in QUESTIONS.values()]
    return METHODS_HEAD.format(imports=imports_of(classes)) + "\n".join(methods)


def imports_of(classes: dict[str, str]) -> str:
    """The lines that import classes, which are given with their modules."""
    return "\n".join(
        f"from {home} import {', '.join(name for name in sorted(classes) if classes[name] == home)}"
        for home in sorted(set(classes.values()))
    )


def method(question: Question, classes: dict[str, str]) -> str:
    """The method of a question; notes from where its types are."""
    signature = inspect.signature(question.answer)
    _, *parameters = signature.parameters.values()  # the model, which is the object itself
    lines, keywords = ["        self,\n"], False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not keywords:
            lines.append("        *,\n")
            keywords = True
        hint = text_of(each.annotation, classes)
        value = "" if each.default is each.empty else f" = {each.default!r}"
        lines.append(f"        {each.name}: {hint}{value},\n")
    said = inspect.cleandoc(question.answer.__doc__ or "")
    said = textwrap.indent(re.sub(r"^    model: .*\n", "", said, flags=re.MULTILINE), " " * 8)
    answer = text_of(signature.return_annotation, classes)
    return (
        f"    def {question.name}(\n{''.join(lines)}    ) -> {answer}:\n"
        f'        """{said.strip()}\n        """\n        ...\n'
    )


def function(study: Study, classes: dict[str, str]) -> str:
    """The function of a study; notes from where its types are."""
    lines = []
    for each in arguments(study):
        lines.append(f"    {each.name}: {text_of(each.hint, classes)}{default(each)},\n")
        if each.name == "source":
            lines.append("    *,\n")
    said = textwrap.indent(documentation(study), "    ").strip().replace("\\", "\\\\")
    said = re.sub(r"[ \t]+$", "", said, flags=re.MULTILINE)
    return (
        f"def {study.name}(\n{''.join(lines)}) -> xarray.Dataset:\n"
        f'    """{said}\n    """\n    ...\n'
    )


def default(argument: Argument) -> str:
    """The default as Python, or ``...`` where it is an object."""
    simple = isinstance(argument.default, bool | int | float | str | NoneType | tuple)
    return f" = {argument.default!r}" if simple else " = ..."


def text_of(hint: Any, classes: dict[str, str]) -> str:
    """A type as it is written; notes from where it is."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (NoneType, None):
        return "None"
    if origin is Literal:
        classes["Literal"] = "typing"
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(text_of(each, classes) for each in inner))
    if origin is not None:
        return f"{text_of(origin, classes)}[{', '.join(text_of(each, classes) for each in inner)}]"
    name, home = hint.__name__, hint.__module__
    if home != "builtins":
        classes[name] = HOMES.get(home, home)
    return str(name)


HOMES = {"pathlib._local": "pathlib", "headlight.files": "upath"}
"""Where public classes are that say that they are elsewhere."""


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text, encoding="utf-8")
