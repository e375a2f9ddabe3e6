"""What importing a module loads, in an interpreter of its own.

The layer contracts see the imports that a file names; only this sees what comes with them.
"""

import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import headlight
from headlight.catalogue import DISTRIBUTIONS, studies

SOURCE = Path(__file__).resolve().parent.parent / "src"
TORCH = {"torch", "transformers"}
HEAVY = TORCH | {"datasets", "h5netcdf", "jinja2", "pandas", "tokenizers", "xarray"}
NUMBERS = {"fsspec", "jaxtyping", "matplotlib", "numpy", "safetensors", "scipy", "upath"}
"""What a command needs to work, and neither its help nor its refusals do."""
# Layers that read, merge and draw results where there is no model.
WITHOUT_TORCH = [
    "catalogue",
    "corpora",
    "errors",
    "files",
    "findings",
    "reduce",
    "result",
    "engine.measurement",
    "engine.progress",
    "engine.folder",
    "engine.configuration_file",
    "settings",
    "study_settings",
    "views",
    "vocabulary",
]


def loaded_by(statement: str) -> set[str]:
    """The top-level modules, and ours, that are there after `statement` in a fresh interpreter."""
    script = (
        f"{statement}\nimport sys\n"
        "ours = {name for name in sys.modules if name.startswith('headlight.')}\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, *ours)"
    )
    places = [str(SOURCE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    finished = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
    return set(finished.stdout.split())


def submodules(layer: str) -> list[str]:
    """The module `headlight.<layer>` and all modules below it."""
    path = SOURCE / "headlight" / layer.replace(".", "/")
    below = pkgutil.walk_packages([str(path)], f"headlight.{layer}.") if path.is_dir() else []
    return [f"headlight.{layer}", *(module.name for module in below)]


@pytest.mark.parametrize("module", ["headlight", "headlight.cli"])
def test_the_root_and_the_command_line_load_nothing_heavy(module: str) -> None:
    assert not loaded_by(f"import {module}") & (HEAVY | NUMBERS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["survey", "--help"],
        ["distances", "--help"],
        ["read", "--help"],
        ["reproduce", "--help"],
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    run = (
        "import sys\n"
        f"sys.argv = ['headlight', *{arguments!r}]\n"
        "from contextlib import redirect_stdout\n"
        "from io import StringIO\n"
        "from headlight.cli import main\n"
        "try:\n"
        "    with redirect_stdout(StringIO()) as said:\n"
        "        main()\n"
        "except SystemExit as ended:\n"
        "    assert not ended.code, ended.code\n"
        "assert 'Usage' in said.getvalue()"
    )
    assert not loaded_by(run) & (HEAVY | NUMBERS)


@pytest.mark.slow
def test_of_the_commands_only_the_one_that_is_called_is_made() -> None:
    """Of the others the help of the program knows the summaries alone."""
    called = (
        "import sys\n"
        "sys.argv = ['headlight', 'distances', '--no-such-option']\n"
        "from headlight.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as ended:\n"
        "    assert ended.code == 2, ended.code\n"
    )
    loaded = loaded_by(called)
    commands = {f"headlight.cli.{path.stem}" for path in (SOURCE / "headlight/cli").glob("*.py")}
    used = {
        "commands",
        "config_file",
        "guarded_terminal",
        "help",
        "model_options",
        "printing",
        "program",
        "run_options",
        "setting_options",
        "study",
    }
    assert loaded & commands == {f"headlight.cli.{name}" for name in used}
    assert {name for name in loaded if name.startswith("headlight.studies.")} == {
        "headlight.studies.distances"
    }
    assert not loaded & {
        "headlight.engine.folder",
        "headlight.corpora",
        "headlight.engine.measurement",
        "rich",
    }
    assert not loaded & (HEAVY | NUMBERS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        pytest.param("headlight.reading.model", marks=pytest.mark.long),
        pytest.param("headlight.reports.study_run", marks=pytest.mark.long),
        "headlight.studies.survey.page",
    ],
)
def test_what_every_run_needs_loads_nothing_of_an_extra(module: str) -> None:
    extras = {"anywidget", "gguf", "ray", "starlette", "thot", "uvicorn"}
    assert not loaded_by(f"import {module}") & extras


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["headlight.api", "headlight.reports.gallery", "headlight.reports.report"]
)
def test_what_works_on_results_alone_loads_no_torch(module: str) -> None:
    """Opening, ranking, comparing and showing them, and what is refused of them."""
    assert not loaded_by(f"import {module}") & TORCH


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["survey", "--model", "nobody/none"], "no model of that name"),
        (["survey", "--model", "./nowhere"], "there is no folder './nowhere'"),
        (["survey", "--layers", "9"], "no layer 9: its layers are 0 to 5"),
        (["survey", "--device", "gpu"], "there is no device 'gpu'"),
        (["survey", "--dtype", "float23"], "no precision is called 'float23'"),
        (["read", "the sea", "--layers", "9"], "no layer 9"),
        (["alternatives", "the sea", "--layer", "9"], "no layer 9"),
    ],
)
@pytest.mark.slow
def test_what_is_wrong_with_a_model_is_said_before_torch_is_there(
    arguments: list[str], says: str, tmp_path: Path
) -> None:
    if arguments[0] != "read" and arguments[0] != "alternatives":
        arguments = [*arguments, "--out", str(tmp_path / "run")]
    run = (
        "import sys\n"
        f"sys.argv = ['headlight', *{arguments!r}]\n"
        "from contextlib import redirect_stderr\n"
        "from io import StringIO\n"
        "from headlight.cli import main\n"
        "try:\n"
        "    with redirect_stderr(StringIO()) as said:\n"
        "        main()\n"
        "except SystemExit as ended:\n"
        "    assert ended.code, ended.code\n"
        f"assert {says!r} in said.getvalue(), said.getvalue()"
    )
    assert not loaded_by(run) & TORCH


@pytest.mark.slow
def test_a_layer_that_knows_no_model_loads_no_torch() -> None:
    """All in one interpreter: what they load together is all that any of them loads alone."""
    modules = [module for layer in WITHOUT_TORCH for module in submodules(layer)]
    modules += [study.package for study in studies().values()]
    first = (
        "import sys\n"
        "from importlib import import_module\n"
        f"for module in {modules!r}:\n"
        "    import_module(module)\n"
        f"    assert not {TORCH!r} & sys.modules.keys(), module"
    )
    assert not loaded_by(first) & TORCH


def test_every_public_name_can_be_looked_up() -> None:
    assert headlight.__all__
    for name in headlight.__all__:
        assert getattr(headlight, name) is not None


def test_the_root_lists_its_names_in_order_and_refuses_others() -> None:
    assert list(headlight.__all__) == sorted(headlight.__all__)
    assert set(headlight.__all__) <= set(dir(headlight))
    with pytest.raises(AttributeError, match="lighthouse"):
        headlight.lighthouse  # noqa: B018 - looking it up is the test


@pytest.mark.slow
def test_the_core_loads_nothing_of_other_distributions() -> None:
    others = tuple(each.package for each in DISTRIBUTIONS.values())
    heads = {"headlight", "headlight.cli", "headlight.api"}
    loaded = set().union(*(loaded_by(f"import {each}") for each in heads))
    assert not {name for name in loaded if name.startswith(others)}
