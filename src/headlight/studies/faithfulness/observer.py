"""What answers for a batch lose with the words that each measure calls important."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float64

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifier_plan import Classified, Readout
from headlight.analysis.erasure import Answers, Importance, Order, Probabilities, Words
from headlight.analysis.importance import by_word, left_out, random_source, token_importance
from headlight.analysis.settings import RANDOM
from headlight.capture import AttentionSite, CapturedModel
from headlight.encode.batch import Batch
from headlight.reduce import ResampledMean, Tally
from headlight.studies.faithfulness.metrics import metrics, removals
from headlight.studies.faithfulness.settings import FaithfulnessSettings

LEFT_OUT = "leave_one_out"


class FaithfulnessObserver:
    """Runs the model on a batch as it is, and without words, in the order of each measure.

    Args:
        model: A classifier of texts, or of tokens.
        batch: What it reads.
        examples: The same, with their classes.
        sites: The layers whose attention is looked at.
        settings: What is asked.
    """

    def __init__(
        self,
        model: CapturedModel,
        batch: Batch,
        examples: Sequence[Classified],
        sites: Sequence[AttentionSite],
        settings: FaithfulnessSettings,
    ) -> None:
        self._model = model
        self._batch = batch
        self._examples = examples
        self._sites = sites
        self._settings = settings
        self._texts = Texts.of(batch, examples, sites[0].kind)

    def tally(self) -> Tally:
        """All metrics of each text, by measure and by the way words are taken away."""
        settings = self._settings
        readout = Readout(self._examples, self._model.transformer.device)
        tokens = token_importance(
            self._model, self._batch, self._texts, self._sites, settings, readout
        )
        known = {name: by_word(values, self._examples) for name, values in tokens.items()}
        rows, right = [], np.zeros(0)
        for removal in settings.removals:
            answers = Answers(self._model, self._examples, removal, settings.batch_tokens)
            rows.append(self._of_removal(answers, known))
            right = self._right(answers)
        streams = np.array(self._texts.streams, dtype=np.int64)
        resampling = {"replicates": settings.bootstrap, "seed": settings.seed}
        return Tally(
            {
                "metrics": ResampledMean.of(streams, np.stack(rows, 2), **resampling),
                "accuracy": ResampledMean.of(streams, right, **resampling),
            }
        )

    def _of_removal(
        self, answers: Answers, known: dict[str, list[Importance]]
    ) -> Float64[np.ndarray, "text measure number"]:
        if LEFT_OUT in self._settings.measures:
            known = {**known, LEFT_OUT: left_out(answers, self._examples)}
        orders: dict[str, list[list[Order]]] = {
            name: [[_order(each)] for each in known[name]] for name in self._settings.measures
        }
        orders[RANDOM] = self._random_orders()
        answers.ask(
            (text, words)
            for by_text in orders.values()
            for text, own in enumerate(by_text)
            for order in own
            for words in removals(order)
        )
        return np.array(
            [
                [self._mean(answers, text, orders[name][text]) for name in self._settings.orders]
                for text in range(len(self._examples))
            ]
        )

    def _mean(
        self, answers: Answers, text: int, orders: Sequence[Order]
    ) -> Float64[np.ndarray, " number"]:
        """The metrics of a text, over some orders of it, and over all of its answers."""
        rows = [
            metrics(order, answer)
            for order in orders
            for answer in _answers(answers, text, len(self._examples[text].labels))
        ]
        mean: Float64[np.ndarray, " number"] = np.mean(rows, axis=0)
        return mean

    def _random_orders(self) -> list[list[Order]]:
        """Orders that depend on nothing but the text and the seed."""
        found = []
        for stream, example in zip(self._texts.streams, self._examples, strict=True):
            random = random_source(self._settings.seed, stream)
            words = max(example.words) + 1
            orders = [random.permutation(words) for _ in range(self._settings.random_orders)]
            found.append(orders)
        return found

    def _right(self, answers: Answers) -> Float64[np.ndarray, " text"]:
        """The share of the answers to each whole text that are right."""
        return np.array(
            [
                (answers.without(text, frozenset()).argmax(-1) == np.array(example.labels)).mean()
                for text, example in enumerate(self._examples)
            ]
        )


def _answers(
    answers: Answers, text: int, number: int
) -> Iterator[Callable[[Words], Probabilities]]:
    """For each answer to a text, what becomes of it without some words."""
    for at in range(number):
        yield lambda words, at=at: answers.without(text, words)[at]  # type: ignore[misc]


def _order(importance: Importance) -> Order:
    """The most important word first; of equal ones that which comes first in the text."""
    order: Order = np.argsort(-importance, kind="stable")
    return order
