"""How far measures agree on the words of the texts of a batch."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float64, Int64

from headlight.analysis.batch_texts import Texts
from headlight.analysis.classifier_plan import Classified, Readout, by_answer
from headlight.analysis.erasure import Answers, Importance
from headlight.analysis.importance import by_word, left_out, random_source, token_importance
from headlight.analysis.settings import RANDOM
from headlight.capture import AttentionSite, CapturedModel
from headlight.encode.batch import Batch
from headlight.measures.agreement import kendall, top_number, top_overlap
from headlight.reduce import Histogram, ResampledMean, Tally
from headlight.studies.agreement.settings import AgreementSettings

STATISTICS = ("tau", "square", "significant", "overlap", "missing")
"""Of a text and two measures; ``missing`` is 1 where there is no correlation."""

EDGES = tuple(step / 10 for step in range(-10, 11))
"""Of the bins of τ."""


class AgreementObserver:
    """Compares all measures with each other, text by text.

    Args:
        model: A classifier of texts.
        batch: What it reads.
        examples: The same, with their classes.
        sites: The layers whose attention is looked at.
        settings: What is asked.
        classes: How many there are.
    """

    def __init__(
        self,
        model: CapturedModel,
        batch: Batch,
        examples: Sequence[Classified],
        sites: Sequence[AttentionSite],
        settings: AgreementSettings,
        classes: int,
    ) -> None:
        self._model = model
        self._batch = batch
        self._examples = examples
        self._sites = sites
        self._settings = settings
        self._classes = classes
        self._texts = Texts.of(batch, examples, sites[0].kind)

    def tally(self) -> Tally:
        """Statistics of each text, over all texts and over those of each answer."""
        settings = self._settings
        answers = Answers(self._model, self._examples, settings.removal, settings.batch_tokens)
        known = self._importance(answers)
        rows = np.array(
            [
                self._compare([known[name][text] for name in settings.compared])
                for text in range(len(self._examples))
            ]
        )
        grouped = by_answer(rows, self._chosen(answers), self._classes)
        streams = np.array(self._texts.streams, dtype=np.int64)
        histogram = Histogram(EDGES, (1 + self._classes, rows.shape[-1]))
        histogram.update(grouped[:, :, STATISTICS.index("tau")])
        return Tally(
            {
                "agreement": ResampledMean.of(
                    streams, grouped, replicates=settings.bootstrap, seed=settings.seed
                ),
                "histogram": histogram,
            }
        )

    def _importance(self, answers: Answers) -> dict[str, list[Importance]]:
        """Of each word of each text by each measure; sizes, if signs are not asked for."""
        settings = self._settings
        readout = Readout(self._examples, self._model.transformer.device)
        tokens = token_importance(
            self._model, self._batch, self._texts, self._sites, settings, readout
        )
        known = {name: by_word(values, self._examples) for name, values in tokens.items()}
        if "leave_one_out" in settings.measures:
            known["leave_one_out"] = left_out(answers, self._examples)
        if not settings.signed:
            known = {name: [np.abs(each) for each in values] for name, values in known.items()}
        known[RANDOM] = [
            random_source(settings.seed, stream).random(max(example.words) + 1)
            for stream, example in zip(self._texts.streams, self._examples, strict=True)
        ]
        return known

    def _compare(self, measures: Sequence[Importance]) -> Float64[np.ndarray, "statistic pair"]:
        """One text: all pairs of measures."""
        number = top_number(len(measures[0]), self._settings.top)
        found = []
        for first, second in combinations(measures, 2):
            same = kendall(first, second)
            overlap = top_overlap(first, second, number)
            missing = float(np.isnan(same.tau))
            found.append([same.tau, same.tau**2, same.significant, overlap, missing])
        return np.array(found).T

    def _chosen(self, answers: Answers) -> Int64[np.ndarray, " text"]:
        """The class that the model chooses for each text."""
        texts = range(len(self._examples))
        answers.ask((text, frozenset()) for text in texts)
        return np.array([int(answers.without(text, frozenset()).argmax()) for text in texts])
