"""Scores of probes against values worked out by hand."""

import numpy as np
import pytest
import torch

from headlight.errors import UnknownNameError
from headlight_words.studies.parser_probes.batches import ParserBatch, ParserData
from headlight_words.studies.parser_probes.evaluation import (
    METRICS,
    Counts,
    Row,
    dataset,
    evaluate,
    gold_edges,
    share,
)
from headlight_words.studies.parser_probes.models import Parser, RightBranching, TrainingHistory
from headlight_words.studies.parser_probes.word_map_store import NO_HEAD
from studies.intervals import agrees
from studies.parser_corpora import index_of_trees


class Told(Parser):
    """Gives the scores that it was told."""

    def __init__(self, scores: list[list[float]]) -> None:
        super().__init__()
        self.scores = torch.tensor(scores)

    def score(self, batch: ParserBatch) -> torch.Tensor:
        return self.scores.expand(len(batch.lengths), -1, -1)


def test_a_sentence_by_hand():
    # 1 and 2 point at each other, 3 is punctuation, 4 points at the root but hangs on 2.
    index = index_of_trees([[2, 0, 2, 2]], [[False, False, True, False]])
    scores = [[0.0, 0, 5, 0, 0], [3.0, 4, 0, 0, 0], [2.0, 0, 0, 0, 0], [1.0, 0, 0.5, 0, 0]]
    counts = evaluate(Told(scores), ParserData(index))
    assert counts.words.tolist() == [3]  # all but punctuation; the root's child counts
    assert counts.uas.tolist() == [1]  # 1 -> 2 is right; 2 -> 1 and 4 -> root are wrong
    # One root: 2 (5 + 3 + 0 + 0.5), which beats 3 (5 + 0 + 2 + 0.5), 1 and 4.
    assert counts.uas_tree.tolist() == [3]
    assert counts.edges.tolist() == [2]  # 1-2 and 2-4
    assert counts.uuas.tolist() == [2]


def test_lost_heads_are_not_counted():
    index = index_of_trees([[0, NO_HEAD, 1]])
    counts = evaluate(RightBranching(), ParserData(index))
    assert (counts.words.tolist(), counts.edges.tolist()) == ([2], [1])


def test_right_branching():
    trees = [[2, 3, 4, 0], [0], [0, 1, 1], [2, 0]]
    punctuation = [[False] * 4, [False], [False] * 3, [False, True]]
    counts = evaluate(RightBranching(), ParserData(index_of_trees(trees, punctuation)))
    assert counts.words.tolist() == [4, 1, 3, 1]
    assert counts.uas.tolist() == [4, 1, 0, 1]
    assert counts.uas_tree.tolist() == counts.uas.tolist()  # the chain is a tree already
    assert counts.edges.tolist() == [3, 0, 2, 0]
    assert counts.uuas.tolist() == [3, 0, 1, 0]


def test_the_chain_of_right_branching_passes_over_punctuation():
    index = index_of_trees([[3, 1, 0]], [[False, True, False]])
    assert evaluate(RightBranching(), ParserData(index)).uuas.tolist() == [1]


def test_log_probabilities_are_what_uuas_compares():
    """Word 2 is sure of everything in raw scores, but not more of 3 than of anything else."""
    index = index_of_trees([[0, 1, 1]])
    scores = [[6.0, 0, 0, 0], [100.0, 100, 0, 100], [0.0, 4, 0, 0]]
    assert evaluate(Told(scores), ParserData(index)).uuas.tolist() == [2]


def test_gold_edges_leave_out_root_and_punctuation():
    plain = np.array([True, True, False, True])
    assert gold_edges(np.array([2, 0, 2, 3]), plain) == {(0, 1)}
    assert gold_edges(np.array([NO_HEAD, 4, 0, 2]), plain) == {(1, 3)}


def test_shares_and_what_there_is_to_share():
    counts = Counts(*(np.array(each) for each in ([4, 2], [1, 2], [2, 2], [3, 0], [3, 0])))
    assert share(*counts.select("uas")) == 0.5
    assert share(*counts.select("uuas")) == 1
    assert share(*counts.select("uas_tree")) == pytest.approx(4 / 6)
    assert np.isnan(share(np.array([0]), np.array([0])))
    with pytest.raises(UnknownNameError, match="uas_tree"):
        counts.select("las")


def test_intervals_are_those_of_sentences_read_by_all_seeds():
    generator = np.random.default_rng(1)
    seeds = []
    for _ in range(2):
        words, edges = (generator.integers(1, 9, 20) for _ in range(2))
        hits = [generator.binomial(of, 0.7) for of in (words, words)]
        seeds.append(Counts(words, *hits, edges, generator.binomial(edges, 0.5)))
    row = Row("attention", "weight", counts=seeds, histories=[TrainingHistory((), 0)] * 2)
    right, there = (
        sum(np.stack([counts.select(metric)[which] for metric in METRICS], -1) for counts in seeds)
        for which in (0, 1)
    )
    agrees(dataset([row], (0, 1), {}), "score", right[:, None], there[:, None])
