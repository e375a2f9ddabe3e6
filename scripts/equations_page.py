"""Write docs/equations.md: for each equation or section of a paper, the function that has it.

    python scripts/equations_page.py

Docstrings say it in a paragraph such as ``Source: Brunner et al. (2020), Section 3.4, Eq. 8-9.``
Names that begin with an underscore have no row.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "equations.md"
FOLDERS = (ROOT / "src", ROOT / "packages/words/src", ROOT / "packages/papers/src")

SOURCE = re.compile(r"^Source: (.*?)(?=\n\n|\n[A-Z][a-z]+:\n|\Z)", re.MULTILINE | re.DOTALL)
NAME = r"[A-ZÀ-Þ][\w'-]+"
PAPER = re.compile(
    rf"(?:{NAME}, )*(?:{NAME} and )?(?:{NAME}|{NAME} {NAME} et al\.|{NAME} et al\.) \(\d{{4}}\)"
)
NUMBER = r"\d[\d.]*\d|\d"
PLACE = re.compile(
    rf"\b(Eq\.|Sections?|Appendi(?:x|ces)|Figures?|Tables?|Algorithms?)"
    rf" ((?:{NUMBER}|[A-Z]\b)(?:\.\d)?(?:(?:-|, | and )(?:{NUMBER}|[A-Z]\b))*)"
)

HEAD = """# From an equation to its function

```python
from headlight.measures import effective

print(effective.__doc__.partition("\\n\\n")[0])
```

```text
Compute A⊥ = A U Uᵀ, the component of A outside the left null space of T, for every head.
```

Functions and classes by the formula that they implement, or by the section of the paper where it
has no number. Their docstrings, and the [reference](reference/index.md) for public ones, say what
they do, with shapes and units, and where they differ from the paper.
"""


@dataclass(frozen=True)
class Row:
    """A function, and where a paper has its formula."""

    paper: str
    places: tuple[tuple[str, str], ...]
    name: str

    @property
    def equations(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the equations, ranges written out: ``Eq. 8-9`` is ((8,), (9,))."""
        listed = [one for kind, numbers in self.places if kind == "Eq." for one in _list(numbers)]
        return tuple(sorted(listed))

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts equations by number, and what has none behind them by its place."""
        return (not self.equations, self.equations, self.places, self.name)

    @property
    def place(self) -> str:
        """Where it stands in the paper, its equation first."""
        ordered = sorted(self.places, key=lambda place: place[0] != "Eq.")
        return "; ".join(f"{kind} {numbers}" for kind, numbers in ordered) or "–"


def _list(numbers: str) -> Iterator[tuple[int, ...]]:
    for part in re.split(", | and ", numbers):
        first, _, last = part.partition("-")
        if last:
            yield from ((number,) for number in range(int(first), int(last) + 1))
        else:
            yield tuple(map(int, first.split(".")))


def rows() -> list[Row]:
    """Return a row for each public function and each paper that its docstring names."""
    return [row for folder in FOLDERS for path in folder.rglob("*.py") for row in _rows(path)]


def _rows(path: Path) -> Iterator[Row]:
    folder = next(each for each in FOLDERS if each in path.parents)
    module = ".".join(path.relative_to(folder).with_suffix("").parts).removesuffix(".__init__")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for name, node in _documented(tree, ""):
        docstring = ast.get_docstring(node) or ""
        for text in SOURCE.findall(docstring):
            full = f"{_public(module, name)}.{name}".rstrip(".")
            for paper, places in _papers(" ".join(text.split())):
                yield Row(paper, places, full)


Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def _documented(node: Documented, name: str) -> Iterator[tuple[str, Documented]]:
    """Return the module, its classes, methods and functions, with their names in it."""
    yield name, node
    for each in node.body:
        if isinstance(each, ast.ClassDef | ast.FunctionDef) and not each.name.startswith("_"):
            yield from _documented(each, f"{name}.{each.name}".lstrip("."))


def _public(module: str, name: str) -> str:
    """Return the shortest package from which the name can be imported, or the module."""
    parts, first = module.split("."), name.partition(".")[0]
    for length in range(1, len(parts)):
        package = import_module(".".join(parts[:length]))
        is_name = hasattr(package, first) and not isinstance(getattr(package, first), ModuleType)
        if first and first in getattr(package, "__all__", ()) and is_name:
            return package.__name__
    return module


def _papers(source: str) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Return the papers of a source, each with its places: ``("Eq.", "8-9")``."""
    found = list(PAPER.finditer(source))
    ends = [each.start() for each in found[1:]] + [len(source)]
    for paper, end in zip(found, ends, strict=True):
        yield paper[0], tuple(PLACE.findall(source[paper.end() : end]))


def page(listed: list[Row]) -> str:
    """Return the page of these rows."""
    by_paper = defaultdict(set)
    for row in listed:
        by_paper[row.paper].add(row)
    lines = [HEAD]
    for paper in sorted(by_paper):
        lines += [f"## {paper}\n", "| in the paper | functions |", "| --- | --- |"]
        ordered = sorted(by_paper[paper], key=lambda row: row.order)
        for place, same in groupby(ordered, key=lambda row: row.place):
            lines.append(f"| {place} | {', '.join(f'`{row.name}`' for row in same)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(rows()), encoding="utf-8")
