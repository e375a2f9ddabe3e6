"""Study of the effect of removing a head, or all heads of a layer (Michel et al. 2019)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.capture import (
    NOTHING,
    AttentionSite,
    CapturedModel,
    Heads,
    LayerRecord,
    Objective,
    Prepared,
    default_objective,
    heads_removed,
)
from headlight.capture.custom_attention.products import context_of
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.batch_size import batch_tokens
from headlight.engine.classifier_plan import plan_classifier_study
from headlight.engine.labelled_texts import LabelledSource
from headlight.engine.observer import Observer
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.errors import CaptureError, UsageError, setting
from headlight.measures import vector_norm
from headlight.observations.components import Component, by_scope, components_of, name_of
from headlight.observations.layer_arrays import array
from headlight.observations.positions import Texts
from headlight.observations.text_ids import units_of
from headlight.observations.variables import Variable, described, long_names, slots_at, with_slots
from headlight.reduce import Accumulator, Count, Slots, Strongest, Tally
from headlight.studies.ablation import AblationSettings
from headlight.studies.ablation.outputs import STATISTICS, ByText, Logarithms, Outputs, logits_of
from headlight.studies.ablation.passages import PassageSeeker, most_changed
from headlight.tensors import double

CHANGES = (*STATISTICS, "norm")
"""Statistics of each text and removal: changes of predictions, and norm of the removed output."""
OWN = ("loss", "accuracy")
"""Statistics of each text with all heads."""

CALLED = {"loss": "loss_change", "accuracy": "accuracy_change"}
"""Names of the statistics that become differences from the intact model."""

VARIABLES = (
    long_names(
        {
            "kl": Variable(
                "KL divergence of the predictions without it from those of the model as it is",
                "nat",
                interval="positive",
            ),
            "changed": Variable("share of the predictions that become others", interval="share"),
            "loss_change": Variable(
                "change of the loss of a predicted token or class without it",
                "nat",
                interval="signed",
            ),
            "accuracy_change": Variable(
                "change of the share of right predictions without it", interval="signed"
            ),
            "norm": Variable(
                "length of what it adds to a token, ‖Σ_j α_ij f(x_j)‖, mean over tokens",
                "",
                interval="positive",
            ),
        },
        by={"layer_": "; all heads of a layer", "head_": "; one head"},
    )
    | long_names(
        {
            "loss": Variable(
                "loss of a predicted token or class, of the model as it is",
                "nat",
                interval="positive",
            ),
            "accuracy": Variable(
                "share of right predictions of the model as it is", interval="share"
            ),
        },
        by={"own_": ""},
    )
    | {"predicted": ("predictions with a label", "1")}
)


def dataset(
    tally: Tally, components: Sequence[Component], sites: Sequence[AttentionSite]
) -> xarray.Dataset:
    """Return the statistics of a tally as named arrays."""
    statistics = tally.compute()
    variables: dict[str, Any] = {"predicted": ((), statistics["predicted"]["total"])}
    for at, name in enumerate(OWN):
        sums = slots_at(statistics["own"], at)
        variables |= with_slots(f"own_{name}", (), sums["mean"], sums)
    for at, name in enumerate(CHANGES):
        sums = slots_at(statistics["changes"], at)
        parts = ("mean", "without", "whole")
        scopes = {part: by_scope(sums[part], components, sites) for part in parts}
        for prefix, (axes, mean) in scopes["mean"].items():
            slots = {part: scope[prefix][1] for part, scope in scopes.items()}
            slots["units"] = sums["units"]
            variables |= with_slots(f"{prefix}{CALLED.get(name, name)}", axes, mean, slots)
    coordinates = {"layer": [site.layer for site in sites]}
    if "head_kl" in variables:
        coordinates["head"] = list(range(max(site.heads for site in sites)))
    return described(variables, coordinates, VARIABLES)


class AblationStudy(CorpusStudy[AblationSettings]):
    """Change of predictions when a head is removed, beside the norm of what the head writes.

    A head that is removed hands zeros to the output projection, as if all its weights were zero;
    b^O and everything else stays, and nothing is trained again.  What comes after it computes with
    what then reaches it.

    Of a language model, predictions are distributions over the vocabulary: of a masked one at every
    token that is not special, of others at every token that predicts a next one, and at the last
    word.  Loss and accuracy are those of masked tokens, or of next tokens.  Of a classifier they
    are distributions over classes, of a tagger at the first token of each word.  A text has the
    mean over its predictions, and the result is the mean over texts.  A removal costs one forward
    pass; of small batches several run at once, within ``batch_tokens``.

    Its result has over ``layer`` and ``head``, with the prefix ``head_``, and over ``layer``, with
    ``layer_``: ``kl``, the KL divergence (intact ‖ removed) in nats; ``changed``, the share of
    predictions whose most probable choice is another; ``loss_change`` and ``accuracy_change``; and
    ``norm``, the mean length of what is removed.  ``own_loss`` and ``own_accuracy`` are those of
    the model as it is.

    Args:
        source: Texts for a language model (`headlight.engine.text_sources.TextSource`), or
            labelled texts for a classifier (`headlight.engine.labelled_texts.LabelledSource`).
        model: Model with its head.
        settings: Settings of the study.
        objective: Objective of a language model; by default that of its training.

    Source: Michel et al. (2019), Section 3, who remove heads of a translator and of BERT; the
        length is that of Kobayashi et al. (2020), Eq. 3, summed over keys.
    """

    name = "ablation"
    title = "Predictions without heads"
    settings_class = AblationSettings

    def make_plan(
        self, source: TextSource | LabelledSource, objective: Objective | None
    ) -> StudyPlan[Any]:
        """Plan one pass over texts, or over labelled texts of a classifier."""
        model, settings = self.model, self.settings
        self.classifies = model.head.task is not None
        if self.classifies:
            return self._plan_classifier(source, model, objective)
        settings.check_of_language_model()
        only_pass = Pass(objective=objective or default_objective(model, seed=settings.seed))
        texts: Any = source
        return plan_text_study(self.name, self.title, texts, model, settings, passes=(only_pass,))

    def _plan_classifier(
        self, source: Any, model: CapturedModel, objective: Objective | None
    ) -> StudyPlan[Any]:
        if source is None:
            raise UsageError(f"{model} is a classifier; name a corpus of labelled texts.")
        if objective is not None:
            raise UsageError(
                f"{model} is a classifier, which predicts labels; leave out the objective."
            )
        settings = self.settings.of_classifier()
        plan, _ = plan_classifier_study(self.name, self.title, source, model, settings)
        return replace(plan, settings=self.settings)

    def observe(
        self, plan: StudyPlan[Any], batch: Batch, examples: Sequence[Any]
    ) -> "AblationObserver":
        """Return the observer that runs the model without each component on one batch."""
        if self.classifies:
            outputs = Outputs.of_classes(examples, plan.model.transformer.device)
        else:
            assert isinstance(batch, Prepared)  # noqa: S101 - a pass with an objective prepares
            outputs = Outputs.of_words(batch)
        return AblationObserver(plan.model, batch, examples, outputs, plan.sites, self.settings)

    def dataset(self, plan: StudyPlan[Any], state: State) -> xarray.Dataset:
        """Return the changes by head and layer, and the predictions that changed most."""
        components = components_of(self.settings.by, self.plan.sites)
        result = dataset(state.tally, components, self.plan.sites)
        passages = state.tally.get("passages")
        if passages is None:
            return result
        assert isinstance(passages, Strongest)  # noqa: S101 - the observer makes it
        return result.merge(most_changed(passages, components, self.plan.model.tokenizer, result))


run = AblationStudy.run_with_objective


@dataclass(eq=False, repr=False)
class AblationObserver(Observer):
    """Observer that runs the intact model on a batch, then once without each component."""

    model: CapturedModel
    batch: Batch
    examples: Sequence[Encoded]
    outputs: Outputs
    sites: Sequence[AttentionSite]
    settings: AblationSettings
    wants_attention = False
    _lengths: dict[Component, Float64[np.ndarray, " text"]] = field(
        default_factory=dict, init=False
    )
    _passages: PassageSeeker | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._texts = Texts.of(self.batch, self.examples, self.sites[0].kind)
        self._sites = {site.layer: site for site in self.sites}
        if (
            self.settings.sentences
            and "head" in self.settings.by
            and isinstance(self.batch, Prepared)
        ):
            # A classifier's batch is not prepared: its texts have no single token that changes
            # most.
            self._passages = PassageSeeker(
                self.batch, self.examples, self.outputs, self.sites[0].kind
            )

    def tally(self) -> Tally:
        """Return the statistics of each text, by component removed."""
        with self.model.capture(self._sites.values()) as recorder:
            recorder.visit = self._look
            before = self.outputs.logarithms(logits_of(self.model.run(self.batch)))
        intact = self.outputs.describe_intact(before)
        self._require_finite(intact, "as it is")
        components = components_of(self.settings.by, list(self._sites.values()))
        changes = np.stack(list(self._changes(before, intact, components)), -1)
        units = units_of(self.examples)
        predicted = Count()
        predicted.update(array(self.outputs.labels != NOTHING))
        members: dict[str, Accumulator] = {
            "changes": Slots.of(units, changes),
            "own": Slots.of(units, intact[:, [STATISTICS.index(name) for name in OWN]]),
            "predicted": predicted,
        }
        if self._passages is not None:
            members["passages"] = self._passages.tally()
        return Tally(members)

    def _look(self, record: LayerRecord) -> None:
        """Compute the norms of the outputs of each head, and of all heads together."""
        projection, layer = record.site.projection, record.site.layer
        # The gate multiplies what a head reads before the projection, and so belongs to what it
        # writes.
        context = context_of(record.weight, record.value)
        if record.gate is not None:
            context = context * record.gate.transpose(1, 2)
        # The length of one head follows from its own block of W^O; that of all needs their sum.
        by_head = vector_norm(context.transpose(1, 2), projection.factor)
        together = double(context.flatten(2)) @ double(projection.weight).flatten(0, 1)
        self._lengths[layer, None] = self._mean_over_queries(together.norm(dim=-1))
        for head in range(record.site.heads):
            self._lengths[layer, head] = self._mean_over_queries(by_head[:, head])

    def _mean_over_queries(
        self, lengths: Float[Tensor, "batch query"]
    ) -> Float64[np.ndarray, " text"]:
        queries = self._texts.queries.to(lengths.device)
        return array((lengths * queries).sum(-1) / queries.sum(-1).clamp_min(1))

    def _changes(
        self, before: Logarithms, intact: ByText, components: Sequence[Component]
    ) -> Iterator[Float64[np.ndarray, "text change"]]:
        """Yield, for each component, the statistics without it, less those of the intact model."""
        # Divergence and share of changed predictions are differences already.
        base = np.where(np.isin(STATISTICS, OWN), intact, 0)
        for component, after in self._without(components):
            changes, divergence = self.outputs.compare(before, after)
            self._require_finite(changes, f"without {name_of(component)}")
            if self._passages is not None:
                self._passages.look(divergence, before, after)
            yield np.concatenate([changes - base, self._lengths[component][:, None]], -1)

    def _without(self, components: Sequence[Component]) -> Iterator[tuple[Component, Logarithms]]:
        """Yield the predictions without each component; copies of small batches run together."""
        # As many copies run together as a batch has room for their tokens.
        together = max(1, batch_tokens(self.model, self.settings) // self.batch.input_ids.numel())
        for first in range(0, len(components), together):
            some = components[first : first + together]
            batch = self.batch.repeated(len(some))
            with heads_removed(self.model, [self._heads_of(component) for component in some]):
                copies = logits_of(self.model.run(batch)).chunk(len(some))
            for component, logits in zip(some, copies, strict=True):
                yield component, self.outputs.logarithms(logits)

    def _heads_of(self, component: Component) -> Heads:
        layer, head = component
        assert layer is not None  # noqa: S101 - all layers are never removed at once
        site = self._sites[layer]
        return [(site, number) for number in (range(site.heads) if head is None else [head])]

    def _require_finite(self, changes: ByText, where: str) -> None:
        predicts = np.unique(self.outputs.owners)  # not a text of special tokens alone
        if np.isinf(changes).any() or np.isnan(changes[predicts, 0]).any():
            raise CaptureError(
                f"{self.model}: what it gives {where} for {self.batch.names[0]} or a text "
                f"beside it is not finite; load it in a wider precision ({setting('dtype=')})."
            )
