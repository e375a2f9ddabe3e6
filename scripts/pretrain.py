"""Train the embedded model: a small BERT on masked words and next segment.

    python scripts/pretrain.py DATA --out build/pretrain --steps 4000

DATA is a folder of WikiExtractor files (.xz).  The files in `HELD_OUT` are never trained on.  Run
the same command again to go on from the last checkpoint; ``--steps`` may change between runs,
because the learning rate is constant until the last ``--decay`` share of the steps.  With
``--keep-every N`` the model after the first step and after every N is kept in ``steps``, for
``headlight compare``.

What makes it learn in some tens of millions of tokens, where a plain recipe stays on the plateau of
the unigram distribution:

* short texts first (``--short-steps``), so that heads find neighbours soon;
* Muon (Jordan et al. 2024; torch 2.9) for the matrices inside the layers, AdamW for the rest;
* position embeddings start as sinusoids, so that "previous" and "next" are linear from the start;
* queries and keys start correlated (mimetic initialisation, Trockman & Kolter 2023);
* no padding: every batch has one length, so that no arithmetic is wasted and short texts are not
  strange to the model;
* the vocabulary projection is computed for masked positions only.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from muon import Muon, schedule
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertForPreTraining, BertTokenizerFast

from headlight.corpora import open_corpus

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(5)
POSITIONS = 256
IGNORED = -100
HELD_OUT = ("AA_wiki_00.txt.xz", "AA_wiki_02.txt.xz")
"""Files that are never trained on, in whatever folder."""


# ---------------------------------------------------------------- text


def training_files(folders: list[Path]) -> tuple[list[Path], list[Path]]:
    """The files to train on, and those kept out."""
    files = sorted(path for folder in folders for path in folder.rglob("*.xz"))
    return (
        [path for path in files if path.name not in HELD_OUT],
        [path for path in files if path.name in HELD_OUT],
    )


def documents(path: Path) -> Iterator[tuple[str, ...]]:
    """The paragraphs of every article of a WikiExtractor file."""
    for document in open_corpus(path, format="wikipedia"):
        yield document.paragraphs


def train_tokenizer(files: list[Path], size: int, out: Path) -> BertTokenizerFast:
    """A lower-casing WordPiece vocabulary of `size` pieces."""
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    texts = (paragraph for path in files for document in documents(path) for paragraph in document)
    tokenizer.train_from_iterator(
        texts, vocab_size=size, min_frequency=2, limit_alphabet=200, special_tokens=SPECIAL
    )
    vocabulary = out / "vocab.txt"
    ordered = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    vocabulary.write_text("".join(f"{piece}\n" for piece, _ in ordered), encoding="utf-8")
    fast = BertTokenizerFast(str(vocabulary), do_lower_case=True, model_max_length=POSITIONS)
    fast.save_pretrained(out / "tokenizer")
    return fast


@dataclass(frozen=True)
class Tokens:
    """All documents one after the other, and where each begins and ends."""

    ids: np.ndarray
    bounds: np.ndarray

    @classmethod
    def encode(cls, files: list[Path], tokenizer: BertTokenizerFast) -> Tokens:
        pieces, bounds = [], [0]
        for path in files:
            texts = [" ".join(paragraphs) for paragraphs in documents(path)]
            encoded = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
            for ids in encoded:
                pieces.append(np.asarray(ids, dtype=np.uint16))
                bounds.append(bounds[-1] + len(ids))
        return cls(np.concatenate(pieces), np.asarray(bounds))

    def save(self, path: Path) -> None:
        np.savez(path, ids=self.ids, bounds=self.bounds)

    @classmethod
    def load(cls, path: Path) -> Tokens:
        with np.load(path) as stored:
            return cls(stored["ids"], stored["bounds"])


# ---------------------------------------------------------------- examples


@dataclass(frozen=True)
class Examples:
    """Batches of one length: ``[CLS] A [SEP] B [SEP]``, B the true or a random continuation."""

    tokens: Tokens
    vocabulary: int
    full_stop: int
    masking: float = 0.15

    def batch(self, rng: np.random.Generator, size: int, length: int) -> dict[str, torch.Tensor]:
        ids = np.empty((size, length), dtype=np.int64)
        segments = np.zeros((size, length), dtype=np.int64)
        follows = np.zeros(size, dtype=np.int64)
        for row in range(size):
            first, second, is_random = self._pair(rng, length - 3)
            ids[row] = [CLS, *first, SEP, *second, SEP]
            segments[row, len(first) + 2 :] = 1
            follows[row] = is_random
        masked, labels = self._mask(rng, ids)
        return {
            "input_ids": torch.from_numpy(masked),
            "token_type_ids": torch.from_numpy(segments),
            "labels": torch.from_numpy(labels),
            "next_sentence_label": torch.from_numpy(follows),
        }

    def _pair(self, rng: np.random.Generator, room: int) -> tuple[np.ndarray, np.ndarray, bool]:
        text = self._window(rng, room)
        cut = self._cut(rng, text)
        if rng.random() < 0.5:
            return text[:cut], text[cut:], False
        other = self._window(rng, room)
        return text[:cut], other[len(other) - (room - cut) :], True

    def _window(self, rng: np.random.Generator, room: int) -> np.ndarray:
        """`room` tokens of one document, from a sentence's beginning where there is one near."""
        ids, bounds = self.tokens.ids, self.tokens.bounds
        while True:
            at = int(rng.integers(len(ids) - room))
            document = int(np.searchsorted(bounds, at, side="right")) - 1
            stops = np.flatnonzero(ids[at : at + 40] == self.full_stop)
            start = at + int(stops[0]) + 1 if len(stops) else at
            if start + room <= bounds[document + 1]:
                return ids[start : start + room]

    def _cut(self, rng: np.random.Generator, text: np.ndarray) -> int:
        """A sentence's end in the middle half if there is one, else any place in it."""
        low, high = max(1, len(text) // 4), max(2, 3 * len(text) // 4)
        ends = np.flatnonzero(text[low:high] == self.full_stop) + low + 1
        return int(rng.choice(ends)) if len(ends) else int(rng.integers(low, high))

    def _mask(self, rng: np.random.Generator, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """BERT's rule: of the chosen positions 80% become [MASK], 10% a random piece, 10% stay."""
        candidate = (ids != CLS) & (ids != SEP)
        # As many in every batch of one shape: each new shape would compile new kernels.
        count = round(self.masking * ids.shape[0] * (ids.shape[1] - 3))
        order = np.where(candidate, rng.random(ids.shape), 2.0).argpartition(count, axis=None)
        chosen = np.zeros(ids.size, dtype=bool)
        chosen[order[:count]] = True
        chosen = chosen.reshape(ids.shape)
        labels = np.where(chosen, ids, IGNORED)
        fate = rng.random(ids.shape)
        masked = np.where(chosen & (fate < 0.8), MASK, ids)
        random_ids = rng.integers(len(SPECIAL), self.vocabulary, ids.shape)
        return np.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, masked), labels


def draw_length(rng: np.random.Generator, step: int, short_steps: int) -> int:
    """Mostly 128; sometimes all 256 positions; often enough something short.

    The first `short_steps` steps see short texts only: a neighbour is then one of some thirty
    tokens and not of 128, and heads find it far sooner (Press et al. 2021, Shortformer).
    """
    if step < short_steps:
        return 12 * int(rng.integers(1, 5))
    share = rng.random()
    if share < 0.65:
        return 128
    return POSITIONS if share < 0.75 else 16 * int(rng.integers(1, 8))


# ---------------------------------------------------------------- model


def build_model(vocabulary: int) -> BertForPreTraining:
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=256,
        num_hidden_layers=6,
        num_attention_heads=8,
        intermediate_size=1024,
        max_position_embeddings=POSITIONS,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=PAD,
    )
    # The backward pass of the fused attention is slow on a CPU; here plain products win.
    config._attn_implementation = "eager"
    model = BertForPreTraining(config)
    with torch.no_grad():
        model.bert.embeddings.position_embeddings.weight.copy_(0.02 * sinusoids(POSITIONS, 256))
        for layer in model.bert.encoder.layer:
            query, key = layer.attention.self.query.weight, layer.attention.self.key.weight
            key.copy_(0.5 * query + math.sqrt(0.75) * key)
    return model


