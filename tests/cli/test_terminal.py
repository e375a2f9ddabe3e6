"""Whatever the terminal is, a command does its work, and its exit code and its words are right."""

import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import transformers
from typer.main import get_command

import example_data
import headlight
from headlight.catalogue import studies
from headlight.cli.guarded_terminal import NARROWEST
from headlight.cli.printing import LONGEST, complain, say_json
from headlight.cli.program import app, main
from headlight.corpora import open_corpus
from headlight.errors import UsageError
from headlight.result import load, save
from long_cases import mostly_long
from studies.command import as_options
from studies.processes import PROGRAM, start
from translators import FAMILIES

pytestmark = pytest.mark.usefixtures("undrawn")

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "\x1b[2J\x9b31m\x07"
"""Clears a screen, colours what follows and rings the bell, where a terminal obeys."""

COMMANDS = sorted(get_command(app).commands)
ENDLESS = {"serve"}
"""What works until it is interrupted."""
SOURCES = {
    "text": "corpus", "treebank": "dev.conllu", "coreference": "litbank", "parallel": "pairs",
    "labelled": "reviews", "text_or_labelled": "corpus",
    "haystack": "corpus",
}  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A model and corpora of which names, tokens and labels hold what a terminal would obey."""
    folder = tmp_path_factory.mktemp("data")
    example_data.write(folder)
    (folder / "corpus.txt").rename(folder / f"corpus{HOSTILE}.txt")
    tree = (folder / "en_ewt-ud-dev.conllu").read_text()
    (folder / f"dev.conllu{HOSTILE}.conllu").write_text(tree.replace("nsubj", f"nsubj{HOSTILE}"))
    (folder / "litbank").rename(folder / f"litbank{HOSTILE}")
    pairs = (folder / "pairs.txt").read_text().replace("hund", f"hund{HOSTILE}")
    (folder / f"pairs{HOSTILE}.txt").write_text(pairs)
    FAMILIES["marian"].saved(folder / f"translator{HOSTILE}", head=True)
    reviews = (folder / "reviews.tsv").read_text().replace("cat", f"cat{HOSTILE}")
    (folder / f"reviews{HOSTILE}.tsv").write_text(reviews)
    example_data.tiny_classifier(folder / f"classifier{HOSTILE}")
    example_data.tiny_decoder(folder / f"decoder{HOSTILE}")
    model = folder / f"model{HOSTILE}"
    model.mkdir()
    example_data.tiny_model(model)
    separator = f"[SEP{HOSTILE}]"
    vocabulary = (model / "vocab.txt").read_text().replace("[SEP]", separator)
    (model / "vocab.txt").write_text(vocabulary)
    tokens = transformers.BertTokenizerFast(str(model / "vocab.txt"), sep_token=separator)
    tokens.save_pretrained(model)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Where the tests of this module put what they make, each command in a folder of its own."""
    return tmp_path_factory.mktemp("runs")


def work_on_a_run(command: str, model: list[str], runs: Path) -> list[str]:
    """The same of commands that look at what another has left."""
    run = runs / f"run{HOSTILE}"
    run.mkdir(exist_ok=True)
    if command in ("heads", "gallery"):
        save(headlight.survey(["the cat sees a dog"], model=model[1]), run / "result.nc")
        more = {"heads": ["previous"], "gallery": ["--out", str(runs / f"site{HOSTILE}")]}
        return [command, str(run), *more[command]]
    if command == "compare":
        other = runs / f"other{HOSTILE}"
        other.mkdir(exist_ok=True)
        for place, text in ((run, "the cat sees a dog"), (other, "a dog sees")):
            save(headlight.survey([text], model=model[1]), place / "result.nc")
        return ["compare", str(run), str(other), "--names", f"one{HOSTILE},two"]
    (run / "result.nc").touch()  # both look at names alone
    return [command, str(run)]


