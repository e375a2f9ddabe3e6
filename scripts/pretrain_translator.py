"""Train a translator: a Marian model, from one language to another.

    python scripts/pretrain_translator.py DATA --out build/translator --steps 20000

DATA is a folder with the folders `PARTS` of sentence pairs, German and English.  ``--parts`` names
those to train on: by default the two that may be published.  `HELD_OUT` pairs of each part, evenly
spread, are never trained on.  Run the same command again to go on from the last checkpoint;
``--steps`` may change between runs, because the learning rate is constant until the last
``--decay`` share of the steps.

Attention is left to itself: no alignment enters the loss, and nothing is initialised from one.
What makes it learn in some tens of millions of tokens: a small lower-cased vocabulary shared by
both languages, short sentences first, batches of about as many tokens each, and Muon for the
matrices inside the layers.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from muon import Muon, schedule
from pretrain import save_checkpoint
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

from headlight.corpora.compression import open_bytes

SPECIAL = ["<pad>", "</s>", "<unk>"]
PAD, END, UNKNOWN = range(3)
IGNORED = -100
POSITIONS = 256
LONGEST = 100
"""Pieces of a sentence; longer ones are left out."""
HELD_OUT = 500
STRIDE = 8
"""Widths of batches are multiples of it."""

PARTS: dict[str, tuple[str, ...]] = {
    "tatoeba": ("tatoeba/deu-eng.tsv.xz", "english german"),
    "europarl": ("europarl2000/europarl2000.de.xz", "europarl2000/europarl2000.en.xz"),
    "multi30k": ("multi30k/train.de.xz", "multi30k/train.en.xz"),
    "opennmt": ("opennmt_demo/train.de.xz", "opennmt_demo/train.en.xz"),
    "references": ("news_references/deu-eng.tsv.xz", "german english"),
    "distilled": ("news_distilled/deu-eng.tsv.xz", "german english"),
}
PUBLISHABLE = ("tatoeba", "europarl")

# ---------------------------------------------------------------- text


def read_lines(path: Path) -> list[str]:
    """The lines of a file, compressed or not."""
    with open_bytes(path) as (stream, _):
        return stream.read().decode("utf-8").splitlines()


def read_part(data: Path, part: str) -> list[tuple[str, str]]:
    """The pairs of a part, German first."""
    first, second = PARTS[part]
    if " " in second:
        columns = second.split()
        german, english = columns.index("german"), columns.index("english")
        rows = [line.split("\t") for line in read_lines(data / first)]
        return [(row[german], row[english]) for row in rows]
    return list(zip(read_lines(data / first), read_lines(data / second), strict=True))


def split_part(pairs: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Pairs to train on, and those held out: distinct sentences, evenly spread.

    Tatoeba translates a sentence several times; what stays in training shares none with those
    held out.
    """
    places = np.linspace(0, len(pairs) - 1, HELD_OUT).astype(int)
    held = [pairs[place] for place in places]
    sentences = {sentence.lower() for pair in held for sentence in pair}
    kept = [pair for pair in pairs if not sentences & {pair[0].lower(), pair[1].lower()}]
    return kept, list(dict.fromkeys(held))


