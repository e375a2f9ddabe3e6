"""Effect of removing important words on predictions (DeYoung et al. 2020)."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.analysis.classifiers.erasure import (
    Order,
    Predictions,
    Probabilities,
    check_removals,
)
from headlight.analysis.classifiers.importance import (
    by_word,
    left_out,
    random_source,
    token_importance,
)
from headlight.analysis.classifiers.plan import Classified
from headlight.analysis.classifiers.predictor import Importance, Words
from headlight.analysis.classifiers.study import ClassifierObserver, ClassifierStudy
from headlight.analysis.settings import RANDOM
from headlight.analysis.variables import BOUNDS, Variable, described, long_names
from headlight.encode.batch import Batch
from headlight.reduce import Tally
from headlight.studies.faithfulness import FaithfulnessSettings

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Of the words, as in ERASER (DeYoung et al. 2020)."""

STEPS = tuple(step / 10 for step in range(11))
"""Shares of the words of the curves."""

TOTALS = (
    "comprehensiveness", "sufficiency", "deletion", "insertion", "first_flip", "share_to_flip",
)  # fmt: skip
"""One number of each text."""

Row = Float64[np.ndarray, " number"]
SIZE = len(TOTALS) + 2 * len(SHARES) + 2 * len(STEPS)


def number_of(share: float, words: int) -> int:
    """How many words a share is: rounded up, so that some words are at least one."""
    return math.ceil(share * words - 1e-9)


def removals(order: Order) -> Iterator[Words]:
    """All that has to be removed of a text for `metrics`."""
    words = list(map(int, order))
    yield frozenset()
    numbers = {number_of(share, len(words)) for share in (*SHARES, *STEPS)}
    for number in sorted(numbers | {1}):
        yield frozenset(words[:number])
        yield frozenset(words[number:])


def metrics(order: Order, without: Callable[[Words], Probabilities]) -> Row:
    """All numbers of a prediction: `TOTALS`, then by share and by step; see `parts`.

    With p the probability of the class that the model chooses given the whole text, and of x
    the words by their order:

    * comprehensiveness: p(x) − p(x without the first words), the mean over `SHARES`;
    * sufficiency: p(x) − p(the first words alone), the mean over `SHARES`;
    * deletion: the area under p(x without the first words) over `STEPS`;
    * insertion: the area under p(the first words alone) over `STEPS`;
    * first flip: whether the class changes without the first word;
    * share to flip: the smallest share of `STEPS` without which it changes; 1 if there is none.

    Args:
        order: of the words, the most important first.
        without: the probabilities of the classes without some words.

    Source: DeYoung et al. (2020), Section 4 and its AOPC; Petsiuk et al. (2018) for the areas;
        Serrano and Smith (2019) for the changes of the class.
    """
    words = list(map(int, order))
    whole = without(frozenset())
    chosen = int(whole.argmax())

    def left(share: float) -> Probabilities:
        return without(frozenset(words[: number_of(share, len(words))]))

    def alone(share: float) -> Probabilities:
        return without(frozenset(words[number_of(share, len(words)) :]))

    comprehensive = np.array([whole[chosen] - left(share)[chosen] for share in SHARES])
    sufficient = np.array([whole[chosen] - alone(share)[chosen] for share in SHARES])
    deleted = np.array([left(share)[chosen] for share in STEPS])
    inserted = np.array([alone(share)[chosen] for share in STEPS])
    flipped = [share for share in STEPS if int(left(share).argmax()) != chosen]
    totals = [
        comprehensive.mean(),
        sufficient.mean(),
        np.trapezoid(deleted, STEPS),
        np.trapezoid(inserted, STEPS),
        float(int(without(frozenset(words[:1])).argmax()) != chosen),
        min(flipped, default=1.0),
    ]
    return np.concatenate([totals, comprehensive, sufficient, deleted, inserted])


def parts(rows: Float64[np.ndarray, "*cell number"]) -> dict[str, Float64[np.ndarray, "*cell _"]]:
    """The numbers of `metrics`, or of their means, by name."""
    ends = np.cumsum([len(TOTALS), len(SHARES), len(SHARES), len(STEPS)])
    names = ("totals", "comprehensiveness", "sufficiency", "deletion", "insertion")
    return dict(zip(names, np.split(rows, ends, axis=-1), strict=True))


LEFT_OUT = "leave_one_out"

MEANINGS = {
    "comprehensiveness": "p lost without the most important words, mean over shares",
    "sufficiency": "p lost with the most important words alone, mean over shares",
    "deletion": "area under p as the most important words are removed",
    "insertion": "area under p as the most important words are given",
    "first_flip": "share of predictions that change without the most important word",
    "share_to_flip": "share of the words without which the prediction changes, 1 if it never does",
    "share_comprehensiveness": "p lost without a share of the words, the most important",
    "share_sufficiency": "p lost with a share of the words alone, the most important",
    "deletion_curve": "p without a share of the words, the most important",
    "insertion_curve": "p with a share of the words alone, the most important",
}
"""p is the probability of the class of the whole text."""
LOSSES = [name for name in MEANINGS if name.endswith(("comprehensiveness", "sufficiency"))]
"""Differences of probabilities."""

VARIABLES = long_names(
    {
        name: Variable(meaning, interval="signed" if name in LOSSES else "share")
        for name, meaning in MEANINGS.items()
    }
)

_CURVES = {
    "comprehensiveness": ("share_comprehensiveness", "share"),
    "sufficiency": ("share_sufficiency", "share"),
    "deletion": ("deletion_curve", "step"),
    "insertion": ("insertion_curve", "step"),
}


