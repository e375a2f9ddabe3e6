"""Figures 19 to 25: tokens tracked through the layers."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.corpora import SentencePair
from headlight.settings.attribution import AttributionSettings
from headlight.views.parts import By, Drawing, Map, Section
from headlight_papers.papers.brunner2020 import Settings, published
from headlight_papers.papers.brunner2020.contribution_results import attribution_settings
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import in_words
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.reproduction import Reproduction

TRACKED = len(published.TRACKED_WORDS)
"""Words that are tracked, besides the class token and the first separator."""


@exhibit("figure-19", "Figures 19 to 25 and Appendix C.4", "pairs")
def figure_19(reproduction: Reproduction[Settings], writer: ExhibitWriter) -> Section:
    """Tokens tracked through the layers (Figures 19 to 25)."""
    pair, is_papers = _choose_pair(find_pair_set(reproduction))
    result = load_reading(reproduction, pair)
    tokens = [str(token) for token in result["key_token"].values]
    places = tracked_places(result, published.TRACKED_WORDS if is_papers else ())
    directions = reproduction.settings.directions
    return Section(
        explanation="What every input token contributes to one hidden token, layer by layer. The "
        "token's own contribution is framed; colours are those of the others, and reach as far as "
        "the largest of them.",
        drawings=[_draw(writer, result, tokens, place) for place in places],
        tables=[
            writer.table(
                _largest(result, tokens, places),
                "The three others that contribute most, in percent",
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
    """Return the pair of the paper if it is there, else the first, and which of both it is."""
    candidates = list(pairs.pairs)
    tracked = (pair for pair in candidates if pair.first.lower().startswith(published.TRACKED_PAIR))
    pair = next(tracked, None)
    return pair or candidates[0], pair is not None


def load_reading(reproduction: Reproduction[Settings], pair: SentencePair) -> xarray.Dataset:
    """Load the contributions in one pair."""
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


def tracked_places(result: xarray.Dataset, words: tuple[str, ...] = ()) -> list[int]:
    """Return the places of the class token, words of the first sentence, and the first separator.

    Args:
        result: Reading of one example.
        words: Requested words; if none, or where one is absent, words at even distances.
    """
    categories = result["key_category"].values.tolist()
    tokens = [str(token).lower() for token in result["key_token"].values]
    ends = [categories.index(name) for name in ("cls", "sep") if name in categories]
    last = categories.index("sep") if "sep" in categories else len(categories)
    whole = list(_whole_words(result, last))
    wanted = [tokens.index(word) for word in words if word in tokens[:last]]
    if len(wanted) < len(words) or not words:
        picked = np.linspace(0, len(whole) - 1, min(TRACKED, len(whole))).round().astype(int)
        wanted = [whole[number] for number in picked]
    return sorted({*ends, *wanted})


def _whole_words(result: xarray.Dataset, last: int) -> Iterator[int]:
    """Return the places of one-piece words in the first sentence, without punctuation."""
    words, categories = result["key_word"].values[:last], result["key_category"].values[:last]
    for place, (word, category) in enumerate(zip(words, categories, strict=True)):
        if word >= 0 and category == "other" and (words == word).sum() == 1:
            yield place


def _draw(writer: ExhibitWriter, result: xarray.Dataset, tokens: list[str], place: int) -> Drawing:
    """Draw the contributions of all input tokens to one hidden token, layer by layer."""
    rows = result["attribution"].isel(query=place).values
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
    numbered = result[["attribution"]].assign_coords(query=list(names), key=list(names))
    return writer.maps(
        numbered.isel(query=[place]),
        of_token,
        caption=f"Where “{tokens[place]}” (place {place}) has its context from.",
        alternative=f"In the last layer mostly from {first}.",
        name=str(place),
    )


def _largest(result: xarray.Dataset, tokens: list[str], places: list[int]) -> pandas.DataFrame:
    """Return the own contribution and the three largest others, in the first and the last layer."""
    records = []
    for place in places:
        for layer in dict.fromkeys((0, result.sizes["layer"] - 1)):
            row = result["attribution"].isel(query=place, layer=layer).values
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
