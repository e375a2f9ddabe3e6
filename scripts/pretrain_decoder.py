"""Train the embedded decoder: a small Llama on stories, facts, and questions about passages.

    python scripts/pretrain_decoder.py --out build/decoder

All that it reads is put together by `story_texts`, text by text as it is needed, so that none is
read twice.  Run the same command again to go on from the last checkpoint; ``--steps`` may change
between runs, because the learning rate is constant until the last ``--decay`` share of the steps.

What is to be known from what stands before (answers, words that come again) counts more than the
rest.  Some rows are random tokens that are repeated, so that heads copy whatever it is.
"""

import argparse
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import story_texts
import torch
from muon import Muon, schedule
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

BEGIN, END = "<s>", "</s>"
POSITIONS = 512
STORY = 0.5
"""Weight of texts in which nothing must be known from what stands before."""
REPEATED = 0.02
"""Rows of random tokens that are repeated, for each text."""
CHUNK = 2048
"""Texts that are sorted by length, so that those of a batch have about the same."""
WIDTH, HEADS, PAIRS, HEAD = 160, 8, 4, 32
THETA = 10_000**1.6
"""Base of the rotary positions: two thirds of the dimensions of a head hardly turn within a text.

Words are found again by these: with heads of 20 and the usual base there were 10 of them, and of
three passages the model often took the wrong one.
"""
TURNING = 10
"""Pairs of dimensions of a head, of its 16, that turn much or little; the others hardly turn."""
NEAR = 3
"""Frequencies, the highest, by which a head tells the previous token from others."""


