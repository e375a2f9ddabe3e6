"""Claims of Jain and Wallace (2019), the rules by which they hold, and the exhibits in order."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pandas

from headlight.result.estimate import Estimate
from headlight.views.parts import Section
from headlight_papers.papers.claims import (
    Answer,
    Claim,
    claims_content,
    every,
    lies,
    mean_of,
    median_of,
    some,
)
from headlight_papers.papers.exhibit import Paper, exhibit
from headlight_papers.papers.jain2019 import Settings, published
from headlight_papers.papers.jain2019.figures import (
    between,
    figure_2,
    figure_3,
    figure_6,
    figure_7,
    figure_8,
    gain,
)
from headlight_papers.papers.jain2019.results import (
    SOURCE,
    frame_of,
    load_all,
    notes_of,
    table_1,
    table_2,
)
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.writer import ExhibitWriter
from headlight_papers.training.text_classifier import Encoder

MODEST = 0.5
"""A mean τ below this is no strong agreement."""
UNMOVED = 0.1
"""A change of the probability that leaves most decisions as they are."""
FAR = 0.35
"""Half of the bound of JSD, ln 2."""

BOTH = (
    "τ (gradient, left out) is above both τ of attention on the same texts; numbers are the "
    "smaller difference"
)

Frames = Mapping[tuple[str, Encoder], pandas.DataFrame]


def modest(frames: Frames) -> Claim:
    """Section 4.1: attention agrees only modestly with gradients where words are in context."""
    found = _by_set(frames, lambda title: mean_of(frames[title, "lstm"].attention_gradient))
    return Claim(
        "1. Attention agrees only modestly with gradients",
        f"for the BiLSTM the mean τ is below {MODEST} on every set",
        _released(frames, lambda lstm, _: lstm.attention_gradient.mean),
        _written(found),
        every(*(lies(one, below=MODEST) for one in found.values())),
    )


def gradients_agree_more(frames: Frames) -> Claim:
    """Figures 3 and 4: gradients and leaving out agree better with each other."""
    return Claim(
        "2. In context gradients agree with leaving out",
        f"for the BiLSTM on every set {BOTH}",
        _released(frames, lambda lstm, _: _least(lstm)),
        _written(_least_gains(frames, "lstm")),
        every(*_above_both(frames, "lstm")),
    )


def not_without_context(frames: Frames) -> Claim:
    """Return the claim with words encoded one by one: attention agrees as well."""
    return Claim(
        "3. Not so where words are encoded one by one",
        "for “average” on every set τ (gradient, left out) is at most as large as one of the two τ "
        "of attention on the same texts; numbers are the smaller difference",
        _released(frames, lambda _, average: _least(average)),
        _written(_least_gains(frames, "average")),
        every(
            *(
                some(*(lies(one, most=0) for one in both))
                for both in _gains(frames, "average").values()
            )
        ),
    )


def context_breaks(frames: Frames) -> Claim:
    """Figure 5: attention agrees with leaving out better without context."""
    found = _by_set(frames, lambda title: mean_of(between(frames, title, "lstm")))
    return Claim(
        "4. The contextual encoder breaks the relation",
        "τ (attention, left out) is larger for “average” than for the BiLSTM on the same texts of "
        "every set",
        _released(
            frames,
            lambda lstm, average: average.attention_left_out.mean - lstm.attention_left_out.mean,
        ),
        _written(found),
        every(*(lies(one, above=0) for one in found.values())),
    )


def others_exist(frames: Frames) -> Claim:
    """Section 4.2.2: very different attention gives the same prediction."""
    found = _by_set(frames, lambda title: mean_of(frames[title, "lstm"].jsd))
    return Claim(
        "5. Other attention gives the same predictions",
        f"for the BiLSTM the mean ε-max JSD is at least {FAR}, half of its bound, on every set",
        _released(frames, lambda lstm, _: sum(lstm.jsd) / 2),
        _written(found),
        every(*(lies(one, least=FAR) for one in found.values())),
    )


def permuting_does_little(frames: Frames) -> Claim:
    """Section 4.2.1: permuted attention often gives the same prediction."""
    found = _by_set(frames, lambda title: median_of(frames[title, "lstm"].permuted))
    return Claim(
        "6. Permuted attention does little",
        f"for the BiLSTM the median text of every set moves by at most {UNMOVED}",
        "in figures",
        _written(found),
        every(*(lies(one, most=UNMOVED) for one in found.values())),
    )


def transformer_alike(frames: Frames) -> Claim:
    """Not in the paper: the second claim of another contextual encoder."""
    return Claim(
        "7. A Transformer layer is like the BiLSTM",
        f"for the Transformer on every set {BOTH}",
        "not asked",
        _written(_least_gains(frames, "transformer")),
        every(*_above_both(frames, "transformer")),
        extension=True,
    )


def _by_set(frames: Frames, number: Callable[[str], Estimate]) -> dict[str, Estimate]:
    return {title: number(title) for title in _titles(frames)}


def _titles(frames: Frames) -> list[str]:
    return list(dict.fromkeys(title for title, _ in frames))


def _gains(frames: Frames, encoder: Encoder) -> dict[str, list[Estimate]]:
    """By how much τ (gradient, left out) is above either τ of attention."""
    pairs = ("attention_gradient", "attention_left_out")
    return {
        title: [mean_of(gain(frames[title, encoder], pair)) for pair in pairs]
        for title in _titles(frames)
    }


def _least_gains(frames: Frames, encoder: Encoder) -> dict[str, Estimate]:
    return {
        title: min(both, key=lambda one: one.value)
        for title, both in _gains(frames, encoder).items()
    }


def _above_both(frames: Frames, encoder: Encoder) -> Iterable[Answer]:
    return [
        every(*(lies(one, above=0) for one in both)) for both in _gains(frames, encoder).values()
    ]


def _least(known: published.Released) -> float:
    others = (known.attention_gradient.mean, known.attention_left_out.mean)
    return known.gradient_left_out.mean - max(others)


def _written(found: Mapping[str, Estimate]) -> str:
    return ", ".join(f"{title} {number:.3f}" for title, number in found.items())


def _released(
    frames: Frames, number: Callable[[published.Released, published.Released], float]
) -> str:
    """Return the released results of those sets that are read here."""
    there = {
        title: number(published.RELEASED[title, "lstm"], published.RELEASED[title, "average"])
        for title in _titles(frames)
        if (title, "lstm") in published.RELEASED
    }
    said = ", ".join(f"{title} {value:.2f}" for title, value in there.items()).replace("-", "−")
    return f"{said} (released results)" if there else "other sets"


@exhibit("findings", "What the paper concludes, and what is so here", f"{SOURCE}, Sections 4 and 5")
def findings(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """The conclusions, each judged by a rule that is stated."""
    results = load_all(reproduction)
    frames = {key: frame_of(found) for key, found in results.items()}
    found = [
        modest(frames),
        gradients_agree_more(frames),
        not_without_context(frames),
        context_breaks(frames),
        others_exist(frames),
        permuting_does_little(frames),
        transformer_alike(frames),
    ]
    return claims_content(writer, found, notes_of(reproduction, results), "classifiers of texts")


PAPER = Paper(
    name="jain2019",
    settings=Settings,
    introduction="Small classifiers of texts weigh the states of their words by one attention. Its "
    "weights are compared with what gradients say of each word, and with what predictions lose "
    "without it; they are permuted, and replaced by the most different ones that leave the "
    "prediction as it is. The tables and figures of the paper are reproduced, with the numbers of "
    "the authors' released results beside ours, which are of other texts: directions can be "
    "compared, and not digits. The models are trained here; those that are finished are kept, so "
    "that an interrupted reproduction goes on from them.",
    exhibits=tuple(
        replace(each, needs=("labelled",))
        for each in (findings, table_1, table_2, figure_2, figure_3, figure_6, figure_7, figure_8)
    ),
)
