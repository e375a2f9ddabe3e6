"""Links of aligners: two directions joined, and written in any format.

Aligners that other people made, as baselines: trained on the pairs that they are to align.
IBM's models 1 to 4, the hidden Markov model and fast_align are those of the library `thot` (LGPL),
an optional dependency.  eflomal (GPL) is called as a program, where the user has it.

Source: Brown et al. (1993), "The Mathematics of Statistical Machine Translation"; Vogel, Ney and
Tillmann (1996), "HMM-Based Word Alignment"; Dyer, Chahuneau and Smith (2013), "A Simple, Fast, and
Effective Reparameterization of IBM Model 2"; Östling and Tiedemann (2016), "Efficient Word
Alignment with Markov Chain Monte Carlo".

Source: Och and Ney (2003), "A Systematic Comparison of Various Statistical Alignment Models",
Section 4; Koehn, Och and Marcu (2003), "Statistical Phrase-Based Translation", Section 3.  By
``grow-diag-final-and`` most people mean the program `symal` of Moses, which is followed here, also
in its order: by the word of the target, then by that of the source.  The scripts
of Zenkel, Wuebker and DeNero (2019) grow only to links of which *both* words have none yet, under
the same names; here those are called ``strict``.
"""

import json
import shutil
import subprocess
import tempfile
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from headlight.errors import RunError, UsageError
from headlight.settings import Range, require_choice, require_range
from headlight_words.links.link_lines import (
    COLUMNS,
    LINK_FORMATS,
    Gold,
    Link,
    Links,
    Scores,
    open_links,
    swapped,
)

Symmetrization = Literal[
    "intersection",
    "union",
    "grow",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "grow-diag-strict",
    "grow-diag-strict-final",
]

