"""What a study of contributions looks at besides what every survey does."""

from dataclasses import dataclass

from headlight.errors import UnknownNameError, UsageError

TAGS = ("upos", "xpos")
UNITS = ("pieces", "words")


@dataclass(frozen=True, kw_only=True)
class ContributionOptions:
    """Options of a study of contributions; its result depends on all of them.

    Attributes:
        reach: relative positions are told apart from so many before a token to so many after it.
        tags: tell tokens apart by part of speech: ``upos`` or ``xpos`` of treebank sentences; None
            for texts without.
        units: what has a part of speech: the ``pieces`` of a word each on its own, or whole
            ``words``, of which contributions are the mean over the pieces of the hidden word and
            the sum over those of the input word.
        exact: so many examples are also computed exactly, to say how good the estimate is; nothing
            where all are exact.
        exact_tokens: those are the first of at most so many tokens: what is exact takes a time
            that grows with the square of the length.
    """

    reach: int = 64
    tags: str | None = None
    units: str = "pieces"
    exact: int = 20
    exact_tokens: int = 40

    def __post_init__(self) -> None:
        if self.tags is not None and self.tags not in TAGS:
            raise UnknownNameError("kind of tags", self.tags, TAGS)
        if self.units not in UNITS:
            raise UnknownNameError("kind of units", self.units, UNITS)
        if self.reach < 1:
            raise UsageError(f"reach must be at least 1, not {self.reach}.")
        if self.exact_tokens < 1:
            raise UsageError(f"exact_tokens must be at least 1, not {self.exact_tokens}.")
        if self.exact < 0:
            raise UsageError(f"exact must be at least 0, not {self.exact}.")
