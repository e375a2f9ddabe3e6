"""What input tokens contribute, computed before a batch is observed and handed over with it."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from headlight.attribution_settings import AttributionSettings
from headlight.capture import AttentionSite, Kind, LayerRecord
from headlight.capture.attribution import Attribution
from headlight.errors import UsageError
from headlight.measures import ATTRIBUTION


def required_attribution(
    measures: Sequence[str], settings: AttributionSettings | None
) -> AttributionSettings | None:
    """How contributions are computed if they are among the measures; else None."""
    return (settings or AttributionSettings()) if ATTRIBUTION in measures else None


def attribution_signature(settings: AttributionSettings | None) -> dict[str, Any] | None:
    """What contributions depend on, as JSON; how much memory they take is left out."""
    if settings is None:
        return None
    return {name: value for name, value in asdict(settings).items() if name != "memory"}


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
