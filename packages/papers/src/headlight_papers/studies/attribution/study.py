"""Study of contributions of input tokens (Brunner et al. 2020, Section 5)."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import xarray

from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.corpus_study import CorpusStudy
from headlight.analysis.passes import observe
from headlight.analysis.plan import Pass, StudyPlan
from headlight.analysis.run_folder import RunFolder
from headlight.analysis.runner import run_study
from headlight.analysis.text_plan import plan_text_study
from headlight.analysis.text_sources import TextSource
from headlight.capture import CapturedModel
from headlight.capture.attribution import attribute
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.run import State
from headlight.run.pass_folders import begin_pass
from headlight_papers.studies.attribution import AttributionStudySettings
from headlight_papers.studies.attribution.agreement_observer import AgreementObserver
from headlight_papers.studies.attribution.dataset import agreement, dataset
from headlight_papers.studies.attribution.expected_time import (
    TEXTS_AHEAD,
    Seconds,
    expected_seconds,
    outlook,
    short_texts,
)
from headlight_papers.studies.attribution.observer import AttributionObserver, AttributionSpec
from headlight_papers.studies.attribution.tag_groups import tag_names

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
    compared = list(islice(short_texts(first_examples, settings), settings.exact))
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
