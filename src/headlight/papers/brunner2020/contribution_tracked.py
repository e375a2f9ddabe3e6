"""Appendix C.4: where single tokens have their context from (Figures 19 to 25)."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.corpora import SentencePair, open_sentence_pairs
from headlight.papers.brunner2020.contribution_results import attribution_settings
from headlight.papers.brunner2020.datasets import main_set, pair_source
from headlight.papers.brunner2020.published_contribution import TRACKED_PAIR, TRACKED_WORDS
from headlight.papers.naming import in_words
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import model_note
from headlight.papers.writer import ExhibitWriter
from headlight.reading import read
from headlight.views.exhibits import Exhibit, Picture
from headlight.views.pictures import HeadMap, head_map

TRACKED = len(TRACKED_WORDS)
"""Words that are tracked, besides the class token and the first separator."""


def figure_19(study: Study, desk: ExhibitWriter) -> Exhibit:
    """Seven tokens of one pair, tracked through the layers."""
    pair, is_papers = _chosen_pair(study)
    found = _tracked(study, pair)
    tokens = [str(token) for token in found["key_token"].values]
    places = tracked_places(found, TRACKED_WORDS if is_papers else ())
    exact = bool(study.options.exact_pairs)
    return Exhibit(
        name=desk.exhibit,
        title="Tokens tracked through the layers",
        source="Brunner et al. (2020), Figures 19 to 25 and Appendix C.4",
        explanation="What every input token contributes to one hidden token, layer by layer. The "
        "token's own contribution is framed; colours are those of the others, and reach as far as "
        "the largest of them.",
        pictures=[_drawn(desk, found, tokens, place) for place in places],
        tables=[
            desk.table(
                _largest(found, tokens, places), "The three others that contribute most, in percent"
            )
        ],
        notes=[
            model_note(study),
            "The pair is the paper's own."
            if is_papers
            else f"The paper's pair is not among those given; this is the first, {pair.name}.",
            "Contributions are computed exactly."
            if exact
            else f"Contributions are estimated from {study.options.attribution_probes} probes.",
        ],
        files=desk.written,
    )


def _chosen_pair(study: Study) -> tuple[SentencePair, bool]:
    """The pair of the paper if it is there, else the first one; and which of the two it is."""
    pairs = open_sentence_pairs(pair_source(study, main_set(study)))
    most = max(study.options.max_pairs, 1)
    first = list(islice(iter(pairs), most))
    for pair in first:
        if pair.first.lower().startswith(TRACKED_PAIR):
            return pair, True
    return first[0], False


def _tracked(study: Study, pair: SentencePair) -> xarray.Dataset:
    """Contributions in one pair."""
    settings = attribution_settings(study)
    if study.options.exact_pairs:
        settings = replace(settings, method="exact")

    def make(_: Path) -> xarray.Dataset:
        reading = read(study.model, pair.first, pair.second, attribution=settings)
        return reading.dataset[["attribution"]]

    return study.kept(
        "contributions-tracked", "reading", make,
        pair=[pair.first, pair.second], pairs=file_state(pair_source(study, main_set(study))),
    )  # fmt: skip


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


def _drawn(desk: ExhibitWriter, found: xarray.Dataset, tokens: list[str], place: int) -> Picture:
    """All input tokens of one hidden token, layer by layer."""
    rows = found["attribution"].isel(query=place).values
    others = np.delete(rows, place, axis=1)
    map_of_token = HeadMap(
        f"Contribution to {tokens[place]}",
        rows,
        rows=[str(int(layer) + 1) for layer in found["layer"].values],
        columns=tokens,
        column_label="input token",
        scale="attribution",
        limits=(0.0, float(others.max(initial=0.0)) or 1.0),
        format=".0%",
        framed=[(row, place) for row in range(len(rows))],
    )
    first = in_words([tokens[key] for key in np.argsort(-_without(rows[-1], place))[:3]])
    return desk.picture(
        head_map([map_of_token], annotate=False),
        f"Where “{tokens[place]}” (place {place}) has its context from.",
        f"In the last layer mostly from {first}.",
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
