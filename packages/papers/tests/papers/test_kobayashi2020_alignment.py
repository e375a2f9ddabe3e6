"""Section 5 of Kobayashi et al.: a tiny translator, the embedded one, and results made by hand."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray

from frozen_paper_runs import PAPER_RUNS, SECTION_5, PaperMaterial
from headlight.capture import load_model
from headlight.errors import UsageError
from headlight.result.estimate import Estimate
from headlight_papers.papers import find_paper
from headlight_papers.papers.kobayashi2020 import (
    Settings as Kobayashi2020Settings,
    alignment_claims as claims,
)
from headlight_papers.papers.kobayashi2020.head_error_rates import (
    highest_head,
    highest_layer,
    spearman,
)
from headlight_papers.papers.kobayashi2020.other_aligners import (
    OtherAligner,
    from_files,
    trained_on_the_spot,
)
from headlight_papers.papers.kobayashi2020.translator_results import SMOOTHGRADS
from headlight_papers.papers.reproduction import Reproduction, open_reproduction
from headlight_papers.papers.sources import Sources
from headlight_words.studies.alignment import AlignmentSettings, study as alignment
from papers.material import reproduced, saved_model

FEW = PAPER_RUNS["kobayashi2020-alignment"].options


@pytest.fixture(scope="module")
def translations(material: PaperMaterial) -> Path:
    """Named as `--data` wants."""
    return material.translations


@pytest.fixture(scope="module")
def translator(material: PaperMaterial) -> Path:
    return material.translator


@pytest.fixture(scope="module")
def out(material: PaperMaterial) -> Path:
    """All of Section 5 at once, as a user would."""
    return material.reproduction("kobayashi2020-alignment")


def opened(folder: Path, data: Path, **settings: int | str) -> Reproduction:
    """One with the embedded translator."""
    asked = Kobayashi2020Settings(**settings)  # type: ignore[arg-type]
    return open_reproduction(None, Sources.found_in(data), asked, folder, translates=True)


@pytest.mark.slow
def test_every_exhibit_is_a_section_with_files_of_its_own(out):
    page = (out / "index.html").read_text()
    for name in SECTION_5:
        assert f'id="{name}"' in page
        assert list(out.glob(f"{name}*.svg")), name
    assert "none was asked for (--max-parallel)" in page
    assert "those of the first 2 pairs" in page
    assert "translator, 2 decoder layers of 4 heads" in page


@pytest.mark.slow
def test_the_table_holds_what_the_study_finds(out, translations, translator):
    frame = pandas.read_csv(out / "table-3.csv").set_index("method")
    place = translations / "align_ours"
    settings = AlignmentSettings(target=str(place / "test.en"), gold=str(place / "gold.talp"))
    found = alignment.run(place / "test.de", load_model(translator), settings, progress=False)
    rates = 100 * found["error_rate"].sel(measure="norm")
    for step, name in (("input", "AWI"), ("output", "AWO")):
        row = frame.loc[f"norms, {name}"]
        assert row["AER"] == pytest.approx(float(rates.sel(step=step).min()))
        assert row["mean of layers"] == pytest.approx(float(rates.sel(step=step).mean()))
        assert np.isnan([row["low"], row["high"]]).all(), "of so few pairs nothing is known"
    perfect = frame.loc["fast_align"]
    assert perfect["AER"] == 0, "these are the gold links"
    layers = pandas.read_csv(out / "figure-7.csv")
    np.testing.assert_allclose(layers["norms, AWO"], rates.sel(step="output"))
    assert list(layers["layer"]) == [1, 2]


@pytest.mark.slow
def test_gradients_are_those_of_the_first_pairs(out):
    frame = pandas.read_csv(out / "table-3.csv").set_index("method")
    for name in ("alignment-smoothgrad-size", "alignment-gradient-input", "alignment-difference"):
        result = xarray.load_dataset(out / "results" / f"{name}.nc", engine="h5netcdf")
        assert result.attrs["sentences"] == 2
    rate = float(result["input_error_rate"].item())
    assert frame.loc["difference (Li et al. 2019)", "AER"] == pytest.approx(100 * rate)


def test_a_pass_of_few_pairs_is_that_of_a_short_file(tmp_path, translations, translator):
    place, few = translations / "align_ours", 2
    for name in ("test.de", "test.en", "gold.talp"):
        lines = (place / name).read_text().splitlines()[:few]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))

    def found(folder: Path, **more: int) -> xarray.Dataset:
        settings = AlignmentSettings(
            target=str(folder / "test.en"), gold=str(folder / "gold.talp"), **more
        )
        model = load_model(translator)
        return alignment.run(folder / "test.de", model, settings, progress=False)

    xarray.testing.assert_identical(
        found(place, max_examples=few).drop_attrs(), found(tmp_path).drop_attrs()
    )


@pytest.mark.slow
def test_what_is_made_is_not_made_again(out, translations, translator, monkeypatch, tmp_path):
    def never(*_: object, **__: object) -> None:
        raise AssertionError("made again")

    monkeypatch.setattr(alignment, "run", never)
    reproduced(
        "kobayashi2020", "--model", translator, "--data", translations, "--out",
        shutil.copytree(out, tmp_path / "out"), *FEW, "--only", "table-3,findings-5", "--resume",
    )  # fmt: skip


@pytest.mark.slow
def test_without_translations_the_sample_is_drawn_by_the_embedded_translator(
    headlight, tmp_path, translator
):
    only = ("--only", "figure-7,figure-8")
    model = saved_model(tmp_path / "bert")
    code, _, said = headlight("reproduce", "kobayashi2020", "--model", model, "--out",
                              tmp_path / "out", *only)  # fmt: skip
    assert code == 0, said
    assert "figure-7: left out" in said
    page = (tmp_path / "out" / "index.html").read_text()
    assert "no translations with gold links were given (--translations and --gold)" in page
    assert "headlight-translator, 4 decoder layers" in page
    assert (tmp_path / "out" / "figure-8-layer-2-1.png").exists()
    assert "the old house stands by the river" in page


def test_the_translator_is_the_model_itself_or_one_that_is_named(tmp_path, translator):
    def found(model: Path | None, **more: object) -> Reproduction:
        settings = Kobayashi2020Settings()
        return open_reproduction(model, Sources(), settings, tmp_path, **more)

    own = found(translator, translates=True).translator
    assert own is not None
    assert own.name == str(translator)
    assert own.transformer.get_output_embeddings() is not None
    named = found(None, translator=translator, translates=True).translator
    assert named is not None
    assert named.name == str(translator)
    assert found(translator).translator is None
    bert = saved_model(tmp_path / "bert")
    with pytest.raises(UsageError, match="no decoder that attends to a source"):
        found(None, translator=bert, translates=True)


@pytest.mark.slow
def test_the_corpus_can_be_drawn(tmp_path, translations):
    made = opened(tmp_path, translations, drawn="corpus")
    (figure,) = find_paper("kobayashi2020").select(["figure-8"])
    content = figure.create(made)
    assert "das alte haus ist klein" in content.drawings[0].caption


@pytest.mark.slow
def test_aligners_learn_on_the_spot(tmp_path, translations):
    pytest.importorskip("thot", reason="sil-thot is not installed (the extra align)")
    found, notes = trained_on_the_spot(opened(tmp_path, translations))
    named = {(each.name, each.links): each for each in found}
    assert ("ibm4, trained here", "reverse") in named
    assert named["fast_align, trained here", "forward"].published == "fast_align"
    assert all(0 <= each.rate.value <= 100 for each in found)
    assert any("eflomal" in note for note in notes)
    assert len(list((tmp_path / "results").glob("aligner-*.nc"))) >= 6


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
def test_released_links_have_their_published_error_rates(tmp_path):
    found = from_files(opened(tmp_path, Path(os.environ["HEADLIGHT_DATA"])))
    rates = {each.published: float(100 * each.rate.value) for each in found if each.published}
    assert rates == pytest.approx({"fast_align": 28.81, "GIZA++": 21.20}, abs=0.005)
    assert len(found) == 12


@pytest.mark.slow
def test_aligners_that_are_not_installed_are_named(tmp_path, translations, monkeypatch):
    for name in ("thot", "thot.alignment"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("PATH", "")
    found, notes = trained_on_the_spot(opened(tmp_path, translations))
    assert found == []
    assert any("ibm1 is missing" in note and "pip install" in note for note in notes)
    assert any("eflomal is missing" in note for note in notes)
    made = opened(tmp_path, translations)
    made.sources = made.sources.replace(parallel=None)
    assert "no parallel text was given (--parallel)" in trained_on_the_spot(made)[1][0]


# ------------------------------------------------------------ results made by hand


def planted(
    norm: list[float], weight: list[float], output: float = 0.6, half: float = 0.01
) -> xarray.Dataset:
    """Error rates by layer of the step input; those of the step output are all the same."""
    layers, heads = len(norm), 2
    rates = np.array([[weight, [output + 0.1] * layers], [norm, [output] * layers]])
    by_head = np.repeat(rates[..., None], heads, axis=-1)
    axes = ("measure", "step", "layer")
    mean = np.linspace(1.0, 2.0, layers)
    return xarray.Dataset(
        {
            "error_rate": (axes, rates),
            "error_rate_low": (axes, rates - half),
            "error_rate_high": (axes, rates + half),
            "head_error_rate": ((*axes, "head"), by_head),
            "head_error_rate_low": ((*axes, "head"), by_head - half),
            "head_error_rate_high": ((*axes, "head"), by_head + half),
            "mean_norm": ("layer", mean),
            "head_mean_norm": (("layer", "head"), np.stack([mean, mean + 0.5], 1)),
        },
        coords={
            "measure": ["weight", "norm"],
            "step": ["input", "output"],
            "layer": range(layers),
            "head": range(heads),
        },
        attrs={"examples": 500},
    )


HELD = planted(norm=[0.4, 0.2, 0.5], weight=[0.7, 0.6, 0.5])


def test_norms_must_be_clearly_better_than_weights():
    assert [each.answer for each in claims.norms_above_weights(HELD)] == [True, True]
    close = planted(norm=[0.4, 0.49, 0.5], weight=[0.7, 0.41, 0.5])
    first, second = claims.norms_above_weights(close)
    assert (first.answer, second.answer) == (None, True)
    assert first.ours == "40.0% (38.8% to 41.2%); weights 41.0% (39.8% to 42.2%)", (
        "wider, for three layers"
    )


def test_the_step_that_reads_must_be_clearly_better():
    assert claims.input_above_output(HELD).answer is True
    assert claims.input_above_output(planted([0.4], [0.4], output=0.41)).answer is None
    assert claims.input_above_output(planted([0.4], [0.4], output=0.37)).answer is False


def test_the_second_layer_is_counted_from_one():
    assert claims.second_layer(HELD).answer is True
    other = claims.second_layer(planted([0.1, 0.2], [0.3, 0.3]))
    assert (other.answer, other.ours) == (False, "layer 1 of 2, 10.0% (9.0% to 11.0%)")


def test_competitive_with_fast_align_is_not_clearly_worse():
    def judged(*low_and_high: float, links: str = "forward") -> list[bool]:
        low, high = (each / 100 for each in low_and_high)
        rate = Estimate.with_ends((low + high) / 2, low, high)
        others = [OtherAligner("fastalign", links, rate)]
        return [each.answer for each in claims.as_good_as_fast_align(HELD, others)]

    assert judged(20.5, 21.5) == [True]
    assert judged(18.0, 19.5) == [None], "19.0 to 21.0 may be more than a point above"
    assert judged(17.0, 17.7) == [False]
    assert judged(25.0, 26.0) == [True]
    assert judged(17.0, 18.9, links="union") == []


def test_norms_must_be_clearly_better_than_either_gradient():
    first, second = SMOOTHGRADS
    rates = {
        first: Estimate.with_ends(0.3, 0.29, 0.31),
        second: Estimate.with_ends(0.2, 0.18, 0.22),
    }
    assert [each.answer for each in claims.norms_above_gradients(HELD, rates)] == [True, None]


def test_the_layer_and_the_heads_of_the_highest_norm():
    assert highest_layer(HELD)[0] == 2
    assert claims.norm_finds_layer(HELD).answer is False
    falling = planted([0.4, 0.3, 0.2], [0.5, 0.5, 0.5])
    assert claims.norm_finds_layer(falling).answer is True
    head, rate = highest_head(falling, "input")
    assert (head, f"{rate:.1%}") == ("L2H1 (3-2)", "20.0% (19.0% to 21.0%)")
    assert spearman(falling, "input") < -0.8
    assert claims.norms_of_heads(falling).answer is None, "nothing speaks of AWO"
    rising = planted([0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], [0.9] * 7)
    rising["head_error_rate"].loc[{"measure": "norm", "step": "output"}] += rising["head_mean_norm"]
    assert claims.norms_of_heads(rising).answer is True
