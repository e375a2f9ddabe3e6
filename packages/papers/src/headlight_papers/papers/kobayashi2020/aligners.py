"""Aligners of Section 5 and Appendix E: the translator, other aligners, and their results."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import numpy as np
import xarray

from headlight import Model
from headlight.corpora import open_parallel
from headlight.errors import UsageError
from headlight.findings.estimates import Estimate, estimates
from headlight.links import Aligner, LinkScore, baseline_links, open_links, score_links
from headlight_papers.papers.kobayashi2020 import Settings
from headlight_papers.papers.reproduction import Reproduction, model_name, states_of
from headlight_papers.papers.translations import AlignedPairs, link_file_name

STEPS = {"input": "AWI", "output": "AWO"}
"""The row of cross-attention that speaks for a target word: of the step that reads it, or of that
which predicts it; as the paper abbreviates them."""

LABELS = {"weight": "weights", "norm": "norms", "effective": "effective attention"}


@dataclass(frozen=True)
class InputMethod:
    """A way to link words by the input of the whole model.

    Attributes:
        measure: ``difference``, ``gradient`` or ``smoothgrad``.
        form: of gradients, see `InputMeasureSettings`; empty where there are none.
        label: what it is called.
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
    """The translation model, which is there if an exhibit that needs one is made."""
    translator = reproduction.translator
    assert translator is not None  # noqa: S101 - the exhibits need it
    return translator


def aligned_of(reproduction: Reproduction) -> AlignedPairs:
    """The translations and their gold links, which are there by then too."""
    aligned = reproduction.sources.aligned
    assert aligned is not None  # noqa: S101 - the exhibits need it
    return aligned


def load_attention(reproduction: Reproduction, max_pairs: int | None = None) -> xarray.Dataset:
    """Weights, norms and effective attention of every layer and head, in one pass."""
    name = "alignment" if max_pairs is None else "alignment-first"
    return _load(reproduction, name, measures=tuple(LABELS), max_examples=max_pairs)


def load_inputs(reproduction: Reproduction[Settings], method: InputMethod) -> Estimate:
    """The error rate of a measure of the input.

    Of gradients as Ding et al. link: each piece of the target to one of the source, words by all
    links of their pieces.
    """
    settings: dict[str, Any] = {
        "measures": (method.measure,),
        "max_examples": max_gradients(reproduction),
    }
    if method.form:
        settings |= {"inputs": {"form": method.form}, "unit": "piece"}
        if method.measure == "smoothgrad":
            options = reproduction.settings
            settings["inputs"] |= {"samples": options.samples, "seed": options.seed}
    name = "-".join(filter(None, ("alignment", method.measure, method.form)))
    result = _load(reproduction, name, **settings)
    return estimates(result, "input_error_rate", (), input_measure=method.measure)


def max_gradients(reproduction: Reproduction[Settings]) -> int | None:
    """The translations of which gradients are taken; None for all."""
    most = reproduction.settings.max_gradients
    every = len(aligned_of(reproduction).pairs)
    return most if most < every else None


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
    return int(np.nan_to_num(rates.value, nan=np.inf).argmin())


def best_layer(result: xarray.Dataset, measure: str, step: str) -> tuple[int, Estimate]:
    """The layer with the lowest error rate by the gold links, from 0, and that rate."""
    rates = layer_rates(result, measure, step)
    place = lowest(rates)
    return int(result["layer"][place]), rates.at(place)


def mean_of_layers(result: xarray.Dataset, measure: str, step: str) -> float:
    """The mean error rate of all layers, in percent."""
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
    sure = sum(len(each.sure) for each in aligned.gold)
    possible = sum(len(each.possible) for each in aligned.gold)
    name = Path(reproduction.sources.translations or "")
    return [
        translator_note(reproduction),
        f"The gold links are {sure:,} sure ones and {possible - sure:,} that are only possible, of "
        f"{len(aligned.pairs):,} pairs from {name.parent.name or name.name}; the paper's are of "
        "508 pairs of Europarl (Vilar et al. 2006).",
    ]


LONGEST = 25
"""Words of a sentence that the slow models learn from at most."""

SYMMETRIZATION = "grow-diag-final-and"
FORWARD = "forward"
DIRECTIONS = (FORWARD, "reverse", SYMMETRIZATION)
HERE = ", trained here"

KNOWN = {"fastalign": "fast_align", "giza": "GIZA++"}
"""Aligners whose error rates the paper has, by what is in their names."""


