"""What the tests of all papers share."""

from pathlib import Path

import pytest

from headlight.views.exhibits import Picture
from headlight_papers.papers.writer import ExhibitWriter
from papers.material import folder_of_data
from views.pages import BLANK


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return folder_of_data(tmp_path_factory.mktemp("data"))


@pytest.fixture
def undrawn_exhibits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exhibits that a test makes have no pictures, which are most of their cost."""

    def blank(
        writer: ExhibitWriter, draw: object, caption: str, alternative: str, name: str = ""
    ) -> Picture:
        return Picture(writer._stem(name), caption, alternative, BLANK)

    monkeypatch.setattr(ExhibitWriter, "picture", blank)
