"""The rules by which the paper's conclusions hold."""

from collections.abc import Callable, Mapping

import pandas

from headlight.papers.claims import Claim
from headlight.papers.jain2019 import published
from headlight.papers.jain2019.figures import gain
from headlight.papers.text_classifiers.models import Encoder
from headlight.papers.yang2020.intervals import Interval, interval

MODEST = 0.5
"""A mean τ below this is no strong agreement."""
UNMOVED = 0.1
"""A change of the probability that leaves most decisions as they are."""
FAR = 0.35
"""Half of the bound of JSD, ln 2."""

Frames = Mapping[tuple[str, Encoder], pandas.DataFrame]


def modest(frames: Frames) -> Claim:
    """Section 4.1: attention agrees only modestly with gradients where words are in context."""
    found = _by_set(frames, "lstm", lambda frame: frame.attention_gradient.dropna())
    return Claim(
        "1. Attention agrees only modestly with gradients",
        f"for the BiLSTM the mean τ is below {MODEST} on every set",
        _released("lstm", lambda known: known.attention_gradient.mean),
        _written(found),
        all(one.mean < MODEST for one in found.values()),
    )


def gradients_agree_more(frames: Frames, encoder: Encoder = "lstm") -> Claim:
    """Figures 3 and 4: gradients and leaving out agree better with each other."""
    other = _by_set(frames, encoder, lambda frame: gain(frame, "attention_gradient"))
    left_out = _by_set(frames, encoder, lambda frame: gain(frame, "attention_left_out"))
    of_paper = encoder == "lstm"
    return Claim(
        "2. In context, gradients agree with leaving out, and attention with neither"
        if of_paper
        else "6. So it is for a Transformer layer (our extension)",
        f"for the {'BiLSTM' if of_paper else 'Transformer'} τ (gradient, left out) is above τ "
        "(attention, gradient) and τ (attention, left out) on every set, the 95% intervals of the "
        "differences on the same texts above 0",
        _released(
            "lstm", lambda known: known.gradient_left_out.mean - known.attention_gradient.mean
        )
        if of_paper
        else "not asked",
        f"by {_written(other)} above the first, {_written(left_out)} above the second",
        all(one.mean - one.half > 0 for one in (*other.values(), *left_out.values())),
    )


def not_without_context(frames: Frames) -> Claim:
    """The same with words encoded one by one: attention agrees as well."""
    found = _by_set(frames, "average", lambda frame: gain(frame, "attention_gradient"))
    return Claim(
        "3. Not so where words are encoded one by one",
        "for “average” τ (gradient, left out) is not above τ (attention, gradient) in the mean, on "
        "every set",
        _released(
            "average", lambda known: known.gradient_left_out.mean - known.attention_gradient.mean
        ),
        f"by {_written(found)} above",
        all(one.mean <= 0 for one in found.values()),
    )


def context_breaks(frames: Frames) -> Claim:
    """Figure 5: attention agrees with leaving out better without context."""
    titles = [title for title, encoder in frames if encoder == "lstm"]
    found = {
        title: interval(
            (
                frames[title, "average"].attention_left_out
                - frames[title, "lstm"].attention_left_out
            ).dropna()
        )
        for title in titles
    }
    return Claim(
        "4. The contextual encoder breaks the relation",
        "τ (attention, left out) is larger for “average” than for the BiLSTM on every set, the 95% "
        "interval of the difference on the same texts above 0",
        ", ".join(
            f"{title} {_left_out(title, 'average') - _left_out(title, 'lstm'):+.2f}"
            for title in titles
            if (title, "lstm") in published.RELEASED
        ),
        _written(found, "+.2f"),
        all(one.mean - one.half > 0 for one in found.values()),
    )


def others_exist(frames: Frames) -> Claim:
    """Section 4.2: very different attention gives the same prediction."""
    found = _by_set(frames, "lstm", lambda frame: frame.jsd.dropna())
    moved = {
        title: float(frame.permuted.median())
        for (title, encoder), frame in frames.items()
        if encoder == "lstm"
    }
    return Claim(
        "5. Other attention gives the same predictions",
        f"for the BiLSTM the mean ε-max JSD is at least {FAR}, half of its bound, on every set, "
        f"and permuted weights move the median text by at most {UNMOVED}",
        _released("lstm", lambda known: sum(known.jsd) / 2),
        f"JSD {_written(found)}; permuted "
        + ", ".join(f"{title} {value:.2f}" for title, value in moved.items()),
        all(one.mean >= FAR for one in found.values())
        and all(value <= UNMOVED for value in moved.values()),
    )


def _left_out(title: str, encoder: Encoder) -> float:
    return published.RELEASED[title, encoder].attention_left_out.mean


def _by_set(
    frames: Frames,
    encoder: Encoder,
    values: Callable[[pandas.DataFrame], "pandas.Series[float]"],
) -> dict[str, Interval]:
    return {
        title: interval(values(frame)) for (title, each), frame in frames.items() if each == encoder
    }


def _written(found: Mapping[str, Interval], format: str = ".2f") -> str:
    return ", ".join(
        f"{title} {one.mean:{format}} ± {one.half:.2f}" for title, one in found.items()
    )


def _released(encoder: Encoder, number: Callable[[published.Released], float]) -> str:
    return ", ".join(
        f"{title} {number(known):.2f}"
        for (title, each), known in published.RELEASED.items()
        if each == encoder
    )
