"""Reading takes the memory of a document, not of a file."""

import gzip
import tracemalloc

import pytest
import zstandard

from headlight.corpora import open_corpus

ARTICLES = 400


def article(number):
    # Digits of a power look random, so that compressed bytes unfold at the rate of ordinary text.
    return f'<doc id="{number}">\nTitle\n\n' + f"{7 ** (4000 + number)}\n\n</doc>\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "compress"),
    [("", bytes), (".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_a_large_file_is_read_in_little_memory(tmp_path, suffix, compress):
    path = tmp_path / f"wiki{suffix}"
    content = "".join(map(article, range(ARTICLES))).encode()  # 1.4 MB
    path.write_bytes(compress(content))
    size = len(content)
    del content
    tracemalloc.start()
    try:
        count = sum(1 for _ in open_corpus(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == ARTICLES
    assert peak < size / 2
