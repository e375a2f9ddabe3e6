"""Combinations of heads as parsers: probes on attention, and the baselines beside them.

Source: Clark et al. (2019), Section 5 and Table 3.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from headlight.capture import CapturedModel
from headlight.corpora import Corpus, Sentence
from headlight.corpora.corpus import CorpusCounts
from headlight.corpora.source_changes import source_digest
from headlight.engine.corpus_attributes import share_read
from headlight.engine.disk_space import check_disk_space
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.kept_results import Origin, keep_result
from headlight.engine.repeatable_corpus import check_repeatable
from headlight.engine.work_folders import work_place
from headlight.files import Location
from headlight_words.corpora import WordVectors, open_treebank, read_word_vectors
from headlight_words.studies.parser_probes import RANDOM, ParserProbeSettings
from headlight_words.studies.parser_probes.batches import (
    RandomControl,
    random_control,
    unknown_share,
    vector_table,
)
from headlight_words.studies.parser_probes.evaluation import (
    ProbeJob,
    ProbeTrainer,
    TrainingData,
    dataset,
)
from headlight_words.studies.parser_probes.word_map_store import NO_HEAD, WordMaps
from headlight_words.studies.parser_probes.word_maps import (
    TreebankSource,
    WordMapPlan,
    extract,
    missing_size,
    plan_word_maps,
)
from headlight_words.training.jobs import choose_processes, run_stages
from headlight_words.training.model_store import begin_folder

CONTROL_SEED = 0
"""Seed of the random weights of the control, of which one draw is as good as another."""
EVERY = 10
"""Step between sentences that are parsed where a treebank is split; the others are for training."""

TRAIN, EVALUATION, ROWS = "train", "evaluation", "rows"
"""Folders of the maps of both treebanks, and of the rows of trained probes."""

QUICK = ("right_branching", "attention")
"""Probes of a few weights."""

MODEL, CONTROL = "model", "random"
"""Folders, within that of a treebank, of the maps of the model and of its random control."""


def run(  # noqa: PLR0913 - the arguments of every study, and two objects
    source: TreebankSource,
    model: CapturedModel,
    settings: ParserProbeSettings | None = None,
    *,
    train: TreebankSource | None = None,
    vectors: WordVectors | None = None,
    folder: OpenFolder = NOWHERE,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Train probes on one treebank and let them parse another (Clark et al. 2019, Table 3).

    Args:
        source: treebank that is parsed; see `word_maps.TreebankSource`.
        model: model whose attention is probed.
        settings: settings of the study.
        train: treebank for training, in place of the path in the settings; part of it is held out.
        vectors: word vectors, in place of the path in the settings.
        folder: folder of attention maps, rows of the table and the result; maps that it already
            holds are used, if they were made from the same.  Without one nothing is kept.
        command: command to record with the result.
        progress: whether to show bars on standard error.

    Returns:
        One row for each probe and measure, see the documentation of probes.

    Raises:
        UsageError: something does not fit together; see `ParserProbeSettings`.
        CorpusError: a treebank cannot be read, or has no heads.
        UnsupportedModelError: the attention of the model cannot be captured, or there is no random
            control of it.
        RunError: the folder holds something else, or cannot be used.
    """
    settings = settings or ParserProbeSettings()
    choose_processes(settings.processes, model)
    banks = _treebanks(source, settings.train if train is None else train, settings)
    learning, testing = (plan_word_maps(bank, model, settings.sentence_settings) for bank in banks)
    names = [bank.source for bank in banks]
    signature = {
        **settings.signature(),
        "train": names[0],
        "corpus": names[1],
        "training_maps": learning.signature(),
        "evaluation_maps": testing.signature(),
        "word_vectors": _name(vectors or settings.word_vectors),
    }
    if vectors is None and settings.word_vectors is not None:
        signature["word_vectors_digest"] = source_digest(settings.word_vectors)

    def compute(place: Location | None) -> xarray.Dataset:
        with work_place(
            place, (TRAIN, EVALUATION, ROWS), overwrite=folder.overwrite
        ) as work_folder:
            word_vectors = _vectors(vectors or settings.word_vectors, (learning, testing))
            result = _probe(
                learning, testing, settings, word_vectors, work_folder, signature, progress
            )
        return result.assign_attrs(share_read(banks[1], None))

    origin = Origin(
        "parser_probes", "Parser probes", testing.model, signature, testing.kind, names[1]
    )
    return keep_result(
        origin, compute, folder=folder, command=command, digest=lambda: testing.digest
    )


def _treebanks(
    source: TreebankSource, train: TreebankSource | None, settings: ParserProbeSettings
) -> tuple[Corpus[Sentence], Corpus[Sentence]]:
    """Return the treebank to learn from, and the one to parse."""

    def first(some: TreebankSource) -> Corpus[Sentence]:
        bank = open_treebank(some, format=settings.format, invalid=settings.invalid)
        return bank.take(settings.max_examples)

    bank = first(source)
    if train is not None:
        return first(train), bank
    return split_treebank(check_repeatable(bank))


