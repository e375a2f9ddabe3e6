"""Numbers that could not be otherwise are not ranked, nor said, whoever makes the sentence."""

import io
import re
from collections.abc import Callable

import numpy as np
import pytest
import xarray as xr
from rich.console import Console

from headlight.catalogue import statistic
from headlight.errors import UsageError
from headlight.findings import head_ranking, highlights
from headlight.findings.candidates import (
    NOT_UNDERSTOOD,
    above_others,
    candidates,
    coincides,
    last_word,
    unsaid,
)
from headlight.findings.circuits import circuits
from headlight.findings.differences import differences, largest_changes
from headlight.findings.distances import distances
from headlight.findings.estimates import Estimate
from headlight.findings.faithfulness import faithfulness
from headlight.findings.flow import flow
from headlight.findings.routes import routes
from headlight.findings.survey import NOTHING, survey
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as run_survey
from headlight.views import result_contents, run_comparison
from headlight.views.gallery import Shown, gallery_files
from headlight.views.reading.flow import NOT_SAID, findings as flow_of_text
from headlight.views.reading.generated_text import generated
from headlight.views.reading.packing import pack
from headlight.views.reading.prediction import findings as prediction
from headlight.views.reading.routes_page import findings as routes_page
from headlight.views.reading.terminal import reading_terminal
from headlight.views.reading.weight_against_norm import most_misleading
from headlight.views.survey_terminal import terminal_table
from studies.models import subject, texts
from views.sample_results import counted, reading_sample, survey_sample
from views.sample_routes import sample_routes


def printed(renderable: object) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


def by_kind(result: xr.Dataset) -> dict[str, str]:
    return {each.kind: each.text for each in highlights(result)}


# ---------------------------------------------------------------- surveys


def plain() -> xr.Dataset:
    """A survey in which all heads do the same, and two behaviours are counted."""
    result = survey_sample(2, 4)
    result["share"][:] = 0.25
    result["neighbour"][:] = 0.1
    result["entropy"][:] = 0.6 * float(result["entropy_uniform"])
    result["effective_correlation_by_head"][:] = 0.9
    result["vector_norm_cv"][:] = 0.2
    names = ["duplicate", "induction", "subword", "template"]
    axes = ("measure", "behaviour", "layer", "head")
    shares = np.full((result.sizes["measure"], len(names), 2, 4), 0.1)
    shares[:, -1] = np.nan
    counts = ("behaviour", np.full(len(names), 5000))
    result = result.assign_coords(behaviour=names)
    return result.assign({"behaviour_share": (axes, shares), "behaviour_rows": counts})


PLACE = {"layer": 1, "head": 2}


def does(result: xr.Dataset, name: str, share: float = 0.95) -> xr.Dataset:
    """Let one head do one thing."""
    result["behaviour_share"].loc[{"behaviour": name, **PLACE}] = share
    return result


def of_one_measure() -> xr.Dataset:
    result = does(plain(), "induction")
    for name in ("share", "neighbour", "behaviour_share", "entropy"):
        result[name].loc[{"measure": "effective"}] = result[name].sel(measure="weight")
    for name in ("effective_correlation_by_head", "effective_correlation"):
        result[name][:] = 1.0
    return result


def of_unknown_tokens() -> xr.Dataset:
    result = does(plain(), "induction")
    result["neighbour"].loc[{"offset": -1, **PLACE}] = 0.9
    return result.assign_attrs(unknown=900, tokens=1000)


def of_some_unknown_tokens() -> xr.Dataset:
    return does(does(plain(), "duplicate"), "induction").assign_attrs(unknown=200, tokens=1000)


def of_template() -> xr.Dataset:
    result = does(plain(), "subword")
    result["behaviour_share"].loc[{"behaviour": "template"}] = 0.2
    return result


def that_follows() -> xr.Dataset:
    result = does(plain(), "subword", 1.0)
    result["neighbour"].loc[{"offset": -1, **PLACE}] = 0.87
    return result


def that_all_heads_do() -> xr.Dataset:
    result = plain()
    result["share"].loc[{"key_category": "sep"}] = 0.9
    result["neighbour"].loc[{"offset": -1}] = 0.9
    result["behaviour_share"].loc[{"behaviour": ["duplicate", "induction", "subword"]}] = 1.0
    result["entropy"][:] = 0.95 * float(result["entropy_uniform"])
    return result


def of_the_rest() -> xr.Dataset:
    result = plain()
    result["share"].loc[{"key_category": "other", **PLACE}] = 0.9
    return result


