"""Predictions of a classifier with its attention replaced, and the importance of each word.

A classifier with some texts: predictions with other attention, without words, and gradients.
What studies ask of a captured model, and papers of small classifiers, goes through one protocol, so
that both are measured by the same functions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.analysis import Scope
from headlight.analysis.batch_runner import Texts, array
from headlight.analysis.classifier_study import LabelPositions, class_shares
from headlight.capture import (
    AttentionSite,
    CapturedModel,
    LayerRecord,
    Replacements,
    attention_replaced,
)
from headlight.capture.backward import frozen
from headlight.capture.head_weights import input_times_gradient
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.measures import Scores, total_variation
from headlight.measures.alternatives import Adversaries, AdversarySearch, Candidates, most_different
from headlight.tensors import Weight

Component = tuple[int | None, int | None]
"""A layer and a head; None for all of them."""

KeyMask = Bool[Tensor, "batch 1 query key"]
"""Mask of the keys that take part in each row; none in rows that stay as they are."""


def components_of(by: Sequence[Scope], sites: Sequence[AttentionSite]) -> list[Component]:
    """Return the components whose attention is replaced at once, in the order of results."""
    components: list[Component] = []
    if "all" in by:
        components.append((None, None))
    if "layer" in by:
        components += [(site.layer, None) for site in sites]
    if "head" in by:
        components += [(site.layer, head) for site in sites for head in range(site.heads)]
    return components


def name_of(component: Component) -> str:
    """``all``, ``L3`` or ``L3H7``."""
    layer, head = component
    if layer is None:
        return "all"
    return f"L{layer}" if head is None else f"L{layer}H{head}"


def key_mask(texts: Texts, rows: Bool[Tensor, "batch query"], record: LayerRecord) -> KeyMask:
    """The keys of each of these rows that are real, and that its query sees."""
    keys = (texts.keys >= 0)[:, None, None].expand(-1, 1, rows.shape[1], -1)
    if record.visible is not None:
        keys = keys & record.visible[:, None]
    return keys & rows[:, None, :, None]


def mean_largest(weight: Weight, keys: KeyMask) -> Float64[np.ndarray, "batch head"]:
    """The mean over rows of the largest weight among the keys that take part; NaN for no row."""
    row_mask = keys.any(-1)
    highest = array(weight.masked_fill(~keys, 0).amax(-1)) * array(row_mask)
    number = array(row_mask).sum(-1)
    return np.where(number > 0, highest.sum(-1) / np.maximum(number, 1), np.nan)


@dataclass(frozen=True)
class ByComponent:
    """Values of each layer and head, from which those of every component are means.

    Attributes:
        layers: of each layer that is looked at, ``batch head``.
    """

    layers: dict[int, Float64[np.ndarray, "batch _"]]

    def of(self, component: Component) -> Float64[np.ndarray, " batch"]:
        """The mean over the heads of a component."""
        layer, head = component
        if layer is None:
            return np.asarray(np.concatenate(list(self.layers.values()), -1).mean(-1))
        values = self.layers[layer]
        return np.asarray(values.mean(-1) if head is None else values[:, head])


def slots_by_scope(
    slots: Mapping[str, Float64[np.ndarray, "..."]],
    components: Sequence[Component],
    sites: Sequence[AttentionSite],
) -> dict[str, tuple[tuple[str, ...], dict[str, np.ndarray]]]:
    """Return `by_scope` of what `headlight.reduce.Slots` computes, with the components last."""
    names = ("mean", "without", "whole")
    parts = {name: by_scope(slots[name], components, sites) for name in names}
    return {
        prefix: (axes, {"units": slots["units"]} | {name: parts[name][prefix][1] for name in names})
        for prefix, (axes, _) in parts["mean"].items()
    }


def by_scope(
    values: Float64[np.ndarray, "*cell place"],
    components: Sequence[Component],
    sites: Sequence[AttentionSite],
) -> dict[str, tuple[tuple[str, ...], Float64[np.ndarray, "*cells"]]]:
    """Values over components as axes and numbers of all, of layers and of heads; else NaN."""
    at = {component: number for number, component in enumerate(components)}
    scopes: dict[str, tuple[tuple[str, ...], Float64[np.ndarray, "*cells"]]] = {}
    if (None, None) in at:
        scopes[""] = ((), values[..., at[None, None]])
    layers = [at[site.layer, None] for site in sites if (site.layer, None) in at]
    if layers:
        scopes["layer_"] = (("layer",), values[..., layers])
    if (sites[0].layer, 0) in at:
        heads = max(site.heads for site in sites)
        cells = np.full((*values.shape[:-1], len(sites), heads), np.nan)
        for row, site in enumerate(sites):
            numbers = [at[site.layer, head] for head in range(site.heads)]
            cells[..., row, : site.heads] = values[..., numbers]
        scopes["head_"] = (("layer", "head"), cells)
    return scopes


Predictions = Float[Tensor, "output class"]
"""The probabilities of the classes: of each text, or of each word of each sentence."""

Words = frozenset[int]
"""The numbers of the words of a text that are removed."""
Predicted = Float64[np.ndarray, "prediction class"]
"""Probabilities of the prediction of a text, or of each word of a sentence of a tagger."""
Importance = Float64[np.ndarray, " _"]
"""Importance of each word of a text; texts differ in length."""

Change = Callable[[Weight, int], Weight]
"""New weights for those of a layer, ``batch head query key``, with the number of the layer."""

Given = Callable[[Candidates], Float[Tensor, "candidate output class"]]
"""Predictions with these rows of attention in the place of the model's own, which can be
differentiated; of several candidates at once."""


@runtime_checkable
class Predictor(Protocol):
    """A classifier with a batch of texts, and the attention in it that may be another."""

    def predictions(self) -> Predictions:
        """As it is."""

    def with_attention(self, change: Change) -> Predictions:
        """With other attention, made from the model's own as the model runs."""

    def replacing(self) -> AbstractContextManager[Given]:
        """Within the block, predictions with attention that is given, for several candidates."""

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """The mean over the predictions of each text, which can be differentiated."""

    def gradient_input(
        self, label: int | None = None, *, attention_fixed: bool = False
    ) -> Float[Tensor, "text token"]:
        """Gradient times input of each token.

        Args:
            label: the class whose probability is differentiated; None for the one that is chosen.
            attention_fixed: weights of attention are constants, so that what a token does by
                changing them does not count.
        """


