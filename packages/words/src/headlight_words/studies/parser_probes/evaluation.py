"""Rows of a table of probes, each of which is trained, evaluated by its trees, and kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Bool, Float, Float64, Int64

from headlight.errors import UnknownNameError, UsageError
from headlight.observations.variables import described, with_slots
from headlight.reduce import Slots
from headlight.result import Description
from headlight_words.studies.parser_probes import RANDOM, ParserProbeSettings
from headlight_words.studies.parser_probes.batches import ParserBatch, ParserData, Table
from headlight_words.studies.parser_probes.models import (
    EVALUATED,
    Parser,
    TrainingHistory,
    build,
    train,
)
from headlight_words.studies.parser_probes.word_map_store import NO_HEAD, Index, WordMaps
from headlight_words.training.model_store import ModelStore

Square = Float[np.ndarray, "node head"]
INSTALL = "spanning trees need one more package: pip install scipy."


def arborescence(score: Float[np.ndarray, "word candidate"]) -> Int64[np.ndarray, " word"]:
    """Return the tree of highest total score in which exactly one word hangs on the root.

    Source: Chu and Liu (1965), Edmonds (1967); a single root as every treebank has it.

    Args:
        score: Score of each candidate as the head of each word; candidate 0 is the root,
            candidate j word j, counted from 1.  Minus infinity where a candidate is ruled out; a
            word never governs itself.

    Returns:
        The head of each word, 0 for the root.
    """
    words = len(score)
    if not words:
        return np.zeros(0, dtype=np.int64)
    square = np.full((words + 1, words + 1), -np.inf)
    square[1:] = np.where(np.isfinite(score), score, -np.inf)
    np.fill_diagonal(square, -np.inf)
    # Each arc from the root now costs more than any choice among the others can bring in.
    finite = square[np.isfinite(square)]
    square[1:, 0] -= (finite.max() - finite.min() + 1) * (words + 1)
    return best_tree(square)[1:]


def spanning_edges(
    score: Float[np.ndarray, "word word"],
) -> Int64[np.ndarray, "edge 2"]:
    """Return the undirected tree over all words of highest total score.

    Args:
        score: Score of each candidate (second axis) as the head of each word; finite.  The better
            of the two directions of a pair counts.

    Returns:
        One edge per row, the earlier word first, in order; words are counted from 0.

    Raises:
        UsageError: The package scipy is not installed.
    """
    try:
        from scipy.sparse.csgraph import minimum_spanning_tree
    except ImportError as problem:
        raise UsageError(INSTALL) from problem
    if len(score) < 2:
        return np.zeros((0, 2), dtype=np.int64)
    both = np.maximum(score, score.T)
    # A cost of 0 would mean "no edge" to scipy, so the cheapest edge costs 1.
    cost = both.max() - both + 1.0
    tree = minimum_spanning_tree(np.triu(cost, k=1)).tocoo()
    edges = np.stack([tree.row, tree.col], axis=1).astype(np.int64)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]


def best_tree(score: Square) -> Int64[np.ndarray, " node"]:
    """Return the head of every node in the tree of highest total score below node 0.

    Every node takes its best head.  Where that makes a cycle, the cycle becomes one node: an arc
    that leaves it costs as before, and an arc that enters it costs the loss from replacing the head
    of the node that it enters.  The tree of the smaller graph tells where the cycle is broken.

    ``networkx.maximum_spanning_arborescence`` finds trees of the same score in 31 to 42 times the
    time, 85 ms for a sentence of 23 words, which would be nearly all of an evaluation.

    Args:
        score: Score of each node (second axis) as the head of each node (first axis); minus
            infinity where an arc is ruled out, and at least one finite head for every node but the
            first.

    Returns:
        Head of each node; 0 for node 0 itself.
    """
    heads: Int64[np.ndarray, " node"] = score.argmax(axis=1)
    heads[0] = 0
    cycle = _cycle(heads)
    if not len(cycle):
        return heads
    outside = np.setdiff1d(np.arange(len(score)), cycle)
    leaving = score[np.ix_(outside, cycle)]
    # An arc into the cycle replaces the head of one of its nodes, whose score is lost.
    entering = score[np.ix_(cycle, outside)] - score[cycle, heads[cycle]][:, None]
    small = np.full((len(outside) + 1, len(outside) + 1), -np.inf)
    small[:-1, :-1] = score[np.ix_(outside, outside)]
    small[:-1, -1] = leaving.max(axis=1)
    small[-1, :-1] = entering.max(axis=0)
    subtree = best_tree(small)
    below = subtree[:-1] == len(outside)  # whose head is the cycle
    inner, outer = cycle[leaving.argmax(axis=1)], np.append(outside, 0)[subtree[:-1]]
    heads[outside] = np.where(below, inner, outer)
    # Node 0 has no head, although the assignment above may have given it one.
    heads[0] = 0
    entry = subtree[-1]
    heads[cycle[entering[:, entry].argmax()]] = outside[entry]
    return heads


def _cycle(heads: Int64[np.ndarray, " node"]) -> Int64[np.ndarray, " member"]:
    """Return the nodes of a cycle that does not hold node 0; empty if there is none."""
    visited_from = np.zeros(len(heads), dtype=np.int64)
    for start in range(1, len(heads)):
        node = start
        while node and not visited_from[node]:
            visited_from[node] = start
            node = int(heads[node])
        if node and visited_from[node] == start:
            # The walk has met its own trace, so that the cycle runs through this node.
            members = [node]
            while heads[members[-1]] != node:
                members.append(int(heads[members[-1]]))
            return np.sort(np.array(members, dtype=np.int64))
    return np.zeros(0, dtype=np.int64)


METRICS = ("uas", "uas_tree", "uuas")
PerSentence = Int64[np.ndarray, " sentence"]


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of correct predictions of a probe in each sentence.

    Attributes:
        words: Words with a known head that are no punctuation; the root's child counts.
        uas: Words whose best candidate is their head.
        uas_tree: Words whose head is right in the best tree with a single root.
        edges: Gold edges between two words that are no punctuation, the root left out.
        uuas: Gold edges in the best undirected tree over the same words.
    """

    words: PerSentence
    uas: PerSentence
    uas_tree: PerSentence
    edges: PerSentence
    uuas: PerSentence

    def select(self, metric: str) -> tuple[PerSentence, PerSentence]:
        """Return the number of correct predictions and their total, by sentence.

        Raises:
            UnknownNameError: The metric is none of `METRICS`.
        """
        if metric not in METRICS:
            raise UnknownNameError("score", metric, METRICS)
        return getattr(self, metric), self.edges if metric == "uuas" else self.words