EMPTY: dict[str, tuple[Callable[[], xr.Dataset], str]] = {
    "measures that are one": (of_one_measure, r"[Ee]ffective"),
    "unknown tokens": (of_unknown_tokens, r"L\d+H\d+"),
    "some unknown tokens": (of_some_unknown_tokens, r"equal tokens"),
    "template of a chat": (of_template, r"pieces of the word"),
    "what follows": (that_follows, r"pieces of the word"),
    "all heads": (that_all_heads_do, r"L1H2|Head L\d+H\d+|head L\d+H\d+"),
    "the rest": (of_the_rest, r"other tokens|to other"),
}
"""Results that say nothing, and what no sentence about them may hold."""


def gallery(result: xr.Dataset) -> str:
    """The sentences on the first page."""
    page = dict(gallery_files([Shown(result)]))["index.html"].decode()
    return re.sub(r"<script.*?</script>", "", page[page.index("<body") :], flags=re.S)


OF_SURVEYS: dict[str, Callable[[xr.Dataset], str]] = {
    "findings/survey_rules.py": lambda result: " ".join(each.text for each in highlights(result)),
    "findings/survey.py": lambda result: " ".join(result_contents.answers(result)),
    "views/survey_terminal.py": lambda result: re.sub(
        r"Effective attention is equal.*", "", printed(terminal_table(result)), flags=re.S
    ).replace("effective", ""),
    "views/gallery.py": gallery,
}


@pytest.mark.parametrize("what", EMPTY)
@pytest.mark.parametrize("maker", OF_SURVEYS)
def test_what_says_nothing_of_a_survey_is_not_said(maker, what):
    made, never = EMPTY[what]
    said = OF_SURVEYS[maker](made())
    assert not re.search(never, re.sub(r"L4H7 is head.*", "", said)), said


def test_the_same_is_said_where_it_says_something():
    assert "L1H2" in " ".join(survey(does(plain(), "induction")))
    assert "pieces of the word" in " ".join(survey(does(plain(), "subword")))
    related = plain()
    related["effective_correlation_by_head"].loc[PLACE] = 0.2
    assert "Effective attention differs most" in by_kind(related)["effective"]


def test_why_nothing_is_said_is_said():
    assert result_contents.answers(of_unknown_tokens()) == [NOT_UNDERSTOOD]
    assert NOTHING not in printed(terminal_table(of_unknown_tokens()))


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (of_unknown_tokens, "previous"),
        (of_some_unknown_tokens, "induction"),
        (of_template, "subword"),
    ],
)
def test_heads_are_not_ranked_by_such_tokens(made, name):
    with pytest.raises(UsageError, match="in which"):
        head_ranking.heads(made(), name)


def test_of_a_number_that_follows_no_head_is_a_candidate():
    row = statistic("subword")
    assert np.isnan(candidates(that_follows(), row, "weight").value).all()
    assert np.isfinite(candidates(does(plain(), "subword"), row, "weight").value).sum() == 1


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([0.9, 0.1, 0.1], [True, False, False]),
        ([0.9, 0.9, 0.9], [False] * 3),
        ([0.9], [True]),
        ([0.9, np.nan], [True, False]),
        ([0.29, 0.2, 0.2], [False] * 3),
        ([0.31, 0.2, 0.2], [True, False, False]),
    ],
)
def test_heads_are_above_the_others_by_ten_points(numbers, expected):
    assert above_others(Estimate.with_ends(np.array(numbers))).tolist() == expected


# ---------------------------------------------------------------- comparisons


@pytest.fixture(scope="module")
def runs() -> list[xr.Dataset]:
    """Surveys by one model of texts that are longer than heads have dimensions, and of shorter."""
    model = subject("bert")
    settings = SurveySettings(measures=("weight", "effective"), token_types=0)
    every = [texts(40, longest=20, seed=1), [f"{each.split()[0]} ." for each in texts(40, seed=2)]]
    return [run_survey(each, model, settings, progress=False) for each in every]


@pytest.mark.slow
def test_runs_are_not_compared_by_a_measure_that_is_another_in_one(runs):
    long, short = runs
    assert (coincides(long, "effective"), coincides(short, "effective")) == (False, True)
    found = differences([long, short])
    assert not [each for each in found["by"].values if each == "effective"]
    assert not {"unreached", "rank", "effective_correlation"} & set(found["behaviour"].values)
    said = run_comparison.findings(found)
    assert [each for each in said if "effective" in each] == [said[-1]]
    assert said[-1].startswith("Nothing is compared by effective attention")
    alike = differences([long, long])
    assert "effective" in alike["by"].values
    assert not [each for each in run_comparison.findings(alike) if "effective" in each]


