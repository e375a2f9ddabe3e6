"""What is published: names, versions, and what wheel and sdist hold."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from email.parser import Parser
from html.parser import HTMLParser
from importlib import metadata
from io import StringIO
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement

import headlight
from headlight.catalogue import DISTRIBUTIONS, Distribution
from headlight.result import versions

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OTHERS = {
    each.name: tomllib.loads(
        (ROOT / "packages" / each.extra / "pyproject.toml").read_text(encoding="utf-8")
    )
    for each in DISTRIBUTIONS.values()
}
"""The projects of the other distributions, each of which stands on those before it."""
DISTRIBUTION = "headlight-attention"
NAMED = ("studies", "commands", "questions", "formats")
"""Groups of entry points whose names the core knows."""
RECIPES = ROOT / "packaging/conda-forge"
TOLD = [
    path
    for folder in ("src", "packages", "docs", "scripts", "benchmarks")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".md", ".html", ".js", ".txt", ".toml", ".css")
] + [path for path in ROOT.iterdir() if path.suffix == ".md" or path.name == "Makefile"]
STRANGER = re.compile(
    r"(?:pip3?|uv(?: pip)?|uv tool|pipx|poetry|conda|uvx)\s+(?:install|add|run)\s[^\n`]*?"
    r"(?<![\w./-])headlight(?![\w./-])|headlight\[|pypi\.org/\w+/headlight(?!-attention)"
)
"""Whatever would install, or lead to, the distribution that is called `headlight` and not ours."""


def test_the_recipe_of_conda_asks_for_what_the_project_needs() -> None:
    recipe = yaml.safe_load((RECIPES / DISTRIBUTION / "recipe.yaml").read_text(encoding="utf-8"))
    names = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
    needed = {
        names.get(each.name, each.name).replace("_", "-"): each.specifier
        for each in map(Requirement, PROJECT["project"]["dependencies"])
    }
    asked = {
        each.name.replace("_", "-"): each.specifier
        for each in map(Requirement, recipe["requirements"]["run"][1:])
    }
    assert asked == needed
    assert f">={recipe['context']['python_min']}" == PROJECT["project"]["requires-python"]


def test_all_distributions_are_released_together() -> None:
    below = [DISTRIBUTION]
    for distribution in DISTRIBUTIONS.values():
        project = OTHERS[distribution.name]["project"]
        assert project["name"] == distribution.name
        path = RECIPES / distribution.name / "recipe.yaml"
        recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
        needed = [f"{name} ==${{{{ version }}}}" for name in below]
        assert recipe["requirements"]["run"][1:] == needed
        for shared in ("requires-python", "classifiers", "license"):
            assert project[shared] == PROJECT["project"][shared]
        licence = ROOT / "packages" / distribution.extra / "LICENSE"
        assert licence.read_bytes() == (ROOT / "LICENSE").read_bytes()
        below.append(distribution.name)


def test_image_and_recipes_have_all_distributions() -> None:
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    folders = [f"packages/{each.extra}" for each in DISTRIBUTIONS.values()]
    assert {"/build", *(f"/build/{folder}" for folder in folders)} <= {*image.split()}
    names = {PROJECT["project"]["name"], *OTHERS}
    assert {each.parent.name for each in RECIPES.glob("*/recipe.yaml")} == names
    for name in names:
        recipe = yaml.safe_load((RECIPES / name / "recipe.yaml").read_text(encoding="utf-8"))
        assert recipe["context"]["name"] == name
        assert f"/{name.replace('-', '_')}-$" in recipe["source"]["url"]
    package = re.search(r"^package:.*?\n\n", (ROOT / "Makefile").read_text("utf-8"), re.M | re.S)
    assert package is not None
    assert "uv build --quiet --all-packages" in package[0]
    assert PROJECT["tool"]["uv"]["workspace"]["members"] == folders


@pytest.mark.parametrize(
    "distribution",
    [
        pytest.param(each, marks=getattr(pytest.mark, each.extra), id=each.extra)
        for each in DISTRIBUTIONS.values()
    ],
)
def test_the_core_names_what_another_distribution_has(distribution: Distribution) -> None:
    entries = OTHERS[distribution.name]["project"].get("entry-points", {})
    named = {f"headlight.{kind}": getattr(distribution, kind) for kind in NAMED}
    assert entries.keys() <= named.keys()
    for group, names in named.items():
        assert sorted(entries.get(group, ())) == sorted(names)
    models = getattr(importlib.import_module(distribution.package), "EMBEDDED_MODELS", {})
    assert sorted(models) == sorted(distribution.models)
    installed = {
        (entry.group, entry.name, entry.value)
        for entry in metadata.distribution(distribution.name).entry_points
    }
    assert installed == {
        (group, name, value) for group, rows in entries.items() for name, value in rows.items()
    }


@pytest.mark.parametrize(
    ("text", "leads"),
    [
        ("pip install headlight", True),
        ("pip install -U 'headlight[gguf]'", True),
        ("uv add headlight", True),
        ("the extra headlight[datasets]", True),
        ("https://pypi.org/project/headlight/", True),
        ("pip install headlight-attention", False),
        ("pip install 'headlight-attention[gguf]'", False),
        ("pip install . && headlight survey", False),
        ("pip install ./headlight", False),
    ],
)
def test_the_check_knows_what_leads_to_a_stranger(text: str, leads: bool) -> None:
    for line in text.split(" && "):
        assert bool(STRANGER.search(line)) == (leads and "headlight" in line)


def test_nothing_leads_to_the_distribution_of_a_stranger() -> None:
    assert len(TOLD) > 300
    assert [path for path in TOLD if STRANGER.search(path.read_text(encoding="utf-8"))] == []


def test_whoever_installs_can_use_every_command() -> None:
    needed = {Requirement(each).name for each in PROJECT["project"]["dependencies"]}
    assert {"matplotlib", "scipy"} <= needed


def test_the_version_is_that_of_the_code() -> None:
    assert {"version"} <= {*PROJECT["project"]["dynamic"]}
    assert metadata.version(DISTRIBUTION) == headlight.__version__
    assert versions()["headlight"] == headlight.__version__


def test_each_step_of_the_checks_is_a_hook_before_a_commit() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook["entry"] for repository in config["repos"] for hook in repository["hooks"]]
    steps = re.search(r"^check: (.*?) ##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert steps is not None
    assert hooks == [f"make {step}" for step in steps[1].split()]


def test_four_papers_are_cited() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    first = [(paper["authors"][0]["family-names"], paper["year"]) for paper in cited]
    assert first == [("Clark", 2019), ("Kobayashi", 2020), ("Brunner", 2020), ("Yang", 2020)]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    """The scripts `check_release` and `try_release`."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    check, trial = map(importlib.import_module, ("check_release", "try_release"))
    return check, trial


