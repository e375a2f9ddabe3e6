"""Translations, in every format that they are distributed in; all of the files are our own."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from headlight.errors import CorpusError, UnknownNameError, UsageError
from headlight_words.corpora import PARALLEL_FORMATS, TranslationPair, open_parallel

PAIRS = [("Das Haus ist klein .", "The house is small ."), ("", ""), ("Ja", ""), ("", "Yes")]
BARS = "Das Haus ist klein . ||| The house is small .\n\nJa |||\n||| Yes\n"
ROWS = "Das Haus ist klein .\tThe house is small .\n\nJa\t\n\tYes\n"


def written(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def read(*source: object, **options: object) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in open_parallel(*source, **options)]  # type: ignore[arg-type]


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" if row else "\n" for row in rows)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("file", "text", "pairs"),
    [
        ("a.txt", BARS, PAIRS),
        ("a", ROWS, PAIRS),
        ("a.tsv", f"source\ttarget\n{ROWS}", PAIRS),
        ("a.tsv", "id\ttrg\tsrc\n7\tYes\tJa\n", [("Ja", "Yes")]),
        ("a.csv", 'Ja,Yes\n"eins, zwei","one, two"\n', [("Ja", "Yes"), ("eins, zwei", "one, two")]),
        ("a.txt", "say a\tb ||| sag a\tb\n", [("say a\tb", "sag a\tb")]),
        ("a.txt", "a || b ||||\t ||| c|||d\n", [("a || b ||||", "c|||d")]),
        ("a.jsonl", jsonl({"de": "Ja", "en": "Yes"}, None, {"en": "No", "de": None}),
         [("Ja", "Yes"), ("", ""), ("", "No")]),
        ("a.txt", jsonl({"id": 3, "translation": {"de": "Ja", "en": "Yes"}}), [("Ja", "Yes")]),
        ("a.json", jsonl({"tgt": "Ja", "src": "Yes", "id": 1}), [("Yes", "Ja")]),
    ],
)  # fmt: skip
def test_a_format_is_known_by_its_content(tmp_path, file, text, pairs, mark, end):
    path = written(tmp_path / file, mark + text.replace("\n", end))
    assert read(path) == pairs
    assert read(written(path, (mark + text.replace("\n", end)).removesuffix(end))) == pairs


@pytest.mark.parametrize(
    ("file", "text", "columns", "pairs"),
    [
        ("a.tsv", "Yes\tJa\tby me\n", (2, 1), [("Ja", "Yes")]),
        ("a.tsv", "Yes\tJa\tby me\n", ("2", "1"), [("Ja", "Yes")]),
        ("a.tsv", "en\tde\nYes\tJa\n", ("de", "en"), [("Ja", "Yes")]),
        ("a.txt", "de\ten\nJa\tYes\n", ("de", 2), [("Ja", "Yes")]),
        ("a.jsonl", jsonl({"en": "Yes", "de": "Ja", "fr": "Oui"}), ("fr", "de"), [("Oui", "Ja")]),
    ],
)
def test_columns_keys_and_languages_can_be_chosen(tmp_path, file, text, columns, pairs):
    path = written(tmp_path / file, text)
    assert read(path, columns=columns) == pairs


def test_two_files(tmp_path):
    sources = written(tmp_path / "a.de", "Ja\n\nNein\n")
    targets = tmp_path / "a.en.gz"
    targets.write_bytes(gzip.compress(b"Yes\n\n No \n"))
    assert read(sources, targets) == [("Ja", "Yes"), ("", ""), ("Nein", "No")]
    corpus = open_parallel(str(sources), str(targets))
    assert [pair.name for pair in corpus] == [f"{sources}:{line}" for line in (1, 2, 3)]
    assert (corpus.kind, corpus.source) == ("parallel", f"{sources} and {targets}")
    assert len(list(corpus.take(2))) == len(list(corpus.take(2))) == 2


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        ("a\nb\n", "a\n", r"a\.de:2: there is no line beside it in .*a\.en, which ends after li"),
        ("a\n", "a\nb\n\n", r"a\.en:2: there is no line beside it in .*a\.de"),
        ("a\n", "", r"a\.de:1: .* ends after line 0"),
    ],
)
def test_two_files_of_different_length(tmp_path, sources, targets, message):
    paths = written(tmp_path / "a.de", sources), written(tmp_path / "a.en", targets)
    with pytest.raises(CorpusError, match=message):
        read(*paths)


def test_folders_patterns_and_archives(tmp_path):
    for side in ("de", "en"):
        (tmp_path / side).mkdir()
        for part in "ab":
            written(tmp_path / side / f"{part}.txt", f"{side} {part}\n")
    expected = [("de a", "en a"), ("de b", "en b")]
    assert read(tmp_path / "de", tmp_path / "en") == expected
    assert read(str(tmp_path / "de" / "*"), str(tmp_path / "en" / "*")) == expected
    with pytest.raises(CorpusError, match="the same number of files"):
        read(tmp_path / "de", tmp_path / "en" / "a.txt")
    for name, members in {"one": "ab", "two": "ab", "three": "a"}.items():
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            for member in members:
                archive.writestr(f"{member}.txt", f"{name} ||| {member}\n")
    assert read(tmp_path / "one.zip") == [("one", "a"), ("one", "b")]
    assert len(read(tmp_path / "one.zip", tmp_path / "two.zip")) == 2
    with pytest.raises(CorpusError, match="the same number of files"):
        read(tmp_path / "one.zip", tmp_path / "three.zip")


def test_standard_input(monkeypatch):
    for content in (BARS.encode(), gzip.compress(BARS.encode())):
        stdin = io.TextIOWrapper(io.BytesIO(content))
        monkeypatch.setattr("sys.stdin", stdin)
        corpus = open_parallel("-")
        assert [(pair.source, pair.target) for pair in corpus] == PAIRS
        with pytest.raises(CorpusError, match="only once"):
            list(corpus)


def test_pairs_in_memory_and_open_corpora():
    pair = TranslationPair("here", "Ja", "Yes")
    corpus = open_parallel([pair, (" Nein ", ""), ["a", "b"]])
    assert [(each.name, each.source, each.target) for each in corpus] == [
        ("here", "Ja", "Yes"), ("pair 1", "Nein", ""), ("pair 2", "a", "b"),
    ]  # fmt: skip
    assert open_parallel(corpus) is corpus
    assert open_parallel(iter([pair])).once


@pytest.mark.parametrize("wrong", ["ab", ("a",), ("a", "b", "c"), 3])
def test_what_is_no_pair_is_refused(wrong):
    with pytest.raises(UsageError, match="pair 0 must be a source and a target"):
        read(iter([wrong]))
    with pytest.raises(CorpusError, match="pair 0: both sides of a pair must be text"):
        read(iter([("a", 3)]))


def test_a_data_set(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [{"de": "Ja", "en": "Yes"}, {"de": "Nein", "en": "No"}]
    datasets.Dataset.from_dict({"translation": rows, "id": [1, 2]}).save_to_disk(tmp_path / "set")
    source = f"hf:{tmp_path}/set"
    assert read(source) == [("Ja", "Yes"), ("Nein", "No")]
    assert read(source, columns=("en", "de")) == [("Yes", "Ja"), ("No", "Nein")]
    assert read(f"{source}:::translation") == read(source)
    with pytest.raises(CorpusError, match="'id' must hold an object"):
        read(f"{source}:::id")
    assert next(iter(open_parallel(source))).name == f"{source}[0]"


@pytest.mark.parametrize(
    ("file", "text", "options", "message"),
    [
        ("a.txt", "a ||| b\nc d\n", {}, r"a\.txt:2: '\|\|\|' .* is not there"),
        ("a.txt", "a|||b\n", {}, r"a\.txt:1: .* not there"),
        ("a.txt", "a ||| b ||| c\n", {}, r"a\.txt:1: .* is 2 times"),
        ("a.tsv", "a\tb\nc\n", {}, r"a\.tsv:2: the row has 1 fields, and should have 2; complete"),
        ("a.csv", "a,b\nc, d,e\n", {}, r"a\.csv:2: the row has 3 .*quotation marks"),
        ("a.csv", "a;b\nc;d\n", {}, r"a\.csv:1: the header has semicolons and no commas"),
        ("a.tsv", "a\n", {}, r"a\.tsv:1: source and target are in columns 1 and 2, and "),
        ("a.tsv", "a\tb\n", {"columns": ("de", "en")}, r"no column 'de'; name two of those "),
        ("a.csv", 'a,"b\n', {}, r"a\.csv:1: the table is malformed"),
        ("a.jsonl", '{"a": "b"}\n', {}, r"a\.jsonl:1: it is not known which keys"),
        ("a.jsonl", '{"a": "b", "c": "d"}\n{"a": "b"}\n', {}, r"a\.jsonl:2: there is no key 'c'"),
        ("a.jsonl", '{"a": "b", "c": ["d"]}\n', {}, r"a\.jsonl:1: both sides .* type list"),
        ("a.jsonl", '{"a": "b"}\n', {"columns": ("a", "d")}, r"no key 'd'; name two .*: 'a'"),
        ("a.jsonl", "[]\n", {}, r"a\.jsonl:1: the line must be a JSON object"),
        ("a.txt", "", {}, "holds no pair"),
        ("a.txt", "a ||| b\xff\n".encode("latin-1"), {}, "is not UTF-8"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_file_and_line(tmp_path, file, text, options, message):
    path = tmp_path / file
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CorpusError, match=message):
        read(path, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("a.txt",), {"columns": ("a",)}, "name them both"),
        (("a.txt",), {"columns": "ab"}, "name them both"),
        (("a.txt",), {"columns": (1, "1")}, "name them both"),
        (("a.txt",), {"columns": (0, 1)}, "at least 1"),
        (("a.txt",), {"columns": (1, 2), "format": "bars"}, "has no columns"),
        (("a.txt", "b.txt"), {"columns": (1, 2)}, "leave out format and columns"),
        (("a.txt", "b.txt"), {"format": "tsv"}, "leave out format and columns"),
        (("-", "b.txt"), {}, "standard input holds both sides"),
        (([("a", "b")], "b.txt"), {}, "give two paths"),
        (([("a", "b")],), {"columns": (1, 2)}, "only files and data sets"),
        (([("a", "b")],), {"format": "tsv"}, "only files have a format"),
        (("hf:opus",), {"format": "tsv"}, "a format of its own"),
    ],
)
def test_options_that_do_not_go_together(arguments, options, message):
    with pytest.raises(UsageError, match=message):
        open_parallel(*arguments, **options)


def test_an_unknown_format():
    with pytest.raises(UnknownNameError, match="no format of translations is called 'bar'"):
        open_parallel("a", format="bar")


SIDES = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0|\t"), max_size=8)


@settings(max_examples=30)
@given(st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=6))
@pytest.mark.parametrize("format", PARALLEL_FORMATS)
def test_a_line_is_a_pair_whatever_it_holds(tmp_path_factory, format, pairs):
    rows = {
        "bars": (f"{a} ||| {b}" for a, b in pairs),
        "tsv": (f"{a}\t{b}" for a, b in pairs),
        "csv": ('"{}","{}"'.format(*(s.replace('"', '""') for s in pair)) for pair in pairs),
        "jsonl": (json.dumps({"source": a, "target": b}) for a, b in pairs),
    }
    folder = tmp_path_factory.mktemp("parallel")
    path = written(folder / "a.txt", "".join(f"{row}\n" for row in rows[format]))
    columns = None if format in ("bars", "jsonl") else (1, 2)
    expected = [(a.strip(), b.strip()) for a, b in pairs]
    assert read(path, format=format, columns=columns) == expected


def test_a_translation_memory_is_refused_as_what_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tmx", '<?xml version="1.0"?><tmx version="1.4"></tmx>\n')
    with pytest.raises(UsageError, match=r"a\.tmx is XML.*; write its pairs as a table"):
        read(path)
