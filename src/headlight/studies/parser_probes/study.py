"""Combinations of heads as parsers: probes on attention, and what they are compared with.

Source: Clark et al. (2019), Section 5 and Table 3.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray

from headlight.capture import CapturedModel
from headlight.corpora import Sentence, WordVectors, open_treebank, read_word_vectors
from headlight.errors import RunError
from headlight.files import make_folder
from headlight.result import versions
from headlight.studies.parser_probes.control import RandomControl, random_control
from headlight.studies.parser_probes.result import dataset
from headlight.studies.parser_probes.row import Material, trained_row
from headlight.studies.parser_probes.settings import RANDOM, ProbeSettings
from headlight.studies.parser_probes.words import table, unknown_share
from headlight.studies.word_maps.extraction import extract
from headlight.studies.word_maps.plan import FeaturePlan, plan_study
from headlight.studies.word_maps.store import NO_HEAD, Features

SIDES = ("train", "evaluation")
Source = str | Path | Iterable[Sentence]


def parse_probes(
    train: Source,
    evaluation: Source,
    model: CapturedModel,
    settings: ProbeSettings | None = None,
    *,
    vectors: str | Path | WordVectors | None = None,
    folder: Path | str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Train probes on one treebank and let them parse another (Clark et al. 2019, Table 3).

    Args:
        train: a path for `headlight.corpora.open_treebank`, or sentences with gold heads that can
            be iterated more than once; some are held out.
        evaluation: as `train`, of other sentences.
        model: the model whose attention is probed.
        settings: see `ProbeSettings`.
        vectors: of words, or a path for `headlight.corpora.read_word_vectors`; by default the input
            embeddings of the model.
        folder: where to keep attention maps and trained probes.  Maps that are there already are
            used, if they were made from the same; without a folder nothing is kept.
        progress: show bars on standard error.

    Returns:
        One row for each probe and measure, see the documentation of probes; `probe_table` makes a
        table of it.

    Raises:
        UsageError: something does not fit together; see `ProbeSettings`.
        CorpusError: a treebank cannot be read, or has no heads.
        UnsupportedModelError: the attention of the model cannot be captured, or there is no random
            control of it.
        RunError: the folder holds maps of something else, or cannot be used.
    """
    settings = settings or ProbeSettings()
    banks = [_opened(source) for source in (train, evaluation)]
    plans = [plan_study(bank, model, settings.features) for bank in banks]
    control = random_control(plans[0].model, settings.control_seed) if _random(settings) else None
    about = _described(plans, settings, control)
    about["training_corpus"], about["corpus"] = (
        getattr(bank, "source", "sentences") for bank in banks
    )
    about["vectors"] = _named(vectors)
    known = _read(vectors, plans)
    with ExitStack() as stack:
        place = Path(folder or stack.enter_context(TemporaryDirectory(prefix="headlight-")))
        material = [
            _material(plan, settings, control, known or plan.model, place / side, progress)
            for side, plan in zip(SIDES, plans, strict=True)
        ]
        about["unknown_words"] = json.dumps([_unknown(each) for each in material])
        weights = make_folder(place / "weights", error=RunError)
        rows = [
            trained_row(probe, measure, material, settings, weights, about)
            for probe, measure in settings.rows()
        ]
    return dataset(rows, settings.seeds, about)


def _material(
    plan: FeaturePlan,
    settings: ProbeSettings,
    control: CapturedModel | None,
    vectors: WordVectors | CapturedModel,
    place: Path,
    progress: bool,
) -> Material:
    """All that the probes look at in one treebank; attention is read off where it is not kept."""
    maps: dict[str, Features] = {}
    random: dict[str, Features] = {}
    if {*settings.probes} & {"attention", "attention_and_words"}:
        maps = extract(plan, place / "model", settings.measures, progress=progress)
    if control is not None:
        sites = control.sites_of(plan.kind)
        plan = replace(plan, model=control, sites=sites)
        random = extract(plan, place / "random", settings.measures, progress=progress)
    wants_words = any("words" in probe for probe in settings.probes)
    words = table(plan.index, vectors) if wants_words else None
    return Material(plan.index, words, maps, random, plan.model.transformer.device)


def _opened(source: Source) -> Iterable[Sentence]:
    return open_treebank(source) if isinstance(source, str | Path) else source


def _named(vectors: str | Path | WordVectors | None) -> str:
    if isinstance(vectors, str | Path):
        return str(vectors)
    return "input embeddings of the model" if vectors is None else "vectors"


def _read(
    vectors: str | Path | WordVectors | None, plans: Sequence[FeaturePlan]
) -> WordVectors | None:
    """Of a file only the vectors that are needed."""
    if not isinstance(vectors, str | Path):
        return vectors
    needed = {word.lower() for plan in plans for word in plan.index.vocabulary}
    return read_word_vectors(vectors, vocabulary=needed)


def _random(settings: ProbeSettings) -> bool:
    return RANDOM in settings.probes


def _unknown(material: Material) -> float | None:
    """The share of words without a vector."""
    return None if material.words is None else unknown_share(material.index, material.words)


def _described(
    plans: Sequence[FeaturePlan], settings: ProbeSettings, control: RandomControl | None
) -> dict[str, Any]:
    """What would have to be repeated to get the same, and what was left out; train first."""
    learning, testing = plans
    return {
        "title": "Attention probes",
        "model": testing.model.name,
        "revision": testing.model.revision,
        "kind": testing.kind,
        "corpus_digest": testing.digest,
        "training_digest": learning.digest,
        "sentences": [len(plan.index) for plan in plans],
        "words": [int(plan.index.lengths.sum()) for plan in plans],
        "lost_heads": [int((plan.index.heads == NO_HEAD).sum()) for plan in plans],
        "left_out": json.dumps([asdict(plan.counts) for plan in plans]),
        "root": json.dumps(_root(plans)),
        "kept_in_control": json.dumps(control.kept if control else ()),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "settings": json.dumps(settings.signature()),
    }


def _root(plans: Sequence[FeaturePlan]) -> list[str]:
    """Which special tokens the root's score is made of; without any it is 0 throughout."""
    there = np.logical_and.reduce([plan.index.special for plan in plans])
    return [name for name, found in zip(("begin", "end"), there, strict=True) if found]
