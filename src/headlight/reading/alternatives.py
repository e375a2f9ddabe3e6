"""Other attention matrices of the same output: that attention is not identifiable, shown.

After Brunner et al. (2020), Section 3.3, and tried on the model itself: it is run with each
alternative in the place of its own attention, and its outputs are compared.
"""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
import xarray
from jaxtyping import Bool, Float64
from torch import Tensor

from headlight.capture import (
    AttentionSite,
    CapturedModel,
    LayerRecord,
    Replacements,
    attention_replaced,
)
from headlight.capture.one_text import capture_one, one_text
from headlight.catalogue.question_settings import AlternativeSettings
from headlight.chats import Readable
from headlight.encode import Encoded
from headlight.encode.batch import Batch
from headlight.errors import UsageError
from headlight.measures import Scores
from headlight.measures.alternatives import Matrix, RowAlternatives, column_basis
from headlight.measures.null_space import with_ones
from headlight.reading.origin import origin
from headlight.reading.question_functions import answers
from headlight.reading.text_result import TextResult
from headlight.reading.token_coordinates import sides_of

Map = Float64[np.ndarray, "query key"]

STARTS = 4
"""Starts of the search for the farthest, at least; the best are kept."""


class Search:
    """Search for the alternatives of one head on one text.

    Raises:
        UsageError: A requested row does not exist.
    """

    def __init__(self, record: LayerRecord, head: int, settings: AlternativeSettings) -> None:
        scores = Scores(record)
        self._original: Map = record.weight[0, head].cpu().double().numpy()
        self._columns: Matrix = with_ones(scores.transformed)[0, head].cpu().numpy()
        self._width = record.site.projection.weight.shape[2] + 1
        self._settings = settings
        self._bases: dict[bytes, Matrix] = {}
        self._head = head
        self._scores = scores
        queries = len(self._original)
        query_numbers = range(queries) if settings.queries is None else settings.queries
        for query in query_numbers:
            if not 0 <= query < queries:
                raise UsageError(
                    f"there is no query {query}: the positions of this text are 0 to {queries - 1}."
                )
        self._asked = frozenset(query_numbers)

    def run(self, n: int) -> dict[str, tuple[Any, np.ndarray]]:
        """Return the variables of a result with `n` alternatives, or none if no row has any.

        By query: whether the row was ``asked`` for, and ``exists`` in another form; ``bound``, the
        upper bound of the total variation of alternatives, NaN if it was not computed; the ``rank``
        of T on the keys that the query sees, that of [T, 1], and the number of these ``keys``.
        """
        original = self._original
        attention = np.repeat(original[None], n, axis=0)
        exists = np.zeros(len(original), dtype=bool)
        bound = np.full(len(original), np.nan)
        for query in sorted(self._asked):
            visible_keys = self._visible[query]
            row = RowAlternatives(original[query, visible_keys], self._basis(visible_keys))
            exists[query] = row.exist
            if row.exist:
                generator = np.random.default_rng([self._settings.seed, query])
                changed = row.row + self._changes(row, generator, n)
                # At the largest step a weight becomes 0, which rounding may miss on either side.
                attention[:, query, visible_keys] = np.maximum(changed, 0.0)
            if self._settings.certify or self._settings.method == "farthest":
                bound[query] = row.bound(tight=self._settings.certify)
        spaces, queries = self._scores.null_spaces, len(original)
        attention = attention if exists.any() else attention[:0]
        ranks = {
            name: np.broadcast_to(rank[0, self._head].cpu().numpy(), queries)
            for name, rank in (("rank", spaces.rank), ("rank_with_ones", spaces.rank_with_ones))
        }
        by_query = {
            "asked": np.isin(np.arange(queries), list(self._asked)),
            "exists": exists,
            "bound": bound,
            **ranks,
            "keys": self._visible.sum(-1),
        }
        return {
            "original": (("query", "key"), original),
            "attention": (("alternative", "query", "key"), attention),
            "total_variation": (
                ("alternative", "query"),
                0.5 * np.abs(attention - original).sum(-1),
            ),
            **{name: ("query", values) for name, values in by_query.items()},
        }

    def _changes(
        self, row: RowAlternatives, generator: np.random.Generator, n: int
    ) -> Float64[np.ndarray, "alternative key"]:
        """Return changes of a row, scaled to the requested distance."""
        if self._settings.method == "random":
            changes = [row.random(generator) for _ in range(n)]
        else:
            changes = row.farthest(generator, max(STARTS, n))[:n]
        return self._settings.distance * np.stack(changes)

    @cached_property
    def _visible(self) -> Bool[np.ndarray, "query key"]:
        visible = self._scores.record.visible
        if visible is None:
            return np.ones(self._original.shape, dtype=bool)
        visible_mask: Bool[np.ndarray, "query key"] = np.broadcast_to(
            visible[0].cpu().numpy(), self._original.shape
        )
        return visible_mask

    def _basis(self, visible_keys: Bool[np.ndarray, " key"]) -> Float64[np.ndarray, "seen column"]:
        """Return the basis of [T, 1]'s columns on the visible keys; most queries share it."""
        name = visible_keys.tobytes()
        if name not in self._bases:
            # The last one alone: causal queries have a basis each, and all would fill the memory.
            self._bases = {name: column_basis(self._columns[visible_keys], self._width)}
        return self._bases[name]


