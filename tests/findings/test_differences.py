"""What differs between surveys, and what is said of it."""

import copy
import json
from html import unescape

import numpy as np
import pytest
import xarray
from scipy import stats
from typer.testing import CliRunner

import headlight
import headlight.views.accessor
from headlight.cli.program import app
from headlight.engine.folder import RunFolder
from headlight.engine.lock import locked
from headlight.errors import HeadlightError, UsageError
from headlight.findings.differences import _tested, differences, largest_changes, passages_kept
from headlight.findings.phrases import percent
from headlight.observations.variables import with_slots
from headlight.reduce import Slots
from headlight.result import load, save
from headlight.result.estimate import estimate_of
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as survey
from headlight.views.result_contents import findings, headline, tables
from headlight.views.result_page import result_page
from page_words import words_when_open
from studies.models import subject, texts

TEXTS = texts(40, longest=14, seed=1)
SETTINGS = SurveySettings(measures=("weight", "norm"), token_types=0)


def surveyed(model=None, read=TEXTS):
    return survey(read, model or subject("bert"), SETTINGS, progress=False)


@pytest.fixture(scope="module")
def first():
    return surveyed()


@pytest.fixture(scope="module")
def swapped():
    """The same model, of whose second layer the heads 0 and 2 have changed places."""
    model = copy.deepcopy(subject("bert"))
    attention = model.transformer.encoder.layer[1].attention
    width = attention.self.query.weight.shape[0] // 4
    order = [place for head in (2, 1, 0, 3) for place in range(head * width, (head + 1) * width)]
    for name in ("query", "key", "value"):
        linear = getattr(attention.self, name)
        linear.weight.data = linear.weight.data[order]
        linear.bias.data = linear.bias.data[order]
    attention.output.dense.weight.data = attention.output.dense.weight.data[:, order]
    return surveyed(model)


@pytest.mark.slow
def test_every_difference_is_that_of_its_definition(first, swapped):
    found = differences([first, swapped])
    rows = []
    for label in found["statistic"].values.tolist():
        one = found.sel(statistic=label, other=1)
        behaviour, by = str(one["behaviour"].item()), str(one["by"].item())
        if behaviour not in ("induction", "previous", "sep", "entropy", "no_op"):
            continue
        name, where = {
            "induction": ("behaviour_share", {"behaviour": "induction"}),
            "previous": ("neighbour", {"offset": -1}),
            "sep": ("share", {"key_category": "sep", "query_category": "all"}),
            "entropy": ("entropy", {"query_category": "all"}),
            "no_op": ("no_op", {}),
        }[behaviour]
        where.update({"measure": by} if by else {})
        for layer in (0, 1):
            for head in range(4):
                at = {"layer": layer, "head": head}
                values = [float(run[name].sel(**where, **at)) for run in (first, swapped)]
                moved = [
                    np.nan_to_num(run[f"{name}_by_slot"].sel(**where, **at).values)
                    for run in (first, swapped)
                ]
                sizes = first[f"{name}_slot_weights"]
                places = {**where, **at}
                sizes = sizes.sel({dim: places[dim] for dim in sizes.dims if dim in places}).values
                freedom = sizes.sum() ** 2 / (sizes**2).sum() - 1
                error = sum((float(b) - float(a)) ** 2 for a, b in zip(*moved, strict=True)) ** 0.5
                here, change = one.sel(**at), values[1] - values[0]
                assert float(here["difference"]) == pytest.approx(change)
                if np.isnan(here["difference_low"]):  # too few blocks differ at all
                    assert abs(change) < 1e-6
                    continue
                half = stats.t.ppf(0.975, freedom) * error
                ends = (change - half, change + half)
                np.testing.assert_allclose(
                    [here["difference_low"], here["difference_high"]], ends, rtol=1e-6, atol=1e-12
                )
                p = 2 * stats.t.sf(abs(change) / error, freedom) if abs(change) > 1e-5 else 1
                np.testing.assert_allclose(here["p_value"], p, rtol=1e-5)
                rows.append(float(here["p_value"]))
    assert len(rows) > 15
    p = np.sort(found["p_value"].values[np.isfinite(found["p_value"].values)])
    adjusted = [min(p[i:] * len(p) / np.arange(i + 1, len(p) + 1)) for i in range(len(p))]
    here = found["false_discovery"].values
    np.testing.assert_allclose(np.sort(here[np.isfinite(here)]), adjusted, rtol=1e-9)


