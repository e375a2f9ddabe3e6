"""What the tests of all papers share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headlight.views.parts import Drawing
from headlight_papers.papers.exhibit_files import ExhibitWriter
from papers.material import folder_of_data
from views.pages import BLANK


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return folder_of_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def undrawn_exhibits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exhibits that a test makes have no pictures, which are most of their cost."""

    def blank(
        writer: ExhibitWriter,
        draw: Callable[[], Any],
        caption: str,
        alternative: str,
        name: str = "",
    ) -> Drawing:
        return Drawing(writer._stem(name), caption, alternative, draw, drawn=BLANK)

    monkeypatch.setattr(ExhibitWriter, "picture", blank)
