"""HTML elements, escaped."""

from markupsafe import Markup, escape


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return one element.

    Args:
        name: Name of the tag.
        children: Text, which is escaped, or ``Markup``, which is not.
        attributes: Attributes by name, in which underscores become hyphens (``class_`` is
            ``class``); None omits the attribute; numbers are written with at most two decimals.
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _plain(value))
        for key, value in attributes.items()
        if value is not None
    )
    inner = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, inner)


def joined(parts: list[Markup]) -> Markup:
    """Return elements one after the other."""
    return Markup("\n").join(parts)


def number(value: float) -> str:
    """Return a coordinate with at most two decimals: ``12.5``, ``3``."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _plain(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