def median_change(
    before: Predictions, after: Float[Tensor, "draw output class"]
) -> Float64[np.ndarray, " output"]:
    """The median over draws of the total variation distance that predictions move."""
    distance = total_variation(after, before.expand(after.shape))
    change: Float64[np.ndarray, " output"] = np.median(distance.double().numpy(), axis=0)
    return change


def search_attention(
    predictor: Predictor,
    before: Predictions,
    attention: tuple[Tensor, Tensor, Candidates],
    search: AdversarySearch,
) -> Adversaries:
    """The most different attention whose predictions are within ε; see `most_different`.

    Args:
        predictor: whose attention is replaced.
        before: its predictions, where the model is.
        attention: its weights, which keys of each row may have others, and the logits that
            candidates begin with.
        search: how it is done.
    """
    with predictor.replacing() as run_candidates:

        def moved(candidates: Candidates) -> Float[Tensor, "candidate text"]:
            after = run_candidates(candidates)
            distance = total_variation(after, before.expand_as(after))
            return predictor.mean_by_text(distance).to(candidates.dtype)

        return most_different(moved, *attention, search)


@dataclass(frozen=True, eq=False)
class CapturedPredictor:
    """A captured model with a batch, and one component of it whose attention may be another.

    Attributes:
        model: a classifier of texts, or of tokens.
        batch: what it reads.
        positions: where its predictions are.
        sites: the layers that are looked at.
        component: a layer or None for all of them, and a head of it or None for all of them.
    """

    model: CapturedModel
    batch: Batch
    positions: LabelPositions
    sites: Sequence[AttentionSite]
    component: Component = (None, None)

    def predictions(self) -> Predictions:
        """As it is."""
        return self.positions.probabilities(self.model, self.batch)

    def with_attention(self, change: Change) -> Predictions:
        """With other attention of the component."""
        with self._replaced(change):
            return self.predictions()

    @contextmanager
    def replacing(self) -> Iterator[Given]:
        """Within the block, candidates run as copies of the batch; rows are layer by layer."""
        network: Any = self.model.transformer
        current: dict[int, Tensor] = {}

        def run_candidates(candidates: Candidates) -> Float[Tensor, "candidate output class"]:
            rows = candidates.flatten(0, 1)
            for site, part in zip(self._layers, self._split(rows), strict=True):
                current[site.layer] = part
            logits = network(**self._copies(len(candidates))).logits.chunk(len(candidates))
            predictions = torch.stack([self.positions.predictions(copy) for copy in logits])
            exact = torch.float32 if predictions.device.type == "mps" else torch.float64
            return predictions.to(exact).softmax(-1)

        with (
            self._replaced(lambda _, layer: current[layer]),
            self.model.running(self.batch.names),
            frozen(network),
            torch.inference_mode(mode=False),
        ):
            yield run_candidates

    def mean_by_text(self, values: Float[Tensor, "copy output"]) -> Float[Tensor, "copy text"]:
        """See `LabelPositions.mean_by_text`."""
        return self.positions.mean_by_text(values)

    def gradient_input(
        self, label: int | None = None, *, attention_fixed: bool = False
    ) -> Float[Tensor, "text token"]:
        """Compute gradient × input; of a tagger for the mean over the words of a sentence."""

        def probability(output: Any) -> Float[Tensor, " text"]:
            probabilities = self.positions.predictions(output.logits).softmax(-1)
            chosen = probabilities.amax(-1) if label is None else probabilities[..., label]
            return self.positions.mean_by_text(chosen[None])[0]

        if not attention_fixed:
            return input_times_gradient(self.model, self.batch, probability)
        with self._replaced(lambda weight, _: weight.detach()):
            return input_times_gradient(self.model, self.batch, probability)

    @property
    def _layers(self) -> list[AttentionSite]:
        """Return the attention modules of the component."""
        return [site for site in self.sites if self.component[0] in (None, site.layer)]

    def _replaced(self, change: Change) -> AbstractContextManager[None]:
        """Within the block the attention of the component is another."""
        head = self.component[1]

        def replace(weight: Tensor, site: AttentionSite) -> Tensor:
            if head is None:
                return change(weight, site.layer)
            return change(weight[:, None], site.layer)[:, 0]

        replacements: Replacements = {
            site.layer if head is None else (site.layer, head): replace for site in self._layers
        }
        return attention_replaced(self.model, replacements, kind=self.sites[0].kind)

    def _split(self, rows: Float[Tensor, "copy row key"]) -> list[Tensor]:
        """Rows of heads and queries as the weights of each layer of the component."""
        one = self.component[1] is not None
        heads = [1 if one else site.heads for site in self._layers]
        queries = rows.shape[1] // sum(heads)
        parts = torch.split_with_sizes(rows, [number * queries for number in heads], 1)
        return [part.unflatten(1, (-1, queries)) for part in parts]  # type: ignore[no-untyped-call]

    def _copies(self, number: int) -> dict[str, Any]:
        """Return the inputs of the model, for copies of the batch one after the other."""
        return {
            name: value.repeat(number, *[1] * (value.ndim - 1))
            if isinstance(value, Tensor)
            else value
            for name, value in self.model.inputs(self.batch).items()
        }


