"""Reading a treebank through a model once, for all probes and all epochs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from headlight.analysis.batch_runner import BatchRunner
from headlight.analysis.passes import observe
from headlight.analysis.work_folders import check_disk_space
from headlight.encode.batch import Batch
from headlight.errors import RunError, UnknownNameError
from headlight.reduce import Moments
from headlight.run.checkpoint import locked
from headlight.vocabulary import MEASURES
from headlight_papers.studies.word_maps.observer import Maps, MapsObserver, NumberedSentence, Use
from headlight_papers.studies.word_maps.plan import WordMapPlan
from headlight_papers.studies.word_maps.store import (
    SPECIALS,
    MapsWriter,
    WordMaps,
    header_path,
    open_word_maps,
)

CALIBRATION = 64
"""Sentences whose norms set the scale of each head."""


def extract(
    plan: WordMapPlan,
    folder: Path,
    measures: Sequence[str] = ("weight",),
    *,
    progress: bool = True,
) -> dict[str, WordMaps]:
    """The attention of every head between the words of every sentence, by measure, on disk.

    One pass over the corpus makes all measures that the folder does not hold yet.  Memory does not
    grow with the corpus, but for its words and heads; the disk takes n² · heads · 2 bytes for a
    sentence of n positions; the amount is printed before the pass begins.

    Norms are divided by a number for each head, the mean sum of a row over the first 64 sentences,
    which puts them in the range of weights, where float16 is at its best; `WordMaps.scale` has it.

    Args:
        plan: what is read, see `plan_word_maps`.
        folder: where to keep the maps; one for each corpus and model.
        measures: of ``weight``, ``norm`` and ``effective``.
        progress: say how much will be written, and show a bar, on standard error.

    Raises:
        UnknownNameError: there is no such measure.
        RunError: the folder holds maps of something else, or cannot be written or used.
    """
    for measure in measures:
        if measure not in MEASURES:
            raise UnknownNameError("measure for probes", measure, MEASURES)
    with locked(folder):
        found = {name: _usable(folder, plan.signature(name)) for name in measures}
        missing = [name for name, maps in found.items() if maps is None]
        if missing:
            _write(plan, folder, missing, progress)
        stored = {name: maps or open_word_maps(folder, name) for name, maps in found.items()}
    return {name: maps for name, maps in stored.items() if maps is not None}


def missing_size(plan: WordMapPlan, folder: Path, measures: Sequence[str]) -> int:
    """Bytes that the maps will take which the folder does not hold yet."""
    missing = [measure for measure in measures if not header_path(folder, measure).exists()]
    return plan.index.bytes(plan.heads) * len(missing)


def _usable(folder: Path, signature: Mapping[str, Any]) -> WordMaps | None:
    """The maps in the folder if they are what is wanted; None if there are none."""
    found = open_word_maps(folder, signature["measure"])
    if found is None or found.signature == json.loads(json.dumps(signature)):
        return found
    different = [name for name in signature if found.signature.get(name) != signature[name]]
    raise RunError(
        f"{header_path(folder, signature['measure'])} was made from something else (differing: "
        f"{', '.join(different)}); remove {folder}, or choose another folder."
    )


def _write(plan: WordMapPlan, folder: Path, measures: Sequence[str], progress: bool) -> None:
    """One pass over the corpus; all stores are completed together at its end."""
    maps = (
        f"maps of {plan.heads} heads ({', '.join(measures)}) between the words of "
        f"{len(plan.index)} sentences"
    )
    check_disk_space(folder, missing_size(plan, folder, measures), maps, progress=progress)
    scales = {name: np.ones(plan.heads, dtype=np.float32) for name in measures}
    if "norm" in scales:
        scales["norm"] = _scale(plan)
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(
                MapsWriter(folder, plan.index, plan.signature(name), scales[name])
            )
            for name in measures
        }

        def put(examples: Sequence[NumberedSentence], maps: Mapping[str, Maps]) -> None:
            for name, writer in writers.items():
                for example, found in zip(examples, maps[name], strict=True):
                    size = example.kept + SPECIALS
                    writer.put(example.number, found[:size, :size])

        if _pass(plan, plan.numbered(), measures, put, progress) != plan.digest:
            raise RunError("the sentences were others when they were read again; nothing is kept.")
        for writer in writers.values():
            writer.finish()


def _scale(plan: WordMapPlan) -> Float32[np.ndarray, " head"]:
    """The mean sum of a row of norms for each head, over the first sentences; 1 where it is 0."""
    sums = Moments((plan.heads,))

    def add(examples: Sequence[NumberedSentence], maps: Mapping[str, Maps]) -> None:
        for example, found in zip(examples, maps["norm"], strict=True):
            sums.update(found[SPECIALS : example.kept + SPECIALS].sum(1))

    _pass(plan, islice(plan.numbered(), CALIBRATION), ["norm"], add, progress=False)
    mean = sums.mean.astype(np.float32)
    return np.where(mean > 0, mean, np.float32(1))


def _pass(
    plan: WordMapPlan,
    examples: Iterable[NumberedSentence],
    measures: Sequence[str],
    use: Use,
    progress: bool,
) -> str:
    """Run the model over the sentences; the digest of what it read."""
    columns, settings = plan.columns(), plan.settings

    def observer(batch: Batch, some: Sequence[NumberedSentence]) -> MapsObserver:
        return MapsObserver(batch, some, columns, measures, settings.queries, settings.pooling, use)

    step = BatchRunner(plan.model, plan.sites, observer, settings.batch_tokens)
    number = len(plan.index)
    return observe(examples, step, signature={}, max_examples=number, progress=progress).digest
