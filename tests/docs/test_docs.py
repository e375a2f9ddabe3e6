"""The documentation speaks of everything that is public, and of nothing that is not there."""

import pkgutil
import re
import runpy
import shlex
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

import example_data
import headlight
from headlight.catalogue.embedded_models import EMBEDDED
from headlight.catalogue.registry import COMMANDS, QUESTIONS, WRITERS
from headlight.catalogue.statistics import GROUP as STATISTICS
from headlight.cli.program import app
from headlight.corpora import FORMATS, PAIR_FORMATS
from headlight.corpora.formats import GROUP as FORMAT_GROUP
from study_runs import StudyRuns

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
LISTS = {DOCS / "equations.md", DOCS / "extending.md"}
"""Pages that are a table, or code to begin from."""
GUIDES = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
EXTENDING = DOCS / "extending.md"
"""Its code is a package; test_study_of_another_package.py installs and runs it."""
INDEX = DOCS / "index.md"
"""Its code is that of README.md."""
PAGES_THAT_RUN = [
    *(page for page in PAGES if page not in (EXTENDING, INDEX)),
    ROOT / "README.md",
]
PACKAGE = ROOT / "src" / "headlight"
OTHERS = [ROOT / f"packages/{each}/src/headlight_{each}" for each in ("words", "papers")]
PACKAGES = [each.name for each in pkgutil.walk_packages([str(PACKAGE)], "headlight.") if each.ispkg]


def text_of(paths: list[Path]) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def commands() -> list[tuple[str, Any]]:
    """Every command of the command line, with its name."""
    return sorted(typer.main.get_command(app).commands.items())


def public_modules() -> list[str]:
    """The layers: whatever lies directly below the root and is meant to be imported."""
    names = [path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()]
    return sorted(
        name for name in names if not name.startswith("_") and name not in ("assets", "cli")
    )


@pytest.mark.parametrize("name", headlight.__all__)
def test_every_public_name_is_in_the_reference_and_in_a_guide(name: str) -> None:
    guides = text_of([page for page in GUIDES if page.parent.name != "reference"])
    assert re.search(rf"\b{re.escape(name)}\b", guides)
    assert re.search(rf"\b{re.escape(name)}\b", text_of([DOCS / "reference" / "headlight.md"]))


@pytest.mark.parametrize("module", public_modules())
def test_every_layer_is_in_the_reference(module: str) -> None:
    pages = text_of(sorted((DOCS / "reference").glob("*.md")))
    assert re.search(rf"^::: headlight\.{module}$", pages, re.MULTILINE)


