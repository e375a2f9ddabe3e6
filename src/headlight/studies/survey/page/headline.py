"""Headline of a survey: its first finding, and the pictures that show just that."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headlight.catalogue import Statistic, statistic_table
from headlight.catalogue.statistics import KEY_CLASSES
from headlight.findings import Highlight, highlights, name_of
from headlight.findings.candidates import candidates
from headlight.findings.estimates import Estimate
from headlight.findings.phrases import percent
from headlight.findings.statistics import numbers_of, row_label, row_target
from headlight.findings.survey import survey
from headlight.findings.token_names import pieces_of
from headlight.findings.variables import observed
from headlight.findings.what_was_read import what_was_read
from headlight.studies.survey.page.effective_attention import correlation_section
from headlight.studies.survey.page.entropy import entropy_section
from headlight.studies.survey.page.highlighted_heads import passage_block
from headlight.studies.survey.page.massive_activations import residual_section
from headlight.studies.survey.page.shares import shares_section, weight_against_norm
from headlight.views.headline import BarList, Block, Headline, value_bars
from headlight.views.number_formats import two_decimals
from headlight.views.parts import Drawing
from headlight.views.passages import NO_PAGES, PassagePages
from headlight.views.sentences import sentences_of, short_sentence
from headlight.views.titles import Subject
from headlight.vocabulary import NUMBERING, WEIGHT_AND_NORM

MOST_HEADS = 8
"""Number of heads of a list of bars."""

_LOWEST = {"narrow", "effective", "gate"}
"""Topics of which the heads with the lowest numbers are named."""

_SECTIONS = {
    "massive activations": residual_section,
    "length": correlation_section,
    "breadth from cls": entropy_section,
}
"""Sections whose pictures show the topics that are about no statistic of heads."""


def headline(result: xr.Dataset, pages: PassagePages = NO_PAGES) -> Headline:
    """Return the first finding of a survey as a title, and what shows it.

    Args:
        result: Survey of one kind of attention.
        pages: Pages of texts from which passages are shown.
    """
    conclusive = [shown for shown in highlights(result) if shown.kind != "inconclusive"]
    read = sentences_of(what_was_read(result).sentence)[:1]
    pictures: Sequence[BarList | Block | Drawing] = shares_section(result).drawings[:1]
    if conclusive:
        passage = passage_block(result, conclusive[0], pages)
        pictures = [*finding_pictures(result, conclusive[0]), *([passage] if passage else [])]
    title = short_sentence(survey(result)[0])
    terms = [WEIGHT_AND_NORM] if "weight" in title and "norm" in title else []
    return Headline(
        title=title,
        read=" ".join([f"{Subject.from_result(result)}.", *read, *terms]),
        pictures=pictures,
        kind="what all heads do · survey",
        opened=("highlights", "grid"),
    )


def finding_pictures(result: xr.Dataset, first: Highlight) -> list[BarList | Drawing]:
    """Return the pictures that show just a finding, at least one.

    Args:
        result: Survey of one kind of attention.
        first: Highlight of the survey.
    """
    if first.kind in _SECTIONS:
        return list(_SECTIONS[first.kind](result).drawings[:1])
    if first.kind == "particular tokens":
        return [_tokens(result, first)]
    row = next((row for row in statistic_table() if row.name == first.question), None)
    if row is None or not np.isfinite(numbers_of(result, row, first.measure).value).any():
        return list(shares_section(result).drawings[:1])
    if row.name in KEY_CLASSES and _has_both(result, row):
        return [_weight_beside_norm(result, first, row), *weight_against_norm(result, [first])]
    return [_heads(result, first, row)]


def _has_both(result: xr.Dataset, row: Statistic) -> bool:
    both = (numbers_of(result, row, measure).value for measure in ("weight", "norm"))
    return all(np.isfinite(values).any() for values in both)


def _weight_beside_norm(result: xr.Dataset, first: Highlight, row: Statistic) -> BarList:
    """Return the share of a kind of token by weight and by norm, of a head and of all heads."""
    weight, norm = (numbers_of(result, row, measure) for measure in ("weight", "norm"))
    everyone, name = f"all {_number_of_heads(weight)} heads", ""
    if first.layer is not None and first.head is not None:
        name = name_of(result, first.layer, first.head)
    if name and name in short_sentence(first.text):
        at = (result["layer"].values.tolist().index(first.layer), first.head)
        shares = [
            ("by weight: it looks", weight.at(at), "weight"),
            ("by norm: it takes", norm.at(at), "norm"),
        ]
        means = [
            (f"{everyone}, by weight", weight.mean(), "weight"),
            (f"{everyone}, by norm", norm.mean(), "norm"),
        ]
        who = f"{name}'s attention"
    else:
        shares = [
            ("by weight: they look", weight.mean(), "weight"),
            ("by norm: they take", norm.mean(), "norm"),
        ]
        means, who = [], f"the attention of {everyone}"
    rows = [*shares, *means]
    bars = value_bars(
        {label: float(share.value) for label, share, _ in rows},
        percent,
        [label for label, *_ in means],
        {label: series for label, _, series in rows},
    )
    return BarList(f"How much of {who} goes to {row_target(result, row)}", bars, NUMBERING)


def _heads(result: xr.Dataset, first: Highlight, row: Statistic) -> BarList:
    """Return the heads with most of a statistic, or least, beside the mean of all heads."""
    sign = -1.0 if first.kind in _LOWEST else 1.0
    numbers = numbers_of(result, row, first.measure)
    ranked = candidates(result, row, first.measure) if row.target else numbers
    order = np.argsort(-sign * ranked.value, axis=None, kind="stable")  # NaN comes last
    known = [at for at in order.tolist() if np.isfinite(ranked.value.flat[at])][:MOST_HEADS]
    layers, heads = result["layer"].values.tolist(), numbers.value.shape[1]
    values = {
        name_of(result, layers[at // heads], at % heads): float(numbers.value.flat[at])
        for at in known
    }
    mean = f"mean of all {_number_of_heads(numbers)} heads"
    values[mean] = float(numbers.mean().value)
    write = percent if row.unit == "share" else two_decimals
    bars = value_bars(values, write, [mean], first.measure or row.about or "weight")
    share = f"Share of a head's {first.measure} that goes to"
    title = f"{share} {row_target(result, row)}" if row.target else row_label(result, row)
    return BarList(f"{title[0].upper()}{title[1:]}", bars, NUMBERING)


def _tokens(result: xr.Dataset, first: Highlight) -> BarList:
    """Return the tokens that a head gives most to."""
    where = {"side": "key", "measure": first.measure, "layer": first.layer, "head": first.head}
    head = result.sel(where)
    shares = observed(head, "top_token_share", ("top",))
    tokens = [piece.label for piece in pieces_of(head, "top_token")]
    order = [at for at in np.argsort(-shares).tolist() if np.isfinite(shares[at])][:MOST_HEADS]
    bars = value_bars([(f"“{tokens[at]}”", float(shares[at])) for at in order], percent)
    name = name_of(result, int(first.layer or 0), int(first.head or 0))
    return BarList(f"Tokens that {name} gives most of its {first.measure}", bars, NUMBERING)


def _number_of_heads(numbers: Estimate) -> int:
    return int(np.isfinite(numbers.value).sum())
