"""Contributions to a prediction, as tables, a page and in a terminal."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headlight.findings import labels_of, pieces_of
from headlight.findings.candidates import of_template, unknown
from headlight.findings.phrases import layer_list, listed, plural
from headlight.findings.piece_text import INSIDE
from headlight.findings.segment_sums import segment_sums
from headlight.findings.token_names import split_words
from headlight.views.headline import BarList, Headline, signed_bars
from headlight.views.number_formats import signed
from headlight.views.parts import Drawing, Figure, Section, Summary, Table
from headlight.views.pictures import BarRow, Mark, bars
from headlight.views.reading import prediction_answer
from headlight.views.reading.prediction_answer import target_label, told_apart, word_frame
from headlight.views.titles import model_name, shortened, text_title
from headlight.vocabulary import head_name

SHOWN = 15
"""Parts that are shown, the largest ones."""

MOST_HEADS = 100
"""Heads and tokens in the table of a page."""
MOST_TOKENS = 40
"""Tokens of a text that are drawn: in their order, the largest."""

WRITERS = 5
"""Parts of a logit beside the words that it rests on."""
TOGETHER = 0.5
"""Feed-forward layers are counted together that write at least this share of the largest."""

_KINDS = {
    "embeddings": "embeddings",
    "attention": "attention",
    "feed_forward": "feed-forward",
    "other": "other",
    "bias": "bias",
}
DIGITS = 3
"""Decimals of parts of a logit in sentences."""
_DIRECT, _TOTAL = "directly", "through later layers"


def frame_of(prediction: xr.Dataset, name: str) -> pd.DataFrame:
    """Return the parts of a prediction, the largest first.

    Args:
        prediction: Decomposition of a logit.
        name: Kind of part: ``token``, ``component``, ``head``, or, if the text has named segments,
            ``segment``; or ``word`` for what is predicted without each word.
    """
    frame, order = {
        "word": _words,
        "token": _tokens,
        "component": _components,
        "head": _heads,
        "segment": _segments,
    }[name](prediction)
    sizes = -frame[order].abs()
    return frame.loc[sizes.sort_values(kind="stable").index].reset_index(drop=True)


def _words(prediction: xr.Dataset) -> tuple[pd.DataFrame, str]:
    return word_frame(prediction).drop(columns="predicts"), "change"


def _tokens(prediction: xr.Dataset) -> tuple[pd.DataFrame, str]:
    token, position = (prediction[f"{name}_total"].values for name in ("token", "position"))
    columns = {
        "token": _labels(prediction),
        "side": prediction["token_side"].values.astype(str),
        "embedding": token,
        "position": position,
        "sum": token + position,
    }
    if prediction.attrs["position_side"] == "text":
        del columns["side"]
    return pd.DataFrame(columns), "sum"


def _components(prediction: xr.Dataset) -> tuple[pd.DataFrame, str]:
    columns = {
        "component": _names(prediction),
        "kind": prediction["component_kind"].values.astype(str),
        "module": prediction["component_name"].values.astype(str),
        "direct": prediction["direct"].values,
        "total": prediction["total"].values,
    }
    return pd.DataFrame(columns), "direct"


def _heads(prediction: xr.Dataset) -> tuple[pd.DataFrame, str]:
    direct, total = (prediction[f"head_{name}"].values for name in ("direct", "total"))
    sites, heads, tokens = np.nonzero(np.isfinite(direct))
    labels = np.array(_labels(prediction))
    layers = prediction["layer"].values
    columns: dict[str, Any] = {
        "kind": prediction["kind"].values.astype(str)[sites],
        "layer": layers[sites],
        "head": heads,
        "token": labels[tokens],
        "direct": direct[sites, heads, tokens],
        "total": total[sites, heads, tokens],
    }
    return pd.DataFrame(columns), "direct"


def _segments(prediction: xr.Dataset) -> tuple[pd.DataFrame, str]:
    """Return the sums of tokens by segment, and that of biases, which belong to none."""
    rows = []
    if "token_segment" in prediction.coords:
        names = prediction["token_segment"].values.tolist()
        totals = prediction["token_total"].values + prediction["position_total"].values
        first = first_of_decoder(prediction)
        sums = segment_sums(totals, names, first)
        counts = segment_sums(np.ones(len(totals)), names, first)
        rows = [{"segment": name, "tokens": int(counts[name]), "sum": sums[name]} for name in sums]
        rows.append({"segment": "all biases", "tokens": 0, "sum": _biases(prediction)})
    return pd.DataFrame(rows, columns=["segment", "tokens", "sum"]), "sum"


def _labels(prediction: xr.Dataset, *, numbered: bool = True) -> list[str]:
    """Return the labels of tokens: of two texts both where they differ.

    Args:
        prediction: Decomposition of a logit.
        numbered: Whether places tell equal tokens apart.
    """

    def of(tokens: str) -> list[str]:
        if numbered:
            return labels_of(prediction, tokens)
        return [piece.label for piece in pieces_of(prediction, tokens)]

    labels = of("token_text")
    if "token_other" not in prediction.coords:
        return labels
    others = of("token_other")
    pairs = zip(
        labels,
        others,
        prediction["token_text"].values,
        prediction["token_other"].values,
        strict=True,
    )
    return [label if raw == other else f"{label} / {beside}" for label, beside, raw, other in pairs]


def _compare_text(prediction: xr.Dataset) -> str:
    return str(prediction.attrs.get("compare_text", ""))


def _biases(prediction: xr.Dataset) -> float:
    is_bias = prediction["component_kind"].values == "bias"
    return float(prediction["total"].values[is_bias].sum())


def _names(prediction: xr.Dataset) -> list[str]:
    """Return the names of components: their kind and layer, or the parameter if they are biases."""
    kinds = prediction["component_kind"].values.astype(str)
    attention = prediction["component_attention"].values.astype(str)
    several = _has_several_kinds(prediction)
    rows = zip(
        kinds,
        attention,
        prediction["component_layer"].values.tolist(),
        prediction["component_name"].values.astype(str),
        strict=True,
    )
    return [
        name
        if kind in ("bias", "other")
        else _KINDS[kind]
        if layer < 0
        else f"{f'{which} ' if several else ''}{_KINDS[kind]} {layer}"
        for kind, which, layer, name in rows
    ]


def asked(prediction: xr.Dataset) -> str:
    """Describe the logit that was explained, in words."""
    first, second = (f"“{target_label(prediction, name)}”" for name in ("target", "against"))
    return f"{first} against {second}" if prediction.attrs["against"] else first


def sentence(prediction: xr.Dataset) -> str:
    """Return the findings as one short text."""
    sentences = findings(prediction)
    return " ".join(sentences)


def findings(prediction: xr.Dataset) -> list[str]:
    """Return what the prediction rests on, its logit, the largest parts, and what is left over."""
    attributes = prediction.attrs
    logit = float(prediction["logit"])
    what = "the difference of the logits" if attributes["against"] else "the logit"
    text = text_title(attributes)
    sentences = [
        prediction_answer.title(prediction),
        f"{model_name(attributes)} reads “{shortened(text, 60)}”.",
    ]
    if other := _compare_text(prediction):
        sentences.append(
            f"{asked(prediction)}: {what} is {signed(logit, DIGITS)} beside that after "
            f"“{shortened(other, 60)}”; the probability of “{target_label(prediction)}” is "
            f"{float(attributes['probability']):.3g} against "
            f"{float(attributes['compare_probability']):.3g}. All numbers are differences."
        )
    else:
        sentences.append(
            f"{asked(prediction)}: {what} is {signed(logit, DIGITS)}; the probability of "
            f"“{target_label(prediction)}” is {float(attributes['probability']):.3g}."
        )
    sentences += [*_largest_token(prediction), *_largest_component(prediction)]
    remainder = max(abs(float(prediction[f"remainder_{name}"])) for name in ("direct", "total"))
    sentences.append(f"The parts add up to it within {remainder:.1e}.")
    if attributes["notes"]:
        sentences.append(str(attributes["notes"]))
    return sentences


def headline(prediction: xr.Dataset) -> Headline:
    """Return what the prediction rests on, beside what writes its logit."""
    of_words = prediction_answer.bars(prediction)
    pictures = [of_words] if of_words.bars else []
    is_class = bool(prediction.attrs["classes"])
    return Headline(
        prediction_answer.title(prediction),
        prediction_answer.what_was_read(prediction),
        [*pictures, _writers(prediction)],
        kind=f"why this {'class' if is_class else 'word'}",
    )


def _writers(prediction: xr.Dataset) -> BarList:
    """Return the largest of the direct parts that add up to the logit."""
    parts = [*_feed_forward(prediction), *_whole_heads(prediction), *_others(prediction)]
    parts.sort(key=lambda part: -abs(part[1]))
    shown, logit = parts[:WRITERS], float(prediction["logit"])
    largest = max((abs(value) for _, value in shown), default=0.0) or 1.0
    digits = 1 if largest >= 1 else 2
    bars = signed_bars(shown, lambda value: signed(value, digits))
    rest = logit - sum(value for _, value in shown)
    first, aside = first_of_decoder(prediction), []
    if first is not None:
        taken = float(np.nansum(prediction["head_direct"].values[..., first]))
        carried = float(_tokens(prediction)[0]["sum"].iloc[first])
        rest -= taken
        aside.append(
            f"{signed(taken, digits)} from the first token, where heads park attention "
            f"({signed(carried, digits)} through all layers)"
        )
    if len(parts) > len(shown):
        number = plural(len(parts) - len(shown), "smaller part")
        aside.append(f"{signed(rest, digits)} in {number}")
    return BarList(
        _title_of_writers(prediction, signed(logit, digits)),
        bars,
        f"Set aside: {listed(aside)}." if aside else "",
    )


def _title_of_writers(prediction: xr.Dataset, logit: str) -> str:
    if _compare_text(prediction):
        return f"Who writes the difference: parts of {logit} of the logit, exact"
    what = "the difference of the two logits" if prediction.attrs["against"] else "its logit"
    return f"Who writes it: parts of {what}, {logit}, exact"


Part = tuple[str, float]
"""Label of a part of a logit, and its value."""


def _feed_forward(prediction: xr.Dataset) -> list[Part]:
    """Return feed-forward layers together: the large ones of each sign, and all others."""
    frame = pd.DataFrame(
        {
            "layer": prediction["component_layer"].values,
            "kind": prediction["component_attention"].values.astype(str),
            "value": prediction["direct"].values,
        }
    )[prediction["component_kind"].values == "feed_forward"]
    least = TOGETHER * frame["value"].abs().max() if len(frame) else 0.0
    is_large = frame["value"].abs() >= least
    parts: list[Part] = []
    for (kind, _), rows in frame[is_large].groupby(["kind", frame["value"] > 0]):
        which = f"{kind} " if _has_several_kinds(prediction) and kind else ""
        layers = layer_list(sorted(rows["layer"].tolist()))
        parts.append((f"{which}feed-forward {layers}", float(rows["value"].sum())))
    if number := int((~is_large).sum()):
        value = float(frame["value"][~is_large].sum())
        parts.append((f"{plural(number, 'other feed-forward layer')}", value))
    return parts


def _whole_heads(prediction: xr.Dataset) -> list[Part]:
    """Return each head with the words that it takes most from, without a decoder's first token."""
    values = np.nan_to_num(prediction["head_direct"].values)
    first = first_of_decoder(prediction)
    if first is not None:
        values[..., first] = 0.0
    tokens = told_apart(_labels(prediction, numbered=False))
    if "token_other" not in prediction.coords:
        for at, word in split_words(prediction, "token_text").items():
            tokens[at] = f"{tokens[at].replace(f'“{INSIDE}', '“')} of “{word}”"
    kinds = prediction["kind"].values.astype(str)
    known = np.isfinite(prediction["head_direct"].values).any(-1)
    parts = []
    for site, head in np.argwhere(known):
        by_token = values[site, head]
        value = float(by_token.sum())
        toward = np.sign(value) * by_token
        order = np.argsort(-toward, kind="stable")
        # One token where it is most of the head, else two.
        number = 1 if toward[order[0]] >= abs(value) / 2 else 2
        names = ", ".join(tokens[at] for at in order[:number])
        which = f"{kinds[site]} " if _has_several_kinds(prediction) else ""
        name = head_name(int(prediction["layer"].values[site]), int(head))
        parts.append((f"{which}{name} from {names}", value))
    return parts


