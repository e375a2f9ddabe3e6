"""headlight-words stands on headlight-attention, and on nothing of headlight-papers."""

import subprocess
import sys


def test_the_package_imports_no_torch() -> None:
    """The table of commands reads its root, which has to be light."""
    program = "import sys, headlight_words; print({'torch', 'xarray', 'numpy'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
