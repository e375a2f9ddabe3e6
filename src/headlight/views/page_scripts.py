"""Scripts of pages, each joined from its modules."""

import re
from functools import cache
from importlib.resources import files

MODULES = (
    *("bytes", "host", "numbers", "state", "units", "colours", "measures", "overview", "panels"),
    *(
        "text",
        "links",
        "layer_lines",
        "svg",
        "head_numbers",
        "messages",
        "over_picture",
        "bars",
        "layers",
        "export",
        "what_if",
        "main",
    ),
)
"""Modules of the view, in an order in which each stands after those that it imports."""

HEADS = ("bytes", "svg", "head_numbers", "head_card", "head_scatter", "head_pages", "report_heads")
"""Modules of single heads in the report of a survey."""

GALLERY = ("svg", "head_numbers", "head_scatter", "gallery_data", "gallery_search", "gallery")
"""Modules of the first page of a gallery."""

GALLERY_MODEL = (
    *("svg", "head_numbers", "head_card", "head_scatter"),
    *("head_pages", "gallery_data", "gallery_model"),
)
"""Modules of the page of one model in a gallery."""

_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_COMMENT = re.compile(r"^ *(?://[^\n]*|/\*\*.*?\*/ *)\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(?:const|async function|function) (\w+))", re.MULTILINE)


# One script and no modules: a page that is opened from disk may not import files.
@cache
def joined_script(modules: tuple[str, ...] = MODULES) -> str:
    """Join modules to one script, in which each is a function that returns its exports.

    Comments that have lines of their own, a tenth of the text, are left out.
    """
    return '"use strict";\n' + "\n".join(map(_as_function, modules))


def _as_function(name: str) -> str:
    written = (files(__package__) / "script" / f"{name}.js").read_text(encoding="utf-8")
    written = _COMMENT.sub("", written)
    exported = ", ".join(_EXPORT.findall(written))
    inside = _EXPORT.sub("", _IMPORT.sub(r"const \1 = from_\2;", written)).rstrip()
    return f"const from_{name} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();"
