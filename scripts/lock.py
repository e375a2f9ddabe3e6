"""Write the files of `requirements`: the versions of all that is installed, for every Python.

    make lock                                         # keeps the versions that fit
    make lock OPTIONS=--upgrade                       # takes the newest of all
    make lock OPTIONS="--upgrade-package numpy"       # takes the newest of one

OPTIONS are those of `uv pip compile`.  All versions are found together and are written into
`build.txt` (pip and the build backend), `run.txt` (what our distributions need, and the app),
`dev.txt` (all extras and dependency groups, and so all of the others as well) and `torch.txt`.
Where Pythons or systems need different versions, lines have markers.  With every version come the
hashes of its files, but not in `torch.txt`: which build of torch is installed depends on the index
that it comes from, and only the build with CUDA needs what else stands there.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "requirements"
PROJECTS = ("pyproject.toml", "packages/words/pyproject.toml", "packages/papers/pyproject.toml")
OURS = ("headlight-attention", "headlight-words", "headlight-papers")
INPUTS: dict[str, Sequence[str]] = {
    "build": ("--group=build",),
    "run": ("--extra=serve", *PROJECTS),
    "dev": ("--extra=all", "--group=dev", "--group=notebook", "--group=real", *PROJECTS),
}
"""What each file has versions of, as arguments of uv; the last one has all."""
BUILDS = re.compile(r"(torch|triton|cuda-.*|nvidia-.*)==")
"""Torch, and what only its builds with CUDA need."""


def main() -> None:
    kept = [each.read_text(encoding="utf-8") for each in sorted(FOLDER.glob("*.txt"))]
    everything = compiled("".join(kept), *INPUTS["dev"], *sys.argv[1:])
    files = {name: compiled(everything, *arguments) for name, arguments in INPUTS.items()}
    FOLDER.mkdir(exist_ok=True)
    for name, text in files.items():
        write(name, [pin for pin in pins(text) if not BUILDS.match(pin)])
    write("torch", [pin.partition(" \\\n")[0] for pin in pins(everything) if BUILDS.match(pin)])


def compiled(kept: str, *arguments: str) -> str:
    """Return all versions that uv finds, with hashes; it prefers those that are kept."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "versions.txt"
        file.write_text(kept, encoding="utf-8")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--output-file", file),
                *("--universal", "--python-version", "3.11", "--generate-hashes"),
                *("--no-header", "--no-annotate"),
                *(word for name in OURS for word in ("--no-emit-package", name)),
                *arguments,
            ],
            cwd=ROOT,
            check=False,
        )
        if done.returncode:
            sys.exit(done.returncode)
        return file.read_text(encoding="utf-8")


def pins(text: str) -> list[str]:
    """Return the versions in a file, each with its hashes."""
    return re.split(r"\n(?=\S)", text.strip())


def write(name: str, lines: Sequence[str]) -> None:
    text = "\n".join(["# Written by `make lock`.", *lines, ""])
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
