"""Study of heads as resolvers of coreference: the observer of one batch, and the result."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from headlight.capture import AttentionSite, LayerRecord, Objective
from headlight.capture.one_text import capture_one
from headlight.encode.batch import Batch
from headlight.engine.observer import Observer
from headlight.engine.plan import Pass, StudyPlan
from headlight.engine.repeatable_corpus import check_repeatable
from headlight.engine.state import State
from headlight.engine.study import CorpusStudy
from headlight.errors import setting
from headlight.measures import Scores, word_score
from headlight.observations.layer_arrays import head_mask
from headlight.observations.text_ids import units_of
from headlight.observations.variables import described, with_slots
from headlight.pool import Words
from headlight.reduce import Slots, Tally
from headlight.result import Description
from headlight_words.corpora import CoreferenceDocument, open_coreference
from headlight_words.encode.spans import documents
from headlight_words.example_sentences import LONGEST, Shown, sentences_dataset
from headlight_words.findings.coreference import best_heads
from headlight_words.studies.coreference import Candidates, CoreferenceSettings
from headlight_words.studies.coreference.sieves import BASELINES, baseline_picks, is_correct
from headlight_words.studies.coreference.task import (
    KINDS,
    AntecedentExample,
    AntecedentExamples,
    AntecedentTask,
)
from headlight_words.word_plan import plan_word_study

DIRECTIONS = ("mention", "antecedent")
"""Direction of attention: mention to antecedent, as in the paper, or antecedent to mention."""

MENTION_KINDS = ("all", *KINDS)


@dataclass(frozen=True, eq=False)
class AntecedentQueries:
    """The evaluated mentions of a batch, one after the other.

    Attributes:
        example: Index in the batch of each mention's example.
        query: Number of each mention's head word.
        kind: Whether each mention is of each of `MENTION_KINDS`.
        candidate: Whether a word may be picked.
        antecedent: Whether a word is the head word of an antecedent.
    """

    example: Int64[Tensor, " mention"]
    query: Int64[Tensor, " mention"]
    kind: Bool[Tensor, "mention kind"]
    candidate: Bool[Tensor, "mention word"]
    antecedent: Bool[Tensor, "mention word"]

    @classmethod
    def from_tasks(
        cls,
        tasks: Sequence[AntecedentTask],
        candidates: Candidates,
        *,
        preceding: bool,
        device: torch.device | str = "cpu",
    ) -> "AntecedentQueries":
        """Return the queries of all examples of a batch, padded to the words of the longest."""
        words = max(len(task.words) for task in tasks)
        allowed = [task.candidate_words(candidates, preceding=preceding) for task in tasks]

        def joined(rows: Sequence[np.ndarray]) -> Tensor:
            return torch.from_numpy(np.concatenate(rows)).to(device)

        return cls(
            example=joined([np.full(len(task), place) for place, task in enumerate(tasks)]),
            query=joined([task.query for task in tasks]),
            kind=joined([kind_members(task) for task in tasks]),
            candidate=joined([_pad_words(rows, words) for rows in allowed]),
            antecedent=joined([_pad_words(task.antecedent_words(), words) for task in tasks]),
        )


def kind_members(task: AntecedentTask) -> Bool[np.ndarray, "mention kind"]:
    """Whether each evaluated mention is of each of `MENTION_KINDS`."""
    kinds: Bool[np.ndarray, "mention kind"] = task.kind[:, None] == np.arange(-1, len(KINDS))
    kinds[:, 0] = True
    return kinds


def picked_words(
    score: Float[Tensor, "batch head word word"], questions: AntecedentQueries
) -> Int64[Tensor, "mention head direction"]:
    """Return the candidate with the highest score, −1 where there is none.

    A word with a score of exactly 0 cannot be picked, since a word that a mask hides has this
    score.  Of equal scores the first word wins.

    Args:
        score: Score between the words of each example; rows attend.
        questions: Evaluated mentions, with their head words and candidates.
    """
    example, query = questions.example, questions.query
    rows = torch.stack([score[example, :, query], score[example, :, :, query]], dim=2)
    width = questions.candidate.shape[-1]
    rows = rows[..., :width]
    allowed = questions.candidate[:, None, None] & (rows != 0)
    picked: Tensor = rows.masked_fill(~allowed, -torch.inf).argmax(dim=-1)
    return picked.masked_fill(~allowed.any(dim=-1), -1)


def is_antecedent(
    picked: Int64[Tensor, "mention head direction"], questions: AntecedentQueries
) -> Bool[Tensor, "mention head direction"]:
    """Whether the picked word is the head word of an antecedent."""
    mention = torch.arange(len(picked), device=picked.device)[:, None, None]
    return questions.antecedent[mention, picked.clamp_min(0)] & (picked >= 0)


@dataclass(eq=False, repr=False)
class AntecedentObserver(Observer):
    """Observer that counts the right picks of all heads in a batch; `tally` has them by document.

    Attributes:
        batch: Batch that the model reads.
        examples: Examples of the batch.
        sites: Layers that are observed.
        settings: Settings of the study.
        measures: Measures of the settings that this pass of the model has.
    """

    batch: Batch
    examples: Sequence[AntecedentExample]
    sites: Sequence[AttentionSite]
    settings: CoreferenceSettings
    measures: Sequence[str]

    def __post_init__(self) -> None:
        self._layers = {site.layer: place for place, site in enumerate(self.sites)}
        self._words = Words.of(self.batch.word, queries=self.settings.queries)
        self.questions = AntecedentQueries.from_tasks(
            [example.task for example in self.examples],
            self.settings.candidates,
            preceding=self.settings.preceding,
            device=self.batch.word.device,
        )
        heads = max(site.heads for site in self.sites)
        shape = (len(self.measures), len(self.sites), heads, len(DIRECTIONS), len(MENTION_KINDS))
        self._correct = np.zeros((len(self.examples), *shape), dtype=np.int64)

    def visit(self, record: LayerRecord) -> None:
        """Count the right picks of one layer."""
        layer = self._layers[record.site.layer]
        for place, picked in enumerate(self.picked(record).values()):
            correct = self._count_by_kind(is_antecedent(picked, self.questions))
            self._correct[:, place, layer, : correct.shape[1]] = correct.cpu().numpy()

    def picked(self, record: LayerRecord) -> dict[str, Int64[Tensor, "mention head direction"]]:
        """Return the word that each head picks for each mention, by measure."""
        scores = Scores(record, self.settings.value_bias, precision=torch.float32)
        return {
            measure: picked_words(
                word_score(scores, measure, self._words, pooling=self.settings.pooling),
                self.questions,
            )
            for measure in self.measures
        }

    def tally(self) -> Tally:
        """Return right picks of heads and baselines, and the number of mentions, by document."""
        counts = np.stack([kind_members(example.task).sum(0) for example in self.examples])
        baselines = np.stack(
            [_baseline_counts(example, self.settings) for example in self.examples]
        )
        units = units_of(self.examples)
        return Tally(
            {
                "correct": Slots.of(units, self._correct, counts[:, None, None, None, None]),
                "baseline": Slots.of(units, baselines, counts[:, None]),
            }
        )

    def _count_by_kind(
        self, correct: Bool[Tensor, "mention head direction"]
    ) -> Int64[Tensor, "batch head direction kind"]:
        by_kind = correct[..., None] & self.questions.kind[:, None, None]
        sums = by_kind.new_zeros((len(self.examples), *by_kind.shape[1:]), dtype=torch.int64)
        return sums.index_add_(0, self.questions.example, by_kind.long())


def _baseline_counts(
    example: AntecedentExample, settings: CoreferenceSettings
) -> Int64[np.ndarray, "baseline kind"]:
    picks = baseline_picks(example.task, settings)
    kinds = kind_members(example.task)
    answers = [is_correct(example.task, picks[name])[:, None] & kinds for name in BASELINES]
    return np.stack([answer.sum(0) for answer in answers])


def _pad_words(
    rows: Bool[np.ndarray, "mention word"], words: int
) -> Bool[np.ndarray, "mention all_words"]:
    return np.pad(rows, [(0, 0), (0, words - rows.shape[1])])


READ = 40
"""Number of windows that are read once more."""

AROUND = 2
"""Words shown before the first word of a stretch that is linked, and after the last."""

OBSERVED = {
    "sentence_word": ("word of a stretch of text in which the best head finds antecedents", "1"),
    "sentence_found": ("place of the word that it picks for the head word of a mention", "1"),
    "sentence_right": ("whether that is the head word of an antecedent", "1"),
}
"""Long name and unit of every variable."""


def best_sentences(
    result: xarray.Dataset,
    plan: StudyPlan[AntecedentExample],
    settings: CoreferenceSettings,
    model_pass: Pass,
) -> xarray.Dataset:
    """Return a stretch of text where the best head is right, by measure and kind of mention.

    The first windows are read once more, one by one, when it is known which heads are best.

    Args:
        result: Result of the pass.
        plan: Plan of the study.
        settings: Settings of the study.
        model_pass: Pass of the model; passes that do not run forward alone have no text.
    """
    best = best_heads(result).to_dict("records") if model_pass.forward_alone else []
    layers = {row["layer"] for row in best}
    sites = [site for site in plan.sites if site.layer in layers]
    best_shown: dict[tuple[str, str], Shown] = {}
    for example in islice(plan.examples, READ) if best else ():
        for row, stretch in _seen(example, plan, sites, settings, best):
            at = row["measure"], row["mention_kind"]
            if stretch.better_than(best_shown.get(at)):
                best_shown[at] = stretch
    return sentences_dataset(best_shown, result, "mention_kind", OBSERVED)


def _seen(
    example: AntecedentExample,
    plan: StudyPlan[AntecedentExample],
    sites: Sequence[AttentionSite],
    settings: CoreferenceSettings,
    best: Sequence[dict[Any, Any]],
) -> Iterator[tuple[dict[Any, Any], Shown]]:
    """Yield the picks of each of the best heads for the mentions of a window of their kind."""
    measures = list(dict.fromkeys(row["measure"] for row in best))
    batch = plan.model.collate([example])
    observer = AntecedentObserver(batch, [example], sites, settings, measures)
    questions = observer.questions

    def look(record: LayerRecord) -> tuple[int, dict[str, tuple[np.ndarray, np.ndarray]]]:
        picks = {
            measure: (picked.cpu().numpy(), is_antecedent(picked, questions).cpu().numpy())
            for measure, picked in observer.picked(record).items()
        }
        return record.site.layer, picks

    by_layer = dict(capture_one(plan.model, example, sites, look))
    kinds = questions.kind.cpu().numpy()
    for row in best:
        in_question = kinds[:, MENTION_KINDS.index(row["mention_kind"])]
        if in_question.any():
            at = row["head"], DIRECTIONS.index(row["direction"])
            picked, right = (part[:, *at] for part in by_layer[row["layer"]][row["measure"]])
            words, query = example.task.words, example.task.query[in_question]
            yield row, best_stretch(words, query, picked[in_question], right[in_question])


def best_stretch(
    words: tuple[str, ...],
    query: Int64[np.ndarray, " mention"],
    picked: Int64[np.ndarray, " mention"],
    right: Bool[np.ndarray, " mention"],
) -> Shown:
    """Return the stretch of a window with most right mentions, less those that are wrong.

    A mention is right in a stretch that holds also the word that is picked for it.  Of equal
    stretches it is the first.  It ends a few words from the outermost words that are linked.

    Args:
        words: Words of the window.
        query: Number of the head word of each mention; of mentions that share a head word, the last
            counts.
        picked: Number of the word that is picked, −1 where there is none.
        right: Whether that is the head word of an antecedent.
    """
    query, last = np.unique(query[::-1], return_index=True)
    picked, right = picked[::-1][last], right[::-1][last]
    first = np.arange(max(len(words) - LONGEST, 0) + 1)[:, None]
    inside, reached = ((at >= first) & (at < first + LONGEST) for at in (query, picked))
    balance = (inside & reached & right).sum(1) - (inside & ~right).sum(1)
    best = int(balance.argmax())
    places = np.flatnonzero((inside & reached)[best])
    ends = np.concatenate([query[places], picked[places]])
    if not len(ends):
        return Shown(0, 0, (), (), ())
    start = max(int(ends.min()) - AROUND, best)
    stop = min(int(ends.max()) + AROUND + 1, best + LONGEST)
    stretch = words[start:stop]
    marked, correct = np.zeros((2, len(stretch)), dtype=bool)
    picks = np.zeros(len(stretch), dtype=np.int64)
    at = query[places] - start
    marked[at], picks[at], correct[at] = True, picked[places] - start, right[places]
    return Shown.from_prediction(stretch, marked, picks, correct)._replace(
        balance=int(balance[best])
    )


_HEADS = ("measure", "layer", "head", "direction", "mention_kind")
_BASELINES = ("baseline", "mention_kind")

VARIABLES: dict[str, Description] = {
    "correct": ("mentions whose antecedent is found", "1"),
    "accuracy": ("share of the mentions whose antecedent is found", "1", "share"),
    "count": ("mentions asked about", "1"),
    "baseline_correct": ("mentions whose antecedent the baseline finds", "1"),
    "baseline_accuracy": (
        "share of the mentions whose antecedent the baseline finds",
        "1",
        "share",
    ),
}
"""Long name and unit of every variable."""


def to_dataset(
    tally: Tally, sites: Sequence[AttentionSite], measures: Sequence[str]
) -> xarray.Dataset:
    """Return named arrays of the counts of a pass.

    Args:
        tally: Merged tally of the observers.
        sites: Layers, in the order in which they were observed.
        measures: Measures, in the order in which they were observed.
    """
    statistics = tally.compute()
    correct, baseline = statistics["correct"], statistics["baseline"]
    count = baseline["whole"].sum(0)[0]
    exists = head_mask(measures, [site.heads for site in sites])[..., None, None]
    accuracy = np.where(exists, correct["mean"], np.nan)
    variables = {
        "correct": (_HEADS, np.where(exists, _counted(accuracy, count), np.nan)),
        "count": ("mention_kind", count),
        "baseline_correct": (_BASELINES, _counted(baseline["mean"], count)),
        **with_slots("accuracy", _HEADS, accuracy, {**correct, "mean": accuracy}),
        **with_slots("baseline_accuracy", _BASELINES, baseline["mean"], baseline),
    }
    coordinates = {
        "measure": list(measures),
        "layer": [site.layer for site in sites],
        "head": list(range(max(site.heads for site in sites))),
        "direction": list(DIRECTIONS),
        "mention_kind": list(MENTION_KINDS),
        "baseline": list(BASELINES),
    }
    return described(variables, coordinates, VARIABLES)


def _counted(
    accuracy: Float64[np.ndarray, "*cell kind"], count: Float64[np.ndarray, " kind"]
) -> Float64[np.ndarray, "*cell kind"]:
    # Shares of whole numbers are whole again after rounding.
    right: Float64[np.ndarray, "*cell kind"] = np.rint(np.nan_to_num(accuracy) * count)
    return right


class CoreferenceStudy(CorpusStudy[CoreferenceSettings]):
    """Accuracy of each head at linking a mention to an antecedent, beside three baselines.

    "What percent of the time does the head word of a coreferent mention most attend to the head of
    one of that mention's antecedents" (Clark et al. 2019, Section 4.3).  Attention is taken between
    whole words (Section 4.1), special tokens left out.  What the paper leaves open is in the
    settings; by default heads and baselines are on a par: both pick among the mentions before.

    Its result has ``correct`` and ``accuracy`` by measure, layer, head, direction (who attends: the
    ``mention`` or the ``antecedent``) and kind of mention; ``count``; and the same of the
    baselines.  Accuracies are between 0 and 1, intervals over documents.  Attributes count
    documents, windows and mentions, also those left out.
    `headlight_words.findings.coreference.systems_table` makes Table 2 of it.

    Args:
        source: Documents, as `headlight_words.corpora.open_coreference` takes them: a path, a
            pattern, or documents that can be iterated again.
        model: Model whose heads are evaluated.
        settings: Settings of the study.
        objective: Loss whose ``gradient`` is taken, in a pass of its own; by default that of the
            model's training.
    """

    name = "coreference"
    title = "Heads as resolvers of coreference"
    settings_class = CoreferenceSettings

    def make_plan(
        self, source: str | Path | Iterable[CoreferenceDocument], objective: Objective | None
    ) -> StudyPlan[AntecedentExample]:
        """Plan a pass for all measures, and one for the gradient."""
        settings = self.settings
        corpus = open_coreference(source, format=settings.format, invalid=settings.invalid)
        corpus = check_repeatable(corpus.take(settings.max_examples))
        self.corpus = corpus

        def encode_windows(tokenizer: Any, longest: int) -> AntecedentExamples:
            windows = documents(
                corpus,
                tokenizer,
                max_length=longest,
                overlap=settings.overlap,
                unencodable=settings.unencodable,
            )
            return AntecedentExamples(windows, settings)

        if_empty = (
            f"has it mentions with an antecedent, and is {setting('max_length')} large enough for "
            "both?"
        )
        return plan_word_study(
            self.name,
            self.title,
            corpus,
            self.model,
            settings,
            objective,
            encode_windows,
            if_empty=if_empty,
        )

    def observe(
        self, plan: StudyPlan[Any], batch: Batch, examples: Sequence[AntecedentExample]
    ) -> AntecedentObserver:
        """Return the observer of a batch, by the measures of the pass."""
        measures = plan.passes[0].measures
        return AntecedentObserver(batch, examples, plan.sites, self.settings, measures)

    def dataset(self, plan: StudyPlan[Any], state: State) -> xarray.Dataset:
        """Return accuracies, and passages in which the best heads are right."""
        model_pass = plan.passes[0]
        counts = {"documents": plan.examples.counts.documents, "invalid": self.corpus.skipped}
        result = to_dataset(state.tally, plan.sites, model_pass.measures)
        if self.settings.sentences:
            result = result.merge(best_sentences(result, plan, self.settings, model_pass))
        return result.assign_attrs(counts)  # those of before passages were read again


run = CoreferenceStudy.run_with_objective
