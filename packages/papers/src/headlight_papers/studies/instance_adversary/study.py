"""The most different attention with nearly the same prediction (Jain and Wallace 2019, 4.2.2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.capture import AttentionSite, LayerRecord, Replacements, attention_replaced
from headlight.encode.batch import Batch
from headlight.engine.labelled_texts import Classified
from headlight.engine.plan import StudyPlan
from headlight.engine.random_numbers import random_source
from headlight.measures import jensen_shannon, total_variation
from headlight.measures.adversaries import AdversarySearch
from headlight.observations.classifier_outputs import Outputs
from headlight.observations.components import Component, components_of
from headlight.observations.layer_arrays import array
from headlight.observations.variables import Variable, described, long_names, slots_at, with_slots
from headlight.reduce import Sample, Tally
from headlight_papers.classifiers.component_values import ByComponent, slots_by_scope
from headlight_papers.classifiers.key_masks import key_mask, mean_largest
from headlight_papers.classifiers.sampled_points import sampled_points
from headlight_papers.classifiers.study import ClassifierObserver, ClassifierStudy
from headlight_papers.studies.instance_adversary import InstanceAdversarySettings
from headlight_papers.studies.instance_adversary.exact_alternatives import exact_rows
from headlight_papers.studies.instance_adversary.kept_attention import (
    Found,
    kept_attention,
    own_attention,
)
from headlight_papers.studies.instance_adversary.search import InstanceSearch, SearchVariables

STATISTICS = ("jsd", "near", "moved", "steps", "exact_jsd", "exact_rows", "largest_weight")
"""Statistics of each text and place."""

QUANTITIES = ("largest_weight", "jsd", "moved", "exact_jsd", "predicted_class")
"""Quantities of a point, which is a text; the prediction is its class's number, −1 of a tagger."""

NEAR = 0.6
"""Divergence from which on it is near the bound of ln 2 = 0.693."""

SPREAD = 3.0
"""Standard deviation of the logits that candidates begin with, as in the released code."""

PerHead = Float64[np.ndarray, "batch head"]

BY_ANSWER = ("jsd", "near")
"""Statistics that exist by the predicted class as well."""

MEANINGS = {
    "jsd": ("divergence of the most different attention with nearly the same prediction", "nat"),
    "near": ("share of texts with a divergence of at least 0.6", "1"),
    "moved": ("total variation distance by which the prediction moves", "1"),
    "steps": ("steps of the search", "count"),
    "exact_jsd": ("divergence of attention of exactly the same output", "nat"),
    "exact_rows": ("share of rows that have other attention of exactly the same output", "1"),
    "largest_weight": ("mean over rows of the largest weight", "1"),
}

_WHERE = {"": ", all layers at once", "layer_": ", one layer", "head_": ", one head"}

_OF_ANSWER = {
    f"predicted_class_{where}": f"{component}, by the predicted class"
    for where, component in _WHERE.items()
}

VARIABLES = long_names(
    {
        name: Variable(
            meaning,
            unit,
            interval="share" if unit == "1" else "positive",
            by=None if name in BY_ANSWER else [*_WHERE],
        )
        for name, (meaning, unit) in MEANINGS.items()
    },
    by=_WHERE | _OF_ANSWER,
) | long_names(
    {
        "predicted_class_texts": Variable("texts, by the predicted class", "count"),
        "exact_moved": Variable(
            "distance by which all exact alternatives at once move the prediction", "1"
        ),
        "points": Variable(
            "largest weight, divergences, distance and prediction of texts, at random", ""
        ),
    }
)


