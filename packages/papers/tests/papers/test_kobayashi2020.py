"""The command `reproduce kobayashi2020`, on a tiny model and text of our own."""

from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray

from frozen_paper_runs import PaperMaterial
from headlight.capture import load_model
from headlight.studies.survey import SurveySettings, study as heads
from headlight_papers.papers import find_paper
from headlight_papers.papers.kobayashi2020 import published
from headlight_papers.papers.kobayashi2020.figure_4_10_11_12_heads import together
from headlight_papers.papers.kobayashi2020.norm_claims import judge_claims
from studies.models import saved

EXHIBITS = [each for each in find_paper("kobayashi2020").exhibits if "gold" not in each.needs]
"""Those that need no links of words."""
FEW = {"max_examples": 6, "max_length": 48}
"""As `PAPER_RUNS` says."""


@pytest.fixture(scope="module")
def model(material: PaperMaterial) -> Path:
    return material.sharp


@pytest.fixture(scope="module")
def text(material: PaperMaterial) -> Path:
    return material.texts / "text"


@pytest.fixture(scope="module")
def out(material: PaperMaterial) -> Path:
    """Everything at once, as a user would."""
    return material.reproduction("kobayashi2020")


@pytest.mark.slow
def test_every_exhibit_is_a_section_with_files_of_its_own(out):
    page = (out / "index.html").read_text()
    for spec in EXHIBITS:
        assert f'id="{spec.name}"' in page
        for suffix in ("svg", "png", "csv"):
            assert list(out.glob(f"{spec.name}*.{suffix}")), (spec.name, suffix)


@pytest.mark.slow
def test_dispersion_is_that_of_a_survey(out, model, text):
    found = pandas.read_csv(out / "table-1.csv").set_index("which")
    settings = SurveySettings(pairs=True, measures=("norm",), **FEW)
    result = heads.run(text, load_model(model), settings, progress=False)
    variation = result["vector_norm_cv"]
    assert found.loc["largest CV", "CV"] == pytest.approx(float(variation.max()))
    assert found.loc["smallest CV", "CV"] == pytest.approx(float(variation.min()))
    assert found.loc["average", "μ"] == pytest.approx(float(result["vector_norm_mean"].mean()))
    layer, head = np.unravel_index(variation.values.argmax(), variation.shape)
    assert found.loc["largest CV", "name"] == f"L{layer}H{head} ({layer + 1}-{head + 1})"


@pytest.mark.slow
def test_weights_of_a_layer_add_up_to_one(out):
    rows = pandas.read_csv(out / "figure-3.csv")
    weights = rows[[column for column in rows.columns if column.startswith("α ")]]
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_table_2_has_all_pairs(out):
    rows = pandas.read_csv(out / "table-2.csv").set_index("category")
    assert rows.loc["[SEP]", "pairs"] == 2 * rows.loc["[CLS]", "pairs"]
    assert rows["ρ"].abs().max() <= 1


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
def test_a_file_of_ranks_is_used_and_named(headlight, model, text, tmp_path):
    ranks = tmp_path / "ranks.txt"
    ranks.write_text("".join(f"{rank} {100 - rank} {rank + 4}\n" for rank in range(1, 17)))
    arguments = ("reproduce", "kobayashi2020", "--model", model, "--text", text, "--only",
                 "figure-6", "--max-length", "48")  # fmt: skip
    code, _, complained = headlight(*arguments, "--out", tmp_path / "a", "--frequency-ranks", ranks)
    assert code == 0, complained
    assert "ranks.txt" in (tmp_path / "a" / "index.html").read_text()
    ranks.write_text("1 2\n")
    refused = headlight.refused(*arguments, "--out", tmp_path / "b", "--frequency-ranks", ranks)
    assert "ranks.txt:1" in refused


def test_the_published_averages_are_consistent():
    for table in (published.TABLE_1, published.TABLE_4):
        for _, row in table.values():
            assert row.variation == pytest.approx(row.deviation / row.mean, abs=0.011)
    pairs = [count for count, _ in published.TABLE_2.values()]
    assert pairs[1] == 2 * pairs[0]


