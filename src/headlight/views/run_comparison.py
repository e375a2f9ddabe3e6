"""Surveys side by side: differences between heads, with the texts that show them."""

import json
from functools import partial
from itertools import groupby

import numpy as np
import pandas as pd
import xarray as xr
from markupsafe import Markup

from headlight.catalogue import statistic as row_of
from headlight.findings.candidates import APART, WORTH_SAYING
from headlight.findings.differences import (
    LEVEL,
    certain_changes,
    largest_changes,
    named_shares,
    passages_kept,
    shares,
)
from headlight.findings.estimates import ENDS
from headlight.findings.interval_phrases import interval
from headlight.findings.phrases import listed, measure_noun, percent, plural
from headlight.findings.statistics import row_target
from headlight.result.intervals import FEWEST_FILLED, FEWEST_TESTED
from headlight.views.colours import series_styles
from headlight.views.headline import BarList, Headline, ValueBar
from headlight.views.html_elements import element, joined
from headlight.views.number_formats import points_text
from headlight.views.parts import By, Curve, Drawing, Map, Section, Summary, Table, curves, maps
from headlight.views.passages import drawn_passage, strongest
from headlight.views.pictures import BarRow, Mark, bars
from headlight.views.sentences import title_of
from headlight.views.titles import Subject
from headlight.vocabulary import NUMBERING, base_name, head_name

COLUMNS = [
    "head",
    "number",
    "run",
    "beside",
    "distance",
    "first",
    "other",
    "difference",
    "low",
    "high",
    "false alarms",
]
"""Columns of the table of all that differs."""

LARGEST = 10
"""Heads that are drawn."""

BARS = 5
"""Heads of the headline."""

SAID = 3
"""Heads that are spoken of above the page; of several other runs one of each."""


def summary(result: xr.Dataset) -> Summary:
    """Return the number of differences from the first run."""
    numbers: Summary = {"texts": str(result.attrs["texts_read"])}
    names = _names(result)
    for other in result["other"].values.tolist():
        differ, valid = _differ(result, other), result["p_value"].sel(other=other).notnull()
        end = "" if result.sizes["other"] == 1 else f" in {names[other]}"
        numbers[f"numbers_that_differ{end}"] = int(differ.sum())
        numbers[f"numbers_compared{end}"] = int(valid.sum())
        if result.attrs["match"] == "behaviour":
            numbers[f"heads_without_a_partner{end}"] = _without_partner(result, other)
        numbers[f"heads_that_differ{end}"] = int(differ.any("statistic").sum())
    return numbers


def headline(result: xr.Dataset) -> Headline:
    """Return how many heads differ and which does most, with what it gives in both runs.

    Args:
        result: Comparison of two surveys or more.
    """
    largest = _largest_change(result)
    pictures: list[BarList | Drawing] = []
    if _arisen(result):
        pictures += _strip(result).drawings
    elif largest is not None:
        pictures.append(_bars(result, largest[0]))
    else:
        pictures += _heads(result).drawings
    read = f"{Subject.from_result(result)}. {result.attrs['texts_read']}"
    return Headline(title_of(_answer(result)), read, pictures, "what differs?")


def findings(result: xr.Dataset) -> list[str]:
    """Return findings on how much differs, in which heads, and when behaviours arise."""
    names, sentences = _names(result), [_answer(result), *_arisen(result)[1:]]
    spoken_of = SAID if result.sizes["other"] == 1 else 1
    for other in result["other"].values.tolist():
        differ, valid = _differ(result, other), result["p_value"].sel(other=other).notnull()
        heads = int(valid.any("statistic").sum())
        largest = _of_heads(result, other)[:spoken_of]
        sentences += [_change(result, other, *place) for place in largest]
        if valid.any() and not _is_tested(result, other):
            sentences.append(
                f"{names[other]} beside {names[0]}: no number is tested, since that takes "
                f"{FEWEST_TESTED} documents of each run and {FEWEST_FILLED} filled slots; compare "
                "surveys of more texts."
            )
            continue
        beside = f"{names[other]} beside {names[0]}"
        sentences.append(
            f"{beside}: {int(differ.sum()):,} of {int(valid.sum()):,} numbers differ, in "
            f"{int(differ.any('statistic').sum())} of {plural(heads, 'head')}, with "
            f"{percent(LEVEL)} of false alarms among these; all others are inconclusive."
            if differ.any()
            else f"{beside}: whether any of {int(valid.sum()):,} numbers differs is inconclusive."
        )
        if result.attrs["match"] == "behaviour":
            moved = int(_moved(result, other).sum())
            sentences.append(f"{plural(moved, 'head')} of {heads} stand at another place.")
            if alone := _without_partner(result, other):
                sentences.append(
                    f"{plural(alone, 'head')} of {names[0]} {'is' if alone == 1 else 'are'} left "
                    f"out: the head of {names[other]} that is most like it is more like another."
                )
    return sentences + _coinciding(result)


