"""Distributions of this project beside headlight-attention, any of which may not be installed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Distribution:
    """A distribution that stands on headlight-attention and has its version.

    Attributes:
        name: Its name on a package index.
        package: The package that it installs.
        extra: The extra of headlight-attention that installs it.
        contents: Names of its studies and commands.
    """

    name: str
    package: str
    extra: str
    contents: tuple[str, ...]

    def refusal(self, name: str) -> str:
        """Return the sentence that says what to install for a study or a command."""
        return (
            f"{name} is part of {self.name}, which is not installed; "
            f"pip install 'headlight-attention[{self.extra}]'."
        )


WORDS = Distribution("headlight-words", "headlight_words", "words", ())
"""Annotated and parallel text."""

PAPERS = Distribution(
    "headlight-papers",
    "headlight_papers",
    "papers",
    (
        "adversary",
        "attribution",
        "coreference",
        "guided",
        "instance_adversary",
        "parser_probes",
        "permutation",
        "reproduce",
        "token_identity",
    ),
)
"""Papers that are reproduced, and the studies that serve one of them."""

DISTRIBUTIONS = (WORDS, PAPERS)
"""Each stands on those before it."""


def distribution_of(name: str) -> Distribution | None:
    """Return the distribution of a study or a command; None for those of headlight-attention."""
    return next((each for each in DISTRIBUTIONS if name in each.contents), None)
