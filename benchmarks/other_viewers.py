"""Pages of BertViz, CircuitsVis and Inspectus, written by the Python in which they are installed.

python other_viewers.py WEIGHTS OUT

WEIGHTS is an .npz file with the weights of all heads (layer, head, query, key) and the tokens.
Nothing of Headlight is imported here.
"""

import sys
from pathlib import Path
from unittest import mock

import numpy as np

START = '<!doctype html><meta charset="utf-8"><body>'


def bertviz(weights: np.ndarray, tokens: list[str]) -> str:
    """The view of the whole model."""
    import torch
    from bertviz import model_view

    layers = [torch.from_numpy(layer)[None] for layer in weights]
    return str(model_view(attention=layers, tokens=tokens, html_action="return").data)


def circuitsvis(weights: np.ndarray, tokens: list[str]) -> str:
    """All heads, with the script within the page."""
    from circuitsvis.attention import attention_heads

    flat = weights.reshape(-1, *weights.shape[2:])
    return str(attention_heads(attention=flat, tokens=tokens).local_src)


def inspectus(weights: np.ndarray, tokens: list[str]) -> str:
    """All charts that it draws by default; it gives nothing back, but displays."""
    import inspectus

    shown = []
    with mock.patch("IPython.display.display", shown.append):
        inspectus.attention(weights, tokens)
    return "".join(each.data for each in shown)


if __name__ == "__main__":
    given = np.load(sys.argv[1])
    for view in (bertviz, circuitsvis, inspectus):
        page = view(given["weights"], given["tokens"].tolist())
        (Path(sys.argv[2]) / f"{view.__name__}.html").write_text(START + page, encoding="utf-8")
