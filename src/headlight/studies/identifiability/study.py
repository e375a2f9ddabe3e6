"""How much of attention is identifiable, on a corpus (Brunner et al. 2020, Sections 3.2 to 3.5)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray

from headlight.analysis.batch_texts import Texts
from headlight.analysis.folder import RunFolder
from headlight.analysis.kinds import Observe, ToDataset, run_kinds
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import Sample, Tally
from headlight.result import describe
from headlight.run import State
from headlight.studies.identifiability.observer import (
    BOUNDS,
    EQUAL,
    POINT,
    RANKS,
    IdentifiabilityObserver,
)
from headlight.studies.identifiability.settings import IdentifiabilitySettings

HEAD = ("length", "layer", "head")
NAMES = dict(
    zip(
        RANKS, ("rank", "rank_with_ones", "null_dimension", "null_dimension_with_ones"), strict=True
    )
)


def _described() -> dict[str, tuple[str, str]]:
    """Long name and unit of every variable."""
    words = {
        "rank": "rank of T",
        "rank_with_ones": "rank of [T, 1]",
        "null_dimension": "dimension of the left null space of T",
        "null_dimension_with_ones": "dimension of the left null space of [T, 1]",
        "bound": "what the dimension of the null space of T cannot be below",
        "bound_with_ones": "what the dimension of the null space of [T, 1] cannot be below",
        "effective_correlation": "Pearson's r of raw and effective attention",
        "effective_correlation_by_head": "Pearson's r of raw and effective attention",
        "keys": "keys of a text",
    }
    suffixes = {
        "": "",
        "_mean": ", mean",
        "_std": ", standard deviation",
        "_min": ", smallest",
        "_max": ", largest",
        "_count": ", texts",
    }
    found = {
        name + suffix: (text + more, "1")
        for name, text in words.items()
        for suffix, more in suffixes.items()
    }
    return found | {
        "equal_count": ("texts whose null space of T is no larger than its bound", "1"),
        "equal_with_ones_count": ("texts whose null space of [T, 1] is no larger", "1"),
        "text_count": ("texts", "1"),
        "points": ("length and correlation of texts, at random", "1"),
        "head_dim": ("size of a head", "1"),
    }


VARIABLES = _described()


def run(
    source: TextSource,
    model: CapturedModel,
    settings: IdentifiabilitySettings | None = None,
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Ranks of T and [T, 1], their null spaces, and how effective attention follows raw attention.

    By the length of the text, in bins, and by layer and head.  Streams and resumes as a survey
    does.

    Args:
        source: see `headlight.analysis.text_plan.TextSource`.
        model: the model.
        settings: see `IdentifiabilitySettings`.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        Over ``length`` (the shortest of its bin), ``layer`` and ``head``: ``rank``,
        ``rank_with_ones``, ``null_dimension`` and ``null_dimension_with_ones`` (means over the
        texts, and ``_min`` and ``_max``), the means of what they cannot be below, ``bound`` and
        ``bound_with_ones``, and in how many texts they are just that, ``equal_count`` and
        ``equal_with_ones_count``; ``text_count`` and ``keys_mean`` by length; the correlation of
        raw and effective attention, and ``points`` of it, at random.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, folder.
        CorpusError: the corpus cannot be read, or holds no example.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: the run in the folder is of another model, corpus or setting.

    Source: Brunner et al. (2020), Eq. 6 and Figure 1a; that a correlation is of one text with all
    layers, heads and cells together is our reading.
    """
    settings = settings or IdentifiabilitySettings()
    title = "Identifiability of attention"
    plan = plan_text_study("identifiability", title, source, model, settings)

    def make(plan: StudyPlan[Encoded]) -> tuple[Observe, ToDataset]:
        def observer(_: Pass, batch: Batch, examples: Sequence[Encoded]) -> IdentifiabilityObserver:
            return IdentifiabilityObserver(
                Texts.of(batch, examples, plan.kind),
                settings.value_bias,
                Sample(settings.sample, len(POINT), seed=settings.seed),
                per_head=settings.per_head,
            )

        def to_dataset(_: Pass, state: State) -> xarray.Dataset:
            sizes = {site.layer: site.head_dim for site in plan.sites}
            return _dataset(state.tally, sizes)

        return observer, to_dataset

    return run_kinds(plan, make, folder=folder, command=command, progress=progress)


def _dataset(tally: Tally, head_dims: Mapping[int, int]) -> xarray.Dataset:
    """Named arrays of what was seen, and the size of the heads of each layer."""
    found = tally.compute()
    variables: dict[str, Any] = {}
    for name, called in NAMES.items():
        statistics = found[name]
        variables[called] = (HEAD, statistics["mean"])
        variables[f"{called}_min"] = (HEAD, statistics["minimum"])
        variables[f"{called}_max"] = (HEAD, statistics["maximum"])
    for name in BOUNDS:
        variables[name] = (HEAD[:2], found[name]["mean"])
    for name in EQUAL:
        variables[f"{name}_count"] = (HEAD, found[name]["total"])
    for name, dims in {"correlation": HEAD[:1], "correlation_by_head": HEAD}.items():
        for kind in ("mean", "std", "minimum", "maximum", "count"):
            suffix = "" if kind == "mean" else f"_{kind[:3] if 'imum' in kind else kind}"
            variables[f"effective_{name}{suffix}"] = (dims, found[name][kind])
    (points,) = found["points"]["rows"]
    variables["points"] = (("point", "field"), points[np.isfinite(points[:, 0])])
    variables["head_dim"] = ("layer", [head_dims[layer] for layer in sorted(head_dims)])
    variables["keys_mean"] = (HEAD[:1], found["keys"]["mean"])
    variables["text_count"] = (HEAD[:1], found["keys"]["count"])
    coordinates = {
        "length": found["keys"]["key"],
        "layer": sorted(head_dims),
        "head": list(range(found["rank"]["mean"].shape[2])),
        "field": list(POINT),
    }
    return describe(xarray.Dataset(variables, coords=coordinates), VARIABLES)
