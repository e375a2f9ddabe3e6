"""HTML and SVG elements whose text and attributes are always escaped."""

from unicodedata import bidirectional

from markupsafe import Markup, escape


def element(name: str, *children: object, **attributes: object) -> Markup:
    """One element.

    Args:
        name: Tag name.
        children: Text, which is escaped, or ``Markup``, which is not.
        attributes: Underscores become hyphens (``class_`` is ``class``); None leaves one out;
            numbers are written with at most two decimals.
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _plain(value))
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, inner)


def isolated(text: str) -> str:
    """Return the text with marks that keep its direction to itself, if it runs right to left."""
    runs_left = any(bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if runs_left else text


def joined(parts: list[Markup]) -> Markup:
    """Elements one after the other."""
    return Markup("\n").join(parts)


def number(value: float) -> str:
    """A coordinate with at most two decimals: ``12.5``, ``3``."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _plain(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
