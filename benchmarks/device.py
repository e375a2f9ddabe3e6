"""A survey on a GPU, over the forward pass alone: time, memory, the CPU's numbers, no waiting.

python -m benchmarks.device          at most six minutes on one card
python -m benchmarks.device --tiny   all of it on small shapes, wherever this is
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel, PreTrainedTokenizerFast

import headlight
from benchmarks.timing import Row, show, with_json
from headlight.capture import CapturedModel, Kind
from headlight.capture.deferred_checks import answered_later
from headlight.encode.batch import Batch
from headlight.engine.batch_runner import SHARD
from headlight.engine.batch_size import SCORE_BYTES
from headlight.errors import HeadlightError
from headlight.observations.positions import Positions
from headlight.studies.survey.observer import HeadsObserver

NOTE = """Models of these shapes with random weights on one card, pieces drawn at random. Ratios are
to the plain forward pass (sdpa) of the same batch, which is as large as a layer's scores fill one
gigabyte at, and no larger than a shard; medians of rounds, each waited for. Behaviours, tokens and
passages are in the default survey alone, which is a whole run, from words to its folder, without
what a run of half the texts takes. The last rows of a shape compare with the CPU, and say whether
the host waited within a layer."""

NORM, WHOLE = ("weight", "norm"), ("weight", "norm", "effective")
SURVEYS = {
    "weights": (("weight",), ""),
    "weights and norms": (NORM, "≤ 1.2×"),
    "all": (WHOLE, "≤ 1.5×"),
}
LENGTHS, TINY_LENGTHS = (128, 512, 2048), (16, 32)
TYPES = (torch.float32, torch.bfloat16)
WORDS = 990
ENOUGH = 300.0
"""Seconds after which no further length is measured, so that a lent card returns the others."""


@dataclass(frozen=True)
class Shape:
    """A model that is made on the card."""

    title: str
    kind: Kind
    make: Callable[[], torch.nn.Module]

    def model(self, device: torch.device, dtype: torch.dtype) -> CapturedModel:
        """Return it, the same on every device."""
        torch.manual_seed(0)
        return CapturedModel(self.make().eval().to(device, dtype), name=self.title)


def _llama(size: int, inner: int, layers: int, heads: int, shared: int) -> LlamaModel:
    config = LlamaConfig(
        vocab_size=1000,
        hidden_size=size,
        intermediate_size=inner,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        max_position_embeddings=max(LENGTHS),
    )
    return LlamaModel(config)


def _bert(**changes: int) -> BertModel:
    return BertModel(BertConfig(vocab_size=1000, max_position_embeddings=max(LENGTHS), **changes))


SHAPES = (
    Shape("SmolLM2-135M's shape", "decoder", partial(_llama, 576, 1536, 30, 9, 3)),
    Shape("BERT-base's shape", "encoder", _bert),
    Shape("Llama-3.2-1B's shape", "decoder", partial(_llama, 2048, 8192, 16, 32, 8)),
)
TINY = (
    Shape("a small Llama", "decoder", partial(_llama, 32, 64, 2, 4, 2)),
    Shape(
        "a small BERT",
        "encoder",
        partial(_bert, hidden_size=32, num_hidden_layers=2, num_attention_heads=4),
    ),
)


def texts(tokens: int, number: int, device: torch.device) -> Batch:
    """Return texts of random pieces, the first and last of each special, without padding."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(10, 1000, (number, tokens), generator=generator)
    category = torch.full_like(ids, 3)
    category[:, 0], category[:, -1], category[:, 10::20] = 0, 1, 2
    batch: dict[str, Any] = {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "token_type_ids": torch.zeros_like(ids),
        "category": category,
        "word": torch.arange(tokens).expand(number, -1),
        "lengths": torch.full((number,), tokens),
    }
    return Batch(**{name: each.to(device) for name, each in batch.items()})