@pytest.fixture
def unready(tmp_path: Path, scripts: tuple[ModuleType, ModuleType]) -> Path:
    """A repository of the files of this one that say whether it can be published."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed here")
    folder = tmp_path / "unready"
    copied = [*scripts[0].FILLED_IN]
    for place in (ROOT, ROOT / "requirements"):
        copied += [str(path.relative_to(ROOT)) for path in place.iterdir() if path.is_file()]
    for name in copied:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    address, maintainer = scripts[0].PLACEHOLDERS
    for name in scripts[0].FILLED_IN:  # of a tree that is ready as well
        text = (folder / name).read_text(encoding="utf-8")
        text = text.replace(PROJECT["project"]["urls"]["Repository"], address)
        text = re.sub(r"(?<=recipe-maintainers:\n    - ).*", maintainer, text)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def git(folder: Path, *arguments: str) -> str:
    known = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ("git", *known, *arguments)
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "A state")


def test_what_files_repeat_agrees(scripts: tuple[ModuleType, ModuleType]) -> None:
    assert scripts[0].disagreements() == []


def test_each_file_that_differs_is_named(
    unready: Path, scripts: tuple[ModuleType, ModuleType]
) -> None:
    check, _ = scripts
    version = headlight.__version__
    for name in check.FILLED_IN[1:]:
        path = unready / name
        text = path.read_text(encoding="utf-8").replace(version, "98.0")
        path.write_text(
            text.replace("example.org/headlight", "elsewhere").replace("developers", "others"),
            encoding="utf-8",
        )
    differing = [sentence.partition(" is ")[0] for sentence in check.disagreements(unready)]
    assert differing == [
        *("version of CITATION.cff", "repository-code of CITATION.cff", "authors of CITATION.cff"),
        *(
            f"{what} of {name}"
            for name in OTHERS
            for what in ("version", "urls", "authors", "dependencies")
        ),
        *(
            f"{what} of {recipe}"
            for recipe in check.RECIPES
            for what in ("version", "homepage", "repository")
        ),
    ]


def test_placeholders_are_not_published(
    unready: Path, scripts: tuple[ModuleType, ModuleType]
) -> None:
    check, _ = scripts
    sentences = check.problems(unready)
    address, maintainer = (each for each in sentences if "placeholder" in each)
    assert address.startswith("https://example.org/headlight is a placeholder;")
    assert all(name in address for name in check.FILLED_IN)
    assert all(name in maintainer for name in check.RECIPES)


def test_a_trial_makes_an_unready_tree_ready_and_takes_a_ready_one_as_it_is(
    unready: Path, tmp_path: Path, scripts: tuple[ModuleType, ModuleType]
) -> None:
    check, trial = scripts
    path = unready / "CHANGELOG.md"
    path.write_text("# Changelog\n\n## Unreleased\n\nAll of it.\n", encoding="utf-8")
    commit(unready)
    ready = trial.ready_clone(unready, tmp_path / "ready")
    assert check.problems(ready) == []
    again = trial.ready_clone(ready, tmp_path / "again")
    assert check.problems(again) == []
    assert git(again, "rev-parse", "HEAD") == git(ready, "rev-parse", "HEAD")


def test_a_trial_installs_nothing_into_the_environment_that_it_runs_in(
    unready: Path, tmp_path: Path, scripts: tuple[ModuleType, ModuleType]
) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed here")
    environment = tmp_path / "environment"
    for name in ("bin/python", ".installed", ".installed-dev"):
        (environment / name).parent.mkdir(exist_ok=True, parents=True)
        (environment / name).touch()
        os.utime(environment / name, (1000, 1000))
    ask = ("make", "--question", f"VENV={environment}", str(environment / ".installed-dev"))
    assert subprocess.run(ask, cwd=unready, check=False).returncode == 1
    scripts[1].make_old(unready)
    assert subprocess.run(ask, cwd=unready, check=False).returncode == 0


def test_a_release_has_a_tag_one_date_and_no_changes(
    unready: Path, tmp_path: Path, scripts: tuple[ModuleType, ModuleType]
) -> None:
    check, trial = scripts
    version = headlight.__version__
    ready = trial.ready_clone(unready, tmp_path / "ready")
    changelog = ready / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    heading = f"## {version} - "
    changelog.write_text(text.replace(heading, heading + "1999-01-02\n\n"), encoding="utf-8")
    changed = "the working tree has changes that are not committed"
    other_date = "CITATION.cff has not the date-released 1999-01-02 of CHANGELOG.md"
    assert check.problems(ready) == [other_date, changed]
    commit(ready)
    assert check.problems(ready) == [other_date, f"the commit has no tag v{version}"]
    changelog.write_text("nothing\n", encoding="utf-8")
    assert f"CHANGELOG.md has no section '{heading}' with a date" in check.problems(ready)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheels and sdists of all distributions."""
    folder = tmp_path_factory.mktemp("dist")
    pytest.importorskip("hatchling", reason="the build backend is not installed here")
    for place in (ROOT, *(ROOT / "packages" / each.extra for each in DISTRIBUTIONS.values())):
        for kind in ("wheel", "sdist"):
            run("hatchling", "build", "--target", kind, "--directory", str(folder), place=place)
    return folder