class InstanceAdversaryStudy(ClassifierStudy[InstanceAdversarySettings]):
    """Distance of the most different attention, text by text, with nearly the same prediction.

    For each text attention is looked for, by gradients, that is as far from the model's own as can
    be (Jensen-Shannon divergence, the mean over rows), while the probabilities of the classes move
    by ε at most (total variation distance; of a tagger the mean over words).  What is found is a
    lower bound of what there is.  Beside it stands attention of which no output of any head changes
    at all, as it is constructed from the left null space.  Nothing is trained.

    Its result has, of all layers at once, and with the prefixes ``layer_`` and ``head_`` where
    these are asked for: ``jsd``, the share ``near`` the bound of ln 2, by how much predictions have
    ``moved``, the ``steps``, ``exact_jsd`` and ``exact_rows``; by the predicted class with the
    prefix ``predicted_class_``; ``exact_moved``, and ``points``.

    Source: Jain and Wallace (2019), Section 4.2.2, Figures 8 and 9, where a text has one row; exact
        alternatives: Brunner et al. (2020), Section 3.3.
    """

    name = "instance_adversary"
    title = "The most different attention with nearly the same prediction"
    settings_class = InstanceAdversarySettings

    def observe(
        self, plan: StudyPlan[Any], batch: Batch, examples: Sequence[Classified]
    ) -> "InstanceObserver":
        """Search other attention of each text."""
        return InstanceObserver(self, batch, examples)

    def changes(self, tally: Tally) -> xarray.Dataset:
        """Return means over texts, of all layers at once, of layers and of heads."""
        statistics, sites = tally.compute(), self.plan.sites
        classes = self.classes.names if self.classes.task == "sequence" else ()
        components = components_of(self.settings.by, sites)
        variables: dict[str, Any] = {}
        for at, name in enumerate(STATISTICS):
            # Group 0 is all texts; the predicted classes follow.
            groups = {"": (0, ()), "predicted_class_": (slice(1, None), ("predicted_class",))}
            for group, (place, of_group) in groups.items():
                if group and not (classes and name in BY_ANSWER):
                    continue
                sums = slots_at(statistics["found"], (place, at))
                for prefix, (axes, slots) in slots_by_scope(sums, components, sites).items():
                    dims = (*of_group, *axes)
                    variables |= with_slots(f"{group}{prefix}{name}", dims, slots["mean"], slots)
        if classes:
            texts = statistics["found"]["whole"].sum(0)[1:, 0, 0]
            variables["predicted_class_texts"] = ("predicted_class", texts)
        variables["exact_moved"] = ((), statistics["exact"]["mean"])
        (rows_of_texts,) = statistics["points"]["rows"]
        points, coordinates = sampled_points(rows_of_texts, QUANTITIES, components, sites)
        if classes:
            coordinates["predicted_class"] = list(classes)
        return described(variables | points, coordinates, VARIABLES)


run = InstanceAdversaryStudy.run


