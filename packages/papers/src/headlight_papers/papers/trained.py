"""Models that papers train: references beside a base, a table of all, and points of a plane."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas
import xarray

from headlight.views.parts import Curve, Reference
from headlight.vocabulary import Part
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.training.teacher import TeacherTrainer
from headlight_papers.training.text_classifier import outputs_of

Rows = Sequence[tuple[dict[str, Any], dict[str, Any]]]
"""What a model is, and what was measured of it, on each part."""


def lambdas_of(reproduction: Reproduction) -> list[float]:
    """In order, each once, and 0 among them."""
    return sorted({0.0, *reproduction.settings.lambdas})


def beside(
    trainer: TeacherTrainer[Any, Any, Any],
    base: Any,
    others: Sequence[Any],
    parts: Sequence[Part] = ("dev", "test"),
) -> Rows:
    """Beside a base those of other seeds, and itself with uniform attention put in.

    Args:
        trainer: of all of them, which have been trained.
        base: what others are compared with.
        others: bases of other seeds; in their rows they are of the kind ``seed``.
        parts: on which they are compared.
    """
    taught, model, data = trainer.outputs(base, parts), trainer.model(base), trainer.data.parts
    uniform = {part: [trainer.plain(batch, "uniform") for batch in data[part]] for part in parts}
    even = {part: outputs_of(model, data[part], uniform[part]) for part in parts}
    found = [({**vars(each), "kind": "seed"}, trainer.outputs(each, parts)) for each in others]
    return [
        (
            about,
            {
                part: trainer.quality(data[part], outputs[part])
                | trainer.difference(data[part], outputs[part], taught[part])
                for part in parts
            },
        )
        for about, outputs in [*found, ({**vars(base), "kind": "uniform"}, even)]
    ]


def columns_of(rows: Rows, *names: str) -> dict[str, tuple[str, list[Any]]]:
    """Return the columns that describe models, along ``run``; no weight is NaN."""
    missing = {"weight": np.nan}
    return {
        name: ("run", [missing.get(name, "") if of[name] is None else of[name] for of, _ in rows])
        for name in names
    }


LINE = "line"
"""The kind of the rows that a line goes through."""
PLANE: dict[str, Any] = {
    "x_label": "TVD to the base's predictions",
    "y_label": "JSD to the base's attention",
    "references": [Reference(float(np.log(2)), "ln 2")],
}
"""Of the plane of Wiegreffe and Pinter (2019), Figure 5."""


def with_line(
    rows: pandas.DataFrame, middle: str, by: Sequence[str] = (), of: Sequence[str] = ("tvd", "jsd")
) -> xarray.Dataset:
    """Models, and of the adversaries of each λ a middle, in the order of λ.

    Args:
        rows: a model each, with its ``kind`` and ``weight``.
        middle: ``median`` or ``mean``.
        by: columns that tell tasks apart.
        of: columns of what is drawn.
    """
    groups = rows[rows.kind == "adversary"].groupby([*by, "weight"])[list(of)]
    line = groups.agg(middle).reset_index().assign(kind=LINE)
    return pandas.concat([rows, line], ignore_index=True).to_xarray()


def points(
    kinds: Mapping[str, str],
    panel: str = "",
    of: Mapping[str, Hashable] | None = None,
    *,
    x: str = "tvd",
    y: str = "jsd",
    **axes: Any,
) -> Iterator[Curve]:
    """A point for each model, and the line; it has markers where adversaries are not shown.

    Args:
        kinds: what each is called, in the order of the legend.
        panel: its title.
        of: what tells its models from those of other panels.
        x: the column of the horizontal axis.
        y: that of the vertical one.
        axes: their names and lines; see `Curve`.
    """
    for kind, name in kinds.items():
        marked, chosen = kind != LINE or "adversary" not in kinds, {**(of or {}), "kind": kind}
        yield Curve(y, name, panel, over=x, of=chosen, marked=marked, joined=kind == LINE, **axes)