PerToken = Float[Tensor, "batch token"]


class AttentionImportance:
    """Sees the attention of a batch; keeps what each token is given, by measure.

    Of each layer: the mean over heads and rows of the size of the measure, as shares that add up to
    1, so that layers count alike; then the mean over layers.

    Args:
        rows: Those that speak for a text together; None for every row by itself.
        measures: What is asked of them.
    """

    def __init__(self, rows: Bool[Tensor, "batch query"] | None, measures: Sequence[str]) -> None:
        self._rows = rows
        self._measures = measures
        self._sums: dict[str, Float[Tensor, "batch *query key"]] = {}
        self._layers = 0

    def visit(self, record: LayerRecord) -> None:
        """Look at one layer."""
        scores = Scores(record, precision=torch.float32)
        self._layers += 1
        for name in self._measures:
            size = scores.of(name).abs().mean(1)
            shares = share_of_rows(size, self._rows)
            self._sums[name] = self._sums.get(name, torch.zeros_like(shares)) + shares

    def found(self) -> dict[str, Float[Tensor, "batch *query key"]]:
        """Return the means over the layers."""
        return {name: sums / self._layers for name, sums in self._sums.items()}


def share_of_rows(
    size: Float[Tensor, "batch query key"], rows: Bool[Tensor, "batch query"] | None
) -> Float[Tensor, "batch *query key"]:
    """Return the shares that keys receive from these rows together; equal where nothing is given.

    Without any rows, the shares that each query gives.
    """
    received = size if rows is None else (size * rows[..., None]).sum(1)
    whole = received.sum(-1, keepdim=True)
    return torch.where(whole > 0, received / whole, 1 / received.shape[-1])


