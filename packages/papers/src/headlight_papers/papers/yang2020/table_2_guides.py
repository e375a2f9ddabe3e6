"""Table 2: F1 of models whose attention is given."""

import numpy as np
import pandas

from headlight.views.parts import Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.yang2020.exhibit import exhibit
from headlight_papers.papers.yang2020.notes import notes_of
from headlight_papers.papers.yang2020.results import (
    chosen_lambdas,
    frame_of,
    load_guided,
    load_sweep,
)


@exhibit("table-2", "Table 2 and Section 4.3")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of models whose attention is given."""
    rows = frame_of(load_guided(reproduction))
    base = frame_of(load_sweep(reproduction))
    small, large = chosen_lambdas(reproduction)
    table = [
        {"attention": "its own, trained (the base)", "published": "", **_quality(base, "base")}
    ]
    wanted = [
        ("of the base", "base", np.nan, "0.90"),
        *(
            (f"of the adversary, λ = {multiplier:g}", "adversary", multiplier, published_f1)
            for multiplier, published_f1 in {small: "0.90", large: "0.89"}.items()
        ),
        ("uniform", "uniform", np.nan, ""),
        ("each word to itself", "identity", np.nan, ""),
    ]
    for name, guide, weight, published_f1 in wanted:
        some = rows[(rows.guide == guide) & ((rows.weight == weight) | np.isnan(weight))]
        table.append({"attention": name, "published": published_f1, **_quality(some)})
    frame = pandas.DataFrame(table)
    return Section(
        explanation="A new model is trained on gold tags while attention comes from elsewhere: for "
        "each sentence the weights of a trained model, which stay as they are. In the released "
        "code nothing was frozen, so that the published rows are models with attention of their "
        "own. Uniform attention and each word's attention to itself are the controls: what guides "
        "is worth what it adds to these.",
        tables=[writer.table(frame, "Means over seeds on the test part")],
        notes=notes_of(reproduction),
    )


def _quality(rows: pandas.DataFrame, kind: str = "") -> dict[str, str]:
    some = rows[rows.kind == kind] if kind else rows
    columns = {"f1": "F1", "f1_lenient": "F1, conlleval", "nll": "NLL gold"}
    return {title: str(mean_interval(some[key])) for key, title in columns.items()}
