"""Find alternatives, and try them on the model."""

import copy
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xarray
from torch import Tensor

from headlight.capture import (
    AttentionSite,
    CapturedModel,
    Kind,
    Replacements,
    attention_replaced,
)
from headlight.capture.one_text import capture_one, one_text
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.reading.alternatives.search import Map, Search, SearchResult
from headlight.reading.saving import origin, sides_of
from headlight.settings.alternatives import AlternativeSettings
from headlight.vocabulary import head_name


@dataclass(frozen=True, eq=False)
class Alternatives:
    """Other attention matrices of one head, with which the model has the same output.

    Attributes:
        dataset: everything, with the tokens as coordinates; see the properties.
    """

    dataset: xarray.Dataset

    @property
    def original(self) -> xarray.DataArray:
        """The model's own attention, over query and key."""
        return self.dataset["original"]

    @property
    def attention(self) -> xarray.DataArray:
        """The alternatives, over alternative, query and key; none if there are none."""
        return self.dataset["attention"]

    @property
    def total_variation(self) -> xarray.DataArray:
        """Half the sum of the absolute changes of a row, over alternative and query."""
        return self.dataset["total_variation"]

    @property
    def exists(self) -> xarray.DataArray:
        """Whether a row that was looked at has any alternative, over query."""
        return self.dataset["exists"]

    @property
    def output_difference(self) -> xarray.DataArray:
        """The largest absolute change of an output of the model, over alternative."""
        return self.dataset["output_difference"]

    def __str__(self) -> str:
        attributes = self.dataset.attrs
        head = f"{attributes['kind']} head {head_name(attributes['layer'], attributes['head'])}"
        rows, asked = int(self.exists.sum()), int(self.dataset["asked"].sum())
        if not rows:
            return (
                f"No other attention of {head} gives the same output: no direction of LN([T, 1]) "
                f"keeps a row of it in the simplex (rows looked at: {asked})."
            )
        return (
            f"{rows} of {asked} rows of {head} have other attention of the same output; here up to "
            f"{float(self.total_variation.max()):.3g} of a row's weight moves, and the "
            f"{attributes['output']} change by {float(self.output_difference.max()):.1e} at most "
            f"({attributes['output_size']:.3g} being the largest)."
        )


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
    model, example = _prepare(model, text, pair, kind, settings)
    chosen = kind or model.kinds[0]
    (site,) = model.sites_of(chosen, [place[0]])
    site.require_head(place[1])
    batch = model.collate([example])
    (record,) = capture_one(model, example, [site], lambda record: record)
    found = Search(record, place[1], settings).run(n)
    differences = _try_on_model(model, batch, site, place[1], found)
    attributes = origin(
        model,
        text,
        pair,
        title="Alternative attention",
        stage="alternatives",
        kind=chosen,
        layer=place[0],
        head=place[1],
        head_dim=site.head_dim,
        **differences,
        settings=json.dumps(settings.signature()),
    )
    queries, keys = sides_of(example, chosen, model.tokenizer)
    return Alternatives(_dataset(found, queries["token"], keys["token"], attributes))


def _prepare(
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


def _try_on_model(
    model: CapturedModel, batch: Batch, site: AttentionSite, head: int, found: SearchResult
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
    output: Any = model.run(batch)
    logits = getattr(output, "logits", None)
    if logits is not None:
        return "logits", logits.double()
    return "last hidden states", output.last_hidden_state.double()


def _dataset(
    found: SearchResult, queries: list[str], keys: list[str], attributes: dict[str, Any]
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
        "query": np.arange(len(queries)),
        "key": np.arange(len(keys)),
        "query_token": ("query", queries),
        "key_token": ("key", keys),
    }
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)
