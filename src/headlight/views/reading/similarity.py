"""Similarity of two texts, in a sentence, as lines between their words, and as tables."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from headlight.files import printable
from headlight.findings.interval_phrases import interval
from headlight.findings.phrases import plural
from headlight.result.estimate import Estimate, estimate_of
from headlight.views.headline import BarList, Block, Headline, signed_bars
from headlight.views.html_elements import element
from headlight.views.number_formats import signed, two_decimals
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import HeadMap, head_map
from headlight.views.titles import model_name, shortened

KIND = "why two texts are alike"

DRAWN = 10
"""Pairs of words that have a bar, and a line."""
REMOVED = 3
"""Pairs of words whose removal has a bar."""
MOST_WORDS = 12
"""Words of a text that are drawn; of a longer one those that have a line."""
LONGEST = 18
"""Columns of a word that is drawn."""

WIDTH, ROW, TEXT, THICKEST = 340, 24, 120, 9.0
"""Pixels of the drawing, of a row, of the room for words on a side, and of the thickest line."""

MORE_THAN_WORDS = (
    "Special tokens, or positions and biases, hold more than all words together: read the words "
    "with care."
)
NAMES = {
    "first pair": "the first pair of words",
    "other pairs": "other pairs of words",
    "special tokens": "special tokens and punctuation",
    "biases": "positions and biases",
}
"""Terms of a cosine in words."""


def is_of_several(result: xr.Dataset) -> bool:
    """Return whether a result is of several pairs of texts."""
    return "text_pair" in result.dims


def frame_of(result: xr.Dataset) -> pd.DataFrame:
    """Return the largest pairs of words, or a row for each pair of texts."""
    if is_of_several(result):
        names = ("a_text", "b_text", "label")
        frame = pd.DataFrame({name: result[name].values.astype(str) for name in names})
        frame[result["name"].values.astype(str).tolist()] = result["term"].values
        firsts = zip(result["a_first"].values, result["b_first"].values, strict=True)
        frame["first words"] = [f"“{a}” × “{b}”" if a else "" for a, b in firsts]
        return frame if (frame["label"] != "").any() else frame.drop(columns="label")
    without = result["without_cosine"].values
    return pd.DataFrame(
        {
            "first text": _words_of_pairs(result, "a"),
            "second text": _words_of_pairs(result, "b"),
            "part": result["part"].values,
            "cosine without both": without,
            "change": without - float(result["cosine"]),
        }
    )


def head_frame(result: xr.Dataset) -> pd.DataFrame:
    """Return what each head writes into the cosine, for each text, the largest first."""
    frame = result["head_part"].to_series().unstack("side").dropna()
    frame.columns = pd.Index(["first text", "second text"])
    order = frame.abs().max(axis=1).sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index()


def _words(result: xr.Dataset, side: str) -> list[str]:
    """Return the words of a text; of equal ones the later have a number: ``the (2)``."""
    seen: Counter[str] = Counter()
    words = []
    for word in map(str, result[f"{side}_word_text"].values):
        seen[word] += 1
        name = shortened(printable(word), LONGEST)
        words.append(f"{name} ({seen[word]})" if seen[word] > 1 else name)
    return words


def _words_of_pairs(result: xr.Dataset, side: str) -> list[str]:
    words = _words(result, side)
    return [words[number] for number in result[f"pair_{side}"].values]


def _pairs(result: xr.Dataset) -> list[tuple[str, float, float]]:
    """Return the largest pairs: their words, what they add, and the cosine without them."""
    words = (_words_of_pairs(result, side) for side in ("a", "b"))
    labels = [f"“{a}” × “{b}”" for a, b in zip(*words, strict=True)]
    numbers = (result[name].values.tolist() for name in ("part", "without_cosine"))
    return list(zip(labels, *numbers, strict=True))


def _rest(result: xr.Dataset) -> tuple[float, float]:
    """Return what special tokens and punctuation marks add, and what positions and biases do."""
    return float(result["pair_part"].sum() - result["word_part"].sum()), float(result["bias"])


def _are_less(result: xr.Dataset) -> bool:
    """Return whether words add less than special tokens, or than positions and biases."""
    return max(map(abs, _rest(result))) > abs(float(result["word_part"].sum()))


# ---------------------------------------------------------------- sentences


def headline(result: xr.Dataset) -> Headline:
    """Return the cosine and its largest pair as the title, lines between words, and bars."""
    about = result.attrs
    pooled = f"pooling: {about['pooling']}"
    if about["assumed"]:
        pooled += ", assumed, as no modules.json was found"
    if is_of_several(result):
        read = f"{model_name(about)} embeds {plural(result.sizes['text_pair'], 'pair')} of texts"
        return Headline(_title_of_several(result), f"{read} ({pooled}).", [_means(result)], KIND)
    a, b = (shortened(str(about[name]), 60) for name in ("text", "pair"))
    read = f"{model_name(about)} embeds “{a}” and “{b}” ({pooled})."
    pictures: list[BarList | Block] = [_bars(result)]
    if result.sizes["pair"]:
        pictures.append(_lines(result))
    if np.isfinite(result["without_cosine"]).any():
        pictures.append(_without(result))
    return Headline(_title(result), read, pictures, KIND)


def _title(result: xr.Dataset) -> str:
    cosine = two_decimals(float(result["cosine"]))
    if not result.sizes["pair"]:
        return f"The cosine of the two texts is {cosine}, and one of them has no word."
    label, part, without = _pairs(result)[0]
    adds = "adds most" if part >= 0 else "takes most away"
    title = f"The cosine of the two texts is {cosine}: {label} {adds} ({signed(part)})"
    if not np.isfinite(without):
        return f"{title}, and a text has no other word."
    return f"{title}; without these words it is {two_decimals(without)}."


def _title_of_several(result: xr.Dataset) -> str:
    mean = estimate_of(result, "mean") or Estimate.with_ends(result["mean"].values)
    return (
        f"The mean cosine of {plural(result.sizes['text_pair'], 'pair')} is "
        f"{_said(mean.at(0))}: the first pair of words holds {_said(mean.at(1))} of it, positions "
        f"and biases {_said(mean.at(4))}."
    )


def _said(estimate: Estimate) -> str:
    ends = interval(float(estimate.low), float(estimate.high), two_decimals)
    return two_decimals(float(estimate.value)) + ends


def findings(result: xr.Dataset) -> list[str]:
    """Return the title, what else holds a part of the cosine, and the pooling."""
    if is_of_several(result):
        return [_title_of_several(result)]
    tokens, biases = _rest(result)
    sentences = [
        _title(result),
        f"Special tokens and punctuation add {signed(tokens)}, positions and biases "
        f"{signed(biases)}.",
    ]
    if _are_less(result):
        sentences.append(MORE_THAN_WORDS)
    return sentences


def summary(result: xr.Dataset) -> Summary:
    """Return the cosine, or the mean cosine."""
    return {"cosine": float(result["mean"][0] if is_of_several(result) else result["cosine"])}


# ---------------------------------------------------------------- pictures


def _bars(result: xr.Dataset) -> BarList:
    tokens, biases = _rest(result)
    values = {label: part for label, part, _ in _pairs(result)[:DRAWN]}
    rest = {
        NAMES["other pairs"]: float(result["word_part"].sum()) - sum(values.values()),
        NAMES["special tokens"]: tokens,
        NAMES["biases"]: biases,
    }
    caption = f"The cosine {two_decimals(float(result['cosine']))} as a sum over pairs of words"
    bars = signed_bars([*values.items(), *rest.items()], signed, rest)
    return BarList(caption, bars, MORE_THAN_WORDS if _are_less(result) else "")


def _without(result: xr.Dataset) -> BarList:
    """Return the cosines without the words of the first pairs, and of the whole texts."""
    cosines = {label: without for label, _, without in _pairs(result)[:REMOVED]}
    values = [*cosines.items(), ("the whole texts", float(result["cosine"]))]
    known = [(label, value) for label, value in values if np.isfinite(value)]
    bars = signed_bars(known, two_decimals, ["the whole texts"])
    note = "The rest is read anew without them, so that this is not the cosine less what they add."
    return BarList("The cosine when both words are removed", bars, note)


def _means(result: xr.Dataset) -> BarList:
    names = [NAMES.get(str(name), "cosine") for name in result["name"].values]
    values = list(zip(names, result["mean"].values.tolist(), strict=True))
    bars = signed_bars(values, signed, names[:1])
    return BarList("The mean cosine and what it is the sum of", bars)


def _lines(result: xr.Dataset) -> Block:
    """Return both texts as columns of words, with lines for the largest pairs."""
    numbers = (result[f"pair_{side}"].values.tolist()[:DRAWN] for side in ("a", "b"))
    ends, parts = list(zip(*numbers, strict=True)), result["part"].values.tolist()[:DRAWN]
    shown, places = [], []
    for at, side in enumerate(("a", "b")):
        words = _words(result, side)
        chosen = list(range(len(words)))
        if len(words) > MOST_WORDS:
            chosen = sorted({row[at] for row in ends})
        places.append({word: row for row, word in enumerate(chosen)})
        shown.append([words[word] for word in chosen])
    rows = max(map(len, shown))
    tops = [(rows - len(words)) * ROW / 2 for words in shown]
    thick = THICKEST / (max(map(abs, parts)) or 1.0)
    lines = [
        element(
            "line",
            x1=TEXT + 6,
            y1=tops[0] + ROW * (places[0][a] + 0.5),
            x2=WIDTH - TEXT - 6,
            y2=tops[1] + ROW * (places[1][b] + 0.5),
            class_=f"s-{'norm' if part < 0 else 'weight'}",
            stroke="var(--series)",
            stroke_width=max(abs(part) * thick, 0.5),
            stroke_linecap="round",
            opacity="0.75",
        )
        for (a, b), part in zip(ends, parts, strict=True)
    ]
    texts = _column(shown[0], tops[0], TEXT, "end")
    texts += _column(shown[1], tops[1], WIDTH - TEXT, "start")
    drawn = element(
        "svg",
        *lines,
        *texts,
        viewBox=f"0 0 {WIDTH} {rows * ROW}",
        style=f"width:100%;max-width:{WIDTH + 80}px;height:auto;display:block;margin:0 auto",
        role="img",
        aria_label="The words of both texts, with lines as wide as what a pair of words adds.",
    )
    less = any(result.sizes[f"{side}_word"] > MOST_WORDS for side in ("a", "b"))
    some = "; of longer texts the words with a line" if less else ""
    key = f"Blue lines add to the cosine, orange ones take away{some}."
    return Block("The pairs of words that add most", drawn + element("p", key, class_="note"))


def _column(words: Sequence[str], top: float, x: int, anchor: str) -> list[Markup]:
    return [
        element(
            "text",
            word,
            x=x,
            y=top + ROW * (row + 0.5),
            dy="0.35em",
            text_anchor=anchor,
            font_size="14",
            fill="currentColor",
        )
        for row, word in enumerate(words)
    ]


def sections(result: xr.Dataset) -> list[Section]:
    """Return the largest pairs and all pairs of words, and heads; or the pairs of texts."""
    frame = frame_of(result)
    if is_of_several(result):
        formats = dict.fromkeys(map(str, result["name"].values), "+.2f")
        said = "The terms of each pair of texts; they add up to its cosine."
        table = Table("pairs", "", frame, formats)
        return [Section("pairs", "Pairs of texts", said, tables=[table])]
    heads = head_frame(result)
    return [
        Section(
            "pairs",
            "Pairs of words",
            "What a pair adds, with attention weights, statistics of norms and slopes as "
            "constants; and the cosine of the texts without both words, as the model computes it.",
            "Modarressi et al. (2023), for parts of embeddings",
            [_all_words(result)] if result["word_part"].size else [],
            [Table("pairs", "The largest pairs", frame, dict.fromkeys(frame.columns[2:], "+.3f"))],
        ),
        Section(
            "heads",
            "Heads",
            "What each head writes into the cosine with nothing but norms behind it, of either "
            "text, with the embedding of the other as it is. With embeddings, feed-forward layers "
            "and biases, heads add up to the cosine.",
            tables=[
                Table(
                    "heads",
                    "Heads, the largest first",
                    heads,
                    dict.fromkeys(heads.columns[2:], "+.3f"),
                    sums=tuple(heads.columns[2:]),
                    most=20,
                )
            ],
        ),
    ]


def _all_words(result: xr.Dataset) -> Drawing:
    def draw() -> Figure:
        values = result["word_part"].values
        largest = float(np.abs(values).max()) or 1.0
        rows, columns = (_words(result, side) for side in ("a", "b"))
        panel = HeadMap(
            "",
            values,
            rows=rows,
            columns=columns,
            row_label="first text",
            column_label="second text",
            scale="change",
            limits=(-largest, largest),
            format="+.2f",
            low_is_good=True,  # the ramp reversed: what adds is blue, as are bars and lines
        )
        return head_map([panel])

    return Drawing("words", "All pairs of words.", "A map of words × words.", draw)
