"""SimAlign and awesome-align on the pairs of a file, run by the Python in which they are installed.

python other_aligners.py simalign METHODS UNIT | awesome-align - -  MODEL LAYER PAIRS OUT

Writes links of each method to ``OUT.METHOD``, and prints the seconds of CPU time from the loaded
model to the last link.  Nothing of Headlight is imported here.
"""

import sys
import time
from collections.abc import Sequence

import torch


def simalign(methods: str, unit: str, model: str, layer: int, pairs: str, out: str) -> float:
    """All methods of one call; their links."""
    from simalign import SentenceAligner

    aligner = SentenceAligner(model, unit, matching_methods=methods, layer=layer)
    with open(pairs, encoding="utf-8") as file:  # noqa: PTH123 - as old a Python as need be
        lines = [line.rstrip("\n").split(" ||| ") for line in file]
    began = time.process_time()
    found = [aligner.get_word_aligns(source, target) for source, target in lines]
    seconds = time.process_time() - began
    for method in found[0]:
        write(f"{out}.{method}", [each[method] for each in found])
    return seconds


def write(path: str, links: Sequence[Sequence[tuple[int, int]]]) -> None:
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.writelines(" ".join(f"{i}-{j}" for i, j in each) + "\n" for each in links)


def awesome_align(model: str, layer: int, pairs: str, out: str) -> float:
    """Its own program, of which the part after loading is timed."""
    from awesome_align import run_align

    inner, seconds = run_align.word_align, []

    def timed(*arguments: object) -> None:
        began = time.process_time()
        inner(*arguments)
        seconds.append(time.process_time() - began)

    run_align.word_align = timed
    sys.argv = [
        "awesome-align",
        "--data_file",
        pairs,
        "--output_file",
        f"{out}.softmax",
        "--no_cuda",
        "--model_name_or_path",
        model,
        "--align_layer",
        str(layer),
        "--num_workers",
        "0",
    ]
    run_align.main()
    return seconds[0]


if __name__ == "__main__":
    torch.set_num_threads(1)
    tool, methods, unit, model, layer, pairs, out = sys.argv[1:]
    if tool == "simalign":
        taken = simalign(methods, unit, model, int(layer), pairs, out)
    else:
        taken = awesome_align(model, int(layer), pairs, out)
    print(f"seconds {taken}")
