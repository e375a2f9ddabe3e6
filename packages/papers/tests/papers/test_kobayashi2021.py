"""The command `reproduce kobayashi2021` on models with and without a mask token."""

from pathlib import Path

import pandas
import pytest

from frozen_paper_runs import PaperMaterial
from studies.models import saved


@pytest.mark.slow
def test_the_published_numbers_stand_beside_ours_and_masks_are_a_section(material: PaperMaterial):
    out = material.reproduction("kobayashi2021")
    page = (out / "index.html").read_text()
    assert "18.8%" in page
    assert "61.3%" in page
    assert "12% of the tokens are masked" in page
    assert 'id="masks"' in page
    rows = pandas.read_csv(out / "table-2.csv").set_index("method")
    assert (rows["min"] <= rows["mean"]).all()
    assert (rows["mean"] <= rows["max"]).all()
    assert rows.loc["ATTNRES-W", "max"] <= 50, "the residual counts as much as all attention"


@pytest.mark.slow
def test_a_model_without_a_mask_token_reads_the_text_as_it_is(headlight, material, tmp_path: Path):
    model, text, out = saved("llama", tmp_path / "model"), material.texts / "text", tmp_path / "out"
    options = ("--max-length", 24, "--max-examples", 3, "--out", out)
    code, _, said = headlight("reproduce", "kobayashi2021", "--model", model, "--text", text,
                              *options)  # fmt: skip
    assert code == 0, said
    assert "masks: left out" in said
    page = (out / "index.html").read_text()
    assert "the model has no mask token, or --masks is 0" in page
    assert "No token is masked" in page
