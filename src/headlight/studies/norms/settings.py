"""What a study of norms looks at besides what every survey does."""

from dataclasses import dataclass

from headlight.errors import UnknownNameError, UsageError

LOOKS = ("auto", "on", "off")


@dataclass(frozen=True, kw_only=True)
class NormOptions:
    """Options of a study of norms; its result depends on all of them.

    Attributes:
        sinks: whether attention sinks are looked for and get a category of their own: ``on``,
            ``off``, or ``auto``, which is on where the model has no class and separator tokens, or
            looks only at what came before.
        sink_multiple: a sink receives at least so many times what it would if attention were even.
        sink_share: so it is in at least this share of all heads.
        sink_documents: sinks are looked for in so many of the first examples.
        sink_occurrences: a type that occurs less often in these is not judged.
        sample: pairs of positions that are kept for every category of keys, and occurrences of
            tokens, for pictures.
    """

    sinks: str = "auto"
    sink_multiple: float = 5.0
    sink_share: float = 0.25
    sink_documents: int = 64
    sink_occurrences: int = 4
    sample: int = 2_000

    def __post_init__(self) -> None:
        if self.sinks not in LOOKS:
            raise UnknownNameError("way to look for sinks", self.sinks, LOOKS)
        if not self.sink_multiple > 1:
            raise UsageError(f"sink_multiple must be above 1, not {self.sink_multiple}.")
        if not 0 < self.sink_share <= 1:
            raise UsageError(f"sink_share must be above 0 and at most 1, not {self.sink_share}.")
        for name in ("sink_documents", "sink_occurrences", "sample"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}.")
