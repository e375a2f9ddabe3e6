"""What heads give to words of the same part of speech, against loops."""

import numpy as np
import pytest
import torch

import headlight
from headlight.corpora import Sentence
from headlight_words.studies.dependency.gold import candidates
from headlight_words.studies.dependency.observer import mean_share, same_part_of_speech
from studies.intervals import agrees
from studies.models import model

TREES = [
    Sentence(
        "a",
        ("the", "old", "river", "keeps", "the", "mill"),
        (3, 3, 4, 0, 6, 4),
        ("det", "amod", "nsubj", "root", "det", "obj"),
        upos=("DET", "ADJ", "NOUN", "VERB", "DET", "NOUN"),
    ),
    Sentence(
        "b", ("water", "falls"), (2, 0), ("nsubj", "root"), upos=("NOUN", "VERB")
    ),  # no word has another of its kind
    Sentence(
        "c",
        ("a", "lake", "near", "a", "town", "melts"),
        (2, 6, 5, 5, 2, 0),
        ("det", "nsubj", "case", "det", "nmod", "root"),
        upos=("DET", "NOUN", "ADP", "DET", "NOUN", "VERB"),
    ),
]


def naive(score, tags, causal):
    """Of one sentence and head: the mean share, and that of an even row."""
    shares, evens = [], []
    for i in range(len(tags)):
        others = [j for j in range(len(tags)) if j != i and (j < i or not causal)]
        same = [j for j in others if tags[j] == tags[i]]
        if same:
            shares.append(
                sum(abs(score[i][j]) for j in same) / sum(abs(score[i][j]) for j in others)
            )
            evens.append(len(same) / len(others))
    return (np.mean(shares), np.mean(evens)) if shares else (np.nan, np.nan)


@pytest.mark.parametrize("causal", [False, True])
def test_means_are_those_of_loops(causal):
    generator = torch.Generator().manual_seed(0)
    score = torch.randn(3, 2, 6, 6, generator=generator, dtype=torch.float64)
    present = torch.tensor([[True] * 6, [True] * 2 + [False] * 4, [True] * 6])
    possible = candidates(present)
    allowed = possible & torch.ones(6, 6, dtype=torch.bool).tril() if causal else possible
    same = same_part_of_speech(TREES, possible)
    found, even = mean_share(score, same, allowed)
    for row, sentence in enumerate(TREES):
        for head in range(2):
            wanted = naive(score[row, head].tolist(), sentence.upos, causal)
            np.testing.assert_allclose(float(found[row, head]), wanted[0], rtol=1e-12)
            np.testing.assert_allclose(float(even[row]), wanted[1], rtol=1e-12)


@pytest.mark.slow
def test_the_study_has_the_mean_over_sentences(tmp_path):
    bert = model("bert")
    found = headlight.dependency(
        TREES, model=bert, measures=["weight", "effective"], out=tmp_path / "run"
    )
    reader = headlight.load(bert.transformer, bert.tokenizer)
    for layer, head in ((0, 1), (1, 3)):
        shares = []
        for sentence in TREES:
            reading = reader.read(" ".join(sentence.words))
            weight = reading.weight.sel(layer=layer, head=head).values[1:-1, 1:-1]
            shares.append(naive(weight.tolist(), sentence.upos, causal=False))
        wanted, even = np.nanmean(shares, axis=0)
        here = found.sel(measure="weight", layer=layer, head=head)
        assert float(here["same_part"]) == pytest.approx(wanted, abs=1e-6)
        assert float(here["same_part_even"]) == pytest.approx(even, abs=1e-6)
        of_texts = np.array([share for share, _ in shares])
        agrees(here, "same_part", of_texts, np.isfinite(of_texts))
    assert "Words of the same part of speech" in (tmp_path / "run" / "report.html").read_text()


def test_without_tags_there_is_nothing():
    untagged = [Sentence(each.name, each.words, each.heads, each.relations) for each in TREES]
    found = headlight.dependency(untagged, model=model("bert"))
    assert found["same_part"].isnull().all()
