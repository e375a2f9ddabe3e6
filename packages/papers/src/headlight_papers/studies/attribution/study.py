"""Study of contributions of input tokens (Brunner et al. 2020, Section 5), and its result."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any

import numpy as np
import xarray

from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.corpus_study import CorpusStudy
from headlight.analysis.passes import observe
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.run_folder import RunFolder
from headlight.analysis.runner import run_study
from headlight.analysis.text_plan import plan_text_study
from headlight.analysis.text_sources import TextSource
from headlight.analysis.variables import described, with_slots
from headlight.capture import CapturedModel
from headlight.capture.attribution import attribute
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.reduce import Tally
from headlight.result import Description
from headlight.run import State
from headlight.run.pass_folders import begin_pass
from headlight_papers.studies.attribution import AttributionStudySettings
from headlight_papers.studies.attribution.observer import (
    DISTANCES,
    EDGES,
    GROUPS,
    MARKS,
    AgreementObserver,
    AttributionObserver,
    AttributionSpec,
    boxes,
    tag_names,
)

Statistics = Mapping[str, np.ndarray]
Seconds = Callable[[str, Encoded], float]
"""The seconds by a method, ``estimate`` or ``exact``, that a text takes."""

OWN = "what tokens contribute to themselves"
OTHERS = {
    "neighbour": "what tokens at an offset contribute",
    "cls": "what tokens at an offset contribute to the class token",
    "sep": "what tokens at an offset from the separator contribute to the class token",
}
VARIABLES: dict[str, Description] = {
    "own_mean": (f"{OWN}, mean", "1", "share"),
    "own_std": (f"{OWN}, standard deviation", "1"),
    "own_count": ("tokens", "1"),
    "own_box": (f"{OWN}, marks of a box plot", "1"),
    "own_histogram": ("tokens by what they contribute to themselves", "1"),
    "own_estimate_error": (f"{OWN}, standard error of one estimate", "1"),
    "not_largest": ("share of tokens of which another contributes most", "1", "share"),
    "by_distance": ("what tokens at a distance contribute", "1", "share"),
    "by_distance_share": ("share of a layer in what a distance contributes", "1"),
    "by_distance_count": ("tokens", "1"),
    **{
        f"{name}_{suffix}": (words + more, "1")
        for name, words in OTHERS.items()
        for suffix, more in (
            ("total", ", sum over tokens"),
            ("share", ", share of all within reach"),
            ("count", ", pairs of tokens"),
        )
    },
    **{f"{name}_mean": (f"{words}, mean", "1", "share") for name, words in OTHERS.items()},
    "exact_difference": ("|estimate − exact|, mean over pairs", "1"),
    "exact_relative": ("|estimate − exact| / exact, mean over pairs", "1"),
    "exact_inside": ("share of pairs that two standard errors reach", "1"),
    "exact_correlation": ("Pearson's r of estimate and exact", "1"),
    "exact_own_mean": (f"{OWN}, exact", "1"),
    "exact_own_box": (f"{OWN}, exact, marks of a box plot", "1"),
    "exact_not_largest": ("share of tokens of which another contributes most, exact", "1"),
    "estimated_own_mean": (f"{OWN}, estimated for the same texts", "1"),
    "estimated_own_box": (f"{OWN}, estimated for the same texts, marks of a box plot", "1"),
    "estimated_not_largest": ("share of tokens of which another contributes most, estimated", "1"),
}
"""Long name and unit of every variable; contributions to a token sum to 1."""


def dataset(
    tally: Tally, layers: Sequence[int], tags: Sequence[str], reach: int, agreed: Mapping[str, Any]
) -> xarray.Dataset:
    """Named arrays of what a run has found.

    Args:
        tally: what the observers saw, merged.
        layers: the numbers of the layers.
        tags: the names of all parts of speech.
        reach: how far relative positions go.
        agreed: how near the estimate comes to what is exact.
    """
    sums = tally.compute()
    groups = [*GROUPS, *tags]
    own = _all_groups(sums["own"], len(groups))
    spread = _all_groups(sums["own_spread"], len(groups))
    by_group = ("group", "layer")
    variables: dict[str, Any] = {
        **with_slots("own_mean", by_group, own["mean"], sums["own_of_texts"]),
        "own_std": (by_group, own["std"]),
        "own_count": ("group", np.nan_to_num(own["count"].max(axis=1))),
        "own_box": ((*by_group, "mark"), boxes(np.nan_to_num(spread["counts"]), np.array(EDGES))),
        "own_histogram": (("layer", "bin"), spread["counts"][0]),
        **with_slots(
            "not_largest", ("layer",), sums["not_largest"]["mean"], sums["not_largest_of_texts"]
        ),
        **_by_distance(sums),
        **_by_offset("neighbour", sums, "offset", reach, without_own=True),
        **_by_offset("cls", sums, "cls", reach),
        **_by_offset("sep", sums, "sep", reach),
        **agreed,
    }
    if "own_error" in sums:
        variables["own_estimate_error"] = ("layer", np.sqrt(sums["own_error"]["mean"]))
    coordinates = {
        "layer": list(layers),
        "group": groups,
        "mark": list(MARKS),
        "distance": list(DISTANCES),
        "offset": list(range(-reach, reach + 1)),
        "bin": np.array(EDGES[:-1]),
    }
    return described(variables, coordinates, VARIABLES)


def _all_groups(statistics: Statistics, groups: int) -> dict[str, np.ndarray]:
    """Statistics of all groups in their order; NaN for those that do not occur."""
    filled = {}
    for name, values in statistics.items():
        if name != "key":
            filled[name] = np.full((groups, *values.shape[1:]), np.nan)
            filled[name][statistics["key"]] = values
    return filled


def _by_distance(statistics: Mapping[str, Statistics]) -> dict[str, Any]:
    """Neighbours by distance: means, and how each group is spread over the layers (Figure 4a)."""
    dims = ("layer", "distance")
    mean = statistics["distance"]["mean"]
    whole = mean.sum(axis=0, keepdims=True)
    return {
        **with_slots("by_distance", dims, mean, statistics["distance_of_texts"]),
        "by_distance_share": (dims, mean / np.where(whole > 0, whole, np.nan)),
        "by_distance_count": ("distance", statistics["distance"]["count"].max(axis=0)),
    }


def _by_offset(
    name: str,
    statistics: Mapping[str, Statistics],
    pair_counts: str,
    reach: int,
    *,
    without_own: bool = False,
) -> dict[str, Any]:
    """Totals by relative position, their share of all within reach, and pairs that there are."""
    dims = ("layer", "offset")
    count, mean = statistics[pair_counts]["count"], statistics[pair_counts]["mean"]
    total = np.where(count > 0, np.nan_to_num(mean) * count, np.nan)
    counted = total.copy()
    if without_own:
        counted[:, reach] = np.nan
    whole = np.nansum(counted, axis=1, keepdims=True)
    return {
        f"{name}_total": (dims, total),
        f"{name}_share": (dims, counted / np.where(whole > 0, whole, np.nan)),
        **with_slots(f"{name}_mean", dims, mean, statistics[f"{pair_counts}_of_texts"]),
        f"{name}_count": ("offset", count.max(axis=0)),
    }


def agreement(sums: Mapping[str, Mapping[str, np.ndarray]]) -> dict[str, Any]:
    """Named arrays over layers: how far the estimate is off, and what it makes of it.

    ``exact_difference`` and ``exact_relative`` are means over pairs of tokens of |estimate − exact|
    and of its share of the exact contribution; ``exact_inside`` is the share of pairs that two
    standard errors reach.
    """
    means = {
        "exact_difference": "difference",
        "exact_relative": "relative",
        "exact_inside": "inside",
        "exact_own_mean": "exact_own",
        "exact_not_largest": "exact_not_largest",
        "estimated_own_mean": "estimated_own",
        "estimated_not_largest": "estimated_not_largest",
    }
    named: dict[str, Any] = {
        name: ("layer", sums[field]["mean"]) for name, field in means.items() if field in sums
    }
    named["exact_correlation"] = ("layer", sums["correlation"]["correlation"])
    for name in ("exact", "estimated"):
        spread = boxes(sums[f"{name}_spread"]["counts"], np.array(EDGES))
        named[f"{name}_own_box"] = (("layer", "mark"), spread)
    return named


TEXTS_AHEAD = 1000
"""Texts that are counted at most, to say beforehand how long a study takes."""

TEXTS_TRIED = 20
"""Texts of which the shortest shows how long one takes."""

DIRECTIONS_TRIED = 16
"""Directions by which it shows that, at most."""

EXACT = "exact"
"""The folder, within that of the run, in which the estimate is compared with what is exact."""


class AttributionStudy(CorpusStudy[AttributionStudySettings]):
    """Contributions to a hidden token: from its own input token, and from which others.

    Of tokens with a part of speech the corpus is read once more beforehand, without the model.

    Of a distance or relative position, means are over the tokens that there are: a token at the
    edge of a text has neighbours on one side only.  Under a causal mask, what comes later is there
    and contributes nothing.

    Its result has, by group of tokens (all, categories, parts of speech) and layer: ``own_mean``,
    its standard error over tokens, and ``own_box``, the marks of a box plot (Figures 3a and 26 to
    37); ``not_largest``, the share of tokens of which another contributes most (P̃, Figure 3b);
    ``by_distance`` and its share of the sum over layers (Figure 4a); ``neighbour_total`` by
    relative position, its share among all neighbours within reach, and ``neighbour_count``
    (Figure 4b); the same of what the class token receives of others, centred on itself (``cls_…``)
    and on the first separator (``sep_…``, Figure 18).  Of an estimate also the typical standard
    error of one own contribution (``own_estimate_error``), and how near it comes to what is exact
    (``exact_…``).  Layers are zero-based: layer l is the output of block l.

    Args:
        source: see `headlight.analysis.text_sources.TextSource`; examples of sentence pairs and of
            treebank sentences as well.
        model: one that can be differentiated by its input embeddings.
        settings: see `AttributionStudySettings`.
    """

    name = "attribution"
    title = "Contributions of input tokens"
    settings_class = AttributionStudySettings

    def __init__(
        self, source: TextSource, model: CapturedModel, settings: AttributionStudySettings
    ) -> None:
        passes = (Pass(attribution=settings.attribution),)
        plan = plan_text_study(self.name, self.title, source, model, settings, passes=passes)
        if plan.kind == "cross":
            raise UsageError(
                "a token's own contribution is one within a text, and cross-attention goes from "
                "one text to another; choose encoder or decoder."
            )
        self.plan = plan
        tags = tag_names(islice(plan.examples, plan.max_examples), settings.tags)
        self.spec = AttributionSpec(plan.kind, tuple(plan.layers), settings, tags)

    def result(
        self, *, folder: RunFolder | None, command: str | None, progress: bool
    ) -> xarray.Dataset:
        """Compute contributions, and how near an estimate of them is to the exact ones."""
        plan, spec, seconds = self.plan, self.spec, None
        mode = (folder or RunFolder()).mode
        if progress and mode == "begin" and not (plan.corpus and plan.corpus.once):
            most = min(TEXTS_AHEAD, plan.max_examples or TEXTS_AHEAD)
            if texts := list(islice(plan.examples, most)):
                seconds = expected_seconds(plan, spec.settings, texts)
                sys.stderr.write(outlook(texts, spec.settings, seconds))
                if len(texts) < TEXTS_AHEAD:
                    plan = replace(plan, seconds=partial(seconds, spec.settings.attribution.method))

        def observer(_: Pass, batch: Batch, examples: Sequence[Encoded]) -> AttributionObserver:
            return AttributionObserver(batch, examples, spec)

        def to_dataset(_: Pass, state: State) -> xarray.Dataset:
            compared = _compare_with_exact(plan, spec, folder, seconds, progress=progress)
            agreed = agreement(compared.tally.compute()) if compared and compared.examples else {}
            result = dataset(state.tally, plan.layers, spec.tags, spec.settings.reach, agreed)
            return result.assign_attrs(
                attribution=json.dumps(spec.settings.attribution.signature()),
                exact_examples=compared.examples if compared else 0,
            )

        return run_study(
            plan, observer, to_dataset, folder=folder, command=command, progress=progress
        )


run = AttributionStudy.run


def outlook(texts: Sequence[Encoded], settings: AttributionStudySettings, seconds: Seconds) -> str:
    """Return a line that says how long a study takes.

    Args:
        texts: the first ones, or all.
        settings: see `AttributionStudySettings`.
        seconds: see `expected_seconds`.
    """
    method = settings.attribution.method
    least = "at least " if len(texts) == TEXTS_AHEAD else ""
    minutes = sum(seconds(method, text) for text in texts) / 60
    line = f"{least}about {minutes:,.1f} minutes for {len(texts):,} texts"
    compared = list(islice(_short(texts, settings), settings.exact))
    if method != "exact" and compared:
        minutes = sum(seconds("exact", text) for text in compared) / 60
        line += f", then {minutes:,.1f} to compute {len(compared):,} exactly"
    return f"{line}\n"


def expected_seconds(
    plan: StudyPlan[Encoded], settings: AttributionStudySettings, texts: Sequence[Encoded]
) -> Seconds:
    """Return the seconds that a text takes by a method, by a few directions of a short one.

    Each change of a token runs the text once more, so that time grows with the square of a
    length, and with the number of directions.

    Args:
        plan: of the study.
        settings: see `AttributionStudySettings`.
        texts: of which the shortest of the first is tried; at least one.
    """
    short = min(texts[:TEXTS_TRIED], key=lambda text: len(text.ids))
    batch = plan.model.collate([short])
    few = settings.attribution.replace(
        method="estimate", directions=min(settings.attribution.directions, DIRECTIONS_TRIED)
    )
    attribute(plan.model, batch, few.replace(directions=2), kind=plan.kind)  # loads what it needs
    begun = perf_counter()
    attribute(plan.model, batch, few, kind=plan.kind)
    change = (perf_counter() - begun) / (few.directions * len(short.ids) ** 2)
    dimensions: int = plan.model.base().transformer.get_input_embeddings().weight.shape[1]

    def seconds(method: str, text: Encoded) -> float:
        directions = dimensions if method == "exact" else settings.attribution.directions
        return change * min(directions, dimensions) * len(text.ids) ** 2

    return seconds


def _short(texts: Iterable[Encoded], settings: AttributionStudySettings) -> Iterator[Encoded]:
    """Yield the texts that are not too long to be computed exactly."""
    return (text for text in texts if len(text.ids) <= settings.exact_tokens)


def _compare_with_exact(
    plan: StudyPlan[Encoded],
    spec: AttributionSpec,
    folder: RunFolder | None,
    seconds: Seconds | None,
    *,
    progress: bool,
) -> State | None:
    """Compare with what is exact, in a pass of its own; return None where nothing is estimated."""
    settings = spec.settings
    estimate = settings.attribution
    if estimate.method == "exact" or not settings.exact:
        return None

    def observer(batch: Batch, _: Sequence[Encoded]) -> AgreementObserver:
        guess = attribute(plan.model, batch, estimate, kind=plan.kind)
        return AgreementObserver(batch, guess, spec)

    outer = folder or RunFolder()
    first_examples = islice(plan.examples, plan.max_examples)
    compared = list(islice(_short(first_examples, settings), settings.exact))
    if progress and compared and seconds is None:
        seconds = expected_seconds(plan, settings, compared)
    exact = estimate.replace(method="exact")
    runner: BatchRunner[Any] = BatchRunner(
        plan.model,
        plan.sites,
        observer,
        attribution=exact,
        seconds=seconds and partial(seconds, "exact"),
    )
    return observe(
        compared,
        runner,
        signature={**plan.signature(), "compared": settings.exact},
        folder=outer.place and begin_pass(outer.place, EXACT),
        mode=outer.mode,
        max_examples=settings.exact,
        progress=progress
        and "how good the estimate is: a second pass, which computes up to "
        f"{settings.exact:,} short examples exactly (--exact 0 leaves it out)",
    )
