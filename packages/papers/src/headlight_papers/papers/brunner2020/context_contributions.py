"""Section 5.3, Appendices C.3 and C.4: contributions of other tokens (Figures 4, 18–25, 41, 43)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.corpora import SentencePair
from headlight.settings.attribution import AttributionSettings
from headlight.views.parts import By, Comparison, Curve, Drawing, Map, Section
from headlight_papers.papers.brunner2020 import Settings, published
from headlight_papers.papers.brunner2020.claims import layer_of_most, two_largest
from headlight_papers.papers.brunner2020.own_contributions import (
    attribution_settings,
    contribution_notes,
    load_contributions,
    shown_layers,
)
from headlight_papers.papers.brunner2020.pair_sets import PairSet, figures_of_sets, find_pair_set
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of, frame_of, in_words
from headlight_papers.papers.reproduction import Reproduction, model_note

exhibit = exhibits_of(published.SOURCE)

DISTANCES = {
    "1": "1st",
    "2": "2nd",
    "3": "3rd",
    "4-5": "4th, 5th",
    "6-10": "6th to 10th",
    "11+": "11th onwards",
}
SHOWN = 15
"""Places to the left and to the right that the figure shows; the table has all."""


def neighbours(reproduction: Reproduction, writer: ExhibitWriter, name: str | None) -> Section:
    """Return the section of neighbours by distance, and in three layers by relative place."""
    pairs = find_pair_set(reproduction, name)
    result = load_contributions(reproduction, pairs)
    share = result["by_distance_share"]
    frame = frame_of(
        {label: 100 * result["by_distance"].sel(distance=key) for key, label in DISTANCES.items()}
    )
    writer.keep(_by_place(result, "neighbour"), "b")
    return Section(
        explanation="(a) The mean contribution of the neighbours at a distance, left and right "
        "together, as a share of its sum over the layers: in which layers that distance counts "
        "most. (b) All that tokens receive from the neighbour at each place, as a share of what "
        "they receive from all neighbours within 64 places.",
        drawings=[
            writer.curves(
                result.sel(distance=list(DISTANCES)),
                Curve(
                    "by_distance_share",
                    panel="Relative contribution of neighbours",
                    by=By("distance", DISTANCES),
                    percent=True,
                ),
                caption="(a) Relative contribution per layer of neighbours at different distances.",
                alternative=_alternative(share),
                name="a",
            ),
            _places(
                writer,
                result,
                "neighbour",
                "Total contribution per neighbour",
                (-SHOWN, SHOWN),
                "(b) Total contribution per neighbour in the first, middle and last layers.",
                "b",
            ),
        ],
        tables=[writer.table(frame, "Mean contribution of one neighbour, in percent")],
        comparisons=_comparisons(result),
        notes=contribution_notes(reproduction, pairs, result),
    )


figure_4, figure_41, figure_43 = figures_of_sets(
    neighbours,
    "Contribution of context",
    (4, None, "Section 5.3"),
    (41, "cola", "Appendix D.2.1"),
    (43, "mnli", "Appendix D.2.2"),
)


@exhibit("figure-18", "Figure 18 and Appendix C.3", "pairs")
def figure_18(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Contribution to [CLS]."""
    pairs = find_pair_set(reproduction)
    result = load_contributions(reproduction, pairs)
    if not bool(result["sep_count"].any()):
        return Section(explanation="The texts of this model have no [CLS] and [SEP].")
    writer.keep(_by_place(result, "cls"), "a")
    writer.keep(_by_place(result, "sep"), "b")
    return Section(
        explanation="All that the hidden [CLS] receives from other tokens, by their place: (a) "
        "counted from [CLS] itself, (b) from the first [SEP], the border between the sentences. "
        "Texts are of different lengths, so that far places are there in few of them.",
        drawings=[
            _places(
                writer,
                result,
                "cls",
                "From [CLS]",
                (1, 64),
                "(a) Contribution to [CLS], by place after it.",
                "a",
            ),
            _places(
                writer,
                result,
                "sep",
                "From the first [SEP]",
                (-32, 32),
                "(b) Contribution to [CLS], by place relative to the first [SEP].",
                "b",
            ),
        ],
        comparisons=[
            Comparison(
                f"the two places that give most to [CLS], layer {layer + 1}",
                _list_places(published.NEAREST),
                _list_places(two_largest(result["sep_share"].isel(layer=layer))),
                note="relative to the first [SEP]",
            )
            for layer in shown_layers(result)
        ],
        notes=contribution_notes(reproduction, pairs, result),
    )


