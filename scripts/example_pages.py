"""Run the commands of docs/examples.md, and put the pages that they write into the documentation.

    python scripts/example_pages.py FOLDER [NAME ...]

Each block of code on that page is run in the folder as it stands there, a command after the other;
with names, those blocks alone that write one of them.  Two blocks run at a time, each in a process
of its own (`HEADLIGHT_PROCESSES` names another number), and a block that reads what another writes
waits for it.  Pages are kept where nothing that they depend on is other than when they were made:
commands, code, versions of what is installed, models, and what other blocks have written.
A block that reads a model which ``make models`` has not fetched (`HEADLIGHT_MODELS` names another
folder than ``build/models``) is left out, and so is one that needs a program which is not there.

This is also a hook of mkdocs: where `HEADLIGHT_EXAMPLES` names the folder, the pages are copied
into the site, and each block gets links to its own, or a sentence that says why there are none.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache, cached_property
from io import StringIO
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "examples.md"
BLOCK = re.compile(r"^```\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
MODELS = "build/models"
"""Where the commands look for models; in the folder of the pages this is a link."""
WRITTEN = ("--html", "--routes", "--flow", "--out")
"""Options that name a page, or the folder of one."""
KEYS = "keys.json"
"""File in the folder of the pages: the key of each block with which its pages were made."""
SOURCES = ("src", *(f"packages/{name}/src" for name in ("words", "papers")))
SOURCES += ("requirements/run.txt", "requirements/torch.txt")
"""What pages depend on besides their commands and models: code, with its models, and versions."""
LARGE = 1 << 24
"""Size from which a file is known by name and size alone."""


@dataclass(frozen=True)
class Example:
    """The commands of one block, and the pages that they write.

    Attributes:
        code: the block, as it stands on the page.
    """

    code: str

    @cached_property
    def lines(self) -> list[str]:
        """Return a command each; a line that ends in a backslash goes on in the next."""
        return self.code.replace("\\\n", " ").splitlines()

    @cached_property
    def commands(self) -> list[list[str]]:
        """Return the words of each."""
        return [shlex.split(line) for line in self.lines]

    @cached_property
    def outputs(self) -> list[str]:
        """Return what is written, files and folders."""
        return [
            value.rstrip("/")
            for words in self.commands
            for option, value in pairwise(words)
            if option in WRITTEN
        ]

    @property
    def name(self) -> str:
        """Return what it is called."""
        return ", ".join(self.outputs)

    def reads(self, output: str) -> bool:
        """Return whether it reads what another block writes."""
        words = {word.rstrip("/") for _, _, *words in self.commands for word in words}
        return output not in self.outputs and any(fnmatch(output, word) for word in words)

    def models(self, folder: Path) -> list[Path]:
        """Return the folders of the fetched models that it reads."""
        words = [word for words in self.commands for word in words]
        return [folder / word for word in words if word.startswith(MODELS)]

    def pages(self, folder: Path) -> list[Path]:
        """Return the pages in a folder; of a run its report, of a gallery the first one."""
        written = [
            folder / output / page
            for output in self.outputs
            for page in ("", "report.html", "index.html")
        ]
        return [path for path in written if path.is_file()]

    def lacks(self, folder: Path) -> str | None:
        """Return the model, program or result that is needed and missing, if any is."""
        for words in self.commands:
            if words[0] != "headlight":
                if shutil.which(words[0]) is None:
                    return f"the program {words[0]}"
                continue
            for word in words:
                if word.startswith(MODELS) and not (folder / word).is_dir():
                    return f"the model {word}"
        return None


def _text() -> str:
    return PAGE.read_text(encoding="utf-8")


def examples(page: str) -> list[Example]:
    """Return those of a page, in its order."""
    return [Example(block) for block in BLOCK.findall(page) if "headlight " in block]


def make(folder: Path, names: list[str]) -> None:
    """Run the commands in a folder, but for those whose pages are kept."""
    _prepare(folder, keep_all=bool(names))
    kept = _kept(folder)
    keys: dict[str, str] = {}
    running: dict[str, Future[None]] = {}
    processes = int(os.environ.get("HEADLIGHT_PROCESSES", "2"))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for example in _wanted(folder, names):
            read = [name for name in keys if any(map(example.reads, name.split(", ")))]
            keys[example.name] = key(example, folder, [keys[name] for name in read])
            if kept.get(example.name) == keys[example.name] and example.pages(folder):
                print(f"kept: {example.name}", flush=True)
                continue
            for name in read:
                if name in running:
                    running[name].result()
            running[example.name] = pool.submit(_made, example, folder)
        for future in running.values():
            future.result()
    (folder / KEYS).write_text(json.dumps(kept | keys, indent=1), encoding="utf-8")


def _prepare(folder: Path, keep_all: bool) -> None:
    """Link the models, and remove what no block of the page writes: a gallery would take it in."""
    written = {output for example in examples(_text()) for output in example.outputs}
    for path in [] if keep_all or not folder.is_dir() else folder.iterdir():
        if path.is_dir() and path.name not in {*written, Path(MODELS).parts[0]}:
            shutil.rmtree(path)
    link = folder / MODELS
    if not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(Path(os.environ.get("HEADLIGHT_MODELS", ROOT / MODELS)).resolve())


def _wanted(folder: Path, names: list[str]) -> Iterator[Example]:
    """Yield the blocks that can run, of those that write what is named, or of all."""
    for example in examples(_text()):
        if names and not set(names) & set(example.outputs):
            continue
        if missing := example.lacks(folder):
            print(f"left out: {example.name}, for want of {missing}", flush=True)
        else:
            yield example


def key(example: Example, folder: Path, read: Iterable[str]) -> str:
    """Return a digest of all that the pages of a block depend on.

    Args:
        example: the block.
        folder: where it runs.
        read: keys of the blocks whose results it reads.
    """
    models = [digest(path.resolve()) for path in example.models(folder)]
    sources = [digest(ROOT / name) for name in SOURCES]
    words = [example.code, *sources, *models, *read]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


@cache
def digest(path: Path) -> str:
    """Return a digest of a file, or of all files of a folder but what Python compiles."""
    files = [each for each in sorted(path.rglob("*")) if each.is_file()] or [path]
    sums = hashlib.sha256()
    for each in files:
        if "__pycache__" not in each.parts:
            size = each.stat().st_size
            sums.update(f"{each.relative_to(path)} {size}\n".encode())
            sums.update(each.read_bytes() if size < LARGE else b"")
    return sums.hexdigest()


def _kept(folder: Path) -> dict[str, str]:
    """Return the keys with which the pages in the folder were made."""
    path = folder / KEYS
    kept: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return kept


def _made(example: Example, folder: Path) -> None:
    """Run a block in a process, and say how long it took."""
    os.chdir(folder)
    start, processor = time.perf_counter(), time.process_time()
    _run(example)
    if not example.pages(folder):
        raise SystemExit(f"no page was written by:\n{example.code}")
    took = f"{time.perf_counter() - start:.0f} s, {time.process_time() - processor:.0f} s"
    print(f"{example.name}: {took} of a processor", flush=True)


def _run(example: Example) -> None:
    """Run the commands of a block in the working folder, in which what they write goes first."""
    from headlight.cli.program import app

    for name in filter(os.path.isdir, example.outputs):
        shutil.rmtree(name)
    for words, line in zip(example.commands, example.lines, strict=True):
        if words[0] != "headlight":
            subprocess.run(["bash", "-ec", line], check=True)
            continue
        with redirect_stdout(StringIO()):
            code = app(list(_expanded(words[1:])), standalone_mode=False)
        if code:
            raise SystemExit(f"{line} ended with {code}")


def _expanded(words: list[str]) -> Iterator[str]:
    """Yield the words, patterns as the names that they match."""
    for word in words:
        names = sorted(map(str, Path().glob(word))) if word.startswith("*") else []
        yield from names or [word]


# ---------------------------------------------------------------- a hook of mkdocs


def made() -> Path | None:
    """Return the folder of pages that were made, if the documentation is to have them."""
    named = os.environ.get("HEADLIGHT_EXAMPLES")
    return Path(named).resolve() if named else None


def site_files(folder: Path) -> dict[str, Path]:
    """Return the pages by their names in the site, and what lies beside those of a gallery."""
    chosen = [page for each in examples(_text()) for page in each.pages(folder)]
    paths = [
        path
        for page in chosen
        for path in (page.parent.rglob("*") if page.name == "index.html" else [page])
        if path.is_file()
    ]
    return {f"examples/{path.relative_to(folder).as_posix()}": path for path in paths}


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages."""
    from mkdocs.structure.files import File

    folder = made()
    for name, path in site_files(folder).items() if folder else ():
        files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: "Files") -> str:
    """Put links to its pages below each block, or what it lacks."""
    folder = made()
    if folder is None or page.file.src_uri != PAGE.name:
        return markdown
    return BLOCK.sub(
        lambda block: block[0] + "".join(_links(each, folder) for each in examples(block[0])),
        markdown,
    )


def _links(example: Example, folder: Path) -> str:
    links = [
        f"**[{name}](examples/{name})**"
        for name in (path.relative_to(folder).as_posix() for path in example.pages(folder))
    ]
    if links:
        return f"\n→ {' · '.join(links)}\n"
    return f"\n*Left out here, for want of {example.lacks(folder) or 'a result above'}.*\n"


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve(), sys.argv[2:])
