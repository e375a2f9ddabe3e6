"""Names of heads as papers print them: layer and head from 1, ``8-10``."""

import numpy as np


def head_name(layer: int, head: int) -> str:
    """The paper's name of a head that counts from 0 here."""
    return f"{layer + 1}-{head + 1}"


def percent(share: float) -> float | None:
    """A share in percent; None where nothing was observed."""
    return None if np.isnan(share) else 100 * float(share)


def in_words(names: list[str], most: int = 12) -> str:
    """``1-1, 2-3 and 2-4``; a long list is cut, and says how long it was."""
    if not names:
        return "none"
    shown = names[:most]
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown) + rest