def _places(
    writer: ExhibitWriter,
    result: xarray.Dataset,
    name: str,
    title: str,
    ends: tuple[int, int],
    caption: str,
    letter: str,
) -> Drawing:
    """The shares of the places between two, in three layers."""
    return writer.curves(
        result.isel(layer=shown_layers(result)).sel(offset=slice(*ends)),
        Curve(
            f"{name}_share",
            "layer {layer}",
            title,
            by="layer",
            over="offset",
            percent=True,
            x_label="relative place",
        ),
        caption=caption,
        alternative=_largest_alternative(result, name),
        name=letter,
    )


def _by_place(result: xarray.Dataset, name: str) -> pandas.DataFrame:
    """Every place of every layer: total, share of all, and pairs of tokens."""
    total = result[f"{name}_total"].transpose("layer", "offset")
    frame = frame_of(
        {
            "total": total,
            "share": result[f"{name}_share"],
            "mean": result[f"{name}_mean"],
            "pairs": result[f"{name}_count"].broadcast_like(total),
        }
    )
    return frame.rename(columns={"offset": "place"})


def _comparisons(result: xarray.Dataset) -> list[Comparison]:
    """The two findings of Section 5.3."""
    share = result["by_distance_share"]
    last = int(result["layer"].values[-1]) + 1
    nearest, farthest = (layer_of_most(share, distance) for distance in ("1", "11+"))
    return [
        Comparison(
            "layer in which the nearest neighbours count most",
            1,
            nearest,
            digits=0,
            note=f"the paper: significantly more in the first layers; {last} layers here",
        ),
        Comparison(
            "layer in which the farthest neighbours count most",
            12,
            farthest,
            digits=0,
            note=f"the paper: most in the deeper layers; {last} layers here",
        ),
        *(
            Comparison(
                f"the two places that contribute most, layer {layer + 1}",
                _list_places(published.NEAREST),
                _list_places(two_largest(result["neighbour_share"].isel(layer=layer))),
            )
            for layer in shown_layers(result)
        ),
    ]


def _list_places(places: tuple[int, ...]) -> str:
    return " and ".join(f"{place:+d}".replace("-", "−") for place in places)


def _alternative(share: xarray.DataArray) -> str:
    peaks = (
        f"{label} neighbours in layer {layer_of_most(share, key)}"
        for key, label in DISTANCES.items()
    )
    return "Largest: " + ", ".join(peaks) + "."


def _largest_alternative(result: xarray.Dataset, name: str) -> str:
    share = result[f"{name}_share"]
    largest = (
        f"{_list_places(two_largest(share.isel(layer=layer)))} in layer {layer + 1}"
        for layer in shown_layers(result)
    )
    return "Largest at places " + ", ".join(largest) + "."


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
    """The pair of the paper if it is there, else the first one; and which of the two it is."""
    every = list(pairs.pairs)
    own = (pair for pair in every if pair.first.lower().startswith(published.TRACKED_PAIR))
    pair = next(own, None)
    return pair or every[0], pair is not None


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


def tracked_places(result: xarray.Dataset, words: tuple[str, ...] = ()) -> list[int]:
    """The class token, words of the first sentence in between, and the first separator.

    Args:
        result: a reading.
        words: those wanted; without, or where one is not there, words at even distances.
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
    """Places of words of one piece in the first sentence, punctuation left out."""
    words, categories = result["key_word"].values[:last], result["key_category"].values[:last]
    for place, (word, category) in enumerate(zip(words, categories, strict=True)):
        if word >= 0 and category == "other" and (words == word).sum() == 1:
            yield place


def _draw(writer: ExhibitWriter, result: xarray.Dataset, tokens: list[str], place: int) -> Drawing:
    """All input tokens of one hidden token, layer by layer."""
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
    """The own contribution and the three largest others, in the first and the last layer."""
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
