"""The papers on maps of tokens: what they read by default, and what they show."""

from pathlib import Path

import pandas
import pytest
import xarray

from headlight_papers.papers import find_settings
from papers.material import saved_model


@pytest.mark.slow
def test_by_default_the_embedded_classifier_reads_its_reviews(headlight, tmp_path: Path) -> None:
    few = ("--max-examples", 3, "--out", tmp_path / "out", "--only", "findings,agreement")
    code, _, said = headlight("reproduce", "abnar2020", *few)
    assert code == 0, said
    page = (tmp_path / "out" / "index.html").read_text()
    assert "headlight-classifier predicts the class that it chooses for a text" in page
    assert "the sample reviews" in page
    caveat = "which was trained on made-up reviews and knows the words of these alone"
    assert page.count(caveat) == 2, "above the findings and above the table"
    rows = pandas.read_csv(tmp_path / "out" / "agreement.csv").set_index("map")
    assert rows.loc["gradient × input", "ρ, gradient × input"] == "–", "not with itself"
    found = xarray.load_dataset(tmp_path / "out" / "results" / "faithfulness.nc")
    claims = pandas.read_csv(tmp_path / "out" / "findings.csv")
    scores = found["score"].sel(question="leave_one_out")
    apart = scores.sel(map="rollout") - scores.sel(map="weight")
    assert f"difference {float(apart):.3f}".replace("-", "−") in claims["ours"][0]


@pytest.mark.slow
def test_a_model_that_predicts_nothing_is_refused(headlight, tmp_path: Path) -> None:
    model, out = saved_model(tmp_path / "model", head=False), tmp_path / "out"
    refused = headlight.refused("reproduce", "abnar2020", "--model", model, "--out", out, code=1)
    assert "head" in refused


def test_every_paper_compares_maps_with_both_references() -> None:
    for name in ("abnar2020", "modarressi2022", "ferrando2022", "modarressi2023"):
        maps = find_settings(name).maps
        assert {"gradient_input", "leave_one_out"} <= {*maps}
