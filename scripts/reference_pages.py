"""Pages of the reference, one for each public function and class (a hook of mkdocs).

A page such as docs/reference/measures.md names modules and objects by ``::: NAME``, as mkdocstrings
reads it.  While the documentation is built, each function and class gets a page of its own, and the
place where it is named a table with links and summaries.  Constants stay with their module.
"""

import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

NAMED = re.compile(r"^::: (\S+)\n((?: {4}.*\n)*)", re.MULTILINE)
MODULE = "::: {name}\n    options: {{ members: {members}, heading_level: 2 }}\n"

ROOTS = ("headlight", "headlight_words", "headlight_papers")
"""Packages whose studies are in their file for editors alone: such a function is made on demand."""

ADDRESSES: dict[str, str] = {}
"""The pages by what they show: an object that two modules name has one."""


class Entry:
    """A function or a class that has a page.

    Args:
        module: the module that the reference names it by.
        name: its name there.
        value: the object itself.
        inherits: whether the page also shows what a class has from its bases, or the names of that.
    """

    def __init__(
        self, module: str, name: str, value: Any, inherits: bool | list[str] = False
    ) -> None:
        home = module if module in ROOTS else value.__module__
        self.identifier = f"{home}.{name}"
        self.name = name
        self.inherits = inherits
        file = f"{name}-class.md" if inspect.isclass(value) else f"{name}.md"  # of any file system
        self.address = ADDRESSES.setdefault(self.identifier, f"{module}/{file}")
        first = (inspect.getdoc(value) or "").partition("\n\n")[0]
        self.summary = re.sub(r"``?", "`", " ".join(first.split())).replace("|", "\\|")

    def page(self, overview: str) -> str:
        """Return the page; `overview` is the page of the reference that names it."""
        options = f"heading_level: 1, inherited_members: {json.dumps(self.inherits)}"
        named = f"::: {self.identifier}\n    options: {{ {options} }}\n"
        return f"[Reference]({overview})\n\n{named}"


def entries(name: str, options: str) -> tuple[list[Entry], list[str]]:
    """Return what has a page of a module or an object, and the constants of the module."""
    value = _found(name)
    read = (yaml.safe_load(options) or {}).get("options", {}) if options else {}
    inherits = read.get("inherited_members", False)
    if not isinstance(value, ModuleType):
        module, _, last = name.rpartition(".")
        return [Entry(module, last, value, inherits)], []
    names = read.get("members") or list(_public(value))
    objects = {each: _found(f"{name}.{each}") for each in names}
    made = {each: one for each, one in objects.items() if _has_page(one)}
    constants = [
        each for each, one in objects.items() if each not in made and not inspect.ismodule(one)
    ]
    return [Entry(name, each, one, inherits) for each, one in made.items()], constants


def _has_page(value: Any) -> bool:
    """Return whether it is a function or a class of ours that says what it does."""
    is_object = inspect.isclass(value) or inspect.isroutine(value)
    ours = str(getattr(value, "__module__", "")).startswith("headlight")
    return is_object and ours and bool(inspect.getdoc(value))


def _found(name: str) -> Any:
    """Return what a name stands for; a function comes before a module of its name."""
    module, _, last = name.rpartition(".")
    if module and hasattr(value := _found(module), last):
        return getattr(value, last)
    return import_module(name)


def _public(module: ModuleType) -> Iterator[str]:
    """Return what the module offers: ``__all__``, or what it defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        yield from listed
        return
    for name, value in vars(module).items():
        own = getattr(value, "__module__", module.__name__) == module.__name__
        if own and not name.startswith("_") and not isinstance(value, ModuleType):
            yield name


def shortened(markdown: str) -> str:
    """Return a page of the reference with tables of links in the place of objects."""
    return NAMED.sub(lambda match: _table(match[1], match[2]), markdown)


def _table(name: str, options: str) -> str:
    listed, constants = entries(name, options)
    rows = [f"| [`{each.name}`]({each.address}) | {each.summary} |\n" for each in listed]
    table = "".join(["\n| | |\n| --- | --- |\n", *rows]) if rows else ""
    is_module = isinstance(_found(name), ModuleType) and name != "headlight"
    shown = f"[{', '.join(constants)}]" if constants else "false"
    return (MODULE.format(name=name, members=shown) if is_module else "") + table


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each function and class that the reference names."""
    made = set()
    for path in sorted(Path(config.docs_dir, "reference").glob("*.md")):
        for name, options in NAMED.findall(path.read_text(encoding="utf-8")):
            for each in entries(name, options)[0]:
                if each.address not in made:
                    made.add(each.address)
                    text = each.page(f"../{path.name}")
                    files.append(File.generated(config, f"reference/{each.address}", content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Shorten a page of the reference."""
    is_reference = Path(page.file.src_uri).parent == Path("reference")
    return shortened(markdown) if is_reference else markdown
