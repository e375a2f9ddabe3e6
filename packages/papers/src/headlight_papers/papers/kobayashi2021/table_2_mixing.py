"""Table 2: mixing ratios by five ways of looking."""

import pandas
import xarray

from headlight.views.parts import Comparison, Section
from headlight_papers.papers import kobayashi2021 as published
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2021.exhibit import exhibit
from headlight_papers.papers.kobayashi2021.mixing_results import METHODS, load_mixing, notes_of
from headlight_papers.papers.reproduction import Reproduction

STATISTICS = {"mean": "mean", "max": "largest", "min": "smallest"}


@exhibit("table-2", "Table 2")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Mixing ratios by five ways of looking."""
    result = load_mixing(reproduction)
    frame = overall(result)
    comparisons = [
        Comparison(f"{method}: {name}", getattr(published.TABLE_2[scope], field), ours, "%")
        for scope, (method, numbers) in zip(
            METHODS, frame.set_index("method").iterrows(), strict=True
        )
        for (name, field), ours in zip(STATISTICS.items(), numbers, strict=True)
    ]
    others = ", ".join(
        f"{method} {published.TABLE_2[scope].roberta}%" for scope, method in METHODS.items()
    )
    return Section(
        explanation="The mixing ratio of a token is the length of what other tokens give it, over "
        "that and the length of what it gives itself: by weights (W) or norms (N), of the "
        "attention alone, with the residual connection (RES), and behind the layer norm as well "
        "(LN). Numbers are over all tokens of all layers.",
        tables=[writer.table(frame, "Over the tokens of all layers, in percent", formats=".1f")],
        comparisons=comparisons,
        notes=[f"The paper's means of RoBERTa-base: {others}.", *notes_of(reproduction, result)],
    )


def overall(result: xarray.Dataset) -> pandas.DataFrame:
    """Return a row for each scope, in percent; every layer has the same number of tokens."""
    by_scope = result.sel(scope=list(METHODS))
    return pandas.DataFrame(
        {
            "method": list(METHODS.values()),
            "mean": 100 * by_scope["mixing_mean"].mean("layer").values,
            "max": 100 * by_scope["mixing_max"].max("layer").values,
            "min": 100 * by_scope["mixing_min"].min("layer").values,
        }
    )
