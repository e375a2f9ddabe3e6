"""The random streams of texts."""

import numpy as np
import pytest

import headlight


@pytest.mark.slow
def test_the_same_file_in_another_folder_gives_the_same_sample(tmp_path):
    lines = "The dog sleeps.\n\nA cat saw the bird in the tree.\n\nIt rains today.\n"
    found = []
    for folder in ("here", "there/and/deeper"):
        path = tmp_path / folder / "texts.txt"
        path.parent.mkdir(parents=True)
        path.write_text(lines)
        found.append(
            headlight.identifiability(
                path, model=headlight.load(), layers=(0,), sample=2, progress=False
            )
        )
    first, second = (result["points"].values for result in found)
    assert len(first) == 2  # of three, so that it matters which are drawn
    np.testing.assert_array_equal(first, second)
