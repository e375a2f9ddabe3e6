"""Translations with links between their words: where they lie in a folder, and whether they fit."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headlight_words.corpora import TranslationPair, open_parallel

if TYPE_CHECKING:
    from headlight_words.links import Gold

Languages = tuple[str, str]
"""Source and target language, as in ``("de", "en")``."""

ALIGNED_NAMES = ("align",)
PARALLEL_NAMES = ("parallel",)
HELD_OUT = ("val", "dev", "test")
GOLD = "gold."

_IN_A_NAME = re.compile(r"(?:^|[^a-z])([a-z]{2,3})-([a-z]{2,3})$")


@dataclass(frozen=True)
class AlignedPairs:
    """Sentences, their translations, and the gold links of their words."""

    pairs: list[TranslationPair]
    gold: "list[Gold]"

    @property
    def words(self) -> list[tuple[list[str], list[str]]]:
        """Return the words of either side in lower case, as aligners compare them."""
        return [(pair.source.lower().split(), pair.target.lower().split()) for pair in self.pairs]


def read_aligned(source: str, target: str | None, gold: str) -> AlignedPairs:
    """Read the aligned pairs and their gold links.

    Args:
        source: File of the pairs, or of the sentences alone.
        target: File of their translations, if they have one of their own.
        gold: File of their links.

    Raises:
        CorpusError: There is no such file, or the files do not fit each other.
    """
    from headlight_words.links import demand_words, open_links  # with numpy, which help needs not

    pairs = list(open_parallel(source, target))
    links = list(open_links(gold, sentences=len(pairs)))
    demand_words(links, [(len(pair.source.split()), len(pair.target.split())) for pair in pairs])
    return AlignedPairs(pairs, links)


def languages_of(model: str | None) -> Languages:
    """Return the languages in a model's name, such as ``opus-mt-de-en``; else German to English."""
    match = _IN_A_NAME.search(Path(model or "").name.lower())
    return (match[1], match[2]) if match else ("de", "en")


def translations_in(folder: Path, languages: Languages) -> dict[str, Any]:
    """Find the files of translations between two languages that the names in a folder announce.

    Of the folders that begin with ``align`` and hold two files with the names of the languages as
    suffixes, and one named ``gold.…``, that with most text; not one whose name has the languages in
    the other order (``en-de``), since its links have.  The links of other aligners are all files in
    folders that begin so whose names begin with that of the chosen folder and a period.  Of those
    that begin with ``parallel`` the first two files of such names, wherever within, that are not
    held out by their names (``val…``, ``dev…``, ``test…``).

    Args:
        folder: Folder that holds the folders of data.
        languages: Source and target language.
    """
    sources: dict[str, Any] = {}
    aligned = _folders(folder, ALIGNED_NAMES)
    sets = [
        (place, sides, gold)
        for place in aligned
        if "-".join(reversed(languages)) not in place.name.lower()
        for sides in list(_sides(place, languages))[:1]
        for gold in sorted(place.glob(f"{GOLD}*"))[:1]
    ]
    if sets:
        chosen, (source, target), gold = max(
            sets, key=lambda candidate: candidate[1][0].stat().st_size
        )
        links = (path for place in aligned for path in sorted(place.rglob("*")))
        sources |= {
            "translations": str(source),
            "translations_target": str(target),
            "gold": str(gold),
            "links": tuple(
                str(path)
                for path in links
                if path.is_file() and path.name.startswith(f"{chosen.name}.")
            ),
        }
    for place in _folders(folder, PARALLEL_NAMES):
        for source, target in _sides(place, languages):
            if not source.name.lower().startswith(HELD_OUT) and "parallel" not in sources:
                sources |= {"parallel": str(source), "parallel_target": str(target)}
    return sources


def _folders(folder: Path, beginnings: tuple[str, ...]) -> list[Path]:
    return [
        child
        for child in sorted(folder.iterdir())
        if child.is_dir() and child.name.lower().startswith(beginnings)
    ]


def _sides(place: Path, languages: Languages) -> Iterator[tuple[Path, Path]]:
    """Yield pairs of files whose names differ in the language alone, as in ``test.de.xz``."""
    for source in sorted(place.rglob("*")):
        first, *rest = source.name.split(".")
        if languages[0] in rest and source.is_file():
            at = rest.index(languages[0])
            target = source.with_name(".".join([first, *rest[:at], languages[1], *rest[at + 1 :]]))
            if target.is_file():
                yield source, target


def link_file_name(path: str) -> tuple[str, str]:
    """Return the aligner whose links a file holds, and which of its links.

    ``fastalign`` and ``forward`` of ``fastalign/test.forward.pharaoh``; of a name without a middle
    the name itself, and nothing.
    """
    name = Path(path).name.split(".")
    between = ".".join(name[1:-1])
    return (Path(path).parent.name, between) if between else (Path(path).name, "")