def _others(prediction: xr.Dataset) -> list[Part]:
    """Return embeddings and the like, and all biases together."""
    kinds, values = prediction["component_kind"].values.astype(str), prediction["direct"].values
    parts = [
        (name, float(value))
        for name, kind, value in zip(_names(prediction), kinds, values, strict=True)
        if kind in ("embeddings", "other")
    ]
    biases = float(values[kinds == "bias"].sum())
    return [*parts, ("all biases", biases)] if biases else parts


def _has_several_kinds(prediction: xr.Dataset) -> bool:
    return len(set(prediction["kind"].values.astype(str))) > 1


def first_of_decoder(prediction: xr.Dataset) -> int | None:
    """Return the place of the first token, in a decoder, where it takes attention as a sink.

    None for other models, and for a text of one token.
    """
    sides = prediction["token_side"].values.astype(str)
    of_decoder = "target" if "target" in sides else "text"
    places = np.flatnonzero(sides == of_decoder)
    is_decoder = "decoder" in prediction["kind"].values.astype(str)
    return int(places[0]) if is_decoder and len(places) > 1 else None


def _largest_token(prediction: xr.Dataset) -> list[str]:
    """Return a sentence on the largest token beside those left out, the first, and biases."""
    tokens, _ = _tokens(prediction)
    if not len(tokens):
        return []
    first = first_of_decoder(prediction)
    left_out = {
        "the first token": [] if first is None else [first],
        "unknown tokens": unknown(prediction, "token_text"),
        "the template of the chat": of_template(prediction, "token_segment"),
    }
    others = tokens.drop(index=list(set[int]().union(*left_out.values())))
    beside = [name for name, places in left_out.items() if places and len(others)]
    others = others if len(others) else tokens
    row = others.iloc[int(np.abs(others["sum"].to_numpy()).argmax())]
    where = f"Beside {listed(beside)}" if beside else "Of the text"
    part = f"{where}, the largest part is that of “{row['token']}” ({signed(row['sum'], DIGITS)})"
    total = _biases(prediction)
    biases = f"; all biases together add {signed(total, DIGITS)}" if total else ""
    if first is None:
        return [f"{part}{biases}."]
    sink = tokens.iloc[first]
    return [
        f"{part}; the first, “{sink['token']}”, which heads attend to for want of others, adds "
        f"{signed(sink['sum'], DIGITS)}{biases}."
    ]