@pytest.mark.slow
def test_heads_that_have_changed_places_are_found(first, swapped):
    by_place = differences([first, swapped])
    alarms = (by_place["false_discovery"].sel(other=1) <= 0.05).any("statistic")
    assert alarms.values.tolist() == [[False] * 4, [True, False, True, False]]
    found = differences([first, swapped], match="behaviour")
    assert found["partner_head"].values.tolist() == [[[0, 1, 2, 3], [2, 1, 0, 3]]]
    assert found["partner_layer"].values.tolist() == [[[0] * 4, [1] * 4]]
    assert not (found["false_discovery"] <= 0.05).any()
    said = findings(found)
    assert "2 heads of 8 stand at another place." in said
    places = tables(found)["places"].frame
    assert places["distance"].max() < 1e-6
    assert places.drop(columns="distance").values.tolist() == [
        ["L1H0", "L1H2", "run 2"], ["L1H2", "L1H0", "run 2"]
    ]  # fmt: skip


@pytest.mark.slow
def test_a_comparison_says_first_whether_the_texts_are_the_same(first, tmp_path):
    """On the terminal, on the page, in JSON, in the summary and in the attributes alike."""
    others = surveyed(read=texts(30, longest=14, seed=2))
    said = (
        "They read different texts (40 documents of strings in memory; 30 documents of strings in "
        "memory): differences may be of the texts."
    )
    found = differences([first, others], match="behaviour")
    assert found.attrs["texts_read"] == said
    assert found.headlight.summary()["texts"] == said
    page = result_page(found)
    assert page.index(said) < page.index("Findings in words")
    for name, run in (("one", first), ("two", others)):
        (tmp_path / name).mkdir()
        save(run, tmp_path / name / "result.nc")
    runs = [str(tmp_path / name) for name in ("one", "two")]
    shown = CliRunner().invoke(app, ["compare", *runs]).stdout
    shown = " ".join(shown.split())
    assert shown.index(" is inconclusive") < shown.index(said) < shown.index("beside")
    told = json.loads(CliRunner().invoke(app, ["compare", *runs, "--json"]).stdout)
    assert next(iter(told)) == "read"
    assert told["read"] == told["summary"]["texts"] == said


@pytest.mark.slow
def test_texts_are_the_same_whatever_the_tokenizer_makes_of_them(first):
    """Cut at other places the tokens are others; with one word more so is the text."""
    cut = SurveySettings(measures=("weight", "norm"), token_types=0, max_length=8)
    shorter = survey(TEXTS, subject("bert"), cut, progress=False)
    assert shorter.attrs["corpus_digest"] != first.attrs["corpus_digest"]
    said = differences([first, shorter]).attrs["texts_read"]
    assert said == "They read the same 40 documents, tokenized or cut otherwise."
    other = surveyed(read=[*TEXTS[:-1], f"{TEXTS[-1]} {TEXTS[0].split()[0]}"])
    assert differences([first, other]).attrs["texts_read"].startswith("They read different texts")
    old = {"text_digest": None, "corpus_digest": "x"}
    earlier = first.assign_attrs(old)
    del earlier.attrs["text_digest"]
    said = differences([first, earlier]).attrs["texts_read"]
    assert said.startswith("They read different texts, or the same tokenized or cut otherwise (")


def moved(run, layer, head, by):
    """The run with a head that does something else altogether."""
    found = run.copy(deep=True)
    for name in ("share", "neighbour", "relative_share", "behaviour_share", "entropy"):
        found[name].loc[{"layer": layer, "head": head}] += by
    return found


