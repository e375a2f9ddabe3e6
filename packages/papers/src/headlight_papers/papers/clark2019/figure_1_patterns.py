"""Figure 1: heads that show a pattern, drawn as lines on a text."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas
import xarray

from headlight.findings import observed, share
from headlight.findings.phrases import percent
from headlight.findings.thresholds import BROAD, MOST
from headlight.views.parts import Comparison, LinkDrawing, Section, attention_lines
from headlight_papers.papers.clark2019 import Settings, published
from headlight_papers.papers.clark2019.exhibit import exhibit
from headlight_papers.papers.clark2019.figure_5_relations import Map
from headlight_papers.papers.clark2019.results import load_survey
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.notes import text_notes
from headlight_papers.papers.paper_numbering import head_name
from headlight_papers.papers.reproduction import Reproduction


@dataclass(frozen=True, slots=True)
class ExampleHead:
    """Head that shows a pattern most.

    Attributes:
        layer: Layer, counted from zero.
        head: Head, counted from zero.
        value: Share of its attention, or its entropy in nats.
        clear: Whether it is a clear example; if not, no head is.
    """

    layer: int
    head: int
    value: float
    clear: bool = True


def example_heads(result: xarray.Dataset) -> dict[str, ExampleHead]:
    """Return one head for each pattern of Figure 1, picked by the first measure of a survey.

    ``broad`` has the largest entropy, ``next`` gives most to the next token, ``sep`` to separators,
    ``punctuation`` to periods and commas.  Of equals the first in the model is taken.

    Args:
        result: Result of a survey.

    Returns:
        Heads by pattern, in the order of the figure, without patterns that the survey does not
        measure (no separators, no neighbours in cross-attention).
    """
    measure = str(result["measure"].values[0])
    numbers = {
        "broad": observed(result, "entropy", measure=measure, query_category="all"),
        "next": observed(result, "neighbour", measure=measure, offset=1),
        "sep": share(result, measure, "sep"),
        "punctuation": share(result, measure, "punctuation"),
    }
    # Patterns are clear from half of the attention on; broad ones from a share of even entropy.
    enough = dict.fromkeys(numbers, MOST) | {"broad": BROAD * float(result["entropy_uniform"])}
    examples = {}
    for pattern, values in numbers.items():
        # Without a single positive value, as of separators in a decoder, there is no example.
        if (values > 0).any():
            layer, head = np.unravel_index(np.nanargmax(values), values.shape)
            place = int(result["layer"].values[layer]), int(result["head"].values[head])
            value = float(values[layer, head])
            examples[pattern] = ExampleHead(*place, value, value >= enough[pattern])
    return examples


FIRST = "The old mill by the river was built in 1802, and it still grinds grain."
SECOND = "Visitors come on Sundays, when the miller opens its doors."
"""Sentences that the heads of Figure 1 read."""

TITLES = {
    "broad": "attends broadly",
    "next": "attends to the next token",
    "sep": "attends to [SEP]",
    "punctuation": "attends to periods and commas",
}
"""Descriptions of clear examples of patterns."""
LEADS = {
    "broad": "broadest of all heads",
    "next": "most to the next token of all heads",
    "sep": "most to [SEP] of all heads",
    "punctuation": "most to periods and commas of all",
}
"""Descriptions of the heads that are picked, however little they show a pattern."""

Head = tuple[int, int]


@exhibit("figure-1", "Figure 1")
def figure_1(reproduction: Reproduction[Settings], writer: ExhibitWriter) -> Section:
    """Examples of heads."""
    survey = load_survey(reproduction)
    measure = reproduction.settings.measures[0]
    picked = example_heads(survey)
    drawings, rows = [], []
    for pattern, example in picked.items():
        tokens, weights = _piece_map(reproduction, (example.layer, example.head))
        name = head_name(example.layer, example.head)
        notes = what_it_does(pattern, example)
        drawings.append(LinkDrawing(f"Head {name}", tokens, tokens, weights, [notes]))
        rows.append({"pattern": notes, "head": name, "value": example.value})
    return Section(
        explanation="For each pattern of Section 3 the head that shows it most in the survey, on a "
        "text of ours. Left attends, right is attended to; the darker the line, the more.",
        drawings=[
            writer.picture(
                partial(attention_lines, drawings),
                "The attention weights of four heads on one pair of sentences.",
                "; ".join(f"head {row['head']}: {row['pattern']}" for row in rows),
            )
        ],
        tables=[writer.table(pandas.DataFrame(rows), "Picked by the survey: share, or entropy")],
        comparisons=[
            Comparison(
                LEADS[pattern],
                name,
                head_name(picked[pattern].layer, picked[pattern].head)
                if pattern in picked
                else None,
            )
            for pattern, name in published.FIGURE_1
        ],
        notes=[
            *text_notes(reproduction, survey),
            f"Heads are picked and drawn by {measure}."
            if measure != "gradient"
            else "Heads are drawn by the weight.",
        ],
    )


def what_it_does(pattern: str, example: ExampleHead) -> str:
    """Return a head's mean behaviour in absolute terms: ``most to [SEP] of all heads: 7%``."""
    value = f"{example.value:.2f} nats" if pattern == "broad" else percent(example.value)
    return f"{(TITLES if example.clear else LEADS)[pattern]}: {value}"


def _piece_map(reproduction: Reproduction, head: Head) -> tuple[list[str], Map]:
    """Return the tokens of our text, and the attention weights between them."""
    (layer, number), kind = head, reproduction.kind
    reading = reproduction.model.read(FIRST, SECOND, kind=kind, layers=[layer], heads=[number])
    weight = reading.weight.squeeze(("layer", "head"))
    return list(map(str, weight["key_token"].values)), weight.values.astype(np.float64)