def work_of(command: str, data: Path, runs: Path) -> list[str]:
    """Arguments with which a command does its work, and leaves files."""
    model = ["--model", str(data / f"model{HOSTILE}")]
    if command == "check":
        return ["check", model[1]]
    if command == "reproduce":
        return ["reproduce", "clark2019", "--list"]
    if command == "aer":
        links = str(runs / f"a{HOSTILE}.links")
        Path(links).write_text("0-0 1-1\n")
        return ["aer", links, links]
    translator = ["--model", str(data / f"translator{HOSTILE}")]
    if command == "align":
        return ["align", str(data / f"pairs{HOSTILE}.txt"), *translator, "--layer", "1"]
    decoder = ["--model", str(data / f"decoder{HOSTILE}")]
    passages = ["--context", "a dog", "--context", "the sea", "--answer", "a dog"]
    of_texts = {
        "read": ["the cat sees", *model],
        "predict": ["the cat sees", *decoder],
        "generate": ["the cat sees", "--max-new-tokens", "2", *decoder],
        "patch": ["the cat sees", "--compare-text", "the dog sees", *decoder],
        "sources": ["the cat sees", *passages, "--chosen", "L0H0", *decoder],
        "routes": ["the cat sees", *model],
        "explain": ["the cat sees", "--layer", "1", *model],
        "similarity": ["the cat sees", "the dog sees", *model],
        "alternatives": ["the cat sees a dog " * 5, *model],
    }
    if command in of_texts:
        return [command, *of_texts[command], "--out", str(runs / f"{command}.nc")]
    if command in ("status", "merge", "heads", "gallery", "compare"):
        return work_on_a_run(command, model, runs)
    study = studies()[command.replace("-", "_")]
    name = SOURCES[study.reads]
    source = next(path for path in data.iterdir() if path.name.startswith(f"{name}{HOSTILE}"))
    out = runs / f"{command}{HOSTILE}"
    own = {
        "parallel": [*translator, "--gold", str(data / "gold.talp")],
        "labelled": ["--model", str(data / f"classifier{HOSTILE}")],
        "haystack": decoder,
    }
    model = own.get(study.reads, model)
    return [command, str(source), *model, "--out", str(out), *as_options(study.smallest)]


