"""Find alternatives, and try them on the model."""

import copy
import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
import torch
import xarray
from torch import Tensor

from headlight.alternatives.result import Alternatives
from headlight.alternatives.search import Found, Map, Search
from headlight.alternatives.settings import AlternativeSettings
from headlight.capture import (
    AttentionSite,
    CapturedModel,
    Kind,
    LayerRecord,
    Replacements,
    attention_replaced,
)
from headlight.capture.one_text import one_text
from headlight.encode import Encoded
from headlight.encode.batch import Batch, collate
from headlight.errors import UsageError
from headlight.result import FORMAT, versions


def alternatives(
    model: CapturedModel,
    text: str,
    pair: str | None = None,
    *,
    place: tuple[int, int],
    n: int = 1,
    kind: Kind | None = None,
    settings: AlternativeSettings | None = None,
) -> Alternatives:
    """Other attention of one head on one text, or a pair, which the output cannot tell.

    Keys that a query cannot see stay at 0.  Row by row, as far as the settings say; a row that has
    no alternative stays as it is, and if no row has any, there is no alternative, which is a
    result.

    Args:
        model: the model, in evaluation mode.
        text: what it reads.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        place: layer and head, from 0.
        n: how many.
        kind: ``encoder``, ``decoder`` or ``cross``; by default the first that the model has.
        settings: see `AlternativeSettings`.

    Raises:
        UsageError: no tokenizer, an empty or too long text, no such kind, layer, head or query; or
            scipy is needed and not installed.
    """
    settings = settings or AlternativeSettings()
    if n < 1:
        raise UsageError(f"n must be at least 1, not {n}.")
    model, example = _prepared(model, text, pair, kind, settings)
    chosen = kind or model.kinds[0]
    (site,) = model.sites_of(chosen, [place[0]])
    if not 0 <= place[1] < site.heads:
        raise UsageError(
            f"{chosen} layer {site.layer} of {model.name} has no head {place[1]}: its heads are "
            f"0 to {site.heads - 1}."
        )
    batch = collate([example], pad_id=0, device=model.transformer.device)
    found = Search(_record(model, batch, site), place[1], settings).run(n)
    tried = _tried(model, batch, site, place[1], found)
    attributes = {
        "title": "Alternative attention",
        "text": text,
        "pair": pair or "",
        "model": model.name,
        "revision": model.revision,
        "kind": chosen,
        "layer": place[0],
        "head": place[1],
        "head_dim": site.head_dim,
        **tried,
        "settings": json.dumps(asdict(settings)),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
        "format": FORMAT,
        "stage": "alternatives",
    }
    return Alternatives(_dataset(found, _tokens(example, chosen, model), attributes))


def _prepared(
    model: CapturedModel,
    text: str,
    pair: str | None,
    kind: Kind | None,
    settings: AlternativeSettings,
) -> tuple[CapturedModel, Encoded]:
    """The part of the model that runs, in the precision asked for, and what it reads."""
    model, example = one_text(model, text, pair, kind, purpose="alternatives need text")
    if settings.precision == "float64":
        exact: Any = copy.deepcopy(model.transformer)
        model = CapturedModel(exact.double(), model.tokenizer, model.name, model.revision)
    return model, example


def _record(model: CapturedModel, batch: Batch, site: AttentionSite) -> LayerRecord:
    records: list[LayerRecord] = []
    with model.capture([site]) as recorder:
        recorder.visit = records.append
        model.run(batch)
    return records[0]


def _tried(
    model: CapturedModel, batch: Batch, site: AttentionSite, head: int, found: Found
) -> dict[str, Any]:
    """How much the outputs of the model change: with each alternative, and by rounding alone."""
    name, output = _output(model, batch)

    def difference(attention: Map) -> float:
        given: Replacements = {(site.layer, head): torch.from_numpy(attention)}
        with attention_replaced(model, given, kind=site.kind):
            return float((_output(model, batch)[1] - output).abs().max())

    return {
        "output": name,
        "output_size": float(output.abs().max()),
        "output_difference": [difference(each) for each in found.attention],
        "rounding": difference(found.original),
    }


def _output(model: CapturedModel, batch: Batch) -> tuple[str, Tensor]:
    """The logits, or the last hidden states of a model without a head; and what they are called."""
    with torch.inference_mode():
        output: Any = model.transformer(**model.inputs(batch))
    logits = getattr(output, "logits", None)
    if logits is not None:
        return "logits", logits.double()
    return "last hidden states", output.last_hidden_state.double()


def _tokens(example: Encoded, kind: Kind, model: CapturedModel) -> tuple[list[str], list[str]]:
    """Of the attending and of the attended text."""
    tokenizer: Any = model.tokenizer
    source = tokenizer.convert_ids_to_tokens(list(example.ids))
    if kind == "encoder" or not example.target:
        return source, source
    target = tokenizer.convert_ids_to_tokens(list(example.target))
    return target, (source if kind == "cross" else target)


def _dataset(
    found: Found, tokens: tuple[list[str], list[str]], attributes: dict[str, Any]
) -> xarray.Dataset:
    differences = np.array(attributes.pop("output_difference"), dtype=np.float64)
    changes = 0.5 * np.abs(found.attention - found.original).sum(-1)
    variables = {
        "original": (("query", "key"), found.original),
        "attention": (("alternative", "query", "key"), found.attention),
        "total_variation": (("alternative", "query"), changes),
        "output_difference": ("alternative", differences),
        "asked": ("query", found.asked),
        "exists": ("query", found.exists),
        "bound": ("query", found.bound),
        "rank": ("query", found.rank),
        "rank_with_ones": ("query", found.rank_with_ones),
        "keys": ("query", found.keys),
    }
    coordinates = {
        "alternative": np.arange(len(found.attention)),
        "query": np.arange(len(tokens[0])),
        "key": np.arange(len(tokens[1])),
        "query_token": ("query", tokens[0]),
        "key_token": ("key", tokens[1]),
    }
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)
