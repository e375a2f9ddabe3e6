"""Figure 5: attention moved against predictions moved."""

import pandas

from headlight.views.parts import Section
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.jsd_tvd_plane import LINE, PLANE, points, with_line
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.wiegreffe2019.exhibit import exhibit
from headlight_papers.papers.wiegreffe2019.notes import ENCODER_NAMES, OF_WHAT, notes_of
from headlight_papers.papers.wiegreffe2019.results import IN_CONTEXT, frames_of, load_all


@exhibit("figure-5", "Figure 5")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Attention moved against predictions moved."""
    rows, results = frames_of(reproduction), load_all(reproduction)
    texts = [
        {"kind": "texts", "set": title, "encoder": encoder}
        | {
            name: float(result[f"instance_{name}"].sel(encoder_of=encoder).mean())
            for name in ("tvd", "jsd")
        }
        for title, result in results.items()
        for encoder in IN_CONTEXT
    ]
    taught = rows[rows.kind == "adversary"]
    picture = writer.curves(
        with_line(pandas.concat([rows, pandas.DataFrame(texts)]), "mean", ["set", "encoder"]),
        *(
            curve
            for title in results
            for encoder in IN_CONTEXT
            for curve in points(
                KINDS,
                f"{title}, {ENCODER_NAMES[encoder]}",
                {"set": title, "encoder": encoder},
                **PLANE,
            )
        ),
        caption="How far attention and predictions are from the base's of the first seed, as means "
        "over the texts of the test part. The line goes through the adversaries from λ = 0 on; the "
        "adversaries of single texts (Jain and Wallace 2019) keep the model and change its weights "
        "text by text.",
        alternative=f"Adversaries reach a JSD of {taught.jsd.max():.2f}; other seeds have "
        f"{rows[rows.kind == 'seed'].jsd.mean():.2f}.",
        columns=2,
    )
    columns = ["set", "encoder", "kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1"]
    writer.keep(rows[columns], "models")
    return Section(
        explanation=f"{OF_WHAT} A point high up on the left attends otherwise and predicts the "
        "same. A steep line says that attention can be moved at no cost; one that leans to the "
        "right, that what a model attends to matters for what it predicts.",
        drawings=[picture],
        notes=notes_of(reproduction),
    )


KINDS = {
    LINE: "adversaries, by λ",
    "seed": "other seeds",
    "guided": "uniform, trained",
    "uniform": "uniform, put in",
    "texts": "of single texts",
}
