"""Edits of the attention of a text; checked, also those that a browser sends."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.errors import UsageError
from headlight.settings import AtLeast0, Range, Settings

Change = Literal["remove", "uniform", "first", "separator", "previous", "weights", "alternative"]
"""What becomes of rows of attention."""

CHANGES: tuple[Change, ...] = (
    "remove", "uniform", "first", "separator", "previous", "weights", "alternative",
)  # fmt: skip

Share = Annotated[float, Range(minimum=0, maximum=1)]

MOST = 64
"""Edits at once."""


@dataclass(frozen=True, kw_only=True)
class Edit(Settings):
    """A change of the rows of one head, or of all heads of a layer.

    Keys that a query cannot see stay at 0, and a row keeps its sum, but for those that are removed.

    Attributes:
        layer: from 0.
        head: from 0; None for all heads of the layer.
        query: the row that changes, by position; None for all rows.
        change: ``remove``: weights of zero; ``uniform``: the same weight on every key; ``first``:
            all weight on the first key; ``separator``: all weight on the separators ([SEP]), in
            equal parts; ``previous``: all weight on the token before; ``weights``: those that are
            given; ``alternative``: other weights of the same output, from the null space of the
            head.  A row without such a key stays as it is.
        weights: of all keys, for one row; they are divided by their sum.
    """

    layer: AtLeast0
    head: AtLeast0 | None = None
    query: AtLeast0 | None = None
    change: Change = "remove"
    weights: tuple[Share, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.change == "weights") != (self.weights is not None):
            raise UsageError(
                f"the change is {self.change}, and weights are "
                f"{'not given' if self.weights is None else 'given'}; give them with the change "
                "weights alone."
            )
        if self.weights is not None and (self.query is None or not sum(self.weights) > 0):
            raise UsageError("weights are those of one row; name its query, and give some above 0.")
        if self.change == "alternative" and self.head is None:
            raise UsageError("an alternative is one of a head; name the head.")


def edits_of(given: object) -> tuple[Edit, ...]:
    """Edits that came as JSON, from nobody who can be trusted.

    Args:
        given: a list of objects with the fields of `Edit`.

    Raises:
        UsageError: it is none, there are too many, or something in it is not as it should be.
        UnknownNameError: a field or a change is unknown.
    """
    if not isinstance(given, list) or not 1 <= len(given) <= MOST:
        raise UsageError(f"edits are a list of 1 to {MOST} objects; give such a list.")
    for each in given:
        if not isinstance(each, Mapping) or type(each.get("layer")) is not int:
            raise UsageError("an edit is an object with a layer, which is a number from 0; add it.")
        weights = each.get("weights")
        if weights is not None and not _all_numbers(weights):
            raise UsageError(
                "weights are a list of numbers from 0 to 1, one for each key; give it."
            )
    return tuple(Edit.from_mapping(each) for each in given)


def _all_numbers(given: object) -> bool:
    return isinstance(given, list) and all(type(each) in (int, float) for each in given)