@torch.inference_mode()
def evaluate(model: Parser, data: ParserData) -> Counts:
    """Parse every sentence, and count correct predictions.

    Args:
        model: Probe to evaluate.
        data: Sentences to parse; gold heads that truncation has lost are not counted.

    Raises:
        UsageError: The packages that find trees are not installed.
    """
    counts = {count.name: np.zeros(len(data), dtype=np.int64) for count in fields(Counts)}
    for numbers in data.by_length(range(len(data)), EVALUATED):
        batch = data.batch(numbers)
        scores = model(batch).double().log_softmax(-1).cpu().numpy()
        for place, number in enumerate(numbers):
            counts_by_name = _count_sentence(batch, place, scores[place])
            for name, count in counts_by_name.items():
                counts[name][number] = count
    return Counts(**counts)


def share(correct: PerSentence, total: PerSentence) -> float:
    """Return the share of correct predictions, from 0 to 1; NaN where there are none."""
    return float(correct.sum() / total.sum()) if total.sum() else np.nan


def _count_sentence(
    batch: ParserBatch, place: int, scores: Float[np.ndarray, "word candidate"]
) -> dict[str, int]:
    length = int(batch.lengths[place])
    gold = batch.heads[place, :length].cpu().numpy()
    plain = ~batch.punctuation[place, :length].cpu().numpy()
    scores = scores[:length, : length + 1]
    # Gold heads beyond the cut are unknown; predictions of other words still make the tree.
    counted = plain & (gold != NO_HEAD)
    right = {
        "uas": scores.argmax(-1) == gold if length else counted,
        "uas_tree": arborescence(scores) == gold,
    }
    edges = gold_edges(gold, plain)
    # Undirected edges are those among words without punctuation, in gold and prediction.
    words = np.flatnonzero(plain)
    predicted_edges = words[spanning_edges(scores[:, 1:][np.ix_(words, words)])]
    return {
        "words": int(counted.sum()),
        **{name: int((hit & counted).sum()) for name, hit in right.items()},
        "edges": len(edges),
        "uuas": len(edges & {(int(first), int(second)) for first, second in predicted_edges}),
    }


