"""What is published: names, versions, and what wheel and sdist hold."""

import importlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement

import headlight
from headlight.catalogue import IN_PAPERS
from headlight.catalogue.registry import COMMANDS, GROUP
from headlight.result import versions

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAPERS = tomllib.loads((ROOT / "packages/papers/pyproject.toml").read_text(encoding="utf-8"))
DISTRIBUTION = "headlight-attention"
PROJECTS = ("pyproject.toml", "packages/papers/pyproject.toml")
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
    assert recipe["context"]["version"] == headlight.__version__
    assert f">={recipe['context']['python_min']}" == PROJECT["project"]["requires-python"]


def test_both_distributions_have_one_version_and_know_each_other() -> None:
    version, papers = headlight.__version__, PAPERS["project"]
    text = (RECIPES / papers["name"] / "recipe.yaml").read_text(encoding="utf-8")
    recipe = yaml.safe_load(text)
    assert papers["version"] == recipe["context"]["version"] == version
    assert papers["dependencies"] == [f"{DISTRIBUTION}=={version}"]
    assert recipe["requirements"]["run"][1:] == [f"{DISTRIBUTION} ==${{{{ version }}}}"]
    assert PROJECT["project"]["optional-dependencies"]["papers"] == [f"headlight-papers=={version}"]
    assert papers["requires-python"] == PROJECT["project"]["requires-python"]
    licences = [(ROOT / folder / "LICENSE").read_bytes() for folder in ("", "packages/papers")]
    assert licences[0] == licences[1]


def test_image_and_recipes_have_both_distributions() -> None:
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {
        word.rstrip("/") for line in re.findall(r"^COPY (.*)", image, re.M) for word in line.split()
    }
    installed = re.search(r"pip install --no-cache-dir (?:--\S+ )*(/build.*?) &&", image)
    assert installed is not None
    assert installed[1].split() == ["/build", "/build/packages/papers"]
    assert {"pyproject.toml", "src", "packages"} <= copied
    names = {PROJECT["project"]["name"], PAPERS["project"]["name"]}
    assert {each.parent.name for each in RECIPES.glob("*/recipe.yaml")} == names
    for name in names:
        recipe = yaml.safe_load((RECIPES / name / "recipe.yaml").read_text(encoding="utf-8"))
        assert recipe["context"]["name"] == name
        assert f"/{name.replace('-', '_')}-$" in recipe["source"]["url"]
    package = re.search(r"^package:.*?\n\n", (ROOT / "Makefile").read_text("utf-8"), re.M | re.S)
    assert package is not None
    assert "uv build --quiet --all-packages" in package[0]
    members = PROJECT["tool"]["uv"]["workspace"]["members"]
    assert [f"{each}/pyproject.toml" for each in members] == [PROJECTS[1]]


@pytest.mark.papers
def test_the_core_names_what_the_other_distribution_has() -> None:
    entries = PAPERS["project"]["entry-points"]
    assert {*entries[GROUP], *entries[COMMANDS]} == {*IN_PAPERS}
    installed = {
        (entry.group, entry.name, entry.value)
        for entry in metadata.distribution("headlight-papers").entry_points
    }
    assert installed == {
        (group, name, value) for group, rows in entries.items() for name, value in rows.items()
    }


@dataclass(frozen=True)
class Release:
    """A repository of the files that say whether it can be published."""

    folder: Path
    problems: Callable[[], list[str]]

    def git(self, *arguments: str) -> None:
        known = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *known, *arguments], cwd=self.folder, check=True)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A state")

    def append(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


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
    assert {"matplotlib", "scipy", "scikit-learn"} <= needed


def test_the_version_is_the_same_everywhere() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == headlight.__version__
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert metadata.version(DISTRIBUTION) == headlight.__version__
    assert versions()["headlight"] == headlight.__version__


def test_four_papers_are_cited() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    first = [(paper["authors"][0]["family-names"], paper["year"]) for paper in cited]
    assert first == [("Clark", 2019), ("Kobayashi", 2020), ("Brunner", 2020), ("Yang", 2020)]


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "packages/papers").mkdir(parents=True)
    for name in (*PROJECTS, "CITATION.cff", "CHANGELOG.md"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    spec = importlib.util.spec_from_file_location(
        "check_release", ROOT / "scripts/check_release.py"
    )
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "ROOT", folder)
    return Release(folder, script.problems)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed here")
def test_only_what_is_ready_is_published(release: Release) -> None:
    version = headlight.__version__
    release.git("init", "--quiet")
    release.commit()
    for name in PROJECTS:
        release.append(name, '\n[project.urls]\nRepository = "https://example.org/h"\n')
    release.append("CHANGELOG.md", f"\n## {version} - 2026-11-22\n")
    assert release.problems() == [
        f"the commit has no tag v{version}",
        "the working tree has changes that are not committed",
    ]
    release.commit()
    release.git("tag", f"v{version}")
    assert release.problems() == []
    release.append("CHANGELOG.md", "\nMore.\n")
    assert release.problems() == ["the working tree has changes that are not committed"]
    papers = (release.folder / PROJECTS[1]).read_text(encoding="utf-8")
    older = papers.replace("urls", "others").replace(version, "98")
    (release.folder / PROJECTS[1]).write_text(older, encoding="utf-8")
    (release.folder / "CHANGELOG.md").write_text("nothing\n", encoding="utf-8")
    release.append("CITATION.cff", "\n")
    cited = (release.folder / "CITATION.cff").read_text(encoding="utf-8")
    (release.folder / "CITATION.cff").write_text(cited.replace(version, "99"), encoding="utf-8")
    release.commit()
    said = " ".join(release.problems())
    for part in (
        *("CITATION.cff names version 99", "no section", "no tag", "no address"),
        *("headlight-papers has version 98", "does not depend on headlight-attention"),
    ):
        assert part in said


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheels and sdists of both distributions."""
    folder = tmp_path_factory.mktemp("dist")
    pytest.importorskip("hatchling", reason="the build backend is not installed here")
    for place in (ROOT, ROOT / "packages/papers"):
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
def test_both_pass_the_checks_of_an_index(built: Path) -> None:
    pytest.importorskip("twine")
    run("twine", "check", "--strict", *map(str, sorted(built.iterdir())))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distribution", "package", "source"),
    [
        (DISTRIBUTION, "headlight", ROOT / "src"),
        ("headlight-papers", "headlight_papers", ROOT / "packages/papers/src"),
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
