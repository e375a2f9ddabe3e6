"""Links between the words of a sentence and those of its translation.

`open_links` reads them, `LinkWriter` writes them, `symmetrized` puts those of two directions
together, `score_links` compares them with a `Gold`, and `baseline_links` has them made by other
aligners.  Words are counted from 0, and a link is a word of the source and one of the target.
"""

from headlight.links.aligners import Aligner, Directions, baseline_links
from headlight.links.error_rate import (
    COUNTS,
    RATES,
    LinkCounts,
    LinkScore,
    link_rate_slots,
    link_rates,
    score_links,
)
from headlight.links.format_warnings import FormatWarning, check_format, demand_words
from headlight.links.link_corpus import LINK_FORMATS, links_signature, open_links
from headlight.links.link_lines import LinkFormat
from headlight.links.symmetrization import Symmetrization, symmetrized
from headlight.links.word_links import Gold, Link, Links, Scores, swapped
from headlight.links.writing import LinkWriter

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
