"""What is written into a folder is noted there, and nothing else is replaced or removed."""

from pathlib import Path

import pytest

from headlight import files
from headlight.engine.file_names import PLAN
from headlight.engine.folder import CONFIG, PAGES, REPORT, RunFolder
from headlight.errors import HeadlightError, RunError, UsageError
from headlight.output_folder import RECORD, OutputFolder
from headlight.result import RESULT


@pytest.fixture(params=["here", "memory"])
def output(request, tmp_path: Path) -> OutputFolder:
    place = tmp_path if request.param == "here" else f"memory://{tmp_path}/run"
    return OutputFolder(files.make_folder(files.location(place)))


def run(folder: Path, **pages: str) -> None:
    """Write what a survey writes, with pages of texts."""
    with RunFolder(path=folder).opened() as mine:
        files.write(folder / RESULT, b"numbers")
        for name, content in {REPORT: "report", CONFIG: "config", **pages}.items():
            mine.output.write(name, content.encode())


def test_what_is_written_is_replaced_and_removed_and_nothing_else(output: OutputFolder) -> None:
    output.write("pages/1.html", b"one")
    files.write(output.place / "pages" / "2024.html", b"somebody's")
    output.write("pages/1.html", b"another")
    output.write("tables/layer.csv", b"1")
    assert output.names() == {"pages/1.html", "tables/layer.csv"}
    with pytest.raises(RunError, match=r"2024\.html is in the way: Headlight has no record"):
        output.write("pages/2024.html", b"ours")
    output.remove()
    left = {each.name for each in output.place.glob("**/*") if not each.is_dir()}
    assert left == {"2024.html"}
    assert files.read(output.place / "pages" / "2024.html") == b"somebody's"


def test_a_name_that_is_free_again_is_somebody_elses(output: OutputFolder) -> None:
    output.write("pages/1.html", b"one")
    output.write("pages/2.html", b"two")
    (output.place / "pages" / "2.html").unlink()
    output.prune()
    files.write(output.place / "pages" / "2.html", b"somebody's")
    output.remove()
    assert (output.place / "pages" / "2.html").exists()
    assert not (output.place / "pages" / "1.html").exists()


def test_nothing_is_written_or_removed_through_a_link(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    output = OutputFolder(files.make_folder(folder))
    output.write("tables/layer.csv", b"1")
    (folder / "tables" / "layer.csv").unlink()
    (folder / "tables").rmdir()
    (outside / "layer.csv").write_text("somebody's")
    (folder / "tables").symlink_to(outside, target_is_directory=True)
    with pytest.raises(RunError, match="tables is a link, and files would be written elsewhere"):
        output.write("tables/layer.csv", b"2")
    output.remove()
    assert (outside / "layer.csv").read_text() == "somebody's"


@pytest.mark.parametrize("line", ["../outside", "/etc/passwd", "a/../../outside", "C:\\outside"])
def test_a_record_of_somebody_else_removes_nothing_outside(line: str, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("somebody's")
    output = OutputFolder(files.make_folder(tmp_path / "run"))
    output.write("a.html", b"1")
    files.append(output.place / RECORD, f"\n{line}\n".encode())
    with pytest.raises(RunError, match="is no record of written files"):
        output.remove()
    assert (tmp_path / "outside").exists()


def test_a_line_that_a_killed_process_began_spoils_no_other(tmp_path: Path) -> None:
    output = OutputFolder(tmp_path)
    output.write("a.html", b"1")
    files.append(tmp_path / RECORD, b"half")
    output.write("b.html", b"1")
    assert output.names() == {"a.html", "half", "b.html"}


def test_starting_over_keeps_the_pages_of_others(tmp_path: Path) -> None:
    run(tmp_path, **{f"{PAGES}/1.html": "text"})
    (tmp_path / PAGES / "2024.html").write_text("mine")
    with RunFolder(path=tmp_path, overwrite=True).opened():
        left = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.*")}
        assert left >= {f"{PAGES}/2024.html", CONFIG}
        assert not left & {RESULT, REPORT, f"{PAGES}/1.html"}


@pytest.mark.parametrize("name", [RESULT, REPORT, PLAN, CONFIG, "checkpoint.safetensors"])
@pytest.mark.parametrize("how", [{}, {"overwrite": True}, {"resume": True}, {"workers": 1}])
def test_files_of_others_where_a_run_would_write_are_refused(
    name: str, how: dict, tmp_path: Path
) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(HeadlightError), RunFolder(path=tmp_path, **how).opened():
        raise AssertionError("went on")
    assert {each.name for each in tmp_path.iterdir()} == {name}
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.papers
@pytest.mark.parametrize("how", [{}, {"overwrite": True}, {"resume": True}])
def test_a_reproduction_replaces_no_page_of_others(how: dict, tmp_path: Path) -> None:
    from headlight_papers.papers.reproduction import reproduction_folder

    (tmp_path / "index.html").write_text("mine")
    with pytest.raises((UsageError, RunError)), reproduction_folder(tmp_path, **how).opened():
        raise AssertionError("went on")
    assert (tmp_path / "index.html").read_text() == "mine"


def test_a_run_that_writes_nothing_leaves_no_folder(tmp_path: Path) -> None:
    with RunFolder(path=tmp_path / "run").opened():
        pass
    assert not (tmp_path / "run").exists()