@pytest.mark.slow
def test_a_head_that_is_like_no_other_is_beside_none(first):
    """A forced assignment would put it beside the head that is left over, far away."""
    # L1H3 of the second run is a copy of L1H2, and L1H3 of the first has no partner.
    here = {"layer": 1, "head": 3}
    other = first.copy(deep=True)
    for name, each in other.data_vars.items():
        if {"layer", "head"} <= set(each.dims) and np.issubdtype(each.dtype, np.floating):
            nearly = 0.001 if name == "entropy" else 0
            other[name].loc[here] = each.sel(layer=1, head=2).values + nearly
    far = moved(first, 1, 3, 0.4)
    found = differences([far, other], match="behaviour")
    assert found["partner_head"].sel(other=1).isnull().values.tolist() == [
        [False] * 4, [False, False, False, True]
    ]  # fmt: skip
    assert found["match_distance"].sel(other=1, layer=0).max() < 1e-6
    assert (1, 3) not in {each[1:] for each in largest_changes(found, 1)}
    said = [each for each in findings(found) if "left out" in each]
    assert said == [
        "1 head of run 1 is left out: the head of run 2 that is most like it is more like another."
    ]


@pytest.mark.slow
def test_one_number_is_listed_under_one_name(first):
    """A tokenizer whose texts begin with [CLS]: what the first token gets is what it gets."""
    names = {str(each) for each in differences([first, first])["statistic"].values}
    assert "first by weight" in names
    assert "cls by weight" not in names
    found = differences([first, first])
    assert json.loads(found.attrs["equal_numbers"])["cls by weight"] == "first by weight"
    assert "cls by weight is first by weight" in result_page(found)
    other = first.copy(deep=True)
    other["share"].loc[{"key_category": "cls", "layer": 0, "head": 0}] += 0.1
    assert "cls by weight" in differences([first, other])["statistic"].values


def test_a_run_does_not_differ_from_itself(first):
    found = differences([first, first])
    assert (found["difference"].fillna(0) == 0).all()
    assert (found["p_value"].values[np.isfinite(found["p_value"].values)] == 1).all()
    assert largest_changes(found, 1) == []
    assert findings(found)[:2] == [
        "Whether any of 8 heads differs between run 1 and run 2 is inconclusive: no difference is "
        "certain.",
        f"run 2 beside run 1: whether any of {int(found['p_value'].notnull().sum()):,} numbers "
        "differs is inconclusive.",
    ]
    assert headline(found).title == findings(found)[0]
    assert headline(found).pictures == []
    page = result_page(found)
    assert "Which heads differ?" not in page
    assert '<p class="quiet">none</p>' in page
    assert tables(found)["changes"].frame.empty


@pytest.mark.slow
def test_what_both_have_read_cancels(first):
    """The same texts are pairs, however they are batched; other texts of the kind are not."""
    model = copy.deepcopy(subject("bert"))
    model.transformer.encoder.layer[1].attention.self.query.weight.data *= 2
    settings = SETTINGS.replace(batch_tokens=64)
    again, sharper = (
        survey(TEXTS, each, settings, progress=False) for each in (subject("bert"), model)
    )
    found = differences([first, again])
    assert not (found["false_discovery"] <= 0.05).any()
    # What differs by rounding alone has no interval.
    assert not (found["difference_high"] - found["difference_low"] > 1e-4).any()
    others = surveyed(model, read=texts(40, longest=14, seed=2))
    pairs, independent = (differences([first, each]) for each in (sharper, others))
    narrow, wide = (
        (each["difference_high"] - each["difference_low"]).sel(statistic="entropy by norm", layer=1)
        for each in (pairs, independent)
    )
    assert (narrow > 0).all()
    assert (narrow < wide / 4).all()
    assert pairs.attrs["texts_read"].startswith("They read the same 40 documents.")
    assert independent.attrs["texts_read"].startswith("They read different texts (40 documents of ")


@pytest.mark.slow
def test_halves_of_a_corpus_differ_as_often_as_said():
    """600 texts, halved 200 times: 5% of numbers below 0.05, and hardly a run with any alarm."""
    generator = np.random.default_rng(0)
    common = generator.normal(size=(600, 5)) @ generator.normal(size=(5, 300))
    rows = np.exp(0.3 * (common + generator.normal(size=common.shape)))  # skewed, and correlated

    def numbers(chosen):
        made = Slots.of(np.arange(300), rows[chosen]).compute()
        slots = with_slots("number", ("head",), made["mean"], made)
        result = xarray.Dataset(slots).set_coords([name for name in slots if name != "number"])
        return estimate_of(result, "number")

    alarms, discoveries = [], []
    for _ in range(200):
        order = generator.permutation(600)
        tested = _tested(numbers(order[:300]), numbers(order[300:]), paired=False)
        alarms.append((tested["p_value"] < 0.05).mean())
        discoveries.append((tested["false_discovery"] <= 0.05).any())
    assert 0.035 < np.mean(alarms) < 0.065
    assert np.mean(discoveries) < 0.1


