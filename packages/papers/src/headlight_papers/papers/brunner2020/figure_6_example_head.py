"""Figure 6: raw, effective and null attention of one head."""

from dataclasses import dataclass

import numpy as np
import pandas
import xarray
from jaxtyping import Float

from headlight.views.parts import By, Comparison, Map as HeatMap, Section
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.exhibit import exhibit
from headlight_papers.papers.brunner2020.null_space_results import bias_note, passage, value_bias
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import model_note
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction

ROWS = 28
"""Rows that are shown."""
LINKS = 3
"""Links that are highlighted."""
NEAR = 2
"""Positions from a token up to which a link is near the diagonal."""

Map = Float[np.ndarray, "query key"]


@dataclass(frozen=True, eq=False)
class Example:
    """Attention of one head on one text."""

    layer: int
    head: int
    tokens: list[str]
    raw: Map
    effective: Map

    @property
    def parts(self) -> dict[str, Map]:
        """Return raw attention, and the two parts that it is the sum of."""
        return {"Raw": self.raw, "Effective": self.effective, "Null": self.raw - self.effective}

    @property
    def shown(self) -> range:
        """Return rows in the middle of the second text, as in the paper."""
        size = len(self.tokens)
        first = max(0, min(5 * size // 8 - ROWS // 2, size - ROWS))
        return range(first, min(size, first + ROWS))

    def links(self) -> list[tuple[int, int]]:
        """Return the strongest effective links shown away from the diagonal, strongest first."""
        far = np.abs(np.subtract.outer(np.arange(len(self.raw)), np.arange(len(self.raw)))) > NEAR
        rows = self.shown
        scores = np.where(far, self.effective, -np.inf)[rows.start : rows.stop]
        order = np.argsort(scores, axis=None)[::-1][:LINKS]
        places = (np.unravel_index(place, scores.shape) for place in order)
        return [(int(row) + rows.start, int(key)) for row, key in places]


@exhibit("figure-6", "Figure 6 and Appendix A.3")
def figure_6(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """Raw, effective and null attention of one head."""
    example = load_example(reproduction)
    matrix, links = example.shown, example.links()
    name = head_name(example.layer, example.head)
    names = dict(enumerate(example.tokens))
    parts = xarray.Dataset(
        {"attention": (("part", "query", "key"), [*example.parts.values()])},
        coords={"part": list(example.parts), "query": list(names), "key": list(names)},
    )
    drawn = HeatMap(
        "attention",
        f"{{part}} attention of head {name}",
        by="part",
        rows=By("query", names),
        columns=By("key", names),
        scale="change",
        framed=[(row - matrix.start, key) for row, key in links],
        annotated=False,
    )
    table = pandas.DataFrame([_row(example, row, key) for row, key in links])
    special = set(reproduction.tokenizer.all_special_tokens)
    keys = [place for place, token in enumerate(example.tokens) if token in special]
    return Section(
        explanation="One head on a text of ours; for readability only some attending tokens are "
        "shown. Framed: the strongest effective links that are more than "
        f"{NEAR} tokens from the diagonal. Raw is effective and null attention together.",
        drawings=[
            writer.maps(
                parts.isel(query=list(matrix)),
                drawn,
                caption=f"Raw, effective and null attention of head {name}.",
                alternative="; ".join(
                    f"{row['query']} to {row['key']}" for row in table.to_dict("records")
                ),
                columns=1,
            )
        ],
        tables=[
            writer.table(
                table,
                "The framed links",
                formats=dict.fromkeys(("raw", "effective", "null"), ".3f"),
            )
        ],
        comparisons=[
            Comparison(
                f"{title.lower()} attention to [CLS] and [SEP], mean of the rows shown",
                None,
                100 * float(values[matrix.start : matrix.stop][:, keys].sum(1).mean()),
                "%",
                "in the paper's example it has vanished from effective attention",
            )
            for title, values in example.parts.items()
        ],
        notes=[
            model_note(reproduction),
            f"Head {name} is, in its layer, the one whose effective attention correlates least "
            "with its raw attention on this text; the paper does not say how it chose its head.",
            bias_note(reproduction),
        ],
    )


def load_example(reproduction: Reproduction) -> Example:
    """Load the head of the paper's layer whose effective attention is farthest from the raw one.

    The text is ours: longer than the head is wide, or nothing would be in the null space.
    """
    model, kind = reproduction.model, reproduction.kind
    layer = min(published.EXAMPLE_LAYER, len(model.sites_of(kind))) - 1
    bias = value_bias(reproduction)
    reading = model.read(*passage(reproduction), kind=kind, layers=[layer], value_bias=bias)
    raw, effective = (
        attention.squeeze("layer").values.astype(np.float64)
        for attention in (reading.weight, reading.effective)
    )
    with np.errstate(invalid="ignore"):
        alike = [
            np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(raw, effective, strict=True)
        ]
    head = int(np.nanargmin(alike)) if np.isfinite(alike).any() else 0
    tokens = list(map(str, reading.weight["key_token"].values))
    return Example(layer, head, tokens, raw[head], effective[head])


def _row(example: Example, query: int, key: int) -> dict[str, object]:
    return {
        "query": example.tokens[query],
        "key": example.tokens[key],
        "apart": abs(query - key),
        **{name.lower(): float(values[query, key]) for name, values in example.parts.items()},
    }
