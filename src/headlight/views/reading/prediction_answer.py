"""Answer to a prediction in a sentence: the words that it rests on, and bars that show it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.files import printable
from headlight.findings import piece_text
from headlight.findings.phrases import listed
from headlight.views.headline import BarList, value_bars
from headlight.views.number_formats import MINUS, MISSING
from headlight.views.titles import model_name, shortened, text_title

FALL = 0.5
"""A prediction rests on a word without which no more than this share of its probability is left."""

POINTS = 0.2
"""So it does on a word without which its probability is lower by this much."""

RISE = 0.05
"""A word holds a prediction back that without it is twice as probable, and at least this much."""

NAMED = 2
"""Words that a title names."""

DRAWN = 8
"""Words that are drawn."""

CANDIDATES = 2
"""Other predictions that are named."""

MOST_DIFFERENT = 3
"""Words in which two texts differ, that name them at most."""

BEGINNING, END, LONG = 4, 7, 120
"""Words of a long text that is quoted, at its beginning and at its end, and columns at most."""


def target_label(prediction: xr.Dataset, name: str = "target") -> str:
    """Return the name of a target as it is shown; ``against`` is the other one."""
    return _label(prediction, str(prediction.attrs[name]))


def _label(prediction: xr.Dataset, piece: str) -> str:
    style = "" if prediction.attrs["classes"] else str(prediction.attrs["pieces"])
    return piece_text(piece, style).label


def chance(probability: float) -> str:
    """Write a probability: ``96%``, ``0.2%``, ``>99.9%``, ``<0.001%``."""
    value = 100 * probability
    if not math.isfinite(value):
        return MISSING
    if value >= 99.95:
        return ">99.9%"
    if value >= 99.5:
        return f"{value:.1f}%"
    if value >= 1:
        return f"{value:.0f}%"
    return f"{value:.1g}%" if value >= 0.001 else "<0.001%"


def word_frame(prediction: xr.Dataset) -> pd.DataFrame:
    """Return a row for each word that was left out, in the order of the text.

    With two targets, ``probability`` is that of the first, given that it is one of the two.
    """
    columns = ["word", "probability", "change", "first instead", "predicts"]
    if "left_out_probability" not in prediction:
        return pd.DataFrame(columns=columns)
    values = prediction["left_out_probability"].values
    if "left_out_against" in prediction:
        values = _of_two(values, prediction["left_out_against"].values)
    target = str(prediction.attrs["target"])
    firsts = [
        "" if first in ("", target) else _label(prediction, first)
        for first in map(str, prediction["left_out_first"].values)
    ]
    change = values - _probability(prediction)
    rows = zip(
        _word_names(prediction), values, change, firsts, prediction["word_predicts"].values,
        strict=True,
    )  # fmt: skip
    frame = pd.DataFrame(list(rows), columns=columns)
    return frame.dropna(subset=["probability"]).reset_index(drop=True)


def _of_two(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.asarray(first / (first + second))


def _probability(prediction: xr.Dataset, prefix: str = "") -> float:
    """Return the probability of the target with all words; of two targets, given that it is one."""
    attributes = prediction.attrs
    first = float(attributes[f"{prefix}probability"])
    if not attributes["against"]:
        return first
    return first / (first + float(attributes.get(f"{prefix}against_probability", math.nan)))


def _word_names(prediction: xr.Dataset) -> list[str]:
    """Return the words in quotes; equal ones are told apart by their order."""
    words = [printable(str(text)) for text in prediction["word_text"].values]
    sides = prediction["word_side"].values.astype(str)
    names = dict(enumerate(words))
    for side in ("text", "target"):
        places = np.flatnonzero(sides == side)
        names |= zip(places, told_apart([words[at] for at in places]), strict=True)
    both = set(np.array(words)[sides == "text"]) & set(np.array(words)[sides == "target"])
    return [
        f"{names[at]} (second text)" if sides[at] == "target" and word in both else names[at]
        for at, word in enumerate(words)
    ]


def told_apart(labels: Sequence[str]) -> list[str]:
    """Return labels in quotes; equal ones are told apart by their order or the next one.

    ``“of” (last)``; of three and more ``“the” (before “sea”)``.
    """
    counts, pairs = Counter(labels), Counter(pairwise(labels))
    so_far: Counter[str] = Counter()
    names = []
    for at, label in enumerate(labels):
        so_far[label] += 1
        place, count = so_far[label], counts[label]
        note = ""
        if count > 1 and place == count:
            note = " (last)"
        elif count > 1 and place == 1:
            note = " (first)"
        elif count > 1:
            follower = labels[at + 1]
            is_clear = pairs[label, follower] == 1
            note = f" (before “{follower}”)" if is_clear else f" ({place} of {count})"
        names.append(f"“{label}”{note}")
    return names


# ---------------------------------------------------------------- the title


def title(prediction: xr.Dataset) -> str:
    """Return the words that a prediction rests on, or how it differs between two texts."""
    if "compare_text" in prediction.attrs:
        return _compared(prediction)
    frame, name = word_frame(prediction), _predicted(prediction)
    # Without the word at its place the model predicts at another one, which is another question.
    others = frame[~frame["predicts"].astype(bool)]
    if not len(others):
        return _of_text(prediction, name)
    needed = _needed(prediction, others)
    if len(needed):
        row = needed.iloc[0]
        return (
            f"{name} rests on {listed(needed['word'].tolist())}: without {row['word']} it is "
            f"{chance(row['probability'])}{_comes_first(prediction, row)}."
        )
    whole = _probability(prediction)
    by_probability = others.sort_values("probability", kind="stable")
    lowest, highest = by_probability.iloc[0], by_probability.iloc[-1]
    if highest["probability"] >= max(whole / FALL, RISE):
        return (
            f"{name} is held back by {highest['word']}: without {highest['word']} it is "
            f"{chance(highest['probability'])}."
        )
    if lowest["probability"] < whole:
        return (
            f"{name} rests on no single word: without {lowest['word']}, which it needs most, it is "
            f"still {chance(lowest['probability'])}."
        )
    return f"{name} rests on no single word: without any one of them it is no less likely."


def _predicted(prediction: xr.Dataset) -> str:
    """Return the target with its probability: ``“Paris” (96%)``."""
    probability = chance(_probability(prediction))
    name = f"“{target_label(prediction)}”"
    if not prediction.attrs["against"]:
        return f"{name} ({probability})"
    return f"{name} rather than “{target_label(prediction, 'against')}” ({probability} of the two)"


def _needed(prediction: xr.Dataset, words: pd.DataFrame) -> pd.DataFrame:
    """Return the words without which least is left, at most `NAMED`, in the order of the text.

    Without each of them half of the probability is gone, or twenty points, or something else comes
    first.
    """
    whole = _probability(prediction)
    falls = words["probability"] < whole
    is_gone = words["probability"] <= max(FALL * whole, whole - POINTS)
    if prediction.attrs["against"]:
        loses = (whole > 0.5) & (words["probability"] < 0.5)
    else:
        loses = _is_first(prediction) & (words["first instead"] != "")
    needed = words[falls & (is_gone | loses)]
    return needed.nsmallest(NAMED, "probability").sort_index()


def _is_first(prediction: xr.Dataset) -> bool:
    return str(prediction.attrs["predicted"]) == str(prediction.attrs["target"])


def _comes_first(prediction: xr.Dataset, row: pd.Series) -> str:
    """Return what comes first without a word, if that was the target before."""
    first = row["first instead"] if _is_first(prediction) else ""
    if prediction.attrs["against"]:
        whole, left = _probability(prediction), row["probability"]
        first = target_label(prediction, "against") if left < 0.5 < whole else ""
    return f", and “{first}” comes first" if first else ""


def _of_text(prediction: xr.Dataset, name: str) -> str:
    """Return the title where no word could be left out."""
    attributes = prediction.attrs
    text = shortened(text_title(attributes), 60)
    if "candidate_probability" in prediction:
        reads = "after" if _goes_on(prediction) else "reading"
        return f"{model_name(attributes)} predicts {name} {reads} “{text}”."
    logit = f"{float(prediction['logit']):+.2f}".replace("-", MINUS)
    return f"{model_name(attributes)} gives “{target_label(prediction)}” {logit} for “{text}”."


def _compared(prediction: xr.Dataset) -> str:
    """Return the probabilities of the target in two texts."""
    (first, other), (whole, beside) = _names_of_texts(prediction), _probabilities(prediction)
    name = f"“{target_label(prediction)}”"
    if prediction.attrs["against"]:
        name += f" rather than “{target_label(prediction, 'against')}”"
        return f"{name} is {chance(whole)} of the two {first}, and {chance(beside)} {other}."
    return f"{name} is {chance(whole)} likely {first}, and {chance(beside)} {other}."


def _probabilities(prediction: xr.Dataset) -> tuple[float, float]:
    return _probability(prediction), _probability(prediction, "compare_")


def _names_of_texts(prediction: xr.Dataset) -> tuple[str, str]:
    differ = different_words(prediction.attrs)
    if differ is not None:
        return f"with {differ[0]}", f"with {differ[1]}"
    first, other = (shortened(str(prediction.attrs[name]), 60) for name in ("text", "compare_text"))
    return f"after “{first}”", f"after “{other}”"


def different_words(attributes: Mapping[Any, Any]) -> tuple[str, str] | None:
    """Return the words in which two texts differ, in quotes; None unless they are few."""
    words = [str(attributes[name]).split() for name in ("text", "compare_text")]
    differ = [pair for pair in zip(*words, strict=False) if pair[0] != pair[1]]
    if len(words[0]) != len(words[1]) or not 0 < len(differ) <= MOST_DIFFERENT:
        return None
    first, other = (printable(" … ".join(pair[at] for pair in differ)) for at in (0, 1))
    return f"“{first}”", f"“{other}”"


# ---------------------------------------------------------------- what was read


def what_was_read(prediction: xr.Dataset) -> str:
    """Return the model, the text, and what else was probable, in one line."""
    attributes = prediction.attrs
    model, text = model_name(attributes), _quoted(text_title(attributes))
    if "compare_text" in attributes:
        return f"{model} reading {text} and {_quoted(str(attributes['compare_text']))}."
    pair = str(attributes["pair"])
    if attributes["position_side"] == "target":
        text = f"{_quoted(pair)}, given {_quoted(str(attributes['text']))}"
    reads = "after" if _goes_on(prediction) else "reading"
    return f"{model} {reads} {text}{_next(prediction)}."


def _goes_on(prediction: xr.Dataset) -> bool:
    """Return whether what is predicted follows the whole text."""
    attributes = prediction.attrs
    is_of_side = prediction["token_side"].values.astype(str) == attributes["position_side"]
    is_decoder = "decoder" in prediction["kind"].values.astype(str)
    return bool(is_decoder and attributes["position"] == is_of_side.sum() - 1)


def _quoted(text: str) -> str:
    """Return a text in quotes; of a long one the beginning and the end."""
    words = printable(" ".join(text.split())).split(" ")
    if len(words) > BEGINNING + END + 1:
        words = [*words[:BEGINNING], "…", *words[-END:]]
    return f"“{shortened(' '.join(words), LONG)}”"


def _next(prediction: xr.Dataset) -> str:
    """Return what was most probable beside the target."""
    if "candidate_probability" not in prediction:
        return ""
    target = str(prediction.attrs["target"])
    names = map(str, prediction["candidate_text"].values)
    others = [
        f"“{_label(prediction, name)}” ({chance(float(value))})"
        for name, value in zip(names, prediction["candidate_probability"].values, strict=True)
        if name != target
    ][:CANDIDATES]
    if not others:
        return ""
    if _is_first(prediction):
        return f"; next {'were' if len(others) > 1 else 'was'} {listed(others)}"
    return f"; first was {', then '.join(others)}"


# ---------------------------------------------------------------- the bars


def bars(prediction: xr.Dataset) -> BarList:
    """Return the probability of the target without each word, or in each of two texts."""
    name, against = f"“{target_label(prediction)}”", prediction.attrs["against"]
    what = f"Probability of {name}"
    if against:
        what = f"{name} rather than “{target_label(prediction, 'against')}”, of the two,"
    if "compare_text" in prediction.attrs:
        rows = zip(_names_of_texts(prediction), _probabilities(prediction), strict=True)
        return BarList(f"{what} in each text", value_bars(dict(rows), chance))
    frame = word_frame(prediction)
    if not len(frame):
        return BarList("", [])
    largest = frame["change"].abs().nlargest(DRAWN).index
    drawn = frame.loc[sorted(largest)].sort_values("probability", kind="stable")
    values = {
        f"without {row['word']}": float(row["probability"]) for row in drawn.to_dict("records")
    }
    whole = "with all words"
    values[whole] = _probability(prediction)
    return BarList(
        f"{what} when a word is left out",
        value_bars(values, chance, [whole]),
        " ".join(_notes(prediction, frame, drawn)),
    )


def _notes(prediction: xr.Dataset, frame: pd.DataFrame, drawn: pd.DataFrame) -> list[str]:
    """Return what the bars do not show, and which of them the title does not count."""
    notes = []
    at_place = drawn[drawn["predicts"].astype(bool)]["word"].tolist()
    if at_place:
        notes.append(f"Not counted in the title: {at_place[0]}, which predicts.")
    words = prediction.sizes["word"]
    if len(drawn) < words:
        left_out = f"; {len(frame)} were left out" if len(frame) < words else ""
        notes.append(f"Drawn: the {len(drawn)} of {words} words that change it most{left_out}.")
    return notes
