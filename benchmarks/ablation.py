"""The study of removed heads against the forward passes that it needs: BERT-base, 8×128."""

from collections.abc import Callable

import torch

from benchmarks.gradient import OBJECTIVE, subject
from benchmarks.survey import THREADS, batch
from benchmarks.timing import ratio, rounds
from headlight.capture import CapturedModel, Prepared
from headlight.encode import Encoded
from headlight.processes import keep_freed_memory
from headlight.studies.ablation import AblationSettings
from headlight.studies.ablation.outputs import Outputs
from headlight.studies.ablation.study import AblationObserver

LAYER = 6
HEADS = 12


def plain(model: CapturedModel, texts: Prepared) -> Callable[[], None]:
    """As many forward passes as there are heads, and one more."""

    def run() -> None:
        for _ in range(HEADS + 1):
            model.run(texts)

    return run


def study(model: CapturedModel, texts: Prepared) -> Callable[[], None]:
    """All of the study for the heads of one layer of the batch."""
    ids = texts.input_ids.tolist()
    examples = [
        Encoded(
            name=str(at),
            ids=tuple(row),
            segments=(0,) * len(row),
            categories=tuple(texts.category[at].tolist()),
            words=tuple(range(len(row))),
        )
        for at, row in enumerate(ids)
    ]
    settings = AblationSettings(by=("head",), batch_tokens=texts.input_ids.numel())
    sites = model.sites_of("encoder", [LAYER])

    def run() -> None:
        outputs = Outputs.of_words(texts)
        AblationObserver(model, texts, examples, outputs, sites, settings).tally()

    return run


def main(count: int = 3) -> list[tuple[str, str, str, str]]:
    """Rows of the table: what, measured, target, remark."""
    torch.set_num_threads(THREADS)
    keep_freed_memory()  # as the command line does; it helps the plain passes as well
    model = subject()
    texts = OBJECTIVE.prepare(batch())
    assert model.sites  # noqa: S101 - traced before the clock runs
    times = rounds({"plain": plain(model, texts), "study": study(model, texts)}, count)
    return [
        (
            "each head of a layer removed",
            f"{ratio(times, 'study', 'plain'):.2f}×",
            "≤ 1.2×",
            f"÷ {HEADS + 1} forward passes, which is one for each head and one more; BERT-base "
            "with its head, divergences over 30,522 pieces",
        )
    ]


if __name__ == "__main__":
    for row in main():
        print(*row, sep="\t")
