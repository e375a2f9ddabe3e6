"""The treebanks that lie beside the repository, where they do."""

import os
from itertools import islice
from pathlib import Path

import pytest

from headlight_words.corpora import open_treebank
from headlight_words.studies.dependency.gold import (
    OFFSETS,
    count_by_relation,
    gold_of,
    is_correct,
    predict_by_offset,
    summarize,
)
from studies import dependency_naive as naive

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set"),
]


@pytest.mark.parametrize(
    "path", ["ud_english_ewt/en_ewt-ud-dev.conllu", "wsj_nltk_dep/wsj_0003.dp"]
)
def test_offsets_of_real_sentences_are_those_of_the_loops(path: str) -> None:
    treebank = open_treebank(Path(os.environ["HEADLIGHT_DATA"]) / path)
    trees = list(islice(treebank, 300))
    names = summarize(trees, "full").relations
    lengths = [len(tree) for tree in trees]
    codes = {name: number for number, name in enumerate(names)}
    gold = gold_of(trees, lengths, codes)
    found = count_by_relation(is_correct(predict_by_offset(gold, "notebook"), gold), gold).sum(
        (0, 2)
    )
    assert gold.members.sum() == sum(lengths)
    for number, offset in enumerate(OFFSETS["notebook"]):
        expected = 0
        for tree, length in zip(trees, lengths, strict=True):
            places = [min(max(word + 1 + offset, 0), length) for word in range(length)]
            labelled = tree if tree.relations else naive.labelled(tree)
            expected += sum(naive.judged(labelled, length, places, rule=True).values())
        assert found[number] == expected
