"""MRPC, CoLA and MNLI as they are distributed, where they lie beside the repository."""

import os
from collections import Counter
from pathlib import Path

import pytest

from headlight.corpora import open_sentence_pairs, open_tagged

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set"),
]


@pytest.mark.parametrize(
    ("file", "name", "labels"),
    [
        ("glue_mrpc/msr_paraphrase_train.txt", "mrpc", {"1": 2753, "0": 1323}),
        ("glue_cola/in_domain_train.tsv", "cola", {"1": 6023, "0": 2528}),
        ("glue_cola/in_domain_dev.tsv", "cola", {"1": 365, "0": 162}),
        ("glue_mnli/train_10k.jsonl.xz", "mnli", {"1": 3293, "0": 3422, "2": 3285}),
    ],
)
def test_every_line_is_read(file: str, name: str, labels: dict[str, int]) -> None:
    path = Path(os.environ["HEADLIGHT_DATA"]) / file
    pairs = list(open_sentence_pairs(path))
    assert Counter(pair.label for pair in pairs) == labels
    assert len({pair.name for pair in pairs}) == len(pairs)
    assert all((pair.second is None) == (name == "cola") for pair in pairs)


def test_the_premise_comes_first() -> None:
    folder = Path(os.environ["HEADLIGHT_DATA"]) / "glue_mnli"
    pairs = list(open_sentence_pairs(folder, split="dev"))
    assert len(pairs) == 6544
    assert pairs[0].first == "The new rights are nice enough"
    premises, hypotheses = (sum(map(len, column)) for column in zip(
        *((pair.first, pair.second or "") for pair in pairs), strict=True))  # fmt: skip
    assert premises > 1.5 * hypotheses


@pytest.mark.parametrize(
    ("file", "labels"),
    [
        ("sst/stsa.binary.train", {"1": 3610, "0": 3310}),
        ("sst/stsa.binary.dev", {"0": 428, "1": 444}),
        ("imdb/imdb_train5k.jsonl.xz", {"pos": 2500, "neg": 2500}),
        ("ag_news/alps_dev.tsv.xz",
         {"Sci/Tech": 2538, "World": 2509, "Sports": 2458, "Business": 2496}),
        ("20news_sports/20news-bydate-train-sports.tar.xz",  # two messages are quotations alone
         {"rec.sport.hockey": 599, "rec.sport.baseball": 596}),
    ],
)  # fmt: skip
def test_every_labelled_text_is_read(file: str, labels: dict[str, int]) -> None:
    texts = list(open_sentence_pairs(Path(os.environ["HEADLIGHT_DATA"]) / file))
    assert Counter(text.label for text in texts) == labels
    assert all(text.second is None for text in texts)
    assert not any("<br" in text.first for text in texts)


def test_every_chunk_is_read() -> None:
    path = Path(os.environ["HEADLIGHT_DATA"]) / "conll2000" / "train.txt.xz"
    sentences = list(open_tagged(path))
    assert (len(sentences), sum(map(len, sentences))) == (8936, 211727)
    assert sum(tag.startswith("B-") for each in sentences for tag in each.tags) == 106978
    assert next(iter(open_tagged(path, columns=(1, 2)))).tags[:3] == ("NN", "IN", "DT")
