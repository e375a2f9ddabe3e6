"""Long texts, by blocks of queries; each figure is from a process of its own.

python -m benchmarks.long WHAT TOKENS    MB above the model, CPU seconds of it and of a plain pass
python -m benchmarks.long smollm2 TOKENS    the same of the survey of SmolLM2 on natural text
"""

import os
import subprocess
import sys
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaModel

import headlight
from benchmarks.memory import peak
from headlight.capture import CapturedModel
from headlight.catalogue.question_settings import ReadingSettings
from headlight.encode.batch import Batch
from headlight.observations.positions import Positions, Texts
from headlight.processes import keep_freed_memory
from headlight.reading.layer_measures import ReadLayers, part_of
from headlight.reduce import Sample
from headlight.studies.survey.null_spaces import POINT, NullSpaceObserver
from headlight.studies.survey.observer import HeadsObserver

THREADS = 1
LENGTHS = (1024, 4096, 8192)
OF_PRETRAINED = (512, 1024, 2048)
SHORT = 200
PRETRAINED = "smollm2"
MODEL = Path(os.environ.get("HEADLIGHT_MODELS", "build/models")) / PRETRAINED
NAMES = {
    "survey": "survey",
    PRETRAINED: "survey of SmolLM2 on natural text",
    "null_space": "null spaces of a survey",
    "reading": "reading of 2 heads and 64 queries",
}


def subject() -> CapturedModel:
    """A decoder of Llama's kind with random weights: 8 layers of 512, 8 heads that share 2."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=1000,
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=8,
        num_attention_heads=8,
        num_key_value_heads=2,
        max_position_embeddings=max(LENGTHS),
    )
    return CapturedModel(LlamaModel(config).eval(), name="Llama's kind, random weights")


def text(tokens: int) -> Batch:
    """One text of random pieces, its first one special."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(10, 1000, (1, tokens), generator=generator)
    category = torch.full_like(ids, 3)
    category[:, 0], category[:, 20::20] = 0, 2
    return Batch(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        token_type_ids=torch.zeros_like(ids),
        category=category,
        word=torch.arange(tokens)[None],
        lengths=torch.tensor([tokens]),
    )


def natural(model: CapturedModel, tokens: int) -> Batch:
    """The sample text of the package, again and again."""
    sample = (files("headlight") / "assets" / "sample.txt").read_text(encoding="utf-8")
    tokenizer = model.require_tokenizer("a benchmark reads text")
    ids = tokenizer(sample, add_special_tokens=False, return_tensors="pt", verbose=False).input_ids
    return replace(text(tokens), input_ids=ids.repeat(1, -(-tokens // ids.shape[1]))[:, :tokens])


def survey(subject: CapturedModel, batch: Batch) -> None:
    """All measures and reductions of the survey, by blocks as they are chosen."""
    with subject.capture() as recorder:
        observer = HeadsObserver(*Positions.for_kind(batch, "decoder"), "decoder")
        recorder.query_block = None
        recorder.visit, recorder.kernel = observer.visit, observer.kernel
        subject.run(batch)
    observer.tally()


def null_space(subject: CapturedModel, batch: Batch) -> None:
    """Ranks, null spaces and the correlation with effective attention."""
    queries, keys = Positions.for_kind(batch, "decoder")
    texts = Texts(queries.category >= 0, keys.category, batch.input_ids.numpy(), (0,))
    points = Sample(100, len(POINT), seed=0)
    with subject.capture() as recorder:
        part = NullSpaceObserver(texts, points)
        observer = HeadsObserver(queries, keys, "decoder", measures=("effective",), parts=[part])
        recorder.query_block = None
        recorder.visit = observer.visit
        subject.run(batch)
    observer.tally()


def reading(subject: CapturedModel, batch: Batch) -> None:
    """Every measure of two heads of each layer, of the last 64 queries."""
    tokens = batch.input_ids.shape[1]
    settings = ReadingSettings(heads=(0, 5), queries=tuple(range(tokens - 64, tokens)))
    part = part_of(subject.sites, tokens, settings)
    layers = ReadLayers({"decoder": part}, "include", None, lambda: None)
    with subject.capture() as recorder:
        recorder.query_block = None
        recorder.visit = layers.visit
        subject.run(batch)


WORK = {
    "survey": survey,
    "null_space": null_space,
    "reading": reading,
    PRETRAINED: survey,
}


def measure(what: str, tokens: int) -> tuple[float, float, float]:
    """MB above the loaded model, CPU seconds of the work, CPU seconds of the plain pass."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command line does
    if what == PRETRAINED:
        model = headlight.load(MODEL)
        batch, short = natural(model, tokens), natural(model, SHORT)
    else:
        model = subject()
        batch, short = text(tokens), text(SHORT)
    WORK[what](model, short)  # so that loops are compiled
    assert model.sites  # noqa: S101 - traced before the peak is taken
    before = peak()
    times = []
    for run in (lambda: WORK[what](model, batch), lambda: model.run(batch)):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
        if len(times) == 1:
            used = peak() - before
    return used, times[0], times[1]


def measured(what: str, tokens: int) -> tuple[float, float, float]:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.long", what, str(tokens)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    memory, work, forward = map(float, done.stdout.split())
    return memory, work, forward


def main() -> list[tuple[str, str, str, str]]:
    """Rows of the table."""
    rows = []
    asked = [("survey", each) for each in LENGTHS]
    asked += [("null_space", LENGTHS[-1]), ("reading", LENGTHS[-1])]
    asked += [(PRETRAINED, each) for each in OF_PRETRAINED if MODEL.exists()]
    for what, tokens in asked:
        memory, seconds, forward = measured(what, tokens)
        aim = "≤ 1000 MB" if tokens == LENGTHS[-1] else ""
        each = 1000 * seconds / tokens
        rows.append(
            (f"{NAMES[what]}, {tokens:,} tokens", f"{memory:.0f} MB", aim, "above the model")
        )
        rows.append(
            (
                f"the same, time for a token, {tokens:,} tokens",
                f"{each:.1f} ms",
                "",
                f"{seconds / forward:.1f}× the plain pass (sdpa)",
            )
        )
    return rows


if __name__ == "__main__":
    print(*measure(sys.argv[1], int(sys.argv[2])))
