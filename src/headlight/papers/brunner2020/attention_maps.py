"""Figure 6: raw, effective and null attention of one head on one text."""

from dataclasses import dataclass

import numpy as np
import pandas
from jaxtyping import Float

from headlight.capture import LayerRecord
from headlight.encode import encode_one
from headlight.encode.batch import collate
from headlight.measures import Scores
from headlight.papers.brunner2020 import published_attention as published
from headlight.papers.brunner2020.attention_results import bias_note, passage, value_bias
from headlight.papers.naming import head_name
from headlight.papers.reproduction import Study
from headlight.papers.text import model_note
from headlight.papers.writer import ExhibitWriter
from headlight.views.exhibits import Comparison, Exhibit
from headlight.views.pictures import HeadMap, head_map

ROWS = 28
"""Rows that are shown."""
LINKS = 3
"""Links that are highlighted."""
NEAR = 2
"""Positions from a token up to which a link is near the diagonal."""

Map = Float[np.ndarray, "query key"]


@dataclass(frozen=True, eq=False)
class Example:
    """The attention of one head on one text."""

    layer: int
    head: int
    tokens: list[str]
    raw: Map
    effective: Map

    def links(self, rows: range) -> list[tuple[int, int]]:
        """The strongest effective links of these rows away from the diagonal, strongest first."""
        far = np.abs(np.subtract.outer(np.arange(len(self.raw)), np.arange(len(self.raw)))) > NEAR
        scores = np.where(far, self.effective, -np.inf)[rows.start : rows.stop]
        order = np.argsort(scores, axis=None)[::-1][:LINKS]
        places = (np.unravel_index(place, scores.shape) for place in order)
        return [(int(row) + rows.start, int(key)) for row, key in places]


def figure_6(
    study: Study,
    desk: ExhibitWriter,
    *,
    layer: int = published.EXAMPLE_LAYER - 1,
    head: int | None = None,
    texts: tuple[str, str] | None = None,
    rows: range | None = None,
) -> Exhibit:
    """Heat maps of one head, the strongest effective links away from the diagonal framed.

    Args:
        study: the model.
        desk: where the files go.
        layer: whose head it is; the last one if there are fewer layers.
        head: which; by default the one whose effective attention differs most from the raw one.
        texts: two, longer than the head is wide, or nothing is in the null space; by default ours.
        rows: the attending positions that are shown; by default a part of the second text.
    """
    example = _example(study, layer, head, texts or passage(study))
    shown = rows or _middle_rows(example)
    links = example.links(shown)
    maps = {
        "Raw": example.raw,
        "Effective": example.effective,
        "Null": example.raw - example.effective,
    }
    name = head_name(example.layer, example.head)
    drawn = [
        HeadMap(
            f"{title} attention of head {name}",
            values[shown.start : shown.stop],
            rows=[example.tokens[row] for row in shown],
            columns=example.tokens,
            row_label="query",
            column_label="key",
            scale="change",
            framed=[(row - shown.start, key) for row, key in links],
        )
        for title, values in maps.items()
    ]
    table = pandas.DataFrame([_row(example, row, key) for row, key in links])
    special = _special_share(study, example, shown)
    return Exhibit(
        name="figure-6",
        title="Raw, effective and null attention of one head",
        source="Brunner et al. (2020), Figure 6 and Appendix A.3",
        explanation="One head on a text of ours; for readability only some attending tokens are "
        "shown. Framed: the strongest effective links that are more than "
        f"{NEAR} tokens from the diagonal. Raw is effective and null attention together.",
        pictures=[
            desk.picture(
                head_map(drawn, columns=1, annotate=False),
                f"Raw, effective and null attention of head {name}.",
                "; ".join(f"{row['query']} to {row['key']}" for row in table.to_dict("records")),
            )
        ],
        tables=[
            desk.table(
                table,
                "The framed links",
                formats=dict.fromkeys(("raw", "effective", "null"), ".3f"),
            )
        ],
        comparisons=[
            Comparison(
                f"{title.lower()} attention to [CLS] and [SEP], mean of the rows shown",
                None,
                100 * special[title],
                "%",
                "in the paper's example it has vanished from effective attention",
            )
            for title in maps
        ],
        notes=[
            model_note(study),
            f"Head {name} is, in its layer, the one whose effective attention correlates least "
            "with its raw attention on this text; the paper does not say how it chose its head.",
            bias_note(study),
        ]
        if head is None
        else [model_note(study), bias_note(study)],
        files=desk.written,
    )


def _example(study: Study, layer: int, head: int | None, texts: tuple[str, str]) -> Example:
    model = study.model
    layer = min(layer, len(model.sites_of(study.kind)) - 1)
    example = encode_one(study.tokenizer, *texts, max_length=model.longest)
    found: list[tuple[Map, Map]] = []

    def visit(record: LayerRecord) -> None:
        scores = Scores(record, value_bias(study))
        found.append(
            tuple(each[0].double().cpu().numpy() for each in (scores.weight, scores.effective))  # type: ignore[arg-type]
        )

    with model.capture(model.sites_of(study.kind, [layer])) as recorder:
        recorder.visit = visit
        model.run(collate([example], pad_id=0, device=model.transformer.device))
    raw, effective = found[0]
    if head is None:
        with np.errstate(invalid="ignore"):
            alike = [
                np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(raw, effective, strict=True)
            ]
        head = int(np.nanargmin(alike)) if np.isfinite(alike).any() else 0
    tokens = [str(token) for token in study.tokenizer.convert_ids_to_tokens(list(example.ids))]
    return Example(layer, head, tokens, raw[head], effective[head])


def _middle_rows(example: Example) -> range:
    """Rows in the middle of the second text, as in the paper."""
    size = len(example.tokens)
    middle = 5 * size // 8
    first = max(0, min(middle - ROWS // 2, size - ROWS))
    return range(first, min(size, first + ROWS))


def _row(example: Example, query: int, key: int) -> dict[str, object]:
    raw, effective = float(example.raw[query, key]), float(example.effective[query, key])
    return {
        "query": example.tokens[query],
        "key": example.tokens[key],
        "apart": abs(query - key),
        "raw": raw,
        "effective": effective,
        "null": raw - effective,
    }


def _special_share(study: Study, example: Example, rows: range) -> dict[str, float]:
    """What goes to special tokens, on average over the rows."""
    special = set(study.tokenizer.all_special_tokens)
    keys = [place for place, token in enumerate(example.tokens) if token in special]
    parts = {
        "Raw": example.raw,
        "Effective": example.effective,
        "Null": example.raw - example.effective,
    }
    return {
        name: float(values[rows.start : rows.stop][:, keys].sum(1).mean())
        for name, values in parts.items()
    }
