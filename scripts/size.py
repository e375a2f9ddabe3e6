"""Print the size of each package: modules, and lines of code without docstrings.

    python scripts/size.py

A line counts if it holds code: blank lines, comments and docstrings, also of constants, do not.
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def main() -> None:
    for source in [*ROOT.glob("src/*"), *sorted(ROOT.glob("packages/*/src/*"))]:
        modules, lines = Counter[str](), Counter[str]()
        for path in source.rglob("*.py"):
            place = path.relative_to(source).parts
            package = place[0] if len(place) > 1 else "(root)"
            modules[package] += 1
            lines[package] += lines_of_code(path.read_text(encoding="utf-8"))
        print(f"{source.name}: {lines.total():,} lines in {modules.total()} modules")
        for package in sorted(modules):
            print(f"  {package:<20}{modules[package]:>5}{lines[package]:>9,}")


def lines_of_code(text: str) -> int:
    """The number of lines with code."""
    written = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(written - {line for docstring in docstrings(text) for line in docstring})


def docstrings(text: str) -> Iterator[range]:
    """The lines of each docstring."""
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text and isinstance(node.value.value, str):
            yield range(node.lineno, (node.end_lineno or node.lineno) + 1)


if __name__ == "__main__":
    main()
