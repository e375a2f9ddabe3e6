"""Figure 6 and Section 6: clusters of heads."""

from functools import partial

import numpy as np
import pandas
import xarray

from headlight.findings.head_behaviours import BEHAVIOURS, OTHER, behaviours
from headlight.findings.hierarchical_clustering import tree
from headlight.findings.multidimensional_scaling import embedding
from headlight.views.parts import (
    Drawing,
    Embedding,
    Section,
    dendrogram,
    embedding as draw_embedding,
)
from headlight.vocabulary import measure as measure_row
from headlight_papers.papers.clark2019 import Settings
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.results import (
    load_antecedents,
    load_dependencies,
    load_distances,
    load_survey,
)
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.exhibit_tables import frame_of
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.findings.coreference import systems_table
from headlight_words.findings.dependency import best_heads

MARGIN = 0.1
"""Gain over the best fixed offset from which on a head is named after a relation."""


@exhibit("figure-6", "Figure 6 and Section 6")
def figure_6(reproduction: Reproduction[Settings], writer: ExhibitWriter) -> Section:
    """Heads that behave alike."""
    result, survey = load_distances(reproduction), load_survey(reproduction)
    layers = survey["layer"].values
    jobs = {head: job for head, job in _jobs(reproduction).items() if head[0] in layers}
    first = str(survey["measure"].values[0])
    named = behaviours(survey, linguistic=jobs, measure=first, broad=None)
    pictures: list[Drawing] = []
    frames: list[pandas.DataFrame] = []
    for measure in result["measure"].values:
        of_measure = result["distance"].sel(measure=measure)
        points = embedding(of_measure, seed=reproduction.settings.seed)
        frame = _frame(points, named, str(measure))
        frames.append(frame)
        pictures += [
            _map(frame, str(measure), float(points.attrs["stress"]), writer),
            _tree(of_measure, frame, str(measure), writer),
        ]
    table = pandas.concat(frames, ignore_index=True)
    writer.keep(table)
    return Section(
        explanation="Near heads attend alike: distances are Jensen-Shannon divergences, summed "
        "over all tokens of the text, drawn by multidimensional scaling; the tree joins the "
        "nearest first. Left by layer, right by what the heads do. Norms, effective attention and "
        "gradients are made distributions first: absolute values divided by their sum.",
        drawings=pictures,
        tables=[
            writer.table(
                _are_nearer_within(result),
                "Mean divergence of two heads, in nats per token: of one layer, and of different "
                "layers",
                formats=dict.fromkeys(("same layer", "other layers", "ratio"), ".3f"),
                name="layers",
                note="The paper finds that heads of one layer are often fairly close.",
            )
        ],
        notes=[
            *text_notes(reproduction, result),
            "Behaviours by the rules of the released code: more than half to the next or previous "
            "token; entropy above 3.8 nats at 128 tokens, here the same share of that of uniform "
            "attention; more than 60% to [CLS], [SEP] or punctuation. Heads are named after a "
            f"relation or after coreference where they are the best and {100 * MARGIN:.0f} points "
            "better than the best fixed offset, or than the nearest mention.",
            "The paper prints no numbers for this figure, and its code sets no seed; here it is "
            f"{reproduction.settings.seed}.",
        ],
    )


def _jobs(reproduction: Reproduction[Settings]) -> dict[tuple[int, int], str]:
    """Return the heads that find a relation, or antecedents, far better than a baseline does."""
    jobs: dict[tuple[int, int], str] = {}
    measure = reproduction.settings.measures[0]
    if reproduction.sources.dependency:
        best = best_heads(
            load_dependencies(reproduction, reproduction.sources.dependency[0]), measure
        )
        # In rising order, so that of several relations the most accurate names the head.
        for row in best.sort_values("accuracy").to_dict("records"):
            if row["relation"] != "all" and row["accuracy"] > row["baseline"] + MARGIN:
                jobs[int(row["layer"]), int(row["head"])] = str(row["relation"])
    if reproduction.sources.coreference:
        resolvers = systems_table(
            load_antecedents(reproduction, reproduction.sources.coreference[0])
        )
        records = {str(name): row for name, row in resolvers.to_dict("index").items()}
        record = records.get(measure)
        if record and record["all"] > records["nearest"]["all"] + 100 * MARGIN:
            jobs[int(record["layer"]), int(record["head"])] = "coreference"
    return jobs


def _frame(points: xarray.DataArray, named: xarray.DataArray, measure: str) -> pandas.DataFrame:
    layers = [int(layer) for layer in points["layer"].values]
    heads = [int(head) for head in points["head"].values]
    places = list(zip(layers, heads, strict=True))
    return pandas.DataFrame(
        {
            "measure": measure,
            "head": [head_name(*place) for place in places],
            "layer": [layer + 1 for layer in layers],
            "behaviour": [str(named.sel(layer=layer, head=head).item()) for layer, head in places],
            "x": points.sel(axis="x").values,
            "y": points.sel(axis="y").values,
        }
    )


def _map(frame: pandas.DataFrame, measure: str, stress: float, writer: ExhibitWriter) -> Drawing:
    points = frame[["x", "y"]].to_numpy()
    layers = [str(layer) for layer in frame["layer"]]
    doing = [str(name) for name in frame["behaviour"]]
    jobs = {
        number: f"{frame['head'][number].partition(' ')[0]} {name}"
        for number, name in enumerate(doing)
        if name not in (*BEHAVIOURS, OTHER)
    }
    kinds = [name if name in (*BEHAVIOURS, OTHER) else "linguistic" for name in doing]
    present = [name for name in (OTHER, *BEHAVIOURS, "linguistic") if name in kinds]
    panels = [
        Embedding(
            f"{measure_row(measure).title}, by layer",
            points,
            layers,
            ordered=True,
            group_label="layer",
        ),
        Embedding(
            f"{measure_row(measure).title}, by behaviour",
            points,
            kinds,
            jobs,
            order=present,
            note=f"stress {stress:.2f}",
        ),
    ]
    counts = ", ".join(f"{kinds.count(name)} {name}" for name in present)
    return writer.picture(
        partial(draw_embedding, panels),
        f"Heads by the divergence of their {measure_row(measure).title}.",
        f"Heads by behaviour: {counts}.",
        measure,
    )


def _tree(
    of_measure: xarray.DataArray, frame: pandas.DataFrame, measure: str, writer: ExhibitWriter
) -> Drawing:
    layers = [str(layer) for layer in frame["layer"]]
    drawn = partial(
        dendrogram,
        tree(of_measure),
        [name.partition(" ")[0] for name in frame["head"]],
        layers,
        y_label="divergence (nats per token)",
        title=f"{measure_row(measure).title}: average linkage",
    )
    return writer.picture(
        drawn,
        f"The same distances as a tree, {measure_row(measure).title}.",
        "Heads joined two by two, the nearest first; colours are layers.",
        f"{measure}-tree",
    )


def _are_nearer_within(result: xarray.Dataset) -> pandas.DataFrame:
    """Whether heads of one layer are nearer to each other than to those of other layers."""
    same = result["layer"] == result["second_layer"]
    others = xarray.DataArray(~np.eye(result.sizes["first"], dtype=bool), dims=("first", "second"))
    pairs = ("first", "second")
    within = result["distance"].where(same & others).mean(pairs)
    between = result["distance"].where(~same).mean(pairs)
    return frame_of({"same layer": within, "other layers": between, "ratio": within / between})
