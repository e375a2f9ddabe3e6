"""headlight-words stands on headlight-attention, and on nothing of headlight-papers."""

import ast
import subprocess
import sys
from pathlib import Path

import headlight_words

SOURCE = Path(headlight_words.__file__).parent


def test_the_package_imports_no_torch() -> None:
    """The table of commands reads its root, which has to be light."""
    program = "import sys, headlight_words; print({'torch', 'xarray', 'numpy'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_nothing_of_papers_is_imported() -> None:
    """Neither at the top of a module nor within a function."""
    imported = {
        name
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }
    assert not {name for name in imported if name.startswith("headlight_papers")}