def split_treebank(bank: Corpus[Sentence]) -> tuple[Corpus[Sentence], Corpus[Sentence]]:
    """Return the sentences to learn from, and every tenth sentence, to be parsed."""

    def part(parsed: bool) -> Corpus[Sentence]:
        def read(_: CorpusCounts) -> Iterator[Sentence]:
            for place, sentence in enumerate(bank):
                if parsed == (place % EVERY == EVERY - 1):
                    yield sentence

        # A part never reaches the limit of the whole, which only records that there was a limit.
        return Corpus(bank.source, read, "treebank", bank.limit, share_of=bank.share_of)

    return part(False), part(True)


def _name(vectors: str | WordVectors | None) -> str:
    """Return the name of the word vectors."""
    if isinstance(vectors, WordVectors):
        digest = sha256(np.ascontiguousarray(vectors.matrix).tobytes()).hexdigest()
        return f"vectors {digest[:12]}"
    return vectors or "input embeddings of the model"


def _vectors(
    vectors: str | WordVectors | None, plans: Sequence[WordMapPlan]
) -> WordVectors | CapturedModel:
    """Return the word vectors; of a file only the needed ones."""
    if isinstance(vectors, str):
        needed = {word.lower() for plan in plans for word in plan.index.vocabulary}
        return read_word_vectors(vectors, vocabulary=needed)
    return vectors or plans[0].model


def _probe(
    learning: WordMapPlan,
    testing: WordMapPlan,
    settings: ParserProbeSettings,
    vectors: WordVectors | CapturedModel,
    place: Path,
    signature: Mapping[str, Any],
    progress: bool,
) -> xarray.Dataset:
    """Read off the attention where it is not kept, and train and test every probe."""
    wants_control = RANDOM in settings.probes
    control = random_control(learning.model, CONTROL_SEED) if wants_control else None
    check_disk_space(
        place, _maps_size(learning, testing, settings, place), "all maps", progress=progress
    )
    data = [
        _training_data(plan, settings, control, vectors, place / side, progress)
        for side, plan in ((TRAIN, learning), (EVALUATION, testing))
    ]
    about = {
        "training_corpus": signature["train"],
        "vectors": signature["word_vectors"],
        **_attributes((learning, testing), control),
        "unknown_words": json.dumps(
            [
                prepared.words
                if prepared.words is None
                else unknown_share(prepared.index, prepared.words)
                for prepared in data
            ]
        ),
    }
    rows = begin_folder(place / ROWS, {**signature, **about})
    trainer = ProbeTrainer(data[0], data[1], settings, rows)
    jobs = [ProbeJob(probe, measure) for probe, measure in settings.rows()]
    # Those that train longest begin first, so that no process ends with one alone.
    slow_first = sorted(jobs, key=lambda job: job.probe in QUICK)
    processes = choose_processes(settings.processes, testing.model)
    run_stages(trainer, [slow_first], processes, show=progress)
    return dataset([trainer.row(job) for job in jobs], settings.seeds, about)


def _maps_size(
    learning: WordMapPlan, testing: WordMapPlan, settings: ParserProbeSettings, place: Path
) -> int:
    """Return the bytes of the maps of both treebanks that are not there yet."""
    return sum(
        missing_size(plan, place / side / whose, settings.measures)
        for side, plan in ((TRAIN, learning), (EVALUATION, testing))
        for whose in _whose_maps(settings)
    )


def _whose_maps(settings: ParserProbeSettings) -> list[str]:
    looking = {MODEL: ("attention", "attention_and_words"), CONTROL: (RANDOM,)}
    return [whose for whose, probes in looking.items() if {*probes} & {*settings.probes}]


def _training_data(
    plan: WordMapPlan,
    settings: ParserProbeSettings,
    control: CapturedModel | None,
    vectors: WordVectors | CapturedModel,
    place: Path,
    progress: bool,
) -> TrainingData:
    """Return the data of a treebank that probes see; read off attention that is not kept."""
    wants_words = any("words" in probe for probe in settings.probes)
    words = vector_table(plan.index, vectors) if wants_words else None  # a model may have none
    maps: dict[str, WordMaps] = {}
    random: dict[str, WordMaps] = {}
    if MODEL in _whose_maps(settings):
        maps = extract(plan, place / MODEL, settings.measures, progress=progress)
    if control is not None:
        sites = control.sites_of(plan.kind)
        plan = replace(plan, model=control, sites=sites)
        random = extract(plan, place / CONTROL, settings.measures, progress=progress)
    return TrainingData(plan.index, words, maps, random, plan.model.transformer.device)


def _attributes(plans: Sequence[WordMapPlan], control: RandomControl | None) -> dict[str, Any]:
    """Return the attributes of both treebanks, the training treebank first: sizes and omissions."""
    learning, testing = plans
    return {
        "corpus_digest": testing.digest,
        "training_digest": learning.digest,
        "sentences": [len(plan.index) for plan in plans],
        "words": [int(plan.index.lengths.sum()) for plan in plans],
        "lost_heads": [int((plan.index.heads == NO_HEAD).sum()) for plan in plans],
        "left_out": json.dumps([asdict(plan.counts) for plan in plans]),
        "root": json.dumps(_root(plans)),
        "kept_in_control": json.dumps(control.kept if control else ()),
    }


def _root(plans: Sequence[WordMapPlan]) -> list[str]:
    # A special token counts only where every sentence of both treebanks has it.
    always = np.logical_and.reduce([plan.index.special for plan in plans])
    return [name for name, has_token in zip(("begin", "end"), always, strict=True) if has_token]
