"""Files of word links, written and read; all of them are our own."""

import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from headlight.errors import CorpusError, UnknownNameError, UsageError
from headlight_words.links import LINK_FORMATS, Gold, LinkWriter, links_signature, open_links

SURE = frozenset({(0, 0), (2, 1)})
POSSIBLE = frozenset({(0, 0), (2, 1), (11, 10)})
FIRST, SECOND, THIRD = Gold(SURE, POSSIBLE), Gold.of([]), Gold.of([(0, 1)])
WORD = st.integers(0, 20)
LINKS = st.frozensets(st.tuples(WORD, WORD), max_size=6)
GOLDS = st.lists(st.builds(Gold, LINKS, LINKS), min_size=1, max_size=6)


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def read(source: object, **options: object) -> list[tuple[frozenset, frozenset]]:
    return [(each.sure, each.possible) for each in open_links(source, **options)]  # type: ignore[arg-type]


def plain(*golds: Gold) -> list[tuple[frozenset, frozenset]]:
    return [(each.sure, each.possible) for each in golds]


TEXTS = {
    "talp": "1-1 3-2 12p11\n\n1-2\n",
    "naacl": "1 1 1 S\n1 3 2\n1 12 11 P 0.5\n3 1 2 S\n",
    "tsv": "sentence\tsource\ttarget\tkind\n0\t0\t0\tS\n0\t2\t1\tS\n0\t11\t10\tP\n2\t0\t1\tS\n",
    "jsonl": '{"links": [[0, 0], [2, 1]], "possible": [[11, 10]]}\n\n{"links": [[0, 1]]}\n',
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("format", TEXTS)
def test_a_format_is_known_by_its_content(tmp_path, format, end):
    path = written(tmp_path / "gold", TEXTS[format].replace("\n", end))
    assert read(path) == read(path, format=format) == plain(FIRST, SECOND, THIRD)
    assert links_signature(path, None, None) == f"{format}{int(format in ('talp', 'naacl'))}"


@pytest.mark.parametrize(
    "text",
    [
        "0-0 2-1\n\n0-1\n",
        "2-1 0-0 0-0 \n \n0-1",
        "0-0:0.83 2-1:1e-3\n\n0-1:nan\n",  # what we write with scores
        "0\t0-0 2-1\n1\t\n2\t0-1\n",  # simalign
        "0\t0-0-.812-.9 2-1-.0-.031\n1\t\n2\t0-1\n",  # simalign --add-probs
        "0-0 2-1 ||| -12.5\n ||| -3\n0-1 ||| -1\n",  # fast_align -s
    ],
)
def test_what_aligners_write(tmp_path, text):
    expected = plain(Gold.of(SURE), SECOND, THIRD)
    assert read(written(tmp_path / "out.txt", text)) == expected
    assert read(tmp_path / "out.txt", sentences=3) == expected
    path = tmp_path / "out.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read(path) == expected


def test_suffixes_bases_and_directions(tmp_path):
    text = "1-2 3-3\n"
    assert read(written(tmp_path / "a.talp", text)) == plain(Gold.of([(0, 1), (2, 2)]))
    assert read(written(tmp_path / "a.txt", text)) == plain(Gold.of([(1, 2), (3, 3)]))
    assert read(tmp_path / "a.txt", base=1, swap=True) == plain(Gold.of([(1, 0), (2, 2)]))
    assert read(tmp_path / "a.talp", base=0) == plain(Gold.of([(1, 2), (3, 3)]))
    assert links_signature(tmp_path / "a.talp", None, 0) == "talp0"
    assert links_signature(tmp_path / "a.talp", "pharaoh", None) == "pharaoh0"
    names = [each.name for each in open_links(str(tmp_path / "a.*"))]
    assert names == [f"{tmp_path}/a.talp:1", f"{tmp_path}/a.txt:1"]


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"0-0 2-1\n\n0-1\n")))
    opened = open_links("-", sentences=3)
    assert (opened.kind, opened.source, opened.once) == ("links", "standard input", True)
    assert [each.sure for each in opened] == [SURE, frozenset(), {(0, 1)}]


@given(GOLDS)
@settings(max_examples=30)
@pytest.mark.parametrize("format", LINK_FORMATS)
def test_what_is_written_is_read(tmp_path_factory, format, golds):
    writer = LinkWriter(format)
    text = writer.header + "".join(writer.text(n, gold) for n, gold in enumerate(golds))
    path = written(tmp_path_factory.mktemp("links") / "a", text)
    expected = [Gold.of(gold.possible) for gold in golds] if format == "pharaoh" else golds
    assert read(path, format=format, sentences=len(golds)) == plain(*expected)


@pytest.mark.slow
@given(GOLDS)
@settings(max_examples=30)
@pytest.mark.parametrize("format", ["pharaoh", "naacl", "tsv", "jsonl"])
def test_scores_and_words_do_not_change_what_is_read(tmp_path_factory, format, golds):
    words = [str(n) for n in range(21)]
    worded = format in ("tsv", "jsonl")
    writer = LinkWriter(format, scores=True, words=worded)
    scores = {(i, j): i / (j + 1) for i in range(20) for j in range(21)}  # some have none
    lines = [writer.text(n, gold, scores, (words, words)) for n, gold in enumerate(golds)]
    path = written(tmp_path_factory.mktemp("links") / "a", writer.header + "".join(lines))
    expected = [Gold.of(gold.possible) for gold in golds] if format == "pharaoh" else golds
    assert read(path, format=format, sentences=len(golds)) == plain(*expected)


