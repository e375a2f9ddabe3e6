"""Maximal length of an example in tokens: as set, or customary for what the model takes."""

from headlight.capture import CapturedModel
from headlight.errors import UsageError, setting
from headlight.study_settings.models import ModelSettings

LONGEST_DEFAULT = 512
"""Maximum number of tokens of an example, where a model takes more and no length is set."""

PAIR_LENGTH = 128
"""Tokens of adjacent segments, as Clark et al. (2019) cut them."""


def choose_length(model: CapturedModel, asked: int | None, most: int = LONGEST_DEFAULT) -> int:
    """Return the maximal number of tokens of an example: as set, or customary for the model.

    Raises:
        UsageError: the model takes fewer.
    """
    longest = model.longest
    length = asked if asked is not None else min(most, longest or most)
    if longest is not None and length > longest:
        raise UsageError(
            f"{setting('max_length')} is {length}, and {model} takes at most {longest} "
            "tokens; allow fewer."
        )
    return length


def text_length(model: CapturedModel, settings: ModelSettings) -> int:
    """Return the maximal number of tokens of a text, or of two segments; see `choose_length`.

    Raises:
        UsageError: the model takes fewer than are set.
    """
    most = PAIR_LENGTH if getattr(settings, "pairs", False) else LONGEST_DEFAULT
    return choose_length(model, getattr(settings, "max_length", None), most)
