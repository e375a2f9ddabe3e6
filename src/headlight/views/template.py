"""Templates of pages, and the scripts that may run in them."""

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from headlight.views.colours import ramp_rules, ramp_variables, series_rules, series_variables
from headlight.views.sentences import claim, short_sentence, whole
from headlight.views.titles import isolated, isolated_quotes, model_name

# Characters that could end a script element or start a comment in it, and the two line ends that
# JSON allows in strings and older scripts do not.
_UNSAFE = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)

# Scripts of a page; only those that stand in it when it is made may run.
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_HASHES = "{script-hashes}"


def render(template: str, **values: object) -> str:
    """Return a page from ``templates/``, which runs no scripts but those that are in it now."""
    text = _environment().get_template(template).render(script_hashes=_HASHES, **values)
    # The first place alone, which is that of the policy: texts of users may hold the same words.
    return text.replace(_HASHES, script_hashes(text) or "'none'", 1)


def fragment(template: str, **values: object) -> Markup:
    """Return a part of a page, from a template of its own."""
    return Markup(_environment().get_template(template).render(**values))


def script_hashes(text: str) -> str:
    """Return the scripts of a page, as a Content-Security-Policy names them."""
    digests = (sha256(script.encode()).digest() for script in _SCRIPT.findall(text))
    return " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)


def embedded(value: object) -> Markup:
    """Return a value as compact JSON that is safe inside a script element."""
    return embedded_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def embedded_text(text: str) -> Markup:
    """Return JSON that is already written, made safe inside a script element."""
    return Markup(text.translate(_UNSAFE))


def source(name: str) -> Markup:
    """Return a style sheet or script of ours, as it is written."""
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
    environment.filters["isolated_quotes"] = isolated_quotes
    environment.filters["whole"] = whole
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
