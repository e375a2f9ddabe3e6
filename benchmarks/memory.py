"""Peak memory, each figure from a process of its own.

python -m benchmarks.memory forward|survey|naive|corpus-1|corpus-8
"""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import torch

from benchmarks.survey import THREADS, batch, captured, naive_norms, subject, whole_survey
from headlight.capture import load_model
from headlight.corpora import SAMPLE_TEXT
from headlight.processes import keep_freed_memory
from headlight.studies.survey import SurveySettings
from headlight.studies.survey.study import run as survey

DOCUMENTS = 512


def peak() -> float:
    """The most memory that this process has held, in MB.

    Not from `getrusage`, whose figure for a child begins with the size of its parent.
    """
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def measure(what: str) -> float:
    """MB above the loaded model; for a corpus, MB in all."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command line does
    if what.startswith("corpus"):
        documents = SAMPLE_TEXT.read_text(encoding="utf-8").split("\n\n")
        count = DOCUMENTS * int(what.removeprefix("corpus-"))
        texts = itertools.islice(itertools.cycle(documents), count)
        survey(texts, load_model(), SurveySettings(max_length=128), progress=False)
        return peak()
    model, texts = subject(), batch()
    assert model.sites  # noqa: S101 - traced before the peak is taken
    before = peak()
    runs = {
        "forward": lambda: model.run(texts),
        "survey": whole_survey(model, texts),
        "naive": captured(model, texts, naive_norms),
    }
    runs[what]()
    return peak() - before


def measured(what: str) -> float:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.memory", what]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    return float(done.stdout.split()[-1])


def main() -> list[tuple[str, str, str, str]]:
    """Rows of the table."""
    forward, whole, naive = (measured(what) for what in ("forward", "survey", "naive"))
    once, eight = measured("corpus-1"), measured("corpus-8")
    return [
        ("peak above the model: plain forward pass", f"{forward:.0f} MB", "", ""),
        ("peak above the model: whole survey", f"{whole:.0f} MB", "", ""),
        (
            "peak above the model: norms by their definition",
            f"{naive:.0f} MB",
            "",
            "one text at a time",
        ),
        (
            "survey of 1× and 8× a corpus",
            f"{once:.0f} MB, {eight:.0f} MB",
            "no growth",
            f"{DOCUMENTS} and {8 * DOCUMENTS} texts, embedded model, whole process",
        ),
    ]


if __name__ == "__main__":
    print(measure(sys.argv[1]))