def test_how_they_are_written():
    scores = {(0, 0): 0.83, (2, 1): 1 / 3, (11, 10): 2.0}
    assert LinkWriter().text(0, {(2, 1), (0, 10), (0, 2)}) == "0-2 0-10 2-1\n"
    assert LinkWriter(scores=True).text(0, FIRST, scores) == "0-0:0.83 2-1:0.333333 11-10:2\n"
    assert LinkWriter("talp").text(0, FIRST) == "1-1 3-2 12p11\n"
    assert LinkWriter("talp").text(1, SECOND) == "\n"
    assert LinkWriter("naacl", scores=True).text(4, THIRD, {}) == "5 1 2 S\n"
    assert LinkWriter("naacl", scores=True).text(4, THIRD, {(0, 1): 0.5}) == "5 1 2 S 0.5\n"
    writer = LinkWriter("tsv", scores=True, words=True)
    assert writer.header == "sentence\tsource\ttarget\tkind\tscore\tsource_word\ttarget_word\n"
    words = (["Ja"], ["Oh", "yes"])
    assert writer.text(2, THIRD, {(0, 1): 0.5}, words) == "2\t0\t1\tS\t0.5\tJa\tyes\n"
    row = json.loads(LinkWriter("jsonl", True, True).text(0, THIRD, {(0, 1): 0.5}, words))
    assert row == {
        "links": [[0, 1]], "scores": [[0, 1, 0.5]], "source": ["Ja"], "target": ["Oh", "yes"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("0-0\n1-\n", {}, r"a:2: '1-' is no link such as 3-4"),
        ("0-0\n1-1 2p2\n", {}, r"a:2: '2p2' is a possible link, .* format talp"),
        ("the ||| das\n", {}, r"a:1: 'the' is no link"),
        ("0-0 1p1\n", {}, r"a:1: words are counted from 1 here, and there is a word 0"),
        ("0-0\n1-1\n", {"base": 1}, r"a:1: words are counted from 1"),
        ("1 0 1 S\n", {}, r"a:1: words are counted from 1"),
        ("1 1 1\n0 1 1\n", {}, r"a:2: the numbers of the sentences must rise"),
        ("0 1 1\n", {}, r"a:1: the numbers of the sentences must rise"),
        ("2 1 1\n1 1 1\n", {}, r"a:2: the numbers of the sentences must rise"),
        ("999999999 1 1\n", {}, r"a:1: the numbers of the sentences must rise"),
        ("1 1 1\n1 1\n", {}, r"a:2: the line must be a sentence, a word"),
        ("sentence\tsource\ttarget\n0\t1\n", {}, r"a:2: the row must have 3 fields"),
        ("sentence\tsource\ttarget\n0\t1\tx\n", {}, r"a:2: the row must have 3 fields"),
        ("0\t1\t1\n", {"format": "tsv"}, r"a:1: a table of links begins with the columns"),
        ('{"link": []}\n', {}, r"a:1: 'links' and 'possible' must be lists"),
        ('{"links": [[1]]}\n', {}, r"a:1: \[1\] is no link such as \[3, 4\]"),
        ('{"links": [[true, 1]]}\n', {}, r"is no link such as"),
        ('{"links": [[-1, 1]]}\n', {}, r"a:1: words are counted from 0"),
        ("", {}, r"holds no sentence"),
        ("0-0\n1-1\n", {"sentences": 1}, r"a:2: there must be 1 sentences, and here is one more"),
        ("0-0\n1-1\n", {"sentences": 3}, r"a:2: there must be 3 sentences, .* ends after 2"),
        ("", {"sentences": 3}, r"a:0: there must be 3 sentences, and the file ends after 0"),
        ("3 1 1\n", {"sentences": 2}, r"a:1: there must be 2 sentences, and here is one more"),
    ],
)
def test_what_is_wrong_is_refused_by_file_and_line(tmp_path, text, options, message):
    with pytest.raises(CorpusError, match=message):
        read(written(tmp_path / "a", text), **options)


def test_the_last_sentences_may_have_no_links(tmp_path):
    path = written(tmp_path / "a.naacl", "2 1 1\n")
    expected = plain(Gold.of([]), Gold.of([(0, 0)]), Gold.of([]))
    assert read(path) == expected[:2]
    assert read(path, sentences=3) == expected


def test_what_cannot_be():
    with pytest.raises(UnknownNameError, match="no format of word links is called 'giza'"):
        open_links("a", format="giza")
    with pytest.raises(UsageError, match="from 0 or from 1, not from 2"):
        open_links("a", base=2)
    with pytest.raises(UsageError, match="no place for scores"):
        LinkWriter("talp", scores=True)
    with pytest.raises(UsageError, match="no place for words"):
        LinkWriter("pharaoh", words=True)
    with pytest.raises(UnknownNameError):
        LinkWriter("moses")
    with pytest.raises(CorpusError, match="there is no file"):
        open_links("missing.talp")