def _answer(result: xr.Dataset) -> str:
    """Return what differs in a sentence, with the interval of the largest change.

    Of three runs and more it is when a behaviour arises, if one does.
    """
    if arisen := _arisen(result):
        return arisen[0]
    names, others = _names(result), result["other"].values.tolist()
    tested = [other for other in others if _is_tested(result, other)]
    number = int(result["p_value"].notnull().any(("other", "statistic")).sum())
    noun = "matched head" if result.attrs["match"] == "behaviour" else "head"
    heads = plural(number, noun)
    if not tested:
        return (
            f"Whether any head differs between {listed(names)} is inconclusive: a test takes "
            f"{FEWEST_TESTED} documents of each run."
        )
    counts = {other: int(_differ(result, other).any("statistic").sum()) for other in tested}
    if not any(counts.values()):
        return (
            f"Whether any of {heads} differs between {listed(names)} is "
            "inconclusive: no difference is certain."
        )
    if len(others) == 1:
        start = f"{counts[1]} of {heads} differ between {listed(names)}"
    else:
        by_run = [f"{count} in {names[other]}" for other, count in counts.items()]
        start = f"Of {heads} these differ from {names[0]}: {listed(by_run)}"
    return f"{start}{_most(result, tested)}."


def _most(result: xr.Dataset, tested: list[int]) -> str:
    """Return a clause on the largest change, or that none is of ten points."""
    largest = _largest_change(result)
    if largest is None:
        sizes = [
            _size(result, other, *change)
            for other in tested
            for change in certain_changes(result, other)[:1]
        ]
        none = f", none by {100 * APART:.0f} points of its attention"
        return none if max(sizes, default=0.0) < APART else ""
    other, statistic, layer, head = largest
    here = result.sel(other=other, statistic=statistic, layer=layer, head=head)
    apart, low, high = (float(here[f"difference{end}"]) for end in ENDS)
    target, measure = _target(result, str(here["behaviour"].item())), str(here["by"].item())
    by = "" if measure == "weight" else f" of its {measure}"
    return (
        f"; most {head_name(layer, head)}{_partner(here)}: {points_text(abs(apart))[1:]} "
        f"{'more' if apart > 0 else 'less'}{by} to {target} in {_names(result)[other]}"
        f"{_interval(low, high)}"
    )


def _interval(low: float, high: float) -> str:
    """Return the interval of a difference in points, which the sentence names before it."""
    return interval(low, high, lambda end: points_text(end).removesuffix(" points"))


def _is_tested(result: xr.Dataset, other: int) -> bool:
    return bool(result["false_discovery"].sel(other=other).notnull().any())


def _largest_change(result: xr.Dataset) -> tuple[int, str, int, int] | None:
    """Return the run and place of the largest change for which a head may be named, if any."""
    changes = [
        (other, *change)
        for other in result["other"].values.tolist()
        for change in _of_heads(result, other)[:1]
    ]
    return max(changes, key=lambda change: _size(result, *change), default=None)


def _size(result: xr.Dataset, other: int, statistic: str, layer: int, head: int) -> float:
    here = result["difference"].sel(other=other, statistic=statistic, layer=layer, head=head)
    return abs(float(here))


def _bars(result: xr.Dataset, other: int) -> BarList:
    """Return what the heads that differ most give in the first run and in another."""
    names, bars = _names(result), list[ValueBar]()
    changes = _of_heads(result, other)
    for statistic, layer, head in changes[:BARS]:
        here = result.sel(other=other, statistic=statistic, layer=layer, head=head)
        measure = str(here["by"].item())
        by = "" if measure == "weight" else f" by {measure}"
        beside = _partner(here).removeprefix(" beside ") or head_name(layer, head)
        labels = {
            0: f"{head_name(layer, head)} to {_target(result, str(here['behaviour'].item()))}{by} "
            f"in {names[0]}",
            other: f"{beside} in {names[other]}",
        }
        for run, label in labels.items():
            value = float(here["value"].sel(run=run))
            series = "weight" if measure not in series_styles() else measure
            bars.append(ValueBar(label, percent(value), value, series, is_reference=run == 0))
    shown = f"The {BARS} heads" if len(changes) > BARS else "The heads"
    return BarList(f"{shown} that differ most: share of its attention that each gives", bars)