BESIDE = ((-1, 0), (0, -1), (1, 0), (0, 1))
AROUND = (*BESIDE, (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrized(method: str, forward: Iterable[Link], reverse: Iterable[Link]) -> Links:
    """Return the links of one sentence from the links of two aligners.

    Args:
        method: Method of `Symmetrization`: the intersection, the union, or links that grow from
            the first towards the second.
        forward: Links found by an aligner from source to target.
        reverse: Links found from target to source, also as pairs of source and target.

    Raises:
        UnknownNameError: There is no such method.
    """
    require_choice("symmetrization", method, Symmetrization)
    return _METHODS[method](frozenset(forward), frozenset(reverse))


class _Growing:
    """Links that grow, in the order of Moses, and the words that have a link."""

    def __init__(self, links: Links) -> None:
        # Moses visits points by target, then source; tuples are stored in that order.
        self._points = sorted((target, source) for source, target in links)
        self._targets = {target for target, _ in self._points}
        self._sources = {source for _, source in self._points}

    @property
    def links(self) -> Links:
        """Return all links, as pairs of source and target."""
        return frozenset((source, target) for target, source in self._points)

    def offer(self, links: Iterable[Link], needs: Callable[[Iterable[bool]], bool]) -> bool:
        """Add each link of which any word, or all, have no link yet; return whether any was."""
        before = len(self._points)
        # Moses goes through the links by target, and what is added first closes a word to the next.
        for target, source in sorted((target, source) for source, target in links):
            if needs((target not in self._targets, source not in self._sources)):
                insort(self._points, (target, source))
                self._targets.add(target)
                self._sources.add(source)
        return len(self._points) > before

    def grow(
        self, towards: Links, around: tuple[Link, ...], needs: Callable[[Iterable[bool]], bool]
    ) -> None:
        """Add neighbours of links, and neighbours of those, until there are none."""
        added = True
        while added:
            added = False
            at = 0
            while at < len(self._points):
                point = self._points[at]
                for down, right in around:
                    near = (point[1] + right, point[0] + down)
                    added |= near in towards and self.offer([near], needs)
                # Points that were added before the current one are not visited again in this round.
                at = bisect_right(self._points, point)  # also to what was added behind it


def _grown(
    forward: Links,
    reverse: Links,
    around: tuple[Link, ...] = AROUND,
    needs: Callable[[Iterable[bool]], bool] = any,
) -> _Growing:
    growing = _Growing(forward & reverse)
    growing.grow(forward | reverse, around, needs)
    return growing


def _final(forward: Links, reverse: Links, needs: Callable[[Iterable[bool]], bool]) -> Links:
    growing = _grown(forward, reverse)
    growing.offer(forward | reverse, needs)
    return growing.links


def _strict_final(forward: Links, reverse: Links) -> Links:
    # Zenkel et al. grow only to links whose words are both free.
    growing = _grown(forward, reverse, needs=all)
    # The forward direction comes first, and takes words from the other.
    growing.offer(forward, all)
    growing.offer(reverse, all)
    return growing.links


_METHODS: dict[str, Callable[[Links, Links], Links]] = {
    "intersection": lambda forward, reverse: forward & reverse,
    "union": lambda forward, reverse: forward | reverse,
    "grow": lambda forward, reverse: _grown(forward, reverse, BESIDE).links,
    "grow-diag": lambda forward, reverse: _grown(forward, reverse).links,
    "grow-diag-final": lambda forward, reverse: _final(forward, reverse, any),
    "grow-diag-final-and": lambda forward, reverse: _final(forward, reverse, all),
    "grow-diag-strict": lambda forward, reverse: _grown(forward, reverse, needs=all).links,
    "grow-diag-strict-final": _strict_final,
}


Aligner = Literal["ibm1", "ibm2", "hmm", "ibm3", "ibm4", "fast_align", "eflomal"]

WordPair = tuple[Sequence[str], Sequence[str]]
"""The words of a sentence, and those of its translation."""

EFLOMAL = "eflomal-align"

_MODELS = {
    "ibm1": ("Ibm1",),
    "ibm2": ("Ibm1", "Ibm2"),
    "hmm": ("Ibm1", "Hmm"),
    "ibm3": ("Ibm1", "Hmm", "Ibm3"),
    "ibm4": ("Ibm1", "Hmm", "Ibm3", "Ibm4"),
    "fast_align": ("FastAlign",),
}
"""Models of each aligner in order of training; each begins with the parameters of the last."""


@dataclass(frozen=True, slots=True)
class Directions:
    """Links of an aligner in both directions; each has the word of the source first.

    Attributes:
        forward: Links of each sentence: for each word of the target at most one of the source.
        reverse: Links of each sentence: for each word of the source at most one of the target.
    """

    forward: tuple[Links, ...]
    reverse: tuple[Links, ...]

    def together(self, method: str = "grow-diag-final-and") -> tuple[Links, ...]:
        """Join both directions, see `headlight_words.links.symmetrized`.

        Raises:
            UnknownNameError: There is no such method.
        """
        both = zip(self.forward, self.reverse, strict=True)
        return tuple(symmetrized(method, *pair) for pair in both)


def baseline_links(
    aligner: str,
    pairs: Iterable[WordPair],
    *,
    training: Iterable[WordPair] = (),
    iterations: int = 5,
    longest: int = 40,
) -> Directions:
    """Return the links of an aligner that is trained on nothing but the pairs.

    Words are compared as they are: give them in small letters if that is not to count.  A pair of
    which one side has no words has no links.

    Args:
        aligner: Name of an `Aligner`.
        pairs: Pairs to align.
        training: More pairs to learn from, which are not aligned.
        iterations: Training iterations of each model; eflomal chooses its own number.
        longest: Largest number of words on either side of the pairs that ``hmm``, ``ibm3`` and
            ``ibm4`` learn from, since their time grows with its square.

    Raises:
        UnknownNameError: There is no such aligner.
        UsageError: The aligner is not installed, or there is less than 1 iteration.
        RunError: The program of eflomal failed.
    """
    require_choice("aligner", aligner, Aligner)
    require_range("the number of iterations", iterations, Range(minimum=1))
    tested = [(list(source), list(target)) for source, target in pairs]
    learnt = [*tested, *((list(source), list(target)) for source, target in training)]
    if aligner == "eflomal":
        return _eflomal(tested, learnt)
    if "Hmm" in _MODELS[aligner]:
        learnt = [pair for pair in learnt if max(map(len, pair)) <= longest]
    turned = [(target, source) for source, target in tested]
    learnt_turned = [(target, source) for source, target in learnt]
    reverse = _aligned(_trained(aligner, learnt_turned, iterations), turned)
    return Directions(
        tuple(_aligned(_trained(aligner, learnt, iterations), tested)), tuple(map(swapped, reverse))
    )


def _thot() -> Any:
    try:
        import thot.alignment
    except ImportError as error:
        raise UsageError(
            "aligners need the library sil-thot; install it with: "
            "pip install 'headlight-attention[align]'"
        ) from error
    return thot.alignment


def _trained(aligner: str, pairs: Sequence[WordPair], iterations: int) -> Any:
    """Return the last of the models of an aligner, each of which continues the previous model."""
    library = _thot()
    model: Any = None
    for name in _MODELS[aligner]:
        kind = getattr(library, f"{name}Model" if name == "FastAlign" else f"{name}AlignmentModel")
        model = kind() if model is None else kind(model)
        # Only the first model is given the pairs; each next one begins with the previous model.
        if name == _MODELS[aligner][0]:
            for source, target in pairs:
                if source and target:
                    model.add_sentence_pair(source, target)
        model.start_training()
        for _ in range(iterations):
            model.train()
        model.end_training()
    return model


def _aligned(model: Any, pairs: Iterable[WordPair]) -> Iterator[Links]:
    for source, target in pairs:
        if not (source and target):
            yield frozenset()
            continue
        _, matrix = model.get_best_alignment(source, target)
        yield frozenset((int(i), int(j)) for i, j in np.argwhere(matrix.to_numpy()))


def _eflomal(tested: Sequence[WordPair], learnt: Sequence[WordPair]) -> Directions:
    program = shutil.which(EFLOMAL)
    if program is None or not Path(program).is_absolute():  # in the working folder
        raise UsageError(
            "the program eflomal-align is not on the path; install eflomal, or choose another "
            "aligner."
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target, forward, reverse = (Path(folder) / name for name in "stfr")
        for side, path in enumerate((source, target)):
            text = "".join(" ".join(pair[side]) + "\n" for pair in learnt)
            path.write_text(text, encoding="utf-8")
        finished = subprocess.run(
            [program, "-s", source, "-t", target, "-f", forward, "-r", reverse, "--overwrite"],
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode != 0:
            lines = finished.stderr.strip().splitlines() or ["it says nothing"]
            raise RunError(f"eflomal-align failed: {lines[-1]}; call it yourself to see more.")
        both = (open_links(path, sentences=len(learnt)) for path in (forward, reverse))
        first = (islice(gold_links, len(tested)) for gold_links in both)
        return Directions(*(tuple(links.possible for links in gold_links) for gold_links in first))


Words = tuple[Sequence[str], Sequence[str]]
"""The words of source and target."""

NO_SCORES: Scores = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class LinkWriter:
    """Writer of the links of one sentence after the other, in the formats that `open_links` reads.

    Args:
        format: Name of a format in `LINK_FORMATS`.
        scores: Whether scores are written, too; all formats but ``talp`` have a place for them.
        words: Whether the words are written, too, in ``tsv`` and ``jsonl``.

    Raises:
        UnknownNameError: There is no such format.
        UsageError: The format has no place for scores, or for words.
    """

    format: str = "pharaoh"
    scores: bool = False
    words: bool = False

    def __post_init__(self) -> None:
        require_choice("format of word links", self.format, LINK_FORMATS)
        if self.scores and self.format == "talp":
            raise UsageError("the format talp has no place for scores; choose another.")
        if self.words and self.format not in ("tsv", "jsonl"):
            raise UsageError(f"the format {self.format} has no place for words; choose tsv.")

    @property
    def header(self) -> str:
        """Return the text before the first sentence."""
        if self.format != "tsv":
            return ""
        names = [*COLUMNS, *(["score"] if self.scores else [])]
        return "\t".join([*names, *(["source_word", "target_word"] if self.words else [])]) + "\n"

    def text(
        self,
        number: int,
        links: Gold | Iterable[Link],
        scores: Scores = NO_SCORES,
        words: Words = ((), ()),
    ) -> str:
        """Return the lines of a sentence, with its links sorted by source and target.

        In ``naacl`` and ``tsv`` a link is a line, and a sentence without links has none.

        Args:
            number: Number of the sentence, from 0.
            links: Links of the sentence.
            scores: Scores of its links, if they are written.
            words: Words of the sentence, if they are written.
        """
        gold = links if isinstance(links, Gold) else Gold.of(links)
        return _WRITERS[self.format](self, number, gold, scores, words)


def _dash_line(base: int, unsure: str) -> "Writer":
    def write(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
        entries = [
            f"{i + base}{'-' if (i, j) in gold.sure else unsure}{j + base}"
            + _score(writer, (i, j), scores, ":")
            for i, j in sorted(gold.possible)
        ]
        return " ".join(entries) + "\n"

    return write


def _naacl_lines(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
    return "".join(
        f"{number + 1} {i + 1} {j + 1} {_kind(gold, (i, j))}{_score(writer, (i, j), scores, ' ')}\n"
        for i, j in sorted(gold.possible)
    )


def _table_lines(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
    rows = []
    for i, j in sorted(gold.possible):
        row = [str(number), str(i), str(j), _kind(gold, (i, j))]
        row += [_score(writer, (i, j), scores, "")] if writer.scores else []
        row += [words[0][i], words[1][j]] if writer.words else []
        rows.append("\t".join(row) + "\n")
    return "".join(rows)


def _json_line(writer: LinkWriter, number: int, gold: Gold, scores: Scores, words: Words) -> str:
    row: dict[str, object] = {"links": sorted(gold.sure)}
    if gold.only_possible:
        row["possible"] = sorted(gold.only_possible)
    if writer.scores:
        scored_links = [
            [i, j, float(f"{scores[i, j]:.6g}")] for i, j in sorted(gold.possible & set(scores))
        ]
        row["scores"] = scored_links
    if writer.words:
        row |= {"source": list(words[0]), "target": list(words[1])}
    return json.dumps(row, ensure_ascii=False) + "\n"


def _kind(gold: Gold, link: Link) -> str:
    return "S" if link in gold.sure else "P"


def _score(writer: LinkWriter, link: Link, scores: Scores, before: str) -> str:
    has_score = writer.scores and link in scores
    return f"{before}{scores[link]:.6g}" if has_score else ""


Writer = Callable[[LinkWriter, int, Gold, Scores, Words], str]

_WRITERS: dict[str, Writer] = {
    "pharaoh": _dash_line(0, "-"),
    "talp": _dash_line(1, "p"),
    "naacl": _naacl_lines,
    "tsv": _table_lines,
    "jsonl": _json_line,
}
