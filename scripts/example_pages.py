"""Run the commands of docs/examples.md, and put the pages that they write into the documentation.

    python scripts/example_pages.py FOLDER [NAME ...]

Each block of code on that page is run in the folder as it stands there, a command after the other;
with names, those blocks alone that write one of them, beside what is in the folder already.
A block that reads a model which ``make models`` has not fetched (`HEADLIGHT_MODELS` names another
folder than ``build/models``) is left out, and so is one that needs a program which is not there.

This is also a hook of mkdocs: where `HEADLIGHT_EXAMPLES` names the folder, the pages are copied
into the site, and each block gets links to its own, or a sentence that says why there are none.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import pairwise
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
    """Run the commands in a folder; without names it is made anew."""
    if folder.exists() and not names:
        shutil.rmtree(folder)
    link = folder / MODELS
    if not link.exists():
        link.parent.mkdir(parents=True)
        link.symlink_to(Path(os.environ.get("HEADLIGHT_MODELS", ROOT / MODELS)).resolve())
    os.chdir(folder)
    for example in examples(_text()):
        if names and not set(names) & set(example.outputs):
            continue
        if missing := example.lacks(folder):
            print(f"left out: {', '.join(example.outputs)}, for want of {missing}", flush=True)
            continue
        start = time.perf_counter()
        _run(example)
        if not example.pages(folder):
            raise SystemExit(f"no page was written by:\n{example.code}")
        print(f"{', '.join(example.outputs)}: {time.perf_counter() - start:.0f} s", flush=True)


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
    return BLOCK.sub(lambda block: block[0] + _links(Example(block[1]), folder), markdown)


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
