"""The other distributions of this project and their contents, whether installed or not."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Distribution of this project other than headlight-attention, and its contents by name.

    Attributes:
        extra: Extra of headlight-attention that installs it.
        studies: Names of its studies.
        commands: Names of its commands besides those of studies.
        questions: Names of its questions.
        formats: Names of its file formats.
        models: Names of its embedded models, whose folders its package has in `EMBEDDED_MODELS`.
    """

    extra: str
    studies: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return its name in a package index."""
        return f"headlight-{self.extra}"

    @property
    def package(self) -> str:
        """Return the name of its Python package."""
        return f"headlight_{self.extra}"

    @property
    def contents(self) -> tuple[str, ...]:
        """Return the names of its studies and commands."""
        return (*self.studies, *self.commands)

    def refusal(self, what: str) -> str:
        """Return a refusal of something that needs this distribution.

        Args:
            what: Name of the missing study, command or model.
        """
        return (
            f"{what} is part of {self.name}, which is not installed; "
            f"pip install 'headlight-attention[{self.extra}]'."
        )


DISTRIBUTIONS: Mapping[str, Distribution] = {
    distribution.extra: distribution
    for distribution in (
        Distribution(
            extra="words",
            studies=("alignment", "coreference", "dependency", "parser_probes"),
            commands=("aer", "align"),
            questions=("align",),
            formats=("translations",),
            models=("headlight-translator",),
        ),
        Distribution(
            extra="papers",
            studies=(
                "adversary",
                "attribution",
                "guided",
                "instance_adversary",
                "permutation",
                "token_identity",
            ),
            commands=("reproduce",),
        ),
    )
}
"""Distributions by extra, in the order of their dependencies.

A test compares the names with the entry points.
"""

IN_OTHER_DISTRIBUTIONS: Mapping[str, Distribution] = {
    name: distribution for distribution in DISTRIBUTIONS.values() for name in distribution.contents
}
"""Distributions by the names of their studies and commands."""

PACKAGES = frozenset(distribution.package for distribution in DISTRIBUTIONS.values())
"""Packages of the other distributions."""
