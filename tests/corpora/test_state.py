"""Whether a source has changed: files by name, size and time, data sets of a hub by revision."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from headlight.corpora.source_changes import source_digest, source_state
from headlight.errors import CorpusError
from headlight.files import location


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of texts, which is also the home."""
    for name in ("a.txt", "below/b.txt"):
        path = tmp_path / "texts" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "texts"


def as_json(source: str) -> str:
    return json.dumps(source_state(source))


SOURCES = [
    "texts",
    "{folder}",
    "{folder}/**/*.txt",
    "~/texts",
    "~/texts/*/*.txt",
    "texts/below/b.txt",
]


@pytest.mark.parametrize("source", [*SOURCES, "hf:text:texts/**/*.txt", "hf:./texts"])
def test_a_file_that_changes_behind_any_name_is_noticed(folder: Path, source: str) -> None:
    source = source.format(folder=folder)
    before = as_json(source)
    assert as_json(source) == before
    inner = folder / "below" / "b.txt"
    inner.write_text("other words")
    changed = as_json(source)
    assert changed != before
    later = inner.stat().st_mtime_ns + 10**9
    inner.write_text("words other")  # as many
    os.utime(inner, ns=(later, later))
    assert as_json(source) not in (before, changed)


@pytest.mark.parametrize("source", SOURCES[:3])
def test_a_file_that_comes_or_gets_another_name_is_noticed(folder: Path, source: str) -> None:
    source = source.format(folder=folder)
    states = {as_json(source)}
    (folder / "below" / "c.txt").write_text("new")
    states.add(as_json(source))
    (folder / "below" / "c.txt").rename(folder / "below" / "d.txt")
    states.add(as_json(source))
    assert len(states) == 3


def test_files_of_a_store_and_in_an_archive_are_noticed(tmp_path: Path) -> None:
    place = location(f"memory://{tmp_path}/texts/a.txt")
    archive = tmp_path / "texts.zip"
    states = set()
    for content in ("one", "three"):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("a.txt", content)
        sources = (str(place.parent), f"zip://a.txt::{archive}", str(archive))
        assert [as_json(source) for source in sources] == [as_json(source) for source in sources]
        states |= {as_json(source) for source in sources}
    assert len(states) == 6


def test_a_data_set_of_a_hub_is_known_by_its_revision(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")

    class Builder:
        hash, config_id = "5d1f", "plain"

    asked = []

    def load(name: str, config: str | None, **more: object) -> Builder:
        asked.append((name, config, more))
        return Builder()

    monkeypatch.setattr(datasets, "load_dataset_builder", load)
    before = source_state("hf:org/imdb:plain:test")
    assert before == ["hf:org/imdb:plain:test", "5d1f", "plain"]
    assert asked == [("org/imdb", "plain", {"data_files": None})]
    Builder.hash = "77aa"
    assert source_state("hf:org/imdb:plain:test") != before


@pytest.mark.parametrize("source", ["nowhere", "nowhere/*.txt", "hf:./nowhere"])
def test_what_is_not_there_is_refused(tmp_path: Path, monkeypatch, source: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match="nowhere"):
        source_state(source)


def test_a_digest_is_of_the_content_alone(folder: Path) -> None:
    before = source_digest("texts")
    os.utime(folder / "a.txt", ns=(1, 1))
    assert source_digest(str(folder)) == before
    (folder / "a.txt").write_text("b.txt")
    assert source_digest("texts") != before
