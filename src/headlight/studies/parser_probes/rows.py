"""Training the rows of a table of probes, each kept when it is finished."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

from headlight.studies.parser_probes import RANDOM, ParserProbeSettings
from headlight.studies.parser_probes.batches import ParserData, Table
from headlight.studies.parser_probes.evaluation import Counts, evaluate
from headlight.studies.parser_probes.models import build, save_probe
from headlight.studies.parser_probes.result import Row
from headlight.studies.parser_probes.training import TrainingHistory, train
from headlight.studies.word_maps.store import Index, WordMaps
from headlight.training import ModelStore


@dataclass(frozen=True, eq=False)
class TrainingData:
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
    maps: Mapping[str, WordMaps]
    random_maps: Mapping[str, WordMaps]
    device: Any

    def data(self, probe: str, measure: str) -> ParserData:
        """What this probe sees."""
        maps = self.random_maps if probe == RANDOM else self.maps
        words = self.words if "words" in probe else None
        return ParserData(self.index, maps.get(measure), words, self.device)


@dataclass(frozen=True)
class ProbeJob:
    """One row of the table.

    Attributes:
        probe: one of `headlight.studies.parser_probes.PROBES`.
        measure: what attention it looks at; empty for baselines.
    """

    probe: str
    measure: str

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.probe}-{self.measure}" if self.measure else self.probe


@dataclass(frozen=True, eq=False)
class ProbeTrainer(ModelStore[ProbeJob]):
    """Trains probes, lets them parse, and keeps what they got right.

    Attributes:
        learning: the treebank to learn from.
        testing: the one that is parsed.
        settings: see `ParserProbeSettings`.
        folder: of the files of rows.
        weights: where the probes themselves are kept.
        notes: what is written down with them.
    """

    learning: TrainingData
    testing: TrainingData
    settings: ParserProbeSettings
    folder: Path
    weights: Path
    notes: Mapping[str, Any]

    def is_done(self, job: ProbeJob) -> bool:
        """Whether its row is there, and the probes themselves where anything was learned."""
        if not super().is_done(job):
            return False
        seeds = self.settings.seeds if self.measured(job)["parameters"] else ()
        return all(self._weights(job, seed).exists() for seed in seeds)

    def run(self, job: ProbeJob) -> None:
        """Train a probe once for each seed, and parse the other treebank."""
        row = Row(job.probe, job.measure)
        learning = self.learning.data(job.probe, job.measure)
        testing = self.testing.data(job.probe, job.measure)
        kind, options = self._options(job, learning)
        for seed in self.settings.seeds:
            model = build(kind, options, seed).to(learning.device)
            row.parameters = model.size
            untrained = TrainingHistory((), 0)
            row.histories.append(
                train(model, learning, self.settings.training, seed) if model.size else untrained
            )
            row.counts.append(evaluate(model, testing, symmetry=self.settings.symmetry))
            if model.size:
                notes = {**self.notes, "row": row.label, "seed": seed}
                save_probe(model, self._weights(job, seed), options=options, notes=notes)
        self._keep(job, row)

    def row(self, job: ProbeJob) -> Row:
        """A finished row."""
        counts, measured = self.parameters(job), self.measured(job)
        return Row(
            job.probe,
            job.measure,
            measured["parameters"],
            [
                Counts(
                    **{each.name: counts[f"{each.name}-{seed}"].numpy() for each in fields(Counts)}
                )
                for seed in self.settings.seeds
            ],
            [TrainingHistory(tuple(losses), best) for losses, best in measured["histories"]],
        )

    def _weights(self, job: ProbeJob, seed: int) -> Path:
        return self.weights / f"{job.name}-{seed}.safetensors"

    def _keep(self, job: ProbeJob, row: Row) -> None:
        counts = {
            f"{each.name}-{seed}": torch.from_numpy(getattr(found, each.name))
            for seed, found in zip(self.settings.seeds, row.counts, strict=True)
            for each in fields(Counts)
        }
        histories = [(history.losses, history.best) for history in row.histories]
        measured = {"parameters": row.parameters, "histories": histories}
        self.save(job, counts, measured)

    def _options(self, job: ProbeJob, data: ParserData) -> tuple[str, dict[str, Any]]:
        """What kind of model this is, and what it is built with."""
        kind = "attention_and_words" if job.probe == RANDOM else job.probe
        options: dict[str, Any] = {}
        if data.word_maps is not None:
            options["heads"] = data.word_maps.heads
        if data.dimensions is not None:
            options |= {"dimensions": data.dimensions, "align_root": self.settings.align_root}
        if kind == "attention_and_words":
            options["bias"] = self.settings.bias
        return kind, options
