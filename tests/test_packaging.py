"""What is published: names, versions, and what wheel and sdist hold."""

import importlib
import re
import subprocess
import sys
import tarfile
import tomllib
from email.parser import Parser
from html.parser import HTMLParser
from importlib import metadata
from io import StringIO
from pathlib import Path
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
        others = (Requirement(each) for each in project["dependencies"])
        needed += [f"{each.name} {each.specifier}" for each in others if each.name not in below]
        assert recipe["requirements"]["run"][1:] == needed
        for shared in ("requires-python", "classifiers", "license"):
            assert project[shared] == PROJECT["project"][shared]
        licence = ROOT / "packages" / distribution.extra / "LICENSE"
        assert licence.read_bytes() == (ROOT / "LICENSE").read_bytes()
        below.append(distribution.name)


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