@pytest.mark.slow
def test_of_differences_below_ten_points_and_of_the_rest_no_head_is_named(runs):
    long = runs[0]
    found = differences([long, long])
    found["false_discovery"][:] = 0.0
    for name, change in (("sep by weight", 0.09), ("other by weight", 0.5)):
        found["difference"].loc[{"statistic": name, "layer": 1, "head": 2}] = change
    assert largest_changes(found, 1) == []
    assert not re.search(r"L\d+H\d+", " ".join(run_comparison.findings(found)))
    found["difference"].loc[{"statistic": "sep by weight", "layer": 1, "head": 2}] = 0.11
    assert largest_changes(found, 1) == [("sep by weight", 1, 2)]


# ---------------------------------------------------------------- texts

UNKNOWN = ("[CLS]", "cat", "[UNK]", "[UNK]", "[UNK]", "[SEP]")


def of_tokens(*tokens: str, **attributes: object) -> xr.Dataset:
    return reading_sample(2, 3, tokens or UNKNOWN).assign_attrs(attributes)


def chat() -> xr.Dataset:
    tokens = ("<s>", "user", "cat", "sat", "<e>", "user")
    names = ["template", "template", "user", "user", "template", "template"]
    reading = of_tokens(*tokens, kind="decoder")
    sides = {f"{side}_segment": (side, names) for side in ("query", "key")}
    return reading.assign_coords(sides)


def test_a_title_is_about_a_token_that_is_known_and_said():
    reading = of_tokens()
    assert last_word(reading) == 1
    assert unsaid(reading, "key") == [0, 2, 3, 4, 5]
    assert most_misleading(reading)[1] == (1, 1)
    assert (last_word(chat()), unsaid(chat(), "key")) == (3, [0, 1, 4, 5])
    queries = pack(reading).header["kinds"]["encoder"]["queries"]
    assert (queries["unsaid"], queries["unknown"]) == ([0, 2, 3, 4, 5], [2, 3, 4])


def terminal_of_text(reading: xr.Dataset) -> str:
    return printed(reading_terminal(reading, "weight", 3))


def test_the_terminal_links_no_unknown_tokens_and_no_template():
    assert "[UNK]" not in terminal_of_text(of_tokens())
    # The title says where weight goes, as on the page, whatever stands there.
    _, links = terminal_of_text(chat()).split("strongest links")
    assert "user" not in links


def many_heads(reading: xr.Dataset) -> xr.Dataset:
    return counted(reading.isel(head=[0] * 30).assign_coords(head=range(30)))


def test_the_terminal_says_why_no_head_stands_out():
    alike = many_heads(of_tokens("[CLS]", "the", "cat", "sat", ".", "[SEP]"))
    alike = alike.isel(layer=[0, 0]).assign_coords(layer=[0, 1])
    assert "ten points more of anything" in " ".join(terminal_of_text(alike).split())
    unknown = many_heads(of_tokens()).assign_attrs(unknown=4, tokens=6)
    said = " ".join(terminal_of_text(unknown).split())
    assert "none is ranked for tokens that the tokenizer does not know" in said


def of_routes(place: int) -> xr.Dataset:
    """Routes of which one token is unknown, from which the last takes most."""
    made = sample_routes()
    tokens = made["query_token"].values.tolist()
    tokens[place] = "[UNK]"
    return made.assign_coords(query_token=("query", tokens))


def test_routes_name_no_unknown_token():
    every = [" ".join(routes(of_routes(at), 10, 5, least=0.01)) for at in range(1, 10)]
    assert not [each for each in every if "[UNK]" in each]
    assert "[UNK]" not in " ".join(routes_page(of_routes(9)))


def test_generated_tokens_take_from_tokens_that_are_said():
    reading = chat().assign_coords(
        query_next=("query", ["a"] * 6), query_probability=("query", [0.5] * 6)
    ).assign_attrs(answer="a")  # fmt: skip
    names = " ".join(generated(reading)["takes most from (norm)"])
    assert not re.search(r"user|<e>|<s>", names)
    assert re.search(r"cat|sat", names)


