"""Table 2 and Section 4.3: single heads as resolvers of coreference."""

import numpy as np
import pandas
import xarray

from headlight.findings.estimates import estimates
from headlight.views.parts import Comparison, Drawing, Map, Section, Table
from headlight.views.parts.bar_charts import bars
from headlight_papers.papers.clark2019 import Settings, published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.results import load_antecedents, stem
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction
from headlight_words.findings.coreference import systems_table

KINDS = ("all", "pronoun", "proper", "nominal")
BASELINES = ("nearest", "head match", "rule-based")


@exhibit("table-2", "Table 2 and Section 4.3", "coreference")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Heads as resolvers of coreference."""
    pictures: list[Drawing] = []
    tables: list[Table] = []
    comparisons: list[Comparison] = []
    notes: list[str] = []
    for source in reproduction.sources.coreference:
        result, name = load_antecedents(reproduction, source), stem(source)
        best = systems_table(result)
        tables.append(_antecedents_table(best, name, writer))
        pictures += [
            _antecedents_drawing(result, best, name, writer),
            writer.maps(
                result[["accuracy"]].sel(mention_kind="all").max("direction"),
                Map(
                    "accuracy", by="measure", limits=(0, 1), format=".0%", unit="antecedents found"
                ),
                caption=f"{name}: antecedents found by every head, in its better direction.",
                alternative="Rows are layers, columns are heads.",
                name=f"{name}-map",
            ),
        ]
        comparisons += _antecedents_comparisons(best, name)
        notes.append(_note(reproduction, result, name))
    return Section(
        explanation="How often the head word of a mention attends most to the head word of one of "
        "its antecedents, among the head words of the mentions before it: heads and baselines pick "
        "from the same candidates. The best head is chosen on the same mentions, as in the paper.",
        drawings=pictures,
        tables=tables,
        comparisons=comparisons,
        notes=[model_note(reproduction), *notes],
    )


def _antecedents_table(best: pandas.DataFrame, name: str, writer: ExhibitWriter) -> Table:
    frame = pandas.DataFrame({"system": [_label(model, row) for model, row in best.iterrows()]})
    for kind in KINDS:
        frame[kind] = best[kind].to_numpy()
    return writer.table(
        frame,
        f"{name}: antecedents found, in percent",
        formats=dict.fromkeys(KINDS, ".1f"),
        name=name,
    )


def _label(model: object, row: pandas.Series) -> str:
    if pandas.isna(row["layer"]):
        return str(model)
    who = "" if row["direction"] == "mention" else ", antecedent attends"
    return f"head {head_name(int(row['layer']), int(row['head']))} by {model}{who}"


def _antecedents_drawing(
    result: xarray.Dataset, best: pandas.DataFrame, name: str, writer: ExhibitWriter
) -> Drawing:
    """Draw best heads as marks with intervals, baselines as ticks, by kind of mention."""
    heads = best.dropna(subset="layer")
    rows = []
    baselines = [str(baseline) for baseline in result["baseline"].values]
    for kind in KINDS:
        of_kind = result.sel(mention_kind=kind)
        ticks = {
            baseline: float(of_kind["baseline_accuracy"].sel(baseline=baseline))
            for baseline in baselines
        }
        label = f"{kind} ({int(of_kind['count'])})"
        for measure, row in heads.iterrows():
            cell = of_kind.sel(
                measure=measure,
                layer=int(row["layer"]),
                head=int(row["head"]),
                direction=row["direction"],
            )
            accuracy = estimates(cell, "accuracy", ())
            numbers = {"accuracy": accuracy.value, "low": accuracy.low, "high": accuracy.high}
            rows.append({"kind": label, "measure": measure, **numbers, **ticks})
    return writer.picture(
        bars(
            pandas.DataFrame(rows),
            "kind",
            "accuracy",
            series="measure",
            ticks=baselines,
            x_label="antecedents found",
            percent=True,
            limits=(0.0, 1.0),
        ),
        f"{name}: the best head of each measure and the baselines, with 95% intervals; in "
        "brackets, how many mentions there are.",
        f"The best head finds {best.iloc[len(BASELINES)]['all']:.0f}% of all antecedents."
        if len(best) > len(BASELINES)
        else "Baselines only.",
        f"{name}-accuracy",
    )


def _antecedents_comparisons(best: pandas.DataFrame, name: str) -> list[Comparison]:
    ours = dict(zip(BASELINES, best.index[: len(BASELINES)], strict=True))
    measured = [str(model) for model in best.index[len(BASELINES) :]]
    records = {str(model): row for model, row in best.to_dict("index").items()}
    rows = []
    for model, numbers in published.TABLE_2.items():
        row = ours.get(model) or (measured[0] if model == "best head" and measured else None)
        for kind, number in zip(KINDS, numbers, strict=True):
            if number is not None:
                our_score = None if row is None else float(records[row][kind])
                note = "not a baseline that is computed here" if model == "neural" else ""
                if our_score is not None and np.isnan(our_score):
                    note = "there are no such mentions here"
                rows.append(Comparison(f"{name}: {model}, {kind}", number, our_score, "%", note))
    return rows


def _note(reproduction: Reproduction[Settings], result: xarray.Dataset, name: str) -> str:
    attributes = result.attrs
    counts = {kind: int(result["count"].sel(mention_kind=kind)) for kind in ("all", *KINDS[1:])}
    overlap = reproduction.settings.overlap
    read = (
        "each document cut off after 128 tokens"
        if overlap is None
        else f"documents read whole, in windows that share {overlap} words"
    )
    return (
        f"{name}: {attributes.get('documents')} documents, {counts['all']} mentions with an "
        f"antecedent in the window ({counts['pronoun']} pronouns, {counts['proper']} proper, "
        f"{counts['nominal']} nominal), {read}. The paper's data is CoNLL-2012, cut to 128 tokens "
        "per document; its way of choosing heads, candidates and head words was not published."
    )