def _largest_component(prediction: xr.Dataset) -> list[str]:
    """Return a sentence on the largest part of all that write directly, and on that of heads."""
    components, heads = frame_of(prediction, "component"), frame_of(prediction, "head")
    if not len(components):
        return []
    row = components.iloc[0]
    number, name = signed(row["direct"], DIGITS), row["component"]
    sentence = f"Directly, of components the largest part is that of {name} ({number})"
    if len(heads):
        row = heads.iloc[0]
        name = head_name(int(row["layer"]), int(row["head"]))
        sentence += (
            f", of single heads that of {name} from “{row['token']}” "
            f"({signed(row['direct'], DIGITS)})"
        )
    return [f"{sentence}."]


def left_out(values: pd.Series, what: str) -> list[str]:
    """Return the number of values that a picture leaves out, and their sum; nothing if none."""
    if not len(values):
        return []
    return [f"{plural(len(values), what)} ({signed(values.sum(), DIGITS)} together)"]


def with_left_out(label: str, parts: Sequence[str]) -> str:
    """Return the label of an axis, with what the picture leaves out below it."""
    return "\n".join([label, *(f"left out: {part}" for part in parts)])


def summary(prediction: xr.Dataset) -> Summary:
    """Return the target, and the sum."""
    attributes = prediction.attrs
    return {
        "target": str(attributes["target"]),
        "against": str(attributes["against"]),
        "logit": float(prediction["logit"]),
        "probability": float(attributes["probability"]),
    }