def run(module: str, *arguments: str, place: Path = ROOT) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_all_pass_the_checks_of_an_index(built: Path) -> None:
    pytest.importorskip("twine")
    run("twine", "check", "--strict", *map(str, sorted(built.iterdir())))


class Addresses(HTMLParser):
    """Gathers where a page leads to, and what it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.pictures: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src"):
                (self.links if name == "href" else self.pictures).append(value or "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "readme"),
    [
        ("headlight_attention", "README.md"),
        *((each.package, f"packages/{each.extra}/README.md") for each in DISTRIBUTIONS.values()),
    ],
)
def test_an_index_shows_a_description_that_leads_somewhere(
    built: Path, name: str, readme: str
) -> None:
    pytest.importorskip("comrak", reason="readme-renderer[md] is not installed here")
    markdown = importlib.import_module("readme_renderer.markdown")
    (wheel,) = built.glob(f"{name}-*.whl")
    errors = StringIO()
    rendered = markdown.render(description(wheel), stream=errors)
    assert rendered, errors.getvalue()
    page = Addresses()
    page.feed(rendered)
    links = [each for each in page.links if not each.startswith("#user-content-")]  # of headings
    assert [each for each in links + page.pictures if not each.startswith("https://")] == []
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert len(links) == len(re.findall(r"(?<!!)\[[^][]*\]\(", text)) > 0
    address = PROJECT["project"]["urls"]["Repository"]
    for kind, addresses in (("blob", links), ("raw", page.pictures)):
        place = f"{address}/{kind}/v{headlight.__version__}/"
        for each in addresses:
            if each.startswith(address):
                assert (ROOT / each.removeprefix(place).partition("#")[0]).is_file(), each


def description(wheel: Path) -> str:
    with ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode()).get_payload()


@pytest.mark.slow
def test_an_sdist_makes_the_same_description(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("headlight_attention-*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    (source / "PKG-INFO").unlink()  # from which the backend would take the description
    run("hatchling", "build", "--target", "wheel", "--directory", str(tmp_path), place=source)
    wheels = [*built.glob("headlight_attention-*.whl"), *tmp_path.glob("*.whl")]
    first, second = map(description, wheels)
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distribution", "package", "source"),
    [
        (DISTRIBUTION, "headlight", ROOT / "src"),
        *(
            (each.name, each.package, ROOT / "packages" / each.extra / "src")
            for each in DISTRIBUTIONS.values()
        ),
    ],
)
def test_a_wheel_holds_the_package_and_nothing_else(
    built: Path, distribution: str, package: str, source: Path
) -> None:
    stem = f"{distribution.replace('-', '_')}-{headlight.__version__}"
    with ZipFile(built / f"{stem}-py3-none-any.whl") as archive:
        names = archive.namelist()
        (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(described).decode())
    roots = {name.partition("/")[0] for name in names}
    assert roots == {package, f"{stem}.dist-info"}
    assert (told["Name"], told["Version"]) == (distribution, headlight.__version__)
    held = {name for name in names if name.startswith(f"{package}/")}
    files = [each for each in (source / package).rglob("*") if each.is_file()]
    assert held == {
        each.relative_to(source).as_posix() for each in files if "__pycache__" not in each.parts
    }


@pytest.mark.slow
def test_the_sdist_holds_all_that_its_tests_read(built: Path) -> None:
    (sdist,) = built.glob("headlight_attention-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    folders = ("src", "packages", "tests", "docs", "scripts", "benchmarks")
    wanted = {path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()}
    kept = {path for path in wanted if "__pycache__" not in path.parts}
    assert {path.relative_to(ROOT).as_posix() for path in kept} <= names
    assert {"pyproject.toml", "Makefile", "mkdocs.yml", "CHANGELOG.md", "CITATION.cff"} <= names
    assert not {name for name in names if name.startswith((".venv", "build/", "dist/"))}
