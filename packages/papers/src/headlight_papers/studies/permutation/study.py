"""Effect of other attention on predictions (Jain and Wallace 2019, Section 4.2.1)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headlight.capture import LayerRecord
from headlight.encode.batch import Batch
from headlight.engine.labelled_texts import Classified
from headlight.engine.plan import StudyPlan
from headlight.engine.random_numbers import random_source
from headlight.observations.classifier_outputs import Outputs
from headlight.observations.components import Component, components_of, name_of
from headlight.observations.variables import Variable, described, long_names, slots_at, with_slots
from headlight.reduce import Sample, Tally
from headlight.tensors import Weight
from headlight_papers.classifiers.attention_changes import (
    median_change,
    on_one,
    permuted,
    uniform,
)
from headlight_papers.classifiers.component_values import ByComponent, slots_by_scope
from headlight_papers.classifiers.key_masks import key_mask, mean_largest
from headlight_papers.classifiers.predictors import CapturedPredictor
from headlight_papers.classifiers.sampled_points import sampled_points
from headlight_papers.classifiers.study import ClassifierObserver, ClassifierStudy
from headlight_papers.studies.permutation import Change, PermutationSettings

STATISTICS = ("tvd", "agreement", "accuracy")
"""Statistics of each text and replacement: means over its predictions."""

QUANTITIES = ("largest_weight", "tvd")
"""Quantities of a point."""

VARIABLES = long_names(
    {
        "tvd": Variable(
            "total variation distance between the predictions with and without their own attention",
            interval="share",
        ),
        "agreement": Variable("share of predictions that stay the same", interval="share"),
        "accuracy": Variable("share of correct predictions with other attention", interval="share"),
        "largest_weight": Variable("mean over rows of the largest weight", interval="share"),
    },
    by={"": ", of all layers at once", "layer_": ", of one layer", "head_": ", of one head"},
) | long_names({"points": Variable("largest weight and change of texts, at random")})


class PermutationStudy(ClassifierStudy[PermutationSettings]):
    """Change of a classifier's predictions when its attention is replaced while it reads.

    Each text is read as it is, and then with the attention of all layers, of one layer or of one
    head permuted, made uniform, or put on one key.  The model is not trained again.  The distance
    of the predictions is the total variation of the probabilities of the classes; of a tagger it is
    the mean over the words of a sentence.  Random draws depend on the text and the seed alone.

    Its result has, over ``change``, and ``layer`` and ``head`` where these are asked for: ``tvd``,
    ``agreement`` and ``accuracy`` of all layers at once, and the same with the prefixes ``layer_``
    and ``head_``; the largest weights, and ``points``.

    Source: Jain and Wallace (2019), Section 4.2.1, Figures 6 and 7, where one layer of attention
        stands above an encoder; uniform weights: Wiegreffe and Pinter (2019), Section 3.1.
    """

    name = "permutation"
    title = "Predictions with other attention"
    settings_class = PermutationSettings

    def observe(
        self, plan: StudyPlan[Any], batch: Batch, examples: Sequence[Classified]
    ) -> "PermutationObserver":
        """Run the model with its own attention, and then with other attention."""
        return PermutationObserver(self, batch, examples)

    def changes(self, tally: Tally) -> xarray.Dataset:
        """Return means over texts, of all layers at once, of layers and of heads."""
        statistics, sites = tally.compute(), self.plan.sites
        components = components_of(self.settings.by, sites)
        variables: dict[str, Any] = {}
        rows = {name: slots_at(statistics["changed"], at) for at, name in enumerate(STATISTICS)}
        for name, sums in {**rows, "largest_weight": statistics["largest"]}.items():
            of_change = ("change",) if name in STATISTICS else ()
            for prefix, (axes, slots) in slots_by_scope(sums, components, sites).items():
                dims = (*of_change, *axes)
                variables |= with_slots(f"{prefix}{name}", dims, slots["mean"], slots)
        (rows_of_texts,) = statistics["points"]["rows"]
        points, coordinates = sampled_points(rows_of_texts, QUANTITIES, components, sites)
        coordinates["change"] = list(self.settings.changes)
        return described(variables | points, coordinates, VARIABLES)


run = PermutationStudy.run


@dataclass(frozen=True, eq=False)
class Seen:
    """Statistics of a layer before anything is replaced.

    Attributes:
        keys: Mask of the keys that take part in each row; none in rows that stay as they are.
        largest: Mean over these rows of the largest weight, by text and head.
    """

    keys: Bool[Tensor, "batch 1 query key"]
    largest: Float64[np.ndarray, "batch head"]


class PermutationObserver(ClassifierObserver[PermutationSettings]):
    """Observer that runs the model on a batch, and then repeatedly with other attention."""

    def __init__(
        self, study: PermutationStudy, batch: Batch, examples: Sequence[Classified]
    ) -> None:
        super().__init__(study, batch, examples)
        self._seen: dict[int, Seen] = {}
        self._heads = {site.layer: site.heads for site in self._sites}
        self._after: dict[tuple[Component, Change, int], Outputs] = {}

    def tally(self) -> Tally:
        """Return statistics of each text, and a sample of texts."""
        settings = self._settings
        with self._model.capture(self._sites) as recorder:
            recorder.visit = self._look
            before = self._positions.probabilities(self._model, self._batch)
        components = components_of(settings.by, self._sites)
        sharpness = ByComponent({layer: seen.largest for layer, seen in self._seen.items()})
        after = np.stack([self._changed(before, component) for component in components], -1)
        self._keep(before, components)
        largest = np.stack([sharpness.select(component) for component in components], -1)
        right = before.argmax(-1).numpy() == self._positions.labels
        points = Sample(settings.sample, 2 * len(components), seed=settings.seed)
        # Permutations, or what stands in their place.
        points.update(self._text_ids, np.concatenate([largest, after[:, 0, 0]], -1))
        return Tally(
            {
                **self._scores(self._positions.by_text(right.astype(np.float64))),
                "changed": self._slots(after),
                "largest": self._slots(largest),
                "points": points,
            }
        )

    def _look(self, record: LayerRecord) -> None:
        """Keep which keys take part in the rows of a layer, and the largest weights."""
        keys = key_mask(self._texts, self._texts.rows(self._settings.rows), record)
        if self._settings.keep_special:
            keys = keys & (self._batch.word >= 0)[:, None, None]
        self._seen[record.site.layer] = Seen(keys, mean_largest(record.weight, keys))

    def _changed(
        self, before: Outputs, component: Component
    ) -> Float64[np.ndarray, "batch statistic change"]:
        """Return the changes of the predictions, by what attention is replaced by."""
        changes = []
        for change in self._settings.changes:
            after = {
                (component, change, draw): self._run(component, change, draw)
                for draw in self._draws(change)
            }
            changes.append(self._statistics(before, torch.stack(list(after.values()))))
            if self._kept:
                self._after |= after
        return self._positions.by_text(np.stack(changes, -1))

    def _keep(self, before: Outputs, components: Sequence[Component]) -> None:
        """Write the predictions of each text after each draw, if requested."""
        if not self._kept:
            return
        draws = [
            (change, draw) for change in self._settings.changes for draw in self._draws(change)
        ]
        after = np.array(
            [[self._after[place, *draw].numpy() for draw in draws] for place in components]
        )
        for row, stream in enumerate(self._texts.text_ids):
            of_text = self._positions.owners == row
            result = xarray.Dataset(
                {
                    "probability": (("prediction", "class"), before[of_text].numpy()),
                    "after": (("place", "draw", "prediction", "class"), after[:, :, of_text]),
                },
                coords={
                    "place": [name_of(component) for component in components],
                    "change": ("draw", [change for change, _ in draws]),
                    "draw": [draw for _, draw in draws],
                },
            )
            self._kept.save_text(self._examples[row], stream, self._settings.seed, result)

    def _draws(self, change: Change) -> Iterator[int]:
        # Other changes have the last number, so that permutations share no draw with them.
        shuffles = self._settings.shuffles
        return iter(range(shuffles) if change == "permuted" else (shuffles,))

    def _statistics(
        self, before: Outputs, after: Float64[Tensor, "draw output class"]
    ) -> Float64[np.ndarray, "output statistic"]:
        """Return the median distance over the draws; for predictions the mean."""
        predictions = after.argmax(-1).numpy()
        same = (predictions == before.argmax(-1).numpy()).mean(0)
        right = (predictions == self._positions.labels).mean(0)
        # Jain and Wallace report the median of the distances over permutations.
        return np.stack([median_change(before, after), same, right], -1)

    def _run(self, component: Component, change: Change, draw: int) -> Outputs:
        """Return the predictions with other attention."""
        predictor = CapturedPredictor(
            self._model, self._batch, self._positions, self._sites, component
        )
        return predictor.with_attention(
            partial(self._replaced, change=change, draw=draw, head=component[1])
        )

    def _replaced(
        self, weight: Weight, layer: int, *, change: Change, draw: int, head: int | None
    ) -> Weight:
        """Return the new weights of a layer, or of one head."""
        keys = self._seen[layer].keys
        if change == "uniform":
            return uniform(weight, keys)
        if change == "largest":
            return on_one(weight, keys, weight)
        # Noise is drawn for all heads, so that a head alone is permuted as it is among all.
        noise = self._noise(self._heads[layer], layer, draw).to(weight.device)
        noise = noise if head is None else noise[:, head, None]
        return (permuted if change == "permuted" else on_one)(weight, keys, noise)

    def _noise(self, heads: int, layer: int, draw: int) -> Float[Tensor, "batch head query key"]:
        """Draw random numbers for each row of each head, which depend on nothing but the text."""
        queries, keys = self._texts.queries.sum(-1), (self._texts.keys >= 0).sum(-1)
        size = (len(queries), heads, self._texts.queries.shape[1], self._texts.keys.shape[1])
        noise = np.zeros(size, dtype=np.float32)
        for row, stream in enumerate(self._texts.text_ids):
            random = random_source(self._settings.seed, stream, layer=layer, draw=draw)
            shape = (heads, int(queries[row]), int(keys[row]))
            noise[row, :, : shape[1], : shape[2]] = random.random(shape, dtype=np.float32)
        return torch.from_numpy(noise)