def number_of_texts(model: CapturedModel, tokens: int) -> int:
    """Return the texts of a batch in which the weights of a layer are of `SCORE_BYTES`."""
    heads = max(site.heads for site in model.sites)
    return min(SHARD, max(1, SCORE_BYTES // (4 * heads * tokens**2)))


def capture(model: CapturedModel, batch: Batch) -> None:
    """Compute what a record holds, and look at nothing."""
    with model.capture() as recorder:
        recorder.query_block = None
        recorder.visit = lambda record: None
        model.run(batch)


def survey(model: CapturedModel, batch: Batch, kind: Kind, measures: Sequence[str]) -> Any:
    """Return the statistics of a batch, with all that a survey sees of every head."""
    observer = HeadsObserver(*Positions.for_kind(batch, kind), kind, measures=measures)
    with model.capture() as recorder, answered_later():
        recorder.query_block = None
        recorder.visit = observer.visit
        model.run(batch)
    observer.to_host()
    return observer.tally()


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _seconds(function: Callable[[], object], device: torch.device) -> float:
    _finish(device)
    began = time.perf_counter()
    function()
    _finish(device)
    return time.perf_counter() - began


def _peak(function: Callable[[], object], device: torch.device) -> str:
    if device.type != "cuda":
        return "no card"
    torch.cuda.reset_peak_memory_stats(device)
    function()
    return f"peak {torch.cuda.max_memory_allocated(device) / 1e9:.1f} GB"


def rows_of(
    shape: Shape, dtype: torch.dtype, tokens: int, device: torch.device, count: int, most: int
) -> list[Row]:
    """Return the rows of one shape at one length."""
    model = shape.model(device, dtype)
    batch = texts(tokens, min(most, number_of_texts(model, tokens)), device)
    functions: dict[str, Callable[[], object]] = {
        "forward": partial(model.run, batch),
        "capture": partial(capture, model, batch),
    }
    for name, (measures, _) in SURVEYS.items():
        functions[name] = partial(survey, model, batch, shape.kind, measures)
    times: dict[str, list[float]] = {name: [] for name in functions}
    for number in range(count + 1):  # in turn; the first round warms up
        for name, function in functions.items():
            seconds = _seconds(function, device)
            if number:
                times[name].append(seconds)
    forward = np.array(times["forward"])
    what = f"{shape.title}, {str(dtype).removeprefix('torch.')}, {tokens:,} tokens"
    speed = f"{batch.input_ids.numel() / statistics.median(forward):,.0f} tokens/s"
    size, best = _best_batch(model, tokens, len(batch.input_ids), device)
    remark = f"{len(batch.input_ids)} texts; at its best {best:,.0f} tokens/s, {size} texts"
    rows = [(f"{what}, plain pass", speed, "", remark)]
    for name, aim in {"capture": "", **{name: aim for name, (_, aim) in SURVEYS.items()}}.items():
        ratio = f"{np.median(np.array(times[name]) / forward):.2f}×"
        rows.append((f"the same, {name}", ratio, aim, _peak(functions[name], device)))
    return rows


def _best_batch(
    model: CapturedModel, tokens: int, most: int, device: torch.device
) -> tuple[int, float]:
    """Return with how many texts a plain pass is the fastest, and its tokens a second."""
    speeds = {}
    for number in {max(1, most // part) for part in (1, 4, 16)}:
        run = partial(model.run, texts(tokens, number, device))
        run()
        speeds[number] = number * tokens / min(_seconds(run, device) for _ in range(2))
    return max(speeds.items(), key=lambda each: each[1])


@contextmanager
def _no_waits(device: torch.device) -> Iterator[None]:
    """Refuse, within the block, whatever makes the host wait for the card."""
    if device.type != "cuda":
        yield
        return
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def runs() -> bool:
    """Return whether there is a card."""
    return torch.cuda.is_available()


def comparison(shape: Shape, device: torch.device) -> list[Row]:
    """Return how far the numbers are from the CPU's, and whether a visited layer waits."""
    results = []
    for place in (torch.device("cpu"), device):
        model, batch = shape.model(place, torch.float32), texts(32, 2, place)
        results.append(survey(model, batch, shape.kind, WHOLE))
    numbers = [
        {name: each.compute() for name, each in tally.items() if not name.startswith("slots_")}
        for tally in results
    ]
    furthest = 0.0
    for name in ("total", "entropy", "vector_norm", "merged"):
        one, other = (each[name]["mean"] for each in numbers)
        furthest = max(furthest, float(np.nanmax(np.abs(one - other) / (np.abs(one) + 1e-3))))
    waits = "none"
    try:
        with model.capture() as recorder, answered_later():
            observer = HeadsObserver(
                *Positions.for_kind(batch, shape.kind), shape.kind, measures=NORM
            )

            def visit(record: Any) -> None:
                with _no_waits(device):
                    observer.visit(record)

            recorder.visit = visit
            model.run(batch)
    except RuntimeError as error:
        waits = str(error).splitlines()[0]
    return [
        (f"{shape.title}, largest difference to the CPU", f"{furthest:.0e}", "≤ 1e-04", "float32"),
        (f"{shape.title}, waits while a layer is looked at", waits, "none", "weights and norms"),
    ]


def _tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of whole words, which puts one mark before a text and one behind it."""
    words = ["<pad>", "<s>", "</s>", "<unk>", *(f"w{number}" for number in range(WORDS))]
    inner = Tokenizer(WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = WhitespaceSplit()
    marks = [("<s>", 1), ("</s>", 2)]
    inner.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=marks)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
    )


def whole_runs(shape: Shape, device: torch.device, number: int, tokens: int) -> list[Row]:
    """Return the rows of the default survey, as it is called: alone, and by two processes."""
    numbers = np.random.default_rng(0).integers(WORDS, size=(number, tokens - 2))
    lines = [" ".join(f"w{each}" for each in row) for row in numbers]
    with TemporaryDirectory() as name:
        folder = Path(name)
        torch.manual_seed(0)
        shape.make().eval().save_pretrained(folder / "model")
        _tokenizer().save_pretrained(folder / "model")
        loaded = headlight.load(folder / "model", device=str(device))

        def survey_of(texts_read: int, workers: str | None = None) -> tuple[Any, float]:
            corpus = folder / f"{texts_read} texts.txt"
            corpus.write_text("\n".join(lines[:texts_read]))
            began = time.perf_counter()
            result = headlight.survey(
                corpus,
                model=loaded,
                format="lines",
                max_length=tokens,
                out=folder / "run",
                overwrite=True,
                workers=workers,
                progress=False,
                pages=0,
            )
            return result, time.perf_counter() - began

        survey_of(number // 2)
        half, (alone, whole) = survey_of(number // 2)[1], survey_of(number)
        shared, by_two = survey_of(number, "2")
    model = shape.model(device, torch.float32)
    batch = texts(tokens, min(number - number // 2, number_of_texts(model, tokens)), device)
    model.run(batch)
    plain = _seconds(partial(model.run, batch), device) * (number - number // 2)
    ratio = (whole - half) * len(batch.input_ids) / plain
    weight, other = (each["entropy"].to_numpy() for each in (alone, shared))
    furthest = float(np.nanmax(np.abs(weight - other)))
    what = f"{shape.title}, {number} texts of {tokens} tokens"
    return [
        (f"{what}, default survey", f"{ratio:.2f}×", "≤ 1.5×", f"{whole:.1f} s"),
        (f"{what}, two workers", f"{by_two:.1f} s", "", f"{furthest:.0e} from one process"),
    ]


def main(count: int = 3, *, tiny: bool = False, device: str | None = None) -> list[Row]:
    """Return the rows of the table: what, measured, aim, remark."""
    home = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if home.type == "cpu" and not tiny:
        return [("a survey on a GPU", "not measured", "", "no card is here")]
    card = torch.cuda.get_device_name(home) if home.type == "cuda" else "the CPU"
    rows: list[Row] = [("card", card, "", f"torch {torch.__version__}")]
    started = time.perf_counter()
    for part in _parts(TINY if tiny else SHAPES, home, count, tiny=tiny):
        late = time.perf_counter() - started > ENOUGH
        new = [(_name(part), "not measured", "", "no time")] if late else _tried(part)
        for row in new:  # printed at once, so that a later mistake takes none
            print(f"{time.perf_counter() - started:5.0f} s: {', '.join(row)}", flush=True)
        rows += new
    return rows


def _parts(
    shapes: Sequence[Shape], device: torch.device, count: int, *, tiny: bool
) -> Iterator[partial[list[Row]]]:
    """Yield the parts of the table, from those that may be wrong to those that take long."""
    yield from (partial(comparison, shape, device) for shape in shapes)
    yield partial(whole_runs, shapes[0], device, *((8, 16) if tiny else (1024, 128)))
    for shape, dtype in product(shapes, TYPES):
        for tokens in TINY_LENGTHS if tiny else LENGTHS:
            yield partial(rows_of, shape, dtype, tokens, device, count, 2 if tiny else SHARD)


def _name(part: partial[list[Row]]) -> str:
    shape, *rest = part.args
    return ", ".join([part.func.__name__, shape.title, *map(str, rest)])


def _tried(part: partial[list[Row]]) -> list[Row]:
    """Return the rows of a part, or why there are none: out of memory, say."""
    try:
        return part()
    except (RuntimeError, HeadlightError) as error:
        return [(_name(part), type(error).__name__, "", str(error).splitlines()[0])]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="small shapes, on the CPU as well")
    parser.add_argument("--rounds", type=int, default=3)
    with_json(parser, "device")
    options = parser.parse_args()
    table = main(options.rounds, tiny=options.tiny)
    show(table, options.json)
