"""Sources of an answer, as tables, a page and in words."""

from math import factorial

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from headlight.files import printable
from headlight.findings.interval_phrases import interval
from headlight.findings.phrases import listed, number, plural
from headlight.result.estimate import Estimate, estimate_of
from headlight.views.colours import level
from headlight.views.html_elements import element
from headlight.views.number_formats import MINUS
from headlight.views.parts import (
    By,
    Columns,
    Drawing,
    Figure,
    Map,
    Section,
    Summary,
    Table,
    columns,
    maps,
)
from headlight.views.pictures import BarRow, Mark, bars
from headlight.views.titles import shortened
from headlight.vocabulary import head_name

FIRST = "signals"
"""The picture beside what was found."""

OF_REMOVAL = ("removal", "sets")
"""Signals that leave passages out; others are held against the first of them."""

MARKED = 5
"""Answers whose passages a page marks."""

SIGNALS = {
    "removal": "the fall of the answer's log-probability without the passage, in nats",
    "sets": "its coefficient in a linear model of the log-probability, fitted to sets of passages",
    "chosen heads": "its mean share of the rows that predict the answer, in heads that copy",
    "all heads": "the same in all heads",
    "predict": "what heads write directly from it into the logits of the answer",
}


def frame_of(result: xr.Dataset) -> pd.DataFrame:
    """Return a row for each passage of each answer, with a column for each signal."""
    texts = result["passage_text"].values.astype(str)
    answers, passages = np.nonzero(texts != "")
    columns = {
        "answer": answers + 1,
        "passage": passages + 1,
        "text": texts[answers, passages],
        **{
            str(name): result["value"].sel(signal=name).values[answers, passages]
            for name in result["signal"].values
        },
    }
    return pd.DataFrame(columns).iloc[:, int(result.sizes["answer"] == 1) :]


def agreement_frame(result: xr.Dataset) -> pd.DataFrame:
    """Return a row for each signal but removal: Spearman's ρ with removal, and its interval."""
    names, agreement = _agreement(result)
    columns = {"signal": names, "ρ with removal": agreement.value}
    columns |= {"low": agreement.low, "high": agreement.high}
    return pd.DataFrame(columns).iloc[1:].reset_index(drop=True)


def chosen_heads(result: xr.Dataset) -> list[str]:
    """Return the names of the chosen heads, those that copy most first."""
    layers, heads = np.nonzero(result["chosen"].values)
    order = np.argsort(-np.nan_to_num(result["retrieval"].values[layers, heads]), kind="stable")
    return [head_name(int(result["layer"][layers[at]]), int(heads[at])) for at in order]


def _agreement(result: xr.Dataset) -> tuple[list[str], Estimate]:
    estimate = estimate_of(result, "agreement")
    assert estimate is not None  # noqa: S101 - every result has it
    return result["signal"].values.astype(str).tolist(), estimate


def findings(result: xr.Dataset) -> list[str]:
    """Return the findings on removal, the signals that agree with it, and the chosen heads."""
    heads = chosen_heads(result)
    how = "named by hand" if result.attrs["named"] else "those that copy most of hidden facts"
    chosen = f"The chosen heads are {listed(heads)}, {how}."
    if not heads:
        chosen = (
            "No heads are chosen, since the model repeats none of the facts that are hidden for "
            "it; name some with --chosen (chosen)."
        )
    return [
        *(_of_one(result) if result.sizes["answer"] == 1 else _of_several(result)),
        chosen,
        *filter(None, [str(result.attrs["notes"])]),
    ]


def _of_one(result: xr.Dataset) -> list[str]:
    frame = frame_of(result)
    removal, answer = (
        frame["removal"].to_numpy(),
        shortened(str(result["answer_text"][0].values), 60),
    )
    first = int(removal.argmax())
    if not removal[first] > 0:
        return [f"“{answer}” becomes no less probable without any one of its passages."]
    text = shortened(str(frame["text"][first]), 60)
    signals = [str(name) for name in frame.columns[3:] if frame[name].notna().all()]
    same = [name for name in signals if int(frame[name].to_numpy().argmax()) == first]
    others = [name for name in signals if name not in same]
    agree = "it is first by no other signal"
    if same:
        agree = f"it is first by {listed([*map(_label, same)])} as well"
    if others and same:
        agree += f", and not by {listed([*map(_label, others)])}"
    return [
        f"Without passage {first + 1}, “{text}”, the log-probability of “{answer}” falls by "
        f"{removal[first]:.2f} nats, the most of {len(frame)}; {agree}.",
        "Of one answer, which signal agrees with removal is inconclusive: give several examples.",
    ]


