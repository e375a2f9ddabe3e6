"""Pages from templates: everything put into one is escaped, and one file holds all of it."""

import json
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from headlight.views.colour import ramp_rules, ramp_variables, series_rules, series_variables

# What could end a script element or start a comment in it, and the two line ends that JSON allows
# in strings and older scripts do not.
_UNSAFE = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def render(template: str, **values: object) -> str:
    """A page from ``templates/``."""
    return _environment().get_template(template).render(**values)


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
    environment.globals.update(
        source=source,
        series_variables=lambda theme: Markup(series_variables(theme)),
        series_rules=lambda: Markup(series_rules()),
        ramp_variables=lambda theme: Markup(ramp_variables(theme)),
        ramp_rules=lambda: Markup(ramp_rules()),
    )
    return environment
