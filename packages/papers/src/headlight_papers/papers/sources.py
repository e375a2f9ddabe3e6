"""Sources of a reproduction: text, annotated corpora, translations, and where they lie.

One row for each kind of data, from which options, what a folder promises, what is tried before
anything slow, and what the page says of the data are made.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from headlight.corpora import (
    Corpus,
    is_companion,
    open_corpus,
    open_sentence_pairs,
    open_tagged,
    source_state,
    suffixes,
)
from headlight.errors import CorpusError, setting
from headlight.files import check_reachable
from headlight.settings import REPEATED, Common, Settings
from headlight.vocabulary import RANKS_WITHOUT_FILE
from headlight_papers.corpora.pair_tasks import pair_task, task_of
from headlight_papers.papers.text_tasks import labelled_in, named_sets
from headlight_papers.papers.translations import (
    AlignedPairs,
    Languages,
    read_aligned,
    translations_in,
)
from headlight_words.corpora import open_coreference, open_parallel, open_treebank

PARTS_OF_PAIRS = ("dev", "valid", "test", "train")

Component = tuple[Path, list[Path]]
"""Folder, or file, and the files in it that hold data."""


@dataclass(frozen=True)
class Source:
    """Kind of data.

    Attributes:
        title: Name on the page; empty for data that belong to another kind.
        folders: Beginnings of names in a folder of data; after ``…``, words inside such names.
        suffixes: Suffixes of files that hold data.
        choose: Function that chooses what is read among the files and folders named so.
        search: Function that finds the data in a folder, in place of `folders` and `choose`.
        opener: Function that opens the data, to check that their beginning can be read.
        needed_by: Needs of exhibits that read the data; by default they are always read.
        belongs_to: Kind without which the data would be out of place.
    """

    title: str = ""
    folders: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    choose: Callable[[list[Component]], Any] | None = None
    search: Callable[[Path, Languages], Any] | None = None
    opener: Callable[[str], Corpus[Any]] | None = None
    needed_by: tuple[str, ...] = ()
    belongs_to: str = ""

    @property
    def patterns(self) -> list[str]:
        """Return the names of folders as the help shows them: ``ud_…`` and ``…coref…``."""
        return [f"{name}…" for name in self.folders]

    def find(self, folder: Path, languages: Languages) -> Any:
        """Find the sources that the names in a folder announce; nothing if none does."""
        if self.search is not None:
            return self.search(folder, languages)
        if self.choose is None:
            return None
        children = [child for child in sorted(folder.iterdir()) if self._is_named(child)]
        return self.choose([(child, self._data_files(child)) for child in children])

    def _is_named(self, place: Path) -> bool:
        name = place.name.lower()
        within = [folder[1:] for folder in self.folders if folder.startswith("…")]
        return name.startswith(self.folders) or any(_holds(name, word) for word in within)

    def _data_files(self, place: Path) -> list[Path]:
        """Return files that hold data, sorted by name; the place itself if it is a file."""
        if not self.suffixes:
            return []
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        return [
            file
            for file in files
            if file.is_file() and not is_companion(file.name) and suffixes(file)[0] in self.suffixes
        ]


def _holds(name: str, word: str) -> bool:
    # A task has to stand by itself; only `coref` may be a part of the name.
    return task_of(name) == word or (word == "coref" and word in name)


def _first(paths: Iterable[Path]) -> str | None:
    return next(map(str, paths), None)


def _first_file(places: list[Component]) -> str | None:
    return _first(file for _, files in places for file in files)


def _evaluation_files(places: list[Component]) -> tuple[str, ...]:
    """Return for each place its part for development, else for testing, else all but training."""
    chosen: list[Path] = []
    for _, files in places:
        parts = ([file for file in files if part in file.name] for part in ("dev", "test"))
        rest = [file for file in files if "train" not in file.name]
        chosen += next((part for part in parts if part), rest)
    return tuple(map(str, chosen))


def _training_files(places: list[Component]) -> str | None:
    return _first(file for _, files in places[:1] for file in files if "train" in file.name)


def _file_of_each(places: list[Component]) -> tuple[str, ...]:
    """Return one file of each place."""
    chosen: list[Path] = []
    for _, files in places:
        parts = ([file for file in files if part in file.name] for part in PARTS_OF_PAIRS)
        chosen += next((part for part in parts if part), files)[:1]
    return tuple(map(str, chosen))


def _translation_files(name: str) -> Callable[[Path, Languages], Any]:
    return lambda folder, languages: translations_in(folder, languages).get(name)


TREEBANKS = Source(
    "treebanks",
    ("ud_", "treebank", "dependency", "ptb"),
    (".conllu", ".conll", ".conllx", ".dp", ".dep"),
    _evaluation_files,
    opener=partial(open_treebank, invalid="skip"),
    needed_by=("dependency",),
)
SOURCES = {
    "text": Source(
        "text",
        ("wikipedia", "text"),
        choose=lambda places: _first(place for place, _ in places),
        opener=open_corpus,
    ),
    "dependency": TREEBANKS,
    "dependency_train": replace(
        TREEBANKS, title="", choose=_training_files, belongs_to="dependency"
    ),
    "coreference": Source(
        "coreference corpora",
        ("…coref",),
        (".conllu", ".conll", ".v4_gold_conll", ".gold_conll", ".tar", ".zip"),
        _evaluation_files,
        opener=partial(open_coreference, invalid="skip"),
        needed_by=("coreference",),
    ),
    "word_vectors": Source(
        "word vectors",
        ("glove", "word2vec", "word_vectors", "fasttext"),
        (".txt", ".vec"),
        _first_file,
    ),
    "frequency_ranks": Source(),
    "pairs": Source(
        "sentence pairs",
        ("…mrpc", "…cola", "…mnli", "pairs"),
        (".tsv", ".txt", ".csv", ".jsonl", ".ndjson", ".json"),
        _file_of_each,
        opener=open_sentence_pairs,
        needed_by=("pairs", "cola", "mnli"),
    ),
    "translations": Source("translations", ("align",), search=_translation_files("translations")),
    "parallel": Source("parallel text", ("parallel",), search=_translation_files("parallel")),
    **{
        name: Source(search=_translation_files(name), belongs_to="translations")
        for name in ("translations_target", "gold", "links")
    },
    "parallel_target": Source(search=_translation_files("parallel_target"), belongs_to="parallel"),
    "tagged": Source(
        "tagged sentences",
        ("conll2000", "chunk", "tagged"),
        (".txt", ".conll", ".iob2", ".bio"),
        lambda places: _training_files(places) or _first_file(places[:1]),
        opener=open_tagged,
        needed_by=("tagged",),
    ),
    "labelled": Source(
        "labelled texts",
        ("sst", "imdb", "ag_news", "20news", "labelled"),
        search=lambda folder, _: labelled_in(folder),
        opener=open_sentence_pairs,
        needed_by=("labelled",),
    ),
}
"""One row for each field of `Sources`."""


def titled_sources(names: Collection[str]) -> dict[str, Source]:
    """Return the rows of some fields that have a title, as the page and help name them."""
    return {name: row for name, row in SOURCES.items() if row.title and name in names}


@dataclass(frozen=True, kw_only=True)
class Sources(Settings):
    """Files and folders; what is missing leaves out the exhibits that need it.

    Attributes:
        text: file, folder, glob or hf:NAME; by default the sample corpus.
        dependency: treebanks on which heads are evaluated, each a file, folder or archive (CoNLL-U,
            CoNLL-X, columns).
        dependency_train: treebank on which probes are trained; by default part of the first
            treebank for evaluation.
        coreference: annotated documents (CoNLL-2012, LitBank, CorefUD).
        word_vectors: file of GloVe or word2vec, as text; by default the input embeddings of the
            model, and none for models trained here.
        frequency_ranks: file with lines of rank, count and token id, for this tokenizer; or
            ``ids``, the order of its vocabulary; by default ``corpus``, counted in the text.
        pairs: sentence pairs (MRPC, CoLA, MNLI, TSV, CSV, JSON lines), each a file, folder or
            hf:NAME, such as ``hf:glue:mrpc``.
        translations: sentences with translations whose words are linked (pairs as ``source |||
            target``, TSV, CSV; or source sentences only), in the direction of the translator.
        translations_target: translations, line for line, if they are in a file of their own.
        gold: gold links between their words (talp, Pharaoh, NAACL).
        links: links of other aligners, a file each.
        parallel: parallel text on which other aligners are trained; read as ``translations`` are.
        parallel_target: translations of the parallel text, if they are in a file of their own.
        tagged: sentences whose words have tags of spans, such as ``B-NP``, in columns, as in
            CoNLL-2000.
        labelled: sets of texts of two classes (SST, IMDb, AG News, 20 News, TSV, CSV, JSON lines),
            each a file, pattern, folder or hf:NAME, such as ``hf:imdb``.
    """

    text: Common[str | None] = None
    dependency: Common[Annotated[tuple[str, ...], REPEATED]] = ()
    dependency_train: Common[str | None] = None
    coreference: Common[Annotated[tuple[str, ...], REPEATED]] = ()
    word_vectors: Common[str | None] = None
    frequency_ranks: Common[str | None] = None
    pairs: Common[Annotated[tuple[str, ...], REPEATED]] = ()
    translations: Common[str | None] = None
    translations_target: Common[str | None] = None
    gold: Common[str | None] = None
    links: Common[Annotated[tuple[str, ...], REPEATED]] = ()
    parallel: Common[str | None] = None
    parallel_target: Common[str | None] = None
    tagged: Common[str | None] = None
    labelled: Common[Annotated[tuple[str, ...], REPEATED]] = ()

    @classmethod
    def found_in(
        cls,
        folder: Path | str,
        languages: Languages = ("de", "en"),
        reads: Collection[str] | None = None,
    ) -> "Sources":
        """Find the sources that the folders inside a folder announce by name, see `Source.folders`.

        Files named ``train`` are for training, ``dev`` (else ``test``, else all others) for
        evaluation; of sentence pairs one file is read, and where there is none for evaluation, that
        for training.  Of tagged sentences those for training are split.  Where there are several,
        the first by name is text and word vectors, and the first treebank trains the probes.
        Translations: see `translations_in`; labelled texts: see `labelled_in`.

        Args:
            folder: Folder that holds the folders of data.
            languages: Source and target language of the translator.
            reads: Requested fields; by default all.

        Raises:
            CorpusError: There is no such folder, or nothing in it is named so.
        """
        place = Path(folder).expanduser()
        if not check_reachable(place, error=CorpusError).is_dir():
            raise CorpusError(f"there is no folder {place}; name one with {setting('data=')}.")
        wanted = SOURCES if reads is None else {name: SOURCES[name] for name in reads}
        sources = {name: row.find(place, languages) for name, row in wanted.items()}
        sources = {name: value for name, value in sources.items() if value}
        if not sources:
            titled = titled_sources(wanted)
            names = ", ".join(name for row in titled.values() for name in row.patterns)
            options = ", ".join(f"--{name.replace('_', '-')}" for name in titled)
            raise CorpusError(
                f"{place} holds no folder whose name says what it is ({names}); name the files "
                f"with {options}."
            )
        return cls(**sources)

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Return the task of each of `pairs`: ``mrpc``, ``cola``, ``mnli`` or ``pairs``.

        Raises:
            CorpusError: One of them cannot be read, or is in no known format.
        """
        return tuple(pair_task(source) for source in self.pairs)

    def named(self, name: str) -> tuple[str, ...]:
        """Return all sources of one kind."""
        value = getattr(self, name)
        return value if isinstance(value, tuple) else tuple(filter(None, (value,)))

    def check(self, needs: Collection[str]) -> None:
        """Complain before anything slow about data whose very beginning cannot be read.

        Args:
            needs: Needs of the exhibits besides text, as in
                `headlight_papers.papers.exhibit_needs.NEEDS`.

        Raises:
            CorpusError: A file does not exist, or holds something else.
            UsageError: A library is missing.
        """
        if "labelled" in needs:
            named_sets(self.labelled)
        for name, row in SOURCES.items():
            if row.opener and (not row.needed_by or {*row.needed_by} & {*needs}):
                for source in self.named(name):
                    next(iter(row.opener(source)))
        if "gold" in needs:
            self._check_aligned()
        ranks = self.frequency_ranks
        others = (self.word_vectors, None if ranks in RANKS_WITHOUT_FILE else ranks)
        # What no exhibit reads, for want of what belongs to it, has to be there all the same.
        aligned = (self.translations, self.translations_target, self.gold, *self.links)
        for path in (*others, *aligned, self.parallel_target):
            if path:
                source_state(path)

    @cached_property
    def aligned(self) -> AlignedPairs | None:
        """Return the translations with their gold links; None where either is missing.

        Raises:
            CorpusError: The files cannot be read, or do not fit each other.
        """
        if not (self.translations and self.gold):
            return None
        return read_aligned(self.translations, self.translations_target, self.gold)

    def _check_aligned(self) -> None:
        """Complain of links of other aligners that do not fit, and of text that is not there."""
        from headlight_words.links import open_links  # with numpy, which help needs not

        if self.aligned is not None:
            sentences = len(self.aligned.pairs)
            for path in self.links:
                list(open_links(path, sentences=sentences))
        if self.parallel:
            next(iter(open_parallel(self.parallel, self.parallel_target)))

    def or_else(self, other: "Sources") -> "Sources":
        """Return these sources, and those of another where these are missing.

        Sources that belong to a kind go with it: treebanks, and files that describe translations.
        """
        missing = {
            name: getattr(other, name)
            for name, row in SOURCES.items()
            if not self.named(name) and not (row.belongs_to and self.named(row.belongs_to))
        }
        return self.replace(**missing)
