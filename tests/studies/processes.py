"""The command `headlight` as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = "from headlight.cli import main; main()"


def start(
    *arguments: str | Path,
    program: str = PROGRAM,
    popen: type[subprocess.Popen] = subprocess.Popen,
    **options: object,
) -> subprocess.Popen[str]:
    """Begin; nothing waits for the end. Output and errors come as text, through pipes."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMP_NUM_THREADS": "1",  # bits depend on the number of threads
        "TOKENIZERS_PARALLELISM": "false",  # so does memory
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, "-c", program, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return popen(command, text=True, env=environment, **pipes)


def run(*arguments: str | Path, **options: object) -> tuple[int, str, str]:
    """Wait for the end: exit code, output, errors."""
    process = start(*arguments, **options)
    said, complained = process.communicate(timeout=300)
    return process.returncode, said, complained
