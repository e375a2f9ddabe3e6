"""A small survey by Headlight, and by the code that is written today with other libraries.

HEADLIGHT_READERS names the Python in which transformer_lens and nnsight are installed.  For each
head of a model of GPT-2's shape: entropy, mean weight to the previous and to the first token, and
mean ‖αf(x)‖ to both.  Each way runs in a process of its own, and all numbers are compared before
any time is told.

python -m benchmarks.readers MEASURES MODEL OUT    Headlight's ways; without measures, by capture
"""

import os
import statistics
import subprocess
import sys
import tempfile
from functools import reduce
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from benchmarks import other_readers
from benchmarks.other_readers import NAMES, READERS, Found, by_head, over_texts
from headlight.capture import CapturedModel
from headlight.encode.batch import Batch
from headlight.observations.positions import Positions
from headlight.studies.survey.observer import HeadsObserver
from headlight.studies.survey.rows import OFFSETS
from headlight.vocabulary import CATEGORIES, MEASURES

OTHERS = "HEADLIGHT_READERS"
NOTE = """![Bars: how many forward passes each way takes](images/guides/benchmarks.svg)

*The first numbers of the table below. In blue Headlight, which measures more in a survey than the
others; in grey the means of weights and norms alone, by others
(`scripts/guide_pictures.py benchmarks` draws it from this page).*"""
"""Before the table."""
TOLERANCE = 1e-4
"""The largest relative difference between two ways, of sums in float32."""
ROOT = Path(__file__).parents[1]
OURS = {
    "headlight, capture": "",
    "headlight, survey of weight and norm": "weight,norm",
    "headlight, whole survey": ",".join(MEASURES),
}
SAID = {
    "headlight, capture": "the means alone, in a visitor of layers",
    "headlight, survey of weight and norm": (
        "every category of token, both neighbours, entropy of norms and Σαf(x) as well"
    ),
    "headlight, whole survey": "effective attention, ranks and correlations as well",
    "output_attentions": "transformers: `output_attentions=True`, values from its cache",
    "hooks": "transformers: eager attention and forward hooks, which keep the means alone",
    "transformer_lens_cache": "`run_with_cache` of patterns and values, and of nothing else",
    "transformer_lens_hooks": "`run_with_hooks`, which keep the means alone",
    "nnsight": "reduced within the trace",
}


def runs() -> bool:
    """Whether there is something to compare with."""
    return OTHERS in os.environ


def prepare(folder: str) -> None:
    """A model with random weights, and the tokenizer without which TransformerLens opens none.

    Queries and keys are large, so that heads attend to something; the vocabulary is small, so that
    predicting pieces, which nobody asks for, costs nobody anything.
    """
    torch.manual_seed(0)
    pieces = other_readers.PIECES
    model = GPT2LMHeadModel(GPT2Config(vocab_size=pieces, bos_token_id=0, eos_token_id=0))
    with torch.no_grad():
        for block in model.transformer.h:
            block.attn.c_attn.weight.mul_(3)
    model.save_pretrained(folder)
    known = Tokenizer(models.WordLevel({str(piece): piece for piece in range(pieces)}, "0"))
    special = dict.fromkeys(("bos_token", "eos_token", "pad_token", "unk_token"), "0")
    PreTrainedTokenizerFast(tokenizer_object=known, **special).save_pretrained(folder)


def batch(ids: torch.Tensor) -> Batch:
    """The first token is of a category of its own."""
    category = torch.full_like(ids, CATEGORIES.index("other"))
    category[:, 0] = CATEGORIES.index("cls")
    return Batch(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        token_type_ids=torch.zeros_like(ids),
        category=category,
        word=torch.arange(ids.shape[1]).expand(len(ids), -1),
        lengths=torch.full((len(ids),), ids.shape[1]),
    )


def capture(model: CapturedModel) -> np.ndarray:
    """The means, by a visitor that computes nothing else."""

    def read(ids: torch.Tensor) -> Found:
        found: Found = []
        with model.capture() as recorder:
            recorder.visit = lambda record: found.append(
                by_head(record.weight, record.value, record.site.projection.weight)
            )
            model.run(batch(ids))
        return found

    return over_texts(read)


def survey(model: CapturedModel, measures: list[str]) -> np.ndarray:
    """The means, out of those of a survey of all batches."""
    seen = []
    with model.capture() as recorder:
        for ids in other_readers.texts():
            given = batch(ids)
            positions = Positions.for_kind(given, "decoder")
            observer = HeadsObserver(*positions, "decoder", measures=measures)
            recorder.visit, recorder.kernel = observer.visit, observer.kernel
            model.run(given)
            seen.append(observer.tally())
    whole = reduce(lambda one, other: one.merge(other), seen)
    mean = {name: whole[name].compute()["mean"] for name in ("entropy", "neighbour", "total")}
    weight, norm = measures.index("weight"), measures.index("norm")
    previous, first = OFFSETS.index(-1), CATEGORIES.index("cls")
    to_previous, to_first = mean["neighbour"][..., previous], mean["total"][..., 0, first]
    found = [mean["entropy"][..., weight, 0]]
    for measure in (weight, norm):
        found += [to_previous[..., measure], to_first[..., measure]]
    return np.stack(found, axis=-1)


def ours(measures: str, folder: str, out: str) -> None:
    model = CapturedModel(other_readers.model(folder), name="GPT-2, random weights")
    assert model.sites  # noqa: S101 - traced before memory is looked at
    names = measures.split(",")
    run = (lambda: survey(model, names)) if measures else (lambda: capture(model))
    other_readers.measure(run, folder, out)


def measured(name: str, folder: str) -> dict[str, np.ndarray]:
    """One way, in a fresh process."""
    out = str(Path(folder) / f"{name}.npz")
    if name in OURS:
        command = [sys.executable, "-m", "benchmarks.readers", OURS[name], folder, out]
    else:
        command = [os.environ[OTHERS], str(Path(other_readers.__file__)), name, folder, out]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return dict(np.load(out))


def check_equal(found: dict[str, dict[str, np.ndarray]]) -> float:
    """The largest relative difference.

    Raises:
        ValueError: two ways do not find the same.
    """
    wanted = found["headlight, whole survey"]["found"]
    worst = 0.0
    for name, each in found.items():
        difference = (abs(each["found"] - wanted) / abs(wanted)).max((0, 1))
        if not (difference < TOLERANCE).all():
            said = dict(zip(NAMES, difference, strict=True))
            raise ValueError(f"{name} differs from the survey: {said}")
        worst = max(worst, float(difference.max()))
    return worst


def main() -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, aim, remark."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        names = [*OURS, *(each.__name__ for each in READERS)]
        found = {name: measured(name, folder) for name in names}
    difference = check_equal(found)
    plain = statistics.median(float(each["times"][:, 0].mean()) for each in found.values())
    size = f"{other_readers.BATCHES} batches of {other_readers.TEXTS}×{other_readers.LENGTH}"
    rows = [
        ("plain forward pass (sdpa)", f"{plain:.1f} s", "", f"CPU time, {size}, GPT-2's shape"),
        (
            "largest relative difference",
            f"{difference:.0e}",
            "",
            "of any number to the one of the survey",
        ),
    ]
    for name, each in found.items():
        ratio = np.median(each["times"][:, 1] / each["times"][:, 0])
        memory = f"{float(each['memory']):.0f} MB"
        rows.append((name.replace("_", " "), f"{ratio:.2f}×, {memory}", "", SAID[name]))
    return rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    ours(*sys.argv[1:])
