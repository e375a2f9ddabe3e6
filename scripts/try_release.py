"""Try a release: publish to an index on this machine, install from it, and run every study.

    make try-release PYTHONS="3.11 3.12 3.13"

What is committed is released as it will be, by `make release`, from a clone that gets a tag and
what is not there yet: an address, a maintainer, a date.  Then each Python gets an empty
environment, and three times by its name from that index a distribution, first alone, then with
words and then with papers, and the smallest run of every study.  At last every module is imported,
and every command asked for its help.  What follows ``--`` goes to ``uv pip install``.
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from check_release import CITATION, FILLED_IN, PLACEHOLDERS, release_date
from try_newest import find

import headlight

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTIONS = (
    "headlight-attention",
    "headlight-attention[words]",
    "headlight-attention[papers]",
)
"""What is installed, one after the other."""
WITH_EXTRAS = "headlight-attention[serve,widget]"
"""What brings all that a module imports when it is imported."""
SOURCES = ("src", "packages/words/src", "packages/papers/src")
"""Folders of packages."""
FILLINGS = ("https://localhost/headlight", "somebody")
"""What takes the place of placeholders."""
TESTS = "tests/cli/test_bare_commands.py"
"""Every study that is installed by its command alone, on what comes with the package."""


def main() -> None:
    arguments = _arguments()
    environment = Path(sys.prefix)
    if not (environment / ".installed-dev").exists():
        sys.exit("not released: run it by `make try-release`, which makes the environment for it.")
    pythons = [find(version) or sys.exit(1) for version in arguments.python]
    with TemporaryDirectory(prefix="headlight-release-") as place:
        folder = Path(place)
        with local_index(folder / "index") as address:
            publish(ready_clone(ROOT, folder / "clone"), address, environment)
            (sdist,) = (folder / "index").glob("headlight_attention-*.tar.gz")
            rows = [
                row
                for python in pythons
                for row in installed(python, sdist, address, folder, arguments.options)
            ]
    print(f"{'Python':10}{'torch':16}{'environment':>13}{'without torch':>15}  what, studies")
    for row in rows:
        print(row)


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command to its end, show what it does, and leave with it if it fails."""
    print("$", *command, flush=True)
    done = subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{done.stdout}\nnot released: {command[0]} ended with {done.returncode}.")
    return done.stdout


@contextmanager
def local_index(folder: Path) -> Iterator[str]:
    """An empty package index that anybody on this machine may write to; gives its address."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ("-m", "pypiserver", "run", "--interface", "127.0.0.1", "--port", str(port))
    access = ("--passwords", ".", "--authenticate", ".", "--disable-fallback")
    server = subprocess.Popen([sys.executable, *command, *access, str(folder)])
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urlopen(address).close()
                break
            except URLError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


def ready_clone(source: Path, folder: Path) -> Path:
    """What is committed, with what `check_release` asks for and is not there yet."""
    run("git", "clone", "--quiet", source, folder)
    for name in FILLED_IN:
        for placeholder, word in zip(PLACEHOLDERS, FILLINGS, strict=True):
            rewrite(folder / name, placeholder, word)
    if release_date(folder) is None:
        heading = f"## {headlight.__version__} - {datetime.now(UTC).date()}"
        rewrite(folder / "CHANGELOG.md", "## Unreleased", heading)
    date = f"date-released: {release_date(folder)}\n"
    citation = folder / CITATION
    if date not in citation.read_text(encoding="utf-8"):
        rewrite(citation, "\nversion:", f"\n{date}version:")
    who = ("-c", "user.name=Release", "-c", "user.email=release@example.org")
    if run("git", "status", "--porcelain", cwd=folder):
        run("git", *who, "commit", "--quiet", "--all", "--message", "A release", cwd=folder)
    run("git", *who, "tag", "--force", f"v{headlight.__version__}", cwd=folder)
    return folder


def rewrite(path: Path, old: str, new: str) -> None:
    """Replace a string in a file."""
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def publish(clone: Path, address: str, environment: Path) -> None:
    """`make release` there, with the environment of this tree, which stays as it is."""
    make_old(clone)
    run(
        "make",
        f"VENV={environment}",
        "release",
        cwd=clone,
        PYTHONPATH=os.pathsep.join(str(clone / each) for each in SOURCES),
        TWINE_REPOSITORY_URL=address,
        TWINE_USERNAME="anybody",
        TWINE_PASSWORD="anything",
        TWINE_NON_INTERACTIVE="1",
    )


def make_old(clone: Path) -> None:
    """Let make find every file older than what is installed, so that it installs nothing anew."""
    for name in run("git", "ls-files", cwd=clone).splitlines():
        os.utime(clone / name, (0, 0))


def installed(
    interpreter: str, sdist: Path, address: str, folder: Path, options: list[str]
) -> list[str]:
    """Install from the index into an empty environment, run every study, and say what it took."""
    name = interpreter.replace(os.sep, "_")
    environment = folder / f"python-{name}"
    python = environment / "bin" / "python"
    uv = (sys.executable, "-m", "uv")
    run(*uv, "venv", "--quiet", "--python", interpreter, environment)
    install = (*uv, "pip", "install", "--quiet", "--python", python)
    tests = folder / f"tests-{name}"
    with tarfile.open(sdist) as archive:
        archive.extractall(tests, filter="data")
    (source,) = tests.iterdir()
    for each in SOURCES:
        shutil.rmtree(source / each)  # the packages that are run are those that were installed
    rows = []
    for distribution in DISTRIBUTIONS:
        run(*install, "--index", f"{address}/simple/", *options, distribution)
        packages = next(environment.glob("lib/python*/site-packages"))
        whole = _megabytes(packages)
        torch = sum(
            _megabytes(packages / name)
            for name in ("torch", "nvidia", "triton", "torchgen", "functorch")
            if (packages / name).is_dir()
        )
        run(*install, "pytest", "hypothesis")
        said = run(
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            TESTS,
            cwd=source,
            HF_HUB_OFFLINE="1",
            PYTHONPATH="",
            PYTEST_ADDOPTS="",
        ).splitlines()[-1]
        asked = "import platform, torch; print(platform.python_version(), torch.__version__)"
        which, has = run(python, "-c", asked).split()
        size = f"{whole:>10,.0f} MB{whole - torch:>12,.0f} MB"
        rows.append(f"{which:10}{has:16}{size}  {distribution}, {said}")
    run(*install, "--index", f"{address}/simple/", *options, WITH_EXTRAS)
    print(run(python, source / "scripts/every_door.py", HF_HUB_OFFLINE="1", PYTHONPATH=""))
    shutil.rmtree(environment)
    return rows


def _megabytes(folder: Path) -> float:
    files = (each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    return sum(each.stat().st_size for each in files) / 1e6


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=["3.11"], help="versions, as uv finds them")
    parser.add_argument("options", nargs="*", help="for uv pip install, after --")
    return parser.parse_args()


if __name__ == "__main__":
    main()
