"""Description of headlight-attention on a package index: its README, with no relative address."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURES = (".png", ".svg")
RELATIVE = re.compile(r'(\]\(|(?:href|src)=")(?![a-z]+:|#)([^)"\s]+)')
"""Beginning of a link or picture in Markdown or HTML, and an address without a scheme."""


class Description(MetadataHookInterface):
    """Completes addresses by that of the repository, at the tag of the version."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the description to the metadata of the project, of which all else is known."""
        repository, tag = metadata["urls"]["Repository"], f"v{metadata['version']}"

        def complete(link: re.Match[str]) -> str:
            before, path = link.groups()
            kind = "raw" if path.endswith(PICTURES) else "blob"  # as GitHub and GitLab call them
            return f"{before}{repository}/{kind}/{tag}/{path}"

        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": RELATIVE.sub(complete, text),
        }
