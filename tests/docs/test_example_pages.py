"""Pages to click: what is made, what is kept, and that their links work from disk."""

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
KINDS = {
    "read", "generate", "routes", "predict", "explain", "flow", "sources", "faithfulness",
    "survey", "compare",
}  # fmt: skip
problems = runpy.run_path(str(SCRIPTS / "check_links.py"))["problems"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, as processes of its own import it."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    sys.modules.pop("example_pages", None)
    import example_pages

    return example_pages


def sections(page: str) -> dict[str, str]:
    """What the page says of each kind of pages, by the command."""
    first, _, _ = page.partition("Further: ")
    parts = first.split("\n**")[1:]
    return {part.partition(".**")[0].lower(): part for part in parts}


def test_ten_kinds_of_pages_are_made_and_each_is_shown_and_said(script: Any) -> None:
    said = sections(script.PAGE.read_text(encoding="utf-8"))
    assert set(said) == KINDS
    for kind, text in said.items():
        (example,) = script.examples(text)
        assert "](images/" in text  # also where no pages have been made
        command = "read --flow" if kind == "flow" else kind
        flag = command.partition(" ")[2]
        assert any(
            words[:2] == ["headlight", command.partition(" ")[0]] and (not flag or flag in words)
            for words in example.commands
        )
        assert not example.models(Path())  # none is fetched for these


def test_a_block_reads_what_others_have_written(script: Any) -> None:
    survey, tuned, compared, gallery = (
        script.Example(f"headlight {line}\n")
        for line in (
            "survey --out survey/",
            "survey --out tuned-survey/",
            "compare survey/ tuned-survey/ --out comparison/",
            "gallery *survey/ --out gallery/",
        )
    )
    assert [compared.reads(name) for name in ("survey", "tuned-survey", "comparison")] == [
        True,
        True,
        False,
    ]
    assert gallery.reads("tuned-survey")
    assert not gallery.reads("comparison")
    assert not survey.reads("tuned-survey")
    assert not tuned.reads("survey")  # which is the name of its command


def test_each_block_gets_its_links_and_others_nothing(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADLIGHT_EXAMPLES", str(tmp_path))
    (tmp_path / "a.html").write_text("a")
    lines = ("make site", "headlight read A --html a.html", "headlight read B --html b.html")
    markdown = "".join(f"```\n{line}\n```\n" for line in lines)
    page = SimpleNamespace(file=SimpleNamespace(src_uri="examples.md"))
    site, first, second = script.on_page_markdown(markdown, page, None, None).split("```\n")[2::2]
    assert site == ""
    assert first == "\n→ **[a.html](examples/a.html)**\n"
    assert second == "\n*Left out here, for want of a result above.*\n"


PAGE = """
```
echo headlight > a.txt
sh -c "{first} > a.html; echo {again} >> a.count" first --html a.html
```

```
sh -c "cat a.html > b.html; echo headlight >> b.count" a.html --html b.html
```
"""


@pytest.mark.slow
def test_pages_are_kept_until_what_they_are_made_of_changes(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, folder = tmp_path / "page.md", tmp_path / "pages"
    monkeypatch.setattr(script, "PAGE", page)

    def made(names: tuple[str, ...] = (), **words: str) -> dict[str, int]:
        page.write_text(PAGE.format(**{"first": "echo 1", "again": "a", **words}))
        script.make(folder, [*names])
        counts = {path.stem: path.read_text().count("\n") for path in folder.glob("*.count")}
        return dict(sorted(counts.items()))

    folder.mkdir()
    (folder / "old-survey").mkdir()  # of a block that is no more
    assert made() == {"a": 1, "b": 1}
    assert not (folder / "old-survey").exists()
    assert (folder / "b.html").read_text() == "1\n"
    assert made() == {"a": 1, "b": 1}
    assert made(first="echo 2") == {"a": 2, "b": 2}  # also what reads it
    assert (folder / "b.html").read_text() == "2\n"
    (folder / "a.html").unlink()
    assert made(("a.html",), first="echo 2") == {"a": 3, "b": 2}
    monkeypatch.setattr(script, "SOURCES", ("Makefile",))
    assert made(first="echo 2") == {"a": 4, "b": 3}


def test_links_that_do_not_work_from_disk_are_told(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.html").write_text('<h1 id="top">B</h1><a href="../a.html#here">a</a>')
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="in/b.html#top">b</a><a href="https://a.org/">web</a></p>'
    )
    assert list(problems(tmp_path)) == []
    (tmp_path / "a.html").write_text(
        '<a href="/in/b.html">1</a><img src="c.png">'
        '<a href="in/b.html#end">2</a><a href="in/">3</a>'
    )
    assert [each.partition(" ")[2] for each in problems(tmp_path)] == [
        "/in/b.html begins at the root of a server",
        "c.png leads nowhere",
        "in/ is a folder, which from disk is a list of files",
        "in/b.html#end leads to a place that is not there",
        "../a.html#here leads to a place that is not there",
    ]