def flow_of_tokens(*tokens: str) -> str:
    """What is said of the flow in a text of four tokens."""
    result = xr.Dataset(
        {"share": (("map", "layer", "query", "key"), np.full((1, 2, 4, 4), 0.25))},
        {
            "map": ["rollout"],
            "layer": [0, 1],
            "query_token": ("query", list(tokens)),
            "query_category": (
                "query",
                ["cls" if token == "[CLS]" else "other" for token in tokens],
            ),
        },
        {"kind": "encoder", "text": "t", "model": "m"},
    )
    return " ".join(flow_of_text(result))


def test_flow_of_a_text_names_no_unknown_token():
    assert "[UNK]" not in flow_of_tokens("[CLS]", "[UNK]", "[UNK]", "cat")
    assert flow_of_tokens(*["[UNK]"] * 4) == NOT_SAID


def test_a_prediction_is_said_to_come_from_a_token_that_is_known():
    result = xr.Dataset(
        {
            "token_total": ("token", [9.0, 1.0]), "position_total": ("token", [0.0, 0.0]),
            "logit": 10.0, "remainder_direct": 0.0, "remainder_total": 0.0,
            "head_direct": (("site", "head", "token"), np.full((1, 1, 2), np.nan)),
            "head_total": (("site", "head", "token"), np.full((1, 1, 2), np.nan)),
            "total": ("component", []), "direct": ("component", []),
        },
        {
            "token_text": ("token", ["[UNK]", "cat"]), "token_side": ("token", ["text", "text"]),
            "kind": ("site", ["encoder"]), "layer": ("site", [0]),
            **{f"component_{name}": ("component", [])
               for name in ("kind", "attention", "layer", "name")},
        },
        {"against": "", "text": "t", "model": "m", "classes": "", "pieces": "", "target": "x",
         "probability": 0.5, "position_side": "text", "notes": ""},
    )  # fmt: skip
    assert "Beside unknown tokens, the largest part is that of “cat” (+1.000)" in " ".join(
        prediction(result)
    )


# ---------------------------------------------------------------- studies


def test_maps_and_layers_that_are_alike_are_not_ordered():
    maps = ["rollout", "value_zeroing", "decompx"]
    agreement = np.full((1, 3, 3), 0.9)
    result = xr.Dataset(
        {"own": (("layer", "map", "token"), np.full((1, 3, 1), 0.5)),
         "agreement": (("layer", "map", "other"), agreement)},
        {"layer": [3], "map": maps, "other": maps, "token": ["all"]},
        {"kind": "encoder"},
    )  # fmt: skip
    assert not re.search(r"closest|furthest", " ".join(flow(result)))
    assert "alike" in " ".join(flow(result))


def test_of_heads_that_are_all_alike_no_two_are_named():
    apart = np.full((1, 4, 4), 0.001)
    result = xr.Dataset(
        {"distance": (("measure", "first", "second"), apart)},
        {"measure": ["weight"], "layer": ("first", [0, 0, 1, 1]), "head": ("first", [0, 1, 0, 1])},
    )
    assert not re.search(r"L\d+H\d+", " ".join(distances(result)))
    assert "Heads of one layer" not in " ".join(distances(result))


def test_layers_are_compared_where_no_two_heads_stand_out():
    layers = np.repeat([0, 1], 3)
    apart = np.where(layers[:, None] == layers, 0.3, 0.4)
    result = xr.Dataset(
        {"distance": (("measure", "first", "second"), apart[None])},
        {"measure": ["weight"], "layer": ("first", layers), "head": ("first", [0, 1, 2] * 2)},
    )
    said = distances(result)
    assert not re.search(r"L\d+H\d+", said[0])
    assert said[1].startswith("Heads of one layer are 0.3 nats apart on average, heads of diff")


def test_scores_of_weights_that_are_alike_name_no_head():
    result = xr.Dataset(
        {"copying": (("layer", "head"), [[0.01, 0.02], [0.01, 0.01]])},
        {"layer": [0, 1], "head": [0, 1]},
    )
    assert not re.search(r"L\d+H\d+", " ".join(circuits(result)))


def test_maps_that_agree_by_construction_are_not_said_to_agree_most():
    names = ["weight", "effective", "norm"]
    related = np.array([[1.0, 0.999, 0.5], [0.999, 1.0, 0.4], [0.5, 0.4, 1.0]])
    result = xr.Dataset(
        {"correlation": (("map", "other"), related)}, {"map": names, "other": names}
    )
    assert "Weight and norm agree most" in " ".join(faithfulness(result))
