"""Study of the faithfulness of maps: by removal of tokens, and by agreement."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import xarray

from headlight.capture import Objective
from headlight.corpora import SAMPLE_REVIEWS
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.engine.batch_size import batch_tokens
from headlight.engine.observer import Observer
from headlight.engine.plan import StudyPlan
from headlight.engine.random_numbers import random_source
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.observations.text_ids import text_id, units_of
from headlight.observations.variables import Variable, described, long_names, with_slots
from headlight.observations.word_importance import Importance, Words
from headlight.reduce import Slots, Tally
from headlight.studies.faithfulness import RANDOM, REFERENCES, FaithfulnessSettings
from headlight.studies.faithfulness.erasure import TargetProbabilities, removal_of, substitute_id
from headlight.studies.faithfulness.scores import (
    OF_PAIRS,
    OF_QUESTION,
    SHARES,
    flips,
    lost,
    order_of,
    pair_scores,
    removed_sets,
    scores_of_removal,
)
from headlight.studies.faithfulness.targets import (
    mask_id,
    number_tokens,
    predicted_kind,
    with_targets,
)
from headlight.studies.faithfulness.token_maps import TokenMaps

LEFT_OUT = "leave_one_out"

VARIABLES = long_names(
    {
        "score": Variable("score of a map, mean over texts", interval="signed"),
        "lost": Variable(
            "probability lost without a share of the most important tokens", interval="signed"
        ),
        "lost_least": Variable(
            "probability lost without a share of the least important tokens", interval="signed"
        ),
        "correlation": Variable(
            "rank correlation of two maps, mean over texts", interval="correlation"
        ),
        "significant": Variable(
            "share of texts whose correlation is significant at 0.05", interval="share"
        ),
        "overlap": Variable(
            "share of the most important tokens that both maps name, mean over texts",
            interval="share",
        ),
        "probability": Variable("probability of what the model predicts", interval="share"),
        "tokens": Variable("tokens of a text that can be removed", "count"),
        "texts": Variable("texts of which tokens are removed", "count"),
    }
)

AXES = {
    "score": ("question", "map"),
    "lost": ("map", "share"),
    "lost_least": ("map", "share"),
    "probability": (),
    **dict.fromkeys(OF_PAIRS, ("map", "other")),
}
"""Axes of all variables with an interval."""


class FaithfulnessStudy(CorpusStudy[FaithfulnessSettings]):
    """Effect on a prediction of the tokens that each map ranks first.

    A map gives each token of a text a number, for one prediction: the class of the text, what a
    decoder says comes next, or what a masked language model says stands behind the mask.  Tokens
    are removed in this order, the most important first, and from the other end, and the model reads
    what is left; p is the probability of what it predicts for the whole text.  Texts of fewer than
    two such tokens are left out.

    Its result has over ``question`` and ``map`` (the last is ``random``) ``score``.  Of the
    question ``removal`` these are ``comprehensiveness``, ``normalised`` and ``sufficiency``
    (`headlight.studies.faithfulness.scores.scores_of_removal`), and ``lost`` and ``lost_least``,
    over ``map`` and ``share``, are what p loses; of ``flips`` whether the prediction changes
    without the first token (``first_flip``), and the smallest share without which it does
    (``share_to_flip``); of ``correlation`` the rank correlation with ``leave_one_out`` and
    ``gradient_input``, and over ``map`` and ``other`` ``correlation``, the share of texts in which
    it is ``significant``, and the ``overlap`` of the first tenth of the tokens.  The lower the
    better are ``sufficiency`` and ``share_to_flip``.

    Source: DeYoung et al. (2020), Section 4; Jain and Wallace (2019), Section 4.1; Serrano and
        Smith (2019); Edin et al. (2025).

    Raises:
        MissingHeadError: the model predicts nothing.
        UsageError: it predicts a class for every word or reads two texts, or tokens cannot be
            removed as is asked for.
    """

    name = "faithfulness"
    title = "Maps of the tokens that a prediction rests on"
    settings_class = FaithfulnessSettings

    def make_plan(self, source: TextSource, objective: Objective | None) -> StudyPlan[Encoded]:
        """Plan one pass over texts, from which tokens can be removed in the requested way."""
        model, settings = self.model, self.settings
        self.predicts = predicted_kind(model)
        self.removal = removal_of(model, self.predicts, settings.removal)
        self.mask = substitute_id(model, self.removal)
        if self.predicts == "masked":
            mask_id(model)  # raises before any text is read if there is no mask token
        if source is None and self.predicts == "class":
            source = str(SAMPLE_REVIEWS)
        plan = plan_text_study(
            self.name,
            self.title,
            source,
            model,
            settings,
            options={"predicts": self.predicts, "removed_by": self.removal},
        )
        return replace(plan, all_kinds=False)  # maps are of the prediction, not of a kind

    @property
    def references(self) -> list[str]:
        """Return the maps that all are correlated with, if ``correlation`` is requested."""
        wants_correlation = "correlation" in self.settings.questions
        return [name for name in REFERENCES if wants_correlation and name in self.settings.maps]

    @property
    def scores(self) -> list[str]:
        """Return the names of all scores of a map, by question."""
        questions = self.settings.questions
        names = [
            name
            for question in OF_QUESTION
            if question in questions
            for name in OF_QUESTION[question]
        ]
        return [*names, *self.references]

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Return the axes of the requested numbers of a text, by name."""
        questions = self.settings.questions
        absent = {
            *(("lost", "lost_least") if "removal" not in questions else ()),
            *(OF_PAIRS if "correlation" not in questions else ()),
            *(("score",) if not self.scores else ()),
        }
        return {name: dims for name, dims in AXES.items() if name not in absent}

    @property
    def sizes(self) -> dict[str, int]:
        """Return the sizes of the axes."""
        return {name: len(values) for name, values in self._coordinates().items()}

    def _coordinates(self) -> dict[str, list[Any]]:
        """Return the labels of the axes."""
        maps = list(self.settings.compared)
        labels: dict[str, list[Any]] = {
            "question": self.scores,
            "map": maps,
            "other": maps,
            "share": list(SHARES[self.settings.shares]),
        }
        dims = {dim for axes in self.axes.values() for dim in axes}
        return {name: values for name, values in labels.items() if name in dims}

    def observe(
        self, plan: StudyPlan[Encoded], batch: Batch, examples: Sequence[Encoded]
    ) -> "FaithfulnessObserver":
        """Return the observer that removes tokens in the order of each map."""
        return FaithfulnessObserver(self, examples)

    def dataset(self, plan: StudyPlan[Encoded], state: State) -> xarray.Dataset:
        """Return means over texts, with the sums that their intervals are computed from."""
        statistics = state.tally.compute()
        variables: dict[str, Any] = {
            "tokens": ((), statistics["tokens"]["mean"]),
            "texts": ((), statistics["tokens"]["whole"].sum()),
        }
        for name, dims in self.axes.items():
            variables |= with_slots(name, dims, statistics[name]["mean"], statistics[name])
        return described(variables, self._coordinates(), VARIABLES)