def sections(prediction: xr.Dataset) -> list[Section]:
    """Return the sections on words left out, on tokens, components and heads."""
    both = prediction.attrs["against"] or _compare_text(prediction)
    unit = "difference of logits" if both else "logit"
    tokens, components, heads = (
        frame_of(prediction, name) for name in ("token", "component", "head")
    )
    order = _tokens(prediction)[0]
    first = first_of_decoder(prediction)
    total = _biases(prediction)
    apart, set_aside = "", [f"all biases ({signed(total, DIGITS)} together)"] if total else []
    if first is not None:
        sink = _tokens(prediction)[0].iloc[first]
        added = signed(sink["sum"], DIGITS)
        set_aside.insert(0, f"the first token, “{sink['token']}” ({added})")
        apart = (
            f" The first token, “{sink['token']}”, adds {added}, as heads attend to "
            "it for want of others; it stands in the table, and not among the bars."
        )
        order = order.drop(index=first, errors="ignore")
    sizes = order["sum"].abs().sort_values(kind="stable").index
    set_aside += left_out(order["sum"].loc[sizes[:-MOST_TOKENS]], "smaller token")
    order = order.loc[sorted(sizes[-MOST_TOKENS:])]
    # With the biases the sums of the table add up to the logit.
    whole = pd.DataFrame([{"token": "all biases", "sum": total}])
    with_biases = pd.concat([tokens, whole], ignore_index=True)
    of_heads = [
        f"{head_name(row['layer'], row['head'])} from {row['token']}"
        for row in heads.head(SHOWN).to_dict("records")
    ]
    segments = frame_of(prediction, "segment")
    by_segment = Section(
        "segments",
        "What each segment adds",
        "Sums over the tokens of a segment; the first token of a decoder is counted apart. With "
        "the biases they add up to the logit.",
        tables=[Table("segments", "Tokens by segment", segments, {"sum": "+.3f"}, sums=("sum",))],
    )
    return [
        *_words_left_out(prediction),
        *([by_segment] if len(segments) else []),
        Section(
            "tokens",
            "What each token adds",
            "Through all layers, with attention weights, statistics of norms and slopes of "
            "activations as constants of this text. Tokens, their positions and the biases add up "
            f"to the logit.{apart}",
            "Modarressi et al. (2023), for one output",
            [
                _drawing(
                    "tokens",
                    order["token"],
                    order,
                    ("embedding", "position"),
                    with_left_out(unit, set_aside),
                )
            ],
            [
                Table(
                    "tokens",
                    "Tokens and biases, through all layers",
                    with_biases,
                    _formats(with_biases),
                    sums=("sum",),
                )
            ],
        ),
        Section(
            "components",
            "What each layer and bias adds",
            "Directly: what it writes into the residual stream, through norms alone; these parts "
            "add up to the logit. Through later layers: its gradient in the linear network times "
            "what it writes; these do not add up, since one component goes through another.",
            "Ferrando et al. (2023)",
            [
                _drawing(
                    "components",
                    components["component"].head(SHOWN),
                    components.head(SHOWN),
                    ("direct", "total"),
                    _largest_of(components, unit, "smaller component"),
                )
            ],
            [
                Table(
                    "components",
                    "Components: directly, and through later layers (total)",
                    components,
                    _formats(components),
                    sums=("direct",),
                )
            ],
        ),
        Section(
            "heads",
            "What each head adds",
            "By the token that it attends to: directly, and through later layers.",
            "Ferrando et al. (2023)",
            [
                _drawing(
                    "heads",
                    of_heads,
                    heads.head(SHOWN),
                    ("direct", "total"),
                    _largest_of(heads, unit, "smaller part"),
                )
            ],
            [
                Table(
                    "heads",
                    "Heads, by the token that they attend to",
                    heads,
                    _formats(heads),
                    sums=("direct",),
                    most=MOST_HEADS,
                )
            ],
        ),
    ]


