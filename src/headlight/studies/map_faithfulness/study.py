"""Maps of tokens beside each other: by removal of tokens, and by agreement with what is removed."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float64

from headlight.analysis.batch_texts import text_id
from headlight.analysis.classifiers.erasure import Order
from headlight.analysis.classifiers.importance import random_source
from headlight.analysis.classifiers.predictor import Importance, Words, lost_words
from headlight.analysis.plan import Pass
from headlight.analysis.settings import RANDOM
from headlight.analysis.study import PassStudy
from headlight.analysis.text_plan import TextSource, plan_text_study
from headlight.analysis.variables import BOUNDS, Variable, described, long_names
from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.reduce import ResampledMean, Tally
from headlight.run import State
from headlight.studies.map_faithfulness import (
    REFERENCES,
    MapFaithfulnessSettings,
)
from headlight.studies.map_faithfulness.asked import (
    TargetProbabilities,
    asked_of,
    predicts_what,
    removal_of,
    substitute_id,
    with_targets,
)
from headlight.studies.map_faithfulness.maps import TokenMaps
from headlight.studies.map_faithfulness.scores import (
    BY_REMOVAL,
    SHARES,
    correlations,
    lost,
    removals,
    scores_of_removal,
)

LEFT_OUT = "leave_one_out"

VARIABLES = long_names(
    {
        "score": Variable("score of a map, mean over texts", interval="signed"),
        "difference": Variable(
            "score of a map minus that of the other, mean over texts", interval="signed"
        ),
        "lost": Variable(
            "probability lost without a share of the most important tokens", interval="signed"
        ),
        "lost_least": Variable(
            "probability lost without a share of the least important tokens", interval="signed"
        ),
        "probability": Variable("probability of what the model predicts", interval="share"),
        "tokens": Variable("tokens of a text that are removed", "count"),
        "texts": Variable("texts of which tokens are removed", "count"),
    }
)


class MapFaithfulnessStudy(PassStudy[MapFaithfulnessSettings]):
    """How much of a prediction rests on the tokens that each map puts first.

    A map gives each token of a text a number, for one prediction: the class of the text, what a
    decoder says comes next, or what a masked language model says stands behind the mask.  Tokens
    are removed in this order, from 10 to 90%, and from the other end, and the model reads what is
    left; p is the probability of what it predicts for the whole text.  Texts of fewer than two such
    tokens are left out.

    Its result has over ``question``, ``map`` (the last is ``random``) and ``other``: ``score``, and
    ``difference``, of two maps on the same texts.  Questions are those of
    `headlight.studies.map_faithfulness.scores.scores_of_removal`, and ``leave_one_out`` and
    ``gradient_input``, Spearman's ρ with that map.  ``lost`` and ``lost_least``, over ``map`` and
    ``share``, are what p loses.  All have intervals, from resampled texts.  The lower the better is
    ``sufficiency`` alone.

    Source: DeYoung et al. (2020), Section 4; Edin et al. (2025).

    Raises:
        MissingHeadError: the model predicts nothing.
        UsageError: it predicts a class for every word or reads two texts, or tokens cannot be
            removed as is asked for.
    """

    name = "map_faithfulness"
    title = "Maps of the tokens that a prediction rests on"
    settings_class = MapFaithfulnessSettings

    def __init__(
        self, source: TextSource, model: CapturedModel, settings: MapFaithfulnessSettings
    ) -> None:
        self.model = model
        self.settings = settings
        self.predicts = predicts_what(model)
        self.removal = removal_of(model, self.predicts, settings.removal)
        self.mask = substitute_id(model, self.removal)
        if self.predicts == "masked":
            substitute_id(model, "mask")
        self.plan = plan_text_study(
            self.name,
            self.title,
            source,
            model,
            settings,
            options={"predicts": self.predicts, "removed_by": self.removal},
        )
        self.questions = [*BY_REMOVAL, *(name for name in REFERENCES if name in settings.maps)]

    def observe(
        self, one: Pass, batch: Batch, examples: Sequence[Encoded]
    ) -> "MapFaithfulnessObserver":
        """Runs the model without tokens, in the order of each map."""
        return MapFaithfulnessObserver(self, examples)

    def dataset(self, one: Pass, state: State) -> xarray.Dataset:
        """Means over texts with intervals."""
        found = state.tally.compute()
        axes = {
            "score": ("question", "map"),
            "difference": ("question", "map", "other"),
            "lost": ("map", "share"),
            "lost_least": ("map", "share"),
            "probability": (),
        }
        variables: dict[str, Any] = {}
        for bound, statistic in BOUNDS.items():
            numbers = {name: each[statistic] for name, each in found.items()}
            numbers["lost"], numbers["lost_least"] = np.moveaxis(numbers.pop("lost"), 1, 0)
            variables |= {f"{name}{bound}": (dims, numbers[name]) for name, dims in axes.items()}
        variables["tokens"] = ((), found["tokens"]["mean"])
        variables["texts"] = ((), found["tokens"]["count"])
        maps = list(self.settings.compared)
        coordinates = {
            "question": self.questions,
            "map": maps,
            "other": maps,
            "share": list(SHARES),
        }
        return described(variables, coordinates, VARIABLES)


run = MapFaithfulnessStudy.run


class MapFaithfulnessObserver:
    """Sees the predictions to the texts of a batch, as they are and without tokens."""

    def __init__(self, study: MapFaithfulnessStudy, examples: Sequence[Encoded]) -> None:
        self._study = study
        self._model = study.plan.model
        self._settings = study.settings
        self._ids = [text_id(each) for each in examples]
        asked = [
            asked_of(self._model, study.predicts, each, seed=study.settings.seed, text_id=number)
            for each, number in zip(examples, self._ids, strict=True)
        ]
        self._examples = with_targets(self._model, asked)

    def tally(self) -> Tally:
        """All numbers of each text."""
        examples = self._examples
        answers = TargetProbabilities(
            self._model,
            examples,
            self._study.removal,
            self._study.mask,
            self._settings.batch_tokens,
        )
        given = self._maps(answers)
        orders = {
            name: [[_order(each) for each in of_text] for of_text in by_text]
            for name, by_text in given.items()
        }
        answers.ask(
            (text, words)
            for by_text in orders.values()
            for text, own in enumerate(by_text)
            if examples[text].tokens > 1
            for order in own
            for words in (frozenset(), *removals(order))
        )
        rows: list[dict[str, Any]] = [
            self._of_text(answers, text, orders, given) for text in range(len(examples))
        ]
        return Tally(
            {
                name: ResampledMean.of(
                    np.array(self._ids),
                    np.array([row[name] for row in rows], dtype=np.float64),
                    replicates=self._settings.bootstrap,
                    seed=self._settings.seed,
                )
                for name in rows[0]
            }
        )

    def _maps(self, answers: TargetProbabilities) -> dict[str, list[list[Importance]]]:
        """What each token of each text is given: once by each map, several times at random."""
        settings = self._settings
        found = TokenMaps(self._model, self._examples, self._study.plan.sites, settings).found()
        if LEFT_OUT in settings.maps:
            found[LEFT_OUT] = lost_words(answers, [each.tokens for each in self._examples])
        given: dict[str, list[list[Importance]]] = {
            name: [[each] for each in found[name]] for name in settings.maps
        }
        drawn = []
        for number, example in zip(self._ids, self._examples, strict=True):
            source = random_source(settings.seed, number, draw=1)
            drawn.append([source.random(example.tokens) for _ in range(settings.random_orders)])
        return {**given, RANDOM: drawn}

    def _of_text(
        self,
        answers: TargetProbabilities,
        text: int,
        orders: Mapping[str, list[list[Order]]],
        given: Mapping[str, list[list[Importance]]],
    ) -> dict[str, Any]:
        tokens = self._examples[text].tokens
        maps, questions = len(given), len(self._study.questions)
        score = np.full((questions, maps), np.nan)
        by_share = np.full((maps, 2, len(SHARES)), np.nan)
        whole = np.nan
        if tokens > 1:
            probability = partial(_probability, answers, text)
            by_map = {
                name: [lost(order, probability) for order in by_text[text]]
                for name, by_text in orders.items()
            }
            whole = probability(frozenset())
            by_share = np.array([np.mean(each, axis=0) for each in by_map.values()])
            own = {name: by_text[text] for name, by_text in given.items()}
            references = self._study.questions[len(BY_REMOVAL) :]
            alike = correlations(own, references, signed=self._settings.signed)
            score = np.concatenate([scores_of_removal(by_map), alike])
        return {
            "score": score,
            "difference": score[:, :, None] - score[:, None, :],
            "lost": by_share,
            "probability": whole,
            "tokens": tokens if tokens > 1 else np.nan,
        }


def _probability(answers: TargetProbabilities, text: int, words: Words) -> float:
    return float(answers.without(text, words)[0, 0])


def _order(importance: Importance) -> Order:
    """The most important token first; of equal ones that which comes first in the text."""
    order: Float64[np.ndarray, " _"] = np.argsort(-importance, kind="stable")
    return order
