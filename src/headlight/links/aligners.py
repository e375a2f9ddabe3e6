"""Aligners that other people made, as baselines: trained on the pairs that they are to align.

IBM's models 1 to 4, the hidden Markov model and fast_align are those of the library `thot` (LGPL),
an optional dependency.  eflomal (GPL) is called as a program, where the user has it.

Source: Brown et al. (1993), "The Mathematics of Statistical Machine Translation"; Vogel, Ney and
Tillmann (1996), "HMM-Based Word Alignment"; Dyer, Chahuneau and Smith (2013), "A Simple, Fast, and
Effective Reparameterization of IBM Model 2"; Östling and Tiedemann (2016), "Efficient Word
Alignment with Markov Chain Monte Carlo".
"""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headlight.errors import RunError, UsageError
from headlight.links.link_corpus import open_links
from headlight.links.symmetrization import symmetrized
from headlight.links.word_links import Links, swapped
from headlight.settings import Range, require_choice, require_range

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
"""Each model begins with what the one before it has learnt."""


@dataclass(frozen=True, slots=True)
class Directions:
    """Links of an aligner in both directions; each has the word of the source first.

    Attributes:
        forward: Of each sentence, for each word of the target at most one of the source.
        reverse: For each word of the source at most one of the target.
    """

    forward: tuple[Links, ...]
    reverse: tuple[Links, ...]

    def together(self, method: str = "grow-diag-final-and") -> tuple[Links, ...]:
        """Both put together, see `headlight.links.symmetrized`.

        Raises:
            UnknownNameError: There is no such method.
        """
        both = zip(self.forward, self.reverse, strict=True)
        return tuple(symmetrized(method, *each) for each in both)


def baseline_links(
    aligner: str,
    pairs: Iterable[WordPair],
    *,
    training: Iterable[WordPair] = (),
    iterations: int = 5,
    longest: int = 40,
) -> Directions:
    """Links of an aligner that has learnt from nothing but the pairs.

    Words are compared as they are: give them in small letters if that is not to count.  A pair of
    which one side has no words has no links.

    Args:
        aligner: One of `Aligner`.
        pairs: What is aligned.
        training: More pairs to learn from, which are not aligned.
        iterations: Of the training of each model; eflomal chooses its own.
        longest: Words of either side of the pairs that ``hmm``, ``ibm3`` and ``ibm4`` learn from at
            most, since their time grows with the square of it.

    Raises:
        UnknownNameError: There is no such aligner.
        UsageError: It is not installed, or the iterations are less than 1.
        RunError: The program of eflomal failed.
    """
    require_choice("aligner", aligner, Aligner)
    require_range("the number of iterations", iterations, Range(minimum=1))
    asked = [(list(source), list(target)) for source, target in pairs]
    learnt = [*asked, *((list(source), list(target)) for source, target in training)]
    if aligner == "eflomal":
        return _eflomal(asked, learnt)
    if "Hmm" in _MODELS[aligner]:
        learnt = [pair for pair in learnt if max(map(len, pair)) <= longest]
    turned = [(target, source) for source, target in asked]
    learnt_turned = [(target, source) for source, target in learnt]
    reverse = _aligned(_trained(aligner, learnt_turned, iterations), turned)
    return Directions(
        tuple(_aligned(_trained(aligner, learnt, iterations), asked)), tuple(map(swapped, reverse))
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
    """The last of the models of an aligner, each of which goes on from the one before."""
    library = _thot()
    model: Any = None
    for name in _MODELS[aligner]:
        kind = getattr(library, f"{name}Model" if name == "FastAlign" else f"{name}AlignmentModel")
        model = kind() if model is None else kind(model)
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


def _eflomal(asked: Sequence[WordPair], learnt: Sequence[WordPair]) -> Directions:
    program = shutil.which(EFLOMAL)
    if program is None or not Path(program).is_absolute():  # in the working folder
        raise UsageError(
            f"the program {EFLOMAL} is not on the path; install eflomal, or take another aligner."
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
            said = finished.stderr.strip().splitlines() or ["it says nothing"]
            raise RunError(f"{EFLOMAL} failed: {said[-1]}; call it yourself to see more.")
        found = (open_links(path, sentences=len(learnt)) for path in (forward, reverse))
        first = (islice(each, len(asked)) for each in found)
        return Directions(*(tuple(links.possible for links in each) for each in first))
