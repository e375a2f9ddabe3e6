"""Programs of Python that begin in a copy of this process, where libraries are imported already.

To import torch, transformers and scipy is most of what a short program costs, and here it is
spared.  What of a process is inherited (patches of a test as well) is the price: tests of imports,
of memory, of the first moments and the last ones of a process start Python itself.
"""

import os
import runpy
import subprocess
import sys
import traceback
import warnings
from contextlib import suppress
from importlib import invalidate_caches
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import headlight.reports.study_run  # noqa: F401 - and with it all that most programs import

ENDS = ("read", "write")
OURS = ("headlight", "headlight_words", "headlight_papers")


class Forked(subprocess.Popen):
    """A program of Python, like that of `subprocess.Popen`, of whose arguments these are taken.

    Args:
        args: Python, its options, then ``-c`` or ``-m``, and the arguments of the program.
    """

    anew = False
    """Whether it imports Headlight itself anew, and with it packages that stand on it."""

    def _execute_child(self, *arguments: Any) -> None:
        named = signature(super()._execute_child).bind(*arguments).arguments
        pipes = [named[f"{pipe}{end}"] for pipe in ("p2c", "c2p", "err") for end in ENDS]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # other threads of this one sleep
            self.pid = os.fork()
        if self.pid:
            self._child_created = True
            self._close_pipe_fds(*pipes)
            return
        code = 1
        try:
            _take_streams(pipes[0], pipes[3], pipes[5])
            os.chdir(named["cwd"] or ".")
            if named["preexec_fn"] is not None:
                named["preexec_fn"]()
            if self.anew:
                _forget_ours()
            code = _run([*map(str, named["args"])], named["env"] or {**os.environ})
        except BaseException:  # noqa: BLE001 - whatever it is, the child must not go on as a test
            traceback.print_exc()
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            os._exit(code)


class Anew(Forked):
    """The same, but nothing of Headlight is imported yet."""

    anew = True


def _forget_ours() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] in OURS]:
        del sys.modules[name]
    invalidate_caches()


def _take_streams(*descriptors: int) -> None:
    """Take these as the standard streams, and close all other files."""
    for number, descriptor in enumerate(descriptors):
        if descriptor not in (-1, number):
            os.dup2(descriptor, number)
    os.closerange(3, 4096)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(*each) for each in zip(range(3), "rww", strict=True)
    )


def _run(arguments: list[str], environment: dict[str, str]) -> int:
    """Run the program, and return its exit code."""
    sys.excepthook = sys.__excepthook__
    os.environ.clear()
    os.environ.update(environment)
    place = next(at for at, each in enumerate(arguments) if each in ("-c", "-m"))
    flags, (kind, program, *own) = arguments[1:place], arguments[place:]
    safe = "-P" in flags or "PYTHONSAFEPATH" in environment
    path = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    rest = [each for each in sys.path if each and each not in path]
    sys.path[:] = [*([] if safe else ["" if kind == "-c" else str(Path.cwd())]), *path, *rest]
    sys.argv[:] = ["-c" if kind == "-c" else program, *own]
    _restore_warnings(quiet="-W" in flags)
    torch.set_num_threads(1)  # threads of the process that was copied are not there
    try:
        if kind == "-m":
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            main = sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(program, "<string>", "exec"), vars(main))
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    return 0


def _restore_warnings(*, quiet: bool) -> None:
    """Filter warnings as Python does when it begins."""
    warnings.resetwarnings()
    if quiet:
        warnings.simplefilter("ignore")
        return
    for each in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", each)
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
