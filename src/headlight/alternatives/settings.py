"""Which alternatives are looked for."""

from dataclasses import dataclass

from headlight.errors import UnknownNameError, UsageError

METHODS = ("random", "farthest")
PRECISIONS = ("model", "float64")


@dataclass(frozen=True, kw_only=True)
class AlternativeSettings:
    """Which alternatives are looked for.

    Attributes:
        method: ``random``: along a random direction of LN([T, 1]), Eq. 7 of the paper; or
            ``farthest``: the largest total variation that repeated linear programs find, which
            needs scipy.
        distance: how far to go, as a share of the way to the end: of λ_max, or to the farthest;
            above 0 and at most 1.
        total_variation: go to this total variation in every row instead, or to the end where that
            is nearer; above 0 and at most 1.
        queries: rows that change, by position; by default all.
        starts: of the search for the farthest, at least; the best are kept.
        certify: also bound the total variation tightly, by two linear programs per key and row.
        precision: that of the ``model``, or ``float64`` for a copy of the model in it, in which
            equal outputs are equal to some 1e-12, unless the model takes its softmax in float32
            all the same.
        seed: of the directions.
    """

    method: str = "random"
    distance: float = 1.0
    total_variation: float | None = None
    queries: tuple[int, ...] | None = None
    starts: int = 4
    certify: bool = False
    precision: str = "model"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownNameError("way to find alternatives", self.method, METHODS)
        if self.precision not in PRECISIONS:
            raise UnknownNameError("precision of alternatives", self.precision, PRECISIONS)
        if not 0 < self.distance <= 1:
            raise UsageError(f"distance must be above 0 and at most 1, not {self.distance}.")
        if self.total_variation is not None and not 0 < self.total_variation <= 1:
            raise UsageError(
                f"total_variation must be above 0 and at most 1, not {self.total_variation}."
            )
        if self.starts < 1 or self.seed < 0:
            raise UsageError(
                f"starts must be at least 1 and seed at least 0, not {self.starts} and {self.seed}."
            )
