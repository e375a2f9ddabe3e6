"""Heads patched with those of another text, against loops over heads with hooks of their own."""

import re
from typing import Any

import numpy as np
import pytest
import torch

from headlight.capture import attention_replaced
from headlight.capture.one_text import one_text
from headlight.errors import MissingHeadError, UsageError
from headlight.reading.patching import TOKENS_AT_ONCE, patch
from reading.test_prediction import OTHER, TEXT, subject
from studies.command import Command
from studies.models import model as headless

CHANGED = TEXT.replace("river", "mill")
FAMILIES = {"bert": {"position": 3}, "gpt2": {}, "llama": {}, "t5": {"pair": OTHER}}


def loops(family: str, kind: str, swap: str) -> np.ndarray:
    """Return the fall of the logit of each head: one pass for each, and one of the other text."""
    made: Any = subject(family)
    asked = dict(FAMILIES[family])
    pair = asked.pop("pair", None)
    _, example = one_text(made, TEXT, pair, None, purpose="a test")
    _, other = one_text(made, CHANGED, pair, None, purpose="a test")
    first, second = made.tokenizer.convert_tokens_to_ids(["sand", "mill"])
    place = asked.get("position", -1)
    network = made.transformer

    def score() -> float:
        with torch.no_grad():
            row = network(**made.inputs(made.collate([example]))).logits[0, place]
        return float(row[first] - row[second])

    own, sites = score(), made.sites_of(kind)
    effects = np.zeros((len(sites), sites[0].heads))
    for at, site in enumerate(sites):
        handed: list[torch.Tensor] = []
        weights: list[torch.Tensor] = []
        module = site.projection.module
        hook = module.register_forward_pre_hook(lambda _, inputs: handed.append(inputs[0]))  # noqa: B023
        with made.capture([site]) as recorder:
            recorder.visit = lambda record: weights.append(record.weight)  # noqa: B023
            made.run(made.collate([other]))
        hook.remove()
        for head in range(site.heads):
            if swap == "pattern":
                with attention_replaced(made, {(site.layer, head): weights[0][:, head]}, kind=kind):
                    effects[at, head] = own - score()
                continue
            wide = handed[0].shape[-1] // site.heads

            def change(_: Any, inputs: Any, head: int = head, wide: int = wide) -> Any:
                mixed = inputs[0].clone()
                part = slice(head * wide, (head + 1) * wide)
                mixed[..., part] = handed[0][..., part]  # noqa: B023
                return (mixed, *inputs[1:])

            hook = module.register_forward_pre_hook(change)
            effects[at, head] = own - score()
            hook.remove()
    return effects


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
def test_effects_of_heads_are_those_of_loops(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headlight.reading.patching.TOKENS_AT_ONCE", 3 * len(TEXT.split()))
    kinds = ("encoder", "cross") if family == "t5" else subject(family).kinds
    for kind in kinds:
        result = patch(
            subject(family), TEXT, compare_text=CHANGED, target="sand", against="mill", kind=kind,
            **FAMILIES[family],
        )  # fmt: skip
        assert TOKENS_AT_ONCE == 1024, "several batches here"
        for swap in ("output", "pattern"):
            np.testing.assert_allclose(
                result[swap], loops(family, kind, swap), atol=1e-6, err_msg=f"{kind} {swap}"
            )
        assert float(abs(result["output"]).max()) > 1e-4


def test_some_layers_alone() -> None:
    result = patch(subject("llama"), TEXT, compare_text=CHANGED, layers=[1])
    assert result["layer"].values.tolist() == [1]
    written = result.as_json()
    assert written["score"] - written["other_score"] == pytest.approx(
        float(result["score"] - result["other_score"])
    )


def test_refusals() -> None:
    made = subject("llama")
    with pytest.raises(UsageError, match="say which with compare_text="):
        patch(made, TEXT)
    with pytest.raises(UsageError, match="a second text behind the first is its second segment"):
        patch(made, TEXT, CHANGED)
    with pytest.raises(UsageError, match="of as many tokens"):
        patch(made, TEXT, compare_text="the old river")
    with pytest.raises(UsageError, match="no decoder layer 9"):
        patch(made, TEXT, compare_text=CHANGED, layers=[9])
    with pytest.raises(UsageError, match="the same output"):
        patch(made, TEXT, compare_text=CHANGED, target="sand", against="sand")
    with pytest.raises(MissingHeadError):
        patch(headless("bert"), TEXT, compare_text=CHANGED)


def test_equal_texts_have_no_difference() -> None:
    from headlight.views.reading.patching import findings

    result = patch(subject("llama"), TEXT, compare_text=TEXT)
    assert not np.abs(result["output"].values).max() > 1e-9
    assert "make no difference to “" in " ".join(findings(result.dataset))


@pytest.mark.slow
def test_the_command(headlight: Command) -> None:
    code, out, said = headlight(
        "patch", "The cat sat on the [MASK].", "--compare-text", "The dog sat on the [MASK].",
        "--target", "floor", "--layers", "0,1", "--top", "3",
    )  # fmt: skip
    assert code == 0, said
    assert re.search(r"L[01]H\d|No head alone", out)
    assert "pattern" in out
    code, _, said = headlight("patch", "The cat sat on the [MASK].")
    assert code != 0
    assert "--compare-text" in said


def test_a_title_names_the_head_that_carries_most() -> None:
    from headlight.views.reading.patching import findings, frame_of, headline
    from headlight.vocabulary import head_name

    result = patch(subject("llama"), TEXT, compare_text=CHANGED, target="sand", against="mill")
    answer, row = headline(result.dataset), frame_of(result.dataset).iloc[0]
    assert answer.title == findings(result.dataset)[0]
    assert answer.title.startswith(head_name(int(row["layer"]), int(row["head"])))
    assert "between “river” and “mill” for “sand” rather than “mill”" in answer.title
    outputs, weights = answer.pictures
    assert [bar.label for bar in outputs.bars] == [bar.label for bar in weights.bars]
    assert max(bar.share for bar in (*outputs.bars, *weights.bars)) == 1.0
