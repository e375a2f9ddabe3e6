"""Evaluate the embedded model on text that it was not trained on, and write its card.

    python scripts/model_card.py DATA --run build/pretrain --model src/headlight/assets/model

Everything in the card is measured by this script or read from the log of the training run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pretrain import HELD_OUT, Examples, Tokens, losses, training_files
from transformers import BertForPreTraining, BertTokenizerFast

from headlight.capture import load_model
from headlight.corpora import open_corpus
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as survey

BATCHES, ROWS, LENGTH = 150, 16, 128


def evaluate(
    model: BertForPreTraining, tokens: Tokens, training: Tokens, stop: int
) -> dict[str, Any]:
    """Masked words and next segments on held-out text, beside the unigram baseline."""
    examples = Examples(tokens, model.config.vocab_size, stop, masking=0.15)
    counts = np.bincount(training.ids, minlength=model.config.vocab_size) + 1.0
    unigram = np.log(counts / counts.sum())
    best = int(counts.argmax())
    seen: dict[str, list[float]] = {}
    for batch in batches(examples):
        with torch.inference_mode():
            values = {name: float(value) for name, value in losses(model, batch).items()}
        labels = batch["labels"][batch["labels"] >= 0].numpy()
        values["unigram"] = float(-unigram[labels].mean())
        values["unigram_accuracy"] = float((labels == best).mean())
        for name, value in values.items():
            seen.setdefault(name, []).append(value)
    return {name: float(np.mean(values)) for name, values in seen.items()}


def batches(examples: Examples) -> Iterator[dict[str, torch.Tensor]]:
    for number in range(BATCHES):
        yield examples.batch(np.random.default_rng([1, number]), ROWS, LENGTH)


def heads(model: Path, held_out: list[Path]) -> dict[str, Any]:
    """What a survey of held-out text says about the heads."""
    subject = load_model(model, device="cpu")
    texts = open_corpus(held_out[0])
    result = survey(texts, subject, SurveySettings(pairs=True, max_examples=992), progress=False)
    weight = result["share"].sel(measure="weight", query_category="all")
    norm = result["share"].sel(measure="norm", query_category="all")
    neighbour = result["neighbour"].sel(measure="weight")
    found: dict[str, Any] = {}
    for name, offset in (("previous", -1), ("next", 1)):
        values = neighbour.sel(offset=offset)
        place = values.argmax(("layer", "head"))
        found[name] = {
            "count": int((values > 0.5).sum()),
            "best": f"{int(place['layer'])}-{int(place['head'])}",
            "share": float(values.max()),
        }
    special = {"key_category": ["cls", "sep"]}
    found["special_weight"] = [
        float(v) for v in weight.sel(special).sum("key_category").mean("head")
    ]
    found["special_norm"] = [float(v) for v in norm.sel(special).sum("key_category").mean("head")]
    found["special_tokens"] = float(result["token_share"].sel(special).sum())
    return found


def statement(found: dict[str, Any]) -> str:
    """Whether special tokens get weight but little norm."""
    pairs = list(zip(found["special_weight"], found["special_norm"], strict=True))
    much = [
        layer for layer, (weight, _) in enumerate(pairs) if weight > 3 * found["special_tokens"]
    ]
    lost = [layer for layer in much if pairs[layer][1] < 0.5 * pairs[layer][0]]
    if not much:
        return (
            "It does not show: in no layer do [CLS] and [SEP] get more than three times the weight "
            "that their number would give them, so there is nothing to cancel."
        )
    names = ", ".join(map(str, much))
    if len(lost) == len(much):
        return (
            f"It shows: in layers {names} [CLS] and [SEP] get more than three times the weight that "
            "their number would give them, and their share of the norm is less than half of that."
        )
    return (
        f"It shows in part: in layers {names} [CLS] and [SEP] get more than three times the weight "
        "that their number would give them; their share of the norm is less than half of that in "
        + (f"layers {', '.join(map(str, lost))} only." if lost else "none of them.")
    )


def card(
    run: Path, scores: dict[str, Any], found: dict[str, Any], words: int, parameters: int
) -> str:
    notes = run / "notes.txt"  # what whoever trained it has to say
    last = json.loads((run / "log.jsonl").read_text().splitlines()[-1])
    layers = "\n".join(
        f"| {layer} | {100 * weight:.1f}% | {100 * norm:.1f}% |"
        for layer, (weight, norm) in enumerate(
            zip(found["special_weight"], found["special_norm"], strict=True)
        )
    )
    return f"""# headlight-small

