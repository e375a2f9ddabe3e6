"""Other distributions of this project and their contents; any may not be installed."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Distribution beside this one, and the names that it brings by its entry points.

    Attributes:
        extra: Its name among the extras of headlight-attention.
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
        """Return the name by which installers know it."""
        return f"headlight-{self.extra}"

    @property
    def package(self) -> str:
        """Return the name of the package that it installs."""
        return f"headlight_{self.extra}"

    @property
    def contents(self) -> tuple[str, ...]:
        """Return the names of its studies and commands."""
        return (*self.studies, *self.commands)

    def refusal(self, what: str) -> str:
        """Return a sentence that something needs this distribution, and how it is installed."""
        return (
            f"{what} is part of {self.name}, which is not installed; "
            f"pip install 'headlight-attention[{self.extra}]'."
        )


DISTRIBUTIONS: Mapping[str, Distribution] = {
    each.extra: each
    for each in (
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
"""Distributions by extra, each after those that it depends on.

A test compares the names with the entry points.
"""

IN_OTHER_DISTRIBUTIONS: Mapping[str, Distribution] = {
    name: each for each in DISTRIBUTIONS.values() for name in each.contents
}
"""Distributions by the names of their studies and commands."""

PACKAGES = frozenset(each.package for each in DISTRIBUTIONS.values())
"""Packages of the other distributions."""
