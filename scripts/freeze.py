"""Keep the numbers of tiny runs of all studies and papers, or look whether they are the same.

    python scripts/freeze.py                    # writes tests/frozen, and those of words and papers
    python scripts/freeze.py --record FOLDER    # writes every bit there, for this machine alone
    python scripts/freeze.py --exact FOLDER     # compares every bit with such a folder
    python scripts/freeze.py --only survey,jain2019 --exact FOLDER

Bits are the same only on one machine, with one version of each library and OMP_NUM_THREADS=1.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import transformers

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests", "packages/words/tests", "packages/papers/tests")
sys.path[:0] = [str(ROOT / each) for each in TESTS]

import frozen_paper_runs as papers  # noqa: E402 - it is in one of the folders above
import frozen_runs as core  # noqa: E402
import frozen_word_runs as words  # noqa: E402
from frozen_files import FROZEN, to_json  # noqa: E402
from frozen_numbers import exact_differences, load_exact, save_exact  # noqa: E402

PLACES = {
    **dict.fromkeys(core.RUNS, (core.numbers_of, FROZEN)),
    **dict.fromkeys(words.RUNS, (words.numbers_of, words.FROZEN)),
    **dict.fromkeys(papers.RUNS, (papers.numbers_of, papers.FROZEN)),
}
"""Of each run by name: the function that makes it, and the folder of its numbers."""


def main() -> int:
    arguments = _arguments()
    names = arguments.only.split(",") if arguments.only else list(PLACES)
    unknown = [name for name in names if name not in PLACES]
    if unknown:
        sys.exit(f"no run is called {unknown[0]}; there are {', '.join(PLACES)}")
    transformers.utils.logging.disable_progress_bar()
    if arguments.record:
        arguments.record.mkdir(exist_ok=True)
    changed = 0
    with tempfile.TemporaryDirectory() as folder:
        material = papers.PaperMaterial(Path(folder))
        for name in names:
            numbers_of, place = PLACES[name]
            numbers = numbers_of(name, material)
            if arguments.keep and name in papers.PAPER_RUNS:
                shutil.copytree(material.reproduction(name), arguments.keep / name)
            if arguments.exact:
                found = list(exact_differences(load_exact(arguments.exact / name), numbers))
                changed += bool(found)
                print(f"{name}: {len(found) or 'no'} differences", *found, sep="\n  ", flush=True)
            elif arguments.record:
                save_exact(numbers, arguments.record / name)
            else:
                (place / f"{name}.json").write_text(to_json(numbers), encoding="utf-8")
    return int(changed > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="names of runs, with commas between them")
    parser.add_argument("--record", type=Path, help="write every bit to this folder")
    parser.add_argument("--exact", type=Path, help="compare every bit with this folder")
    parser.add_argument("--keep", type=Path, help="leave files and pages of papers in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
