"""Sources of an answer, as tables, a page and in words."""

from collections.abc import Sequence
from math import exp, factorial

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from headlight.files import printable
from headlight.findings import sources as said
from headlight.findings.interval_phrases import interval
from headlight.findings.phrases import listed, number, percent, plural
from headlight.findings.thresholds import USED
from headlight.result.estimate import Estimate, estimate_of
from headlight.views.colours import level
from headlight.views.headline import BarList, Block, Headline, ValueBar
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
from headlight.views.titles import model_name, shortened
from headlight.vocabulary import head_name

FIRST = "signals"
"""The picture of the signals."""

SHOWN = 5
"""Passages that a page shows when it opens, those that are missed most."""

CHARACTERS, MOST, FEWEST = 325, 160, 60
"""Characters of these together, of one at most, and of one at least."""

LONGEST_BAR = 10.0
"""Least factor that a bar of full length stands for, so that nothing looks like much."""

KIND = "what the answer used"

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
    return _with_ends(names, "ρ with removal", agreement)


def right_frame(result: xr.Dataset) -> pd.DataFrame:
    """Return a row for each signal but removal: the share of answers whose passage it names."""
    return _with_ends(said.signals(result), "names the passage", said.right_share(result))


def _with_ends(names: list[str], label: str, estimate: Estimate) -> pd.DataFrame:
    columns = {"signal": names, label: estimate.value, "low": estimate.low, "high": estimate.high}
    return pd.DataFrame(columns).iloc[1:].reset_index(drop=True)


def chosen_heads(result: xr.Dataset) -> list[str]:
    """Return the names of the chosen heads, those that copy most first."""
    layers, heads = np.nonzero(result["chosen"].values)
    order = np.argsort(-np.nan_to_num(result["retrieval"].values[layers, heads]), kind="stable")
    return [head_name(int(result["layer"][layers[at]]), int(heads[at])) for at in order]


def _agreement(result: xr.Dataset) -> tuple[list[str], Estimate]:
    estimate = estimate_of(result, "agreement")
    if estimate is None:  # of one answer
        estimate = Estimate.with_ends(result["agreement"].values)
    return said.signals(result), estimate


def findings(result: xr.Dataset) -> list[str]:
    """Return the answer of the page, the signals that agree with removal, and the chosen heads."""
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


def headline(result: xr.Dataset) -> Headline:
    """Return the passage that an answer came from; of several, how often attention names it."""
    model = model_name(result.attrs)
    if result.sizes["answer"] > 1:
        counts = (result["passage_text"] != "").sum("passage").values
        least, most = int(counts.min()), int(counts.max())
        each = plural(most, "passage") if least == most else f"{least} to {most} passages"
        answers, written = plural(len(counts), "answer"), int(result.attrs.get("written", 0))
        by_model = (
            "" if written == 0 else f", {written if written < len(counts) else 'all'} its own"
        )
        read = f"{model} read {answers}{by_model}, with {each} each."
        return Headline(said.of_answers(result), read, _pictures_of_several(result), KIND)
    question, answer, passages, falls = _answers(result)[0]
    is_own = bool(result.attrs.get("written", 0))
    posed, given = (f"“{shortened(text, 90)}”" for text in (question, answer))
    from_passages = f"from {plural(len(passages), 'passage')}"
    read = f"{model} answered {given} to {posed}, {from_passages}."
    if not is_own:
        read = f"{model} read the answer {given} to {posed}, {from_passages}."
    title = said.of_answer(np.array(falls))
    return Headline(title, read, _pictures_of_one(result, passages, falls), KIND)


