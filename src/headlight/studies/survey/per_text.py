"""Table of a survey with a row for each text and head, for those who want features of texts."""

import gzip
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas
import xarray
from torch import Tensor

from headlight.catalogue.statistics import KEY_CLASSES, behaviours, statistic
from headlight.engine.file_names import ROWS_OF_TEXTS
from headlight.engine.plan import StudyPlan
from headlight.findings.statistics import place_of
from headlight.observations.layer_arrays import array, stacked
from headlight.reduce import Accumulator, Sample, Tally
from headlight.reduce.accumulator import Array
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.head_behaviours.induction_and_sinks import BehaviourCounter
from headlight.studies.survey.observer import align_measures, separate_first
from headlight.studies.survey.part import Subject
from headlight.studies.survey.part_observer import PartObserver, SeenLayer
from headlight.studies.survey.query_and_key_tokens import QUERY_CATEGORIES
from headlight.studies.survey.rows import GROUP, OFFSETS, nonzero_sums
from headlight.vocabulary import CATEGORIES, measure

FILE = "per_text.csv.gz"
"""File of the table in the folder of a run."""
PASSAGES = 2.0**24
"""Numbers between two documents, which leave room for their passages."""

_BY_QUERY = (*GROUP, "query_category")
_DIMS = {
    "share": (*_BY_QUERY, "key_category"),
    "class_share": (*_BY_QUERY, "key_class"),
    "neighbour": (*GROUP, "offset"),
    "entropy": _BY_QUERY,
    "behaviour_share": (*GROUP, "behaviour"),
}


def columns(settings: SurveySettings) -> dict[str, tuple[str, str]]:
    """Return the statistic and the measure of each column, by its name in the table."""
    names, measures = settings.per_text_statistics, settings.measures
    return {f"{name}_{by}": (name, by) for name in names for by in measures}


class TextsObserver(PartObserver):
    """Observer of the chosen statistics of each text of a batch.

    Args:
        subject: Batch of a survey, whose behaviours are observed already.
    """

    on_device = ("_seen",)

    def __init__(self, subject: Subject) -> None:
        self._subject, self._measures = subject, subject.model_pass.measures
        self._seen: dict[int, dict[str, Tensor]] = {}

    def note_layer(self, layer: SeenLayer) -> None:
        """Keep the means over the queries of each text."""
        by_measure = [layer.means[name] for name in self._measures]
        self._seen[layer.record.site.layer] = align_measures(by_measure)

    def members(self) -> Mapping[str, Accumulator]:
        """Return a row for each text, ``[column, layer, head]``, under its number."""
        numbers, kept = self._numbers(), []
        for name, by in columns(self._subject.settings).values():
            row = statistic(name)
            variable, labels = place_of(numbers, row, by)
            values = numbers[variable].sel(labels).transpose("text", "layer", "head").values
            kept.append(np.where(self._subject.plan.kind in row.kinds, values, np.nan))
        rows = np.stack(kept, 1).reshape(len(kept[0]), -1)
        places = [example.origin or (0, 0) for example in self._subject.examples]
        # A sample of all, sorted by number.
        sample = Sample(2**53, rows.shape[1])
        sample.keep(np.array([place * PASSAGES + passage for place, passage in places]), rows)
        return {ROWS_OF_TEXTS: sample}

    def _numbers(self) -> xarray.Dataset:
        """Return the variables of a survey, with texts along their first axis."""
        layers = [self._seen[layer] for layer in sorted(self._seen)]
        sums = {name: stacked([layer[name] for layer in layers]) for name in layers[0]}
        sizes = [at for at, name in enumerate(self._measures) if not measure(name).share]
        whole = nonzero_sums(sums["total"])[..., sizes, :, :]
        counter = self._subject.observers["behaviours"]
        assert isinstance(counter, BehaviourCounter)  # noqa: S101 - by its name
        variables = {
            "share": _shares(sums["total"], whole, sizes),
            "neighbour": _shares(sums["neighbour"], whole[..., 0, :], sizes),
            "entropy": sums["entropy"],
            "behaviour_share": counter.shares,
        }
        if "first" in sums:
            keys = self._subject.sides[1].category
            category = array(keys.gather(1, (keys >= 0).int().argmax(1)[:, None]))
            classes = separate_first(sums["total"], sums["first"], category, self._measures)
            variables["class_share"] = _shares(classes, whole, sizes)
        return xarray.Dataset(
            {name: (("text", *_DIMS[name]), values) for name, values in variables.items()},
            {
                "measure": list(self._measures),
                "query_category": list(QUERY_CATEGORIES),
                "key_category": list(CATEGORIES),
                "key_class": list(KEY_CLASSES),
                "offset": list(OFFSETS),
                "behaviour": list(behaviours()),
            },
        )


def _shares(received: Array, whole: Array, sizes: list[int]) -> Array:
    """Return shares of rows; ``sizes`` are the places of measures that are no shares."""
    shares = received.copy()
    shares[:, :, :, sizes] /= whole
    return shares


def observe(subject: Subject) -> PartObserver | None:
    """Return the observer of the texts of a batch, if a table of them is asked for."""
    return TextsObserver(subject) if subject.settings.per_text else None


def table(
    shards: Iterator[Tally], plan: StudyPlan[Any], settings: SurveySettings
) -> Iterator[bytes]:
    """Yield the table as compressed CSV, a part for each shard, texts in the order of the corpus.

    Args:
        shards: Numbers of the texts of each shard.
        plan: Plan of the survey, of one kind of attention or all.
        settings: Settings of the survey.
    """
    names = list(columns(settings))
    heading = ",".join(["text", "document", "passage", "kind", "layer", "head", *names])
    yield gzip.compress(f"{heading}\n".encode(), mtime=0)
    first = 0
    for tally in shards:
        places: Array = np.zeros(0)
        for kind, part in plan.by_kind().items():
            sample = tally[f"{kind}/{ROWS_OF_TEXTS}" if plan.all_kinds else ROWS_OF_TEXTS]
            places, rows = sample.arrays()["keys"], sample.arrays()["rows"]
            heads = np.array([part.heads[layer] for layer in part.layers])
            # A layer may lack heads that others have.
            layer, head = np.nonzero(np.arange(heads.max()) < heads[:, None])
            values = rows.reshape(len(rows), len(names), len(heads), -1)[..., layer, head]
            at, cell = np.indices((len(rows), len(layer))).reshape(2, -1)
            document, passage = np.divmod(places[at], PASSAGES)
            about = [first + at, document, passage, np.array(part.layers)[layer[cell]], head[cell]]
            frame = pandas.DataFrame(np.transpose(about).astype(int))
            frame.insert(3, "kind", kind)
            frame = pandas.concat([frame, pandas.DataFrame(values[at, :, cell])], axis=1)
            lines = frame.to_csv(index=False, header=False, float_format="%.7g")
            yield gzip.compress(lines.encode(), mtime=0)
        first += len(places)
