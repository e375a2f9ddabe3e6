"""Word alignment by encoders beside SimAlign and awesome-align: the same encoder, the same pairs.

The others run in a Python of their own, which the variable HEADLIGHT_ALIGNERS names; pairs and the
vocabulary are those of HEADLIGHT_DATA.  Times are seconds of CPU time on one thread, from the
loaded model to the last link; all that is compared runs in turn.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from benchmarks.timing import ratio
from headlight.capture import CapturedModel, load_model
from headlight_words.corpora import TranslationPair, open_parallel
from headlight_words.links import Links, open_links
from headlight_words.word_alignment import AlignerSettings, Extraction
from headlight_words.word_alignment.directions import align_pairs

OTHERS, DATA = "HEADLIGHT_ALIGNERS", "HEADLIGHT_DATA"
SCRIPT = Path(__file__).with_name("other_aligners.py")
PAIRS, LAYER, ROUNDS = 32, 8, 1


@dataclass(frozen=True)
class Compared:
    """One method here and there.

    Attributes:
        tool: ``simalign`` or ``awesome-align``.
        methods: Letters of SimAlign.
        method: What its file of links ends in.
        extraction: What it is called here.
        unit: In SimAlign's words.
    """

    tool: str
    methods: str
    method: str
    extraction: Extraction
    unit: str = "bpe"

    @property
    def name(self) -> str:
        return f"{self.extraction}, {'words' if self.unit == 'word' else 'pieces'}"


METHODS = (
    Compared("simalign", "a", "inter", "argmax"),
    Compared("simalign", "m", "mwmf", "match"),
    Compared("awesome-align", "-", "softmax", "softmax"),
)
PRECISIONS = ("float32", "bfloat16")


def runs() -> bool:
    """Whether there is all that the comparison needs."""
    return bool(os.environ.get(OTHERS) and os.environ.get(DATA))


def saved_models(folder: Path, vocabulary: Path) -> dict[str, CapturedModel]:
    """BERT of base size with random weights; also in the file that awesome-align reads."""
    torch.manual_seed(0)
    BertTokenizer(str(vocabulary)).save_pretrained(folder)
    (folder / "vocab.txt").write_bytes(vocabulary.read_bytes())
    size = len(vocabulary.read_text(encoding="utf-8").splitlines())
    network = BertForMaskedLM(BertConfig(vocab_size=size)).eval()
    network.save_pretrained(folder)
    torch.save(network.state_dict(), folder / "pytorch_model.bin")
    return {each: load_model(str(folder), device="cpu", dtype=each) for each in PRECISIONS}


def here(
    model: CapturedModel, pairs: Sequence[TranslationPair], compared: Compared
) -> tuple[float, list[Links]]:
    """Seconds of CPU time, and the links."""
    unit = "word" if compared.unit == "word" else "piece"
    asked = AlignerSettings(layer=LAYER, extraction=compared.extraction, unit=unit)
    began = time.process_time()
    found = [each.links for each in align_pairs(pairs, model, asked)]
    return time.process_time() - began, found


def there(folder: Path, compared: Compared) -> tuple[float, list[Links]]:
    """The same of the other tool."""
    out = folder / "links"
    chosen = [compared.tool, compared.methods, compared.unit]
    command = [os.environ[OTHERS], SCRIPT, *chosen, folder, str(LAYER), folder / "pairs.txt", out]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    variables.pop("PYTHONPATH", None)
    made = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"{compared.tool} failed:\n{made.stderr[-2000:]}")
    seconds = float(made.stdout.rsplit("seconds", 1)[1])
    return seconds, [each.sure for each in open_links(f"{out}.{compared.method}")]


def main(count: int = ROUNDS) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(1)
    data = Path(os.environ[DATA])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        models = saved_models(folder, data / "bert_vocab" / "vocab.txt")
        gold = data / "align_de-en_rwth"
        pairs = list(islice(open_parallel(gold / "test.de", gold / "test.en"), PAIRS))
        lines = [f"{pair.source} ||| {pair.target}\n" for pair in pairs]
        (folder / "pairs.txt").write_text("".join(lines), encoding="utf-8")
        return [row for each in METHODS for row in compare(models, folder, pairs, each, count)]


def compare(
    models: Mapping[str, CapturedModel],
    folder: Path,
    pairs: Sequence[TranslationPair],
    compared: Compared,
    count: int,
) -> Iterator[tuple[str, str, str, str]]:
    """How many times faster a method is here, in each precision, and whether links are the same."""
    times: dict[str, list[float]] = {name: [] for name in (*models, "there")}
    found: dict[str, list[Links]] = {}
    for _ in range(count):
        for precision, model in models.items():
            taken, found[precision] = here(model, pairs, compared)
            times[precision].append(taken)
        taken, found["there"] = there(folder, compared)
        times["there"].append(taken)
    each = {name: 1000 * median(taken) / len(pairs) for name, taken in times.items()}
    for precision in models:
        both = zip(found[precision], found["there"], strict=True)
        other = sum(len(one ^ two) for one, two in both)
        links = sum(map(len, found["there"]))
        yield (
            f"{compared.name}, {precision}: {compared.tool} ÷ here",
            f"{ratio(times, 'there', precision):.2f}×",
            "≥ 3×",
            f"{each['there']:.0f} and {each[precision]:.0f} ms of CPU time a pair; "
            f"{other} of {links:,} links differ",
        )


if __name__ == "__main__":
    for line in main():
        print(*line, sep="\t")