def _coinciding(result: xr.Dataset) -> list[str]:
    """Return a sentence about measures by which nothing is compared, and why."""
    by_run = zip(_names(result), json.loads(result.attrs["coinciding"]), strict=True)
    runs = [name for name, measures in by_run if measures]
    if not runs:
        return []
    return [
        f"Nothing is compared by effective attention, which is the weight in {listed(runs)}, as in "
        "texts with no more tokens than a head has dimensions."
    ]


def sections(result: xr.Dataset) -> list[Section]:
    """Return the sections: when behaviours arise, heads that differ, texts, all differences."""
    parts = [_strip(result), _heads(result), _texts(result), _table(result), _places(result)]
    return [section for section in parts if section.drawings or section.tables or section.html]


def _names(result: xr.Dataset) -> list[str]:
    return [base_name(name) for name in json.loads(result.attrs["names"])]


def _differ(result: xr.Dataset, other: int) -> xr.DataArray:
    return result["false_discovery"].sel(other=other) <= LEVEL


def _moved(result: xr.Dataset, other: int) -> xr.DataArray:
    here = result.sel(other=other)
    has_partner = here["partner_layer"].notnull()
    elsewhere = (here["partner_layer"] != here["layer"]) | (here["partner_head"] != here["head"])
    return has_partner & elsewhere


def _without_partner(result: xr.Dataset, other: int) -> int:
    observed_heads = result["value"].sel(run=0).notnull().any("statistic")
    return int((observed_heads & result["partner_layer"].sel(other=other).isnull()).sum())


def _of_heads(result: xr.Dataset, other: int) -> list[tuple[str, int, int]]:
    """Return the largest change of each head."""
    first_changes: dict[tuple[int, int], tuple[str, int, int]] = {}
    for statistic, layer, head in largest_changes(result, other):
        first_changes.setdefault((layer, head), (statistic, layer, head))
    return list(first_changes.values())


def _change(result: xr.Dataset, other: int, statistic: str, layer: int, head: int) -> str:
    """Return one change as a sentence."""
    here = result.sel(other=other, statistic=statistic, layer=layer, head=head)
    before, after = (float(here["value"].sel(run=run)) for run in (0, other))
    low, high = (float(here[f"difference_{end}"]) for end in ("low", "high"))
    where = _partner(here)
    if where and "match_distance" in result:
        where += f" ({float(here['match_distance']):.2f} sd apart)"
    behaviour, measure = str(here["behaviour"].item()), str(here["by"].item())
    return (
        f"{head_name(layer, head)}{where} gives {percent(before)} of its "
        f"{measure_noun(measure)} to {_target(result, behaviour)} in "
        f"{_names(result)[0]} and {percent(after)} in {_names(result)[other]}: "
        f"{points_text(after - before)}{_interval(low, high)}."
    )


def _partner(here: xr.Dataset) -> str:
    """Return the head that stands beside one, with a word before it, where it is another."""
    own = int(here["layer"]), int(here["head"])
    partner = int(here["partner_layer"]), int(here["partner_head"])
    return "" if partner == own else f" beside {head_name(*partner)}"


def _target(result: xr.Dataset, behaviour: str) -> str:
    return row_target(result, row_of(behaviour))


def _arisen(result: xr.Dataset) -> list[str]:
    """Return sentences on where each behaviour first is strong, for three or more runs."""
    if result.sizes["run"] < 3:
        return []
    in_tables = _shares_in_tables(result)
    sentences = []
    for run in sorted({int(at) for at in in_tables["arises"].values if at > 0}):
        here = in_tables.isel(run=run, statistic=np.flatnonzero(in_tables["arises"] == run))
        examples = [
            f"{_target(result, behaviour)} ({head_name(int(layer), int(head))}: {percent(share)})"
            for behaviour, layer, head, share in zip(
                here["behaviour"].values,
                here["strongest_layer"].values,
                here["strongest_head"].values,
                here["strongest"].values,
                strict=True,
            )
        ]
        sentences.append(
            f"In {_names(result)[run]} some head first certainly gives more than "
            f"{percent(WORTH_SAYING)} of its weight to {listed(examples)}."
        )
    return sentences


