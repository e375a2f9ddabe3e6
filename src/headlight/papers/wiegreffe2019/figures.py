"""Figures 3 and 4, what seeds and adversaries change of attention; Figure 5, the JSD-TVD plane."""

import numpy as np
import pandas
import xarray

from headlight.papers.exhibit import Content, exhibit
from headlight.papers.reproduction import Reproduction
from headlight.papers.wiegreffe2019.results import IN_CONTEXT, frames_of, lambdas_of, load_all
from headlight.papers.wiegreffe2019.tables import ENCODER_NAMES, OF_WHAT, SOURCE, notes_of
from headlight.papers.writer import ExhibitWriter
from headlight.views.pictures import Box, BoxPanel, Line, LinePanel, Reference, boxes, lines

EDGES = (0.25, 0.5, 0.75, 1.0)
"""Up to which a largest weight goes in each column, as in the paper."""
LABELS = [f"≤ {edge:g}" for edge in EDGES]
BOUND = float(np.log(2))
COLOURS = {"seeds": "#0072b2", "adversary": "#d1500a"}


@exhibit(
    "figure-3",
    "How far attention differs from seed to seed, and in adversaries",
    f"{SOURCE}, Figures 3 and 4",
)
def figure_3(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """JSD to the base against its largest weight, for other seeds and for an adversary."""
    results = load_all(reproduction)
    weight = lambdas_of(reproduction)[-1]
    panels, table = [], []
    for title, found in results.items():
        for encoder in IN_CONTEXT:
            frame = _texts(found, encoder, weight)
            name = f"{title}, {ENCODER_NAMES[encoder]}"
            panels.append(_panel(name, frame))
            table += _medians(title, encoder, frame)
    far = [
        float(found["adversary_jsd"].sel({"lambda": weight}).mean()) for found in results.values()
    ]
    picture = writer.picture(
        boxes(panels, columns=2),
        "JSD of a text's attention to the base's by its largest weight there: other seeds (blue, "
        f"the median over seeds) and the adversary of λ = {weight:g} (red). Lines are medians over "
        "texts, boxes quartiles, whiskers the 5th and the 95th percentile.",
        f"The adversary has a mean JSD from {min(far):.2f} to {max(far):.2f}.",
    )
    return Content(
        f"{OF_WHAT} Where attention is concentrated on one word and still is the same for other "
        "seeds, it is hardly a matter of chance; an adversary has to be further away than seeds "
        "are before it says anything against attention.",
        pictures=[picture],
        tables=[writer.table(pandas.DataFrame(table), "Median JSD over texts", formats=FORMATS)],
        notes=notes_of(reproduction),
    )


FORMATS = {"texts": ".0f", "seeds": ".3f", "adversary": ".3f"}


def _texts(found: xarray.Dataset, encoder: str, weight: float) -> pandas.DataFrame:
    """A row for each text: its largest weight, and how far others are from its attention."""
    of = found.sel(encoder_of=encoder)
    return pandas.DataFrame(
        {
            "largest": of["largest"].values,
            "seeds": of["seed_jsd"].values,
            "adversary": of["adversary_jsd"].sel({"lambda": weight}).values,
        }
    )


def _panel(title: str, frame: pandas.DataFrame) -> BoxPanel:
    shown = [
        Box.of(label if name == "seeds" else "", some[name].to_numpy(), colour)
        for label, some in zip(LABELS, _binned(frame), strict=True)
        for name, colour in COLOURS.items()
    ]
    return BoxPanel(title, shown, "largest weight", "JSD to the base", limits=(0.0, 0.7))


def _binned(frame: pandas.DataFrame) -> list[pandas.DataFrame]:
    place = np.digitize(frame.largest, EDGES[:-1], right=True)
    return [frame[place == each] for each in range(len(EDGES))]


def _medians(title: str, encoder: str, frame: pandas.DataFrame) -> list[dict[str, object]]:
    return [
        {
            "set": title,
            "encoder": ENCODER_NAMES[encoder],
            "largest weight": name,
            "texts": len(some),
            "seeds": float(some.seeds.median()),
            "adversary": float(some.adversary.median()),
        }
        for name, some in zip(LABELS, _binned(frame), strict=True)
        if len(some)
    ]


@exhibit("figure-5", "Attention moved against predictions moved", f"{SOURCE}, Figure 5")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Content:
    """JSD over TVD: adversaries by λ, other seeds, uniform attention, adversaries of texts."""
    rows, results = frames_of(reproduction), load_all(reproduction)
    panels = []
    for title, found in results.items():
        for encoder in IN_CONTEXT:
            some = rows[(rows.set == title) & (rows.encoder == encoder)]
            panels.append(_plane(f"{title}, {ENCODER_NAMES[encoder]}", some, found, encoder))
    taught = rows[rows.kind == "adversary"]
    picture = writer.picture(
        lines(panels, columns=2),
        "How far attention and predictions are from the base's of the first seed, as means over "
        "the texts of the test part. The line goes through the adversaries from λ = 0 on; the "
        "adversaries of single texts (Jain and Wallace "
        "2019) keep the model and change its weights text by text.",
        f"Adversaries reach a JSD of {taught.jsd.max():.2f}; other seeds have "
        f"{rows[rows.kind == 'seed'].jsd.mean():.2f}.",
    )
    columns = ["set", "encoder", "kind", "guide", "seed", "weight", "tvd", "jsd", "kl", "f1"]
    writer.keep(rows[columns], "models")
    return Content(
        f"{OF_WHAT} A point high up on the left attends otherwise and predicts the same. A steep "
        "line says that attention can be moved at no cost; one that leans to the right, that what "
        "a model attends to matters for what it predicts.",
        pictures=[picture],
        notes=notes_of(reproduction),
    )


def _plane(title: str, rows: pandas.DataFrame, found: xarray.Dataset, encoder: str) -> LinePanel:
    taught = rows[rows.kind == "adversary"].sort_values("weight")
    named = {
        "other seeds": rows[rows.kind == "seed"],
        "uniform, trained": rows[rows.kind == "guided"],
        "uniform, put in": rows[rows.kind == "uniform"],
    }
    series = [Line("adversaries, by λ", taught.tvd.to_numpy(), taught.jsd.to_numpy(), marked=True)]
    series += [
        Line(name, some.tvd.to_numpy(), some.jsd.to_numpy(), marked=True, joined=False)
        for name, some in named.items()
        if len(some)
    ]
    of = found.sel(encoder_of=encoder)
    tvd, jsd = (np.array([float(of[f"instance_{name}"].mean())]) for name in ("tvd", "jsd"))
    series.append(Line("of single texts", tvd, jsd, marked=True, joined=False))
    return LinePanel(
        title,
        series,
        "TVD to the base's predictions",
        "JSD to its attention",
        references=[Reference(BOUND, "ln 2")],
    )
