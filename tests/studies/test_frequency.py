"""Frequency ranks against scipy's, and against files written here."""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

from headlight.corpora import open_corpus
from headlight.encode import Encoded, texts as encode_texts
from headlight.errors import CorpusError, UsageError
from headlight.studies.survey.frequency_ranks import FrequencyRanks
from studies.models import VOCABULARY, texts, tokenizer
from studies.ranks_naive import ranks_of_corpus

DATA = os.environ.get("HEADLIGHT_DATA")
TOKENIZER = tokenizer("bert")


def encoded(number: int = 30):
    return encode_texts(open_corpus(texts(number)), TOKENIZER, max_length=64)


def written(folder: Path, text: str) -> Path:
    path = folder / "ranks.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_ranks_of_a_corpus_are_those_of_its_counts_ties_sharing_the_smallest():
    examples = encoded()
    counts = np.zeros(len(VOCABULARY))
    for example in examples:
        for token in example.ids:
            counts[token] += 1
    found = ranks_of_corpus(examples, TOKENIZER)
    np.testing.assert_array_equal(found.rank, rankdata(-counts, method="min"))
    assert len(set(found.rank.tolist())) < len(found.rank)  # there are ties


def test_the_decoders_text_can_be_counted_instead():
    example = Encoded(
        "one", (4, 4, 4), (0, 0, 0), (2, 2, 2), (0, 1, 2), (5, 5, 6), (2, 2, 3), (0, 1, 2)
    )
    by_target = ranks_of_corpus([example], TOKENIZER, target=True)
    assert by_target.rank[[5, 6, 4]].tolist() == [1, 2, 3]


def test_ids_are_ranks_with_the_four_of_the_paper_first_and_single_characters_left_out():
    found = FrequencyRanks.of_ids(TOKENIZER)
    rank = dict(zip(VOCABULARY, found.rank, strict=True))
    assert [rank[piece] for piece in (".", ",", "</s>", "<s>")] == [1, 2, 3, 4]
    left_out = [piece for piece in VOCABULARY if np.isnan(rank[piece])]
    assert left_out == ["<pad>", "<unk>", "'", "-", "(", "a"]
    others = [piece for piece in VOCABULARY if rank[piece] > 4]
    assert [rank[piece] for piece in others] == list(range(5, 5 + len(others)))
    assert others[0] == "the"


def test_a_file_is_taken_as_it_is_and_what_it_lacks_comes_last(tmp_path):
    path = written(tmp_path, "1 50 9\n2 7 4\n2 7 5\n\n4 1 2\n")
    found = FrequencyRanks.read(path, TOKENIZER)
    assert found.look_up(np.array([[9, 4], [5, 2]])).tolist() == [[1, 2], [2, 4]]
    assert (np.delete(found.rank, [9, 4, 5, 2]) == 5).all()
    assert found.source == str(path)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", CorpusError, "no ranks"),
        ("1 2\n", CorpusError, ":1: three whole numbers"),
        (f"{'9' * 5000} 2 3\n", CorpusError, ":1: three whole numbers"),
        (f"1 2 {'9' * 5000}\n", CorpusError, ":1: three whole numbers"),
        ("1 2 3\nthe 2 3\n", CorpusError, ":2: three whole numbers"),
        ("0 2 3\n", CorpusError, "begin with 1"),
        ("1 2 4000\n", UsageError, "4000 is beyond"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path, text, error, said):
    with pytest.raises(error, match=said):
        FrequencyRanks.read(written(tmp_path, text), TOKENIZER)


def test_a_missing_or_binary_file_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="cannot be read"):
        FrequencyRanks.read(tmp_path / "none", TOKENIZER)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\xfd")
    with pytest.raises(CorpusError, match="UTF-8"):
        FrequencyRanks.read(tmp_path / "binary", TOKENIZER)


def test_what_differs_shows_in_the_settings():
    one, other = FrequencyRanks.of_ids(TOKENIZER), ranks_of_corpus(encoded(), TOKENIZER)
    assert one.settings() == FrequencyRanks.of_ids(TOKENIZER).settings()
    assert one.settings()["digest"] != other.settings()["digest"]


@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="HEADLIGHT_DATA is not set")
def test_the_published_ranks():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    folder = Path(str(DATA)) / "bert_vocab"
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    bert = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]")),
        pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    )  # fmt: skip
    found = FrequencyRanks.read(folder / "rank_count_ids.txt", bert)
    assert found.rank[[1996, 102, 101]].tolist() == [1, 28, 50]
    assert (found.rank == 29087).sum() == 30522 - 29109
    by_id = FrequencyRanks.of_ids(bert)
    assert by_id.rank[[1010, 1012, 102, 101]].tolist() == [1, 2, 3, 4]
    assert by_id.rank[vocabulary["the"]] < by_id.rank[vocabulary["##s"]]
    assert np.isnan(by_id.rank[vocabulary["a"]])