def _shares_in_tables(result: xr.Dataset) -> xr.Dataset:
    """Return the shares of weights that stand in tables."""
    behaviour = result["behaviour"].values
    prominent = np.array([row_of(str(name)).prominent for name in behaviour])
    in_tables = np.flatnonzero(prominent & (result["by"].values == "weight"))
    return result.isel(statistic=np.intersect1d(in_tables, named_shares(result)))


def _heads(result: xr.Dataset) -> Section:
    names = _names(result)
    of_shares = np.isin(result["behaviour"].values, shares())
    size = abs(result["difference"]).where(result["false_discovery"] <= LEVEL)
    data = xr.Dataset({"largest": size.isel(statistic=np.flatnonzero(of_shares)).max("statistic")})
    by = By("other", {at: names[at] for at in range(1, len(names))})
    drawn = maps(data, Map("largest", "{other}", by, limits=(0, 1), unit="largest difference"))
    words = "The largest difference of a share of each head that is no false alarm."
    explanation = (
        f"Each square is a head of {names[0]}; the stronger its colour, the more one of the shares "
        "that it gives differs. Empty ones are inconclusive. "
        f"{NUMBERING} {result.attrs['texts_read']}"
    )
    drawings = [*_largest(result), Drawing("heads", "", words, drawn)]
    is_known = bool(data["largest"].notnull().any())
    return Section(
        "heads", "Which heads differ?", explanation, drawings=drawings if is_known else []
    )


def _largest(result: xr.Dataset) -> list[Drawing]:
    """Return the heads that differ most in a share, each once, the first run beside the others."""
    drawings = []
    for other in result["other"].values.tolist():
        rows, changes = [], _of_heads(result, other)
        for statistic, layer, head in changes[:LARGEST]:
            here = result.sel(statistic=statistic, layer=layer, head=head)
            behaviour, measure = str(here["behaviour"].item()), str(here["by"].item())
            label = f"{head_name(layer, head)} to {_target(result, behaviour)}"
            marks = []
            for run in (0, other):
                value, low, high = (float(here[f"value{end}"].sel(run=run)) for end in ENDS)
                marks.append(Mark(_names(result)[run], value, low, high))
            rows.append(BarRow(label, marks, note="" if measure == "weight" else f"by {measure}"))
        if rows:
            all_drawn = len(rows) == len(changes)
            heads = (
                plural(len(rows), "head") if all_drawn else f"{len(rows)} of {len(changes)} heads"
            )
            words = (
                f"The {heads} of which a share differs most: what "
                f"{_names(result)[0]} and {_names(result)[other]} give, with intervals of 95%."
            )
            drawn = partial(bars, rows, x_label="share", percent=True, dots=True)
            name = "largest_changes" if result.sizes["other"] == 1 else f"largest_changes_{other}"
            drawings.append(Drawing(name, words, words, drawn))
    return drawings


def _equal_numbers(result: xr.Dataset) -> str:
    equal = json.loads(result.attrs["equal_numbers"]).items()
    pairs = [f"{dropped} is {name}" for dropped, name in equal]
    return f" In all of these runs {listed(pairs)}, and not listed twice." if pairs else ""


def _texts(result: xr.Dataset) -> Section:
    names, parts = _names(result), list[Markup]()
    groups = groupby(passages_kept(result), key=lambda kept: kept[:3])
    self_attention = result.attrs["kind"] != "cross"
    for (statistic, layer, head), passages in groups:
        lines = [
            element(
                "p",
                element("span", f"{names[run]} ", class_="quiet small"),
                element(
                    "span",
                    drawn_passage(passage, self_attention=self_attention),
                    element("span", strongest(passage), class_="quiet small"),
                    class_="example",
                ),
            )
            for _, _, _, run, passage in passages
        ]
        title = f"{head_name(layer, head)}, {statistic.replace('_', ' ')}"
        parts.append(element("li", element("span", title, class_="kind"), *lines))
    html = element("ol", joined(parts), class_="highlights") if parts else Markup()
    return Section(
        "texts",
        "Where it is seen",
        "Of the heads that differ most, the text of each run in which the head does most of what "
        "differs: the framed token attends, and the stronger the colour, the more weight a token "
        "gets.",
        html=html,
    )