def train_tokenizer(vocabulary: int, texts: int, seed: int) -> PreTrainedTokenizerFast:
    """Pieces of bytes, which write any text; common words are one piece."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[BEGIN, END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    written = ("".join(part.text for part in story_texts.text(n, seed)) for n in range(texts))
    inner.train_from_iterator(written, trainer)
    inner.post_processor = processors.TemplateProcessing(
        single=f"{BEGIN} $A", pair=f"{BEGIN} $A $B", special_tokens=[(BEGIN, 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token=BEGIN,
        eos_token=END,
        pad_token=END,
        model_max_length=POSITIONS,
        clean_up_tokenization_spaces=False,
    )


def build_model(vocabulary: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=384,
        num_hidden_layers=5,
        num_attention_heads=HEADS,
        num_key_value_heads=PAIRS,
        head_dim=HEAD,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        max_position_embeddings=POSITIONS,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    # The backward pass of the fused attention is slow on a CPU; here plain products win.
    config._attn_implementation = "eager"
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        look_for_the_same(model)
        look_back(model)
    return model


def look_for_the_same(model: LlamaForCausalLM) -> None:
    """Let keys begin like queries where positions hardly turn, so that a word finds itself."""
    for layer in model.model.layers:
        attention = layer.self_attn
        queries = attention.q_proj.weight.view(PAIRS, HEADS // PAIRS, 2, HEAD // 2, WIDTH)
        keys = attention.k_proj.weight.view(PAIRS, 2, HEAD // 2, WIDTH)
        shared = 0.05 * torch.randn(PAIRS, 2, HEAD // 2 - TURNING, WIDTH)
        keys[:, :, TURNING:] = shared
        noise = 0.02 * torch.randn(PAIRS, HEADS // PAIRS, 2, HEAD // 2 - TURNING, WIDTH)
        queries[:, :, :, TURNING:] = shared[:, None] + noise


def look_back(model: LlamaForCausalLM) -> None:
    """Let two heads of the first layer begin with attention to the previous token.

    Copying needs such a head, and finding one takes long.  All embeddings get one coordinate in
    common, of which these heads make queries, and keys that are turned by one position.
    """
    embeddings, attention = model.model.embed_tokens.weight, model.model.layers[0].self_attn
    torch.nn.init.normal_(embeddings, std=WIDTH**-0.5)
    embeddings[:, 0] = 4 * WIDTH**-0.5
    heads = HEADS // PAIRS
    attention.q_proj.weight[: heads * HEAD] = 0.0
    attention.k_proj.weight[:HEAD] = 0.0
    for pair in range(NEAR):
        angle = THETA ** (-2 * pair / HEAD)
        for head in range(heads):
            attention.q_proj.weight[head * HEAD + pair, 0] = 1.5
        attention.k_proj.weight[pair, 0] = 1.5 * math.cos(angle)
        attention.k_proj.weight[pair + HEAD // 2, 0] = 1.5 * math.sin(angle)


# ---------------------------------------------------------------- rows


Row = tuple[list[int], list[float]]
"""Token ids, and how much it counts that each is predicted."""


def row(parts: story_texts.Text, tokenizer: PreTrainedTokenizerFast) -> Row:
    ids, weights, known = [0], [0.0], False
    rest = 0.0 if any(part.known for part in parts) else STORY
    for part, pieces in zip(parts, encoded([part.text for part in parts], tokenizer), strict=True):
        ids += pieces
        # That something known ends is known as well.
        weights += [1.0 if known or part.known else rest]
        known = part.known
        weights += [1.0 if known else rest] * (len(pieces) - 1)
    return [*ids, 1], [*weights, 1.0 if known else rest]


def encoded(texts: Sequence[str], tokenizer: PreTrainedTokenizerFast) -> list[list[int]]:
    return [
        list(each.ids)
        for each in tokenizer._tokenizer.encode_batch(texts, add_special_tokens=False)
    ]


def repeated(rng: np.random.Generator, vocabulary: int, longest: int) -> Row:
    """Random tokens, and the same again."""
    period = int(rng.integers(4, longest // 2))
    ids = rng.choice(np.arange(2, vocabulary), period, replace=False).tolist()
    return [0, *ids, *ids], [0.0] * (period + 2) + [1.0] * (period - 1)


def batches(
    tokenizer: PreTrainedTokenizerFast, asked: argparse.Namespace, first: int
) -> Iterator[tuple[int, dict[str, torch.Tensor]]]:
    """Batches of about so many tokens, each of texts of one length, and the number of the chunk.

    The first are small, of short texts and many repeated tokens, by which copying is learnt first.
    """
    vocabulary = len(tokenizer)
    for chunk in count(first, processes()):
        early = chunk < asked.early_chunks
        longest, tokens = (
            (72, asked.batch_tokens // 2) if early else (asked.longest, asked.batch_tokens)
        )
        rng = np.random.default_rng([asked.seed, chunk])
        rows = [
            row(story_texts.text(chunk * CHUNK + n, asked.seed), tokenizer) for n in range(CHUNK)
        ]
        share = 0.7 if early else REPEATED
        rows += [
            repeated(rng, vocabulary, 56 if early else 130) for _ in range(round(share * CHUNK))
        ]
        rows = sorted((each for each in rows if len(each[0]) <= longest), key=lambda r: len(r[0]))
        groups, group = [], []
        for each in rows:
            if group and len(each[0]) * (len(group) + 1) > tokens:
                groups.append(group)
                group = []
            group.append(each)
        groups.append(group)
        for at in rng.permutation(len(groups)):
            yield chunk, padded(groups[at])


def padded(rows: Sequence[Row]) -> dict[str, torch.Tensor]:
    longest = max(len(ids) for ids, _ in rows)
    ids = torch.ones(len(rows), longest, dtype=torch.long)
    weights = torch.zeros(len(rows), longest)
    for at, (pieces, each) in enumerate(rows):
        ids[at, : len(pieces)] = torch.tensor(pieces)
        weights[at, : len(each)] = torch.tensor(each)
    return {"ids": ids, "weights": weights}


# ---------------------------------------------------------------- what it answers


@torch.no_grad()
def answered(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    asked: Sequence[story_texts.Passages],
    size: int = 50,
) -> list[bool]:
    """Whether the model writes each answer, token by token, and then ends it."""
    ends = {1, *(n for n in range(len(tokenizer)) if "\n" in tokenizer.decode([n]))}
    right: list[bool] = []
    for start in range(0, len(asked), size):
        some = asked[start : start + size]
        prompts = encoded([each.prompt for each in some], tokenizer)
        answers = encoded([f" {each.answer}" for each in some], tokenizer)
        rows = [
            ([0, *prompt, *answer, 1], [0.0] * (1 + len(prompt)) + [1.0] * (len(answer) + 1))
            for prompt, answer in zip(prompts, answers, strict=True)
        ]
        batch = padded(rows)
        written = model(input_ids=batch["ids"], use_cache=False).logits.argmax(-1)
        for (ids, weights), line in zip(rows, written.tolist(), strict=True):
            first = weights.index(1.0)
            said = line[first - 1 : len(ids) - 1]
            right.append(said[:-1] == ids[first:-1] and said[-1] in ends)
    return right


@torch.no_grad()
def copied(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, rows: int = 50) -> float:
    """Share of random tokens that are predicted right when they come again."""
    rng = np.random.default_rng(7)
    drawn = [rng.choice(np.arange(2, len(tokenizer)), 50, replace=False) for _ in range(rows)]
    ids = torch.tensor(np.array([[0, *each, *each] for each in drawn]))
    right = model(input_ids=ids, use_cache=False).logits[:, 51:-1].argmax(-1) == ids[:, 52:]
    return float(right.double().mean())


def figures(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, asked: int
) -> dict[str, float]:
    """Shares of held-out questions that are answered right, by number of passages."""
    was, shares = model.training, {}
    model.eval()
    for name, passages, invented in (
        ("one", 1, 0.0),
        ("three", 3, 0.0),
        ("five", 5, 0.0),
        ("three_new_words", 3, 0.6),
    ):
        drawn = [
            story_texts.held_out(n, passages=passages, invented=invented) for n in range(asked)
        ]
        shares[name] = round(float(np.mean(answered(model, tokenizer, drawn))), 4)
    shares["repeated"] = round(copied(model, tokenizer), 4)
    model.train(was)
    return shares


# ---------------------------------------------------------------- the run


def optimizers(model: LlamaForCausalLM, rate: float) -> list[torch.optim.Optimizer]:
    named = list(model.named_parameters())
    inside = {name for name, parameter in named if ".layers." in name and parameter.ndim == 2}
    return [
        Muon(
            [parameter for name, parameter in named if name in inside], lr=rate, weight_decay=0.05
        ),
        torch.optim.AdamW(
            [parameter for name, parameter in named if name not in inside],
            lr=rate,
            betas=(0.9, 0.98),
            weight_decay=0.01,
        ),
    ]


def processes() -> int:
    """Number of processes that train together, such as by ``torchrun --nproc-per-node 2``."""
    return torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1


def own_number() -> int:
    return torch.distributed.get_rank() if torch.distributed.is_initialized() else 0


def share_gradients(model: LlamaForCausalLM) -> None:
    """Give all processes the mean of their gradients."""
    if processes() > 1:
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        whole = torch.cat([gradient.flatten() for gradient in gradients])
        torch.distributed.all_reduce(whole)
        parts = (whole / processes()).split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


def loss_of(model: LlamaForCausalLM, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    states = model.model(input_ids=batch["ids"], use_cache=False).last_hidden_state[:, :-1]
    weights, ids = batch["weights"][:, 1:], batch["ids"][:, 1:]
    counts = weights > 0  # logits of all positions would take a third of the time
    logits = model.lm_head(states[counts]).float()
    losses = torch.nn.functional.cross_entropy(logits, ids[counts], reduction="none")
    return (losses * weights[counts]).sum() / weights.sum()


def train(asked: argparse.Namespace, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    torch.manual_seed(asked.seed)
    model = build_model(len(tokenizer))
    optimisers = optimizers(model, asked.rate)
    place = asked.out / "checkpoint.pt"
    step, seen, chunk = restore(place, model, optimisers) if place.exists() else (0, 0, -1)
    # What was left of a chunk when a run ended is not read, so that nothing is read twice.
    first = (chunk // processes() + 1) * processes() + own_number()
    rows, began, total = batches(tokenizer, asked, first), time.monotonic(), 0.0
    while step < asked.steps:
        chunk, batch = next(rows)
        rate = asked.rate * schedule(step, asked.steps, asked.warmup, asked.decay)
        total += take_step(model, optimisers, batch, rate, asked.precision)
        step, seen = step + 1, seen + batch["ids"].numel() * processes()
        if own_number():
            continue
        if step % asked.log_every == 0:
            line = {"step": step, "tokens": seen, "loss": round(total / asked.log_every, 4)}
            line |= {"rate": rate, "seconds": round(time.monotonic() - began, 1)}
            if step % asked.save_every == 0:
                line |= figures(model, tokenizer, 100)
            note(asked.out / "log.jsonl", line)
            total = 0.0
        if step % asked.save_every == 0 or step == asked.steps:
            save(place, model, optimisers, {"step": step, "tokens": seen, "chunk": chunk})
    return model


def take_step(
    model: LlamaForCausalLM,
    optimisers: Sequence[torch.optim.Optimizer],
    batch: dict[str, torch.Tensor],
    rate: float,
    precision: str,
) -> float:
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        loss = loss_of(model, batch)
    loss.backward()
    share_gradients(model)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad()
    return loss.item()


def restore(
    place: Path, model: LlamaForCausalLM, optimisers: Sequence[torch.optim.Optimizer]
) -> tuple[int, int, int]:
    """Steps and tokens so far, and the chunk that was being read."""
    kept = torch.load(place)
    model.load_state_dict(kept["model"])
    for optimiser, state in zip(optimisers, kept["optimisers"], strict=True):
        optimiser.load_state_dict(state)
    return kept["step"], kept["tokens"], kept["chunk"]


def save(
    place: Path,
    model: LlamaForCausalLM,
    optimisers: Sequence[torch.optim.Optimizer],
    progress: dict[str, int],
) -> None:
    """Write beside the old one, then swap, so that a kill leaves a whole checkpoint."""
    states = [optimiser.state_dict() for optimiser in optimisers]
    fresh = place.with_suffix(".new")
    torch.save({"model": model.state_dict(), "optimisers": states, **progress}, fresh)
    fresh.replace(place)


def note(log: Path, line: dict[str, float]) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/decoder"))
    parser.add_argument("--vocabulary", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=3900)
    parser.add_argument("--batch-tokens", type=int, default=4096)
    parser.add_argument("--longest", type=int, default=320)
    parser.add_argument("--early-chunks", type=int, default=6)
    parser.add_argument("--rate", type=float, default=3.5e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--decay", type=float, default=0.4)
    parser.add_argument("--precision", choices=["no", "bf16"], default="bf16")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--save-every", type=int, default=200)
    asked = parser.parse_args()
    if "WORLD_SIZE" in os.environ:
        torch.distributed.init_process_group("gloo")
    asked.out.mkdir(parents=True, exist_ok=True)
    if (asked.out / "tokenizer").exists():
        tokenizer = PreTrainedTokenizerFast.from_pretrained(asked.out / "tokenizer")
    else:
        tokenizer = train_tokenizer(asked.vocabulary, 30_000, asked.seed)
        tokenizer.save_pretrained(asked.out / "tokenizer")
    model = train(asked, tokenizer)
    if own_number():
        return
    model.half().save_pretrained(asked.out / "model")
    tokenizer.save_pretrained(asked.out / "model")


if __name__ == "__main__":
    main()
