"""Links between the words of a sentence and those of its translation.

`open_links` reads them, `LinkWriter` writes them, `symmetrized` joins those of two directions,
`score_links` compares them with a `Gold`, and `baseline_links` has them made by other
aligners.  Words are counted from 0, and a link is a word of the source and one of the target.
"""

from headlight_words.links.aligners import (
    Aligner,
    Directions,
    LinkWriter,
    Symmetrization,
    baseline_links,
    symmetrized,
)
from headlight_words.links.error_rate import (
    COUNTS,
    RATES,
    FormatWarning,
    LinkCounts,
    LinkScore,
    check_format,
    demand_words,
    link_rate_slots,
    link_rates,
    score_links,
)
from headlight_words.links.link_lines import (
    LINK_FORMATS,
    Gold,
    Link,
    LinkFormat,
    Links,
    Scores,
    links_signature,
    open_links,
    swapped,
)

__all__ = [
    "COUNTS",
    "LINK_FORMATS",
    "RATES",
    "Aligner",
    "Directions",
    "FormatWarning",
    "Gold",
    "Link",
    "LinkCounts",
    "LinkFormat",
    "LinkScore",
    "LinkWriter",
    "Links",
    "Scores",
    "Symmetrization",
    "baseline_links",
    "check_format",
    "demand_words",
    "link_rate_slots",
    "link_rates",
    "links_signature",
    "open_links",
    "score_links",
    "swapped",
    "symmetrized",
]