@pytest.mark.parametrize(
    ("units", "testable"), [(6, False), (12, False), (19, False), (20, True), (31, True)]
)
def test_false_alarms_are_bounded_of_enough_blocks_alone(units, testable):
    """Of 19 units, or of either run, p-values are kept, and nothing is said to differ."""
    rows = np.random.default_rng(3).normal(size=(64, 4))

    def numbers(few, shift):
        made = Slots.of(np.arange(few), rows[:few] + shift).compute()
        slots = with_slots("number", ("head",), made["mean"], made)
        result = xarray.Dataset(slots).set_coords([name for name in slots if name != "number"])
        return estimate_of(result, "number")

    for sizes in ((units, 64), (64, units)):
        tested = _tested(numbers(sizes[0], 0), numbers(sizes[1], 5), paired=False)
        assert (tested["p_value"] < 0.01).all()
        assert (np.isfinite(tested["false_discovery"]) == testable).all()


@pytest.mark.slow
def test_a_comparison_of_few_texts_says_that_nothing_is_tested(first):
    few = surveyed(read=TEXTS[:12])
    found = differences([first, few])
    assert found["p_value"].notnull().any()
    assert found["false_discovery"].isnull().all()
    assert findings(found)[0].startswith("Whether any head differs between run 1 and run 2 is inco")
    assert findings(found)[-1].endswith(
        "no number is tested, since that takes 20 documents of each run and 16 filled slots; "
        "compare surveys of more texts."
    )
    assert result_page(found)


@pytest.mark.slow
def test_checkpoints_say_when_a_behaviour_arises(first):
    later = [first.copy(deep=True) for _ in range(2)]
    for run, share in zip(later, (0.35, 0.8), strict=True):
        where = {"measure": "weight", "behaviour": "induction", "layer": 1, "head": 3}
        run["behaviour_share"].loc[where] = share
        run["behaviour_share_by_slot"].loc[where] = 0.05 / 32**0.5  # by 0.1 to either side
    found = differences([first, *later], names=["0", "100", "<b>200</b>"])
    assert int(found["arises"].sel(statistic="induction by weight")) == 2  # 0.25 is not certain
    best = found.sel(statistic="induction by weight")
    assert best["strongest_head"].values.tolist()[1:] == [3, 3]
    said = (
        "In <b>200</b> some head first certainly gives more than 30% of its weight to what followed"
    )
    assert findings(found)[0].startswith(said)
    assert findings(found)[0].endswith(" (L1H3: 80%).")
    shown = [(*each[:4], each[4].mean) for each in passages_kept(found)]
    kept = float(first["passage_score"].sel(does="induction", layer=1, head=3))
    name = "induction by weight"
    assert shown == [(name, 1, 3, run, kept) for run in (0, 1, 0, 2)]
    page = result_page(found)
    assert "Where it is seen" in page
    assert "When does each behaviour arise?" in page
    assert "<b>200</b>" not in page


@pytest.mark.slow
def test_the_title_says_how_many_heads_differ_and_which_most(first):
    later = first.copy(deep=True)
    where = {"measure": "weight", "behaviour": "induction", "layer": 1, "head": 3}
    later["behaviour_share"].loc[where] = 0.8
    later["behaviour_share_by_slot"].loc[where] = 0.05 / 32**0.5
    before = float(first["behaviour_share"].sel(where))
    found = differences([first, later], names=["a", "b"])
    heads = {
        (layer, head)
        for layer in found["layer"].values
        for head in found["head"].values
        if (found["false_discovery"].sel(other=1, layer=layer, head=head) <= 0.05).any()
    }
    answer = headline(found)
    assert heads == {(1, 3)}
    assert answer.title.startswith(
        f"1 of 8 heads differ between a and b; most L1H3: {100 * (0.8 - before):.1f} points more "
        "to what followed"
    )
    assert answer.title.endswith(" in b.")
    assert "(95%: +" in findings(found)[0]
    (bars,) = answer.pictures
    assert [(bar.value, bar.is_reference) for bar in bars.bars] == [
        (percent(before), True), ("80%", False),
    ]  # fmt: skip
    assert bars.bars[0].label.startswith("L1H3 to what followed")
    assert bars.bars[1].label.endswith(" in b")
    assert len(words_when_open(result_page(found))) <= 250
    three = headline(differences([first, first, later], names=["a", "b", "c"]))
    assert three.title.startswith("In c some head first certainly gives more than 30% of its w")
    assert [picture.name for picture in three.pictures] == ["runs"]


