"""Measure the embedded decoder on questions that it was not trained on, and write its card.

    python scripts/decoder_card.py --run build/decoder --out src/headlight/assets/decoder

Everything in the card is measured by this script or read from the log of the training run.
"""

import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import story_texts
import torch
from pretrain_decoder import answered, copied
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

import headlight

ASKED = 500
"""Questions of each kind."""
KINDS = (
    ("one passage", {"passages": 1}),
    ("three passages that say different things", {"alike": False}),
    (
        "of these, asked what follows in a fact (*Where is the key?*)",
        {"alike": False, "begins": False},
    ),
    (
        "of these, asked what a fact begins with (*Who has the key?*)",
        {"alike": False, "begins": True},
    ),
    ("three passages, of which several may be of one kind", {}),
    (
        "three passages, all of one kind (*The key is in the shed*, *The hat is on the roof*)",
        {"alike": True},
    ),
    ("three passages, half of the words in no list", {"invented": 0.5}),
)
FILES = ("config.json", "generation_config.json", "model.safetensors", "tokenizer.json")
FILES += ("tokenizer_config.json",)


def answers_table(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> str:
    rows = []
    for name, drawn in KINDS:
        asked = [story_texts.held_out(number, **drawn) for number in range(ASKED)]
        rows.append(f"| {name} | {np.mean(answered(model, tokenizer, asked)):.1%} |")
    return "\n".join(rows)


def written(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, text: str) -> str:
    """The text, and how the model goes on with it."""
    ids = tokenizer(text, return_tensors="pt").input_ids
    made = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=60, do_sample=False
    )
    return tokenizer.decode(made[0], skip_special_tokens=True)


def capitals(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> int:
    right = 0
    for country, capital in story_texts.CAPITALS.items():
        ids = tokenizer(f"The capital of {country} is", return_tensors="pt").input_ids
        best = int(model(input_ids=ids, use_cache=False).logits[0, -1].argmax())
        right += best == tokenizer(f" {capital}", add_special_tokens=False).input_ids[0]
    return right


def heads(folder: Path) -> str:
    """Heads that look back where random tokens are repeated."""
    result = headlight.circuits(
        model=str(folder), parts=["repeated"], measures=["weight"], progress=False
    )
    lines = []
    for behaviour, said in (
        ("prefix_matching", "What came after the same token before, in repeated random tokens"),
        ("previous_token", "The previous token, there"),
    ):
        scores = result["repeated"].sel(measure="weight", behaviour=behaviour)
        values = scores.transpose("layer", "head").values
        order = np.argsort(-values.ravel())[:3]
        places = [np.unravel_index(at, values.shape) for at in order]
        found = ", ".join(f"L{layer}H{head} {values[layer, head]:.2f}" for layer, head in places)
        lines.append(f"- {said}: {found}.")
    return "\n".join(lines)


def card(run: Path, folder: Path, note: str) -> str:
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    rows = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    config, last = model.config, rows[-1]
    size = sum(path.stat().st_size for path in folder.iterdir() if path.name != "README.md")
    story = written(model, tokenizer, "Anna went to the market.")
    known = capitals(model, tokenizer)
    return f"""# headlight-stories

A small decoder that comes with Headlight, so that `generate`, `sources` and `predict` run without a
hub: a Llama of {config.num_hidden_layers} layers, width {config.hidden_size}, {config.num_attention_heads} query heads and \
{config.num_key_value_heads} key and value heads in each, rotary
positions up to {config.max_position_embeddings}, a byte-level vocabulary of {config.vocab_size:,}, \
{model.num_parameters() / 1e6:.1f} million parameters in float16, {size / 1e6:.1f} MB. It goes on
with small stories, and answers a question from passages that are put before it. **It is not** a
source of knowledge, no chat model, and reads no other English well: beyond the words and sentences
of its stories it can copy, and little else.

**Licence.** Apache-2.0. **Training.** By `scripts/pretrain_decoder.py` (`make pretrain-decoder`).

**Data.** Texts that `scripts/story_texts.py` puts together, each read once: passages with
questions in the words of `headlight sources`, stories, facts such as capitals, words that come
again, facts hidden in other text; and rows of random tokens that are repeated. No text of others
is in it. One word of a fact in six or so is made of syllables or taken from the sample corpus.

**Course.** {last["step"]:,} steps, {last["tokens"] / 1e6:.1f} million tokens, bfloat16, on CPU; \
Muon for the matrices inside the layers and
AdamW for the rest, learning rate {max(row["rate"] for row in rows):.2g}, constant, then down to zero. What is to be known from
what stands before counts more than the rest. Two heads of the first layer begin with attention to the
previous token, which copying needs and which is long in coming by itself. {note}

## On questions that it was not trained on

A fact joins two words, such as a thing and a place. Of these pairs one in {story_texts.HELD_OUT} is in no text to
train on, and these questions are about such pairs alone. An answer is right if every token of it is
what the model writes, and then it ends.

| {ASKED:,} questions each | answered right |
|---|---|
{answers_table(model, tokenizer)}

- Of {len(story_texts.CAPITALS)} capitals that stand in its texts it knows {known}.
- Of random tokens that are repeated it predicts {copied(model, tokenizer):.1%}.

It goes on, most probable token by token, with its first sentence:

> {story}

## Its heads

By `headlight circuits`, of the weight:

{heads(folder)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, default=Path("build/decoder"))
    parser.add_argument("--out", type=Path, help="folder to copy the model to; default: RUN/model")
    parser.add_argument("--note", default="", help="sentences about the course of the run")
    asked = parser.parse_args()
    model = asked.run / "model"
    text = card(asked.run, model, asked.note)
    folder = asked.out or model
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if folder != model and (model / name).exists():
            shutil.copyfile(model / name, folder / name)
    (folder / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
