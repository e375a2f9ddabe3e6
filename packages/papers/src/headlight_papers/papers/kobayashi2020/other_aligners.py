"""Other aligners: their links from files, trained on the spot, or as published."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import get_args

import xarray

from headlight.errors import UsageError
from headlight.findings.estimates import Estimate
from headlight_papers.papers.kobayashi2020 import Settings
from headlight_papers.papers.kobayashi2020.translator_results import aligned_of
from headlight_papers.papers.reproduction import Reproduction, states_of
from headlight_papers.papers.translations import link_file_name
from headlight_words.corpora import open_parallel
from headlight_words.links import Aligner, LinkScore, baseline_links, open_links, score_links

LONGEST = 25
"""Words of a sentence that the slow models learn from at most."""

SYMMETRIZATION = "grow-diag-final-and"
FORWARD = "forward"
DIRECTIONS = (FORWARD, "reverse", SYMMETRIZATION)
HERE = ", trained here"

KNOWN = {"fastalign": "fast_align", "giza": "GIZA++"}
"""Aligners whose error rates the paper has, by words in their names."""


@dataclass(frozen=True)
class OtherAligner:
    """Published or computed result of another aligner.

    Attributes:
        name: Name of the aligner.
        links: Kind of its links, such as ``forward`` or ``union``; empty if unknown.
        rate: Error rate of the links.
    """

    name: str
    links: str
    rate: Estimate

    @property
    def is_forward(self) -> bool:
        """Whether the links are from source to target, as far as is known."""
        return self.links in ("", FORWARD)

    @property
    def published(self) -> str:
        """Return the aligner whose published error rate is of such links; empty for none."""
        # File names write the same aligner as fast_align, fastalign or fast-align.
        plain = self.name.lower().replace("_", "").replace("-", "")
        names = (name for word, name in KNOWN.items() if word in plain)
        return next(names, "") if self.is_forward else ""


def from_files(reproduction: Reproduction[Settings]) -> list[OtherAligner]:
    """Return the aligners whose links are among the sources."""
    aligned = aligned_of(reproduction)
    aligners = []
    for path in reproduction.sources.links:
        links = open_links(path, sentences=len(aligned.pairs))
        score = score_links(aligned.gold, (gold_links.possible for gold_links in links))
        aligners.append(OtherAligner(*link_file_name(path), _rate(score)))
    return aligners


def trained_on_the_spot(
    reproduction: Reproduction[Settings],
) -> tuple[list[OtherAligner], list[str]]:
    """Train aligners on parallel text, and explain in a sentence each why some are left out."""
    settings, sources = reproduction.settings, reproduction.sources
    if not settings.max_parallel:
        return [], ["No aligner was trained on the spot: none was asked for (--max-parallel)."]
    if not sources.parallel:
        return [], ["No aligner was trained on the spot: no parallel text was given (--parallel)."]
    aligners, notes = [], []
    for aligner in get_args(Aligner):
        try:
            result = _load_aligner(reproduction, aligner)
        # An aligner that is not installed is left out, and the page says so.
        except UsageError as missing:
            notes.append(f"{aligner} is missing: {missing}")
            continue
        ends = (result[f"error_rate{end}"].values for end in ("", "_low", "_high"))
        rates = Estimate.with_ends(*ends)
        aligners += [
            OtherAligner(aligner + HERE, direction, rates.at(at))
            for at, direction in enumerate(DIRECTIONS)
        ]
    if aligners:
        notes.insert(
            0,
            f"Trained here: on at most {settings.max_parallel:,} pairs of "
            f"{Path(sources.parallel).name} and on the pairs that are aligned, in small letters, "
            f"both directions, five iterations of each model; hmm, ibm3 and ibm4 on sentences of "
            f"at most {LONGEST} words.",
        )
    return aligners, notes


def _load_aligner(reproduction: Reproduction[Settings], aligner: str) -> xarray.Dataset:
    """Return the error rates of an aligner, in both directions and put together, if installed."""
    settings, sources = reproduction.settings, reproduction.sources
    aligned = aligned_of(reproduction)

    def make(_: Path) -> xarray.Dataset:
        both = baseline_links(
            aligner, aligned.words, training=_training(reproduction), longest=LONGEST
        )
        links = (both.forward, both.reverse, both.together(SYMMETRIZATION))
        rates = [_rate(score_links(aligned.gold, direction_links)) for direction_links in links]
        return xarray.Dataset(
            {
                f"error_rate{end}": (
                    "direction",
                    [float(getattr(rate, end_name)) for rate in rates],
                )
                for end, end_name in (("", "value"), ("_low", "low"), ("_high", "high"))
            },
            coords={"direction": list(DIRECTIONS)},
        )

    read = (
        *(sources.translations, sources.translations_target, sources.gold),
        *(sources.parallel, sources.parallel_target),
    )
    return reproduction.keep(
        f"aligner-{aligner}",
        "aligner",
        make,
        aligner=aligner,
        longest=LONGEST,
        max_parallel=settings.max_parallel,
        seed=settings.seed,
        reads=states_of(read),
    )


def _training(reproduction: Reproduction[Settings]) -> Iterator[tuple[list[str], list[str]]]:
    sources = reproduction.sources
    assert sources.parallel is not None  # noqa: S101 - it has been asked
    pairs = open_parallel(sources.parallel, sources.parallel_target)
    for pair in islice(pairs, reproduction.settings.max_parallel):
        # Small letters, as the pairs that are aligned: `words` lowers them too.
        yield pair.source.lower().split(), pair.target.lower().split()


def _rate(score: LinkScore) -> Estimate:
    return Estimate.with_ends(score.error_rate, *score.intervals["error_rate"])


def all_others(reproduction: Reproduction) -> tuple[list[OtherAligner], list[str]]:
    """Return all other aligners, those of files first, and notes on those that are missing."""
    files = from_files(reproduction)
    trained, notes = trained_on_the_spot(reproduction)
    if not files:
        notes.insert(0, "No links of other aligners were given (--links).")
    return [*files, *trained], notes