@pytest.mark.parametrize(
    "package",
    [path.parent.name for path in sorted(PACKAGE.glob("*/__init__.py"))],
)
def test_a_layer_says_what_is_public(package: str) -> None:
    # The reference shows what is in __all__: names of it, or modules in it.
    layer = import_module(f"headlight.{package}")
    modules = {each.name for each in pkgutil.iter_modules(layer.__path__)}
    assert layer.__all__
    missing = {name for name in layer.__all__ if not hasattr(layer, name)} - modules
    assert missing == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_a_module_hides_no_function_of_its_name(package: str) -> None:
    # The reference takes the name of a package for the module, unless the page names both.
    found = import_module(package)
    modules = {each.name for each in pkgutil.iter_modules(found.__path__)}
    hidden = [
        name
        for name in getattr(found, "__all__", ())
        if name in modules and callable(getattr(found, name, None))
    ]
    pages = text_of(sorted((DOCS / "reference").glob("*.md")))
    assert [name for name in hidden if f"::: {package}.{name}\n" not in pages] == []


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_described(format: str) -> None:
    assert f"| `{format}` |" in (DOCS / "corpora.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("format", PAIR_FORMATS)
def test_every_format_of_sentence_pairs_is_described(format: str) -> None:
    page = (DOCS / "corpora.md").read_text(encoding="utf-8")
    section = page.partition("### Sentence pairs")[2].partition("### ")[0]
    assert re.search(rf"^\|.*`{format}`.*\|", section, re.MULTILINE)


def section_of(name: str) -> str:
    """What the page on the command line says of a command."""
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    found = re.search(rf"^## `headlight {name}[ `].*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"docs/command-line.md has no section on {name}"
    return found.group()


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: str(value)[:20])
def test_every_command_and_every_option_is_described(name: str, command: Any) -> None:
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    shared = page[: page.index("# Look at texts")]
    options = [
        option
        for parameter in command.params
        if parameter.param_type_name == "option" and not parameter.hidden
        for option in parameter.opts
        if option.startswith("--") and option != "--help"
    ]
    described = set(re.findall(r"--[a-z][a-z-]*", section_of(name) + shared))
    assert set(options) <= described


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: str(value)[:20])
def test_no_option_is_described_that_is_not_there(name: str, command: Any) -> None:
    papers = getattr(command, "commands", {})  # whose options stand in its section
    known = {
        option
        for each in (command, *papers.values())
        for parameter in each.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(re.findall(r"--[a-z][a-z-]*", section_of(name))) <= known | {"--help"}


@pytest.mark.papers
def test_the_tables_of_options_are_what_the_commands_say() -> None:
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    filled = runpy.run_path(str(ROOT / "scripts" / "options_page.py"))["filled"]
    assert filled(page) == page, "run scripts/options_page.py"


@pytest.mark.papers
@pytest.mark.parametrize(
    ("page", "script", "mark", "last"),
    [
        ("command-line.md", "options_page.py", "<!-- options: guided -->", "## `headlight status"),
        pytest.param(
            *("results.md", "results_page.py", "<!-- variables: guided -->", "## A reading"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_study_of_which_a_page_says_nothing_gets_a_section(
    page: str, script: str, mark: str, last: str, study_runs: StudyRuns
) -> None:
    written = (DOCS / page).read_text(encoding="utf-8")
    section = re.search(rf"^## [^\n]*\n(?:(?!^## ).)*?{mark}.*?(?=^## )", written, re.M | re.S)
    assert section
    filled = runpy.run_path(str(ROOT / "scripts" / script))["filled"]
    results = (study_runs.results(),) if script == "results_page.py" else ()
    found = filled(written.replace(section[0], ""), *results)
    table = re.compile(rf"{mark}.*?<!-- end -->", re.S)
    assert table.findall(found) == table.findall(written)
    assert found.index(mark) < found.index(last)


@pytest.mark.papers
def test_the_tables_of_studies_are_what_the_catalogue_says() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "study_tables.py"))
    for path in script["PAGES"]:
        page = path.read_text(encoding="utf-8")
        assert "<!-- studies: " in page
        assert script["filled"](page) == page, "run scripts/study_tables.py"


@pytest.mark.papers
@pytest.mark.slow
def test_the_tables_of_variables_are_what_results_hold(study_runs: StudyRuns) -> None:
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    filled = runpy.run_path(str(ROOT / "scripts" / "results_page.py"))["filled"]
    assert filled(page, study_runs.results()) == page, "run scripts/results_page.py"


@pytest.mark.slow
def test_results_says_all_that_a_survey_holds(study_runs: StudyRuns) -> None:
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    result = study_runs.result("survey")
    blocks = ("_by_slot", "_slot_weights")  # of which the page speaks once for all numbers
    held = {*map(str, result.variables), *map(str, result.attrs)}
    held = {name for name in held if not name.endswith(blocks)}
    assert held - set(re.findall(r"`([a-z_]+)`", page)) == set()


def test_results_names_what_a_reading_holds(tmp_path: Path) -> None:
    model = headlight.load(example_data.tiny_model(tmp_path))
    everything = {"attribution": True, "residual": True}
    reading = model.read("the cat sat .", "the dog ran", **everything).dataset
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    table = section(page, "A reading")
    rows = re.findall(r"^\| (`[^|]+) \| [^|]+ \| [^|]+ \|$", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}
    assert named == set(map(str, reading.data_vars))
    held = {*map(str, reading.variables), *map(str, reading.dims)}
    assert held - set(re.findall(r"`([a-z_]+)`", page)) == set()


DOTTED = re.compile(r"(?:`|^::: )(headlight(?:_papers|_words)?(?:\.[A-Za-z_]\w*)+)", re.MULTILINE)


def dotted_names() -> dict[str, set[str]]:
    """Names below the root that docs and docstrings mention, with the files that do."""
    found: dict[str, set[str]] = {}
    modules = [path for package in (PACKAGE, *OTHERS) for path in sorted(package.rglob("*.py"))]
    for path in [*GUIDES, *modules]:
        text = path.read_text(encoding="utf-8")
        for name in DOTTED.findall(text):
            found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


def is_there(name: str) -> bool:
    """Whether a dotted name leads to a module, what a module holds, or a member of a class."""
    parts = name.split(".")
    found: Any = import_module(parts[0])
    for at, part in enumerate(parts[1:], 1):
        with suppress(ImportError):
            import_module(".".join(parts[: at + 1]))
        if part in getattr(found, "__dataclass_fields__", {}):
            return at + 1 == len(parts)
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


@pytest.mark.papers
def test_every_dotted_name_is_there() -> None:
    names = dotted_names()
    assert names
    for group in (COMMANDS, FORMAT_GROUP, QUESTIONS, STATISTICS, WRITERS):  # of entry points
        del names[group]
    assert {name: files for name, files in names.items() if not is_there(name)} == {}


def section(page: str, title: str) -> str:
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"docs/results.md has no section called {title!r}"
    return found.group(1)


def blocks(page: Path, language: str = r"\w*") -> list[str]:
    """The code of a page, in the order in which it stands there."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[str, str, str]]:
    """The language and code of each block, and what it prints: the block ``text`` right behind."""
    code = r"^```(\w*)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?"
    return re.findall(code, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


WRITTEN = re.compile(
    r"""--(?:out|html|json|routes|flow)[ =](\S+)|out="([^"]+)"|\.save\("([^"]+)\""""
)
"""What a line of a snippet writes."""
JOINED = re.compile(r"--workers join|--resume")
"""Options of commands that share the folder of a run on purpose."""


def written(page: Path) -> list[tuple[str, str]]:
    """Return the files and folders that the snippets of a page write, with the line that does."""
    lines = [
        re.sub(r"\s+# .*|\s+$", "", line)
        for block in blocks(page)
        for line in block.replace("\\\n", " ").splitlines()
        if not JOINED.search(line)
    ]
    return [
        (name.rstrip("/"), " ".join(line.split()))
        for line in lines
        for groups in WRITTEN.findall(line)
        for name in filter(None, groups)
    ]


def written_twice(lines: list[tuple[str, str]]) -> dict[str, set[str]]:
    """Return what different lines write, with these."""
    writers: dict[str, set[str]] = {}
    for name, line in lines:
        writers.setdefault(name, set()).add(line)
    return {name: each for name, each in writers.items() if len(each) > 1}


def test_no_two_snippets_write_one_folder() -> None:
    # What is typed from one page and then another must not find a run of something else there.
    pages = [page for page in GUIDES if page != INDEX]
    everywhere = [each for page in pages for each in written(page)]
    assert (
        "corpus-run",
        'result = headlight.survey("corpus.txt", model=model, out="corpus-run")',
    ) in (everywhere)
    assert written_twice([each for each in everywhere if not Path(each[0]).suffix]) == {}


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_two_snippets_of_a_page_write_one_file(page: Path) -> None:
    assert written_twice(written(page)) == {}


def same_words(printed: str, shown: str) -> bool:
    """Whether an output is what a page shows; a line … stands for lines that the page leaves out.

    Of a number with a point the last digit may be the next one: processors round otherwise.
    """
    parts = [part.split() for part in re.split(r"^…$", shown, flags=re.MULTILINE)]
    words, at = printed.split(), 0
    for place, part in enumerate(parts):
        last = len(words) - len(part)
        first = last if 0 < place == len(parts) - 1 else at
        starts = range(max(first, at), (last if place else min(at, last)) + 1)
        found = [
            start for start in starts if all(map(alike, words[start : start + len(part)], part))
        ]
        if not found:
            return False
        at = found[0] + len(part)
    return at == len(words) or not part


def alike(word: str, wanted: str) -> bool:
    """Whether two words are the same, or numbers that differ by one in the last digit."""
    numbers = [re.fullmatch(r"([+−-]?)(\d+\.(\d+))(\D*)", each) for each in (word, wanted)]
    one, other = numbers
    if all(re.fullmatch(r"[\d.]+e-\d+\W*", each) for each in (word, wanted)):
        return True  # errors of rounding
    if one is None or other is None:
        return word == wanted
    same = (one[1], len(one[3]), one[4]) == (other[1], len(other[3]), other[4])
    return same and abs(float(one[2]) - float(other[2])) < 1.01 * 10 ** -len(one[3])


@pytest.mark.parametrize(
    "page",
    [page for page in GUIDES if page != EXTENDING],  # whose commands are those of its package
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_command_of_an_example_is_understood(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example_data.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    joined = [block.replace("\\\n", " ") for block in blocks(page)]
    lines = [line for block in joined for line in block.splitlines()]
    program = typer.main.get_command(app)
    for line in lines:
        called = re.search(r"(?:^|\| )headlight (.*)", line)
        if called and "…" not in line:
            name, *arguments = shlex.split(called[1], comments=True)
            if not name.startswith("-"):
                # Reads arguments and options, and refuses what does not exist; runs nothing.
                command = program.commands[name]
                context = command.make_context(name, arguments)
                paper = getattr(command, "commands", {}).get(arguments[0] if arguments else "")
                if paper is not None:
                    paper.make_context(arguments[0], arguments[1:], parent=context)


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_that_is_named_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(
        re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert named <= targets


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_page_includes_is_there(page: Path) -> None:
    # mkdocs itself says nothing when an included file is missing.
    included = re.findall(r'^--8<-- "([^":]+)', page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name in included if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", sorted({*DOCS.glob("*.md")} - LISTS), ids=lambda path: path.name)
def test_every_guide_has_a_picture_or_shows_a_result(page: Path) -> None:
    pictures = re.findall(r"\]\((images/[^)]+)\)", page.read_text(encoding="utf-8"))
    assert pictures or any(shown for _, _, shown in examples(page))
    assert [name for name in pictures if not (DOCS / name).is_file()] == []


def test_pictures_are_used_and_those_of_guides_are_small() -> None:
    named = text_of(GUIDES)
    pictures = [path for path in (DOCS / "images").rglob("*") if path.is_file()]
    assert pictures
    assert [path.name for path in pictures if path.relative_to(DOCS).as_posix() not in named] == []
    drawn = [path for path in pictures if path.parent.name in ("guides", "studies")]
    assert [path.name for path in drawn if path.stat().st_size > 60_000] == []


def test_the_documentation_is_no_longer_than_a_book() -> None:
    words = [word for word in text_of(PAGES).split() if re.search(r"\w", word)]
    assert len(words) < 80_000


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_links_to_files_that_are_there() -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]+)?\)", README)
    pictures = re.findall(r'<img src="([^"]+)"', README)
    assert links
    assert pictures
    assert [name for name in [*links, *pictures] if not (ROOT / name).is_file()] == []


def test_each_door_of_the_readme_has_a_picture_and_a_command_that_is_understood() -> None:
    doors = [line for line in README.splitlines() if line.startswith("| ") and "<img " in line]
    commands = [re.search(r"`headlight ([^`]+)`", door) for door in doors]
    assert len(doors) == 6
    assert all(commands)
    program = typer.main.get_command(app)
    for command in filter(None, commands):
        name, *arguments = shlex.split(command[1])
        program.commands[name].make_context(name, arguments)


def test_the_front_page_of_the_site_is_the_first_screen_of_the_readme() -> None:
    page = INDEX.read_text(encoding="utf-8")
    filled = runpy.run_path(str(ROOT / "scripts" / "front_page.py"))["filled"]
    assert filled(page, README) == page, "run scripts/front_page.py"
    assert filled(page, README.replace("| **look at a text**", "| **see a text**", 1)) != page
    screen = README.partition("\n## ")[0]
    targets = re.compile(r'(?:\]\(|<img src=")([^)"]+)')
    said, wanted = (targets.sub("", text).split() for text in (page, screen))
    assert said[said.index("Headlight") - 1 :][: len(wanted)] == wanted
    shown = targets.findall(page.partition("<!-- end -->")[0])
    assert len(shown) == len(targets.findall(screen))
    notebooks = [name for name in shown if name.startswith("notebooks/")]  # made by a hook
    assert all((ROOT / name).with_suffix(".ipynb").is_file() for name in notebooks)
    files = [name.partition("#")[0] for name in shown if name not in notebooks]
    assert [name for name in files if not (DOCS / name).is_file()] == []


@pytest.mark.slow
@pytest.mark.skipif(not (EMBEDDED / "config.json").exists(), reason="no embedded model here")
@pytest.mark.parametrize(
    "page",
    [page for page in PAGES_THAT_RUN if blocks(page, "python")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_python_examples_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # All blocks of a page in one namespace, where there are files of the names that pages use.
    example_data.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for language, block, shown in examples(page):
        if language != "python":
            continue
        code = compile(block, str(page), "exec")
        capsys.readouterr()
        if not block.startswith("# needs: "):
            exec(code, names)
        assert not shown or same_words(capsys.readouterr().out, shown)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param(block, shown, id=f"{page.name}: {block.splitlines()[0]}")
        for page in PAGES_THAT_RUN
        for language, block, shown in examples(page)
        if shown and language in ("", "sh")
    ],
)
def test_commands_print_what_pages_show(
    command: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example_data.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    for line in command.splitlines():
        arguments = shlex.split(line, comments=True)[1:]
        found = CliRunner().invoke(app, arguments, env={"TERM": "dumb", "COLUMNS": "110"})
        assert found.exit_code == 0, found.output
    assert same_words(found.stdout, shown)


def test_words_are_the_same_if_numbers_are_but_for_their_last_digit() -> None:
    assert same_words("L0H1  0.52  a", " L0H1 0.53 a\n")
    assert same_words("12 −3.0 8.6e-07.", "12 −3.1 2e-06")
    for other in ("L0H1 0.54 a", "L0H2 0.52 a", "L0H1 0.52 b", "L0H1 0.52", "L0H1 0.520 a"):
        assert not same_words("L0H1 0.52 a", other)
    assert same_words("a 1\nb 2\nc 3", "a 1\n…\nc 3")
    assert same_words("a 1\nb 2\nc 3", "a 1\n…\n")
    assert not same_words("a 1\nb 2", "…\na 1")


def test_the_pages_ask_the_network_for_nothing() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert "http" not in re.sub(r"^\s*#.*$", "", settings, flags=re.MULTILINE)
    for page in PAGES:
        assert not re.search(r"<(?:script|link|img)[^>]+https?:", page.read_text(encoding="utf-8"))


def test_the_pages_can_be_searched_from_disk_without_a_network() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert re.search(r"^  - offline$", settings, re.MULTILINE)
    (script,) = re.findall(r"polyfills: \[(.+)\]", settings)
    # Without a script of this name the plugin would fetch one.
    assert "iframe-worker" in script
    assert (DOCS / script).is_file()
