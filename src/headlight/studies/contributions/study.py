"""What input tokens contribute to hidden tokens, over a corpus (Brunner et al. 2020, Section 5)."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.attribution import attribution_signature
from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.folder import RunFolder
from headlight.analysis.passes import observe
from headlight.analysis.plan import Plan, attributes, plan_study, run_study
from headlight.analysis.settings import Settings
from headlight.attribution_settings import AttributionSettings
from headlight.capture import CapturedModel
from headlight.capture.attribution import attribute
from headlight.corpora import Corpus, Source
from headlight.encode import Counts, Encoded, Examples
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.measures import ATTRIBUTION
from headlight.run import State
from headlight.studies.contributions.agreement import AgreementObserver, agreement
from headlight.studies.contributions.observer import Asked, ContributionObserver
from headlight.studies.contributions.result import STAGE, dataset
from headlight.studies.contributions.settings import ContributionOptions
from headlight.studies.contributions.tags import tag_names

EXACT = "exact"
"""The folder, within that of the run, in which the estimate is compared with what is exact."""


def contribution_study(
    corpus: Source | Corpus | Examples | None,
    model: CapturedModel,
    settings: Settings | None = None,
    *,
    options: ContributionOptions | None = None,
    folder: RunFolder | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """How much of a hidden token comes from its own input token, and how much from which others.

    Memory does not grow with the corpus.  Streams and resumes as a `survey` does.  Of tokens with a
    part of speech the corpus is read once more beforehand, without the model.

    Of a distance or relative position, means are over the tokens that there are: a token at the
    edge of a text has neighbours on one side only.  Under a causal mask, what comes later is there
    and contributes nothing.

    Args:
        corpus: a path, glob, ``hf:NAME``, texts, or an open corpus; None for the sample corpus; or
            examples, such as `headlight.encode.sentence_pairs` and `headlight.encode.sentences`
            make.
        model: the model.
        settings: see `Settings`; its ``attribution`` says how contributions are computed, of its
            measures nothing depends.
        options: see `ContributionOptions`.
        folder: see `RunFolder`; without one nothing is kept.
        progress: show a bar on standard error.

    Returns:
        By group of tokens (all, categories, parts of speech) and layer: ``own_mean``, its standard
        error over tokens, and ``own_box``, the marks of a box plot (Figures 3a and 26 to 37);
        ``not_largest``, the share of tokens of which another contributes most (P̃, Figure 3b);
        ``by_distance`` and its share of the sum over layers (Figure 4a); ``neighbour_total`` by
        relative position, its share among all neighbours within reach, and ``neighbour_count``
        (Figure 4b); the same of what the class token receives of others, centred on itself
        (``cls_…``) and on the first separator (``sep_…``, Figure 18). Of an estimate also the
        typical standard error of one own contribution (``own_probe_error``), and how near it comes
        to what is exact (``exact_…``). Layers are zero-based: layer l is the output of block l.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, tags, folder.
        CorpusError: the corpus cannot be read, or holds no example.
        UnsupportedModelError: the model cannot be differentiated by its input embeddings.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    options = options or ContributionOptions()
    settings = replace(settings or Settings(), measures=(ATTRIBUTION,))
    plan = plan_study(
        corpus, model, settings, stage=STAGE, options={"contributions": asdict(options)}
    )
    if plan.kind == "cross":
        raise UsageError(
            "a token's own contribution is one within a text, and cross-attention goes from one "
            "text to another; choose encoder or decoder."
        )
    tags = tag_names(islice(plan.examples, settings.max_examples), options.tags)
    plan.examples.counts = Counts()  # of what is observed, which begins now
    layers = tuple(sorted(site.layer for site in plan.sites))
    asked = Asked(plan.kind, layers, options, tags)
    place = folder or RunFolder()

    def observer(batch: Batch, examples: Sequence[Encoded]) -> ContributionObserver:
        return ContributionObserver(batch, examples, asked)

    def described(state: State) -> xarray.Dataset:
        found = _attributes(plan, state)  # before examples are read again
        compared = _compared(plan, asked, place, progress=progress)
        found["exact_examples"] = compared.examples if compared else 0
        agreed = agreement(compared.tally.compute()) if compared and compared.examples else {}
        return dataset(state.tally, layers, tags, options.reach, found, agreed)

    return run_study(plan, observer, described, folder=place, progress=progress)


def _attributes(plan: Plan, state: State) -> dict[str, Any]:
    return {
        **attributes(plan, state, "Contributions of input tokens"),
        "attribution": json.dumps(attribution_signature(plan.attribution)),
    }


def _compared(plan: Plan, asked: Asked, folder: RunFolder, *, progress: bool) -> State | None:
    """The estimate against what is exact, on the first examples; None where nothing is estimated.

    It is a pass of its own over the first short examples, with a folder of its own within that of
    the run.
    """
    estimate = plan.attribution
    assert estimate is not None  # noqa: S101 - it is the measure
    if estimate.method == "exact" or not asked.options.exact:
        return None

    def observer(batch: Batch, _: Sequence[Encoded]) -> AgreementObserver:
        return AgreementObserver(
            batch, attribute(plan.model, batch, estimate, kind=plan.kind), asked
        )

    exact = AttributionSettings(**{**asdict(estimate), "method": "exact"})
    tokens = plan.settings.batch_tokens
    inner = replace(folder, path=None if folder.path is None else Path(folder.path) / EXACT)
    most = asked.options.exact
    seen = islice(plan.examples, plan.settings.max_examples)
    return observe(
        (example for example in seen if len(example.ids) <= asked.options.exact_tokens),
        BatchRunner(plan.model, plan.sites, observer, tokens, attribution=exact),
        signature={**plan.signature, "compared": most},
        folder=inner.made(),
        resume=folder.resume,
        max_examples=most,
        progress=progress,
    )
