"""No process that is started runs code which happens to lie in the working folder."""

import ast
import gc
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import example_data
from headlight.measures import compiled_loops
from headlight.processes import (
    SAFE_PATH,
    SETTINGS_OF_FOLDER,
    lasting_imports,
    python_command,
    safe_start,
)

SHADOWS = ("multiprocessing", "numpy", "signal", "socket", "struct")
"""Modules that children import, early and late; a file of the name takes their place."""
SETTINGS = {
    ".numba_config.yaml": "cache_dir: kept",  # numba runs code of what is kept
    "matplotlibrc": "backend: of_a_study",
    **dict.fromkeys((".env", "ipython_config.py", "jupyter_config.py", "ray.yaml"), ""),
    **dict.fromkeys(("sitecustomize.py", "conftest.py", "pyvenv.cfg", "setup.cfg"), ""),
    **dict.fromkeys((".netrc", "accelerate.yaml", "mkl.cfg", "ds_config.json", "uvicorn.json"), ""),
}
"""Settings that libraries may look for in a working folder."""
WATCHER = """
import os, sys
def watch(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "ctypes.dlopen"):
        path = arguments[0]
        if isinstance(path, (str, bytes)) and path:
            place = os.path.abspath(path)
            if os.path.dirname(place) == FOLDER:
                log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.write(log, (os.path.basename(place) + chr(10)).encode())
                os.close(log)
sys.addaudithook(watch)
"""
"""Python runs it as each of its processes starts: a log of what is opened in a folder."""


def test_what_python_ignores_its_children_ignore() -> None:
    code = "import sys; from headlight.processes import python_command; print(python_command('-V'))"
    path = os.pathsep.join(sys.path)
    for flags, wanted in ([], []), (["-s"], ["-s"]):
        asked = [sys.executable, *flags, "-c", code]
        done = subprocess.run(
            asked,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ast.literal_eval(done.stdout) == [sys.executable, "-P", *wanted, "-V"]


def test_the_search_path_and_the_environment_are_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for before in (None, "", "1"):
        monkeypatch.setattr(sys, "path", ["", "/one", "/two"])
        monkeypatch.delenv(SAFE_PATH, raising=False)
        if before is not None:
            monkeypatch.setenv(SAFE_PATH, before)
        with safe_start():
            assert sys.path == ["/one", "/two", ""]
            assert os.environ[SAFE_PATH] == "1"
        assert sys.path == ["", "/one", "/two"]
        assert os.environ.get(SAFE_PATH) == before


def test_packages_on_the_python_path_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_the_user.py").write_text("print('imported')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = python_command("-c", "import of_the_user")
    assert subprocess.check_output(command, text=True) == "imported\n"


@pytest.fixture
def downloaded(tmp_path: Path) -> Path:
    """A working folder with a corpus, and beside it what runs as soon as it is imported."""
    folder = tmp_path / "downloaded"
    folder.mkdir()
    example_data.write(folder)
    example_data.tiny_classifier(folder / "classifier")
    lines = "\n\n".join(f"Line {place} is short." for place in range(600))
    (folder / "downloaded.txt").write_text(lines)
    for name, text in SETTINGS.items():
        (folder / name).write_text(text)
    (tmp_path / "watch").mkdir()
    watcher = f"FOLDER, LOG = {str(folder)!r}, {str(tmp_path / 'opened')!r}{WATCHER}"
    (tmp_path / "watch" / "sitecustomize.py").write_text(watcher)
    for name in ("headlight", *SHADOWS, "of_a_study"):
        code = f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n"
        (folder / f"{name}.py").write_text(code)
    information = folder / "x-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[headlight.studies]\nx = of_a_study:STUDY\n")
    return folder


PROGRAM = "from headlight.cli import main; main()"


