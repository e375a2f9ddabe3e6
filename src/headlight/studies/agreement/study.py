"""How far measures agree on which words matter (Jain and Wallace 2019, Section 4.1)."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64, Int64

from headlight.analysis.classifiers.erasure import Predictions, check_removals
from headlight.analysis.classifiers.importance import (
    by_word,
    left_out,
    random_source,
    token_importance,
)
from headlight.analysis.classifiers.plan import Classified, by_predicted_class
from headlight.analysis.classifiers.predictor import Importance
from headlight.analysis.classifiers.study import ClassifierObserver, ClassifierStudy
from headlight.analysis.settings import RANDOM
from headlight.analysis.variables import BOUNDS, Variable, described, long_names
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.measures.agreement import kendall, top_number, top_overlap
from headlight.reduce import Histogram, Tally
from headlight.studies.agreement import AgreementSettings

STATISTICS = ("tau", "square", "significant", "overlap", "missing")
"""Of a text and two measures; ``missing`` is 1 where there is no correlation."""

EDGES = tuple(step / 10 for step in range(-10, 11))
"""Of the bins of τ."""

MEANS = {
    "tau": Variable("Kendall's τ of two measures, mean over texts", interval="correlation"),
    "significant": Variable("share of texts whose τ is significant at 0.05", interval="share"),
    "overlap": Variable(
        "share of the most important words that both measures name, mean over texts",
        interval="share",
    ),
}
VARIABLES = long_names(
    {
        **MEANS,
        "tau_deviation": Variable("standard deviation of τ over texts"),
        "undefined": Variable("texts without a τ: of one word, or all words alike", "count"),
        "texts": Variable("texts", "count"),
        "histogram": Variable("texts by their τ", "count"),
    },
    by={"": "", "predicted_class_": ", by the predicted class"},
)

Pairs = Float64[np.ndarray, "group pair *_"]


class AgreementStudy(ClassifierStudy[AgreementSettings]):
    """How far measures put the words of a text in the same order.

    Kendall's τ of each two measures on each text, and the overlap of the words that both call most
    important; their means over texts, over all and by the predicted class.  This describes
    measures, and does not tell which of them is right.

    Its result has, over ``measure`` and ``other`` (with ``random``): ``tau`` with its
    ``tau_deviation`` over texts, the share that is ``significant``, the ``overlap``, all with their
    intervals, ``undefined``, how many texts have no τ, and the ``histogram`` of τ by ``bin``; the
    same by ``predicted_class`` with the prefix ``predicted_class_``.

    Source: Jain and Wallace (2019), Section 4.1, Table 2 and Figures 2 to 5.
    """

    name = "agreement"
    title = "Which measures agree on the words that matter"
    settings_class = AgreementSettings

    def check(self) -> None:
        """A tagger is refused, and so is a way to leave words out that the model does not have."""
        if self.classes.task == "token":
            raise UsageError(
                f"{self.model.name} predicts a class for every word, and measures are compared "
                "for one "
                "prediction; give a classifier of texts."
            )
        check_removals(self.model, self.classes, (self.settings.removal,))

    def observe(self, batch: Batch, examples: Sequence[Classified]) -> "AgreementObserver":
        """Compares all measures with each other, text by text."""
        return AgreementObserver(self, batch, examples)

    def dataset(self, tally: Tally) -> xarray.Dataset:
        """Means over texts, as symmetric matrices of measures."""
        seen = tally.compute()
        values: dict[str, Pairs] = {}
        for bound, statistic in BOUNDS.items():
            means = seen["agreement"][statistic]
            rows = {name: means[:, at] for at, name in enumerate(STATISTICS)}
            values |= {f"{name}{bound}": rows[name] for name in MEANS}
            if not bound:
                values["tau_deviation"] = np.sqrt((rows["square"] - rows["tau"] ** 2).clip(0))
        missing = STATISTICS.index("missing")
        share, number = (seen["agreement"][name][:, missing] for name in ("mean", "count"))
        values["undefined"] = np.round(np.nan_to_num(share) * number)
        values["histogram"] = seen["histogram"]["counts"]
        texts, compared = number[:, 0], self.settings.compared
        variables: dict[str, Any] = {
            "texts": ((), texts[0]),
            "predicted_class_texts": ("predicted_class", texts[1:]),
        }
        for name, cells in values.items():
            axes = ("measure", "other", *(("bin",) if name == "histogram" else ()))
            square = _square(cells, len(compared))
            variables[name] = (axes, square[0])
            variables[f"predicted_class_{name}"] = (("predicted_class", *axes), square[1:])
        coordinates = {
            "measure": list(compared),
            "other": list(compared),
            "predicted_class": list(self.classes.names),
            "bin": np.convolve(EDGES, [0.5, 0.5], "valid"),
        }
        return described(variables, coordinates, VARIABLES)


run = AgreementStudy.run


class AgreementObserver(ClassifierObserver[AgreementSettings]):
    """Compares all measures with each other, text by text."""

    def tally(self) -> Tally:
        """Statistics of each text, over all texts and over those of each prediction."""
        settings = self._settings
        predictions = Predictions(
            self._model, self._examples, settings.removal, settings.batch_tokens
        )
        known = self._importance(predictions)
        rows = np.array(
            [
                self._compare([known[name][text] for name in settings.compared])
                for text in range(len(self._examples))
            ]
        )
        chosen = self._chosen(predictions)
        right = (chosen == self._positions.labels).astype(np.float64)
        grouped = by_predicted_class(rows, chosen, self._classes)
        histogram = Histogram(EDGES, (1 + self._classes, rows.shape[-1]))
        histogram.update(grouped[:, :, STATISTICS.index("tau")])
        return Tally(
            {
                **self._scores(right),
                "agreement": self._resampled(grouped),
                "histogram": histogram,
            }
        )

    def _importance(self, predictions: Predictions) -> dict[str, list[Importance]]:
        """Of each word of each text by each measure; sizes, if signs are not asked for."""
        settings = self._settings
        tokens = token_importance(
            self._model, self._batch, self._texts, self._sites, settings, self._positions,
            attention_fixed=settings.attention_fixed,
        )  # fmt: skip
        known = {name: by_word(values, self._examples) for name, values in tokens.items()}
        if "leave_one_out" in settings.measures:
            known["leave_one_out"] = left_out(predictions, self._examples, settings.lost)
        if not settings.signed:
            known = {name: [np.abs(each) for each in values] for name, values in known.items()}
        known[RANDOM] = [
            random_source(settings.seed, stream).random(max(example.words) + 1)
            for stream, example in zip(self._texts.text_ids, self._examples, strict=True)
        ]
        return known

    def _compare(self, measures: Sequence[Importance]) -> Float64[np.ndarray, "statistic pair"]:
        """One text: all pairs of measures."""
        number = top_number(len(measures[0]), self._settings.top)
        pairs = []
        for first, second in combinations(measures, 2):
            same = kendall(first, second)
            overlap = top_overlap(first, second, number)
            missing = float(np.isnan(same.tau))
            pairs.append([same.tau, same.tau**2, same.significant, overlap, missing])
        return np.array(pairs).T

    def _chosen(self, predictions: Predictions) -> Int64[np.ndarray, " text"]:
        """The class that the model chooses for each text."""
        texts = range(len(self._examples))
        predictions.ask((text, frozenset()) for text in texts)
        return np.array([int(predictions.without(text, frozenset()).argmax()) for text in texts])


def _square(cells: Pairs, size: int) -> Float64[np.ndarray, "group measure other *_"]:
    """Pairs as a symmetric matrix, NaN where a measure meets itself."""
    square = np.full((len(cells), size, size, *cells.shape[2:]), np.nan)
    for at, (first, second) in enumerate(combinations(range(size), 2)):
        square[:, first, second] = square[:, second, first] = cells[:, at]
    return square
