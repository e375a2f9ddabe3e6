"""What tests of papers share, besides what all tests share."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from frozen_paper_runs import PaperMaterial


@pytest.fixture(scope="session")
def material(shared_folder: Path) -> "PaperMaterial":
    """Tiny models and data, and whole reproductions of papers, each made once in a session."""
    from frozen_paper_runs import PaperMaterial

    (shared_folder / "material").mkdir(exist_ok=True)
    return PaperMaterial(shared_folder / "material")
