"""Run benchmarks and write their tables into the page of the documentation.

python -m benchmarks              all of them
python -m benchmarks norms memory these; the tables of the others stay as they are

The part encoders compares with other aligners: HEADLIGHT_ALIGNERS names the Python in which
simalign and awesome-align are installed, HEADLIGHT_DATA the folder of the data.  Without these it
is left out.  The part view needs Chromium; HEADLIGHT_VIEWERS names the Python in which bertviz,
circuitsvis and inspectus are installed, HEADLIGHT_SCRIPTS a folder with the libraries that BertViz
loads (require.min.js, d3.min.js, jquery.min.js).  The part readers compares with other libraries:
HEADLIGHT_READERS names the Python in which transformer_lens and nnsight are installed.
"""

import argparse
import platform
import re
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import torch
import transformers

from benchmarks import (
    ablation,
    align,
    attribution,
    cluster,
    dependency,
    device,
    distances,
    encoders,
    exclusivity,
    gradient,
    identity,
    long,
    memory,
    norms,
    one_text,
    own_code,
    pretrained,
    readers,
    shares,
    startup,
    survey,
    view,
)

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"

PARTS: dict[str, tuple[str, ModuleType]] = {
    "readers": ("A survey beside other libraries", readers),
    "survey": ("A survey and its measures", survey),
    "pretrained": ("A survey of pretrained models", pretrained),
    "device": ("A survey on a GPU", device),
    "gradient": ("Gradient importance", gradient),
    "ablation": ("Heads removed", ablation),
    "dependency": ("Heads as parsers", dependency),
    "distances": ("Distances between heads", distances),
    "norms": ("Ranks of a survey", norms),
    "attribution": ("Hidden token attribution", attribution),
    "one_text": ("What is asked of one text", one_text),
    "identity": ("Token identity", identity),
    "align": ("Word alignment", align),
    "encoders": ("Word alignment by encoders", encoders),
    "exclusivity": ("Adversaries", exclusivity),
    "view": ("The view of a text", view),
    "cluster": ("Workers", cluster),
    "shares": ("Where the time goes", shares),
    "memory": ("Memory", memory),
    "own_code": ("Attention in code of a model's own", own_code),
    "long": ("Long texts", long),
    "startup": ("Starting", startup),
}

USUAL_VERSIONS = "torch 2.13.0+cpu, transformers 5.23.0 and Python 3.11.7"
"""Versions that the introduction names, and a table only where it ran with others."""

INTRODUCTION = """# Benchmarks

```
make bench                       # everything
make bench PARTS="norms memory"  # parts of it
```

![Bars: how many forward passes each way takes](images/guides/benchmarks.svg)

*The first table: in blue Headlight, whose surveys measure more; in grey the means of weights and
norms alone, by others.*

Every table comes from one run, named below it. Where nothing else is said, it ran with torch
2.13.0+cpu, transformers 5.23.0 and Python 3.11.7, times are medians over rounds in which everything
is run in turn, and ratios are taken within a round, to the plain forward pass (sdpa, no attention
weights) of the same model in the same process. Aims were set before the code was written.
"""


def processor() -> str:
    """What the machine calls its processor."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def section(name: str) -> str:
    """Run one part; its table, and on what it was measured."""
    title, part = PARTS[name]
    rows = part.main()
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    day = datetime.now(UTC).date().isoformat()
    threads = torch.get_num_threads()
    note = f"{part.NOTE}\n\n" if hasattr(part, "NOTE") else ""
    versions = (
        f"torch {torch.__version__}, transformers {transformers.__version__} and Python "
        f"{platform.python_version()}"
    )
    return (
        f"## {title}\n\n{note}| what | measured | aim | remark |\n|---|---|---|---|\n{table}\n\n"
        f"{day}, {processor()}, {threads} thread{'s' if threads > 1 else ''}"
        f"{'' if versions == USUAL_VERSIONS else f', {versions}'}.\n"
    )


def kept() -> dict[str, str]:
    """The sections of the page as it is, by their titles."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].removeprefix("## "): f"{part.strip()}\n" for part in parts}


NEEDED = {
    "encoders": f"{encoders.OTHERS} and {encoders.DATA}",
    "readers": readers.OTHERS,
    "view": "Chromium",
    "device": "a GPU",
}
"""Other programs to compare with, or a browser: parts that are left out where these are missing."""


def _runs(name: str) -> bool:
    """Whether there is what a part needs."""
    return name not in NEEDED or bool(PARTS[name][1].runs())


def main() -> None:
    """Write the page whole or not at all, after every part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", help=f"of {', '.join(PARTS)}; default: all")
    chosen = parser.parse_args().part or [name for name in PARTS if _runs(name)]
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"there is no part {unknown.pop()}; there are {', '.join(PARTS)}")
    if unable := [name for name in chosen if not _runs(name)]:
        parser.error(f"{unable[0]} needs {NEEDED[unable[0]]}; see --help")
    sections = kept()
    for name in chosen:
        title = PARTS[name][0]
        sections[title] = section(name)
        print(sections[title], flush=True)
        written = [sections[known] for known, _ in PARTS.values() if known in sections]
        fresh = PAGE.with_suffix(".new")
        fresh.write_text("\n".join([INTRODUCTION, *written]), encoding="utf-8")
        fresh.replace(PAGE)


if __name__ == "__main__":
    main()
