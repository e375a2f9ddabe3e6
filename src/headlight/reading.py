"""One text, or two, as a model reads them: every measure of every head."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from headlight import files
from headlight.analysis.contributions import with_contributions
from headlight.attribution_settings import AttributionSettings
from headlight.capture import CapturedModel, Kind, LayerRecord
from headlight.capture.attribution import attribute
from headlight.capture.one_text import one_text
from headlight.encode import Encoded
from headlight.encode.batch import collate
from headlight.errors import UsageError
from headlight.measures import Scores, ValueBias
from headlight.result import FORMAT, save, versions
from headlight.vocabulary import CATEGORIES

PAIRWISE = ("weight", "norm", "effective")


class Reading:
    """One text as a model reads it.

    The measures are `xarray.DataArray`s with the tokens as coordinates; `dataset` holds them all.
    Layers and heads are zero-based.
    """

    def __init__(self, dataset: xarray.Dataset) -> None:
        self.dataset = dataset

    @property
    def weight(self) -> xarray.DataArray:
        """α, over layer, head, query, key; rows sum to 1."""
        return self.dataset["weight"]

    @property
    def norm(self) -> xarray.DataArray:
        """‖α f(x)‖, over layer, head, query, key (Kobayashi et al. 2020)."""
        return self.dataset["norm"]

    @property
    def effective(self) -> xarray.DataArray:
        """A⊥, over layer, head, query, key (Brunner et al. 2020, Eq. 9)."""
        return self.dataset["effective"]

    @property
    def null(self) -> xarray.DataArray:
        """A∥ = A − A⊥, over layer, head, query, key."""
        return self.dataset["weight"] - self.dataset["effective"]

    @property
    def merged_norm(self) -> xarray.DataArray:
        """‖Σ_h α f(x)‖, over layer, query, key."""
        return self.dataset["merged_norm"]

    @property
    def attribution(self) -> xarray.DataArray:
        """c, what input tokens (key) contribute to hidden tokens (query), over layer, query, key.

        Rows sum to 1 (Brunner et al. 2020, Eq. 11).

        Raises:
            UsageError: it was not asked for.
        """
        if "attribution" not in self.dataset:
            raise UsageError(
                "contributions cost more than everything else together, and were not asked for; "
                "read the text with attribution=True."
            )
        return self.dataset["attribution"]

    @property
    def vector_norm(self) -> xarray.DataArray:
        """‖f(x)‖, over layer, head, key."""
        return self.dataset["vector_norm"]

    @property
    def entropy(self) -> xarray.DataArray:
        """Entropy of the rows of α in nats, over layer, head, query."""
        return self.dataset["entropy"]

    @property
    def tokens(self) -> list[str]:
        """The tokens that attend."""
        return [str(token) for token in self.dataset["query_token"].values]

    def show(self) -> Any:
        """The heat-map page: inside a notebook, its display object; elsewhere, the HTML."""
        try:
            from IPython.display import HTML
        except ImportError:
            return self._repr_html_()
        return HTML(self._repr_html_())

    def save(self, path: str | Path) -> Path:
        """Write the reading; the suffix says how: ``.html``, ``.json`` or ``.nc``.

        Raises:
            UsageError: another suffix.
            ResultError: the file cannot be written.
        """
        from headlight.views import reading_json, reading_page

        path = Path(path)
        if path.suffix == ".nc":
            save(self.dataset, path)
        elif path.suffix in (".html", ".json"):
            text = (reading_page if path.suffix == ".html" else reading_json)(self.dataset)
            files.write(path, text.encode())
        else:
            raise UsageError(f"{path}: a reading is saved as .html, .json or .nc; choose one.")
        return path

    def _repr_html_(self) -> str:
        from headlight.views import reading_page

        page = escape(reading_page(self.dataset))
        return f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:0"></iframe>'


def read(  # noqa: PLR0913 - each is a choice of its own
    model: CapturedModel,
    text: str,
    pair: str | None = None,
    *,
    kind: Kind | None = None,
    layers: Iterable[int] | None = None,
    value_bias: ValueBias = "include",
    attribution: bool | AttributionSettings = False,
    command: str | None = None,
) -> Reading:
    """Read one text, or a pair, and keep every measure of every head.

    Args:
        model: the model.
        text: what it reads.
        pair: a second text: the second segment, or the decoder's text in an encoder-decoder model.
        kind: ``encoder``, ``decoder`` or ``cross``; by default the first that the model has.
        layers: which layers; by default all.
        value_bias: whether T of effective attention has the value bias in it.
        attribution: compute what input tokens contribute to hidden ones as well, which costs more
            than everything else; estimated, unless settings say otherwise.
        command: how it was asked for, for the record.

    Raises:
        UsageError: no tokenizer, an empty or too long text, or no such kind or layer.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
    """
    model, example = one_text(model, text, pair, kind, purpose="a reading needs text")
    chosen = kind or model.kinds[0]
    sites = model.sites_of(chosen, layers)
    if not sites:
        raise UsageError("no layer is asked for; name at least one, or leave layers out for all.")
    batch = collate([example], pad_id=0, device=model.transformer.device)
    seen: list[dict[str, np.ndarray]] = []

    def visit(record: LayerRecord) -> None:
        seen.append(_measured(record, value_bias))

    settings = AttributionSettings() if attribution is True else attribution or None
    found = attribute(model, batch, settings, kind=chosen) if settings else None
    with model.capture(sites) as recorder:
        recorder.visit = with_contributions(visit, found) if found else visit
        model.run(batch)
    queries, keys = _sides(example, chosen, model)
    attributes = {
        "title": "Reading",
        "text": text,
        "pair": pair or "",
        "model": model.name,
        "revision": model.revision,
        "kind": chosen,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "attribution": json.dumps(settings.signature()) if settings else "",
        "command": command or "",
        "versions": json.dumps(versions()),
        "format": FORMAT,
        "stage": "reading",
    }
    return Reading(_dataset(seen, [site.layer for site in sites], queries, keys, attributes))


def _measured(record: LayerRecord, value_bias: ValueBias) -> dict[str, np.ndarray]:
    scores = Scores(record, value_bias)
    found = {
        name: getattr(scores, name)[0]
        for name in (*PAIRWISE, "merged_norm", "vector_norm", "entropy")
    }
    found["rank"] = scores.rank[0].amax(-1)
    if record.input is not None:
        found["input_norm"] = scores.input_norm[0]
    if record.attribution is not None:
        found["attribution"] = scores.attribution[0, 0]
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in found.items()}


DIMENSIONS = {
    **dict.fromkeys(PAIRWISE, ("layer", "head", "query", "key")),
    "merged_norm": ("layer", "query", "key"),
    "attribution": ("layer", "query", "key"),
    "vector_norm": ("layer", "head", "key"),
    "input_norm": ("layer", "key"),
    "entropy": ("layer", "head", "query"),
    "rank": ("layer", "head"),
}

Positions = dict[str, list[Any]]


def _sides(example: Encoded, kind: Kind, model: CapturedModel) -> tuple[Positions, Positions]:
    """Tokens, categories and words of the attending and of the attended text."""
    tokenizer: Any = model.tokenizer
    source: Positions = {
        "token": tokenizer.convert_ids_to_tokens(list(example.ids)),
        "category": [CATEGORIES[code] for code in example.categories],
        "word": list(example.words),
    }
    if kind == "encoder" or not example.target:
        return source, source
    target: Positions = {
        "token": tokenizer.convert_ids_to_tokens(list(example.target)),
        "category": [CATEGORIES[code] for code in example.target_categories],
        "word": list(example.target_words),
    }
    return target, (source if kind == "cross" else target)


def _dataset(
    seen: Sequence[dict[str, np.ndarray]],
    layers: list[int],
    queries: Positions,
    keys: Positions,
    attributes: dict[str, Any],
) -> xarray.Dataset:
    heads = max(each["vector_norm"].shape[0] for each in seen)
    variables = {
        name: (dims, np.stack([_filled(each[name], dims, heads) for each in seen]))
        for name, dims in DIMENSIONS.items()
        if all(name in each for each in seen)
    }
    coordinates: dict[str, Any] = {"layer": layers, "head": list(range(heads))}
    for side, positions in (("query", queries), ("key", keys)):
        coordinates[side] = list(range(len(positions["token"])))
        for name, values in positions.items():
            coordinates[f"{side}_{name}"] = (side, values)
    return xarray.Dataset(variables, coords=coordinates, attrs=attributes)


def _filled(array: np.ndarray, dims: tuple[str, ...], heads: int) -> np.ndarray:
    """A layer with fewer heads than others is filled up with NaN."""
    missing = heads - array.shape[0] if "head" in dims else 0
    return np.pad(array, [(0, missing), *[(0, 0)] * (array.ndim - 1)], constant_values=np.nan)
