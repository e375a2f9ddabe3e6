"""Claims of Jain and Wallace (2019), and the rules by which they hold."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas

from headlight.result.estimate import Estimate
from headlight.views.parts import Section
from headlight_papers.papers.answers import all_of, any_of, mean_of, median_of, within
from headlight_papers.papers.claims import Claim, claims_content
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jain2019 import published
from headlight_papers.papers.jain2019.exhibit import exhibit
from headlight_papers.papers.jain2019.figure_3_4_5_agreement import between, gain
from headlight_papers.papers.jain2019.results import load_all, notes_of
from headlight_papers.papers.jain2019.table_2_correlations import frame_of
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.training.text_encoders import Encoder

MODEST = 0.5
"""Mean τ below which there is no strong agreement."""
UNMOVED = 0.1
"""Change of the probability that leaves most decisions unchanged."""
FAR = 0.35
"""Half of the bound of JSD, ln 2."""

BOTH = (
    "τ (gradient, left out) is above both τ of attention on the same texts; numbers are the "
    "smaller difference"
)

Frames = Mapping[tuple[str, Encoder], pandas.DataFrame]
Numbers = Callable[[Frames, str], Sequence[Estimate]]
Released = Callable[[published.Released, published.Released], float]


@dataclass(frozen=True)
class SetRule:
    """Conclusion that holds if it does on every set.

    Attributes:
        claim: See `Claim`, also for `rule`.
        rule: Rule in words.
        numbers: Numbers of a set, by its title; the smallest is printed.
        released: Numbers of the released results of the BiLSTM and of ``average``, or a text.
        bounds: Bounds of each number, see `within`.
        one_suffices: Whether one of a set's numbers is enough.
    """

    claim: str
    rule: str
    numbers: Numbers
    released: Released | str
    bounds: Mapping[str, float]
    one_suffices: bool = False

    def judge(self, frames: Frames) -> Claim:
        """Return the claim on these models."""
        # Each set is there once for each encoder.
        titles = list(dict.fromkeys(title for title, _ in frames))
        numbers = {title: self.numbers(frames, title) for title in titles}
        join = any_of if self.one_suffices else all_of
        # The smallest decides where all have to hold, and is the one to be printed.
        smallest = {
            title: min(estimates, key=lambda estimate: estimate.value)
            for title, estimates in numbers.items()
        }
        return Claim(
            self.claim,
            self.rule,
            self.released if isinstance(self.released, str) else _quote(self.released, titles),
            ", ".join(f"{title} {number:.3f}" for title, number in smallest.items()),
            all_of(
                *(
                    join(*(within(estimate, **self.bounds) for estimate in estimates))
                    for estimates in numbers.values()
                )
            ),
            extension=self.released == NOT_ASKED,
        )


def _quote(released: Released, titles: Sequence[str]) -> str:
    """Return the released numbers of those sets that are read here."""
    known = published.RELEASED
    pair: tuple[Encoder, ...] = ("lstm", "average")
    numbers = {
        title: released(*(known[title, encoder] for encoder in pair))
        for title in titles
        if (title, "lstm") in known
    }
    quoted = ", ".join(f"{title} {value:.2f}" for title, value in numbers.items())
    return f"{quoted} (released results)".replace("-", "−") if numbers else "other sets"


def _column(
    name: str, statistic: Callable[["pandas.Series[float]"], Estimate] = mean_of
) -> Numbers:
    return lambda frames, title: [statistic(frames[title, "lstm"][name])]


def _gains(encoder: Encoder) -> Numbers:
    pairs = ("attention_gradient", "attention_left_out")
    # Paired by text: the gain of a text is between two correlations of the same words.
    return lambda frames, title: [mean_of(gain(frames[title, encoder], pair)) for pair in pairs]


def _least(released: published.Released) -> float:
    others = (released.attention_gradient.mean, released.attention_left_out.mean)
    # As with our numbers, the larger of attention's correlations is subtracted.
    return released.gradient_left_out.mean - max(others)


NOT_ASKED = "not asked"
RULES = (
    SetRule(
        "1. Attention agrees only modestly with gradients",
        f"for the BiLSTM the mean τ is below {MODEST} on every set",
        _column("attention_gradient"),
        lambda lstm, _: lstm.attention_gradient.mean,
        {"below": MODEST},
    ),
    SetRule(
        "2. In context gradients agree with leaving out",
        f"for the BiLSTM on every set {BOTH}",
        _gains("lstm"),
        lambda lstm, _: _least(lstm),
        {"above": 0.0},
    ),
    SetRule(
        "3. Not so where words are encoded one by one",
        "for “average” on every set τ (gradient, left out) is at most as large as one of the two τ "
        "of attention on the same texts; numbers are the smaller difference",
        _gains("average"),
        lambda _, average: _least(average),
        {"most": 0.0},
        one_suffices=True,
    ),
    SetRule(
        "4. The contextual encoder breaks the relation",
        "τ (attention, left out) is larger for “average” than for the BiLSTM on the same texts of "
        "every set",
        lambda frames, title: [mean_of(between(frames, title, "lstm"))],
        lambda lstm, average: average.attention_left_out.mean - lstm.attention_left_out.mean,
        {"above": 0.0},
    ),
    SetRule(
        "5. Other attention gives the same predictions",
        f"for the BiLSTM the mean ε-max JSD is at least {FAR}, half of its bound, on every set",
        _column("jsd"),
        lambda lstm, _: sum(lstm.jsd) / 2,
        {"least": FAR},
    ),
    SetRule(
        "6. Permuted attention does little",
        f"for the BiLSTM the median text of every set moves by at most {UNMOVED}",
        _column("permuted", median_of),
        "in figures",
        {"most": UNMOVED},
    ),
    SetRule(
        "7. A Transformer layer is like the BiLSTM",
        f"for the Transformer on every set {BOTH}",
        _gains("transformer"),
        NOT_ASKED,
        {"above": 0.0},
    ),
)
"""Sections 4.1 (1 to 4, with Figures 3 to 5) and 4.2 (5 and 6); the last is ours."""


def judge_claims(frames: Frames) -> list[Claim]:
    """Return every claim about the measurements of single texts, by set and encoder."""
    return [rule.judge(frames) for rule in RULES]


@exhibit("findings", "Sections 4 and 5", title="What the paper concludes, and what is so here")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The conclusions, each judged by a rule that is stated."""
    results = load_all(reproduction)
    judged = judge_claims({key: frame_of(result) for key, result in results.items()})
    return claims_content(writer, judged, notes_of(reproduction, results), "classifiers of texts")
