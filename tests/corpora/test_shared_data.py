"""The Wikipedia files that lie beside the repository, where they do."""

import os
from itertools import islice
from pathlib import Path

import pytest

from headlight.corpora import open_corpus

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set"),
]


def test_a_folder_of_wikipedia_files():
    folder = Path(os.environ["HEADLIGHT_DATA"]) / "wikipedia_en_2018"
    documents = list(islice(open_corpus(folder), 100))
    assert all(":" in document.name for document in documents)
    lengths = [len(p.split()) for document in documents for p in document.paragraphs]
    assert 40 < sum(lengths) / len(lengths) < 120
