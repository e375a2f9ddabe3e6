"""The exhibits on contributions, on a tiny model and pairs of our own."""

import numpy as np
import pandas
import pytest
import xarray

from headlight.reading import read
from headlight.reading.model import load
from headlight_papers.papers.brunner2020 import Settings as Brunner2020Settings
from headlight_papers.papers.brunner2020.contribution_results import (
    counterparts,
    load_contributions,
    shown_layers,
)
from headlight_papers.papers.brunner2020.figure_3_40_42_own_contribution import figure_3
from headlight_papers.papers.brunner2020.figure_4_41_43_neighbours import figure_4
from headlight_papers.papers.brunner2020.figure_18_first_token import figure_18
from headlight_papers.papers.brunner2020.figure_19_to_25_tracked_tokens import (
    figure_19,
    tracked_places,
)
from headlight_papers.papers.brunner2020.figure_26_to_37_parts_of_speech import (
    figure_26,
    load_contributions_by_tags,
    ordered_groups,
)
from headlight_papers.papers.brunner2020.pair_sets import find_pair_set
from headlight_papers.papers.brunner2020.published import TRACKED_WORDS
from headlight_papers.papers.exhibit import ExhibitSpec
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.sources import Sources
from papers.material import TREES, conllu, saved_model

PAIRS = [
    ("the cat sees a small dog .", "a small dog , the cat sees it ."),
    ("she saw the old bird by a tree .", "by a tree she saw it ."),
    ("it sees .", "the dog sees ."),
]


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory) -> Reproduction:
    folder = tmp_path_factory.mktemp("attribution")
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
    rows = [header, *(f"1\t{n}\t{n}\t{one}\t{two}" for n, (one, two) in enumerate(PAIRS))]
    mrpc = folder / "glue_mrpc" / "msr_paraphrase_test.txt"
    mrpc.parent.mkdir()
    mrpc.write_text("\n".join(rows) + "\n")
    treebank = folder / "dev.conllu"
    treebank.write_text(conllu(TREES * 3))
    model = load(saved_model(folder / "model", head=False))
    sources = Sources(pairs=(str(mrpc),), dependency=(str(treebank),))
    settings = Brunner2020Settings(directions=4, exact_pairs=2, max_pairs=5, max_sentences=9)
    return Reproduction(model, None, sources, settings, folder, progress=False)


def created(reproduction: Reproduction, spec: ExhibitSpec) -> tuple:
    exhibit = spec.create(reproduction)
    assert set(exhibit.files) == {
        path.name for path in reproduction.folder.glob(f"{spec.name}[-.]*")
    }
    return exhibit, {c.quantity: c for c in exhibit.comparisons}


def contributions(reproduction: Reproduction) -> xarray.Dataset:
    return load_contributions(reproduction, find_pair_set(reproduction))


@pytest.mark.slow
def test_own_contributions_beside_the_published_medians(reproduction):
    exhibit, compared = created(reproduction, figure_3)
    found = contributions(reproduction)
    assert found.attrs["examples"] == len(PAIRS)
    assert found.attrs["exact_examples"] == 2
    medians = 100 * found["own_box"].sel(group="all", mark="median").values
    published = {1: (30.6, medians[0]), 6: (14.4, medians[0]), 12: (10.7, medians[1])}
    for layer, (theirs, ours) in published.items():
        row = compared[f"median own contribution, layer {layer}"]
        assert (row.published, row.ours) == (theirs, pytest.approx(ours))
    row = compared["tokens that are not their main contributor, layer 12"]
    assert (row.published, row.ours) == (30.0, pytest.approx(100 * float(found.not_largest[1])))
    kept = pandas.read_csv(reproduction.folder / "figure-3.csv")
    np.testing.assert_allclose(kept["median"], medians)
    notes = " ".join(exhibit.notes)
    assert "4 random directions" in notes
    assert "On 2 short examples" in notes


def test_layers_at_the_same_depth():
    def of(layers: int) -> xarray.Dataset:
        return xarray.Dataset(coords={"layer": list(range(layers))})

    assert counterparts(of(12)) == {1: 1, 6: 6, 12: 12}
    assert counterparts(of(6)) == {1: 1, 6: 3, 12: 6}
    assert counterparts(of(24)) == {1: 1, 6: 12, 12: 24}
    assert counterparts(of(1)) == {1: 1, 6: 1, 12: 1}
    assert shown_layers(of(4)) == [0, 1, 3]


@pytest.mark.slow
def test_neighbours(reproduction):
    exhibit, compared = created(reproduction, figure_4)
    found = contributions(reproduction)
    places = pandas.read_csv(reproduction.folder / "figure-4-b.csv")
    first = places[places["layer"] == 1].set_index("place")["share"]
    assert first.sum() == pytest.approx(1)
    best = sorted(first.sort_values(ascending=False).index[:2])
    wanted = " and ".join(f"{place:+d}".replace("-", "−") for place in best)
    row = compared["the two places that contribute most, layer 1"]
    assert (row.published, row.ours) == ("−1 and +1", wanted)
    nearest = int(np.nanargmax(found["by_distance_share"].sel(distance="1"))) + 1
    assert compared["layer in which the nearest neighbours count most"].ours == nearest
    assert len(exhibit.drawings) == 2


@pytest.mark.slow
def test_the_class_token(reproduction):
    created(reproduction, figure_18)
    places = pandas.read_csv(reproduction.folder / "figure-18-b.csv")
    last = places[places["layer"] == 2]
    assert last["share"].sum() == pytest.approx(1)
    assert int(last.set_index("place")["pairs"][0]) == len(PAIRS)  # every text has a separator


@pytest.mark.slow
def test_tokens_are_tracked_exactly(reproduction):
    exhibit, _ = created(reproduction, figure_19)
    reading = read(reproduction.model, *PAIRS[0])
    places = tracked_places(reading.dataset)
    tokens = reading.tokens
    assert [tokens[place] for place in places] == [
        "[CLS]", "the", "cat", "sees", "small", "dog", "[SEP]",
    ]  # fmt: skip
    assert len(exhibit.drawings) == len(places)
    table = exhibit.tables[0].frame
    assert table["own"].between(0, 100).all()
    assert "computed exactly" in " ".join(exhibit.notes)
    assert "not among those given" in " ".join(exhibit.notes)
    wanted = tracked_places(reading.dataset, ("cat", "dog"))
    assert [tokens[place] for place in wanted] == ["[CLS]", "cat", "dog", "[SEP]"]
    assert tracked_places(reading.dataset, TRACKED_WORDS) == places  # not one of them is there


@pytest.mark.slow
def test_parts_of_speech_by_the_last_layer(reproduction):
    exhibit, compared = created(reproduction, figure_26)
    found = load_contributions_by_tags(reproduction)
    assert found.attrs["tags"] == "upos"
    groups = ordered_groups(found)
    medians = [float(found["own_box"].sel(group=g, mark="median").isel(layer=-1)) for g in groups]
    assert medians == sorted(medians, reverse=True)
    assert {"DET", "NOUN"} <= set(groups)
    counts = {name: int(found["own_count"].sel(group=name)) for name in ("DET", "NOUN", "cls")}
    assert counts == {"DET": 3 * 4, "NOUN": 3 * 4, "cls": 9}
    assert compared["layer 1: median of [CLS]"].published == "> 40%"
    assert isinstance(
        next(c.ours for q, c in compared.items() if q.startswith("last layer")), float
    )
    assert len(exhibit.tables[0].frame) == len(found["group"]) - 3
