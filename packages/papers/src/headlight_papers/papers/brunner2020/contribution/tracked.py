"""Appendix C.4: where single tokens have their context from (Figures 19 to 25)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.corpora import SentencePair
from headlight.settings.attribution import AttributionSettings
from headlight.views.parts import By, Drawing, Map, Section
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.contribution.results import attribution_settings
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set
from headlight_papers.papers.brunner2020.settings import Settings
from headlight_papers.papers.exhibit import exhibit
from headlight_papers.papers.naming import in_words
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import model_note
from headlight_papers.papers.writer import ExhibitWriter

TRACKED = len(published.TRACKED_WORDS)
"""Words that are tracked, besides the class token and the first separator."""


@exhibit(
    "figure-19",
    "Tokens tracked through the layers (Figures 19 to 25)",
    "Brunner et al. (2020), Figures 19 to 25 and Appendix C.4",
    ("pairs",),
)
def figure_19(reproduction: Reproduction[Settings], writer: ExhibitWriter) -> Section:
    """Seven tokens of one pair, tracked through the layers."""
    pair, is_papers = _choose_pair(find_pair_set(reproduction))
    found = load_reading(reproduction, pair)
    tokens = [str(token) for token in found["key_token"].values]
    places = tracked_places(found, published.TRACKED_WORDS if is_papers else ())
    directions = reproduction.settings.directions
    return Section(
        explanation="What every input token contributes to one hidden token, layer by layer. The "
        "token's own contribution is framed; colours are those of the others, and reach as far as "
        "the largest of them.",
        drawings=[_draw(writer, found, tokens, place) for place in places],
        tables=[
            writer.table(
                _largest(found, tokens, places), "The three others that contribute most, in percent"
            )
        ],
        notes=[
            model_note(reproduction),
            "The pair is the paper's own."
            if is_papers
            else f"The paper's pair is not among those given; this is the first, {pair.name}.",
            "Contributions are computed exactly."
            if reproduction.settings.exact_pairs
            else f"Contributions are estimated from {directions} random directions.",
        ],
    )


def _choose_pair(pairs: PairSet) -> tuple[SentencePair, bool]:
    """The pair of the paper if it is there, else the first one; and which of the two it is."""
    first = list(pairs.pairs)
    for pair in first:
        if pair.first.lower().startswith(published.TRACKED_PAIR):
            return pair, True
    return first[0], False


def load_reading(reproduction: Reproduction[Settings], pair: SentencePair) -> xarray.Dataset:
    """Contributions in one pair."""
    chosen = attribution_settings(reproduction)
    if reproduction.settings.exact_pairs:
        chosen["method"] = "exact"
    settings = AttributionSettings(**chosen)

    def make(_: Path) -> xarray.Dataset:
        reading = reproduction.model.read(pair.first, pair.second, attribution=settings)
        return reading.dataset[["attribution"]]

    return reproduction.keep(
        "contributions-tracked",
        "reading",
        make,
        settings=settings.signature(),
        pair=[pair.first, pair.second],
    )


def tracked_places(found: xarray.Dataset, words: tuple[str, ...] = ()) -> list[int]:
    """The class token, words of the first sentence in between, and the first separator.

    Args:
        found: a reading.
        words: those wanted; without, or where one is not there, words at even distances.
    """
    categories = found["key_category"].values.tolist()
    tokens = [str(token).lower() for token in found["key_token"].values]
    ends = [categories.index(name) for name in ("cls", "sep") if name in categories]
    last = categories.index("sep") if "sep" in categories else len(categories)
    whole = list(_whole_words(found, last))
    wanted = [tokens.index(word) for word in words if word in tokens[:last]]
    if len(wanted) < len(words) or not words:
        picked = np.linspace(0, len(whole) - 1, min(TRACKED, len(whole))).round().astype(int)
        wanted = [whole[number] for number in picked]
    return sorted({*ends, *wanted})


def _whole_words(found: xarray.Dataset, last: int) -> Iterator[int]:
    """Places of words of one piece in the first sentence, punctuation left out."""
    words, categories = found["key_word"].values[:last], found["key_category"].values[:last]
    for place, (word, category) in enumerate(zip(words, categories, strict=True)):
        if word >= 0 and category == "other" and (words == word).sum() == 1:
            yield place


def _draw(writer: ExhibitWriter, found: xarray.Dataset, tokens: list[str], place: int) -> Drawing:
    """All input tokens of one hidden token, layer by layer."""
    rows = found["attribution"].isel(query=place).values
    others = np.delete(rows, place, axis=1)
    names = dict(enumerate(tokens))
    of_token = Map(
        "attribution",
        "Contribution to {query}",
        by=By("query", names),
        columns=By("key", names, "input token"),
        scale="attribution",
        limits=(0.0, float(others.max(initial=0.0)) or 1.0),
        format=".0%",
        unit="",
        framed=[(row, place) for row in range(len(rows))],
        annotated=False,
    )
    first = in_words([tokens[key] for key in np.argsort(-_without(rows[-1], place))[:3]])
    numbered = found[["attribution"]].assign_coords(query=list(names), key=list(names))
    return writer.maps(
        numbered.isel(query=[place]),
        of_token,
        caption=f"Where “{tokens[place]}” (place {place}) has its context from.",
        alternative=f"In the last layer mostly from {first}.",
        name=str(place),
    )


def _largest(found: xarray.Dataset, tokens: list[str], places: list[int]) -> pandas.DataFrame:
    """The own contribution and the three largest others, in the first and the last layer."""
    records = []
    for place in places:
        for layer in dict.fromkeys((0, found.sizes["layer"] - 1)):
            row = found["attribution"].isel(query=place, layer=layer).values
            best = np.argsort(-_without(row, place), kind="stable")[:3]
            records.append(
                {
                    "token": tokens[place],
                    "layer": layer + 1,
                    "own": 100 * float(row[place]),
                    "others": ", ".join(f"{tokens[key]} {100 * row[key]:.1f}" for key in best),
                }
            )
    return pandas.DataFrame(records)


def _without(row: np.ndarray, place: int) -> np.ndarray:
    others = row.copy()
    others[place] = -1.0
    return others
