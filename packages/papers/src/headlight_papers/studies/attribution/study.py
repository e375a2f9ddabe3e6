"""Study of contributions of input tokens (Brunner et al. 2020, Section 5)."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import xarray

from headlight.capture import Objective
from headlight.capture.attribution import attribute
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.batch_runner import BatchRunner
from headlight.engine.folder import OpenFolder
from headlight.engine.passes import measure_examples
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.errors import UsageError
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
"""Folder, within that of the run, of the comparison of estimates with exact contributions."""


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
        source: Texts (`headlight.engine.text_sources.TextSource`), or examples of sentence pairs or
            of treebank sentences.
        model: Model that can be differentiated with respect to its input embeddings.
        settings: Settings of the study.
    """

    name = "attribution"
    title = "Contributions of input tokens"
    settings_class = AttributionStudySettings

    def make_plan(self, source: TextSource, objective: Objective | None) -> StudyPlan[Encoded]:
        """Plan one pass, in which contributions are computed."""
        settings = self.settings
        passes = (Pass(attribution=settings.attribution),)
        plan = plan_text_study(self.name, self.title, source, self.model, settings, passes=passes)
        if plan.kind == "cross":
            raise UsageError(
                "a token's own contribution is one within a text, and cross-attention goes from "
                "one text to another; choose encoder or decoder."
            )
        tags = tag_names(islice(plan.examples, plan.max_examples), settings.tags)
        self.spec = AttributionSpec(plan.kind, tuple(plan.layers), settings, tags)
        return plan

    def prepare(self, folder: OpenFolder, *, progress: bool) -> None:
        """Measure how long the first texts take, and say how long the corpus will."""
        self._folder, self._progress = folder, progress
        self._seconds: Seconds | None = None
        plan, settings = self.plan, self.settings
        if not progress or folder.resumed or (plan.corpus and plan.corpus.once):
            return
        most = min(TEXTS_AHEAD, plan.max_examples or TEXTS_AHEAD)
        if texts := list(islice(plan.examples, most)):
            self._seconds = seconds = expected_seconds(plan, settings, texts)
            sys.stderr.write(outlook(texts, settings, seconds))
            if len(texts) < TEXTS_AHEAD:
                method = settings.attribution.method
                self.plan = replace(plan, seconds=partial(seconds, method))

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> AttributionObserver:
        """Sum contributions by group of tokens."""
        return AttributionObserver(batch, examples, self.spec)

    def dataset(self, plan: StudyPlan[Encoded], state: State) -> xarray.Dataset:
        """Return contributions, and the errors of their estimate against the exact ones."""
        spec = self.spec
        compared = _compare_with_exact(
            plan, spec, self._folder, self._seconds, progress=self._progress
        )
        agreed = agreement(compared.tally.compute()) if compared and compared.examples else {}
        result = dataset(state.tally, plan.layers, spec.tags, spec.settings.reach, agreed)
        return result.assign_attrs(
            attribution=json.dumps(spec.settings.attribution.signature()),
            exact_examples=compared.examples if compared else 0,
        )


run = AttributionStudy.run


def _compare_with_exact(
    plan: StudyPlan[Encoded],
    spec: AttributionSpec,
    folder: OpenFolder,
    seconds: Seconds | None,
    *,
    progress: bool,
) -> State | None:
    """Compare with exact contributions, in a pass of its own; None where nothing is estimated."""
    settings = spec.settings
    estimate = settings.attribution
    if estimate.method == "exact" or not settings.exact:
        return None

    def observer(batch: Batch, _: Sequence[Encoded]) -> AgreementObserver:
        guess = attribute(plan.model, batch, estimate, kind=plan.kind)
        return AgreementObserver(batch, guess, spec)

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
    return measure_examples(
        compared,
        runner,
        {**plan.signature(), "compared": settings.exact},
        folder=folder,
        name=EXACT,
        max_examples=settings.exact,
        progress=progress
        and "how good the estimate is: a second pass, which computes up to "
        f"{settings.exact:,} short examples exactly (--exact 0 leaves it out)",
    )