def train_tokenizer(pairs: list[tuple[str, str]], size: int, out: Path) -> PreTrainedTokenizerFast:
    """A lower-cased BPE of both languages; pieces never cross words or punctuation."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", continuing_subword_prefix="##"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=SPECIAL,
        limit_alphabet=150,
        continuing_subword_prefix="##",
        min_frequency=2,
        show_progress=False,
    )
    tokenizer.train_from_iterator((side for pair in pairs for side in pair), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", END)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=POSITIONS,
    )
    fast.save_pretrained(out / "tokenizer")
    return fast


# ---------------------------------------------------------------- examples


@dataclass(frozen=True)
class Pairs:
    """Ids of both sides, one after the other; each ends in `END`."""

    ids: tuple[np.ndarray, np.ndarray]
    bounds: tuple[np.ndarray, np.ndarray]

    @classmethod
    def encode(cls, pairs: list[tuple[str, str]], tokenizer: PreTrainedTokenizerFast) -> Pairs:
        sides = [tokenizer([pair[at] for pair in pairs])["input_ids"] for at in (0, 1)]
        kept = [at for at in range(len(pairs)) if fits(len(sides[0][at]), len(sides[1][at]))]
        chosen = [[np.asarray(side[at], dtype=np.uint16) for at in kept] for side in sides]
        bounds = [np.cumsum([0, *map(len, side)]) for side in chosen]
        return cls(tuple(map(np.concatenate, chosen)), tuple(bounds))

    def __len__(self) -> int:
        return len(self.bounds[0]) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Pieces of either side."""
        return np.stack([np.diff(bounds) for bounds in self.bounds])

    def batch(self, chosen: np.ndarray, width: int) -> dict[str, torch.Tensor]:
        """Ids, padded to a width; the decoder reads the padding first, as Marian models do."""
        source, target = (self._padded(side, chosen, width) for side in (0, 1))
        return {
            "input_ids": source,
            "attention_mask": (source != PAD).long(),
            "decoder_input_ids": torch.nn.functional.pad(target, (1, 0), value=PAD)[:, :-1],
            "labels": torch.where(target == PAD, IGNORED, target),
        }

    def _padded(self, side: int, chosen: np.ndarray, width: int) -> torch.Tensor:
        ids, bounds = self.ids[side], self.bounds[side]
        rows = np.full((len(chosen), width), PAD, dtype=np.int64)
        for row, at in zip(rows, chosen, strict=True):
            own = ids[bounds[at] : bounds[at + 1]]
            row[: len(own)] = own
        return torch.from_numpy(rows)

    def save(self, path: Path) -> None:
        np.savez(
            path,
            source=self.ids[0],
            target=self.ids[1],
            first=self.bounds[0],
            second=self.bounds[1],
        )

    @classmethod
    def load(cls, path: Path, *, reverse: bool = False) -> Pairs:
        with np.load(path) as stored:
            ids, bounds = (stored["source"], stored["target"]), (stored["first"], stored["second"])
        return cls(ids[::-1], bounds[::-1]) if reverse else cls(ids, bounds)


def fits(source: int, target: int) -> bool:
    """Whether a pair is neither too long nor so unequal that it is hardly a translation."""
    return max(source, target) <= LONGEST and max(source, target) <= 3 * min(source, target) + 5


Group = tuple[np.ndarray, int]
"""The numbers of some pairs, and the width to which both sides are padded."""


def batches(
    pairs: Pairs, size: int, seed: int, first: int, short_steps: int
) -> Iterator[dict[str, torch.Tensor]]:
    """Endless batches of about `size` tokens a side, from batch `first` on.

    An epoch's batches depend on the seed and its number alone.
    """
    passed = 0
    for epoch in range(10**6):
        rng = np.random.default_rng([seed, epoch])
        groups = whole_groups(pairs, size, rng)
        order = rng.permutation(len(groups))
        if epoch == 0:  # short ones first, in a random order of their own
            short = rng.permutation(min(short_steps, len(groups)))
            order = np.concatenate([short, order[~np.isin(order, short)]])
        for number in order:
            if passed >= first:
                yield pairs.batch(*groups[number])
            passed += 1


