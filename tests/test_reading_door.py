"""The folder of somebody else is read with care: regular files, no links, sane sizes."""

import json
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray

import headlight
from headlight import files
from headlight.catalogue.embedded_models import place_of
from headlight.catalogue.model_checks import check_model
from headlight.engine.blocks import examples_in, read_plan
from headlight.engine.claims import workers_in
from headlight.engine.file_names import CLAIMS, PLAN
from headlight.engine.folder import REPORT
from headlight.errors import HeadlightError, ModelError, ResultError, RunError, UsageError
from headlight.reports.gallery import gallery
from headlight.result import RESULT, load, save
from headlight.tensor_files import load_tensors
from views.sample_results import survey_sample


def in_time(act: Callable[[], object]) -> BaseException | None:
    """What is raised; fails where something waits for the other end of a pipe."""
    raised: list[BaseException] = []

    def acting() -> None:
        try:
            act()
        except BaseException as problem:  # noqa: BLE001 - which is looked at
            raised.append(problem)

    thread = threading.Thread(target=acting, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "waits for ever"
    return raised[0] if raised else None


READERS = {
    RESULT: lambda run: load(run),
    REPORT: lambda run: gallery([run], run / "site"),
    PLAN: read_plan,
    "arrays.safetensors": lambda run: load_tensors(run / "arrays.safetensors"),
    "config.json": lambda run: check_model(str(run)),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link"])
def test_only_regular_files_are_read(name: str, kind: str, tmp_path: Path) -> None:
    save(survey_sample(2, 2), tmp_path / RESULT)
    path = tmp_path / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif name == "config.json":
        pytest.skip("the cache of the hub is made of links")
    else:
        (tmp_path / "private").write_text("secret")
        path.symlink_to(tmp_path / "private")
    problem = in_time(lambda: READERS[name](tmp_path))
    if (name, kind) == ("config.json", "folder"):
        assert problem is None  # loading says better what is wrong
    else:
        assert isinstance(problem, HeadlightError), problem
    assert not (tmp_path / "site" / "index.html").exists()


def test_a_claim_or_a_count_that_is_a_pipe_is_nobodys(tmp_path: Path) -> None:
    name = f"{0:09d}-{'a' * 16}"
    for folder in (CLAIMS, "counts"):
        (tmp_path / folder).mkdir()
        os.mkfifo(tmp_path / folder / f"{name}.json")
    assert in_time(lambda: workers_in(tmp_path)) is None
    assert in_time(lambda: examples_in(tmp_path, name)) is None


def test_a_file_larger_than_such_files_are_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / RESULT).open("wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(ResultError, match="more than 4,294,967,296 bytes"):
        load(tmp_path)


@pytest.mark.parametrize(
    "create",
    [
        {"shape": (5 * 10**8,)},
        {"shape": (10**11,)},
        {"shape": (10**11,), "chunks": (10**6,), "compression": "gzip", "fillvalue": 1.0},
        {"shape": (1,), "maxshape": (None,), "chunks": (4 * 10**8,)},
        {"shape": (10**6,), "dtype": np.dtype((np.float32, (10**3,)))},
    ],
)
def test_sizes_that_a_file_says_are_added_up_before_it_is_read(create, tmp_path: Path) -> None:
    with h5py.File(tmp_path / RESULT, "w") as file:
        file.create_dataset("weight", **{"dtype": np.float64, **create})
        file.attrs.update(stage="survey", format="2")
    assert (tmp_path / RESULT).stat().st_size < 100_000
    with pytest.raises(ResultError, match="would fill the memory"):
        load(tmp_path)


@pytest.mark.parametrize("way", ["external", "soft", "raw", "virtual"])
def test_a_result_does_not_lead_to_other_files(way: str, tmp_path: Path) -> None:
    (tmp_path / "private").write_bytes(b"secret 8" * 8)
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["weight"] = np.ones(8)
    with h5py.File(tmp_path / RESULT, "w") as file:
        if way == "external":
            file["weight"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "weight")
        elif way == "soft":
            file["weight"] = h5py.SoftLink("/elsewhere")
        elif way == "raw":
            place = [(str(tmp_path / "private"), 0, 64)]
            file.create_dataset("weight", (64,), np.uint8, external=place)
        else:
            layout = h5py.VirtualLayout((8,), np.float64)
            layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "weight", (8,))
            file.create_virtual_dataset("weight", layout)
        file.attrs.update(stage="survey", format="2")
    with pytest.raises(ResultError, match="leads to another file by 'weight'"):
        load(tmp_path)


@pytest.mark.slow
def test_results_of_other_programs_may_be_compressed(tmp_path: Path) -> None:
    result = survey_sample(2, 2).assign_attrs(format="2")
    packed = {name: {"zlib": True} for name, each in result.data_vars.items() if each.ndim}
    numbers = {name: how for name, how in packed.items() if result[name].dtype.kind == "f"}
    result.to_netcdf(tmp_path / RESULT, engine="h5netcdf", encoding=numbers)
    assert load(tmp_path).sizes == result.sizes


@pytest.mark.parametrize(
    ("name", "number"),
    [("num_labels", 10**9), ("num_experts", 10**9), ("num_hidden_layers", 10**9)],
)
@pytest.mark.parametrize("inside", ["", "text_config"])
def test_counts_of_a_configuration_are_not_believed(name, number, inside, tmp_path: Path) -> None:
    config = {"model_type": "bert", name: number}
    (tmp_path / "config.json").write_text(json.dumps({inside: config} if inside else config))
    with pytest.raises(ModelError, match="no model"):
        check_model(str(tmp_path))
    with pytest.raises(ModelError, match="no model"):
        headlight.load(headlight.load(None).transformer, tokenizer=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("headlight-small", "vocab_size"),
        pytest.param("headlight-translator", "max_position_embeddings", marks=pytest.mark.words),
    ],
)
def test_a_configuration_of_more_than_the_weights_hold_is_refused(model, name, tmp_path) -> None:
    for each in Path(place_of(model)).iterdir():
        (tmp_path / each.name).write_bytes(each.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text()) | {name: 10**8}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="does not fit its weights"):
        headlight.load(tmp_path)


