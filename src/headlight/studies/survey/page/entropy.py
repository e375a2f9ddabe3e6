"""Section on how broadly attention spreads."""

import xarray as xr

from headlight.findings import category_label, observed
from headlight.studies.survey.page.shares import by_measure, has_numbers
from headlight.views.parts import By, Curve, Drawing, Section, curves
from headlight.views.pictures import Reference


def entropy_section(result: xr.Dataset) -> Section:
    """Return entropies by layer, beside that of uniform attention."""
    uniform = float(observed(result, "entropy_uniform", ()))
    titles = {
        query: f"Entropy in nats, from {category_label(result, query, attending=True)}"
        for query in ("all", "cls")
        if query in result["query_category"].values
    }
    references = [Reference(uniform, "uniform attention")]
    by = (By("query_category", titles), by_measure(result))
    draw = curves(
        result.sel(query_category=list(titles)),
        Curve("entropy", panel="{query_category}", by=by, references=references),
    )
    return Section(
        "entropy",
        "How broadly does attention spread?",
        "Entropy says how broadly a token attends: n nats are an even spread over eⁿ tokens, and 0 "
        "is one token. At the dashed line a head looks at all tokens alike.",
        "Clark et al. (2019), Figure 4",
        [Drawing("entropy", "", "Entropies by layer.", draw)]
        if has_numbers(result, "entropy")
        else [],
    )
