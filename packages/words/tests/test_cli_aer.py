"""The command that scores word alignments: what it says, and what it refuses."""

import io
import json
from pathlib import Path

import pytest

from headlight_words.links import LinkWriter, swapped
from studies.command import Command

GOLD = [
    {(0, 0), (1, 2), (2, 1)}, {(0, 1), (1, 0), (2, 2), (3, 2)}, {(0, 0), (1, 1), (3, 2)},
    {(0, 2), (1, 0), (2, 1), (2, 3)}, {(0, 0)},
]  # fmt: skip
LENGTHS = [(3, 3), (4, 3), (4, 3), (3, 4), (1, 1)]


@pytest.fixture
def headlight(monkeypatch, capsys, tmp_path) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write("gold.talp", GOLD, "talp")
    write("good.links", [*GOLD[:4], set()])
    return Command(monkeypatch, capsys)


def write(name: str, links: list[set[tuple[int, int]]], format: str = "pharaoh") -> Path:
    writer = LinkWriter(format)
    lines = [writer.text(number, each) for number, each in enumerate(links)]
    Path(name).write_text(writer.header + "".join(lines))
    return Path(name)


def moved(step: int) -> list[set[tuple[int, int]]]:
    return [{(i + step, j + step) for i, j in links} for links in GOLD]


def first_row(said: str) -> list[str]:
    """The words of the row below the headings, one of which may take two lines."""
    lines = said.splitlines()
    return lines[1 + next(n for n, line in enumerate(lines) if "precision" in line)].split()


def test_a_table_with_a_row_for_each_file(headlight):
    write("bad.links", [{(0, 0)}] * 5)
    code, said, complained = headlight("aer", "gold.talp", "good.links", "bad.links")
    assert (code, complained) == (0, "")
    lines = said.splitlines()
    assert lines[0].split() == ["file", "precision", "recall", "AER", "95%", "interval", "links"]
    assert lines[1].split()[:4] == ["good.links", "100.00", "93.33", "3.45"]
    assert lines[2].split()[:4] == ["bad.links", "60.00", "20.00", "70.00"]
    assert lines[3] == "AER|gold:talp1|S:15|P:15|sents:5|sym:none|v:0.1.0"
    assert max(map(len, lines)) <= 80


def test_json(headlight):
    Path("empty.links").write_text("\n" * 5)
    code, said, _ = headlight("aer", "gold.talp", "good.links", "empty.links", "--json")
    found = json.loads(said)
    assert code == 0
    assert found["signature"].startswith("AER|gold:talp1|S:15|")
    first, second = found["files"]
    assert (first["links"], first["precision"], first["counts"]["sure_hits"]) == (
        "good.links", 1.0, 14,
    )  # fmt: skip
    assert first["error_rate"] == pytest.approx(1 - 28 / 29)
    assert first["intervals"]["precision"] == [None, None]  # of five sentences, which are unequal
    assert (second["precision"], second["error_rate"]) == (None, 1.0)


def test_possible_links_can_be_left_out(headlight):
    Path("gold.talp").write_text("1-1 2p2\n3p3 1-1\n")
    Path("a.links").write_text("0-0 1-1\n2-2\n")
    for options, rates in (((), (100.0, 50.0)), (("--ignore-possible",), (33.33, 50.0))):
        _, said, _ = headlight("aer", "gold.talp", "a.links", *options)
        assert tuple(map(float, first_row(said)[1:3])) == rates


def test_bases_directions_and_formats(headlight):
    write("one.txt", moved(1))
    write("other.txt", [set(swapped(links)) for links in moved(1)])
    write("gold.naacl", GOLD, "naacl")
    write("a.tsv", GOLD, "tsv")
    Path("zero.txt").write_text(write("gold.links", GOLD).read_text().replace("0-0", "0p0", 1))
    for arguments in (
        ("gold.talp", "one.txt", "--one-based"),
        ("gold.naacl", "other.txt", "--one-based", "--swap"),
        ("gold.talp", "gold.talp"),
        ("gold.links", "a.tsv"),
        ("zero.txt", "gold.talp", "--gold-base", "0", "--gold-format", "talp"),
        ("gold.talp", "one.txt", "--format", "talp"),
    ):
        code, said, complained = headlight("aer", *arguments)
        assert (code, complained) == (0, "")
        assert first_row(said)[1] == "100.00"


