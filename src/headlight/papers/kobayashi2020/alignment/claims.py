"""What the paper concludes about word alignment, and whether it is so here."""

from collections.abc import Mapping

import xarray

from headlight.findings.rules import RELATED
from headlight.papers.claims import Claim, claims_content
from headlight.papers.exhibit import Content, exhibit
from headlight.papers.kobayashi2020 import published
from headlight.papers.kobayashi2020.alignment.aligners import KNOWN, OtherAligner, all_others
from headlight.papers.kobayashi2020.alignment.heads import highest_layer, spearman
from headlight.papers.kobayashi2020.alignment.results import (
    SMOOTHGRADS,
    STEPS,
    InputMethod,
    Rate,
    alignment_notes,
    best_layer,
    load_attention,
    load_inputs,
    max_gradients,
)
from headlight.papers.reproduction import Reproduction
from headlight.papers.writer import ExhibitWriter

FAST_ALIGN = KNOWN["fastalign"]


@exhibit(
    "findings-5",
    "Which findings on word alignment hold",
    "Kobayashi et al. (2020), Section 5, and the version at EMNLP",
    ("translator", "gold"),
)
def findings_5(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """The findings of Section 5, each with the rule by which it holds or not."""
    found = load_attention(reproduction)
    others, _ = all_others(reproduction)
    most = max_gradients(reproduction)
    same = found if most is None else load_attention(reproduction, most)
    gradients = {method: load_inputs(reproduction, method) for method in SMOOTHGRADS}
    judged = [
        *norms_above_weights(found),
        input_above_output(found),
        second_layer(found),
        *as_good_as_fast_align(found, others),
        *norms_above_gradients(same, gradients),
        norm_finds_layer(found),
        norms_of_heads(found),
    ]
    notes = [
        "Where nothing else is said, numbers are AER in percent with their intervals; each is that "
        "of another exhibit on this page, where it is explained.",
        *alignment_notes(reproduction),
    ]
    if most is not None:
        notes.append(f"Norms and gradients are compared on the same first {most} pairs.")
    return claims_content(writer, judged, notes, "translators")


def norms_above_weights(found: xarray.Dataset) -> list[Claim]:
    """Section 5: (1) norms tell another story than weights, and (2) a better one."""
    claims = []
    for step, name in STEPS.items():
        weight, norm = (best_layer(found, measure, step)[1] for measure in ("weight", "norm"))
        there = [published.FIVE_SEEDS[measure, step][0] for measure in ("weight", "norm")]
        claims.append(
            Claim(
                f"Norms align better than weights ({name})",
                "of the best layers, the interval of norms lies below that of weights",
                f"{there[1]}; weights {there[0]}",
                f"{norm}; weights {weight}",
                norm.is_below(weight),
            )
        )
    return claims


def input_above_output(found: xarray.Dataset) -> Claim:
    """EMNLP: the step that reads a word tells more than that which predicts it."""
    reads, predicts = (best_layer(found, "norm", step)[1] for step in STEPS)
    there = [published.FIVE_SEEDS["norm", step][0] for step in STEPS]
    return Claim(
        "AWI is better than AWO",
        "of the best layers by norms, the interval of AWI lies below that of AWO",
        f"{there[0]}; AWO {there[1]}",
        f"{reads}; AWO {predicts}",
        reads.is_below(predicts),
    )


def second_layer(found: xarray.Dataset) -> Claim:
    """Figure 7: the words are linked in an early layer."""
    layer = best_layer(found, "norm", "input")[0] + 1
    return Claim(
        "The best layer is the second (AWI)",
        f"by norms, layer {published.BEST_LAYER} has the lowest AER",
        f"layer {published.BEST_LAYER} of {len(published.FIGURE_7['norm'])}",
        f"layer {layer} of {found.sizes['layer']}",
        layer == published.BEST_LAYER,
    )


def as_good_as_fast_align(found: xarray.Dataset, others: list[OtherAligner]) -> list[Claim]:
    """Section 5: the translator is as good an aligner as a word aligner; judged if there is one."""
    norm = best_layer(found, "norm", "input")[1]
    aligner = next((other for other in others if other.published == FAST_ALIGN), None)
    if aligner is None:
        return []
    there = published.TABLE_3["norm", "best"], published.TABLE_3_OTHERS[FAST_ALIGN]
    return [
        Claim(
            "Norms are competitive with fast_align",
            "the interval of the best layer by norms (AWI) is not above that of fast_align",
            f"{there[0]}; fast_align {there[1]}",
            f"{norm}; it {aligner.rate}",
            not aligner.rate.is_below(norm),
        )
    ]


def norms_above_gradients(
    found: xarray.Dataset, gradients: Mapping[InputMethod, Rate]
) -> list[Claim]:
    """Section 5: and a better one than gradients."""
    norm = best_layer(found, "norm", "input")[1]
    there = published.TABLE_3["norm", "best"]
    return [
        Claim(
            f"Norms beat {method.label}",
            "the interval of the best layer by norms (AWI) lies below that of gradients",
            f"{there}; SmoothGrad {published.TABLE_3_OTHERS[method.form]}",
            f"{norm}; it {rate}",
            norm.is_below(rate),
        )
        for method, rate in gradients.items()
    ]


def norm_finds_layer(found: xarray.Dataset) -> Claim:
    """EMNLP: the best layer can be found without gold links."""
    layer, rate = highest_layer(found, "input")
    best, lowest = best_layer(found, "norm", "input")
    there = published.HIGHEST_NORM["layer", "input"]
    return Claim(
        "The layer of the highest norm is the best",
        "the layer of the highest mean norm has the lowest AER by norms (AWI)",
        f"{there}; best layer {published.FIVE_SEEDS['norm', 'input'][0]}",
        f"{rate.value:.1f} (layer {layer + 1}); best {lowest.value:.1f} (layer {best + 1})",
        layer == best,
    )


def norms_of_heads(found: xarray.Dataset) -> Claim:
    """EMNLP: heads that move much link words well with AWI, and badly with AWO."""
    here = {step: spearman(found, step) for step in STEPS}
    there = published.HEAD_SPEARMAN
    return Claim(
        "Heads of high norm: good AWI, bad AWO",
        f"ρ of AER and mean norm is at most {-RELATED} with AWI and at least {RELATED} with AWO",
        f"ρ {there['input']:.2f}; AWO {there['output']:.2f}",
        f"ρ {here['input']:.2f}; AWO {here['output']:.2f}",
        here["input"] <= -RELATED and here["output"] >= RELATED,
    )
