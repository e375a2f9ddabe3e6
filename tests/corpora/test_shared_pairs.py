"""MRPC, CoLA and MNLI as they are distributed, where they lie beside the repository."""

import os
from collections import Counter
from pathlib import Path

import pytest

from headlight.corpora import open_sentence_pairs, pair_task

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
    assert pair_task(path) == name
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