def test_standard_input(headlight, monkeypatch):
    content = Path("good.links").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    code, said, _ = headlight("aer", "gold.talp", "-")
    assert (code, first_row(said)[:2]) == (0, ["-", "100.00"])


def test_two_directions(headlight):
    write("f.links", [{(0, 0), (1, 2)}, *GOLD[1:]])
    write("r.links", [{(0, 0), (2, 1)}, *GOLD[1:]])
    for method, recall in (("union", "100.00"), ("intersection", "86.67")):
        _, said, _ = headlight(
            "aer", "gold.talp", "f.links", "--symmetrize", method, "--reverse", "r.links"
        )
        assert first_row(said)[2] == recall
        assert f"|sym:{method}|" in said


def test_the_text(headlight):
    for side, name in enumerate(("a.de", "a.en")):
        Path(name).write_text("".join("w " * length[side] + "\n" for length in LENGTHS))
    assert headlight("aer", "gold.talp", "good.links", "--text", "a.de", "a.en")[0] == 0
    refused = headlight.refused("aer", "gold.talp", "good.links", "--text", "a.en", "a.de")
    assert refused.startswith("gold.talp:2: the link 3-2, counted from 0, leaves the sentences")
    write("far.links", [*GOLD[:4], {(1, 0)}])
    refused = headlight.refused("aer", "gold.talp", "far.links", "--text", "a.de", "a.en")
    assert refused.startswith("far.links:5: the link 1-0")


@pytest.mark.parametrize(
    ("links", "options", "part"),
    [
        (moved(1), (), "bad.links:1: the links seem to count words from 1 (add --one-based): AER "
         "is then 0.0%, and "),
        ([set(swapped(each)) for each in moved(1)], (), "(add --swap) and the links seem to count "
         "words from 1 (add --one-based): AER is then 0.0%"),
        (GOLD, ("--one-based",), "bad.links:1: words are counted from 1 here"),
        ([set(swapped(each)) for each in GOLD], (), "the word of the target seems to come first "
         "in the links (add --swap): AER is then 0.0%"),
        (GOLD, ("--swap",), "the word of the source seems to come first in the links (leave out"),
        (GOLD, ("--gold-base", "0"), "the gold seems to count words from 1 (sa"),
        (GOLD[:4], (), "bad.links:4: there must be 5 sentences, and the file ends after 4"),
        ([*GOLD, set()], (), "bad.links:6: there must be 5 sentences, and here is one more"),
    ],
)  # fmt: skip
def test_what_is_read_wrongly_is_refused_by_file_and_line(headlight, links, options, part):
    write("bad.links", links)
    assert part in headlight.refused("aer", "gold.talp", "bad.links", *options)


def test_it_is_scored_all_the_same_if_asked(headlight):
    write("bad.links", moved(1))
    code, said, _ = headlight("aer", "gold.talp", "bad.links", "--unchecked")
    assert code == 0
    assert float(first_row(said)[3]) > 50


def test_a_gold_that_counts_from_0(headlight):
    write("zero.talp", moved(1))
    write("a.talp", moved(1), "talp")
    refused = headlight.refused("aer", "zero.talp", "a.talp")
    assert "the gold seems to count words from 0 (say --gold-base 0" in refused
    assert headlight("aer", "zero.talp", "a.talp", "--gold-base", "0")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("aer", "gold.talp", "good.links", "--symmetrize", "union"), 2, "give both, or neither"),
        (("aer", "gold.talp", "good.links", "--reverse", "good.links"), 2, "give both"),
        (("aer", "gold.talp", "good.links", "--symmetrize", "grow-diagonal"), 2, "grow-diag"),
        (("aer", "gold.talp", "good.links", "--gold-base", "2"), 2, "--gold-base"),
        (("aer", "gold.talp"), 2, "links"),
        (("aer", "missing.talp", "good.links"), 1, "there is no file or folder missing.talp"),
        (("aer", "gold.talp", "missing.links"), 1, "there is no file or folder missing.links"),
        (("aer", "-", "good.links"), 2, "name the file of the gold"),
    ],
)
def test_refusals(headlight, arguments, code, part):
    assert part in headlight.refused(*arguments, code=code)
