"""The rows of a table of probes: each is trained, and kept when it is finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray
from jaxtyping import Float64

from headlight.analysis.variables import described, with_slots
from headlight.reduce import Slots
from headlight.result import Description
from headlight_papers.studies.parser_probes import RANDOM, ParserProbeSettings
from headlight_papers.studies.parser_probes.batches import ParserData, Table
from headlight_papers.studies.parser_probes.evaluation import METRICS, Counts, evaluate, share
from headlight_papers.studies.parser_probes.models import build, save_probe
from headlight_papers.studies.parser_probes.training import TrainingHistory, train
from headlight_papers.studies.word_maps.store import Index, WordMaps
from headlight_papers.training import ModelStore

VARIABLES: dict[str, Description] = {
    "score": ("share of words, or edges, that are found", "1", "share"),
    "by_seed": ("score for each seed", "1"),
    "parameters": ("numbers that are learned", "1"),
    "epochs": ("epochs trained", "1"),
    "best_epoch": ("epoch whose weights were kept", "1"),
    "loss": ("cross-entropy per word on the held-out sentences", "nat"),
}


@dataclass
class Row:
    """One probe on one measure, once for each seed."""

    probe: str
    measure: str
    parameters: int = 0
    counts: list[Counts] = field(default_factory=list)
    histories: list[TrainingHistory] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Return the label, unique among rows."""
        return f"{self.probe}/{self.measure}" if self.measure else self.probe

    def together(self) -> Float64[np.ndarray, "2 sentence metric"]:
        """Return what was right and what there was, by sentence, of all seeds."""
        of_seeds = [[counts.of(metric) for metric in METRICS] for counts in self.counts]
        return np.asarray(np.moveaxis(np.sum(of_seeds, 0), 0, -1), dtype=np.float64)

    def by_seed(self) -> list[list[float]]:
        """Share for each seed and metric."""
        return [[share(*counts.of(metric)) for metric in METRICS] for counts in self.counts]


def dataset(
    rows: Sequence[Row], seeds: Sequence[int], attributes: Mapping[str, Any]
) -> xarray.Dataset:
    """Named arrays of what the probes achieved."""
    correct, total = np.stack([row.together() for row in rows], 2)
    scores = Slots.of(np.arange(len(correct)), correct, total).compute()
    variables: dict[str, Any] = {
        **with_slots("score", ("row", "metric"), scores["mean"], scores),
        "by_seed": (("row", "seed", "metric"), np.array([row.by_seed() for row in rows])),
        "parameters": ("row", np.array([row.parameters for row in rows])),
        "epochs": (("row", "seed"), _of_histories(rows, lambda history: history.epochs)),
        "best_epoch": (("row", "seed"), _of_histories(rows, lambda history: history.best)),
        "loss": (("row", "seed"), _of_histories(rows, _best_loss)),
    }
    coordinates = {
        "row": [row.label for row in rows],
        "probe": ("row", [row.probe for row in rows]),
        "measure": ("row", [row.measure for row in rows]),
        "metric": list(METRICS),
        "seed": list(seeds),
    }
    return described(variables, coordinates, VARIABLES).assign_attrs(attributes)


def _best_loss(history: TrainingHistory) -> float:
    return history.losses[history.best - 1] if history.losses else np.nan


def _of_histories(rows: Sequence[Row], what: Any) -> np.ndarray:
    return np.array([[what(history) for history in row.histories] for row in rows])


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
        """Return the data that this probe sees."""
        maps = self.random_maps if probe == RANDOM else self.maps
        words = self.words if "words" in probe else None
        return ParserData(self.index, maps.get(measure), words, self.device)


@dataclass(frozen=True)
class ProbeJob:
    """One row of the table.

    Attributes:
        probe: one of `headlight_papers.studies.parser_probes.PROBES`.
        measure: what attention it looks at; empty for baselines.
    """

    probe: str
    measure: str

    @property
    def name(self) -> str:
        """Return the name of its file."""
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
            row.counts.append(evaluate(model, testing))
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
        """Return the kind of model, and the options it is built with."""
        kind = "attention_and_words" if job.probe == RANDOM else job.probe
        options: dict[str, Any] = {}
        if data.word_maps is not None:
            options["heads"] = data.word_maps.heads
        if data.dimensions is not None:
            options |= {"dimensions": data.dimensions, "align_root": self.settings.align_root}
        if kind == "attention_and_words":
            options["bias"] = self.settings.bias
        return kind, options