class FaithfulnessStudy(ClassifierStudy[FaithfulnessSettings]):
    """What the probability of a prediction loses with the words that matter by a measure.

    Each measure puts the words of a text in an order.  Words are then removed, the most
    important first, or all but the most important, and the model reads what is left.  The same
    words of a text are removed once for all measures.  Of a tagger all numbers are means over
    the words of a sentence, for each of which p is that of its own class.

    Its result has, over ``measure`` (with ``random``, the mean over random orders) and ``removal``:
    ``comprehensiveness`` and ``sufficiency``, also by ``share``, the areas ``deletion`` and
    ``insertion`` with their curves by ``step``, ``first_flip`` and ``share_to_flip``, all with
    their intervals.  `headlight.studies.faithfulness.study.metrics` defines them.

    Source: DeYoung et al. (2020), Section 4; Petsiuk et al. (2018); Serrano and Smith (2019).
    """

    name = "faithfulness"
    title = "Effect of removing important words on predictions"
    settings_class = FaithfulnessSettings

    def check(self) -> None:
        """Ways to remove words that the model does not have are refused."""
        check_removals(self.model, self.classes, self.settings.removals)

    def observe(self, batch: Batch, examples: Sequence[Classified]) -> "FaithfulnessObserver":
        """Runs the model without words, in the order of each measure."""
        return FaithfulnessObserver(self, batch, examples)

    def dataset(self, tally: Tally) -> xarray.Dataset:
        """Means over texts, by measure and by the way words are removed."""
        found = tally.compute()
        axes = ("measure", "removal")
        variables: dict[str, Any] = {}
        for bound, statistic in BOUNDS.items():
            numbers = parts(found["metrics"][statistic])
            totals = numbers.pop("totals")
            variables |= {
                f"{name}{bound}": (axes, totals[..., at]) for at, name in enumerate(TOTALS)
            }
            for name, values in numbers.items():
                called, over = _CURVES[name]
                variables[f"{called}{bound}"] = ((*axes, over), values)
        coordinates = {
            "measure": list(self.settings.orders),
            "removal": list(self.settings.removals),
            "share": list(SHARES),
            "step": list(STEPS),
        }
        return described(variables, coordinates, VARIABLES)


run = FaithfulnessStudy.run


class FaithfulnessObserver(ClassifierObserver[FaithfulnessSettings]):
    """Runs the model on a batch as it is, and without words, in the order of each measure."""

    def tally(self) -> Tally:
        """All metrics of each text, by measure and by the way words are removed."""
        settings = self._settings
        tokens = token_importance(
            self._model, self._batch, self._texts, self._sites, settings, self._positions
        )
        known = {name: by_word(values, self._examples) for name, values in tokens.items()}
        rows, right = [], np.zeros(0)
        for removal in settings.removals:
            predictions = Predictions(self._model, self._examples, removal, settings.batch_tokens)
            rows.append(self._of_removal(predictions, known))
            right = self._right(predictions)
        return Tally({**self._scores(right), "metrics": self._resampled(np.stack(rows, 2))})

    def _of_removal(
        self, predictions: Predictions, known: dict[str, list[Importance]]
    ) -> Float64[np.ndarray, "text measure number"]:
        if LEFT_OUT in self._settings.measures:
            known = {**known, LEFT_OUT: left_out(predictions, self._examples)}
        orders: dict[str, list[list[Order]]] = {
            name: [[_order(each)] for each in known[name]] for name in self._settings.measures
        }
        orders[RANDOM] = self._random_orders()
        predictions.ask(
            (text, words)
            for by_text in orders.values()
            for text, own in enumerate(by_text)
            for order in own
            for words in removals(order)
        )
        return np.array(
            [
                [
                    self._mean(predictions, text, orders[name][text])
                    for name in self._settings.orders
                ]
                for text in range(len(self._examples))
            ]
        )

    def _mean(
        self, predictions: Predictions, text: int, orders: Sequence[Order]
    ) -> Float64[np.ndarray, " number"]:
        """The metrics of a text, over some orders of it, and over all of its predictions."""
        rows = [
            metrics(order, prediction)
            for order in orders
            for prediction in _predictions(predictions, text, len(self._examples[text].labels))
        ]
        mean: Float64[np.ndarray, " number"] = np.mean(rows, axis=0)
        return mean

    def _random_orders(self) -> list[list[Order]]:
        """Orders that depend on nothing but the text and the seed."""
        found = []
        for stream, example in zip(self._texts.text_ids, self._examples, strict=True):
            random = random_source(self._settings.seed, stream)
            words = max(example.words) + 1
            orders = [random.permutation(words) for _ in range(self._settings.random_orders)]
            found.append(orders)
        return found

    def _right(self, predictions: Predictions) -> Float64[np.ndarray, " text"]:
        """The share of the predictions to each whole text that are right."""
        return np.array(
            [
                (
                    predictions.without(text, frozenset()).argmax(-1) == np.array(example.labels)
                ).mean()
                for text, example in enumerate(self._examples)
            ]
        )


def _predictions(
    predictions: Predictions, text: int, number: int
) -> Iterator[Callable[[Words], Probabilities]]:
    """For each prediction to a text, what becomes of it without some words."""
    for at in range(number):
        yield lambda words, at=at: predictions.without(text, words)[at]  # type: ignore[misc]


def _order(importance: Importance) -> Order:
    """The most important word first; of equal ones that which comes first in the text."""
    order: Order = np.argsort(-importance, kind="stable")
    return order
