"""Every study, killed at chosen and random moments: the same result afterwards, nothing left."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray

from deaths import KINDS, needs_fork, random_kills
from example_data import TRANSLATIONS
from headlight.analysis.folder import RunFolder
from headlight.capture import CapturedModel, MaskedLanguageModel
from headlight.catalogue import studies
from headlight.result import load
from headlight.sessions.session import run_study
from random_moments import random_moments
from studies.models import VOCABULARY, model, texts
from studies.test_coreference_heads import documents
from studies.test_dependency import trees
from studies.test_gradient import with_head
from studies.test_parser_probes import bank
from studies.test_permutation import classifier, labelled
from translators import FAMILIES

pytestmark = needs_fork
KILLS = int(os.environ.get("HEADLIGHT_KILLS", "4"))
"""Moments that differ from study to study and from run to run; `make fuzz` tries many more."""
MASKED = MaskedLanguageModel(
    mask_id=3, vocabulary=len(VOCABULARY), special_ids=frozenset(range(4)), rate=0.3
)
TRAINING = {"epochs": 2, "learning_rate": 0.02}
CHANGING = ("created", "command", "seconds")
QUICK = ("distances", "token_identity")
WITH_REPORT = ("survey", "coreference")
"""Two for all, since reports and tables take long."""


@dataclass(frozen=True)
class Victim:
    """A study on what is read in a moment.

    Its settings are the smallest, but for those that change what is written while it runs.
    """

    changed: dict[str, Any] = field(default_factory=dict)
    source: Callable[[], Any] = lambda: texts(14, longest=8)
    with_head: bool = False
    translates: bool = False
    classifies: bool = False
    decodes: bool = False

    @property
    def model(self) -> CapturedModel:
        if self.decodes:
            found = with_head("llama")
            found.transformer.config.max_position_embeddings = 256  # which are computed
            return found
        if self.classifies:
            return classifier()
        if self.translates:
            return FAMILIES["marian"].model(head=True)
        return with_head("bert") if self.with_head else model("bert")

    @property
    def options(self) -> dict[str, Any]:
        return {"objective": MASKED} if self.with_head else {}


def translations(count: int) -> list[tuple[tuple[str, str], str]]:
    """Pairs and their links, again and again."""
    rows = [((source, target), links) for source, target, links in TRANSLATIONS]
    return [rows[at % len(rows)] for at in range(count)]


VICTIMS = {
    "survey": Victim({"measures": ["weight", "gradient"]}, with_head=True),
    "norms": Victim(),
    "attribution": Victim(),
    "distances": Victim({"measures": ["weight"]}),
    "importance": Victim(with_head=True),
    "ablation": Victim(with_head=True),
    "mixing": Victim(),
    "flow": Victim({"methods": ["rollout", "globenc", "alti"]}),
    "identifiability": Victim(),
    "token_identity": Victim(
        {"maps": ["naive", "linear"], "losses": ["l2"], "solver": "ridge", "keep_maps": True}
    ),
    "circuits": Victim({"tokens": 4}, decodes=True),
    "dependency": Victim({}, lambda: trees(14)),
    "coreference": Victim({"measures": ["weight"], "max_length": 40}, documents),
    "alignment": Victim({}, lambda: [pair for pair, _ in translations(14)], translates=True),
    "permutation": Victim({}, lambda: labelled(14), classifies=True),
    "faithfulness": Victim(
        {"measures": ["weight", "leave_one_out"], "removals": ["delete"]},
        lambda: labelled(14),
        classifies=True,
    ),
    "agreement": Victim(
        {"measures": ["weight", "leave_one_out"]}, lambda: labelled(14), classifies=True
    ),
    "map_faithfulness": Victim({"maps": ["weight", "leave_one_out"]}, classifies=True),
    "adversary": Victim({"repeats": 2, "keep_models": True}, lambda: labelled(14), classifies=True),
    "instance_adversary": Victim(
        {"bootstrap": 5, "steps": 3, "by": ["all"]},
        lambda: labelled(14),
        classifies=True,
    ),
    "guided": Victim({"measures": ["weight"]}, lambda: labelled(14), classifies=True),
    "parser_probes": Victim(
        {"probes": ["attention", "random_attention_and_words"], "training": TRAINING},
        lambda: bank(30, 0),
    ),
}


def test_no_study_is_forgotten() -> None:
    assert VICTIMS.keys() == studies().keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in VICTIMS],
)
def test_killed_at_any_moment_and_resumed_it_gives_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.analysis.batch_runner.SHARD", 4)
    monkeypatch.setattr("headlight.analysis.batch_runner.SLOW_SHARD", 4)
    torch.set_num_threads(1)  # whose threads a child would not have
    study, victim = studies()[name], VICTIMS[name]
    settings = study.settings.from_mapping({**study.smallest, **victim.changed})
    if victim.translates:
        gold = tmp_path / "gold.talp"
        gold.write_text("".join(f"{links}\n" for _, links in translations(14)))
        settings = settings.replace(gold=str(gold))
    source, made = victim.source(), victim.model

    def run(out: Path) -> None:
        folder = RunFolder(path=out, resume=True)
        options = {"folder": folder, "progress": False, **victim.options}
        if name in WITH_REPORT:
            run_study(study, source, settings, made, **options)
        else:
            study.run(source, made, settings, **options)

    whole, out = tmp_path / "whole", tmp_path / "out"
    run(whole)
    generator, died, folders = random_moments(), 0, 0
    while died < KILLS:
        out = tmp_path / f"out-{folders}"
        first = int(generator.integers(len(KINDS)))  # some kinds come late, or never
        died += random_kills(lambda out=out: run(out), out, KILLS - died, generator, first)
        assert_same(whole, out)
        folders += 1
        assert folders < 10 + KILLS


def assert_same(whole: Path, out: Path) -> None:
    """Not one bit of the numbers differs, and there is nothing that a whole run has not."""
    expected, found = (load(folder / "result.nc") for folder in (whole, out))
    xarray.testing.assert_identical(*(_fixed(each) for each in (found, expected)))
    names, others = (
        {str(path.relative_to(folder)) for path in folder.rglob("*")} for folder in (out, whole)
    )
    assert names == others


def _fixed(result: xarray.Dataset) -> xarray.Dataset:
    """Without what says when it was made, and how long it took."""
    kept = {name: value for name, value in result.attrs.items() if name not in CHANGING}
    return result.drop_vars("seconds", errors="ignore").drop_attrs(deep=False).assign_attrs(kept)