run = FaithfulnessStudy.run


class FaithfulnessObserver(Observer):
    """Observer of the predictions for the texts of a batch, with and without tokens."""

    wants_attention = False

    def __init__(self, study: FaithfulnessStudy, examples: Sequence[Encoded]) -> None:
        self._study = study
        self._model = study.plan.model
        self._settings = settings = study.settings
        self._ids = [text_id(example) for example in examples]
        self._units = units_of(examples)
        numbered = [
            number_tokens(
                self._model,
                study.predicts,
                example,
                settings.units,
                seed=settings.seed,
                text_id=number,
            )
            for example, number in zip(examples, self._ids, strict=True)
        ]
        self._examples = with_targets(self._model, numbered)
        self._removes = bool(OF_QUESTION.keys() & {*settings.questions})
        self._answers = TargetProbabilities(
            self._model,
            self._examples,
            study.removal,
            study.mask,
            batch_tokens(self._model, settings),
        )

    def tally(self) -> Tally:
        """Return all numbers of each text."""
        maps = self._maps()
        self._answers.ask(self._needed(maps))
        rows = [
            self._measure_text(text, {name: by_text[text] for name, by_text in maps.items()})
            for text in range(len(self._examples))
        ]
        return Tally(
            {
                name: Slots.of(self._units, np.array([row[name] for row in rows], dtype=np.float64))
                for name in rows[0]
            }
        )

    def _maps(self) -> dict[str, list[list[Importance]]]:
        """Return the importance of tokens, by map and text; the random map has several."""
        settings = self._settings
        maps = TokenMaps(self._model, self._examples, self._study.plan.sites, settings).compute()
        if LEFT_OUT in settings.maps:
            maps[LEFT_OUT] = self._answers.lost_alone()
        drawn = []
        for number, example in zip(self._ids, self._examples, strict=True):
            source = random_source(settings.seed, number, draw=1)
            drawn.append([source.random(example.tokens) for _ in range(settings.random_orders)])
        return {name: [[importance] for importance in maps[name]] for name in settings.maps} | {
            RANDOM: drawn
        }

    def _needed(self, maps: Mapping[str, list[list[Importance]]]) -> Iterator[tuple[int, Words]]:
        """Yield every set of tokens to be removed, with the number of its text."""
        for text, example in enumerate(self._examples):
            yield text, frozenset()
            if not self._removes or example.tokens < 2:
                continue
            for by_text in maps.values():
                for importance in by_text[text]:
                    for words in removed_sets(order_of(importance), self._settings.shares):
                        yield text, words

    def _measure_text(self, text: int, maps: Mapping[str, list[Importance]]) -> dict[str, Any]:
        """Return all numbers of one text; NaN if it has fewer than two removable tokens."""
        tokens, sizes = self._examples[text].tokens, self._study.sizes
        numbers = {
            name: np.full([sizes[dim] for dim in dims], np.nan)
            for name, dims in self._study.axes.items()
        }
        if tokens < 2:
            return {**numbers, "tokens": np.nan}
        without = partial(self._answers.without, text)
        numbers["probability"] = np.array(without(frozenset())[0])
        scores = []
        orders = {
            name: [order_of(importance) for importance in draws] for name, draws in maps.items()
        }
        shares = self._settings.shares
        if "lost" in numbers:
            ends = {
                name: [lost(order, shares, without) for order in draws]
                for name, draws in orders.items()
            }
            by_share = np.array([np.mean(by_order, axis=0) for by_order in ends.values()])
            numbers["lost"], numbers["lost_least"] = np.moveaxis(by_share, 1, 0)
            scores.append(scores_of_removal(ends))
        if "flips" in self._settings.questions:
            changes = [
                np.mean([flips(order, shares, without) for order in draws], axis=0)
                for draws in orders.values()
            ]
            scores.append(np.array(changes).T)
        if "correlation" in numbers:
            pairs = pair_scores(maps, self._settings.coefficient, signed=self._settings.signed)
            numbers |= dict(zip(OF_PAIRS, pairs, strict=True))
            places = [self._settings.maps.index(name) for name in self._study.references]
            scores.append(pairs[0][places])
        if "score" in numbers:
            numbers["score"] = np.concatenate(scores)
        return {**numbers, "tokens": tokens}
