"""Templates of pages and their scripts, and the page of the app."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from headlight.views.colour import (
    isolated,
    ramp_rules,
    ramp_variables,
    series_rules,
    series_variables,
)
from headlight.views.provenance import INTERVAL, model_name, sentences_of, short_sentence

# What could end a script element or start a comment in it, and the two line ends that JSON allows
# in strings and older scripts do not.
_UNSAFE = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


# A script that runs, of which only those that stand in the page when it is made may run.
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_HASHES = "{script-hashes}"
_HEAD = re.compile(r"\b(?:(?:encoder|decoder|cross) )?L\d+H\d+\b")


def render(template: str, **values: object) -> str:
    """A page from ``templates/``, which runs no scripts but those that are in it now."""
    text = _environment().get_template(template).render(script_hashes=_HASHES, **values)
    return text.replace(_HASHES, script_hashes(text) or "'none'", 1)


def fragment(template: str, **values: object) -> Markup:
    """A part of a page, from a template of its own."""
    return Markup(_environment().get_template(template).render(**values))


def script_hashes(text: str) -> str:
    """The scripts of a page, as a Content-Security-Policy names them."""
    digests = (sha256(script.encode()).digest() for script in _SCRIPT.findall(text))
    return " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)


def brief(text: str, *, linked: bool = False) -> Markup:
    """Return a finding without its intervals; the whole stands in its title.

    Args:
        text: one or more sentences.
        linked: keep the `claim` alone.
    """
    short = claim(text) if linked else escape(INTERVAL.sub("", text))
    return short if short == text else Markup('<span title="{}">{}</span>').format(text, short)


def claim(text: str) -> Markup:
    """Return the first sentence of a finding, and a second about a head; names lead to heads."""
    first, *more = (INTERVAL.sub("", each) for each in sentences_of(text))
    parts = [Markup("<b>{}</b>").format(short_sentence(first)), *filter(_HEAD.search, more[:1])]
    return Markup(_HEAD.sub(_link, Markup(" ").join(parts)))


def _link(name: re.Match[str]) -> str:
    return f'<a href="#{name[0].replace(" ", "-")}">{name[0]}</a>'


def embedded(value: object) -> Markup:
    """A value as compact JSON that is safe inside a script element."""
    return embedded_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def embedded_text(text: str) -> Markup:
    """JSON that is already written, made safe inside a script element."""
    return Markup(text.translate(_UNSAFE))


def source(name: str) -> Markup:
    """A style sheet or script of ours, as it is written."""
    folder = files("headlight.views") / "templates"
    return Markup((folder / name).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("headlight.views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["model_name"] = model_name
    environment.filters["isolated"] = isolated
    environment.filters["brief"] = brief
    environment.filters["short"] = short_sentence
    environment.filters["claim"] = claim
    environment.globals.update(
        source=source,
        series_variables=lambda theme: Markup(series_variables(theme)),
        series_rules=lambda: Markup(series_rules()),
        ramp_variables=lambda theme: Markup(ramp_variables(theme)),
        ramp_rules=lambda: Markup(ramp_rules()),
    )
    return environment


MODULES = (
    *("bytes", "host", "numbers", "state", "units", "colours", "measures", "overview", "panels"),
    *(
        "text",
        "links",
        "layer_lines",
        "svg",
        "head_numbers",
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


@cache
def joined_script(modules: tuple[str, ...] = MODULES) -> str:
    """Modules as one script: each is a function that gives what it exports.

    Comments that have lines of their own stay out, which is a tenth of it.
    """
    return '"use strict";\n' + "\n".join(map(_as_function, modules))


def _as_function(name: str) -> str:
    written = (files(__package__) / "script" / f"{name}.js").read_text(encoding="utf-8")
    written = _COMMENT.sub("", written)
    exported = ", ".join(_EXPORT.findall(written))
    inside = _EXPORT.sub("", _IMPORT.sub(r"const \1 = from_\2;", written)).rstrip()
    return f"const from_{name} = (() => {{\n{inside}\nreturn {{ {exported} }};\n}})();"


APP_MODULES = ("frame", "app")


def app_page(
    model: str,
    *,
    other: str | None = None,
    can: Iterable[str],
    decoder: bool,
    generates: bool,
    sees: bool = False,
    pictures: bool = False,
) -> str:
    """The page on which a text is typed; it holds nothing that is secret.

    Args:
        model: its name.
        other: the name of the model that it can be compared with, if there is one.
        can: functions that the view may ask for.
        decoder: whether the second text is that of a decoder.
        generates: whether the model can go on with a text.
        sees: whether the model reads pictures alone.
        pictures: whether it reads pictures at all.
    """
    script = Markup(joined_script(APP_MODULES))
    title = "Read a text"
    return render(
        "app.html",
        title=title,
        model=model,
        other=other,
        can=can,
        decoder=decoder,
        generates=generates,
        sees=sees,
        pictures=pictures,
        script=script,
    )


def app_policy(page: str) -> str:
    """Return the permissions of the page, as the value of a Content-Security-Policy.

    Its scripts and those of the view may run, which stands in a frame that the same rules hold for.
    """
    view = script_hashes(f"<script>\n{joined_script()}\n</script>")
    return (
        f"default-src 'none'; script-src {script_hashes(page)} {view}; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