def _of_several(result: xr.Dataset) -> list[str]:
    names, agreement = _agreement(result)
    use = [at for at, name in enumerate(names) if name not in OF_REMOVAL]
    use = [at for at in use if np.isfinite(agreement.value[at])]
    if not use:
        return ["Which signal agrees with removal is inconclusive: rows have too few passages."]
    part = agreement.at((use,))
    best, count = use[int(np.argmax(part.value))], result.sizes["answer"]
    tied = [_label(names[use[at]]) for at in np.flatnonzero(part.ties())]
    name, agree = _label(names[best]), "agrees" if names[best] == "predict" else "agree"
    sentences = [
        f"Over {count} answers, {name} {agree} best with removal: "
        f"Spearman's ρ {_number(agreement.at(best))}."
    ]
    if len(tied) > 1:
        sentences = [
            f"Over {count} answers, which of {listed(tied)} agrees best with removal is "
            f"inconclusive; the largest Spearman's ρ is {_number(agreement.at(best))}, of {name}."
        ]
    measures = result["measure"].values
    pairs = [(f"chosen heads by {measure}", f"all heads by {measure}") for measure in measures]
    pairs.append(("chosen heads by norm", "chosen heads by weight"))
    usable = {names[at]: at for at in use}
    for first, second in pairs:
        if first in usable and second in usable:
            apart = agreement.at(usable[first]).minus(agreement.at(usable[second]))
            sentences.append(_compared(_label(first), _label(second), apart))
    return sentences


def _compared(first: str, second: str, apart: Estimate) -> str:
    verdict = {"above": "larger", "below": "smaller"}.get(str(apart.against(0.0)))
    if verdict:
        return f"The ρ of {first} is {verdict} than that of {second}, by {_number(apart)}."
    return (
        f"Whether the ρ of {first} or of {second} is larger is inconclusive: they differ by "
        f"{_number(apart)}."
    )


def _label(signal: str) -> str:
    return signal.replace(", ", " by ")


def _number(estimate: Estimate) -> str:
    low, high = float(estimate.low), float(estimate.high)
    return number(float(estimate.value)) + interval(low, high, number)


def summary(result: xr.Dataset) -> Summary:
    """Return Spearman's ρ of each signal with removal."""
    names, agreement = _agreement(result)
    return dict(zip(names[1:], agreement.value[1:].tolist(), strict=True))


def sections(result: xr.Dataset) -> list[Section]:
    """Return signals beside each other, the passages, agreement with removal, and heads."""
    frame, agreement = frame_of(result), agreement_frame(result)
    count = result.sizes["answer"]
    several = count > 1
    names = result["signal"].values.astype(str)
    kinds = dict.fromkeys(name.partition(" by ")[0] for name in names)
    explained = "; ".join(f"{kind}: {SIGNALS[kind]}" for kind in kinds)
    formats = dict.fromkeys(names.tolist(), ".3f")
    digits = dict.fromkeys(agreement.columns[1:], ".2f")
    draw = (lambda: _agreements(result)) if several else (lambda: _shares(frame, list(names)))
    caption = (
        "Spearman's ρ with removal over the passages of an answer, mean over answers"
        if several
        else "each signal's share of its sum of absolute values"
    )
    return [
        Section(
            "passages",
            "Passages by each signal",
            f"Means over {_orders(result)}. {explained[0].upper()}{explained[1:]}.",
            "Cohen-Wang et al. (2024); Wu et al. (2024)",
            [Drawing(FIRST, caption, f"Bars: {caption}.", draw)],
            [Table("passages", "A row for each passage", frame, formats)],
        ),
        Section(
            "answers",
            "The answers and their passages" if several else "The answer and its passages",
            "The stronger the colour of a passage, the more the log-probability of its answer "
            "falls without it; each answer has a scale of its own."
            + (f" The first {MARKED} of {count} answers." if count > MARKED else ""),
            html=Markup("").join(map(_marked, _answers(result)[:MARKED])),
        ),
        Section(
            "agreement",
            "Which signal agrees with removal",
            "The mean over answers of Spearman's ρ over their passages, and its interval of 95%."
            + ("" if several else " Of one answer there is none."),
            tables=[Table("agreement", "Signals", agreement, digits), *_means(result)],
        ),
        Section(
            "lookback",
            "How far heads look back to the prompt",
            "The mean weight on a token of the prompt, divided by the sum of that and the mean "
            "weight on a token of the answer; mean over the tokens of the answers but the first.",
            "Chuang et al. (2024), Eq. 1",
            [_looking_back(result)] if result["lookback"].notnull().any() else [],
        ),
    ]


