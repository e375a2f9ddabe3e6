"""Table 3: whether attention is of use to another model."""

import numpy as np
import pandas

from headlight.views.parts import Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.wiegreffe2019 import QUOTED
from headlight_papers.papers.wiegreffe2019.exhibit import exhibit
from headlight_papers.papers.wiegreffe2019.notes import OF_WHAT, notes_of
from headlight_papers.papers.wiegreffe2019.quoted_table import quoted_table
from headlight_papers.papers.wiegreffe2019.results import frames_of


@exhibit("table-3", "Table 3 and Section 3.4", title="Whether attention is of use to another model")
def table_3(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of models without context whose attention is given and frozen."""
    rows = frames_of(reproduction)
    rows = rows[rows.encoder == "average"]
    table = []
    for title in rows.set.unique():
        some = rows[rows.set == title]
        quoted = QUOTED.get(title)
        numbers = quoted.guided if quoted and quoted.guided else (np.nan,) * 4
        guides = [
            ("uniform", some[some.guide == "uniform"]),
            ("its own, trained", some[some.kind == "base"]),
            ("of the LSTM", some[some.guide == "base"]),
        ]
        misled = some[some.guide == "adversary"].groupby("weight")
        guides += [(f"of its adversary, λ = {weight:g}", models) for weight, models in misled]
        table += [
            {
                "set": title,
                "attention": name,
                "F1": str(mean_interval(models.f1)),
                "accuracy": str(mean_interval(models.accuracy)),
                "F1, quoted": numbers[place] if place < 3 else np.nan,
            }
            for place, (name, models) in enumerate(guides)
        ]
        if quoted and quoted.guided:
            table.append(
                {
                    "set": title,
                    "attention": f"of an adversary, the paper's λ = {quoted.weight:g}",
                    "F1": "–",
                    "accuracy": "–",
                    "F1, quoted": numbers[3],
                }
            )
    return Section(
        explanation=f"{OF_WHAT} A model that sees each word alone (an affine map and tanh) is "
        "trained with weights that are given and stay as they are. If those of the LSTM help it "
        "more than uniform ones, and as much as its own, attention carries information that does "
        "not depend on the model. Those of adversaries are a single run.",
        tables=[quoted_table(writer, pandas.DataFrame(table), "F1 of models without context")],
        notes=notes_of(reproduction),
    )