def _words_left_out(prediction: xr.Dataset) -> list[Section]:
    """Return the section on what is predicted without each word, where any was left out."""
    frame = frame_of(prediction, "word")
    if not len(frame):
        return []
    against = prediction.attrs["against"]
    what = "that the target is the more probable of the two" if against else "of the target"
    return [
        Section(
            "words",
            "What is predicted without each word",
            "Each word is left out, with all its pieces, and the model predicts again: the "
            f"probability {what}. Special tokens, masks, punctuation marks and the template of a "
            "chat stay. The title names at most two words, without which half of the probability "
            "is gone, or twenty points, or something else comes first."
            f"{_how_many(prediction, frame)}",
            "",
            [],
            [
                Table(
                    "words",
                    "Words, by the change without them",
                    frame,
                    {"probability": ".1%", "change": "+.1%"},
                )
            ],
        )
    ]


def _how_many(prediction: xr.Dataset, frame: pd.DataFrame) -> str:
    """Say how many words were left out, where it is not all."""
    words = prediction.sizes["word"]
    if len(frame) == words:
        return ""
    return f" Of {words} words these are the {len(frame)} that add most to the logit."


def _largest_of(frame: pd.DataFrame, unit: str, what: str) -> str:
    return with_left_out(unit, left_out(frame["direct"].iloc[SHOWN:], what))


def _formats(frame: pd.DataFrame) -> dict[str, str]:
    return {str(name): "+.3f" for name in frame if frame[name].dtype.kind == "f"}


def _drawing(
    name: str, labels: Iterable[str], frame: pd.DataFrame, columns: Sequence[str], label: str
) -> Drawing:
    called = {"direct": _DIRECT, "total": _TOTAL}

    def draw() -> Figure:
        filled = [column for column in columns if bool((frame[column] != 0).any())] or columns[:1]
        rows = [
            BarRow(str(label), [Mark(called.get(name, name), float(row[name])) for name in filled])
            for label, row in zip(labels, frame.to_dict("records"), strict=True)
        ]
        return bars(rows, x_label=label)

    unit, *notes = label.split("\n")
    words = f"Bars of {name}, in units of the {unit}{''.join(f'; {note}' for note in notes)}."
    return Drawing(name, "", words, draw)
