"""How much of attention is identifiable, on a corpus (Brunner et al. 2020, Sections 3.2 to 3.5)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import xarray

from headlight.analysis.folder import RunFolder
from headlight.analysis.plan import attributes, plan_study, run_study
from headlight.analysis.settings import Settings
from headlight.capture import CapturedModel
from headlight.corpora import Corpus, Source
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.reduce import Sample, Tally
from headlight.result import FORMAT
from headlight.run import State
from headlight.studies.identifiability_observer import (
    BOUNDS,
    EQUAL,
    POINT,
    RANKS,
    IdentifiabilityObserver,
)
from headlight.studies.norms.texts import Texts

STAGE = "identifiability"
HEAD = ("length", "layer", "head")
NAMES = dict(
    zip(
        RANKS, ("rank", "rank_with_ones", "null_dimension", "null_dimension_with_ones"), strict=True
    )
)


@dataclass(frozen=True, kw_only=True)
class IdentifiabilityOptions:
    """What a study of identifiability looks at besides what every survey does.

    Attributes:
        sample: points (length, correlation) that are kept for pictures.
        per_head: a point is a head of a text, not a text with all heads, layers and cells together;
            which of them Figure 1a of the paper has is not stated.
    """

    sample: int = 2_000
    per_head: bool = False

    def __post_init__(self) -> None:
        if self.sample < 1:
            raise UsageError(f"sample must be at least 1, not {self.sample}.")


def identifiability_study(
    corpus: Source | Corpus | None,
    model: CapturedModel,
    settings: Settings | None = None,
    *,
    options: IdentifiabilityOptions | None = None,
    folder: RunFolder | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Ranks of T and [T, 1], their null spaces, and how effective attention follows raw attention.

    By the length of the text, in bins, and by layer and head.  Streams and resumes as a `survey`
    does.

    Args:
        corpus: a path, glob, ``hf:NAME``, ``-``, texts, or an open corpus; None for the sample
            corpus that comes with the package.
        model: the model.
        settings: see `Settings`; nothing depends on the measures here.
        options: see `IdentifiabilityOptions`.
        folder: see `RunFolder`; without one nothing is kept.
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
    settings, options = settings or Settings(), options or IdentifiabilityOptions()
    more = {"identifiability": asdict(options)}
    plan = plan_study(corpus, model, settings, stage=STAGE, options=more)

    def observer(batch: Batch, examples: Sequence[Encoded]) -> IdentifiabilityObserver:
        return IdentifiabilityObserver(
            Texts.of(batch, examples, plan.kind, None),
            settings.value_bias,
            Sample(options.sample, len(POINT), seed=settings.seed),
            per_head=options.per_head,
        )

    def described(state: State) -> xarray.Dataset:
        sites = sorted(plan.sites, key=lambda site: site.layer)
        found = _dataset(state.tally, [site.layer for site in sites])
        found["head_dim"] = ("layer", [site.head_dim for site in sites])
        noted = attributes(plan, state, "Identifiability of attention")
        kept = {name: value for name, value in noted.items() if value is not None}
        return found.assign_attrs(kept, format=FORMAT, stage=STAGE)

    return run_study(plan, observer, described, folder=folder or RunFolder(), progress=progress)


def _dataset(tally: Tally, layers: Sequence[int]) -> xarray.Dataset:
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
            variables[f"{name}{suffix}"] = (dims, found[name][kind])
    (points,) = found["points"]["rows"]
    variables["points"] = (("point", "field"), points[np.isfinite(points[:, 0])])
    variables["keys_mean"] = (HEAD[:1], found["keys"]["mean"])
    variables["text_count"] = (HEAD[:1], found["keys"]["count"])
    coordinates = {
        "length": found["keys"]["key"],
        "layer": list(layers),
        "head": list(range(found["rank"]["mean"].shape[2])),
        "field": list(POINT),
    }
    return xarray.Dataset(variables, coords=coordinates)
