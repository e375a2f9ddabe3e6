"""Reading of weights that one has already, as an array and its tokens."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from jaxtyping import Float
from numpy.typing import NDArray

from headlight.errors import UsageError
from headlight.findings.piece_text import INSIDE, piece_text
from headlight.findings.what_was_read import GIVEN, LEAST_SUM
from headlight.reading.reading import Reading
from headlight.result import stamp
from headlight.vocabulary import measure

ROUNDING = 1e-2
"""Difference of the sum of a row from 1 that half precision may make."""

_SPECIAL = re.compile(r"\[(CLS|SEP|BOS|EOS|PAD)\]|<(cls|sep|bos|eos|pad|/?s)>|<\|[^|]+\|>")
_STYLES = {"Ġ": "byte-level", "▁": "sentencepiece", INSIDE: "wordpiece"}
"""Styles of vocabularies, by a sign in their pieces."""


def view(weights: Any, tokens: Sequence[str], key_tokens: Sequence[str] | None = None) -> Reading:
    """Show weights that you have already, of any model and library.

    ``headlight.view(outputs.attentions, tokens).save("weights.html")`` writes their page; in a
    notebook the reading shows itself.  It has the measure ``weight`` alone, as all others need the
    model (`headlight.load`).

    Args:
        weights: Weights α of one text: an array or tensor ``layer head query key``,
            ``head query key`` or ``query key``; or a list of them by layer, also with a batch of
            one before, as ``output_attentions=True`` of transformers gives them.
        tokens: Tokens that attend; those written as ``[CLS]``, ``</s>`` or ``<|…|>`` are special.
        key_tokens: Tokens that are attended to, in cross-attention; by default `tokens`.

    Returns:
        Reading of the kind ``cross`` with `key_tokens`, ``decoder`` where no token has weight on a
        later one, and ``encoder`` otherwise.

    Raises:
        UsageError: The weights have another shape, are of several texts, not finite, or no weights
            (scores before the softmax, say), or the tokens are not as many.
    """
    sides = {"query": tokens, "key": tokens if key_tokens is None else key_tokens}
    for side in sides.values():
        if not isinstance(side, list | tuple | np.ndarray) or any(
            not isinstance(token, str) for token in side
        ):
            raise UsageError(
                "tokens are no list of strings; give one for each row and column, such as "
                "tokenizer.convert_ids_to_tokens(ids)."
            )
    layers = [_checked(layer, at, sides) for at, layer in enumerate(_layers(weights))]
    heads = max(map(len, layers))
    values = np.full((len(layers), heads, *layers[0].shape[1:]), np.nan, np.result_type(*layers))
    for at, layer in enumerate(layers):
        values[at, : len(layer)] = layer  # heads that a layer lacks are NaN, as in any reading
    written = "".join([*sides["query"], *sides["key"]])
    style = next((style for sign, style in _STYLES.items() if sign in written), "")
    coordinates: dict[str, Any] = {"layer": range(len(layers)), "head": range(heads)}
    for name, side in sides.items():
        coordinates[name] = range(len(side))
        coordinates[f"{name}_token"] = (name, list(side))
        coordinates[f"{name}_category"] = (
            name,
            [_category(token, at) for at, token in enumerate(side)],
        )
        coordinates[f"{name}_word"] = (name, _words(side, style))
    ahead = any(np.triu(layer, 1).any() for layer in layers) or len(tokens) == 1
    least = min(float(layer.sum(-1).min()) for layer in layers)
    attributes = {
        "text": _text(sides["key"], style),
        "pair": "" if key_tokens is None else _text(tokens, style),
        "title": "Reading",
        "stage": "reading",
        "kind": "cross" if key_tokens is not None else "encoder" if ahead else "decoder",
        "pieces": style,
        GIVEN: "an array",
        **({LEAST_SUM: least} if least < 1 - ROUNDING else {}),
        **stamp(),
    }
    row = measure("weight")
    variable = (row.axes, values, {"long_name": row.title, "units": row.unit})
    return Reading(xarray.Dataset({"weight": variable}, coordinates, attributes))


def _layers(weights: Any) -> list[NDArray[Any]]:
    """Return the weights of each layer, as ``head query key`` if they are of one text."""
    by_layer = isinstance(weights, list | tuple) and len(weights) > 0
    if by_layer and not any(isinstance(part, list) for part in weights):
        layers = [_array(layer) for layer in weights]
    else:
        whole = _array(weights)
        layers = list(whole) if whole.ndim >= 4 else [whole]
    layers = [layer[None] if layer.ndim == 2 else layer for layer in layers]
    return [layer[0] if layer.ndim == 4 and len(layer) == 1 else layer for layer in layers]


def _array(values: Any) -> NDArray[Any]:
    """Return numbers of any library as an array of at least single precision."""
    if values is None:
        raise UsageError(
            "the weights of a layer are None; load the model of transformers with "
            "attn_implementation='eager', so that it returns them."
        )
    try:
        if hasattr(values, "detach"):  # a tensor, of which numpy knows not every precision
            values = values.detach().cpu()
            values = values.float() if values.dtype.itemsize < 4 else values
        array = np.asarray(values)
        return array.astype(np.float64 if array.itemsize > 4 else np.float32, copy=False)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise UsageError(f"weights are no array of numbers ({problem}).") from problem


def _checked(
    layer: NDArray[Any], number: int, sides: dict[str, Sequence[str]]
) -> Float[np.ndarray, "head query key"]:
    """Return the weights of a layer, or refuse what are no weights of these tokens."""
    if layer.ndim != 3 or not layer.size:
        raise UsageError(
            f"layer {number} has the shape {layer.shape}; give weights of one text, as layer, "
            "head, query, key, or as a list of head, query, key by layer."
        )
    for tokens, size in zip(sides.values(), layer.shape[1:], strict=True):
        if len(tokens) != size:
            rows, columns = layer.shape[1:]
            raise UsageError(
                f"layer {number} has {rows} rows and {columns} columns, and {len(tokens)} tokens "
                "are given; give one for each, and key_tokens where columns have others."
            )
    least, most = layer.min(), layer.sum(-1).max()
    if not np.isfinite(layer).all():
        raise UsageError(f"layer {number} has weights that are not finite (NaN, or infinite).")
    if least < 0 or most > 1 + ROUNDING:
        seen = f"a weight of {least:.3g}" if least < 0 else f"a row with the sum {most:.3g}"
        raise UsageError(
            f"layer {number} has {seen}, so these are no weights; give what the softmax puts out, "
            "whose rows sum to 1, and not its scores, nor what dropout in training mode changes."
        )
    return layer


def _category(token: str, place: int) -> str:
    if _SPECIAL.fullmatch(token):
        return "sep" if place else "cls"
    return "punctuation" if token.lstrip("Ġ▁") in (".", ",") else "other"


def _text(tokens: Sequence[str], style: str) -> str:
    text = ""
    for token in tokens:
        text += ("" if _goes_on(token, style) else " ") + piece_text(token, style).text
    return text.strip()


def _words(tokens: Sequence[str], style: str) -> list[int]:
    """Return the number of the word of each token; -1 for special ones."""
    words: list[int] = []
    for token in tokens:
        if _SPECIAL.fullmatch(token):
            words.append(-1)
        elif words and words[-1] >= 0 and _goes_on(token, style):
            words.append(words[-1])
        else:
            words.append(max(words, default=-1) + 1)
    return words


def _goes_on(token: str, style: str) -> bool:
    """Return whether a token goes on with the word before it."""
    mark = piece_text(token, style).mark
    # WordPiece marks what goes on with a word; the others mark its beginning.
    return mark == INSIDE or (style in ("byte-level", "sentencepiece") and not mark)