LONG = "x" * 300


def find_sources() -> object:
    from headlight_papers.papers.sources import Sources

    return Sources.found_in(Path(LONG), (), ("text",))


@pytest.mark.parametrize(
    "act",
    [
        lambda: headlight.open(LONG),
        lambda: headlight.open(Path(LONG)),
        lambda: headlight.open("a\0b"),
        lambda: headlight.compare(LONG, LONG),
        lambda: gallery([LONG], "site"),
        lambda: gallery([survey_sample(2, 2)], LONG),
        lambda: check_model(LONG),
        lambda: headlight.load(LONG),
        pytest.param(find_sources, marks=pytest.mark.papers),
    ],
)
def test_a_name_that_is_too_long_is_one_sentence(act, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeadlightError, match="cannot be read: "):
        act()


@pytest.mark.parametrize(
    "words",
    [
        ("heads", LONG, "sink"),
        ("status", LONG),
        ("merge", LONG),
        ("compare", LONG, LONG),
        ("gallery", LONG, "--out", "site"),
        ("read", "a text", "--survey", LONG, "--html", "page.html"),
        ("read", "a text", "--audio", LONG),
        ("survey", "--model", LONG),
        ("survey", "--out", LONG),
        ("survey", "--config", LONG),
        ("align", "a", "b", "--out", LONG),
    ],
)
def test_commands_say_that_a_name_is_too_long(words, tmp_path: Path, monkeypatch, capfd) -> None:
    from headlight.cli.program import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["headlight", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (1, 2)
    assert "Traceback" not in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_may_not_be_entered_is_one_sentence(tmp_path: Path, monkeypatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "stat", denied)
    with pytest.raises(RunError, match="cannot be read: you may not read it, or not enter"):
        files.location(str(tmp_path), error=RunError)


DEEP = b'{"result": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.papers
def test_deep_json_is_damage(tmp_path: Path) -> None:
    from headlight_papers.training.json_cache import JsonCache

    cache = JsonCache(tmp_path)
    cache.get_or_compute({"of": 1}, lambda: 2)
    (path,) = tmp_path.glob("*.json")
    for content in (DEEP, b"[" * 990 + b"]" * 990, b"[" * 200 + b"]" * 200):
        path.write_bytes(content)
        assert cache.get_or_compute({"of": 1}, lambda: 3) == 3
    (tmp_path / PLAN).write_bytes(DEEP)
    with pytest.raises(RunError, match="is damaged"):
        read_plan(tmp_path)
    header = json.dumps({"__metadata__": {"headlight": DEEP.decode()}}).encode()
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(ResultError, match="is not a file that Headlight wrote"):
        load_tensors(tmp_path / "a")


def forged() -> list[xarray.Dataset]:
    """Surveys without a coordinate, with an empty one, or without something else."""
    whole = survey_sample(2, 2)
    return [
        *(whole.drop_vars(str(name)) for name in whole.coords),
        *(whole.isel({name: slice(0)}) for name in whole.dims),
        whole.drop_vars("share"),
        whole.isel(layer=0, drop=True),
        whole.assign_attrs(passages="[[1"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(forged())))
def test_a_sealed_result_that_lacks_something_is_refused_or_shown(number, tmp_path, undrawn):
    save(forged()[number], tmp_path / RESULT)
    result = load(tmp_path)
    for act in (
        lambda: result.headlight.report(tmp_path / "page.html"),
        lambda: result.headlight.summary(),
        lambda: headlight.compare(tmp_path, survey_sample(2, 2)),
        lambda: headlight.heads(result, "sink"),
        lambda: gallery([tmp_path], tmp_path / "site", overwrite=True),
    ):
        with suppress(ResultError, UsageError):
            act()
