"""Run the notebooks and keep their outputs.

    python scripts/notebooks.py [NAME ...]

Each of `notebooks/` is run in a kernel of its own, in its folder and without a network, and saved
again with what its cells have put out.  One that needs a model which is not there is left as it is
(`HEADLIGHT_MODELS` names the folder of `make models`).
"""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import nbformat

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
NEEDS = {"inside_a_language_model": "smollm2"}
"""Notebooks of models that do not come with the package."""
SECONDS = 60
"""In which each of them has to be done, on two cores."""


def lacks(name: str) -> str | None:
    """The model that a notebook needs, if it is not there."""
    model = NEEDS.get(name)
    folder = Path(os.environ.get("HEADLIGHT_MODELS", NOTEBOOKS.parent / "build" / "models"))
    return model if model and not (folder / model).is_dir() else None


def run(path: Path) -> "nbformat.NotebookNode":
    """The notebook with its outputs, which name no time and no place."""
    import nbformat  # here, since the two take seconds to import
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    os.environ |= {"HF_HUB_OFFLINE": "1"}
    client = NotebookClient(
        notebook,
        timeout=600,
        resources={"metadata": {"path": str(path.parent)}},
        record_timing=False,
    )
    client.execute()
    notebook.metadata.pop("language_info", None)
    return notebook


def main(names: list[str]) -> None:
    import nbformat

    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        if missing := lacks(path.stem):
            print(f"{path.name}: left as it is, {missing} is not there")
            continue
        start = time.perf_counter()
        notebook = run(path)
        nbformat.write(notebook, path)
        print(f"{path.name}: {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
