"""Pages of the documentation that are made of `notebooks/` while it is built (a hook of mkdocs)."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
PICTURES = {"image/png": "png", "image/svg+xml": "svg"}
STYLE = re.compile(r"<style scoped>.*?</style>\n?", re.DOTALL)
FRAME = re.compile(r'<table border="1" class="dataframe">')
"""Of pandas: a table of a class of its own would be drawn without the site's rules."""
LINK = re.compile(r"\]\((\w+)\.ipynb\)")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, and its pictures."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        page = Page(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page.text))
        for name, drawn in page.pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=drawn))
    return files


class Page:
    """A notebook as Markdown, and the pictures that its cells put out."""

    def __init__(self, path: Path) -> None:
        self._stem = path.stem
        self.pictures: dict[str, bytes] = {}
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        self.text = "\n\n".join(part for cell in cells for part in self._parts(cell)) + "\n"

    def _parts(self, cell: dict[str, Any]) -> Iterator[str]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield LINK.sub(r"](\1.md)", source)
            return
        yield f"```python\n{source}\n```"
        for output in cell["outputs"]:
            yield self._shown(output)

    def _shown(self, output: dict[str, Any]) -> str:
        data = output.get("data", {})
        for kind, suffix in PICTURES.items():
            if kind in data:
                drawn = "".join(data[kind])
                name = f"{self._stem}-{len(self.pictures) + 1}.{suffix}"
                packed = suffix == "png"
                self.pictures[name] = base64.b64decode(drawn) if packed else drawn.encode()
                return f"![What the cell above has drawn]({name})"
        if "text/html" in data:
            table = FRAME.sub("<table>", STYLE.sub("", "".join(data["text/html"])))
            return re.sub(r"\n\s*", "\n", table).strip()
        text = "".join(output.get("text") or data.get("text/plain", ""))
        return f"```text\n{COLOURS.sub('', text).rstrip()}\n```"
