"""What heads with a sink do by it: directions of their outputs, and the loss without its value.

The sink is the first token of a text: [CLS], the beginning of a text, or its first word.  Its share
of weights and norms, and the length of its vector, are counted by `induction_and_sinks`; what a
head does by it is judged from all of these by `headlight.findings.sink_kinds`.
"""

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.capture import AttentionSite, CapturedModel, LayerRecord, heads_removed
from headlight.capture.custom_attention.products import context_of
from headlight.capture.head_removal import Contexts
from headlight.encode import Encoded
from headlight.engine.batch_size import batch_tokens
from headlight.engine.observer import Observer
from headlight.engine.plan import StudyPlan
from headlight.measures.vectors import compressed, per_head
from headlight.observations.layer_arrays import array
from headlight.observations.positions import Positions
from headlight.observations.text_ids import text_id, units_of
from headlight.observations.variables import Variable
from headlight.reduce import Accumulator, Count, SecondMoment, Tally
from headlight.studies.survey.importance import losses_by_token
from headlight.studies.survey.kernel_sums import made_by_kernel
from headlight.studies.survey.part import Outcome, Subject, Variables
from headlight.studies.survey.part_observer import PartObserver, SeenBlock
from headlight.studies.survey.text_means import number, ratios
from headlight.vocabulary import SINK

TEXTS = 12
"""Number of units of the corpus, from the first, in whose first text values are zeroed.

Each head with a sink takes a forward pass of its own over these texts, which is why they are few;
an interval of the loss needs ten units.  What that costs is in docs/survey.md.  One backward pass
would give the effects of all heads to first order, but says little here: a sink that writes the
same vector everywhere acts as a bias, by which the mean loss of a trained model has no slope.  All
heads of a layer at once would say nothing of one of them.
"""
PASS = "sinks"
"""Name of the pass in which values of sinks are zeroed."""

VARIABLES = {
    "output_rank": Variable("effective rank of the outputs of a head, over all tokens"),
    "sink_loss": Variable(
        "change of the loss of a predicted token where the value of the first token is zeroed in "
        "the head, and weights are kept",
        "nat",
        interval="signed",
    ),
    "sink_loss_texts": Variable(
        "texts in which it was zeroed: those in which the first token gets more than 0.3"
    ),
}


def has_loss(model: CapturedModel) -> bool:
    """Return whether a model has the head of a language model whose loss needs nothing but text."""
    return model.head.language not in (None, "speech")


def first_texts(shard: Sequence[Encoded]) -> frozenset[int]:
    """Return the ids of the texts of a shard in which values are zeroed, one of each unit.

    More texts of a unit would cost as much and say less: an interval counts units.
    """
    first = {example.unit: text_id(example) for example in reversed(shard)}
    return frozenset(text for unit, text in first.items() if unit < TEXTS)


def sinks(outcome: Outcome) -> Variables:
    """Return effective ranks, and changes of the loss; nothing of what the pass has not seen."""
    statistics, dims = outcome.statistics, ("layer", "head")
    variables: Variables = {}
    if "outputs" in statistics:
        variables["output_rank"] = dims, statistics["outputs"]["rank"]
    if "sink_loss" in statistics:
        variables |= number("sink_loss", dims, statistics, "sink_loss")
        variables["sink_loss_texts"] = dims, statistics["sink_loss_texts"]["total"]
    return variables


class OutputObserver(PartObserver):
    """Observer of the second moments of what each head writes to the tokens of a batch.

    Args:
        present: Queries that are tokens.
    """

    on_device = ("_sums", "_present")

    def __init__(self, present: Bool[Tensor, "batch query"]) -> None:
        self._present = present
        self._sums: dict[int, Float[Tensor, "head size size"]] = {}

    def note_block(self, block: SeenBlock) -> None:
        """Add the products of the outputs of a block, in the basis of the space of its head."""
        record = block.record
        made = made_by_kernel(record)
        context = context_of(record.weight, record.value) if made is None else made.context
        if record.gate is not None:
            context = context * record.gate.transpose(1, 2)
        outputs = compressed(context.transpose(1, 2), record.site.projection.factor)
        present = self._present[:, record.first : record.first + record.shape[2]]
        outputs = outputs.where(present.to(outputs.device)[:, None, :, None], 0)
        rows = outputs.transpose(0, 1).flatten(1, 2)
        products, layer = rows.mT @ rows, record.site.layer
        self._sums[layer] = self._sums[layer] + products if layer in self._sums else products

    def members(self) -> dict[str, Accumulator]:
        """Return the second moments by layer and head."""
        layers = [array(self._sums[layer]) for layer in sorted(self._sums)]
        heads, size = (max(sums.shape[axis] for sums in layers) for axis in (0, 1))
        moment = SecondMoment((len(layers), heads), size)
        count, products = np.zeros(moment.shape), np.zeros_like(moment.products)
        for at, sums in enumerate(layers):
            of_heads, width = sums.shape[:2]
            count[at, :of_heads] = float(self._present.sum())
            products[at, :of_heads, :width, :width] = sums
        moment.absorb(count, products)
        return {"outputs": moment}