class InstanceObserver(ClassifierObserver[InstanceAdversarySettings]):
    """Observer that runs the model on a batch, and then repeatedly while attention changes."""

    def __init__(
        self,
        study: ClassifierStudy[InstanceAdversarySettings],
        batch: Batch,
        examples: Sequence[Classified],
    ) -> None:
        super().__init__(study, batch, examples)
        # The texts of a tagger have many predictions.
        self._classes = self._classes if study.classes.task == "sequence" else 0
        self._free: dict[int, SearchVariables] = {}
        self._exact: dict[int, Float64[np.ndarray, "batch head query key"]] = {}
        self._seen: dict[str, dict[int, PerHead]] = {}
        self._found: dict[Component, Found] = {}

    def tally(self) -> Tally:
        """Return statistics of each text, and a sample of texts."""
        settings = self._settings
        with self._model.capture(self._sites) as recorder:
            recorder.visit = self._look
            before = self._positions.probabilities(self._model, self._batch)
        components = components_of(settings.by, self._sites)
        right = (before.argmax(-1).numpy() == self._positions.labels).astype(np.float64)
        rows = np.stack([self._measure_place(before, component) for component in components], -1)
        self._keep(before)
        chosen = np.full(len(rows), -1)
        if self._classes:
            chosen = before.argmax(-1).numpy()
        points = Sample(settings.sample, len(QUANTITIES) * len(components), seed=settings.seed)
        points.update(self._text_ids, self._points(rows, chosen))
        grouped = (
            by_predicted_class(rows, chosen, self._classes) if self._classes else rows[:, None]
        )
        return Tally(
            {
                **self._scores(self._positions.by_text(right)),
                "found": self._slots(grouped),
                "exact": self._slots(self._moved_exactly(before)),
                "points": points,
            }
        )

    def _look(self, record: LayerRecord) -> None:
        """Keep the free rows of a layer, and the alternatives that change no output."""
        layer = record.site.layer
        keys = key_mask(self._texts, self._texts.rows(self._settings.rows), record)
        self._note("largest_weight", layer, mean_largest(record.weight, keys))
        with torch.inference_mode(mode=False):  # so that it can be differentiated
            weight = record.weight.detach().clone().float()
            wide = keys.clone().expand(weight.shape)
        self._free[layer] = SearchVariables(
            record.site, weight, wide, self._start(record.site, weight)
        )
        if self._settings.exact != "none":
            self._look_exactly(record, keys)

    def _look_exactly(self, record: LayerRecord, keys: Bool[Tensor, "batch 1 query key"]) -> None:
        layer = record.site.layer
        alternatives = exact_rows(record, keys, self._settings.exact)
        self._exact[layer] = alternatives.weight
        # A row of one key has no other distribution.
        able = (keys.sum(-1) > 1).cpu().numpy()
        number = np.maximum(able.sum(-1), 1)
        weight = torch.from_numpy(array(record.weight))
        apart = jensen_shannon(torch.from_numpy(alternatives.weight), weight).numpy()
        self._note("exact_jsd", layer, (apart * able).sum(-1) / number)
        self._note("exact_rows", layer, (alternatives.exists & able).sum(-1) / number)

    def _note(self, name: str, layer: int, values: PerHead) -> None:
        self._seen.setdefault(name, {})[layer] = values

    def _start(
        self, site: AttentionSite, weight: Float[Tensor, "batch head query key"]
    ) -> Float[Tensor, "candidate batch head query key"]:
        """Draw random logits; those of a text depend on nothing but the text."""
        number = self._settings.candidates
        queries, keys = self._texts.queries.sum(-1), (self._texts.keys >= 0).sum(-1)
        logits = np.zeros((number, *weight.shape), dtype=np.float32)
        for row, stream in enumerate(self._texts.text_ids):
            # The stream is that of the text, so that batches do not change what is drawn.
            random = random_source(self._settings.seed, stream, layer=site.layer)
            shape = (number, site.heads, int(queries[row]), int(keys[row]))
            drawn = random.standard_normal(shape, dtype=np.float32)
            logits[:, row, :, : shape[2], : shape[3]] = SPREAD * drawn
        return torch.from_numpy(logits).to(weight.device)

    def _measure_place(
        self, before: Outputs, component: Component
    ) -> Float64[np.ndarray, "batch statistic"]:
        """Return the statistics of the search where the attention of one place may change."""
        layer, head = component
        parts = [self._free[site.layer] for site in self._sites if layer in (None, site.layer)]
        if head is not None:
            parts = [part.of_head(head) for part in parts]
        options = self._settings
        search = AdversarySearch(
            epsilon=options.epsilon,
            margin=options.margin,
            steps=options.steps,
            take=options.take,
            learning_rate=options.learning_rate,
            patience=options.patience,
        )
        run = InstanceSearch(self._model, self._batch, self._positions, before, search).run(parts)
        if self._kept:
            self._found[component] = Found.from_search(run, parts)
        jsd = array(run.jsd)
        by_statistic = {
            "jsd": jsd,
            "near": (jsd >= NEAR).astype(np.float64),
            "moved": array(run.moved),
            "steps": array(run.steps),
            **{name: ByComponent(values).select(component) for name, values in self._seen.items()},
        }
        missing = np.full(len(jsd), np.nan)
        return np.stack([by_statistic.get(name, missing) for name in STATISTICS], -1)

    def _keep(self, before: Outputs) -> None:
        """Write the attention found for each text, if requested."""
        if not self._kept:
            return
        model_weights = own_attention(list(self._free.values()))
        for row, stream in enumerate(self._texts.text_ids):
            size = int(self._texts.queries[row].sum()), int((self._texts.keys[row] >= 0).sum())
            probability = before[self._positions.owners == row].numpy()
            attention = kept_attention(self._sites, model_weights, self._found, row, size)
            result = attention.assign(probability=(("prediction", "class"), probability))
            self._kept.save_text(self._examples[row], stream, self._settings.seed, result)

    def _moved_exactly(self, before: Outputs) -> Float64[np.ndarray, " batch"]:
        """Return the change of predictions with all exact alternatives at once, by rounding."""
        if not self._exact:
            return np.full(len(self._texts.text_ids), np.nan)
        replacements: Replacements = dict(self._exact.items())
        with attention_replaced(self._model, replacements, kind=self._sites[0].kind):
            after = self._positions.probabilities(self._model, self._batch)
        # The exact alternatives change no output, so that what is left is rounding.
        return self._positions.by_text(total_variation(after, before).numpy())

    def _points(
        self, rows: Float64[np.ndarray, "batch statistic place"], chosen: np.ndarray
    ) -> Float64[np.ndarray, "batch _"]:
        quantities = [rows[:, STATISTICS.index(name)] for name in QUANTITIES[:-1]]
        predictions = np.repeat(chosen[:, None].astype(np.float64), rows.shape[-1], 1)
        return np.concatenate([*quantities, predictions], -1)


def by_predicted_class(
    rows: Float64[np.ndarray, "text *cell"], chosen: Int64[np.ndarray, " text"], classes: int
) -> Float64[np.ndarray, "text group *cell"]:
    """Return rows once for all texts, and once for the predicted class; NaN elsewhere."""
    grouped = np.full((len(rows), 1 + classes, *rows.shape[1:]), np.nan)
    grouped[:, 0] = rows
    # Each text is in the group of all, and in that of the class that is predicted.
    grouped[np.arange(len(rows)), 1 + chosen] = rows
    return grouped
