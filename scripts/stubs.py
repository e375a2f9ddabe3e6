"""Write what editors and type checkers read of the functions of the root.

    python scripts/stubs.py

The functions are made of the catalogue while the program runs; the ``__init__.pyi`` of each
distribution has the signatures and docstrings of those that it brings, as text.
"""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from headlight.catalogue import DISTRIBUTIONS, IN_OTHER_DISTRIBUTIONS, Study, studies
from headlight.catalogue.study_arguments import Argument, arguments, documentation

ROOT = Path(__file__).resolve().parent.parent
STUB = "__init__.pyi"

HEAD = '''"""Written by scripts/stubs.py from the catalogue of studies; do not edit."""

import xarray

{imports}
from headlight.api import open as open
from headlight.errors import HeadlightError as HeadlightError
from headlight.findings import heads as heads
from headlight.reading.model import Model as Model, load as load
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


def stubs() -> dict[Path, str]:
    """The whole files, of this distribution and of each other, by where they are."""
    ours = [each for each in studies().values() if each.is_ours]
    core = [each for each in ours if each.name not in IN_OTHER_DISTRIBUTIONS]
    files = {ROOT / "src" / "headlight" / STUB: stub(HEAD, core)}
    for each in DISTRIBUTIONS.values():
        place = ROOT / "packages" / each.extra / "src" / each.package / STUB
        files[place] = stub(OTHER_HEAD, [study for study in ours if study.name in each.studies])
    return files


def stub(head: str, rows: Sequence[Study]) -> str:
    """A file of functions."""
    classes = {"Any": "typing"}
    functions = [function(each, classes) for each in rows]
    imports = [
        f"from {home} import {', '.join(name for name in sorted(classes) if classes[name] == home)}"
        for home in sorted(set(classes.values()))
    ]
    return "\n".join([head.format(imports="\n".join(imports)), *functions])


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