def _orders(result: xr.Dataset) -> str:
    """Return the number of orders of passages that are averaged, and whether these are all."""
    orders = int(result.attrs["orders"])
    existing = {factorial(int(count)) for count in (result["passage_text"] != "").sum("passage")}
    of_all = f"{plural(orders, 'order')} of the passages"
    if orders > min(existing):
        return f"{of_all}, and of fewer passages over as many as there are"
    return f"{of_all}, all that there are" if existing == {orders} else of_all


def _means(result: xr.Dataset) -> list[Table]:
    """Return the mean of each signal over answers with its interval; for one answer nothing."""
    if result.sizes["answer"] == 1:
        return []
    caption = "Mean over answers, by the number of the passage as it was handed over"
    by = (By("passage"), By("signal"))
    return [columns("means", caption, result, by, Columns("mean", ".3f", "mean", interval=True))]


def _looking_back(result: xr.Dataset) -> Drawing:
    means = result[["lookback"]].mean(("answer", "token"))
    title = "Lookback ratio of each head"
    return Drawing("lookback", "", title, maps(means, Map("lookback", title, limits=(0, 1))))


def _answers(result: xr.Dataset) -> list[tuple[str, str, list[str], list[float]]]:
    """Return question, answer, passages and falls of each answer."""
    removal = result["value"].sel(signal="removal").values
    return [
        (str(question), str(answer), [str(text) for text in texts if text], falls.tolist())
        for question, answer, texts, falls in zip(
            result["question"].values,
            result["answer_text"].values,
            result["passage_text"].values,
            removal,
            strict=True,
        )
    ]


def _marked(answer: tuple[str, str, list[str], list[float]]) -> Markup:
    """Return passages, coloured by removal, with the question and the answer in a frame."""
    question, text, passages, falls = answer
    highest = max(falls[: len(passages)])
    lines = [
        element(
            "span",
            printable(passage),
            class_=f"q{level(fall, 0.0, highest)}",
            title=f"removal {fall:.2f} nats".replace("-", MINUS),
        )
        for passage, fall in zip(passages, falls, strict=False)
    ]
    posed = element("span", printable(question), class_="q0")
    answered = element("span", printable(text), class_="q0 asking")
    return Markup("").join(
        element("p", Markup("<br>").join(part), class_="passage scale-blue", dir="auto")
        for part in ([posed, answered], lines)
    )


def _shares(frame: pd.DataFrame, names: list[str]) -> Figure:
    """Return bars of each passage: its shares of the sum of absolute values, by signal."""
    whole = {name: float(frame[name].abs().sum()) for name in names}
    rows = [
        BarRow(
            shortened(f"{row['passage']} {row['text']}", 34),
            [Mark(name, row[name] / whole[name]) for name in names if whole[name] > 0],
        )
        for row in frame.to_dict("records")
    ]
    return bars(rows, x_label="share of the signal's sum", percent=True)


def _agreements(result: xr.Dataset) -> Figure:
    """Return dots of each signal's mean ρ with removal, with intervals."""
    names, agreement = _agreement(result)
    rows = []
    for at, name in enumerate(names):
        if at and np.isfinite(agreement.value[at]):
            value, low, high = agreement.value[at], agreement.low[at], agreement.high[at]
            rows.append(BarRow(name, [Mark("", float(value), float(low), float(high))]))
    return bars(rows, x_label="Spearman's ρ with removal", dots=True)
