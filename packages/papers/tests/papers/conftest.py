"""What the tests of all papers share."""

from pathlib import Path

import pytest

from papers.material import folder_of_data


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return folder_of_data(tmp_path_factory.mktemp("data"))