def command(folder: Path, *arguments: str, module: bool = False, program: str = PROGRAM) -> str:
    """What the command says there, called as its script or as a module."""
    script = folder.parent / "bin" / "headlight"
    script.parent.mkdir(exist_ok=True)
    script.write_text(program)
    environment = {name: value for name, value in os.environ.items() if name != SAFE_PATH}
    path = os.pathsep.join([str(folder.parent / "watch"), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, *(["-m", "headlight"] if module else [script]), *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stderr


def taken_from(folder: Path) -> set[str]:
    """The modules and settings in it that were run or opened."""
    ran, opened = folder.parent / "ran", folder.parent / "opened"
    names = {name for log in (ran, opened) if log.exists() for name in log.read_text().split()}
    return names & {*SETTINGS, "headlight", *SHADOWS, "of_a_study", "kept"}


@pytest.mark.long
def test_workers_on_ray_run_nothing_beside_a_corpus(downloaded: Path) -> None:
    pytest.importorskip("ray")
    program = (
        "import os\n"
        "from headlight.engine.ray_workers import work_on_ray\n"
        "work_on_ray(os.getpid, 'ray', is_done=lambda: 0)"
    )
    command(downloaded, program=program)
    assert not taken_from(downloaded)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(
            ["survey", "downloaded.txt", "--workers", "2", "--max-length", "16", "--no-passages"],
            id="workers",
        ),
        pytest.param(
            [
                *("guided", "reviews.tsv", "--model", "classifier", "--processes", "2"),
                *("--epochs", "1", "--repeats", "2"),
            ],
            id="training",
            marks=pytest.mark.long,
        ),
    ],
)
def test_nothing_beside_a_corpus_is_run(asked: list[str], downloaded: Path) -> None:
    complaint = command(downloaded, *asked)
    assert "ended early" not in complaint
    assert not taken_from(downloaded)
    assert not (downloaded / "kept").exists()
    for file in SETTINGS_OF_FOLDER.values():
        assert f"note: {file} of the working folder is not read.\n" in complaint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "before"),
    [
        pytest.param("cache_dir: kept", "", id="kept"),
        pytest.param(
            "cache_dir: kept", "import numba", id="imported-before", marks=pytest.mark.long
        ),
        pytest.param("- no settings", "", id="damaged", marks=pytest.mark.long),
    ],
)
def test_compiled_loops_are_kept_where_no_corpus_lies(
    settings: str, before: str, tmp_path: Path
) -> None:
    """What numba keeps is code, and it looks for settings before each loop that it compiles."""
    for name in ("corpus", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "corpus" / ".numba_config.yaml").write_text(settings)
    (tmp_path / "own" / "loops.py").write_text("def one(x): return x\ndef two(x): return x")
    program = (
        f"{before}\nimport sys, loops\nfrom headlight.measures.compiled_loops import compile_loop\n"
        "print([compile_loop(each)(5) for each in (loops.one, loops.two)])"
    )
    done = subprocess.run(
        python_command("-c", program),
        cwd=tmp_path / "corpus",
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "own"), *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[5, 5]\n"
    assert ".numba_config.yaml of the working folder is not read" in done.stderr
    assert [each.name for each in (tmp_path / "corpus").iterdir()] == [".numba_config.yaml"]
    assert list((tmp_path / "own" / "__pycache__").glob("loops.two*.nbi"))


@pytest.mark.parametrize(("home", "kept"), [("/home/ann", True), ("~", False)])
def test_of_a_user_without_a_home_no_loop_is_kept(
    home: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose cache would be a folder of the name ``~`` in the working folder."""
    monkeypatch.setattr("os.path.expanduser", lambda _: home)
    numba = SimpleNamespace(njit=lambda _, **options: options["cache"])
    assert compiled_loops._compile(numba, lambda: None, finite=False) is kept


@pytest.mark.slow
def test_the_command_as_a_module_runs_no_more_than_the_module(downloaded: Path) -> None:
    """Which Python itself looks for in the working folder; all else is looked for elsewhere."""
    (downloaded / "headlight.py").unlink()
    command(downloaded, "--help", module=True)
    assert not taken_from(downloaded)


def test_imports_that_last_are_frozen_and_never_searched_for_garbage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    frozen = gc.get_freeze_count()
    try:
        with lasting_imports():
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()


def test_objects_of_others_are_never_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", sys)
    frozen = gc.get_freeze_count()
    with lasting_imports():
        assert gc.isenabled()
    assert gc.get_freeze_count() == frozen


@pytest.mark.long
def test_a_command_searches_for_garbage_once_its_model_is_loaded_and_for_all_at_its_end() -> None:
    program = (
        "import atexit, gc, sys; sys.argv = ['headlight', 'check']\n"
        "atexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))\n"  # the last
        "from headlight.cli import main\n"
        "try: main()\n"
        "finally: print(gc.isenabled(), gc.get_freeze_count() > 100_000, file=sys.stderr)"
    )
    command = python_command("-c", program)
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stderr.splitlines()[-2:] == ["True True", "0"]
