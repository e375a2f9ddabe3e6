"""Figure 5: pairs of α and ‖f(x)‖."""

from functools import partial

import numpy as np
import pandas

from headlight.views.parts import Section, density, weight_and_length
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.kobayashi2020.exhibit import exhibit
from headlight_papers.papers.kobayashi2020.norm_results import LABELS, categories, load_norms
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.reproduction import Reproduction


@exhibit("figure-5", "Figure 5 and Section 4.2")
def figure_5(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Pairs of α and ‖f(x)‖."""
    result = load_norms(reproduction)
    panels, frames = [], []
    longest = float(result["pairs_sample"].sel(quantity="norm").max())
    for name in categories(result):
        pairs = result["pairs_sample"].sel(key_group=name).values
        pairs = pairs[np.isfinite(pairs).all(axis=1)]
        frames.append(
            pandas.DataFrame({"category": LABELS[name], "α": pairs[:, 0], "‖f(x)‖": pairs[:, 1]})
        )
        if (pairs[:, 0] > 0).any():
            panels.append(weight_and_length(LABELS[name], pairs, longest, scale="norm"))
    writer.keep(pandas.concat(frames, ignore_index=True))
    sizes = ", ".join(
        f"{len(frame):,} of {frame['category'].iloc[0]}" for frame in frames if len(frame)
    )
    return Section(
        explanation="Each pair is an attending and an attended token in one head. The paper plots "
        "1% of all pairs as points; here a uniform random sample of each kind is drawn as a "
        "density, α on a logarithmic axis: the darker, the more pairs.",
        drawings=[
            writer.picture(
                partial(density, panels, columns=2),
                "Density of sampled pairs, by kind of the attended token.",
                f"Sampled pairs: {sizes}.",
            )
        ]
        if panels
        else [],
        notes=[f"Sampled pairs: {sizes}.", *text_notes(reproduction, result)],
    )
