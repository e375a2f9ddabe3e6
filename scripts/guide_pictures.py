"""Make the pictures of the guides of studies, each by the command that stands under it.

    python scripts/guide_pictures.py [NAME ...]

Every study runs on the model and the sample that come with the package.
"""

import sys
from pathlib import Path

import matplotlib

import headlight

matplotlib.use("Agg")
IMAGES = Path(__file__).parents[1] / "docs" / "images" / "studies"
RUNS: dict[str, dict[str, int]] = {
    "norms": {"max_examples": 40},
    "ablation": {"max_examples": 6},
    "circuits": {},
    "identifiability": {"max_examples": 20},
    "mixing": {"max_examples": 20},
    "dependency": {},
    "coreference": {},
    "parser_probes": {},
    "alignment": {},
    "permutation": {"max_examples": 60, "shuffles": 3},
}
"""By the name of the study: its settings."""


def main(names: list[str]) -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, settings in RUNS.items():
        if names and name not in names:
            continue
        result = getattr(headlight, name)(progress=False, **settings).headlight
        result.plot(result.plots[0]).savefig(IMAGES / f"{name}.png", dpi=90, bbox_inches="tight")
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
