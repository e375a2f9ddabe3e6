"""The script of the view: modules as they are written, joined into one for a page."""

import re
from functools import cache
from importlib.resources import files

MODULES = (
    *("bytes", "host", "numbers", "state", "units", "colours", "measures", "overview", "panels"),
    *("text", "links", "layer_lines", "layers", "export", "what_if", "head_numbers", "main"),
)
"""Of the view, in an order in which each stands after those that it imports."""

HEADS = ("bytes", "head_numbers", "head_card", "head_scatter", "head_pages", "report_heads")
"""Of single heads in the report of a survey."""

GALLERY = ("head_numbers", "head_scatter", "gallery_data", "gallery_search", "gallery")
"""Of the first page of a gallery."""

GALLERY_MODEL = (
    *("head_numbers", "head_card", "head_scatter", "head_pages", "gallery_data", "gallery_model"),
)
"""Of the page of one model in it."""

_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_COMMENT = re.compile(r"^ *(?://[^\n]*|/\*\*.*?\*/ *)\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:const|async function|function) (\w+))", re.MULTILINE)


@cache
def joined_script(modules: tuple[str, ...] = MODULES) -> str:
    """Modules as one script: each is a function that gives what it exports.

    Comments that have lines of their own stay out, which is a tenth of it.
    """
    return '"use strict";\n' + "\n".join(map(_as_function, modules))


def _as_function(name: str) -> str:
    written = (files(__package__) / f"{name}.js").read_text(encoding="utf-8")
    written = _COMMENT.sub("", written)
    exported = ", ".join(_EXPORT.findall(written))
    inside = _EXPORT.sub("", _IMPORT.sub(r"const \1 = from_\2;", written)).rstrip()
    return f"const from_{name} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();"
