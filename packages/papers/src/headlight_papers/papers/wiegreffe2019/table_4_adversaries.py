"""Table 4 and Section 4: models that predict the same and attend otherwise."""

import pandas

from headlight.views.parts import Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.wiegreffe2019 import QUOTED, UNCHECKED
from headlight_papers.papers.wiegreffe2019.exhibit import exhibit
from headlight_papers.papers.wiegreffe2019.models_in_context import models_in_context
from headlight_papers.papers.wiegreffe2019.notes import ENCODER_NAMES, OF_WHAT, notes_of
from headlight_papers.papers.wiegreffe2019.results import frames_of


@exhibit("table-4", "Section 4")
def table_4(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Models that predict the same and attend otherwise."""
    rows = frames_of(reproduction)
    table = []
    for title, encoder, some in models_in_context(rows):
        taught = some[some.kind == "adversary"].groupby("weight")
        models = [("other seeds", some[some.kind == "seed"])]
        models += [(f"λ = {weight:g}", adversaries) for weight, adversaries in taught]
        table += [
            {
                "set": title,
                "encoder": ENCODER_NAMES[encoder],
                "model": name,
                **{key: float(models_of_kind[column].mean()) for key, column in SHOWN.items()},
            }
            for name, models_of_kind in models
            if len(models_of_kind)
        ]
    columns = ["set", "λ", "F1", "TVD", "our TVD", "JSD"]
    quoted = pandas.DataFrame(
        [
            (title, quote.weight, quote.f1, quote.tvd, 2 * quote.tvd, quote.jsd)
            for title, quote in QUOTED.items()
            if quote.tvd is not None and title in set(rows.set)
        ],
        columns=columns,
    )
    tables = [writer.table(pandas.DataFrame(table), "Adversaries by λ", formats=FORMATS)]
    if len(quoted):
        caption = f"Of the paper ({UNCHECKED})"
        formats = {"λ": "g", **dict.fromkeys(columns[2:], ".3f")}
        tables.append(writer.table(quoted, caption, formats=formats, name="quoted"))
    return Section(
        explanation=f"{OF_WHAT} An adversary is trained to predict as the base does and to attend "
        "otherwise, by a loss of TVD minus λ times KL. What counts is the distance to the row of "
        "other seeds, which differ without being asked to, and to λ = 0.",
        tables=tables,
        notes=notes_of(reproduction),
    )


SHOWN = {
    "F1": "f1",
    "TVD": "tvd",
    "JSD": "jsd",
    "KL": "kl",
    "agreement": "agreement",
    "epochs": "epochs",
}
FORMATS = {"epochs": ".0f", **dict.fromkeys(("F1", "TVD", "JSD", "KL", "agreement"), ".3f")}
