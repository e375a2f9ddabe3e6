"""Table 1 and Section 4.2: single heads as parsers."""

import pandas
import xarray

from headlight.findings.phrases import plural
from headlight.views.parts import By, Comparison, Drawing, Map, Section, Table
from headlight.views.parts.bar_charts import bars
from headlight.vocabulary import head_name as own_name, measure as measure_row
from headlight_papers.papers.clark2019 import published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.results import load_dependencies, stem
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.findings.dependency import all_heads, best_heads

ARROWS = {"dependent": "dependent → head", "head": "head → dependent"}
"""Labels of the directions of attention."""
MAPPED = 30
"""Relations on the map of all heads."""
DRAWN = 16
"""Relations in the picture of accuracies."""


@exhibit("table-1", "Table 1 and Section 4.2", "dependency")
def table_1(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads as parsers."""
    pictures: list[Drawing] = []
    tables: list[Table] = []
    comparisons: list[Comparison] = []
    notes: list[str] = []
    for source in reproduction.sources.dependency:
        result, name = load_dependencies(reproduction, source), stem(source)
        tables.append(_relations_table(result, name, writer))
        pictures += [_relations_drawing(result, name, writer), _relations_map(result, name, writer)]
        comparisons += _relations_comparisons(result, name)
        notes.append(_treebank_note(result, name))
        for measure in result["measure"].values:
            of_all_heads = _named(all_heads(result, str(measure)))
            writer.keep(of_all_heads, f"{name}-all-heads-{measure}")
    return Section(
        explanation="A head predicts for each word the other word that its attention is strongest "
        "to (or from). The best head of each relation, in the direction that suits it, beside the "
        "best fixed offset. Head and offset are chosen on the sentences that they are evaluated "
        "on, as in the paper. All measures answer the same question: which word gets most.",
        drawings=pictures,
        tables=tables,
        comparisons=comparisons,
        notes=[model_note(reproduction), *notes, published.AUXPASS_ERRATUM],
    )


def _relations_table(result: xarray.Dataset, name: str, writer: ExhibitWriter) -> Table:
    """Make Table 1: the best head by the first measure in full, and by the others in short."""
    measures = [str(measure) for measure in result["measure"].values]
    best = {measure: best_heads(result, measure) for measure in measures}
    first = _named(best[measures[0]])
    frame = pandas.DataFrame(
        {
            "relation": first["relation"],
            "words": first["count"].astype(int),
            "head": first["head"],
            "who attends": first["direction"].map(ARROWS),
            "accuracy": 100 * first["accuracy"],
            "low": 100 * first["low"],
            "high": 100 * first["high"],
            "offset": first["offset"].map(lambda offset: f"{offset:+d}"),
            "baseline": 100 * first["baseline"],
        }
    )
    for measure in measures[1:]:
        other = _named(best[measure])
        frame[f"{measure} head"] = other["head"]
        frame[measure] = 100 * other["accuracy"]
    numbers = ["accuracy", "low", "high", "baseline", *measures[1:]]
    return writer.table(
        frame,
        f"{name}: the best head of each relation by {measure_row(measures[0]).title}, and the "
        "accuracy of the best head by the other measures, in percent",
        formats=dict.fromkeys(numbers, ".1f"),
        highlight=[
            (row, "accuracy")
            for row in range(len(frame))
            if frame["low"][row] > frame["baseline"][row]
        ],
        note="Low and high: 95% interval from blocks of sentences; it does not account for the "
        "choice of the head. Highlighted: the interval lies above the baseline.",
        name=name,
    )


def _named(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the table with the names of heads in place of their numbers from 0."""
    names = [
        head_name(layer, head) for layer, head in zip(frame["layer"], frame["head"], strict=True)
    ]
    return frame.assign(head=names).drop(columns="layer")


def _relations_drawing(result: xarray.Dataset, name: str, writer: ExhibitWriter) -> Drawing:
    """Draw every measure's best head beside the best offset."""
    measures = [str(measure) for measure in result["measure"].values]
    marks = pandas.concat(
        [best_heads(result, measure).iloc[:DRAWN].assign(measure=measure) for measure in measures]
    )
    marks["name"] = list(map(own_name, marks["layer"], marks["head"]))
    omitted = len(best_heads(result, measures[0])) - DRAWN
    label = f"accuracy\nleft out: {plural(omitted, 'more relation')}" if omitted > 0 else "accuracy"
    first = marks[marks["measure"] == measures[0]]
    return writer.picture(
        bars(
            marks.rename(columns={"baseline": "best fixed offset"}),
            "relation",
            "accuracy",
            series="measure",
            ticks=["best fixed offset"],
            note="name",
            x_label=label,
            percent=True,
            limits=(0.0, 1.0),
        ),
        f"{name}: accuracy of the best head of each relation, with 95% intervals. Named is the "
        f"best head by {measure_row(measures[0]).title}.",
        ", ".join(
            f"{relation} {100 * accuracy:.0f}%"
            for relation, accuracy in zip(first["relation"], first["accuracy"], strict=True)
        ),
        f"{name}-accuracy",
    )


def _relations_map(result: xarray.Dataset, name: str, writer: ExhibitWriter) -> Drawing:
    """Draw all heads and relations, in the better of the two directions."""
    relations = [str(relation) for relation in result["relation"].values[:MAPPED]]
    omitted = result.sizes["relation"] - MAPPED
    chosen = result["accuracy"].isel(measure=0).sel(relation=relations).max("direction")
    values = chosen.stack(place=("layer", "head")).dropna("place", how="all")
    rows = [own_name(layer, head) for layer, head in values["place"].values]
    return writer.maps(
        xarray.Dataset(
            {"accuracy": (("place", "relation"), values.transpose("place", "relation").values)},
            coords={"place": rows, "relation": relations},
        ),
        Map(
            "accuracy",
            measure_row(str(chosen["measure"].values)).title,
            rows=By("place", heading="head"),
            columns="relation",
            limits=(0.0, 1.0),
            format=".0%",
            unit="accuracy",
            annotated=False,
        ),
        caption=f"{name}: accuracy of every head at every relation, in its better direction."
        + (f" Left out: {plural(omitted, 'more relation')}." if omitted > 0 else ""),
        alternative="Each row is a head, each column a relation; darker is more accurate.",
        name=f"{name}-map",
    )


def _relations_comparisons(result: xarray.Dataset, name: str) -> list[Comparison]:
    """Return the rows of Table 1 beside the nearest relation of this treebank."""
    frame = best_heads(result, str(result["measure"].values[0]), min_count=1)
    best = frame.set_index("relation").to_dict("index")
    rows = []
    for relation, row in published.TABLE_1.items():
        near = relation if relation in best else row.universal
        match = best.get(near)
        label = relation if near == relation else f"{relation} ({near})"
        note = f"there head {row.head}, baseline {row.baseline} ({row.offset:+d})"
        if match is not None:
            head = head_name(int(match["layer"]), int(match["head"]))
            note += f"; here {head}, {100 * match['baseline']:.1f} ({int(match['offset']):+d})"
        else:
            note += "; no word here has this relation"
        accuracy = None if match is None else 100 * float(match["accuracy"])
        rows.append(Comparison(f"{name}: {label}", row.accuracy, accuracy, "%", note))
    return rows


def _treebank_note(result: xarray.Dataset, name: str) -> str:
    attributes = result.attrs
    left_out = {
        "too_long": "sentences too long for the model",
        "invalid": "sentences with invalid annotation",
        "unencodable": "sentences with words that the tokenizer drops",
        "cut_words": "words whose governor was cut off",
    }
    counts = [f"{attributes[key]} {what}" for key, what in left_out.items() if attributes.get(key)]
    right = float(result["right_branching"].sel(relation="all"))
    return (
        f"{name}: {attributes['sentences']} sentences, {attributes['words']} words"
        + (f"; left out: {', '.join(counts)}" if counts else "")
        + f". Right-branching finds {100 * right:.1f}% of all governors (26 in the paper). The "
        "paper's treebank is the Wall Street Journal with Stanford Dependencies; where relations "
        "have other names here, the nearest is compared, and its extent may differ."
    )
