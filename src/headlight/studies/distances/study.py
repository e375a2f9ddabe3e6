"""Study of distances between heads over a corpus (Clark et al. 2019, Section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import xarray
from jaxtyping import Float64, Int64
from torch import Tensor

from headlight.capture import AttentionSite, LayerRecord, Objective
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.observer import Observer
from headlight.engine.plan import StudyPlan, plan_passes, required_objective
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.errors import CaptureError
from headlight.measures import Scores
from headlight.measures.head_divergence import distributions, divergence
from headlight.observations.positions import Positions
from headlight.observations.text_ids import units_of
from headlight.observations.variables import Variable, described, long_names, with_slots
from headlight.reduce import Moments, Slots, Tally
from headlight.studies.distances import DistanceSettings
from headlight.tensors import Score, single
from headlight.vocabulary import ValueBias

VARIABLES = long_names(
    {
        "distance": Variable(
            "Jensen-Shannon divergence of two heads, mean over queries", "nat", interval="positive"
        )
    }
)


class DistancesStudy(CorpusStudy[DistanceSettings]):
    """The Jensen-Shannon divergence between all pairs of heads of all layers, over a corpus.

    Rows of every measure are made distributions over keys first: absolute values, divided by their
    sum; a row of zeros, such as the gradient of a query on which no loss depends, is spread evenly.
    All positions count, special tokens as well.

    Its result is ``distance[measure, first, second]`` in nats per query: the mean over all queries
    of the corpus, where the authors have the sum, which is the same up to a scale.  ``first`` and
    ``second`` number the heads of all layers, and have coordinates: ``layer`` and ``head`` of the
    first, ``second_layer`` and ``second_head``, zero-based.
    """

    name = "distances"
    title = "Distances between heads"
    settings_class = DistanceSettings

    def make_plan(self, source: TextSource, objective: Objective | None) -> StudyPlan[Encoded]:
        """Plan one pass, in which all measures read the input that the objective leaves."""
        settings, measures = self.settings, self.settings.measures
        objective = required_objective(self.model, measures, objective, settings.seed)
        return plan_text_study(
            self.name,
            self.title,
            source,
            self.model,
            settings,
            passes=plan_passes(measures, objective, None, together=True),
            measures=measures,
        )

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "DistancesObserver":
        """Return the observer that holds all layers of a batch and compares their heads."""
        queries, keys = Positions.for_kind(batch, plan.kind)
        options = self.settings
        return DistancesObserver(
            queries,
            keys,
            units_of(examples),
            options.measures,
            options.value_bias,
            options.smoothing,
        )

    def dataset(self, plan: StudyPlan[Encoded], state: State) -> xarray.Dataset:
        """Return means over queries as symmetric matrices of heads."""
        statistics = state.tally.compute()
        layers, heads = _places(plan.sites)
        first, second = np.triu_indices(len(heads), 1)
        sums = statistics["distance_of_texts"]

        def matrix(of_pairs: np.ndarray) -> np.ndarray:
            """Return the square matrix of all heads, with 0 between a head and itself."""
            square = np.zeros((*of_pairs.shape[:-1], len(heads), len(heads)))
            square[..., first, second] = square[..., second, first] = of_pairs
            return square

        variables = with_slots(
            "distance",
            ("measure", "first", "second"),
            matrix(statistics["distance"]["mean"]),
            {
                "mean": matrix(sums["mean"]),
                "without": matrix(sums["without"]),
                "whole": sums["whole"][..., None],
                "units": sums["units"],
            },
        )
        coordinates = {
            "measure": list(self.settings.measures),
            "layer": ("first", layers),
            "head": ("first", heads),
            "second_layer": ("second", layers),
            "second_head": ("second", heads),
        }
        result = described(variables, coordinates, VARIABLES)
        return result.assign_attrs(smoothing=self.settings.smoothing, unit="nats per query")


run = DistancesStudy.run_with_objective


@dataclass(eq=False, repr=False)
class DistancesObserver(Observer):
    """Observer that holds the attention of all layers of one batch, and compares pairs of heads.

    Attributes:
        queries: Attending positions.
        keys: Attended positions.
        units: Number of the unit of the corpus, a document or a text, that each text belongs to.
        measures: Measures by which heads are compared.
        value_bias: Treatment of the value bias; see `headlight.measures.Scores`.
        smoothing: Share of each row spread evenly; see `headlight.measures.head_divergence`.
    """

    queries: Positions
    keys: Positions
    units: Int64[np.ndarray, " text"]
    measures: Sequence[str]
    value_bias: ValueBias
    smoothing: float
    _seen: dict[int, dict[str, Score]] = field(default_factory=dict, init=False)

    def visit(self, record: LayerRecord) -> None:
        """Keep the scores of a layer whole, since every pair of layers is compared later."""
        # Rows are compared in float32 whatever the model computes in, since halves lose small
        # divergences.
        scores = Scores(record, self.value_bias, precision=torch.float32)
        self._seen[record.site.layer] = {
            measure: single(scores.of(measure)) for measure in self.measures
        }

    def tally(self) -> Tally:
        """Return the mean divergence per query of every pair of heads, over all queries.

        Raises:
            CaptureError: a score is not finite.
        """
        # Layers may have different numbers of heads; all pairs of all of them are compared.
        heads = sum(layer[self.measures[0]].shape[1] for layer in self._seen.values())
        shape = (len(self.measures), heads * (heads - 1) // 2)
        moments, of_texts = Moments(shape), Slots(shape, (1, 1))
        for text in range(len(self.queries.category)):
            queries, keys = (_text_slice(side.category[text]) for side in (self.queries, self.keys))
            number = queries.stop - queries.start
            means = np.stack(
                [self._divergence(name, text, queries, keys) / number for name in self.measures]
            )
            if not np.isfinite(means).all():
                raise CaptureError(
                    "attention that is not finite cannot be compared; load the model in float32."
                )
            # The text's mean enters with its number of queries as weight, without a variance within
            # it.
            moments.absorb(float(number), means, 0.0, means, means)
            of_texts.update(
                self.units[[text]], number * means[None], np.full((1, 1, 1), float(number))
            )
        return Tally({"distance": moments, "distance_of_texts": of_texts})

    def _divergence(
        self, measure: str, text: int, queries: slice, keys: slice
    ) -> Float64[np.ndarray, " pair"]:
        """Return the divergences of all heads on one text: the upper triangle, row by row."""
        layers = [
            self._seen[layer][measure][text, :, queries, keys] for layer in sorted(self._seen)
        ]
        rows = distributions(torch.cat(layers))
        distances: Float64[np.ndarray, "first second"] = divergence(rows, self.smoothing).numpy()
        return distances[np.triu_indices(len(distances), 1)]


def _text_slice(category: Int64[Tensor, " position"]) -> slice:
    places = (category >= 0).nonzero()[:, 0]
    return slice(int(places[0]), int(places[-1]) + 1)


def _places(sites: Sequence[AttentionSite]) -> tuple[list[int], list[int]]:
    ordered = sorted(sites, key=lambda site: site.layer)
    places = [(site.layer, head) for site in ordered for head in range(site.heads)]
    return [layer for layer, _ in places], [head for _, head in places]