def whole_groups(pairs: Pairs, size: int, rng: np.random.Generator) -> list[Group]:
    """Pairs of one width together, as many in each group as there is room; short ones first.

    There are few shapes: each new one would compile new kernels.  What does not fill a group is
    left out of this epoch.
    """
    groups: list[Group] = []
    order = rng.permutation(len(pairs))
    widths = widths_of(pairs)[order]
    for width in np.unique(widths):
        own = order[widths == width]
        rows = max(1, size // int(width))
        starts = range(0, len(own) - rows + 1, rows)
        groups += [(own[start : start + rows], int(width)) for start in starts]
    return groups


def widths_of(pairs: Pairs) -> np.ndarray:
    """The longer side of every pair, up to a whole number of `STRIDE`."""
    return -(-pairs.lengths.max(0) // STRIDE) * STRIDE


# ---------------------------------------------------------------- model


def build_model(vocabulary: int, arguments: argparse.Namespace) -> MarianMTModel:
    """Matrices as Glorot and Bengio (2010); embeddings of variance 1/d, scaled when read."""
    width = arguments.width
    config = MarianConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=arguments.encoder_layers,
        decoder_layers=arguments.decoder_layers,
        encoder_attention_heads=arguments.heads,
        decoder_attention_heads=arguments.heads,
        encoder_ffn_dim=arguments.inner,
        decoder_ffn_dim=arguments.inner,
        max_position_embeddings=POSITIONS,
        scale_embedding=True,
        activation_function="relu",
        dropout=arguments.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=PAD,
        forced_eos_token_id=END,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
    )
    config._attn_implementation = "eager" if not torch.cuda.is_available() else "sdpa"
    model = MarianMTModel(config)
    for name, parameter in model.named_parameters():
        if "layers." in name and parameter.ndim == 2:
            torch.nn.init.xavier_uniform_(parameter)
    torch.nn.init.normal_(model.model.shared.weight, std=width**-0.5)
    return model


def optimizers(model: MarianMTModel, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for everything else."""
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    inside = {name for name, p in named if "layers." in name and p.ndim == 2}
    return [
        Muon([p for name, p in named if name in inside], lr=rate, weight_decay=0.05),
        torch.optim.AdamW(
            [p for name, p in named if name not in inside],
            lr=rate,
            betas=(0.9, 0.98),
            weight_decay=0.01,
        ),
    ]


def scored(
    model: MarianMTModel, batch: dict[str, torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and label of every place of the target; what is padding has the label `IGNORED`."""
    given = {name: tensor for name, tensor in batch.items() if name != "labels"}
    hidden = model.model(**given).last_hidden_state.flatten(0, 1)
    logits = (model.lm_head(hidden) + model.final_logits_bias).float()
    return logits, batch["labels"].flatten()


@torch.no_grad()
def evaluate(model: MarianMTModel, pairs: Pairs, device: torch.device) -> dict[str, float]:
    """Perplexity and accuracy by piece of held-out pairs."""
    model.eval()
    loss, right, pieces = 0.0, 0, 0
    widths = widths_of(pairs)
    for width in np.unique(widths):
        own = np.flatnonzero(widths == width)
        for part in np.array_split(own, -(-len(own) * int(width) // 8192)):
            batch = {name: t.to(device) for name, t in pairs.batch(part, int(width)).items()}
            logits, labels = scored(model, batch)
            pieces += int((labels != IGNORED).sum())
            loss += float(torch.nn.functional.cross_entropy(logits, labels, reduction="sum"))
            right += int((logits.argmax(-1) == labels).sum())
    model.train()
    return {"perplexity": math.exp(loss / pieces), "accuracy": right / pieces}


# ---------------------------------------------------------------- the run


def train(arguments: argparse.Namespace, pairs: Pairs, held: dict[str, Pairs]) -> None:
    accelerator = Accelerator(mixed_precision=arguments.precision)
    set_seed(arguments.seed)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(arguments.out / "tokenizer")
    model = build_model(len(tokenizer), arguments)
    model, *optimisers = accelerator.prepare(model, *optimizers(model, arguments.rate))
    checkpoint = arguments.out / "checkpoint"
    done = {"step": 0, "tokens": 0}
    if checkpoint.exists():
        accelerator.load_state(str(checkpoint))
        done = json.loads((checkpoint / "progress.json").read_text())
    began = time.monotonic()
    model.train()
    stream = batches(
        pairs, arguments.batch_tokens, arguments.seed, done["step"], arguments.short_steps
    )
    while done["step"] < arguments.steps:
        batch = {name: tensor.to(accelerator.device) for name, tensor in next(stream).items()}
        rate = set_rate(optimisers, arguments, done["step"])
        loss = take_step(accelerator, model, optimisers, batch)
        done["step"] += 1
        done["tokens"] += int((batch["labels"] != IGNORED).sum())
        row = {**done, "rate": rate, "seconds": round(time.monotonic() - began, 1)}
        at_end = done["step"] == arguments.steps
        if done["step"] % arguments.log_every == 0 or at_end:
            row["smoothed_loss"] = round(float(loss), 4)
        if done["step"] % arguments.save_every == 0 or at_end:
            row |= scores(accelerator.unwrap_model(model), held, accelerator.device)
            save_checkpoint(accelerator, checkpoint, done)
        if len(row) > 4:
            with (arguments.out / "log.jsonl").open("a", encoding="utf-8") as log:
                log.write(json.dumps(row) + "\n")
    save_model(accelerator.unwrap_model(model), tokenizer, arguments.out / "model")


def set_rate(
    optimisers: list[torch.optim.Optimizer], arguments: argparse.Namespace, step: int
) -> float:
    """The learning rate of a step, which the optimisers are told."""
    rate = arguments.rate * schedule(step, arguments.steps, arguments.warmup, arguments.decay)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate
    return rate


def take_step(
    accelerator: Accelerator,
    model: MarianMTModel,
    optimisers: list[torch.optim.Optimizer],
    batch: dict[str, torch.Tensor],
) -> torch.Tensor:
    """Forward, backward, and one step of the optimisers; gives the loss."""
    with accelerator.autocast():
        logits, labels = scored(model, batch)
        loss = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=0.1)
    accelerator.backward(loss)
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad()
    return loss.detach()


def scores(model: MarianMTModel, held: dict[str, Pairs], device: torch.device) -> dict[str, float]:
    """Perplexity and accuracy of the held-out pairs of each part."""
    return {
        f"{part}_{name}": round(value, 4)
        for part, some in held.items()
        for name, value in evaluate(model, some, device).items()
    }


def save_model(model: MarianMTModel, tokenizer: PreTrainedTokenizerFast, out: Path) -> None:
    """In half precision, with what generation needs."""
    model.half().save_pretrained(out)
    tokenizer.save_pretrained(out)


def prepare(arguments: argparse.Namespace) -> tuple[Pairs, dict[str, Pairs]]:
    """Token ids of all parts, made once."""
    parts = {part: split_part(read_part(arguments.data, part)) for part in arguments.parts}
    if (arguments.out / "tokenizer").exists():
        tokenizer = PreTrainedTokenizerFast.from_pretrained(arguments.out / "tokenizer")
    else:
        texts = [pair for kept, _ in parts.values() for pair in kept]
        tokenizer = train_tokenizer(texts, arguments.vocabulary, arguments.out)
    for part, (kept, held) in parts.items():
        for name, pairs in ((part, kept), (f"{part}-held-out", held)):
            if not (arguments.out / f"{name}.npz").exists():
                Pairs.encode(pairs, tokenizer).save(arguments.out / f"{name}.npz")
    loaded = {
        name: Pairs.load(arguments.out / f"{name}.npz", reverse=arguments.reverse)
        for part in parts
        for name in (part, f"{part}-held-out")
    }
    return join([loaded[part] for part in parts]), {p: loaded[f"{p}-held-out"] for p in parts}


def join(parts: list[Pairs]) -> Pairs:
    """All pairs of several parts."""
    ids = tuple(np.concatenate([part.ids[side] for part in parts]) for side in (0, 1))
    bounds = tuple(
        np.concatenate([[0], np.concatenate([part.lengths[side] for part in parts]).cumsum()])
        for side in (0, 1)
    )
    return Pairs(ids, bounds)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/translator"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PUBLISHABLE))
    parser.add_argument("--reverse", action="store_true", help="English to German")
    parser.add_argument("--vocabulary", type=int, default=7000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--inner", type=int, default=512)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--encoder-layers", type=int, default=3)
    parser.add_argument("--decoder-layers", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--short-steps", type=int, default=500)
    parser.add_argument("--warmup", type=int, default=300)
    parser.add_argument("--decay", type=float, default=0.3)
    parser.add_argument("--precision", choices=["no", "bf16", "fp16"], default="bf16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=50)
    parser.add_argument("--save-every", type=int, default=500)
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    arguments.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    pairs, held = prepare(arguments)
    print(f"{len(pairs):,} pairs, {int(pairs.lengths[1].sum()):,} target pieces", flush=True)
    train(arguments, pairs, held)


if __name__ == "__main__":
    main()
