"""One row of a table of probes: train, parse, count."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headlight.studies.parser_probes.batches import ParserData
from headlight.studies.parser_probes.evaluation import evaluate
from headlight.studies.parser_probes.result import Row
from headlight.studies.parser_probes.settings import RANDOM, ProbeSettings
from headlight.studies.parser_probes.training import Course, train
from headlight.studies.parser_probes.weights import build, save_probe
from headlight.studies.parser_probes.words import Table
from headlight.studies.word_maps.store import Features, Index


@dataclass(frozen=True, eq=False)
class Material:
    """All that probes may look at in one treebank.

    Attributes:
        index: Its sentences.
        words: A vector for each entry of the vocabulary; None if no probe looks at words.
        maps: Attention of the model by measure.
        random_maps: Attention of the random control by measure.
        device: Where probes are trained.
    """

    index: Index
    words: Table | None
    maps: Mapping[str, Features]
    random_maps: Mapping[str, Features]
    device: Any

    def data(self, probe: str, measure: str) -> ParserData:
        """What this probe sees."""
        maps = self.random_maps if probe == RANDOM else self.maps
        words = self.words if "words" in probe else None
        return ParserData(self.index, maps.get(measure), words, self.device)


def trained_row(
    probe: str,
    measure: str,
    material: Sequence[Material],
    settings: ProbeSettings,
    folder: Path,
    notes: Mapping[str, Any],
) -> Row:
    """Train a probe once for each seed, parse the other treebank, and keep the weights.

    Args:
        probe: one of `PROBES`.
        measure: what attention it looks at; empty for baselines.
        material: the treebank to learn from, and the one to parse.
        settings: see `ProbeSettings`.
        folder: where the weights go; it exists.
        notes: what is written down with the weights.
    """
    learning, testing = (each.data(probe, measure) for each in material)
    kind, options = _options(probe, learning, settings)
    row = Row(probe, measure)
    for seed in settings.seeds:
        model = build(kind, options, seed).to(learning.device)
        row.parameters = model.size
        began = time.perf_counter()
        untrained = Course((), 0)
        course = train(model, learning, settings.recipe, seed) if model.size else untrained
        row.courses.append(course)
        row.seconds += time.perf_counter() - began
        row.counts.append(evaluate(model, testing, symmetry=settings.symmetry))
        if model.size:
            path = folder / f"{row.label.replace('/', '-')}-{seed}.safetensors"
            save_probe(
                model, path, options=options, notes={**notes, "row": row.label, "seed": seed}
            )
    return row


def _options(probe: str, data: ParserData, settings: ProbeSettings) -> tuple[str, dict[str, Any]]:
    """What kind of model this is, and what it is built with."""
    kind = "attention_and_words" if probe == RANDOM else probe
    options: dict[str, Any] = {}
    if data.features is not None:
        options["heads"] = data.features.heads
    if data.dimensions is not None:
        options |= {"dimensions": data.dimensions, "align_root": settings.align_root}
    if kind == "attention_and_words":
        options["bias"] = settings.bias
    return kind, options
