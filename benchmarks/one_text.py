"""One text: where tokens come from, what predictions and attention are made of.

Processor time in one thread, over that of the plain forward pass on the same text.
"""

import time
from collections.abc import Callable, Mapping

import torch

import headlight
from benchmarks.timing import ratio, rounds
from headlight.corpora import open_corpus
from headlight.corpora.samples import SAMPLE_TEXT
from headlight.encode import Encoded, texts
from headlight.settings.flow import METHODS
from headlight.token_flow.input_maps import input_maps

TOKENS = 128
SEVERAL = ("rollout", "rollout_layer_norm", "globenc", "alti")
NOTE = """Processor time in one thread, for one text of 128 tokens, over that of the plain forward
pass on it (the embedded model with its head, six layers of 256). What a method costs holds the pass
in which it looks at the model."""


def questions() -> Mapping[str, Callable[[], object]]:
    """What is timed, the plain forward pass first."""
    model = headlight.load(head="any")
    source = open_corpus(SAMPLE_TEXT)
    example = next(
        each
        for each in texts(source, model.require_tokenizer("a benchmark reads"), max_length=TOKENS)
        if len(each.ids) == TOKENS
    )
    text = str(model.tokenizer.decode(example.ids[1:-2]))  # type: ignore[union-attr]
    return {
        "plain": lambda: model.run(model.collate([example])),
        **{name: _maps(model, example, [name]) for name in METHODS},
        "together": _maps(model, example, list(SEVERAL)),
        "predict": lambda: model.predict(text, position=TOKENS // 2),
        "routes": lambda: model.routes(text),
        "explain": lambda: model.explain(text, layer=4, head=1),
    }


def _maps(model: headlight.Model, example: Encoded, names: list[str]) -> Callable[[], object]:
    return lambda: input_maps(model, example, names)


def main() -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(1)
    asked = questions()
    times = rounds(asked, 3, time.process_time)
    said = {
        **{name: f"flow: {method.label}" for name, method in METHODS.items()},
        "together": f"flow: {', '.join(METHODS[name].label for name in SEVERAL)} in one pass",
        "predict": "predict: heads, tokens and layers of one logit",
        "routes": "routes: parts of all sums",
        "explain": "explain: one cell of attention",
    }
    remarks = {
        "value_zeroing": f"what follows the attention runs {TOKENS} times",
        "decompx": f"{TOKENS} tangents",
        "gradient_hidden": f"{TOKENS} tangents",
        "attribution": f"16 × {TOKENS} tangents",
    }
    return [
        (what, f"{ratio(times, name, 'plain'):.1f}×", "", remarks.get(name, ""))
        for name, what in said.items()
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