class Bytes(io.TextIOWrapper):
    """A stream of text of which the bytes can be seen."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def seen(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


class Unused:
    """A model that nothing asks, as its result is there."""

    def called(self, name: str | None) -> "Unused":
        return self


@contextmanager
def full_disk() -> Iterator[io.TextIOWrapper]:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    stream = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115
    yield stream
    stream.close()


@contextmanager
def reader_that_went_away() -> Iterator[io.TextIOWrapper]:
    source, sink = os.pipe()
    os.close(source)
    with os.fdopen(sink, "w", encoding="utf-8") as stream:
        yield stream


@pytest.fixture
def called(monkeypatch) -> Callable[..., tuple[int, str]]:
    """Calls the program with some output; gives the exit code and what it complains of."""

    def call(arguments: Sequence[str], output: io.TextIOBase | None, columns: int = 80):
        errors = Bytes("utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["headlight", *arguments])
            patch.setattr(sys, "stdout", output)
            patch.setattr(sys, "stderr", errors)
            patch.setenv("COLUMNS", str(columns))
            with pytest.raises(SystemExit) as ended:
                main()
            assert os.environ["COLUMNS"] == str(columns)
        return ended.value.code, errors.seen()

    return call


def obeyed(text: str) -> list[str]:
    """What a terminal would obey."""
    return [each for each in text if each != "\n" and not each.isprintable()]


KEPT = ("survey", "read", "heads", "compare")


@pytest.mark.slow
@pytest.mark.parametrize("command", mostly_long(sorted({*COMMANDS} - ENDLESS), *KEPT))
def test_no_terminal_spoils_the_work_of_a_command(called, monkeypatch, data, runs, command):
    arguments = work_of(command, data, runs)
    narrow = Bytes("ascii")
    code, complained = called(arguments, narrow, columns=1)
    assert code == 0, complained
    assert obeyed(narrow.seen() + complained) == []
    assert max(map(len, narrow.seen().splitlines())) > NARROWEST // 2
    if command == "gallery":
        arguments.append("--overwrite")
    elif command.replace("-", "_") in studies():  # what was found once is printed again
        assert "report:" in narrow.seen()
        result = load(Path(arguments[arguments.index("--out") + 1]) / "result.nc")
        monkeypatch.setattr("headlight.reports.study_run.run_study", lambda *_, **__: result)
        monkeypatch.setattr("headlight.capture.load_model", lambda *_, **__: Unused())
        arguments.append("--overwrite")
    with full_disk() as stream:
        code, complained = called(arguments, stream)
    assert (code, complained.splitlines()[-1]) == (
        1,
        "error: standard output cannot be written: the disk is full; free some space or choose "
        "another place.",
    )
    with reader_that_went_away() as stream:
        code, complained = called(arguments, stream)
    assert code == 141
    assert "error" not in complained


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_is_shown_on_every_terminal(called, command):
    arguments = ["--help"] if command is None else [command, "--help"]
    narrow = Bytes("ascii")
    assert called(arguments, narrow, columns=1) == (0, "")
    assert "Usage:" in narrow.seen()
    assert called(arguments, Bytes("latin-1")) == (0, "")
    with full_disk() as stream:
        assert called(arguments, stream)[0] == 1
    with reader_that_went_away() as stream:
        assert called(arguments, stream) == (141, "")


def test_a_log_that_cannot_be_written_does_not_end_the_work(monkeypatch, tmp_path):
    with full_disk() as errors:
        monkeypatch.setattr(sys, "argv", ["headlight", "survey", str(tmp_path / "missing.txt")])
        monkeypatch.setattr(sys, "stderr", errors)
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 1


def test_json_is_json_on_every_terminal(monkeypatch):
    value = {"name": f"fleuve Amazônia 河 🜁 {HOSTILE}\x7f"}
    stream = Bytes("ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    say_json(value)
    assert obeyed(stream.seen()) == []
    assert json.loads(stream.seen()) == value


# In processes of their own: what only an interpreter that ends can show


def ended(*arguments: str, **options: object) -> tuple[int, str]:
    process = start(*arguments, **options)
    _, complained = process.communicate(timeout=120)
    return process.returncode, complained


@pytest.mark.slow
def test_the_interpreter_has_nothing_to_add():
    with full_disk() as stream:
        code, complained = ended("--version", stdout=stream)
    assert (code, len(complained.splitlines())) == (1, 1)
    with reader_that_went_away() as stream:
        assert ended("--version", stdout=stream) == (141, "")
    with full_disk() as stream:
        assert ended("survey", "missing.txt", stderr=stream)[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed(tmp_path, closed):
    paths = os.pathsep.join(path for path in sys.path if path)
    shell = f'exec "$0" -c "$1" survey - --out "$2" {closed}'
    finished = subprocess.run(
        ["sh", "-c", shell, sys.executable, PROGRAM, str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode in (1, 2)
    assert "Traceback" not in finished.stderr
    if closed == "<&-":
        assert finished.stderr == (
            "error: standard input is closed, and cannot be read; name a file, or send text to "
            "it.\n"
        )


@pytest.mark.parametrize("arguments", [["read", "-"], ["survey", "-"]])
def test_standard_input_that_is_closed(called, monkeypatch, arguments):
    monkeypatch.setattr(sys, "stdin", None)
    code, complained = called(arguments, Bytes("utf-8"))
    assert code == 2
    assert complained.startswith("error: standard input is closed, and cannot be read")
    with pytest.raises(UsageError, match="standard input is closed"):
        list(open_corpus("-"))


# Refusals repeat what they were given


def archive_of(path: Path, name: str, content: bytes) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(name, content)
    else:
        with tarfile.open(path, "w") as archive:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("suffix", [".zip", ".tar"])
def test_names_in_archives(called, tmp_path, suffix):
    path = archive_of(tmp_path / f"texts{suffix}", f"a{HOSTILE}.txt", b"\xff")
    code, complained = called(["survey", str(path)], Bytes("utf-8"))
    assert code == 1
    assert obeyed(complained) == []
    assert r"\x1b[2J\x9b31m\x07.txt" in complained


@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_anything(called, tmp_path, command):
    given = {
        "read": ["read", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "predict": ["predict", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "generate": ["generate", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "patch": ["patch", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "sources": ["sources", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "routes": ["routes", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "explain": ["explain", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "alternatives": ["alternatives", "the sea", "--model", f"{tmp_path}/{HOSTILE}"],
        "aer": ["aer", f"{tmp_path}/gold{HOSTILE}", f"{tmp_path}/links"],
        "check": ["check", f"{tmp_path}/{HOSTILE}"],
        "reproduce": ["reproduce", "clark2019", "--only", HOSTILE],
    }
    missing = f"{tmp_path}/missing{HOSTILE}\n.txt"
    for arguments in (given.get(command, [command, missing]), [command, f"--{HOSTILE}"]):
        code, complained = called(arguments, Bytes("utf-8"))
        assert code in (1, 2)
        assert obeyed(complained) == []
        assert complained.count("\n") == 1


def test_a_sentence_that_quotes_a_whole_file_is_said_by_its_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    complain(f"texts.txt:3: {'(' * 400_000} is no number; correct it.")
    said = capsys.readouterr().err
    assert len(said) <= LONGEST + 4
    assert said.startswith("texts.txt:3: (((")
    assert said.endswith(" is no number; correct it.\n")