def small(headlight, model: Path, text: Path, out: Path, *more: str) -> tuple[int, str]:
    """A reproduction of a few short segments."""
    given = ["--model", str(model), "--text", str(text), "--out", str(out)]
    few = ["--max-length", "24", "--max-examples", "4"]
    code, _, said = headlight("reproduce", "kobayashi2020", *given, *few, *more)
    return code, said


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("llama", None),
        pytest.param("bart", "cross", marks=pytest.mark.long),
        pytest.param("bart", "decoder", marks=pytest.mark.long),
    ],
)
def test_other_kinds_of_attention(headlight, text, tmp_path, family, kind):
    model, out = saved(family, tmp_path / "model"), tmp_path / "out"
    given = ["--kind", kind] if kind else []
    # The others are of the embedded translator, whatever the model is.
    only = ",".join(spec.name for spec in EXHIBITS if "translator" not in spec.needs)
    code, said = small(headlight, model, text, out, *given, "--only", only)
    assert code == 0, said
    kinds = {"llama": "decoder", "bart": kind}
    found = xarray.load_dataset(out / "results" / "norms.nc", engine="h5netcdf")
    assert found.attrs["kind"] == kinds[family]
    assert "sink" in found["key_group"] or family == "bart"
    assert "does not hold" in (out / "findings.csv").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
def test_the_order_of_the_vocabulary_can_be_the_ranks(headlight, model, text, tmp_path):
    out = tmp_path / "out"
    more = ("--frequency-ranks", "ids", "--only", "figure-6")
    code, said = small(headlight, model, text, out, *more)
    assert code == 0, said
    assert "Ranks: vocabulary ids, exclusions: paper" in (out / "index.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn_exhibits")
def test_text_that_the_tokenizer_does_not_know_is_told_once(headlight, model, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("шалом дом\nкот дом\n\n" * 4)
    _, said = small(headlight, model, text, tmp_path / "out", "--only", "figure-6,table-1")
    assert said.count("are unknown to the tokenizer") == 1


def test_a_paper_about_encoders_refuses_another_kind(headlight, text):
    code, _, said = headlight("reproduce", "clark2019", "--text", str(text), "--kind", "cross")
    assert code == 2
    assert (
        "clark2019 does not take --kind, an option of kobayashi2020, kobayashi2021; leave it out."
        in said
    )


def test_the_rules_of_the_findings():
    """A result in which lengths differ, [SEP] is cancelled, and frequency goes with α."""
    names = ("cls", "sep", "punctuation", "other")
    shares = [[[[0.0, 0.6, 0.1, 0.3]]], [[[0.0, 0.1, 0.2, 0.7]]]]
    axes = ("measure", "layer", "head", "key_category")
    found = xarray.Dataset(
        {
            "vector_norm_cv": (("layer", "head"), [[0.3]]),
            "share": (("query_category", *axes), [shares]),
            "weight_norm_spearman": ("key_group", [-0.5, -0.5, -0.5, 0.0]),
            "frequency_spearman": ("quantity", [-0.6, 0.5]),
            "token_count": ("key_group", [0, 2, 2, 2]),
        },
        coords={
            "query_category": ["all"],
            "key_category": list(names),
            "key_group": list(names),
            "measure": ["weight", "norm"],
            "quantity": ["weight", "norm"],
        },
    )
    verdicts = [each.verdict for each in judge_claims(found)]
    assert verdicts == ["holds", "holds", "does not hold", "does not hold", "does not hold"]


@pytest.mark.parametrize(
    ("correlation", "said"),
    [
        (-0.65, "-0.65: heads that attend most have the shorter vectors."),
        (0.22, "0.22: heads that attend most do not have the shorter vectors."),
        (-0.02, "-0.02: weights and lengths have little to do with each other."),
        (float("nan"), "cannot be compared."),
    ],
)
def test_what_is_said_of_two_maps_is_true_of_their_correlation(correlation, said):
    assert together(correlation).endswith(said)
