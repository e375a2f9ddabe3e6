"""Comparison of a published number and ours."""

import math
from dataclasses import dataclass

from headlight.views.number_formats import MINUS, MISSING


@dataclass(frozen=True, slots=True)
class Comparison:
    """Number of a paper and ours.

    Attributes:
        quantity: Quantity compared, e.g. ``dobj, best head``.
        published: Value of the paper; text such as ``8-10`` where it is no number, None for none.
        ours: Our value, in the same unit; None where it could not be computed.
        unit: Unit of both values, e.g. ``%`` or ``nats``.
        note: Facts that a reader needs to compare the two.
        digits: Decimals of our value and of the difference.
    """

    quantity: str
    published: float | int | str | None
    ours: float | int | str | None
    unit: str = ""
    note: str = ""
    digits: int = 1

    @property
    def difference(self) -> float | None:
        """Ours minus the published value, where both are finite numbers."""
        if isinstance(self.published, str | None) or isinstance(self.ours, str | None):
            return None
        difference = float(self.ours) - float(self.published)
        return difference if math.isfinite(difference) else None

    @property
    def texts(self) -> tuple[str, str, str]:
        """Published value, ours and the difference, as they are shown."""
        difference = self.difference
        return (
            self._written(self.published, "g"),
            self._written(self.ours, f".{self.digits}f"),
            MISSING if difference is None else self._signed(difference),
        )

    def _signed(self, difference: float) -> str:
        rounded = round(difference, self.digits)
        return f"{rounded:+.{self.digits}f}".replace("-", MINUS) if rounded else "0"

    def _written(self, value: float | int | str | None, format: str) -> str:
        if isinstance(value, str):
            return value
        if value is None or math.isnan(value):
            return MISSING
        text = f"{value:{format}}".replace("-", MINUS)
        return f"{text}{self.unit}" if self.unit in ("", "%") else f"{text}\u00a0{self.unit}"