@pytest.mark.slow
def test_the_command_shows_keeps_and_prints(first, swapped, tmp_path):
    for name, run in (("one", first), ("two", swapped)):
        (tmp_path / name).mkdir()
        save(run, tmp_path / name / "result.nc")
    runs = [str(tmp_path / name) for name in ("one", "two")]
    out = tmp_path / "out"
    shown = CliRunner().invoke(app, ["compare", *runs, "--names", "a,b", "--out", str(out)])
    assert shown.exit_code == 0, shown.output
    said = "2 of 8 heads differ between a and b, none by 10 points of its attention."
    assert said in " ".join(shown.output.split())
    kept = headlight.open(out)
    assert kept.attrs["command"] in unescape((out / "report.html").read_text(encoding="utf-8"))
    assert kept.headlight.table().equals(
        headlight.compare(*runs, names=["a", "b"]).headlight.table()
    )
    assert (out / "tables" / "changes.csv").exists()
    assert "All that differs" in (out / "report.html").read_text(encoding="utf-8")
    told = json.loads(CliRunner().invoke(app, ["compare", *runs, "--json"]).stdout)
    assert {row["head"] for row in told["changes"]} == {"L1H0", "L1H2"}


@pytest.mark.slow
def test_a_comparison_is_kept_like_a_run(first, tmp_path):
    run = tmp_path / "run"
    with RunFolder(path=run).opened():
        save(first, run / "result.nc")
    before = (run / "result.nc").read_bytes()

    def compared(*options):
        return CliRunner().invoke(app, ["compare", str(run), str(run), *options])

    for place in (run, tmp_path / "other"):
        (tmp_path / "link").mkdir(exist_ok=True)
        place.mkdir(exist_ok=True)
        if place != run:
            (place / "tables").symlink_to(tmp_path / "link", target_is_directory=True)
        assert isinstance(compared("--out", str(place)).exception, HeadlightError)
    assert (run / "result.nc").read_bytes() == before
    assert not (run / "report.html").exists()
    assert not list((tmp_path / "link").iterdir())
    with locked(run):
        assert isinstance(compared("--out", str(run), "--overwrite").exception, HeadlightError)
    assert (run / "result.nc").read_bytes() == before
    assert compared("--out", str(run), "--overwrite").exit_code == 0
    assert load(run).attrs["stage"] == "comparison"


@pytest.mark.slow
def test_what_cannot_be_compared_is_refused_before_its_numbers_are_read(first, tmp_path):
    for name, run in (("first", first), ("other", first.isel(layer=[1]))):
        save(run, tmp_path / f"{name}.nc")
    runs = [tmp_path / "first.nc", tmp_path / "other.nc"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headlight.api.open", None)  # reads all numbers
        with pytest.raises(UsageError, match="match='behaviour'"):
            headlight.compare(*runs)
    assert headlight.compare(runs[0], runs[0]).sizes["other"] == 1


def test_what_cannot_be_compared_is_refused(first):
    with pytest.raises(UsageError, match="two or more"):
        differences([first])
    with pytest.raises(UsageError, match="run 2 is a result of distances"):
        differences([first, first.assign_attrs(stage="distances")])
    with pytest.raises(UsageError, match="earlier version"):
        differences([first, first.drop_vars("slot_units")])
    with pytest.raises(UsageError, match="match='behaviour'"):
        differences([first, first.isel(layer=[1])])
    with pytest.raises(UsageError, match="not by 'name'"):
        differences([first, first], match="name")
    with pytest.raises(UsageError, match="3 names do not fit 2 runs"):
        differences([first, first], names=["a", "b", "c"])
    part = differences([first, first.isel(layer=[1])], match="behaviour")
    assert int(part["partner_head"].notnull().sum()) == 4