def _pictures_of_one(
    result: xr.Dataset, passages: Sequence[str], falls: Sequence[float]
) -> list[BarList | Block]:
    """Return the passages and how much less likely the answer is without each, by influence."""
    order = sorted(range(len(passages)), key=lambda at: -falls[at])
    shown, others = order[:SHOWN], order[SHOWN:]
    used = said.passages_rested_on(falls)
    most = min(max(CHARACTERS // len(shown), FEWEST), MOST)
    rows = [_passage(at, passages[at], most, is_used=at in used) for at in shown]
    note = said.attention_beside(result)
    if others:
        more = f"{plural(len(others), 'more passage')}: at most {said.factor(falls[others[0]])}×."
        note = f"{more} {note}".strip()
    longest = max(exp(min(falls[order[0]], said.LARGEST)), LONGEST_BAR)
    bars = [
        ValueBar(
            f"passage {at + 1}{', more likely' if said.is_more_likely(falls[at]) else ''}",
            f"{said.factor(abs(falls[at]) if said.is_more_likely(falls[at]) else falls[at])}×",
            0.0 if said.is_more_likely(falls[at]) else exp(min(falls[at], said.LARGEST)) / longest,
        )
        for at in shown
    ]
    return [
        Block("Passages, the one that mattered most first", Markup("").join(rows)),
        BarList("How much less likely the answer is without it", bars, note),
    ]


def _passage(at: int, text: str, most: int, *, is_used: bool) -> Markup:
    """Return a passage with its number; a long one begins shortened, and opens as a whole."""
    whole = printable(" ".join(text.split()))
    number, short = element("b", str(at + 1)), shortened(whole, most)
    kind = f"ranked{' used' if is_used else ''}"
    if short == whole:
        return element("p", number, " ", short, class_=kind, dir="auto")
    # At the end of a word, where one ends in the second half of the room.
    at_word = short[: short.rfind(" ")] if short.rfind(" ") > most // 2 else short[:-1]
    summary = element("summary", number, " ", f"{at_word} …", dir="auto")
    return element("details", summary, element("p", printable(text), dir="auto"), class_=kind)


def _pictures_of_several(result: xr.Dataset) -> list[BarList]:
    """Return how often each signal names the passage that answers rest on, and what these are."""
    names, share = said.signals(result), said.right_share(result)
    rests = [len(said.passages_rested_on(falls)) for _, _, _, falls in _answers(result)]
    bars = [
        ValueBar(said.called(result, name), percent(float(part.value)), float(part.value))
        for at, name in enumerate(names)
        if name not in OF_REMOVAL and np.isfinite((part := share.at(at)).value)
    ]
    bars.sort(key=lambda bar: -bar.share)
    by_chance = said.chance(result)
    if bars:
        bars.append(
            ValueBar("a passage drawn by chance", percent(by_chance), by_chance, "weight", True)
        )
    counts = {
        "one passage": sum(number == 1 for number in rests),
        "several alike": sum(number > 1 for number in rests),
        "no single passage": sum(number == 0 for number in rests),
    }
    used = [ValueBar(label, str(count), count / len(rests)) for label, count in counts.items()]
    signals = BarList("How often it names the passage that the answer rests on", bars)
    rest = BarList(f"What the {len(rests)} answers rest on", used)
    return [signals, rest] if bars else [rest]


def _of_one(result: xr.Dataset) -> list[str]:
    _, _, passages, falls = _answers(result)[0]
    sentences = [said.of_answer(np.array(falls)), said.attention_beside(result)]
    if len(passages) > 1 and not said.passages_rested_on(falls):
        sentences.append("Of two passages that say the same, neither is missed alone.")
    frame = frame_of(result)
    removal = frame["removal"].to_numpy()
    first = int(removal.argmax())
    signals = [str(name) for name in frame.columns[3:] if frame[name].notna().all()]
    same = [name for name in signals if int(frame[name].to_numpy().argmax()) == first]
    others = [name for name in signals if name not in same]
    if len(passages) > 1 and removal[first] > 0 and signals:
        agree = f"is first by {listed([*map(_label, same)])} as well" if same else ""
        differ = f"is not first by {listed([*map(_label, others)])}" if others else ""
        sentences.append(
            f"Passage {first + 1}, without which the log-probability of the answer falls most, by "
            f"{removal[first]:.2f} nats, {' and '.join(filter(None, (agree, differ)))}."
        )
    sentences.append(
        "Of one answer, which signal agrees with removal is inconclusive: give several examples."
    )
    return [*filter(None, sentences)]


def _of_several(result: xr.Dataset) -> list[str]:
    names, agreement = _agreement(result)
    use = [at for at, name in enumerate(names) if name not in OF_REMOVAL]
    use = [at for at in use if np.isfinite(agreement.value[at])]
    title = said.of_answers(result)
    if not use:
        return [
            title,
            "No answer has five passages or more, so that their order by other signals is not "
            "compared with that by removal.",
        ]
    part = agreement.at((use,))
    best = use[int(np.argmax(part.value))]
    tied = [_label(names[use[at]]) for at in np.flatnonzero(part.ties())]
    name, agree = _label(names[best]), "agrees" if names[best] == "predict" else "agree"
    ranked = plural(int(np.isfinite(result["rank"].values[:, 0]).sum()), "answer")
    sentences = [
        title,
        f"Over {ranked}, {name} {agree} best with removal: "
        f"Spearman's ρ {_number(agreement.at(best))}.",
    ]
    if len(tied) > 1:
        sentences[1:] = [
            f"Over {ranked}, which of {listed(tied)} agrees best with removal is "
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
    frame, agreement, right = frame_of(result), agreement_frame(result), right_frame(result)
    count = result.sizes["answer"]
    several = count > 1
    names = result["signal"].values.astype(str)
    kinds = dict.fromkeys(name.partition(" by ")[0] for name in names)
    explained = "; ".join(f"{kind}: {SIGNALS[kind]}" for kind in kinds)
    formats = dict.fromkeys(names.tolist(), ".3f")
    digits = dict.fromkeys(agreement.columns[1:], ".2f")
    shares = dict.fromkeys(right.columns[1:], ".0%")
    caption = "each signal's share of its sum of absolute values"
    drawn = Drawing(FIRST, caption, f"Bars: {caption}.", lambda: _shares(frame, list(names)))
    ranked = "Spearman's ρ with removal over the passages of an answer, mean over answers"
    dots = Drawing("agreement", ranked, f"Dots: {ranked}.", lambda: _agreements(result))
    is_ranked = bool(agreement["ρ with removal"].notna().any())
    compared = Section(
        "agreement",
        "Which signal agrees with removal",
        "Of answers that rest on one of several passages, the share in which the signal is largest "
        "for that passage; and the mean of Spearman's ρ over the passages of answers that have "
        "five or more. The intervals are of 95%.",
        drawings=[dots] if is_ranked else [],
        tables=[
            Table("right", "Answers whose passage a signal names", right, shares),
            *(
                [Table("agreement", "Order of the passages", agreement, digits)]
                if is_ranked
                else []
            ),
            *_means(result),
        ],
    )
    return [
        Section(
            "passages",
            "Passages by each signal",
            f"Means over {_orders(result)}. {explained[0].upper()}{explained[1:]}.",
            "Cohen-Wang et al. (2024); Wu et al. (2024)",
            [] if several else [drawn],
            [Table("passages", "A row for each passage", frame, formats)],
        ),
        Section(
            "answers",
            "The answers and their passages" if several else "The answer and its passages",
            "The stronger the colour of a passage, the more the log-probability of its answer "
            "falls without it; each answer has a scale of its own. An answer rests on a passage "
            f"without which it is at least {USED:.0f} times less likely; on that alone, where it "
            f"is {USED:.0f} times less likely than without any other."
            + (f" The first {MARKED} of {count} answers." if count > MARKED else ""),
            html=Markup("").join(map(_marked, _answers(result)[:MARKED])),
        ),
        *([compared] if several else []),
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