def gold_edges(
    gold: Int64[np.ndarray, " word"], plain: Bool[np.ndarray, " word"]
) -> set[tuple[int, int]]:
    """Return pairs of a word and its head, the earlier first, from 0; none with punctuation."""
    pairs = ((word, int(head) - 1) for word, head in enumerate(gold) if head > 0)
    return {(min(pair), max(pair)) for pair in pairs if plain[pair[0]] and plain[pair[1]]}


VARIABLES: dict[str, Description] = {
    "score": ("share of words, or edges, that are found", "1", "share"),
    "by_seed": ("score for each seed", "1"),
    "parameters": ("numbers that are learned", "1"),
    "epochs": ("epochs trained", "1"),
    "best_epoch": ("epoch whose weights were kept", "1"),
    "loss": ("cross-entropy per word on the held-out sentences", "nat"),
}


@dataclass
class Row:
    """Row of a probe on a measure, with the training of every seed."""

    probe: str
    measure: str
    parameters: int = 0
    counts: list[Counts] = field(default_factory=list)
    histories: list[TrainingHistory] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Return the label, unique among rows."""
        return f"{self.probe}/{self.measure}" if self.measure else self.probe

    def sum_seeds(self) -> Float64[np.ndarray, "2 sentence metric"]:
        """Return correct predictions and their totals, by sentence, summed over seeds."""
        of_seeds = [[counts.select(metric) for metric in METRICS] for counts in self.counts]
        return np.asarray(np.moveaxis(np.sum(of_seeds, 0), 0, -1), dtype=np.float64)

    def score_seeds(self) -> list[list[float]]:
        """Return the share for each seed and metric."""
        return [[share(*counts.select(metric)) for metric in METRICS] for counts in self.counts]


def dataset(
    rows: Sequence[Row], seeds: Sequence[int], attributes: Mapping[str, Any]
) -> xarray.Dataset:
    """Return named arrays of the scores and the training of probes."""
    correct, total = np.stack([row.sum_seeds() for row in rows], 2)
    scores = Slots.of(np.arange(len(correct)), correct, total).compute()
    variables: dict[str, Any] = {
        **with_slots("score", ("row", "metric"), scores["mean"], scores),
        "by_seed": (("row", "seed", "metric"), np.array([row.score_seeds() for row in rows])),
        "parameters": ("row", np.array([row.parameters for row in rows])),
        "epochs": (("row", "seed"), _history_variables(rows, lambda history: history.epochs)),
        "best_epoch": (("row", "seed"), _history_variables(rows, lambda history: history.best)),
        "loss": (("row", "seed"), _history_variables(rows, _best_loss)),
    }
    coordinates = {
        "row": [row.label for row in rows],
        "probe": ("row", [row.probe for row in rows]),
        "measure": ("row", [row.measure for row in rows]),
        "metric": list(METRICS),
        "seed": list(seeds),
    }
    return described(variables, coordinates, VARIABLES).assign_attrs(attributes)


def _best_loss(history: TrainingHistory) -> float:
    return history.losses[history.best - 1] if history.losses else np.nan


def _history_variables(rows: Sequence[Row], what: Any) -> np.ndarray:
    return np.array([[what(history) for history in row.histories] for row in rows])


@dataclass(frozen=True, eq=False)
class TrainingData:
    """All data of a treebank that probes may see.

    Attributes:
        index: Sentences of the treebank.
        words: Vector for each entry of the vocabulary; None if no probe sees words.
        maps: Attention of the model, by measure.
        random_maps: Attention of the random control, by measure.
        device: Device on which probes are trained.
    """

    index: Index
    words: Table | None
    maps: Mapping[str, WordMaps]
    random_maps: Mapping[str, WordMaps]
    device: Any

    def data(self, probe: str, measure: str) -> ParserData:
        """Return the data that this probe sees."""
        maps = self.random_maps if probe == RANDOM else self.maps
        words = self.words if "words" in probe else None
        return ParserData(self.index, maps.get(measure), words, self.device)


@dataclass(frozen=True)
class ProbeJob:
    """Job that makes a row of the table.

    Attributes:
        probe: Name of a probe in `headlight_words.studies.parser_probes.PROBES`.
        measure: Measure of the attention that it sees; empty for baselines.
    """

    probe: str
    measure: str

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"{self.probe}-{self.measure}" if self.measure else self.probe


@dataclass(frozen=True, eq=False)
class ProbeTrainer(ModelStore[ProbeJob]):
    """Trainer of probes, which evaluates them and keeps their correct predictions.

    Attributes:
        learning: Treebank to learn from.
        testing: Treebank to parse.
        settings: Settings of the study, see `ParserProbeSettings`.
        folder: Folder of the files of rows.
    """

    learning: TrainingData
    testing: TrainingData
    settings: ParserProbeSettings
    folder: Path

    def run(self, job: ProbeJob) -> None:
        """Train a probe once for each seed, and parse the other treebank."""
        row = Row(job.probe, job.measure)
        learning = self.learning.data(job.probe, job.measure)
        testing = self.testing.data(job.probe, job.measure)
        kind, options = self._options(job, learning)
        for seed in self.settings.seeds:
            model = build(kind, options, seed).to(learning.device)
            row.parameters = model.size
            untrained = TrainingHistory((), 0)
            row.histories.append(
                train(model, learning, self.settings.training, seed) if model.size else untrained
            )
            row.counts.append(evaluate(model, testing))
        self._keep(job, row)

    def row(self, job: ProbeJob) -> Row:
        """Return a finished row."""
        counts, measured = self.parameters(job), self.measured(job)
        return Row(
            job.probe,
            job.measure,
            measured["parameters"],
            [
                Counts(
                    **{
                        count.name: counts[f"{count.name}-{seed}"].numpy()
                        for count in fields(Counts)
                    }
                )
                for seed in self.settings.seeds
            ],
            [TrainingHistory(tuple(losses), best) for losses, best in measured["histories"]],
        )

    def _keep(self, job: ProbeJob, row: Row) -> None:
        counts = {
            f"{count.name}-{seed}": torch.from_numpy(getattr(counts_of_seed, count.name))
            for seed, counts_of_seed in zip(self.settings.seeds, row.counts, strict=True)
            for count in fields(Counts)
        }
        histories = [(history.losses, history.best) for history in row.histories]
        measured = {"parameters": row.parameters, "histories": histories}
        self.save(job, counts, measured)

    def _options(self, job: ProbeJob, data: ParserData) -> tuple[str, dict[str, Any]]:
        """Return the kind of model, and the options it is built with."""
        kind = "attention_and_words" if job.probe == RANDOM else job.probe
        options: dict[str, Any] = {}
        if data.word_maps is not None:
            options["heads"] = data.word_maps.heads
        if data.dimensions is not None:
            options |= {"dimensions": data.dimensions, "align_root": self.settings.align_root}
        if kind == "attention_and_words":
            options["bias"] = self.settings.bias
        return kind, options
