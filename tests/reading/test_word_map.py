"""What a head does between the words of a sentence, against sums and means over their pieces."""

import numpy as np
import pytest

import headlight
from headlight.errors import CorpusError, HeadlightError, UsageError
from reading.test_model import needs_embedded
from studies.models import model, tokenizer

WORDS = ["The", "unfathomable", "mill", "grinds", "buckwheat", ",", "doesn't", "it", "?"]


def naive(score, groups):
    """A row for each word: of its pieces the mean, of the sums over the pieces of each word."""
    return [
        [sum(sum(score[i][j] for j in keys) for i in queries) / len(queries) for keys in groups]
        for queries in groups
    ]


@pytest.mark.slow
@needs_embedded
@pytest.mark.parametrize("measure", ["weight", "norm", "effective"])
def test_words_are_sums_and_means_over_their_pieces(measure):
    made = headlight.load()
    reading = made.read(" ".join(WORDS), layers=[2], heads=[5])
    score = reading.dataset[measure].squeeze().values.astype(float)
    ids = made.tokenizer(WORDS, is_split_into_words=True)
    places = ids.word_ids()
    assert len(places) == len(score) > len(WORDS) + 2  # some word has several pieces
    inner = [[at for at, word in enumerate(places) if word == one] for one in range(len(WORDS))]
    wanted = naive(score, [[0], *inner, [len(places) - 1]])
    found = made.word_map(WORDS, layer=2, head=5, measure=measure)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    short = made.word_map(WORDS, layer=2, head=5, measure=measure, max_length=2 + len(inner[0]))
    assert short.shape == (3, 3)  # one word, and special tokens


def test_what_cannot_be_read_is_refused():
    made = model("llama")
    found = headlight.Model(made.transformer, tokenizer("llama"), "llama")
    assert (found.word_map(["the", "mill"], layer=0, head=0)[[0, -1]] == 0).any()
    for asked, error, said in (
        ({"layer": 9}, UsageError, "no decoder layer 9"),
        ({"head": 4}, UsageError, "layer 0 has no head 4: its heads are 0 to 3"),
        ({"measure": "gradient"}, HeadlightError, "measure between words"),
        ({"words": []}, CorpusError, "there is no word"),
    ):
        given = {"words": ["the", "mill"], "layer": 0, "head": 0, **asked}
        with pytest.raises(error, match=said):
            found.word_map(given.pop("words"), **given)