def sinusoids(positions: int, size: int) -> torch.Tensor:
    """Vaswani et al. (2017), Section 3.5, scaled to unit variance."""
    angle = torch.arange(positions)[:, None] / 10000 ** (torch.arange(0, size, 2) / size)
    return math.sqrt(2) * torch.cat([angle.sin(), angle.cos()], dim=1)


def losses(model: BertForPreTraining, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Mean losses and accuracies; the vocabulary is scored at masked positions only."""
    output = model.bert(input_ids=batch["input_ids"], token_type_ids=batch["token_type_ids"])
    chosen = batch["labels"] != IGNORED
    labels, follows = batch["labels"][chosen], batch["next_sentence_label"]
    words = model.cls.predictions(output.last_hidden_state[chosen]).float()
    pairs = model.cls.seq_relationship(output.pooler_output).float()
    return {
        "masked": torch.nn.functional.cross_entropy(words, labels),
        "next": torch.nn.functional.cross_entropy(pairs, follows),
        "masked_accuracy": (words.argmax(-1) == labels).float().mean(),
        "next_accuracy": (pairs.argmax(-1) == follows).float().mean(),
    }


def optimizers(model: BertForPreTraining, rate: float) -> list[torch.optim.Optimizer]:
    inside = {
        name
        for name, parameter in model.named_parameters()
        if ".layer." in name and parameter.ndim == 2
    }
    named = list(model.named_parameters())
    return [
        Muon(
            [parameter for name, parameter in named if name in inside],
            lr=rate,
            weight_decay=0.05,
        ),
        torch.optim.AdamW(
            [parameter for name, parameter in named if name not in inside],
            lr=rate,
            betas=(0.9, 0.98),
            weight_decay=0.01,
        ),
    ]


# ---------------------------------------------------------------- the run


def train(arguments: argparse.Namespace, tokens: Tokens, tokenizer: BertTokenizerFast) -> None:
    accelerator = Accelerator(mixed_precision=arguments.precision)
    set_seed(arguments.seed)
    examples = Examples(
        tokens, len(tokenizer), tokenizer.convert_tokens_to_ids("."), arguments.masking
    )
    model = build_model(len(tokenizer))
    model, *optimisers = accelerator.prepare(model, *optimizers(model, arguments.rate))
    checkpoint = arguments.out / "checkpoint"
    step, seen = 0, 0
    if checkpoint.exists():
        accelerator.load_state(str(checkpoint))
        progress = json.loads((checkpoint / "progress.json").read_text())
        step, seen = progress["step"], progress["tokens"]
    log = (arguments.out / "log.jsonl").open("a", encoding="utf-8")
    began = time.monotonic()
    model.train()
    while step < arguments.steps:
        rng = np.random.default_rng([arguments.seed, step])
        length = draw_length(rng, step, arguments.short_steps)
        batch = examples.batch(rng, max(1, arguments.batch_tokens // length), length)
        batch = {name: tensor.to(accelerator.device) for name, tensor in batch.items()}
        rate = arguments.rate * schedule(step, arguments.steps, arguments.warmup, arguments.decay)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
        with accelerator.autocast():
            values = losses(model, batch)
        accelerator.backward(values["masked"] + arguments.next_weight * values["next"])
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        for optimiser in optimisers:
            optimiser.step()
            optimiser.zero_grad()
        step += 1
        seen += batch["input_ids"].numel()
        if step % arguments.log_every == 0:
            row = {name: round(float(value), 4) for name, value in values.items()}
            row |= {"step": step, "tokens": seen, "rate": rate, "length": length}
            row["seconds"] = round(time.monotonic() - began, 1)
            log.write(json.dumps(row) + "\n")
            log.flush()
        if step % arguments.save_every == 0 or step == arguments.steps:
            save_checkpoint(accelerator, checkpoint, {"step": step, "tokens": seen})
        keep_model(arguments, step, accelerator.unwrap_model(model), tokenizer)
    accelerator.unwrap_model(model).half().save_pretrained(arguments.out / "model")
    tokenizer.save_pretrained(arguments.out / "model")


def keep_model(
    arguments: argparse.Namespace,
    step: int,
    model: BertForPreTraining,
    tokenizer: BertTokenizerFast,
) -> None:
    """The model of some steps, each in a folder of its own."""
    if arguments.keep_every and (step == 1 or step % arguments.keep_every == 0):
        for part in (model, tokenizer):
            part.save_pretrained(arguments.out / "steps" / str(step))


def save_checkpoint(accelerator: Accelerator, path: Path, progress: dict[str, int]) -> None:
    """Write beside the old one, then swap, so that a kill leaves a whole checkpoint."""
    fresh, old = path.with_name("checkpoint.new"), path.with_name("checkpoint.old")
    accelerator.save_state(str(fresh))
    (fresh / "progress.json").write_text(json.dumps(progress))
    if old.exists():
        shutil.rmtree(old)
    if path.exists():
        path.rename(old)
    fresh.rename(path)


def prepare(arguments: argparse.Namespace) -> tuple[Tokens, BertTokenizerFast]:
    kept, _ = training_files(arguments.data)
    if (arguments.out / "tokenizer").exists():
        tokenizer = BertTokenizerFast.from_pretrained(arguments.out / "tokenizer")
    else:
        tokenizer = train_tokenizer(kept[::4], arguments.vocabulary, arguments.out)
    store = arguments.out / "tokens.npz"
    if not store.exists():
        Tokens.encode(kept, tokenizer).save(store)
        words = sum(
            len(text.split()) for path in kept for texts in documents(path) for text in texts
        )
        (arguments.out / "words.json").write_text(json.dumps({"words": words}))
    return Tokens.load(store), tokenizer


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("build/pretrain"))
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--steps", type=int, default=12000)
    parser.add_argument("--batch-tokens", type=int, default=8192)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--short-steps", type=int, default=1250)
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--decay", type=float, default=0.35)
    parser.add_argument("--masking", type=float, default=0.2)
    parser.add_argument("--next-weight", type=float, default=0.5)
    parser.add_argument("--precision", choices=["no", "bf16", "fp16"], default="bf16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--save-every", type=int, default=250)
    parser.add_argument("--keep-every", type=int, default=0, help="keep the models of these steps")
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    arguments.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    tokens, tokenizer = prepare(arguments)
    print(f"{len(tokens.ids):,} tokens in {len(tokens.bounds) - 1:,} documents", flush=True)
    train(arguments, tokens, tokenizer)


if __name__ == "__main__":
    main()
