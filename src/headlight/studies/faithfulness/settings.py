"""Settings of a study of what answers lose with important words."""

from dataclasses import dataclass
from typing import Literal

from headlight.analysis.settings import ClassifierSettings
from headlight.attribution_settings import AttributionSettings
from headlight.errors import UsageError
from headlight.settings import AtLeast1

ImportanceMeasure = Literal[
    "weight", "norm", "effective", "attribution", "gradient_input", "leave_one_out"
]
"""By what words are put in an order."""

Removal = Literal["mask", "delete", "attention"]
"""How a word is taken away."""

Rows = Literal["mean", "first", "last"]
"""Which rows of attention speak for a text."""

RANDOM = "random"
"""The order that knows nothing, beside all measures."""

OF_ATTENTION = ("weight", "norm", "effective")
"""Measures of every head and row."""


@dataclass(frozen=True, kw_only=True)
class FaithfulnessSettings(ClassifierSettings):
    """Everything that the result depends on besides model and texts.

    Attributes:
        measures: by what words are ordered: of attention ``weight``, ``norm`` and ``effective``;
            ``attribution``, what input tokens contribute to hidden ones, which is slow;
            ``gradient_input``, the gradient of the probability times the embedding; and
            ``leave_one_out``, what the probability loses without the word. A random order stands
            beside them.
        removals: how words are taken away: their pieces become the ``mask`` token, are left out
            (``delete``), or cannot be attended to (``attention``).
        rows: which rows of attention speak for the text: the ``mean`` of all, that of the ``first``
            token ([CLS]), or of the ``last``.
        attribution: how contributions are computed, if they are among the measures.
        random_orders: random orders of each text, over which the mean is taken.
    """

    measures: tuple[ImportanceMeasure, ...] = (
        "weight", "norm", "effective", "gradient_input", "leave_one_out",
    )  # fmt: skip
    removals: tuple[Removal, ...] = ("mask",)
    rows: Rows = "mean"
    attribution: AttributionSettings | None = None
    random_orders: AtLeast1 = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("measures", "removals"):
            given = getattr(self, name)
            if not given or len(set(given)) < len(given):
                raise UsageError(f"{name} is {given!r}; name at least one, and each of them once.")

    @property
    def orders(self) -> tuple[str, ...]:
        """All that words are ordered by, the random order last."""
        return (*self.measures, RANDOM)
