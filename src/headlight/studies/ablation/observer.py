"""What a batch is predicted to be without single heads, and without all heads of a layer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from jaxtyping import Float, Float64
from torch import Tensor

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifiers.components import Component, components_of, name_of
from headlight.analysis.positions import array
from headlight.capture import (
    NOTHING,
    AttentionSite,
    CapturedModel,
    Heads,
    LayerRecord,
    Prepared,
    heads_removed,
)
from headlight.capture.interventions.replacement import context_of
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import CaptureError
from headlight.measures import vector_norm
from headlight.measures.precision import double
from headlight.reduce import Accumulator, Count, ResampledMean, Tally
from headlight.studies.ablation import AblationSettings
from headlight.studies.ablation.outputs import (
    STATISTICS,
    ByText,
    Logarithms,
    Outputs,
    logits_of,
)
from headlight.studies.ablation.passages import PassageSeeker

CHANGES = (*STATISTICS, "norm")
"""Of each text and removal: how far predictions move, and how long what is removed was."""
OWN = ("loss", "accuracy")
"""Of each text with all heads."""


@dataclass(eq=False, repr=False)
class AblationObserver:
    """Runs the model on a batch as it is, and then without some of its heads, again and again."""

    model: CapturedModel
    batch: Batch
    examples: Sequence[Encoded]
    outputs: Outputs
    sites: Sequence[AttentionSite]
    settings: AblationSettings
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
            self._passages = PassageSeeker(
                self.batch, self.examples, self.outputs, self.sites[0].kind
            )

    def tally(self) -> Tally:
        """Statistics of each text, by what is removed."""
        with self.model.capture(self._sites.values()) as recorder:
            recorder.visit = self._look
            before = self.outputs.logarithms(logits_of(self.model.run(self.batch)))
        own = self.outputs.own(before)
        self._require_finite(own, "as it is")
        components = components_of(self.settings.by, list(self._sites.values()))
        changes = np.stack(list(self._changes(before, own, components)), -1)
        text_ids = np.array(self._texts.text_ids, dtype=np.int64)
        resampled = partial(
            ResampledMean.of,
            text_ids,
            replicates=self.settings.bootstrap,
            seed=self.settings.seed,
        )
        predicted = Count()
        predicted.update(array(self.outputs.labels != NOTHING))
        found: dict[str, Accumulator] = {
            "changes": resampled(changes),
            "own": resampled(own[:, [STATISTICS.index(name) for name in OWN]]),
            "predicted": predicted,
        }
        if self._passages is not None:
            found["passages"] = self._passages.tally()
        return Tally(found)

    def _look(self, record: LayerRecord) -> None:
        """How long what each head writes is, and what all of them write together."""
        projection, layer = record.site.projection, record.site.layer
        context = context_of(record.weight, record.value)
        if record.gate is not None:
            context = context * record.gate.transpose(1, 2)
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
        self, before: Logarithms, own: ByText, components: Sequence[Component]
    ) -> Iterator[Float64[np.ndarray, "text change"]]:
        """For each place: the predictions without it, less those of the model as it is."""
        # Divergence and share of predictions that change are differences already.
        base = np.where(np.isin(STATISTICS, OWN), own, 0)
        for component, after in self._without(components):
            found, divergence = self.outputs.compared(before, after)
            self._require_finite(found, f"without {name_of(component)}")
            if self._passages is not None:
                self._passages.look(divergence, before, after)
            yield np.concatenate([found - base, self._lengths[component][:, None]], -1)

    def _without(self, components: Sequence[Component]) -> Iterator[tuple[Component, Logarithms]]:
        """The predictions without each place; of small batches several copies run at once."""
        together = max(1, self.settings.batch_tokens // self.batch.input_ids.numel())
        for first in range(0, len(components), together):
            some = components[first : first + together]
            batch = self.batch.repeated(len(some))
            with heads_removed(self.model, [self._heads_of(component) for component in some]):
                copies = logits_of(self.model.run(batch)).chunk(len(some))
            for component, logits in zip(some, copies, strict=True):
                yield component, self.outputs.logarithms(logits)

    def _heads_of(self, component: Component) -> Heads:
        layer, head = component
        assert layer is not None  # noqa: S101 - of all layers at once nothing is asked
        site = self._sites[layer]
        return [(site, each) for each in (range(site.heads) if head is None else [head])]

    def _require_finite(self, found: ByText, where: str) -> None:
        if np.isinf(found).any() or np.isnan(found[:, 0]).any():
            raise CaptureError(
                f"{self.model.name}: what it gives {where} for {self.batch.names[0]} or a text "
                "beside it is not finite; load it in a wider precision (--dtype)."
            )
