"""What a reproduction reads: text, annotated corpora, translations, and where they lie."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from headlight.corpora import (
    Corpus,
    open_coreference,
    open_corpus,
    open_parallel,
    open_sentence_pairs,
    open_tagged,
    open_treebank,
)
from headlight.corpora.compression import suffixes
from headlight.corpora.files import COMPANIONS
from headlight.corpora.pairs.pair_corpus import pair_task, task_of
from headlight.corpora.state import source_state
from headlight.errors import CorpusError
from headlight.links import open_links
from headlight.papers.labelled_sets import labelled_in, named_sets
from headlight.papers.translations import AlignedPairs, Languages, read_aligned, translations_in
from headlight.settings import REPEATED, Settings
from headlight.studies.norms.settings import RANKS_WITHOUT_FILE

TREEBANK_SUFFIXES = {".conllu", ".conll", ".conllx", ".dp", ".dep"}
COREFERENCE_SUFFIXES = {".conllu", ".conll", ".v4_gold_conll", ".gold_conll", ".tar", ".zip"}
VECTOR_SUFFIXES = {".txt", ".vec"}
TAGGED_SUFFIXES = {".txt", ".conll", ".iob2", ".bio"}
PAIR_SUFFIXES = {".tsv", ".txt", ".csv", ".jsonl", ".ndjson", ".json"}

TEXT_NAMES = ("wikipedia", "text")
TREEBANK_NAMES = ("ud_", "treebank", "dependency", "ptb")
PAIR_NAMES = ("pairs",)
PAIR_PARTS = ("dev", "valid", "test", "train")
TAGGED_NAMES = ("conll2000", "chunk", "tagged")
VECTOR_NAMES = ("glove", "word2vec", "word_vectors", "fasttext")

BELONG_TO = {
    "translations": ("translations_target", "gold", "links"),
    "parallel": ("parallel_target",),
}
"""What would be out of place beside other translations."""


@dataclass(frozen=True, kw_only=True)
class Sources(Settings):
    """Files and folders; what is missing leaves out the exhibits that need it.

    Attributes:
        text: file, folder, glob or hf:NAME; by default the sample corpus.
        dependency: treebanks on which heads are evaluated, each a file, folder or archive (CoNLL-U,
            CoNLL-X, columns).
        dependency_train: a treebank on which probes are trained; by default part of the first of
            those on which heads are evaluated.
        coreference: annotated documents (CoNLL-2012, LitBank, CorefUD).
        word_vectors: a file of GloVe or word2vec, as text; by default the model's own input
            embeddings.
        frequency_ranks: a file with lines of rank, count and token id, for this very tokenizer; or
            ``ids``, the order of its vocabulary; by default ``corpus``, counted in the text.
        pairs: sentence pairs (MRPC, CoLA, MNLI, TSV, CSV, JSON lines), each a file, folder or
            hf:NAME, such as ``hf:glue:mrpc``.
        translations: sentences of which the words are linked to those of their translations (pairs
            as ``source ||| target``, TSV, CSV, TMX; or the sentences alone), in the direction of
            the translator.
        translations_target: their translations, line for line, if they are in a file of their own.
        gold: the links that people made between their words (talp, Pharaoh, NAACL).
        links: those that other aligners made, a file each.
        parallel: more translations, from which other aligners learn on the spot; read as
            ``translations`` are.
        parallel_target: of these the translations, if they are in a file of their own.
        tagged: sentences whose words have tags of spans, such as ``B-NP``, in columns, as in
            CoNLL-2000.
        labelled: sets of texts of two classes (SST, IMDb, AG News, 20 News, TSV, CSV, JSON lines),
            each a file, pattern, folder or hf:NAME, such as ``hf:imdb``.
    """

    text: str | None = None
    dependency: Annotated[tuple[str, ...], REPEATED] = ()
    dependency_train: str | None = None
    coreference: Annotated[tuple[str, ...], REPEATED] = ()
    word_vectors: str | None = None
    frequency_ranks: str | None = None
    pairs: Annotated[tuple[str, ...], REPEATED] = ()
    translations: str | None = None
    translations_target: str | None = None
    gold: str | None = None
    links: Annotated[tuple[str, ...], REPEATED] = ()
    parallel: str | None = None
    parallel_target: str | None = None
    tagged: str | None = None
    labelled: Annotated[tuple[str, ...], REPEATED] = ()

    @classmethod
    def found_in(cls, folder: Path | str, languages: Languages = ("de", "en")) -> "Sources":
        """What the names of the folders inside a folder promise.

        A folder that begins with ``wikipedia`` or ``text`` is text; with ``ud_``, ``treebank``,
        ``dependency`` or ``ptb`` a treebank; one that has ``coref`` in its name coreference; one
        that begins with ``glove``, ``word2vec``, ``word_vectors`` or ``fasttext`` word vectors; one
        that has ``mrpc``, ``cola`` or ``mnli`` as a word in its name, or begins with ``pairs``,
        sentence pairs.  Files named ``train`` are for training, ``dev`` (else ``test``, else all
        others) for evaluation; of sentence pairs one file is read, and where there is none for
        evaluation, that for training.  One that begins with ``conll2000``, ``chunk`` or ``tagged``
        holds tagged sentences, of which those for training are split.  Where there are several, the
        first by name is text and word vectors, and the first treebank trains the probes.
        Translations: see `translations_in`; labelled texts: see `labelled_in`.

        Args:
            folder: in which the folders lie.
            languages: from which and into which the translator translates.

        Raises:
            CorpusError: there is no such folder, or nothing in it is named so.
        """
        place = Path(folder).expanduser()
        if not place.is_dir():
            raise CorpusError(f"there is no folder {place}; name one with --data.")
        treebanks = _folders_named(place, TREEBANK_NAMES)
        found = cls(
            text=_first(_folders_named(place, TEXT_NAMES)),
            dependency=_for_evaluation(treebanks, TREEBANK_SUFFIXES),
            dependency_train=_for_training(treebanks),
            coreference=_for_evaluation(_children(place, lambda name: "coref" in name)),
            word_vectors=_first(_vectors(place)),
            pairs=_pairs(place),
            tagged=_tagged(place),
            labelled=labelled_in(place),
            **translations_in(place, languages),
        )
        if found == cls():
            raise CorpusError(
                f"{place} holds no folder whose name says what it is (wikipedia…, ud_…, …coref…, "
                "glove…, …mrpc…, align…, conll2000…, sst…); name the files with --text, "
                "--dependency, --coreference, --word-vectors, --pairs, --translations, --gold, "
                "--tagged and --labelled."
            )
        return found

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """What each of `pairs` is: ``mrpc``, ``cola``, ``mnli`` or ``pairs``.

        Raises:
            CorpusError: one of them cannot be read, or is in no known format.
        """
        return tuple(pair_task(source) for source in self.pairs)

    def check(self, needs: Collection[str]) -> None:
        """Complain before anything slow about what not even the beginning can be read of.

        Args:
            needs: what the exhibits need besides text, as in `headlight.papers.exhibit.NEEDS`.

        Raises:
            CorpusError: a file does not exist, or holds something else.
            UsageError: a library is missing.
        """
        trees = (*self.dependency, self.dependency_train) if "dependency" in needs else ()
        documents = self.coreference if "coreference" in needs else ()
        pairs = self.pairs if {"pairs", "cola", "mnli"} & {*needs} else ()
        labelled = named_sets(self.labelled).values() if "labelled" in needs else ()
        opened: list[Corpus[Any]] = [
            *(open_corpus(source) for source in (self.text,) if source),
            *(open_treebank(source, invalid="skip") for source in trees if source),
            *(open_coreference(source, invalid="skip") for source in documents),
            *(open_sentence_pairs(source) for source in (*pairs, *labelled)),
            *(open_tagged(source) for source in (self.tagged,) if source and "tagged" in needs),
        ]
        for corpus in opened:
            next(iter(corpus))
        if "gold" in needs:
            self._check_aligned()
        ranks = self.frequency_ranks
        for source in (self.word_vectors, None if ranks in RANKS_WITHOUT_FILE else ranks):
            if source:
                source_state(source)

    @cached_property
    def aligned(self) -> AlignedPairs | None:
        """The translations with their gold links; None where either is missing.

        Raises:
            CorpusError: they cannot be read, or do not fit each other.
        """
        if not (self.translations and self.gold):
            return None
        return read_aligned(self.translations, self.translations_target, self.gold)

    def _check_aligned(self) -> None:
        """Complain of links of other aligners that do not fit, and of text that is not there."""
        if self.aligned is not None:
            sentences = len(self.aligned.pairs)
            for path in self.links:
                list(open_links(path, sentences=sentences))
        if self.parallel:
            next(iter(open_parallel(self.parallel, self.parallel_target)))

    def or_else(self, other: "Sources") -> "Sources":
        """These, and those of another where these are missing.

        Treebanks go together, and so do translations and what is said of them.
        """
        missing = {
            field.name: getattr(other, field.name)
            for field in fields(self)
            if not getattr(self, field.name)
        }
        if self.dependency:  # a training part of some other treebank would be out of place
            missing.pop("dependency_train", None)
        for first in ("translations", "parallel"):
            if getattr(self, first):
                for name in BELONG_TO[first]:
                    missing.pop(name, None)
        return self.replace(**missing)


def _folders_named(folder: Path, beginnings: tuple[str, ...]) -> list[Path]:
    return _children(folder, lambda name: name.startswith(beginnings))


def _children(folder: Path, wanted: Callable[[str], bool]) -> list[Path]:
    return [child for child in sorted(folder.iterdir()) if wanted(child.name.lower())]


def _vectors(folder: Path) -> list[Path]:
    return [
        file
        for place in _folders_named(folder, VECTOR_NAMES)
        for file in _data_files(place, VECTOR_SUFFIXES)
    ]


def _pairs(folder: Path) -> tuple[str, ...]:
    """Of each folder of sentence pairs one file."""

    def is_wanted(name: str) -> bool:
        return task_of(name) is not None or name.startswith(PAIR_NAMES)

    chosen = []
    for place in _children(folder, is_wanted):
        files = _data_files(place, PAIR_SUFFIXES)
        parts = ([file for file in files if part in file.name] for part in PAIR_PARTS)
        chosen += next((found for found in parts if found), files)[:1]
    return tuple(map(str, chosen))


def _tagged(folder: Path) -> str | None:
    """The training file of the first folder of tagged sentences, else its first file."""
    for place in _folders_named(folder, TAGGED_NAMES):
        files = _data_files(place, TAGGED_SUFFIXES)
        return _first([file for file in files if "train" in file.name] or files)
    return None


def _for_evaluation(
    places: list[Path], suffixes: set[str] = COREFERENCE_SUFFIXES
) -> tuple[str, ...]:
    """For each place its part for development, else for testing, else all but the training."""
    chosen = []
    for place in places:
        files = _data_files(place, suffixes)
        parts = ([file for file in files if part in file.name] for part in ("dev", "test"))
        rest = [file for file in files if "train" not in file.name]
        chosen += next((found for found in parts if found), rest)
    return tuple(map(str, chosen))


def _for_training(treebanks: list[Path]) -> str | None:
    """The training part of the first treebank."""
    files = _data_files(treebanks[0], TREEBANK_SUFFIXES) if treebanks else []
    return _first([file for file in files if "train" in file.name])


def _data_files(place: Path, allowed: set[str]) -> list[Path]:
    """Files that hold data, in the order of their names; the place itself if it is a file."""
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    return [
        file
        for file in files
        if file.is_file()
        and file.name.split(".")[0].lower() not in COMPANIONS
        and suffixes(file)[0] in allowed
    ]


def _first(paths: list[Path]) -> str | None:
    return str(paths[0]) if paths else None