@dataclass(frozen=True, eq=False)
class Alternatives(TextResult):
    """Other attention matrices of one head, with which the model has the same output.

    Attributes:
        dataset: All variables, with the tokens as coordinates; see the properties.
    """

    dataset: xarray.Dataset
    called: ClassVar[str] = "alternatives are"
    question: ClassVar[str] = "alternatives"

    @property
    def original(self) -> xarray.DataArray:
        """Return the model's own attention, over query and key."""
        return self.dataset["original"]

    @property
    def attention(self) -> xarray.DataArray:
        """Return the alternatives, over alternative, query and key; empty if there are none."""
        return self.dataset["attention"]

    @property
    def total_variation(self) -> xarray.DataArray:
        """Return half the sum of the absolute changes of a row, over alternative and query."""
        return self.dataset["total_variation"]

    @property
    def exists(self) -> xarray.DataArray:
        """Return whether a row that was examined has any alternative, over query."""
        return self.dataset["exists"]

    @property
    def output_difference(self) -> xarray.DataArray:
        """Return the largest absolute change of an output of the model, over alternative."""
        return self.dataset["output_difference"]

    def as_json(self) -> dict[str, Any]:
        """Return all numbers, as JSON can hold them."""
        return super().as_json() | {
            str(name): values.values.tolist() for name, values in self.dataset.variables.items()
        }

    def __str__(self) -> str:
        from headlight.views.reading.alternatives import sentence

        return sentence(self.dataset)

    __repr__ = __str__


@answers("alternatives")
def alternatives(
    model: CapturedModel,
    text: Readable,
    pair: str | None = None,
    *,
    settings: AlternativeSettings,
    command: str | None = None,
) -> Alternatives:
    """Other attention of one head on one text, or a pair, which the output cannot tell.

    Keys that a query cannot see stay at 0.  Row by row, as far as the settings say; a row that has
    no alternative stays as it is, and if no row has any, there is no alternative, which is a
    result.

    The model is in evaluation mode.

    Returns:
        Alternatives, whose ``dataset`` holds matrices and numbers of rows.

        - ``original`` (query × key): weights of the head
        - ``attention`` (alternative × query × key): other weights, none where there are none
        - ``total_variation`` (alternative × query): distance of each row from its original, 0 to 1
        - ``output_difference`` (alternative): largest change of the output of the model
        - ``asked``, ``exists`` (query): whether the row was to change, and has an alternative
        - ``bound`` (query): upper bound of the total variation
        - ``rank``, ``rank_with_ones``, ``keys`` (query): rank of T and of [T, 1], and the number of
          visible keys

    Raises:
        UsageError: no tokenizer, an empty or too long text, no such kind, layer, head or query; or
            scipy is needed and not installed.
    """
    model, example = _prepare(model, text, pair, settings)
    kind, head = settings.kind or model.kinds[0], settings.head
    (site,) = model.sites_of(kind, [settings.layer])
    site.require_head(head)
    batch = model.collate([example])
    (record,) = capture_one(model, example, [site], lambda record: record)
    variables = Search(record, head, settings).run(settings.number)
    attention, original = (variables[name][1] for name in ("attention", "original"))
    differences, about = _try_on_model(model, batch, site, head, [*attention, original])
    attributes = origin(
        model,
        text,
        pair,
        title="Alternative attention",
        stage="alternatives",
        kind=kind,
        layer=settings.layer,
        head=head,
        head_dim=site.head_dim,
        **about,
        rounding=differences.pop(),
        settings=json.dumps(settings.signature()),
    )
    coordinates: dict[str, Any] = {"alternative": np.arange(len(attention))}
    for name, side in zip(("query", "key"), sides_of(example, kind, model.tokenizer), strict=True):
        coordinates[name] = np.arange(len(side["token"]))
        coordinates[f"{name}_token"] = (name, side["token"])
    changes = "alternative", np.array(differences, dtype=np.float64)
    return Alternatives(
        xarray.Dataset({**variables, "output_difference": changes}, coordinates, attributes)
    )


def _prepare(
    model: CapturedModel, text: Readable, pair: str | None, settings: AlternativeSettings
) -> tuple[CapturedModel, Encoded]:
    """Return the part of the model that runs, in the requested precision, and its input."""
    model, example = one_text(model, text, pair, settings.kind, purpose="alternatives need text")
    if settings.precision == "float64":
        exact: Any = copy.deepcopy(model.transformer)
        model = CapturedModel(exact.double(), model.tokenizer, model.name, model.revision)
    return model, example


def _try_on_model(
    model: CapturedModel, batch: Batch, site: AttentionSite, head: int, matrices: Sequence[Map]
) -> tuple[list[float], dict[str, Any]]:
    """Return the largest change of the outputs with each matrix, and attributes of the outputs."""
    name, output = _output(model, batch)

    def difference(attention: Map) -> float:
        replacements: Replacements = {(site.layer, head): torch.from_numpy(attention)}
        with attention_replaced(model, replacements, kind=site.kind):
            return float((_output(model, batch)[1] - output).abs().max())

    about = {"output": name, "output_size": float(output.abs().max())}
    return [difference(matrix) for matrix in matrices], about


def _output(model: CapturedModel, batch: Batch) -> tuple[str, Tensor]:
    """Return the name and values of the logits, or of the last hidden states without a head."""
    output: Any = model.run(batch)
    logits = getattr(output, "logits", None)
    if logits is not None:
        return "logits", logits.double()
    return "last hidden states", output.last_hidden_state.double()
