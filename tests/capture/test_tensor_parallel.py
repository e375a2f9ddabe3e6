"""Models of which each of two processes has some heads, against the same models in one piece."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch

import headlight
from architectures import DECODERS
from capture.two_processes import shared, together
from headlight.capture import CapturedModel, LayerRecord, attribute
from headlight.capture.attention_replacement import attention_replaced
from headlight.capture.head_removal import heads_removed
from headlight.capture.value_map import value_map
from headlight.catalogue import studies
from headlight.encode import encode_one
from headlight.engine.folder import RunFolder
from headlight.errors import HeadlightError, RunInterruptedError
from interruptions import interrupted_after
from open_folders import opening
from studies.models import model, saved, texts, tokenizer

STUDIED = {
    "survey": {"measures": ["weight", "norm", "merged_norm", "effective"]},
    "distances": {"measures": ["weight"]},
}
READ = torch.arange(5, 14).expand(2, -1)


def captured(folder: Path) -> CapturedModel:
    return CapturedModel(shared(folder / "model"), tokenizer("llama"), "llama", "1")


def run(name: str, network: CapturedModel) -> Any:
    study = studies()[name]
    settings = study.settings.from_mapping(STUDIED[name])
    return opening(study.run)(
        texts(4, longest=8), network, settings, folder=RunFolder(), progress=False
    )


def studied(_: int, folder: Path) -> dict[str, Any]:
    network = captured(folder)
    return {name: run(name, network) for name in STUDIED}


@pytest.mark.slow
def test_processes_that_share_heads_give_the_numbers_of_the_whole_model(tmp_path: Path) -> None:
    whole = {name: run(name, model("llama")) for name in STUDIED}
    saved("llama", tmp_path / "model")
    found, other = together(studied, tmp_path)
    for name, expected in whole.items():
        for variable in set(expected.data_vars) - {"seconds"}:
            np.testing.assert_array_equal(found[name][variable], other[name][variable])
            if expected[variable].dtype.kind == "f":
                np.testing.assert_allclose(
                    found[name][variable], expected[variable], rtol=1e-4, atol=1e-6
                )


def seen(network: CapturedModel, query_block: int) -> list[tuple[torch.Tensor, ...]]:
    found: list[LayerRecord] = []
    with network.capture() as recorder, torch.inference_mode():
        recorder.visit, recorder.query_block = found.append, query_block
        network.transformer(input_ids=READ)
    return [(each.weight.clone(), each.value.clone()) for each in found]


FAMILIES = ("GPT-NeoX", "Mixtral", "Phi-3", "OLMo 2")


def of_families(_: int, folder: Path) -> dict[str, Any]:
    networks = {name: CapturedModel(shared(folder / name)) for name in FAMILIES}
    return {
        name: ([seen(network, size) for size in (0, 4)], [site.error for site in network.sites])
        for name, network in networks.items()
    }


@pytest.mark.slow
def test_every_head_of_many_families_is_seen_once(tmp_path: Path) -> None:
    """Of maps of their own or one for all; Phi-3 and OLMo 2 have all heads everywhere."""
    rows = {row.name: row for row in DECODERS if row.name in FAMILIES}
    for name, row in rows.items():
        row.build().save_pretrained(tmp_path / name)
    for found in together(of_families, tmp_path):
        for name, (by_size, errors) in found.items():
            whole = CapturedModel(rows[name].build())
            assert max(errors) < 1e-6
            for records, size in zip(by_size, (0, 4), strict=True):
                for record, expected in zip(records, seen(whole, size), strict=True):
                    torch.testing.assert_close(record, expected, rtol=1e-4, atol=1e-5)


def kept(_: int, folder: Path) -> tuple[Any, ...]:
    out, read = folder / "run", texts(3, longest=6)
    network = captured(folder)
    survey = partial(headlight.survey, read, model=network, out=out, progress=False)
    with mock.patch("headlight.reports.study_run.write_report"):
        made = [survey(), survey(resume=True)]
    refused = refusal(survey)
    return made, refused, network.identity()


@pytest.mark.long
def test_the_first_process_keeps_the_run(tmp_path: Path) -> None:
    saved("llama", tmp_path / "model")
    (made, refused, identity), other = together(kept, tmp_path)
    stored = headlight.open(tmp_path / "run")
    for each in (*made, *other[0]):
        for variable in set(stored.data_vars) - {"seconds"}:
            np.testing.assert_array_equal(each[variable], stored[variable])
    assert made[1].attrs["created"] == made[0].attrs["created"]  # it was there already
    assert "holds a run already" in refused
    assert (refused, identity) == other[1:]
    whole = model("llama").identity()
    assert {name for name in identity if identity[name] != whole.get(name)} == {"processes"}


def resumed(_: int, folder: Path) -> list[Any]:
    """One survey in a go, and one that is interrupted and gone on with."""
    read, out = texts(11, longest=6), folder / "run"
    survey = partial(headlight.survey, read, model=captured(folder), progress=False)
    with (
        mock.patch("headlight.reports.study_run.write_report"),
        mock.patch("headlight.engine.batch_runner.SHARD", 4),
    ):
        whole = survey()
        with interrupted_after(2), pytest.raises(RunInterruptedError, match="8 examples"):
            survey(out=out)
        return [whole, survey(out=out, resume=True)]


@pytest.mark.long
def test_what_was_interrupted_is_resumed_by_all_processes(tmp_path: Path) -> None:
    saved("llama", tmp_path / "model")
    for whole, found in together(resumed, tmp_path):
        assert found.drop_attrs().identical(whole.drop_attrs())
        assert found.attrs["examples"] == 11


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(HeadlightError) as raised:
        action()
    return str(raised.value)


def refusals(_: int, folder: Path) -> Sequence[str]:
    network = captured(folder)
    site = network.sites[0]
    batch = network.collate([encode_one(network.tokenizer, "the sea is old")])
    survey = partial(headlight.survey, texts(3), model=network, progress=False)

    def entered(context: Any) -> None:
        with ExitStack() as stack:
            stack.enter_context(context)

    return [
        refusal(partial(survey, measures=["attribution"])),
        refusal(partial(headlight.survey, model=network, out=folder / "run", workers="join")),
        refusal(partial(headlight.token_identity, texts(3), model=network, progress=False)),
        refusal(partial(attribute, network, batch)),
        refusal(lambda: entered(attention_replaced(network, {0: torch.zeros(())}))),
        refusal(lambda: entered(heads_removed(network, [[(site, 0)]]))),
        refusal(partial(value_map, network, site)),
    ]


@pytest.mark.slow
def test_what_is_not_done_in_parts_is_refused_by_every_process(tmp_path: Path) -> None:
    saved("llama", tmp_path / "model")
    found, other = together(refusals, tmp_path)
    assert found == other
    assert "are one worker" in found[1]
    assert "token_identity trains models" in found[2]
    for refused in (found[0], *found[3:]):
        assert "not supported where each process has some of the heads" in refused
        assert "(balanced)" in refused


def fault(_: int, folder: Path) -> str:
    network = captured(folder)
    return refusal(lambda: network.sites)


@pytest.mark.slow
def test_heads_that_cannot_be_shared_are_refused_by_every_process(tmp_path: Path) -> None:
    saved("llama", tmp_path / "model", num_key_value_heads=1)
    found, other = together(fault, tmp_path)
    assert found == other
    assert "the 1 key-value heads of this LlamaModel cannot be shared by 2 processes" in found
