"""Alignment by the translator: its results, by attention and by inputs, and notes on it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from headlight import Model
from headlight.findings.estimates import Estimate, estimates
from headlight_papers.papers.kobayashi2020 import Settings
from headlight_papers.papers.notes import model_name
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.translations import AlignedPairs

STEPS = {"input": "AWI", "output": "AWO"}
"""Row of cross-attention that represents a target word, as the paper abbreviates it: of the step
that reads the word, or of the step that predicts it."""

LABELS = {"weight": "weights", "norm": "norms", "effective": "effective attention"}


@dataclass(frozen=True)
class InputMethod:
    """Method that links words by the input of the whole model.

    Attributes:
        measure: Name of the measure: ``difference``, ``gradient`` or ``smoothgrad``.
        form: Form of gradients, see `InputMeasureSettings`; empty where there are none.
        label: Printed name.
    """

    measure: str
    form: str
    label: str


SMOOTHGRADS = (
    InputMethod("smoothgrad", "size", "SmoothGrad (Li et al. 2016)"),
    InputMethod("smoothgrad", "input", "SmoothGrad (Ding et al. 2019)"),
)
INPUT_METHODS = (
    InputMethod("gradient", "size", "gradient (Li et al. 2016)"),
    InputMethod("gradient", "input", "gradient (Ding et al. 2019)"),
    *SMOOTHGRADS,
    InputMethod("difference", "", "difference (Li et al. 2019)"),
)


def translator_of(reproduction: Reproduction) -> Model:
    """Return the translation model, which is there if an exhibit that needs one is made."""
    translator = reproduction.translator
    assert translator is not None  # noqa: S101 - the exhibits need it
    return translator


def aligned_of(reproduction: Reproduction) -> AlignedPairs:
    """Return the translations and their gold links, which are there by then too."""
    aligned = reproduction.sources.aligned
    assert aligned is not None  # noqa: S101 - the exhibits need it
    return aligned


def load_attention(reproduction: Reproduction, max_pairs: int | None = None) -> xarray.Dataset:
    """Load weights, norms and effective attention of every layer and head, in one pass."""
    # The first pairs alone are another result, which must not replace that of all.
    name = "alignment" if max_pairs is None else "alignment-first"
    return _load(reproduction, name, measures=tuple(LABELS), max_examples=max_pairs)


def load_inputs(reproduction: Reproduction[Settings], method: InputMethod) -> Estimate:
    """Load the error rate of a measure of the input.

    Of gradients as Ding et al. link: each piece of the target to one of the source, words by all
    links of their pieces.
    """
    settings: dict[str, Any] = {
        "measures": (method.measure,),
        "max_examples": max_gradients(reproduction),
    }
    if method.form:
        # As Ding et al. link: each piece of the target to one of the source.
        settings |= {"inputs": {"form": method.form}, "unit": "piece"}
        if method.measure == "smoothgrad":
            options = reproduction.settings
            settings["inputs"] |= {"samples": options.samples, "seed": options.seed}
    name = "-".join(filter(None, ("alignment", method.measure, method.form)))
    result = _load(reproduction, name, **settings)
    return estimates(result, "input_error_rate", (), input_measure=method.measure)


def max_gradients(reproduction: Reproduction[Settings]) -> int | None:
    """Return the number of translations whose gradients are taken; None for all."""
    most = reproduction.settings.max_gradients
    pairs = len(aligned_of(reproduction).pairs)
    return most if most < pairs else None


def _load(reproduction: Reproduction[Settings], name: str, **settings: Any) -> xarray.Dataset:
    sources = reproduction.sources
    return reproduction.run(
        "alignment",
        sources.translations,
        reads=(sources.translations, sources.translations_target, sources.gold),
        name=name,
        model=translator_of(reproduction),
        target=sources.translations_target,
        gold=sources.gold,
        **settings,
    )


def layer_rates(result: xarray.Dataset, measure: str, step: str) -> Estimate:
    """Return the error rates of all layers."""
    return estimates(result, "error_rate", ("layer",), measure=measure, step=step)


def lowest(rates: Estimate) -> int:
    """Return where the lowest rate stands."""
    # A layer without a rate is never the lowest.
    return int(np.nan_to_num(rates.value, nan=np.inf).argmin())


def best_layer(result: xarray.Dataset, measure: str, step: str) -> tuple[int, Estimate]:
    """Return the layer with the lowest error rate by the gold links, from 0, and that rate."""
    rates = layer_rates(result, measure, step)
    place = lowest(rates)
    return int(result["layer"][place]), rates.at(place)


def mean_of_layers(result: xarray.Dataset, measure: str, step: str) -> float:
    """Return the mean error rate of all layers, in percent."""
    return 100 * float(result["error_rate"].sel(measure=measure, step=step).mean())


def rates_by_method(result: xarray.Dataset, variable: str) -> dict[str, xarray.DataArray]:
    """Return error rates in percent, by measure and step."""
    return {
        f"{label}, {name}": 100 * result[variable].sel(measure=measure, step=step)
        for step, name in STEPS.items()
        for measure, label in LABELS.items()
    }


def translator_note(reproduction: Reproduction) -> str:
    """Return the note on the translator, beside the paper's."""
    translator = translator_of(reproduction)
    layers = translator.sites_of("cross")
    return (
        f"Translator: {model_name(translator.name)}, {len(layers)} decoder layers of "
        f"{layers[0].heads} heads; the paper's has 6 of 8 (those at EMNLP 6 of 4), trained on "
        "millions of sentence pairs."
    )


def alignment_notes(reproduction: Reproduction) -> list[str]:
    """Return notes on how translator and gold links differ from the paper's."""
    aligned = aligned_of(reproduction)
    sure = sum(len(gold.sure) for gold in aligned.gold)
    possible = sum(len(gold.possible) for gold in aligned.gold)
    name = Path(reproduction.sources.translations or "")
    return [
        translator_note(reproduction),
        f"The gold links are {sure:,} sure ones and {possible - sure:,} that are only possible, of "
        f"{len(aligned.pairs):,} pairs from {name.parent.name or name.name}; the paper's are of "
        "508 pairs of Europarl (Vilar et al. 2006).",
    ]