def by_word(tokens: PerToken, examples: Sequence[Encoded]) -> list[Importance]:
    """The sum over the pieces of each word; special tokens are none."""
    values = array(tokens)
    by_example = []
    for row, example in enumerate(examples):
        words = np.array(example.words)
        sums = np.zeros(words.max(initial=-1) + 1)
        np.add.at(sums, words[words >= 0], values[row, : len(words)][words >= 0])
        by_example.append(sums)
    return by_example


def random_source(seed: int, text_id: int, *, layer: int = 0, draw: int = 0) -> np.random.Generator:
    """Random numbers that depend on nothing but these.

    Args:
        seed: of the study.
        text_id: of the text; see `Texts.text_ids`.
        layer: whose attention they are for.
        draw: the number of the draw.
    """
    key = np.array([seed, text_id], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=[0, 0, layer, draw]))


def majority_accuracy(labels: Sequence[Sequence[int]], classes: int) -> float:
    """The share of correct predictions of who always says the most frequent class."""
    return float(class_shares(labels, classes).mean(0).max())


def derived_slots(
    slots: Mapping[str, Float64[np.ndarray, "..."]],
    function: Callable[[Float64[np.ndarray, "sample cell"]], Float64[np.ndarray, " sample"]],
) -> dict[str, np.ndarray]:
    """Return a function of several means, of all texts and without each slot.

    Args:
        slots: what `headlight.reduce.Slots` computes of cells along one axis.
        function: of the means of several corpora, one number each.
    """
    mean, *without = function(np.concatenate([slots["mean"][None], slots["without"]]))
    rest = {"whole": slots["whole"][:, 0], "units": slots["units"]}
    return {"mean": np.asarray(mean), "without": np.array(without), **rest}


def macro_f1(counts: Float64[np.ndarray, "sample cell"]) -> Float64[np.ndarray, " sample"]:
    """The mean over classes of F1, from how often each class was predicted for each gold class.

    Classes that neither occur nor are predicted do not count.
    """
    side = round(counts.shape[-1] ** 0.5)
    table = counts.reshape(-1, side, side)
    right = np.diagonal(table, axis1=1, axis2=2)
    whole = table.sum(1) + table.sum(2)
    occurs = whole > 0
    f1 = 2 * right / np.where(occurs, whole, 1)
    mean_f1: Float64[np.ndarray, " sample"] = f1.sum(-1) / np.maximum(occurs.sum(-1), 1)
    return mean_f1


def span_f1(counts: Float64[np.ndarray, "sample count"]) -> Float64[np.ndarray, " sample"]:
    """F1 from spans that are correct, found and there; NaN without any."""
    whole = counts[:, 1] + counts[:, 2]
    f1: Float64[np.ndarray, " sample"] = 2 * counts[:, 0] / np.where(whole > 0, whole, np.nan)
    return f1
