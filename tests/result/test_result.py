"""Results on disk: what is read is what was written, or a sentence says why not."""

import gc
import json
import os
import subprocess
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray
from hypothesis import given, settings, strategies

from headlight import files
from headlight.errors import ResultError, RunError
from headlight.result import FORMAT, csv_text, describe, load, save, save_csv, versions
from headlight.vocabulary import CATEGORIES
from random_moments import flips

ROOT = Path(__file__).resolve().parents[2]
ENDS = ("", "_low", "_high")


def survey() -> xarray.Dataset:
    generator = np.random.default_rng(0)
    total = generator.random((2, 3, 4))
    total[0, 1, 2] = np.nan
    return xarray.Dataset(
        {
            "total": (("layer", "head", "key_category"), total),
            "share": (("layer", "head", "key_category"), total / 3),
            "rank": (("layer", "head"), generator.random((2, 3))),
            "entropy_uniform": ((), 3.5),
            "documents_seen": ((), 7.0),
        },
        coords={"layer": [0, 1], "head": [0, 1, 2], "key_category": list(CATEGORIES)},
        attrs={
            "title": "Überblick ‖αf(x)‖ <script>",
            "corpus": "",
            "documents": 7,
            "versions": json.dumps({"headlight": "9.9"}),
            "format": FORMAT,
            "stage": "survey",
        },
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def reading() -> xarray.Dataset:
    tokens = ["[CLS]", 'say "no", twice', "line\nbreak", "=1+1"]
    return xarray.Dataset(
        {"weight": (("layer", "query", "key"), np.random.default_rng(1).random((2, 4, 4)))},
        coords={
            "layer": [0, 1],
            "query_token": ("query", tokens),
            "key_token": ("key", tokens),
        },
        attrs={"stage": "reading", "format": FORMAT},
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save(survey(), tmp_path / "result.nc")
    return tmp_path / "result.nc"


class TestNetcdf:
    @pytest.mark.parametrize("dataset", [survey(), reading()], ids=["survey", "reading"])
    def test_what_is_read_is_what_was_written(self, dataset: xarray.Dataset, tmp_path) -> None:
        save(dataset, tmp_path / "result.nc")
        found = load(str(tmp_path / "result.nc"), stage=dataset.attrs["stage"])
        xarray.testing.assert_identical(found, dataset)
        for name, variable in dataset.data_vars.items():
            assert found[name].values.tobytes() == variable.values.tobytes()
        assert names(tmp_path) == ["result.nc"]

    def test_an_older_result_is_replaced(self, saved: Path) -> None:
        save(survey().assign_attrs(title="newer"), saved)
        assert load(saved, stage="survey").attrs["title"] == "newer"

    def test_saving_does_not_change_the_dataset(self, tmp_path) -> None:
        dataset = survey()
        del dataset.attrs["format"]
        save(dataset, tmp_path / "result.nc")
        assert "format" not in dataset.attrs
        assert load(tmp_path / "result.nc", stage="survey").attrs["format"] == FORMAT

    def test_other_programs_can_read_it(self, saved: Path) -> None:
        import h5py

        with h5py.File(saved) as file:
            np.testing.assert_array_equal(file["rank"][:], survey()["rank"])
        with xarray.open_dataset(saved) as found:
            np.testing.assert_array_equal(found["rank"], survey()["rank"])

    def test_a_missing_file(self, tmp_path) -> None:
        with pytest.raises(ResultError, match=r"none\.nc does not exist"):
            load(tmp_path / "none.nc", stage="survey")

    def test_a_folder(self, tmp_path) -> None:
        with pytest.raises(ResultError, match=r"result\.nc does not exist"):
            load(tmp_path, stage="survey")
        save(survey(), tmp_path / "result.nc")
        assert load(tmp_path).identical(load(tmp_path / "result.nc"))

    @pytest.mark.parametrize("content", [b"", b"hello", b"CDF\x01" + bytes(40), bytes(4096)])
    def test_something_else(self, content: bytes, tmp_path) -> None:
        (tmp_path / "other.nc").write_bytes(content)
        with pytest.raises(ResultError, match=r"other\.nc is no readable NetCDF file"):
            load(tmp_path / "other.nc", stage="survey")

    @pytest.mark.slow
    @pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
    def test_nothing_is_said_beside_the_refusal_of_a_damaged_file(self, tmp_path) -> None:
        path = tmp_path / "result.nc"
        save(survey(), path)
        content = bytearray(path.read_bytes())
        content[144:152] = bytes(8)  # HDF5 opens the file, but not the group that holds all others
        path.write_bytes(content[:-1])  # no digest
        with pytest.raises(ResultError, match="no readable NetCDF file"):
            load(path)
        gc.collect()

    @settings(max_examples=100, deadline=None)
    @given(data=strategies.data())
    @pytest.mark.slow
    def test_a_damaged_file_is_refused_or_read(self, data, tmp_path_factory) -> None:
        path = tmp_path_factory.mktemp("damaged") / "result.nc"
        save(survey(), path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(strategies.integers(1, 30))):
            place = data.draw(strategies.integers(0, len(content) - 1))
            content[place] = data.draw(strategies.integers(0, 255))
        path.write_bytes(content[: data.draw(strategies.integers(0, len(content)))])
        said = "result.nc"
        try:
            load(path, stage="survey")
        except ResultError as refusal:
            said = str(refusal)
        assert "result.nc" in said
        assert "\n" not in said

    def test_a_flipped_bit_is_noticed_wherever_it_is(self, saved: Path) -> None:
        whole, content = load(saved), saved.read_bytes()
        for flipped in flips(content, 300):
            saved.write_bytes(flipped)
            with suppress(ResultError):  # else the mark was hit which says that a digest follows
                xarray.testing.assert_identical(load(saved), whole)
        saved.write_bytes(content.replace(b"title", b"tilte"))
        with pytest.raises(ResultError, match=r"result\.nc is damaged: .* restore a copy"):
            load(saved)

    def test_without_a_digest_it_is_read_as_it_is(self, saved: Path) -> None:
        whole = load(saved)
        saved.write_bytes(saved.read_bytes().partition(b"\nheadlight sha256")[0])
        xarray.testing.assert_identical(load(saved), whole)
        with xarray.load_dataset(saved, engine="h5netcdf") as again:
            again.to_netcdf(saved, engine="h5netcdf")
        xarray.testing.assert_identical(load(saved), whole)

    def test_a_file_of_another_program(self, tmp_path) -> None:
        xarray.Dataset({"x": ((), 1.0)}).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
        with pytest.raises(ResultError, match="no result of Headlight"):
            load(tmp_path / "x.nc", stage="survey")

    @pytest.mark.parametrize("format", ["1", "3"])
    def test_another_format(self, tmp_path, format: str) -> None:
        other = survey().assign_attrs(format=format)
        other.to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
        with pytest.raises(
            ResultError,
            match=rf"in format {format}, .* reads format {FORMAT}; .* wrote it \(9.9\)",
        ):
            load(tmp_path / "other.nc", stage="survey")

    def test_another_stage(self, saved: Path) -> None:
        with pytest.raises(ResultError, match="holds a survey, where a reading is needed"):
            load(saved, stage="reading")

    @pytest.mark.parametrize("name", ["settings", "versions", "category_names", "kinds"])
    @pytest.mark.parametrize("said", ["[" * 100_000, "5", "{", "nope"])
    def test_a_forged_attribute(self, name: str, said: str, tmp_path):
        save(survey().assign_attrs({name: said}), tmp_path / "forged.nc")
        with pytest.raises(ResultError, match=f"the attribute '{name}' .* is no object of JSON"):
            load(tmp_path / "forged.nc")

    def test_no_stage_is_not_written(self, tmp_path) -> None:
        with pytest.raises(ResultError, match="no attribute 'stage'"):
            save(survey().drop_attrs(), tmp_path / "result.nc")
        assert not names(tmp_path)

    @pytest.mark.parametrize("text", ["a\0b", "\ud800"])
    def test_a_text_that_has_no_place_in_netcdf(self, text: str, tmp_path) -> None:
        with pytest.raises(ResultError, match="NetCDF cannot hold it"):
            save(survey().assign_attrs(title=text), tmp_path / "result.nc")
        assert not names(tmp_path)


class TestCsv:
    def test_one_table_per_group_of_dimensions(self, tmp_path) -> None:
        written = save_csv(survey(), tmp_path / "new" / "csv")
        assert [path.name for path in written] == [
            "layer-head-key_category.csv",
            "layer-head.csv",
            "scalars.csv",
        ]
        assert names(tmp_path / "new" / "csv") == [path.name for path in written]

    def test_pandas_reads_every_digit(self, tmp_path) -> None:
        dataset = survey()
        for path in save_csv(dataset, tmp_path):
            table = pandas.read_csv(path, float_precision="round_trip")  # older ones round else
            if path.stem == "scalars":
                assert table.to_dict("records") == [{"entropy_uniform": 3.5, "documents_seen": 7.0}]
                continue
            dims = path.stem.split("-")
            variables = [name for name in table.columns if name not in dims]
            assert list(table.columns) == dims + variables
            back = table.set_index(dims).to_xarray()
            for name in variables:
                found = back[name].sel(dataset[name].coords)
                np.testing.assert_allclose(found, dataset[name], rtol=1e-15, err_msg=name)

    def test_tokens_stand_beside_their_positions(self, tmp_path) -> None:
        (path,) = save_csv(reading(), tmp_path)
        table = pandas.read_csv(path)
        assert list(table.columns) == [
            "layer",
            "query",
            "key",
            "query_token",
            "key_token",
            "weight",
        ]
        assert len(table) == 2 * 4 * 4
        row = table[(table.layer == 1) & (table["query"] == 2) & (table.key == 1)].iloc[0]
        assert row.query_token == "line\nbreak"
        assert row.key_token == 'say "no", twice'
        np.testing.assert_allclose(row.weight, reading()["weight"][1, 2, 1])

    def test_no_text_is_a_formula(self) -> None:
        frame = pandas.DataFrame(
            {
                "=token": ["=1+1", "+1", "-RRB-", "@A1", "\tx", "\rx", "a=1", "-0.5", "'x", ""],
                "number": [-1.5, 2, 3, 4, 5, 6, 7, 8, 9, float("nan")],
            },
            index=pandas.Index(list("=bcdefghij"), name="-relation"),
        )
        back = pandas.read_csv(StringIO(csv_text(frame, index=True)), keep_default_na=False)
        assert list(back.columns) == ["'-relation", "'=token", "number"]
        assert back.iloc[:, 1].tolist() == [
            "'=1+1", "+1", "'-RRB-", "'@A1", "'\tx", "\\rx", "a=1", "-0.5", "'x", "",
        ]  # fmt: skip
        assert back.iloc[:2, 0].tolist() == ["'=", "b"]
        assert back["number"].tolist()[:2] == ["-1.5", "2.0"]

    @pytest.mark.parametrize("separator", [";", "\t"])
    def test_no_text_is_a_formula_where_other_separators_are_chosen(self, separator: str) -> None:
        texts = ["x;=1+1", 'x, ";=1+1', "a\t=1", 'x;"=1', "x; @A1", "x\n=1", "a;b", "-1;-2", "=1"]
        written = csv_text(pandas.DataFrame({"token;=1": texts, "b": ["x;+1"] * len(texts)}))
        cells = [cell for line in written.split("\n") for cell in line.split(separator)]
        assert not [cell for cell in cells if cell.strip('" ').startswith(("=", "+", "@"))]
        assert "a;b" in written

    def test_harmless_tables_are_those_of_pandas(self) -> None:
        frame = pandas.DataFrame(
            {
                "word": ["a", None],
                "share": np.array([0.1, np.nan], np.float32),
                "seen": [True, False],
            }
        ).rename_axis("row")
        assert csv_text(frame) == frame.to_csv(index=False)
        assert csv_text(frame, index=True) == frame.to_csv()

    def test_every_writer_of_tables_goes_one_way(self, tmp_path) -> None:
        hostile = reading().assign_coords(query_token=("query", ["=1+1", "@", "+x", "-y"]))
        (path,) = save_csv(hostile, tmp_path)
        assert {"'=1+1", "'@", "'+x", "'-y"} <= set(pandas.read_csv(path)["query_token"])

    def test_a_file_in_place_of_the_folder(self, tmp_path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(ResultError, match="cannot be made"):
            save_csv(survey(), tmp_path / "file")


class TestWriting:
    @pytest.mark.parametrize(
        ("number", "message"),
        [
            (28, "the disk is full; free some space"),
            (30, "the folder is read-only"),
            (13, "the folder may not be written to"),
            (5, "Input/output error"),
        ],
    )
    @pytest.mark.parametrize("step", ["write", "fsync", "replace"])
    def test_failing_at_any_step_leaves_the_old_file_and_nothing_else(
        self, number: int, message: str, step: str, saved: Path, monkeypatch
    ) -> None:
        before = saved.read_bytes()

        def failing(*arguments):
            raise OSError(number, os.strerror(number))

        if step == "write":
            monkeypatch.setattr(Path, "open", failing)
        elif step == "fsync":
            monkeypatch.setattr(files.os, "fsync", failing)
        else:
            monkeypatch.setattr(Path, "replace", failing)
        with pytest.raises(ResultError, match=f"result.nc cannot be written: {message}"):
            save(survey().assign_attrs(title="newer"), saved)
        monkeypatch.undo()
        assert saved.read_bytes() == before
        assert names(saved.parent) == ["result.nc"]

    def test_the_class_of_the_refusal_is_the_callers(self, tmp_path) -> None:
        with pytest.raises(RunError, match="there is no such folder; create it first"):
            files.write(tmp_path / "none" / "file", b"", error=RunError)

    def test_control_c_leaves_nothing_behind(self, tmp_path, monkeypatch) -> None:
        def interrupted(descriptor: int) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(files.os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            files.write(tmp_path / "file", b"content")
        assert not names(tmp_path)

    def test_the_file_can_be_read_by_whom_the_user_lets(self, tmp_path) -> None:
        mask = os.umask(0o027)
        try:
            files.write(tmp_path / "file", b"content")
        finally:
            os.umask(mask)
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640

    def test_a_link_in_the_way_is_not_followed(self, tmp_path, monkeypatch) -> None:
        precious = tmp_path / "precious"
        precious.write_text("mine")
        files.partial_path(tmp_path / "file").symlink_to(precious)
        files.write(tmp_path / "file", b"content")
        assert precious.read_text() == "mine"
        assert names(tmp_path) == ["file", "precious"]


def test_versions_name_what_a_result_depends_on() -> None:
    found = versions()
    assert set(found) == {"python", "headlight", "torch", "transformers", "numpy", "xarray"}
    assert found["numpy"] == np.__version__
    assert found["xarray"] == xarray.__version__


@pytest.mark.parametrize(
    "module", ["headlight.result", "headlight.reduce", "headlight.engine.measurement"]
)
@pytest.mark.slow
def test_importing_it_loads_no_model_library(module: str) -> None:
    program = (
        f"import sys, {module}, headlight.result; headlight.result.provenance.versions();"
        "print({'torch', 'transformers'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True
    )
    assert ran.stdout.strip() == "set()"


def test_intervals_stay_in_the_bounds_of_their_scale() -> None:
    scales = ("share", "correlation", "positive", "signed")
    made = xarray.Dataset(
        {f"{name}{end}": ("n", [-2.0, 0.5, 2.0, np.nan]) for name in scales for end in ENDS}
    )
    names = {f"{name}{end}": ("", "1", name) for name in scales for end in ENDS}
    described = describe(made, names)
    for name, expected in zip(
        scales, ([0, 0.5, 1], [-1, 0.5, 1], [0, 0.5, 2], [-2, 0.5, 2]), strict=True
    ):
        assert described[name].attrs["scale"] == name
        assert described[name].values[:3].tolist() == [-2, 0.5, 2], "the number itself stays"
        for end in ENDS[1:]:
            assert described[f"{name}{end}"].values[:3].tolist() == expected
            assert np.isnan(described[f"{name}{end}"].values[3])


def test_intervals_of_measures_with_a_sign_have_no_bounds() -> None:
    made = xarray.Dataset(
        {"share_low": (("n", "measure"), np.array([[-0.2, -0.2], [1.5, 1.5]]))},
        coords={"measure": ["weight", "effective"]},
    )
    described = describe(made, {"share_low": ("", "1", "row_share")})
    assert described["share_low"].values.tolist() == [[0.0, -0.2], [1.0, 1.5]]