def _strip(result: xr.Dataset) -> Section:
    names, here = _names(result), _shares_in_tables(result)
    high = (here["strongest"] > WORTH_SAYING).any("run")
    here = here.isel(statistic=np.flatnonzero(high.values))
    if result.sizes["run"] < 3 or not here.sizes["statistic"]:
        return Section("runs", "", "")
    statistics = map(str, here["statistic"].values)
    by = By("statistic", {name: name.replace("_", " ") for name in statistics})
    numbers = "; ".join(f"{at} is {name}" for at, name in enumerate(names))
    curve = Curve(
        "strongest",
        panel="{statistic}",
        by=by,
        over="run",
        interval=True,
        percent=True,
        limits=(0.0, 1.0),
        x_label="run",
        marked=True,
    )
    drawing = Drawing("runs", "", "What the strongest head of each run gives.", curves(here, curve))
    return Section(
        "runs",
        "When does each behaviour arise?",
        f"What the head that does it most gives in each run, with its interval, in the order in "
        f"which the runs were named: {numbers}. Other heads may be the strongest in other runs.",
        "",
        [drawing],
    )


def _table(result: xr.Dataset) -> Section:
    names, rows = _names(result), []
    for other in result["other"].values.tolist():
        for statistic, layer, head in certain_changes(result, other):
            rows.append(_row(result, names, other, statistic, layer, head))
        rest = result.isel(statistic=np.flatnonzero(~np.isin(result["behaviour"].values, shares())))
        differ = _differ(rest, other).transpose("statistic", "layer", "head")
        for at in zip(*np.nonzero(differ.values), strict=True):
            labels = (rest[dim].values[place] for dim, place in zip(differ.dims, at, strict=True))
            rows.append(_row(result, names, other, *labels))
    frame = pd.DataFrame(rows, columns=COLUMNS)
    by_place = result.attrs["match"] == "place"
    if result.sizes["other"] == 1:
        frame = frame.drop(columns="run")
    if by_place:
        frame = frame.drop(columns=["beside", "distance"])
    caption = "What differs: shares first, the largest difference first"
    formats = {"false alarms": ".2g"} | ({} if by_place else {"distance": ".2f"})
    table = Table("changes", caption, frame, formats)
    return Section(
        "changes",
        "All that differs",
        "Differences are those of the named run from the first, with their intervals of 95%; false "
        "alarms is the lowest rate of false alarms at which the number is said to differ "
        "(Benjamini and Hochberg 1995). What is not here is inconclusive." + _equal_numbers(result),
        tables=[table],
    )


def _row(
    result: xr.Dataset, names: list[str], other: int, statistic: str, layer: int, head: int
) -> dict[str, object]:
    here = result.sel(other=other, statistic=statistic, layer=layer, head=head)
    partner = head_name(int(here["partner_layer"]), int(here["partner_head"]))
    return {
        "head": head_name(int(layer), int(head)),
        "number": str(statistic).replace("_", " "),
        "run": names[other],
        "beside": partner,
        "distance": float(here["match_distance"]) if "match_distance" in here else np.nan,
        "first": float(here["value"].sel(run=0)),
        "other": float(here["value"].sel(run=other)),
        "difference": float(here["difference"]),
        "low": float(here["difference_low"]),
        "high": float(here["difference_high"]),
        "false alarms": float(here["false_discovery"]),
    }


def _places(result: xr.Dataset) -> Section:
    rows = []
    if result.attrs["match"] == "behaviour":
        for other in result["other"].values.tolist():
            moved = _moved(result, other).transpose("layer", "head").values
            for at in zip(*np.nonzero(moved), strict=True):
                here = result.isel(layer=at[0], head=at[1]).sel(other=other)
                head = head_name(int(here["layer"]), int(here["head"]))
                beside = head_name(int(here["partner_layer"]), int(here["partner_head"]))
                distance = float(here["match_distance"])
                rows.append(
                    {
                        "head": head,
                        "beside": beside,
                        "distance": distance,
                        "run": _names(result)[other],
                    }
                )
    table = Table(
        "places",
        "Heads that are most like one at another place",
        pd.DataFrame(rows),
        {"distance": ".2f"},
    )
    return Section(
        "places",
        "Which heads stand elsewhere?",
        "Two heads are beside each other if each is the most like the other in all numbers "
        "together; the distance is the root mean square over these, in standard deviations over "
        "heads. "
        "Heads that hardly differ from each other may change places for no reason.",
        tables=[table] if rows else [],
    )
