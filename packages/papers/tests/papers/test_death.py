"""A reproduction, killed at chosen and random moments: the same tables, and nothing left."""

import os
from pathlib import Path

import pytest
import torch
import xarray

from deaths import needs_fork, random_kills
from headlight.reading.model import load as load_model
from headlight.result import load
from headlight_papers.papers import find_paper
from headlight_papers.papers.paper_page import reproduce
from headlight_papers.papers.reproduction import Reproduction, reproduction_folder
from headlight_papers.papers.sources import Sources
from papers.material import folder_of_data, saved_model
from random_moments import random_moments

pytestmark = needs_fork
KILLS = int(os.environ.get("HEADLIGHT_KILLS", "4"))
"""`make fuzz` tries many more."""
EXHIBITS = ("table-1", "figure-5")


@pytest.mark.long
def test_killed_at_any_moment_and_resumed_it_gives_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.engine.batch_runner.SHARD", 1)
    torch.set_num_threads(1)  # whose threads a child would not have
    model = load_model(saved_model(tmp_path / "model", head=False))
    sources = Sources(text=str(folder_of_data(tmp_path / "data") / "text"))
    paper = find_paper("kobayashi2020")
    settings = paper.settings(max_examples=3, max_length=24)

    def run(out: Path) -> None:
        with reproduction_folder(out, resume=True).opened():
            made = Reproduction(model, None, sources, settings, out, progress=False)
            reproduce(paper, made, EXHIBITS)

    whole, out = tmp_path / "whole", tmp_path / "out"
    run(whole)
    assert random_kills(lambda: run(out), out, KILLS, random_moments())
    names, others = (
        {str(path.relative_to(folder)) for path in folder.rglob("*")} for folder in (out, whole)
    )
    assert names == others
    for path in whole.rglob("*.csv"):
        assert (out / path.relative_to(whole)).read_bytes() == path.read_bytes()
    for path in whole.rglob("*.nc"):
        found, expected = load(out / path.relative_to(whole)), load(path)
        xarray.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