def observe(subject: Subject) -> PartObserver:
    """Return the observer of the outputs of a batch."""
    return OutputObserver(subject.sides[0].category >= 0)


class ZeroedSinks(Observer):
    """Observer that runs the model without the value of the sink, head by head.

    To zero the value of a token takes α_i v from what a head hands to its projection for each query
    i; weights of this layer are kept, and later layers compute with what then reaches them.  A head
    is tried in the texts in which the first token gets more than `SINK` of its weight.

    Args:
        plan: Plan for one kind of attention, with its only pass, which has an objective.
        examples: Examples of a batch.
        chosen: Ids of the texts in which values are zeroed, see `first_texts`.
    """

    wants_attention = False

    def __init__(
        self, plan: StudyPlan[Encoded], examples: Sequence[Encoded], chosen: Collection[int]
    ) -> None:
        self._examples = [example for example in examples if text_id(example) in chosen]
        self._model, self._plan = plan.model, plan
        self._sites = sorted(plan.sites, key=lambda site: site.layer)
        self._weights: dict[AttentionSite, Float[Tensor, "batch head query gate"]] = {}
        self._values: dict[AttentionSite, Float[Tensor, "batch head head_dim"]] = {}
        self._shares: dict[AttentionSite, Float64[np.ndarray, "batch head"]] = {}

    def tally(self) -> Tally:
        """Return the change of the loss of each text, by layer and head."""
        heads = max(site.heads for site in self._sites)
        change = np.zeros((len(self._examples), len(self._sites), heads))
        tried = np.zeros_like(change)
        if self._examples:
            self._run(change, tried)
        texts = Count(change.shape[1:])
        texts.update(tried)
        members = ratios("sink_loss", change, tried, units_of(self._examples))
        return Tally({**members, "sink_loss_texts": texts})

    def _run(self, change: np.ndarray, tried: np.ndarray) -> None:
        """Fill in the changes, and where they were tried."""
        model, objective = self._model, self._plan.passes[0].objective
        assert objective is not None  # noqa: S101 - the pass has one
        batch = objective.prepare(model.collate(self._examples))
        queries, keys = Positions.for_kind(batch, self._plan.kind)
        self._present = queries.category >= 0
        self._begin = (keys.category >= 0).int().argmax(1)
        with model.capture(self._sites) as recorder:
            recorder.visit = self._look
            model.run(batch)
        before = array(losses_by_token(objective, model.run(batch), batch))
        for at, site in enumerate(self._sites):
            tried[:, at, : site.heads] = self._shares[site] > SINK
        if batch.predicted is not None:
            tried[array(batch.predicted) == 0] = 0
        tokens = batch_tokens(model, self._plan.settings)
        together = max(1, tokens // batch.input_ids.shape[1])
        # Layer by layer, so that few layers are changed in each pass.
        layers, heads, texts = np.nonzero(tried.transpose(1, 2, 0))
        for first in range(0, len(texts), together):
            some = slice(first, first + together)
            copies, changed = texts[some].tolist(), zip(layers[some], heads[some], strict=True)
            removals = [[(self._sites[at], int(head))] for at, head in changed]
            rows = batch.rows(copies)
            with heads_removed(model, removals, partial(self._without_sink, copies)):
                after = array(losses_by_token(objective, model.run(rows), rows))
            change[copies, layers[some], heads[some]] = after - before[copies]

    def _look(self, record: LayerRecord) -> None:
        site, text = record.site, torch.arange(len(self._begin), device=self._begin.device)
        weight = record.weight[text, :, :, self._begin]
        self._values[site] = per_head(record.value, site.heads)[text, :, self._begin]
        gate = 1 if record.gate is None else record.gate
        self._weights[site] = weight[..., None] * gate
        present = self._present[:, None]
        self._shares[site] = array((weight * present).sum(-1) / present.sum(-1))

    def _without_sink(
        self, texts: Sequence[int], site: AttentionSite, contexts: Contexts
    ) -> Contexts:
        """Return the contexts of copies of texts without what all heads take from the sink."""
        index = torch.tensor(texts, device=contexts.device)
        weight, value = (
            held[site].index_select(0, index) for held in (self._weights, self._values)
        )
        return contexts - (weight.transpose(1, 2) * value[:, None]).to(contexts)
