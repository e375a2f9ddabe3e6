"""What input tokens contribute, computed before a batch is observed and handed over with it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from headlight.capture import AttentionSite, Kind, LayerRecord
from headlight.capture.attribution import Attribution
from headlight.errors import UsageError


def kind_of(sites: Sequence[AttentionSite]) -> Kind:
    """The kind of attention that the sites have.

    Raises:
        UsageError: there are several, or no site.
    """
    kinds = {site.kind for site in sites}
    if len(kinds) != 1:
        raise UsageError(
            "contributions are those of one kind of attention at a time; observe the sites of "
            f"one kind, not of {len(kinds)}."
        )
    return kinds.pop()


def with_contributions(
    visit: Callable[[LayerRecord], object], found: Attribution
) -> Callable[[LayerRecord], None]:
    """A visit by records that hold the contributions to the output of their block."""

    def visit_with(record: LayerRecord) -> None:
        visit(replace(record, attribution=found.contribution[record.site.layer]))

    return visit_with
