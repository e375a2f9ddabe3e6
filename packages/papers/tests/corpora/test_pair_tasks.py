"""Tasks of sentence pairs, by names and by looks."""

import io
import json
import os
import zipfile
from pathlib import Path

import pytest

from headlight_papers.corpora.pair_tasks import pair_task, task_of

MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t11\t12\tShe said.\tYes.\n"
COLA = "ours\t1\t\tThe cat sleeps.\nours\t0\t*\tThe cat sleep.\n"
MNLI = {
    "sentence1": "A cat sleeps.",
    "sentence2": "An animal rests.",
    "gold_label": "entailment",
    "genre": "fiction",
    "promptID": "7",
}


def jsonl(row: dict[str, object]) -> str:
    return f"{json.dumps(row)}\n"


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("/data/glue_mrpc/dev.tsv", "mrpc"),
        ("msr_paraphrase_test.txt", "mrpc"),
        ("glue/CoLA/dev.tsv", "cola"),
        ("multinli_1.0_dev_matched.jsonl", "mnli"),
        ("hf:glue:mnli:validation_matched", "mnli"),
        ("mrpc/mnli.tsv", "mnli"),
        ("nicola/chocolate.tsv", None),
        ("snli_1.0_dev.jsonl", None),
    ],
)
def test_tasks_are_known_by_words_in_names(name: str, task: str | None) -> None:
    assert task_of(name) == task


def test_a_name_goes_before_the_looks(tmp_path: Path) -> None:
    same = written(tmp_path / "snli" / "dev.jsonl", jsonl({"sentence1": "a", "sentence2": "b"}))
    assert pair_task(same) == "pairs"
    moved = written(tmp_path / "mnli" / "dev.jsonl", same.read_text())
    assert pair_task(moved) == "mnli"


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("a.txt", MRPC, "mrpc"),
        ("a.tsv", COLA, "cola"),
        ("a", COLA, "cola"),
        ("a.jsonl", jsonl(dict(MNLI)), "mnli"),
        ("a.txt", jsonl(dict(MNLI)), "mnli"),
        ("a.jsonl", jsonl({"sentence1": "a", "sentence2": "b", "label": 0}), "pairs"),
        ("a.csv", "premise,hypothesis\none,two\n", "pairs"),
    ],
)
def test_a_task_is_known_by_its_looks(tmp_path: Path, file: str, text: str, name: str) -> None:
    assert pair_task(written(tmp_path / file, text)) == name


def test_an_archive_looks_as_its_first_file_does(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("raw/in_domain_dev.tsv", COLA)
    (tmp_path / "public.zip").write_bytes(content.getvalue())
    assert pair_task(tmp_path / "public.zip") == "cola"


def test_a_data_set_has_the_task_of_its_name() -> None:
    assert pair_task("hf:./mnli") == "mnli"
    assert pair_task("hf:./others") == "pairs"


@pytest.mark.data
@pytest.mark.skipif("HEADLIGHT_DATA" not in os.environ, reason="HEADLIGHT_DATA is not set")
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("glue_mrpc/msr_paraphrase_train.txt", "mrpc"),
        ("glue_cola/in_domain_train.tsv", "cola"),
        ("glue_mnli/train_10k.jsonl.xz", "mnli"),
    ],
)
def test_what_is_distributed_is_known(file: str, name: str) -> None:
    assert pair_task(Path(os.environ["HEADLIGHT_DATA"]) / file) == name
