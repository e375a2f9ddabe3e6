"""Install all wheels with the newest of all they need, and look whether they work.

    make try-newest PYTHONS="3.12 3.13"

Each Python gets an empty environment, and in it all that `pyproject.toml` admits in its newest
version, whatever `requirements` says; `scripts/every_door.py` imports every module there and asks
every command for its help.  With the last of the Pythons commands are run as a user would, on what
comes with the package, and then quick tests of this tree on the installed packages.  A Python that
is not on this machine is named, and left out.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
UV = (sys.executable, "-m", "uv")
COMMANDS = (
    ("survey", "--max-examples", "4", "--out", "survey"),
    ("read", "The old mill by the river was sold.", "--html", "reading.html"),
    ("predict", "The cat sat on the [MASK]."),
    ("reproduce", "--list"),
    ("reproduce", "abnar2020", "--max-examples", "3", "--only", "agreement", "--out", "abnar2020"),
)
WRITTEN = ("survey/report.html", "reading.html", "abnar2020/index.html")
TESTS = (
    *(f"tests/{name}" for name in ("measures", "reduce", "findings", "encode", "pool")),
    *(f"packages/words/tests/{name}" for name in ("encode", "links")),
)
LEAST = 200
"""Tests that have to pass at least."""
STRANGE = re.compile(r"Traceback|\w*Warning|nanobind|leaked|deprecated")
"""What no command should print to a user."""
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "PYTHONPATH": "",
    "PYTEST_ADDOPTS": "",
    "OMP_NUM_THREADS": "1",
}


def main() -> int:
    arguments = _arguments()
    pythons = [python for version in arguments.python if (python := find(version))]
    if not pythons:
        sys.exit("none of these Pythons is on this machine.")
    with TemporaryDirectory(prefix="headlight-newest-") as place:
        folder = Path(place)
        run(*UV, "build", "--quiet", "--all-packages", "--wheel", "--out-dir", folder / "wheels")
        for python in pythons:
            began = time.monotonic()
            environment = installed(python, folder, arguments.options)
            (folder / "empty").mkdir(exist_ok=True)
            run(environment / "bin/python", ROOT / "scripts/every_door.py", cwd=folder / "empty")
            if python == pythons[-1]:
                use(environment, folder / "use")
                test(environment, folder / "tests")
            shutil.rmtree(environment)
            print(f"{python}: {time.monotonic() - began:.0f} s\n", flush=True)
    return 0


def find(version: str) -> str | None:
    """Return the path of a Python of this machine, also of pyenv, or say that there is none."""
    done = subprocess.run(
        [*UV, "python", "find", "--system", "--no-python-downloads", version],
        env=os.environ | {"PYENV_VERSION": version},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"Python {version} is not on this machine.", flush=True)
        return None
    return done.stdout.strip()


def installed(python: str, folder: Path, options: list[str]) -> Path:
    """Return an environment of all wheels, all extras, and what the tests need."""
    environment = folder / "environment"
    run(*UV, "venv", "--quiet", "--python", python, environment)
    core, words, papers = (
        next((folder / "wheels").glob(f"headlight_{name}-*.whl"))
        for name in ("attention", "words", "papers")
    )
    install = (*UV, "pip", "install", "--quiet", "--python", environment)
    run(*install, *options, f"headlight-attention[all] @ {core.as_uri()}", words, papers)
    asked = ("torch", "transformers", "numpy", "pandas", "scipy", "numba")
    shown = "import sys; from importlib.metadata import version; print(sys.version.split()[0], *("
    run(
        environment / "bin/python",
        "-c",
        f"{shown}n + ' ' + version(n) for n in {asked}), sep=', ')",
    )
    return environment


def use(environment: Path, folder: Path) -> None:
    """Run commands as a user does; they print what they should, complain of nothing, and write."""
    folder.mkdir()
    for words in COMMANDS:
        run(environment / "bin/headlight", *words, cwd=folder, quiet=True)
    missing = [name for name in WRITTEN if not (folder / name).is_file()]
    if missing:
        sys.exit(f"the commands did not write {', '.join(missing)}.")


def test(environment: Path, folder: Path) -> None:
    """Run quick tests where there is no source, so that they test what is installed."""
    for name in (
        "tests",
        "packages/words/tests",
        "docs",
    ):  # some tests read examples of the documentation
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    python = environment / "bin/python"
    run(
        *UV, "pip", "install", "--quiet", "--python", python, "pytest", "pytest-xdist", "hypothesis"
    )
    said = run(
        *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(os.cpu_count() or 1)),
        *("--dist", "worksteal", "-m", "not slow and not browser and not data and not real"),
        *TESTS,
        cwd=folder,
    )
    passed = re.search(r"(\d+) passed", said)
    if passed is None or int(passed[1]) < LEAST:
        sys.exit(f"{LEAST} tests should have passed.")


def run(*command: str | Path, cwd: Path = ROOT, quiet: bool = False) -> str:
    """Run a command to its end, show what it prints, and leave with it if it fails.

    Quiet ones fail as well if they warn of something, or complain at their end.
    """
    print("$", *command, flush=True)
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, done.stderr, sep="", flush=True)
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} ended with {done.returncode}.")
    if quiet and (strange := STRANGE.search(done.stderr)):
        sys.exit(f"{Path(command[0]).name} says {strange[0]!r}.")
    return done.stdout


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="versions; the last is tested")
    parser.add_argument("options", nargs="*", help="for uv pip install, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
