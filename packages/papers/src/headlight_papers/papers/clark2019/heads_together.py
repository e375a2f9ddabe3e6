"""Sections 5 and 6: probes on all heads together (Table 3), and clusters of heads (Figure 6)."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas
import xarray

from headlight.corpora import open_treebank
from headlight.findings.dependency import best_heads
from headlight.findings.estimates import estimates
from headlight.findings.head_behaviours import BEHAVIOURS, OTHER, behaviours
from headlight.findings.hierarchical_clustering import tree
from headlight.findings.multidimensional_scaling import embedding
from headlight.views.parts import (
    Comparison,
    Drawing,
    Embedding,
    Section,
    dendrogram,
    embedding as draw_embedding,
)
from headlight.views.parts.bar_charts import bars
from headlight.vocabulary import measure as measure_row
from headlight_papers.findings import systems_table
from headlight_papers.papers.clark2019 import Settings, published
from headlight_papers.papers.clark2019.surface import (
    load_antecedents,
    load_dependencies,
    load_distances,
    load_survey,
    stem,
)
from headlight_papers.papers.exhibit import ExhibitWriter, exhibits_of, frame_of, head_name
from headlight_papers.papers.reproduction import Reproduction, model_note, text_notes

exhibit = exhibits_of(published.SOURCE)

METRICS = {"uas": "UAS", "uas_tree": "UAS, best tree", "uuas": "UUAS"}
NO_ATTENTION = "no attention"
LABELS = {
    "right_branching": "right-branching",
    "distances_and_words": "distances and words",
    "random_attention_and_words": "random attention and words",
    "attention": "attention",
    "attention_and_words": "attention and words",
}


@exhibit("table-3", "Table 3 and Section 5", "dependency", title="What heads know together")
def table_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Probes and what they are compared with."""
    table = load_probe_table(reproduction)
    numbers = ["UAS", "low", "high", "UAS, best tree", "UUAS"]
    ordered = dict.fromkeys(["probe", "measure", *numbers, *table.columns])
    table = table[list(ordered)].assign(probe=table["probe"].map(LABELS))
    marks = (table[["UAS", "low", "high"]] / 100).assign(
        probe=table["probe"], measure=table["measure"].replace("", NO_ATTENTION)
    )
    return Section(
        explanation="Parsers that see nothing but attention: each head has a weight, which in "
        "“attention and words” depends on the vectors of the two words. UAS is the share of words "
        "whose governor is found, punctuation left out. Beyond the paper: the best tree over the "
        "same scores, UUAS, and probes on other measures than the weight.",
        drawings=[
            writer.picture(
                bars(
                    marks,
                    "probe",
                    "UAS",
                    series="measure",
                    colours={NO_ATTENTION: "other"},
                    x_label="UAS",
                    percent=True,
                    limits=(0.0, 1.0),
                ),
                "UAS with 95% intervals, sentences resampled.",
                ", ".join(
                    f"{probe}{measure and f' ({measure})'} {uas:.0f}%"
                    for probe, measure, uas in table[["probe", "measure", "UAS"]].to_numpy()
                ),
            )
        ],
        tables=[
            writer.table(
                table,
                "All probes, in percent; the interval is that of UAS",
                formats={**dict.fromkeys(numbers, ".1f"), "epochs": ".0f", "parameters": ","},
            )
        ],
        comparisons=_comparisons(table),
        notes=_notes(reproduction),
    )


def load_probe_table(reproduction: Reproduction[Settings]) -> pandas.DataFrame:
    """A line for each probe and measure, shares in percent; low and high are of UAS."""
    result = load_probes(reproduction)
    shares = 100 * result["score"]
    uas = estimates(result, "score", ("row",), metric="uas")
    return pandas.DataFrame(
        {
            "probe": result["probe"].values,
            "measure": result["measure"].values,
            **{label: shares.sel(metric=name).values for name, label in METRICS.items()},
            "low": 100 * uas.low,
            "high": 100 * uas.high,
            "parameters": result["parameters"].values,
            "epochs": result["epochs"].mean("seed").values,
        }
    )


def load_probes(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """All probes on all measures of one forward pass."""
    sources, chosen = reproduction.sources, reproduction.settings
    evaluation, train = (
        source and open_treebank(source, invalid=chosen.invalid)
        for source in (sources.dependency[0], sources.dependency_train)
    )
    return reproduction.run(
        "parser_probes",
        evaluation,
        reads=(
            [chosen.invalid],
            sources.dependency[0],
            sources.dependency_train,
            sources.word_vectors,
        ),
        name="probes",
        objects={"train": train},
        word_vectors=sources.word_vectors,
        max_examples=chosen.max_sentences,
        measures=reproduction.forward_measures,
        seeds=(chosen.seed,),
        processes=chosen.processes,
    )


def _comparisons(table: pandas.DataFrame) -> list[Comparison]:
    """The rows of the paper, whose attention is the weight: here the first measure."""
    first = table.drop_duplicates("probe").set_index("probe")["UAS"]
    uuas = table[table["probe"] == LABELS["attention_and_words"]]["UUAS"]
    rows = []
    for name, number in published.TABLE_3.items():
        if name == "structural probe":
            ours = float(uuas.iloc[0]) if len(uuas) else None
            note = "the paper's is UUAS of a probe on hidden states; ours of attention and words"
            rows.append(Comparison("structural probe (UUAS)", number, ours, "%", note))
        else:
            our_score = float(first[name]) if name in first.index else None
            rows.append(Comparison(name, number, our_score, "%"))
    return rows


def _notes(reproduction: Reproduction) -> list[str]:
    sources = reproduction.sources
    trained = (
        f"Trained on {stem(sources.dependency_train)}, evaluated on {stem(sources.dependency[0])}"
        if sources.dependency_train
        else f"Trained on nine tenths of {stem(sources.dependency[0])} and evaluated on the rest"
    )
    vectors = Path(sources.word_vectors).name if sources.word_vectors else "the model's own"
    return [
        model_note(reproduction),
        f"{trained}; the paper's treebank is the Penn Treebank (36,160 and 1,696 sentences).",
        f"Word vectors: {vectors}; the paper's are GloVe of 100 dimensions.",
        "Trained with early stopping on a tenth of the training sentences; the released code makes "
        "one pass, one sentence at a time, and gives each candidate the vector of the word after "
        "it by mistake, which is set right here.",
    ]


MARGIN = 0.1
"""A head is named after a relation if it beats the best fixed offset by so much."""


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
                _within_layers(result),
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
    """Heads that find a relation, or antecedents, far better than a baseline does."""
    jobs: dict[tuple[int, int], str] = {}
    measure = reproduction.settings.measures[0]
    if reproduction.sources.dependency:
        best = best_heads(
            load_dependencies(reproduction, reproduction.sources.dependency[0]), measure
        )
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


def _within_layers(result: xarray.Dataset) -> pandas.DataFrame:
    """Whether heads of one layer are nearer to each other than to those of other layers."""
    same = result["layer"] == result["second_layer"]
    others = xarray.DataArray(~np.eye(result.sizes["first"], dtype=bool), dims=("first", "second"))
    pairs = ("first", "second")
    within = result["distance"].where(same & others).mean(pairs)
    between = result["distance"].where(~same).mean(pairs)
    return frame_of({"same layer": within, "other layers": between, "ratio": within / between})