@dataclass(frozen=True)
class OtherAligner:
    """Published or computed result of another aligner.

    Attributes:
        name: which one.
        links: which of its links, such as ``forward`` or ``union``; empty if that is not said.
        rate: their error rate.
    """

    name: str
    links: str
    rate: Estimate

    @property
    def is_forward(self) -> bool:
        """Whether the links are from source to target, as far as is said."""
        return self.links in ("", FORWARD)

    @property
    def published(self) -> str:
        """The aligner whose published error rate is of such links; empty for none."""
        plain = self.name.lower().replace("_", "").replace("-", "")
        names = (name for word, name in KNOWN.items() if word in plain)
        return next(names, "") if self.is_forward else ""


def from_files(reproduction: Reproduction[Settings]) -> list[OtherAligner]:
    """Return the aligners whose links are among the sources."""
    aligned = aligned_of(reproduction)
    aligners = []
    for path in reproduction.sources.links:
        links = open_links(path, sentences=len(aligned.pairs))
        score = score_links(aligned.gold, (each.possible for each in links))
        aligners.append(OtherAligner(*link_file_name(path), _rate(score)))
    return aligners


def trained_on_the_spot(
    reproduction: Reproduction[Settings],
) -> tuple[list[OtherAligner], list[str]]:
    """Train aligners on parallel text, and explain in a sentence each why some are left out."""
    settings, sources = reproduction.settings, reproduction.sources
    if not settings.max_parallel:
        return [], ["No aligner was trained on the spot: none was asked for (--max-parallel)."]
    if not sources.parallel:
        return [], ["No aligner was trained on the spot: no parallel text was given (--parallel)."]
    aligners, notes = [], []
    for aligner in get_args(Aligner):
        try:
            result = _load_aligner(reproduction, aligner)
        except UsageError as missing:
            notes.append(f"{aligner} is missing: {missing}")
            continue
        ends = (result[f"error_rate{end}"].values for end in ("", "_low", "_high"))
        rates = Estimate.with_ends(*ends)
        aligners += [
            OtherAligner(aligner + HERE, direction, rates.at(at))
            for at, direction in enumerate(DIRECTIONS)
        ]
    if aligners:
        notes.insert(
            0,
            f"Trained here: on at most {settings.max_parallel:,} pairs of "
            f"{Path(sources.parallel).name} and on the pairs that are aligned, in small letters, "
            f"both directions, five iterations of each model; hmm, ibm3 and ibm4 on sentences of "
            f"at most {LONGEST} words.",
        )
    return aligners, notes


def _load_aligner(reproduction: Reproduction[Settings], aligner: str) -> xarray.Dataset:
    """Return the error rates of an aligner, in both directions and put together, if installed."""
    settings, sources = reproduction.settings, reproduction.sources
    aligned = aligned_of(reproduction)

    def make(_: Path) -> xarray.Dataset:
        both = baseline_links(
            aligner, aligned.words, training=_training(reproduction), longest=LONGEST
        )
        links = (both.forward, both.reverse, both.together(SYMMETRIZATION))
        rates = [_rate(score_links(aligned.gold, each)) for each in links]
        return xarray.Dataset(
            {
                f"error_rate{end}": ("direction", [float(getattr(rate, of)) for rate in rates])
                for end, of in (("", "value"), ("_low", "low"), ("_high", "high"))
            },
            coords={"direction": list(DIRECTIONS)},
        )

    read = (
        *(sources.translations, sources.translations_target, sources.gold),
        *(sources.parallel, sources.parallel_target),
    )
    return reproduction.keep(
        f"aligner-{aligner}",
        "aligner",
        make,
        aligner=aligner,
        longest=LONGEST,
        max_parallel=settings.max_parallel,
        seed=settings.seed,
        reads=states_of(read),
    )


def _training(reproduction: Reproduction[Settings]) -> Iterator[tuple[list[str], list[str]]]:
    sources = reproduction.sources
    assert sources.parallel is not None  # noqa: S101 - it has been asked
    pairs = open_parallel(sources.parallel, sources.parallel_target)
    for pair in islice(pairs, reproduction.settings.max_parallel):
        yield pair.source.lower().split(), pair.target.lower().split()


def _rate(score: LinkScore) -> Estimate:
    return Estimate.with_ends(score.error_rate, *score.intervals["error_rate"])


def all_others(reproduction: Reproduction) -> tuple[list[OtherAligner], list[str]]:
    """All other aligners, those of files first, and notes on those that are missing."""
    files = from_files(reproduction)
    trained, notes = trained_on_the_spot(reproduction)
    if not files:
        notes.insert(0, "No links of other aligners were given (--links).")
    return [*files, *trained], notes
