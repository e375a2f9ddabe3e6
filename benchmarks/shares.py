"""Where the time of a study goes: processor time in one thread, and the functions that spend it.

One thread, and the time of the processor, so that other work on the machine disturbs little; what
runs in one thread only looks cheaper here than beside a forward pass in several.
"""

import cProfile
import pstats
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from benchmarks import norms, survey
from headlight.processes import keep_freed_memory

NOTE = """Processor time in one thread, over that of the plain forward pass of the same model, 8×128
tokens; on the right the functions that spend most of it, the forward pass included (`linear`,
`addmm`). The tables above are of two threads, where what numpy and numba do still has one. Of the
study of norms these are the ranks: 0.26 of 2.5 seconds a batch, more than half of them in the
compiled loop. Three ways to make them quicker were tried and left: codes of numbers computed within
the loop (0.34 s in place of 0.25), two sums in one number (half the time in the loop, and as much
again to take them apart), and a thread for each of the two tables (no gain, on a busy machine). Of
what the survey of GPT-2's shape adds to the forward pass, more than half is effective attention."""

NAMED = 6
"""Functions of a row."""
Work = Callable[[], object]


def subjects() -> Mapping[str, tuple[Work, Work]]:
    """What is profiled: a plain forward pass, and the study on the same batch."""
    texts = survey.batch()
    encoder, decoder = survey.subject(), survey.decoder()
    for each in (encoder, decoder):
        assert each.sites  # noqa: S101 - traced before the clock runs

    def plain() -> object:
        return encoder.run(texts)

    return {
        "capture, ‖f‖, ‖αf‖, ‖Σαf‖": (plain, survey.captured(encoder, texts, survey.norms)),
        "whole survey": (plain, survey.whole_survey(encoder, texts)),
        "whole survey of GPT-2's shape": (
            lambda: decoder.run(texts),
            survey.whole_survey(decoder, texts, "decoder"),
        ),
        "study of norms, all correlations": (plain, norms.whole_study(encoder, texts)),
    }


def least(work: Work, count: int = 4) -> float:
    """Seconds of processor time."""
    times = []
    for _ in range(count):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def spenders(work: Work, count: int = 3) -> list[tuple[str, float]]:
    """Functions and their share of the time, without what they call; those that spend most."""
    profile = cProfile.Profile()
    profile.enable()
    for _ in range(count):
        work()
    profile.disable()
    own: dict[str, float] = {}
    for (file, _, function), (_, _, spent, _, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        name = _name(file, function)
        own[name] = own.get(name, 0.0) + spent
    whole = sum(own.values())
    ordered = sorted(own.items(), key=lambda item: -item[1])
    return [(name, spent / whole) for name, spent in ordered[:NAMED]]


def _name(file: str, function: str) -> str:
    """`linear` of torch, `_project (causal.py)` of ours."""
    if file == "~":
        builtin = function.strip("<>{}").split(" of ")[0].split()[-1].strip("'")
        return f"`{builtin.rpartition('.')[2]}`"
    return f"`{function}` ({Path(file).name})"


def main() -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    keep_freed_memory()
    torch.set_num_threads(1)
    rows = []
    for name, (plain, study) in subjects().items():
        for _ in range(2):  # only the first batches ask for new memory
            plain()
            study()
        ratio = least(study) / least(plain)
        told = ", ".join(f"{who} {100 * share:.0f}%" for who, share in spenders(study))
        rows.append((name, f"{ratio:.2f}×", "", told))
    return rows


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