A small BERT that comes with Headlight, so that everything runs without a hub: six layers, eight
heads, width 256, 256 positions, a lower-casing WordPiece vocabulary of 8,000,
{parameters / 1e6:.1f} million parameters, stored in float16. It is large enough for attention to show
structure and small enough to ship. It is not meant for anything else.

**Licence.** Apache-2.0. **Training.** By `scripts/pretrain.py` (`make pretrain`), from random
weights, on masked words and next segments.

**Data.** English Wikipedia of late 2018 (CC BY-SA 3.0), {words / 1e6:.0f} million words in WikiExtractor
files; the files {", ".join(f"`{name}`" for name in HELD_OUT)} were kept out of training.

**Course.** {last["step"]:,} steps, {last["tokens"] / 1e6:.1f} million tokens, bfloat16, on CPU; batches of
8,192 tokens; Muon for the matrices inside the layers and AdamW for the rest, learning rate 0.002,
constant, then down to zero; 20% of the positions masked.
{notes.read_text(encoding="utf-8") if notes.exists() else ""}
## On text kept out of training

{BATCHES * ROWS:,} sequences of {LENGTH} tokens, 15% of the positions chosen, BERT's 80/10/10 rule.

| | headlight-small | unigram baseline |
|---|---|---|
| masked word, top-1 accuracy | {100 * scores["masked_accuracy"]:.1f}% | {100 * scores["unigram_accuracy"]:.1f}% |
| masked word, perplexity | {np.exp(scores["masked"]):.1f} | {np.exp(scores["unigram"]):.0f} |
| masked word, loss in nats | {scores["masked"]:.3f} | {scores["unigram"]:.3f} |
| next segment, accuracy | {100 * scores["next_accuracy"]:.1f}% | 50% |

## Its heads

From a survey of 992 pairs of held-out segments, 128 tokens each.

- {found["previous"]["count"]} heads give more than half of their weight to the previous token; the
  strongest, {found["previous"]["best"]}, gives {100 * found["previous"]["share"]:.0f}%.
- {found["next"]["count"]} heads give more than half of it to the next token; the strongest,
  {found["next"]["best"]}, gives {100 * found["next"]["share"]:.0f}%.

**Do special tokens get weight but little norm**, as Kobayashi et al. (2020) found in BERT?
{statement(found)} Special tokens are {100 * found["special_tokens"]:.1f}% of all tokens.

| layer | weight on [CLS] and [SEP] | norm on [CLS] and [SEP] |
|---|---|---|
{layers}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--run", type=Path, default=Path("build/pretrain"))
    parser.add_argument("--model", type=Path, default=Path("src/headlight/assets/model"))
    arguments = parser.parse_args()
    tokenizer = BertTokenizerFast.from_pretrained(arguments.model)
    model = BertForPreTraining.from_pretrained(arguments.model, dtype=torch.float32).eval()
    _, held_out = training_files(arguments.data)
    training = Tokens.load(arguments.run / "tokens.npz")
    words = json.loads((arguments.run / "words.json").read_text())["words"]
    scores = evaluate(
        model, Tokens.encode(held_out, tokenizer), training, tokenizer.convert_tokens_to_ids(".")
    )
    found = heads(arguments.model, held_out)
    text = card(arguments.run, scores, found, words, model.num_parameters())
    (arguments.model / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
