"""Section 3, Figures 1, 5 and 6 on a tiny model; what they say is in the results that they show."""

from pathlib import Path

import numpy as np
import pytest

from headlight_papers.papers.brunner2020 import Settings as Brunner2020Settings
from headlight_papers.papers.brunner2020.figure_1_effective_attention import figure_1
from headlight_papers.papers.brunner2020.figure_5_separators import figure_5
from headlight_papers.papers.brunner2020.figure_6_example_head import figure_6, load_example
from headlight_papers.papers.brunner2020.null_space_results import (
    load_alternatives,
    load_identifiability,
    load_survey,
    passage,
    value_bias,
)
from headlight_papers.papers.brunner2020.section_3_null_spaces import section_3
from headlight_papers.papers.reproduction import Reproduction, open_reproduction
from headlight_papers.papers.sources import Sources
from papers.material import folder_of_data, saved_model

SHARPER = 20


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    folder = tmp_path_factory.mktemp("brunner2020")
    data = folder_of_data(folder / "data")
    settings = Brunner2020Settings(max_length=40, max_examples=24)
    made = open_reproduction(
        saved_model(folder / "model"), Sources.found_in(data), settings, folder / "out"
    )
    made.progress = False
    # Random attention is so even that it correlates with nothing.
    for name, weights in made.model.transformer.named_parameters():
        if name.endswith("query.weight"):
            weights.data *= SHARPER
    return made


@pytest.mark.slow
def test_section_3_has_the_null_spaces_and_a_counterexample(reproduction: Reproduction) -> None:
    found = section_3.create(reproduction)
    spaces, tried = (table.frame for table in found.tables)
    kept = load_identifiability(reproduction)
    heads = kept.sizes["layer"] * kept.sizes["head"]
    np.testing.assert_allclose(
        spaces["dim LN(T)"], kept["null_dimension"].sum(("layer", "head")) / heads
    )
    assert (spaces["dim LN(T)"] >= spaces["LN(T) at least"] - 1e-9).all()
    assert (spaces["dim LN([T, 1])"] >= spaces["LN([T, 1]) at least"] - 1e-9).all()
    texts = int(kept["text_count"].sum())
    assert spaces["texts"].sum() == texts == kept.attrs["examples"]
    assert tried["layer"].tolist() == [1, 1, 2, 2]
    assert (tried["difference"] < 1e-5).all()
    assert (tried["changed"] > 0).all()
    ways = tried.set_index(["layer", "method"])["mean"]
    assert (ways[:, "farthest"] > ways[:, "random"]).all()
    equal = float(kept["equal_count"].sum()) / (texts * heads)
    assert found.comparisons[0].ours == pytest.approx(100 * equal)
    assert all((reproduction.folder / name).exists() for name in found.files)


@pytest.mark.slow
def test_the_passage_is_as_long_as_the_model_takes(reproduction: Reproduction) -> None:
    tokens = len(reproduction.tokenizer(*passage(reproduction))["input_ids"])
    assert reproduction.model.longest == 64
    assert 40 < tokens <= 64
    assert load_alternatives(reproduction)["tokens"].values.max() == tokens


@pytest.mark.slow
def test_figure_1_compares_effective_with_raw_attention(reproduction: Reproduction) -> None:
    found = figure_1.create(reproduction)
    share = load_survey(reproduction)["share"].sel(query_category="all", key_category="sep")
    table = found.tables[0].frame
    assert len(table) == 4
    for measure, name in (("weight", "raw attention"), ("effective", "effective attention")):
        rows = table[table["attention"] == name]["to [SEP]"]
        np.testing.assert_allclose(rows, 100 * share.sel(measure=measure).mean("head"))
    longest = next(one for one in found.comparisons if "longest" in one.quantity)
    assert longest.ours == pytest.approx(
        float(load_identifiability(reproduction)["effective_correlation"][-1])
    )
    assert len(found.drawings) == 3
    points = (reproduction.folder / "figure-1-points.csv").read_text().splitlines()
    assert points[0] == "length,correlation"
    assert len(points) == 1 + load_identifiability(reproduction).attrs["examples"]


@pytest.mark.slow
def test_figure_5_has_separators_and_the_rest(reproduction: Reproduction) -> None:
    found = figure_5.create(reproduction)
    share = load_survey(reproduction)["share"].sel(key_category="sep")
    rows = found.tables[0].frame
    raw = rows[rows["attention"] == "raw attention"]
    wanted = 100 * share.sel(measure="weight", query_category="not_sep").mean("head")
    np.testing.assert_allclose(raw["other → [SEP]"], wanted)
    kept = share.mean(("head", "layer")).sel(query_category="sep")
    ratio = kept.sel(measure="effective") / kept.sel(measure="weight")
    assert found.comparisons[0].ours == pytest.approx(100 * float(ratio))


@pytest.mark.slow
def test_figure_6_frames_the_strongest_links_away_from_the_diagonal(
    reproduction: Reproduction,
) -> None:
    found, example = figure_6.create(reproduction), load_example(reproduction)
    reading = _reading(reproduction).sel(layer=1, head=example.head)
    effective = reading["effective"].values[example.shown].copy()
    for row, query in enumerate(example.shown):
        for key in range(effective.shape[1]):
            if abs(query - key) <= 2:
                effective[row, key] = -np.inf
    table = found.tables[0].frame
    np.testing.assert_allclose(table["effective"], np.sort(effective.ravel())[::-1][:3], atol=1e-6)
    np.testing.assert_allclose(table["raw"], table["effective"] + table["null"], atol=1e-6)
    special = reading["key_token"].isin(reproduction.tokenizer.all_special_tokens)
    raw = reading["weight"].isel(query=list(example.shown), key=special.values).sum("key").mean()
    assert found.comparisons[0].ours == pytest.approx(100 * float(raw), rel=1e-5)


@pytest.mark.slow
def test_figure_6_picks_the_head_that_differs_most(reproduction: Reproduction) -> None:
    found = figure_6.create(reproduction)
    reading = _reading(reproduction).sel(layer=1)
    pairs = [
        [reading[name].sel(head=head).values.ravel() for name in ("weight", "effective")]
        for head in range(2)
    ]
    alike = [np.corrcoef(*pair)[0, 1] for pair in pairs]
    head = int(np.argmin(alike))
    assert f"head L1H{head} (2-{head + 1})." in found.drawings[0].caption


def _reading(reproduction: Reproduction):  # type: ignore[no-untyped-def]
    from headlight.reading import read

    return read(
        reproduction.model, *passage(reproduction), value_bias=value_bias(reproduction)
    ).dataset


@pytest.mark.slow
def test_results_are_kept(reproduction: Reproduction, tmp_path: Path) -> None:
    for make in (load_survey, load_identifiability, load_alternatives):
        assert make(reproduction) is make(reproduction)
    names = {path.name for path in (reproduction.folder / "results").iterdir()}
    assert {"attention-survey.nc", "identifiability.nc", "alternatives.nc"} <= names
