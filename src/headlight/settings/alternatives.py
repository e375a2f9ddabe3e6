"""Settings of the search for other attention of the same output; without torch."""

from dataclasses import dataclass
from typing import Annotated, Literal

from headlight.settings.base import UNLISTED, AtLeast0, AtLeast1, Range, Settings

Share = Annotated[float, Range(above=0, maximum=1)]


@dataclass(frozen=True, kw_only=True)
class AlternativeSettings(Settings):
    """Settings of the search for alternatives.

    Attributes:
        layer: which layer, from 0.
        head: which head, from 0.
        number: how many alternatives.
        kind: which attention; by default the first that the model has.
        method: ``random``: along a random direction of LN([T, 1]), Eq. 7 of the paper; or
            ``farthest``: the largest total variation that repeated linear programs find.
        distance: how far to go, as a share of the way to the end: of λ_max, or to the farthest;
            above 0 and at most 1.
        queries: rows that change, by position; by default all.
        certify: also bound the total variation tightly, by two linear programs per key and row.
        precision: that of the ``model``, or ``float64`` for a copy of the model in it, in which
            equal outputs are equal to some 1e-12, unless the model takes its softmax in float32
            all the same.
        seed: of the directions.
    """

    layer: AtLeast0 = 0
    head: AtLeast0 = 0
    number: AtLeast1 = 1
    kind: Literal["encoder", "decoder", "cross"] | None = None
    method: Literal["random", "farthest"] = "random"
    distance: Share = 1.0
    queries: tuple[int, ...] | None = None
    certify: Annotated[bool, UNLISTED] = False
    precision: Literal["model", "float64"] = "model"
    seed: AtLeast0 = 0
