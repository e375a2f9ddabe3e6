"""Train a small decoder to go on with what it has read before, and keep it every so often.

    python scripts/train_copying.py --out build/copying
    headlight survey build/copying/texts.txt --model build/copying/100 --out build/copying/runs/100
    headlight compare build/copying/runs/* --out build/copying/strip

Two layers of four heads read random words, which come once more in the same order.  What can be
known of the second half is found by induction alone: a head of the second layer attends to what
came after the same word before, by what a head of the first layer has written there from the
previous token (Olsson et al. 2022).  In the folder there are a model for every step that is kept,
and ``texts.txt``, texts of the same kind to survey.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from headlight_papers.training.learning_rates import rise_and_fall

WORDS = [
    onset + vowel + end
    for onset in ("b", "d", "k", "l", "m", "p", "s", "t")
    for vowel in ("a", "e", "i", "o")
    for end in ("n", "r")
]
"""Syllables, which mean nothing."""
START, UNKNOWN = SPECIAL = "<s>", "<unk>"
SHORTEST, LONGEST = 8, 24
"""Words that come twice."""
RATE = 5e-3
TO_SURVEY = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--keep-every", type=int, default=100)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    texts = [draw(np.random.default_rng([asked.seed, 1, each]), 1)[0] for each in range(TO_SURVEY)]
    lines = [" ".join(WORDS[word] for word in text) for text in texts]
    (asked.out / "texts.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    train(asked)


def draw(chosen: np.random.Generator, count: int) -> np.ndarray:
    """Some texts of one length: random words, and the same again."""
    length = int(chosen.integers(SHORTEST, LONGEST + 1))
    return np.tile(chosen.integers(len(WORDS), size=(count, length)), 2)


def train(asked: argparse.Namespace) -> None:
    """Write the model to a folder for each step that is kept, from 0."""
    torch.manual_seed(asked.seed)
    config = LlamaConfig(
        vocab_size=len(SPECIAL) + len(WORDS),
        max_position_embeddings=1 + 2 * LONGEST,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        initializer_range=0.05,
        bos_token_id=0,
        eos_token_id=0,
    )
    model, words = LlamaForCausalLM(config), tokenizer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = rise_and_fall(optimizer, asked.steps)
    for step in range(asked.steps + 1):
        if step % asked.keep_every == 0:
            folder = asked.out / f"{step:0{len(str(asked.steps))}d}"
            model.save_pretrained(folder)
            words.save_pretrained(folder)
            print(folder, repeated_accuracy(model, asked.seed), flush=True)
        ids = with_start(draw(np.random.default_rng([asked.seed, 0, step]), asked.batch))
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def with_start(texts: np.ndarray) -> torch.Tensor:
    """Token ids, after the one with which every text begins."""
    return torch.nn.functional.pad(torch.from_numpy(texts) + len(SPECIAL), (1, 0))


@torch.no_grad()
def repeated_accuracy(model: LlamaForCausalLM, seed: int) -> float:
    """How often a word of the second half, other than the first, is predicted right."""
    texts = draw(np.random.default_rng([seed, 2]), 200)
    half = texts.shape[1] // 2
    ids = with_start(texts)
    right = model(input_ids=ids).logits[:, :-1].argmax(-1) == ids[:, 1:]
    return round(float(right[:, half + 1 :].double().mean()), 3)


def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each word, after one with which every text begins."""
    known = {word: at for at, word in enumerate([*SPECIAL, *WORDS])}
    inner = Tokenizer(models.WordLevel(known, unk_token=UNKNOWN))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", special_tokens=[(START, 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=START, unk_token=UNKNOWN, pad_token=START
    )


if __name__ == "__main__":
    main()
