"""The aligners of others, on a language of 30 words that is read from right to left."""

import sys
from pathlib import Path

import numpy as np
import pytest

from headlight.errors import RunError, UnknownNameError, UsageError
from headlight_words.links import Directions, Gold, baseline_links, score_links
from headlight_words.links.aligners import EFLOMAL

WORDS = 30
Pair = tuple[list[str], list[str]]


def language(number: int) -> tuple[list[Pair], list[Gold]]:
    generator = np.random.default_rng(0)
    pairs, gold = [], []
    for _ in range(number):
        words = generator.permutation(WORDS)[: generator.integers(1, 7)].tolist()
        pairs.append(([f"s{word}" for word in words], [f"t{word}" for word in reversed(words)]))
        gold.append(Gold.of((i, len(words) - 1 - i) for i in range(len(words))))
    return pairs, gold


@pytest.mark.parametrize("aligner", ["ibm1", "ibm2", "hmm", "ibm3", "ibm4", "fast_align"])
def test_a_language_without_exceptions_is_learnt(aligner: str) -> None:
    pytest.importorskip("thot", reason="sil-thot is not installed (the extra align)")
    pairs, gold = language(200)
    found = baseline_links(aligner, pairs[:50], training=pairs[50:])
    for links in (found.forward, found.reverse, found.together()):
        assert score_links(gold[:50], links).error_rate < 0.1
    for links in found.forward:
        assert len({target for _, target in links}) == len(links)
    for links in found.reverse:
        assert len({source for source, _ in links}) == len(links)


def test_pairs_of_nothing_and_long_pairs() -> None:
    pytest.importorskip("thot", reason="sil-thot is not installed (the extra align)")
    pairs, gold = language(100)
    long = (["s1"] * 9, ["t1"] * 9)
    found = baseline_links("hmm", [([], ["a"]), pairs[0], ([], []), long, *pairs[1:]], longest=8)
    assert found.forward[0] == found.reverse[0] == found.forward[2] == frozenset()
    assert found.forward[3]  # aligned, and not learnt from
    assert found.together("union")[1] == gold[0].possible


def test_links_of_both_directions() -> None:
    found = Directions((frozenset({(0, 0)}),), (frozenset({(0, 0), (0, 1)}),))
    assert found.together("intersection") == (frozenset({(0, 0)}),)
    assert found.together() == (frozenset({(0, 0), (0, 1)}),)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Takes the place of eflomal: writes what it is told to, and its arguments."""
    path = tmp_path / EFLOMAL
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def made(path: Path, code: str) -> None:
    path.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"named = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n{code}\n"
    )
    path.chmod(0o755)


def test_eflomal_is_called(program: Path) -> None:
    made(
        program,
        "lines = list(zip(open(named['-s']), open(named['-t'])))\n"
        "assert lines == [('a b\\n', 'c\\n'), ('\\n', '\\n'), ('d\\n', 'e f\\n')], lines\n"
        "open(named['-f'], 'w').write('1-0\\n\\n0-1\\n')\n"
        "open(named['-r'], 'w').write('0-0\\n\\n0-0\\n')\n",
    )
    found = baseline_links(
        "eflomal", [(["a", "b"], ["c"]), ([], [])], training=[(["d"], ["e", "f"])]
    )
    assert found == Directions(
        (frozenset({(1, 0)}), frozenset()), (frozenset({(0, 0)}), frozenset())
    )


def test_what_cannot_be_done(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"eflomal-align is not on the path"):
        baseline_links("eflomal", [])
    made(program, "sys.exit('no memory')")
    monkeypatch.chdir(program.parent)
    for path in (".", "", ".."):  # which names the working folder, or a folder beside it
        with monkeypatch.context() as patch:
            patch.setenv("PATH", path)
            with pytest.raises(UsageError, match=r"eflomal-align is not on the path"):
                baseline_links("eflomal", [])
    with pytest.raises(RunError, match="eflomal-align failed: no memory; call"):
        baseline_links("eflomal", [])
    with pytest.raises(UnknownNameError, match="no aligner is called 'ibm5'"):
        baseline_links("ibm5", [])
    with pytest.raises(UsageError, match="iterations must be at least 1"):
        baseline_links("ibm1", [], iterations=0)
    monkeypatch.setitem(sys.modules, "thot.alignment", None)
    with pytest.raises(UsageError, match="headlight-attention\\[align\\]"):
        baseline_links("ibm1", [])
