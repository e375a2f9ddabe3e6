"""Damaged and strange inputs of every reader: only errors of ours may come out.

`make fuzz N=100000 SEED=7` tries more of them; by default the seed is always the same.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import tarfile
import zipfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray
import zstandard

from corpora.readers import Reader, corpus
from headlight.cli.config_file import _load as load_config
from headlight.corpora import FORMATS, PAIR_FORMATS, open_corpus, open_sentence_pairs
from headlight.engine.checkpoint import Checkpoint
from headlight.engine.state import State
from headlight.errors import HeadlightError
from headlight.reduce import Moments, Tally, Tree
from headlight.result import load, save
from headlight.studies.survey.frequency_ranks import FrequencyRanks
from studies.models import tokenizer

NUMBER = int(os.environ.get("FUZZ_N", "2000"))
SEED = int(os.environ.get("FUZZ_SEED", "20200501"))

ARTICLES = '<doc id="1" url="" title="T">\nT\n\nA river.\n\nA sea.\n</doc>\n' * 3
YAML = "max_examples: 3\nmeasures: [weight, norm]\nlayers: 0,1\n"
TOML = 'max_examples = 3\nmeasures = ["weight", "norm"]\nlayers = "0,1"\n'
PAIRS = {
    "mrpc": "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\tA cat.\tIt purred.\n",
    "cola": "gj04\t1\t\tThe sailors rode.\ngj04\t0\t*\tSailors the rode.\n",
    "mnli": '{"sentence1": "A cat.", "sentence2": "It.", "gold_label": "-", "genre": "x"}\n',
    "tsv": "sentence1\tsentence2\tlabel\nA cat.\tIt purred.\t1\n",
    "csv": 'sentence,label\n"A ""cat"", old",1\n',
    "jsonl": '{"premise": "A cat.", "hypothesis": "It purred.", "label": 1}\n',
    "sst": "1 a warm , funny film .\n0 no .\n",
    "ag_news": 'He said "no.\tSports\nStocks fell.\tBusiness\n',
    "imdb": '{"label": "pos", "file": "0_9.txt", "text": "Good.<br /><br />Very."}\n',
    "newsgroups": "From: a@b\nSubject: goals\n\nc@d writes:\n> Who?\nThey did.\n--\nSome One\n",
}
TEXTS = {
    "paragraphs": "A river.\nA sea.\n\nA mill.\n",
    "lines": "A river.\nA sea.\n\nA mill.\n",
    "raw": "def flow():\n\n\tif sea:\n        return  1\n",
    "wikipedia": ARTICLES,
    "jsonl": '{"text": "A river."}\n{"text": ["A sea.", "\\u00e9\\ud83d\\ude00"], "n": 1e5}\n',
    "csv": 'id,text\n1,"A ""river"",\n\nwide"\n2,A sea.\n',
    "tsv": "id\ttext\n1\tA river.\n2\tA sea.\n",
}

ARRAYS = {
    "array of texts": '["A river.",\n "A sea."]\n',
    "array of objects": '[{"text": "A river.", "n": 1},\n\n  {\n  "text": ["A sea."]\n}]\n',
    "array of chats": '[{"conversations": [{"from": "human", "value": "A river?"}]}]\n',
}
NESTED = '{"data": {"text": "A river."}}\n{"data": {"text": "A sea.", "n": {}}}\n'
PAIR_ARRAY = '[{"a": {"b": "A cat.", "c": "It purred."}, "label": 1}\n]\n'


def config(path):
    parameters = [SimpleNamespace(name=name) for name in ("max_examples", "measures", "layers")]
    load_config(SimpleNamespace(command=SimpleNamespace(params=parameters), info_name="x"), path)


def checkpoint(path):
    Checkpoint(path.parent, {"seed": 0}).begin(resume=True)


def ranks(path):
    FrequencyRanks.read(path, TOKENIZER)


def a_result(folder):
    dataset = xarray.Dataset(
        {"share": (("layer", "token"), np.eye(3))},
        coords={"word": ("token", ["a", "b", "ç"])},
        attrs={"stage": "survey", "model": "m", "settings": '{"seed": 0}'},
    )
    save(dataset, folder / "result.nc")
    return (folder / "result.nc").read_bytes()


def a_checkpoint(folder):
    kept = Checkpoint(folder, {"seed": 0})
    moments = Moments((2,))
    moments.update(np.ones((3, 2)))
    kept.save(State(tree=Tree().push(Tally({"m": moments})), examples=2, tokens=9))
    return kept.path.read_bytes()


TOKENIZER = tokenizer("bert")


def readers(folder: Path) -> dict[str, Reader]:
    """All of them, by name."""
    found = {}
    for name, text in TEXTS.items():
        found[f"text {name}"] = Reader(corpus(open_corpus, format=name), "a.txt", text)
    for name, text in ARRAYS.items():
        found[f"text {name}"] = Reader(corpus(open_corpus), "a.json", text)
    found["text nested"] = Reader(corpus(open_corpus, column="data.text"), "a.jsonl", NESTED)
    found["text guessed"] = Reader(corpus(open_corpus), "a.txt", ARTICLES)
    for name, text in PAIRS.items():
        found[f"pairs {name}"] = Reader(corpus(open_sentence_pairs, format=name), "a.txt", text)
    nested = corpus(open_sentence_pairs, columns=["a.b", "a.c"])
    found["pairs nested"] = Reader(nested, "a.json", PAIR_ARRAY)
    found["pairs guessed"] = Reader(corpus(open_sentence_pairs), "a.tsv", PAIRS["mrpc"])
    if find_spec("headlight_words"):
        found |= import_module("word_readers").readers()
    found["ranks"] = Reader(ranks, "a.txt", "1 90 4\n2 80 5\n2 80 6\n", packed=False)
    found["config YAML"] = Reader(config, "a.yaml", YAML, packed=False)
    found["config TOML"] = Reader(config, "a.toml", TOML, packed=False)
    found["result"] = Reader(load, "result.nc", a_result(folder), packed=False)
    found["checkpoint"] = Reader(
        checkpoint, "checkpoint.safetensors", a_checkpoint(folder), packed=False
    )
    return found


NAMES = [
    *(f"text {name}" for name in (*FORMATS, *ARRAYS, "nested", "guessed")),
    *(f"pairs {name}" for name in (*PAIR_FORMATS, "nested", "guessed")),
    *(import_module("word_readers").NAMES if find_spec("headlight_words") else ()),
    "ranks", "config YAML", "config TOML", "result", "checkpoint",
]  # fmt: skip


# What is done to a valid input

STRANGE = [
    b"\0", b"\r", b"\n\n", b"\t", b" ", b'"', b"'", b"\xff", b"\xef\xbb\xbf", b"\xc3",
    b"-1", b"0", b"1e999", b"nan", b"9" * 5000, b"0x1F", "٣".encode(), b"=1+1", b"\x1b[2J",
    b"{", b"}", b"[" * 2000, b"(", b")", b"|", b"#", b"*", b"_", b"-", b".", b":", b",", b"&a *a ",
    b"<tu>", b"</tuv>", b"<!ENTITY a 'b'>", b"&a;", b"|||",
    b"<doc ", b"</doc>", b"#begin document", b"#end document", b"Entity=", b"\xed\xa0\x80",
    b"\\ud800", b"!!python/object:os.system ", b"\x1f\x8b", b"PK\x03\x04", b"%PDF-",
]  # fmt: skip

Mutation = Callable[[bytes, np.random.Generator], bytes]


def cut(content, chosen):
    return content[: chosen.integers(len(content) + 1)]


def flip(content, chosen):
    found = bytearray(content)
    for _ in range(chosen.integers(1, 9) if found else 0):
        found[chosen.integers(len(found))] ^= 1 << int(chosen.integers(8))
    return bytes(found)


def insert(content, chosen):
    at = chosen.integers(len(content) + 1)
    return content[:at] + STRANGE[chosen.integers(len(STRANGE))] + content[at:]


def overwrite(content, chosen):
    at = chosen.integers(len(content) + 1)
    return content[:at] + chosen.bytes(int(chosen.integers(1, 20))) + content[at + 8 :]


def replace_field(content, chosen):
    fields = re.split(rb"([ \t\n,:-]+)", content)
    fields[chosen.integers(len(fields))] = STRANGE[chosen.integers(len(STRANGE))]
    return b"".join(fields)


def swap_lines(content, chosen):
    lines = content.split(b"\n")
    one, two = chosen.integers(len(lines), size=2)
    lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def repeat(content, chosen):
    start, stop = sorted(chosen.integers(len(content) + 1, size=2))
    return content[:stop] + content[start:stop] * int(chosen.integers(1, 20)) + content[stop:]


MUTATIONS: list[Mutation] = [cut, flip, insert, overwrite, replace_field, swap_lines, repeat]


def in_zip(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", content)
    return file.getvalue()


def in_tar(content):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo("a.txt")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


PACKED = {
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
    ".zip": in_zip,
    ".tar": in_tar,
    ".tar.gz": lambda content: gzip.compress(in_tar(content)),
}


def mutated(content: bytes, chosen: np.random.Generator) -> bytes:
    for _ in range(chosen.integers(1, 4)):
        content = MUTATIONS[chosen.integers(len(MUTATIONS))](content, chosen)
    return content


def an_input(reader: Reader, chosen: np.random.Generator) -> tuple[str, bytes]:
    """The name of a file, and what it holds."""
    content = reader.bytes if chosen.random() < 0.1 else mutated(reader.bytes, chosen)
    if not reader.packed or chosen.random() < 0.7:
        return reader.name, content
    suffix = list(PACKED)[chosen.integers(len(PACKED))]
    content = PACKED[suffix](content)
    name = f"a{suffix}" if suffix in (".zip", ".tar", ".tar.gz") else f"{reader.name}{suffix}"
    return name, mutated(content, chosen) if chosen.random() < 0.5 else content


@pytest.fixture(scope="module")
def every_reader(tmp_path_factory):
    return readers(tmp_path_factory.mktemp("valid"))


@pytest.mark.parametrize("name", NAMES)
def test_only_our_own_errors_come_out(every_reader, tmp_path, name):
    reader = every_reader[name]
    (tmp_path / reader.name).write_bytes(reader.bytes)
    reader.read(tmp_path / reader.name)  # what is valid is read
    (tmp_path / reader.name).unlink()
    for number in range(max(1, NUMBER // len(NAMES))):
        chosen = np.random.default_rng([SEED, NAMES.index(name), number])
        file, content = an_input(reader, chosen)
        path = tmp_path / file
        path.write_bytes(content)
        try:
            reader.read(path)
        except HeadlightError:
            pass
        except Exception as error:
            raise AssertionError(
                f"FUZZ_SEED={SEED}: input {number} of {name!r}, {content[:300]!r}, is no refusal"
            ) from error
        path.unlink()


def test_every_reader_is_tried(every_reader):
    assert list(every_reader) == NAMES
