"""Token identity: can the input token be recovered from a hidden token?

Source: Brunner et al. (2020), Section 4 and Appendix B.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray

from headlight.capture import CapturedModel
from headlight.encode import Encoded
from headlight.errors import ResultError, RunError
from headlight.files import make_folder
from headlight.result import versions
from headlight.run.json_cache import JsonCache
from headlight.studies.token_identity.cases import Case, Tokens
from headlight.studies.token_identity.extraction import (
    extract_vectors,
    vectors_signature,
    vectors_size,
)
from headlight.studies.token_identity.files import load_map, save_map
from headlight.studies.token_identity.fitting import Fitted
from headlight.studies.token_identity.outcomes import study
from headlight.studies.token_identity.result import identity_dataset
from headlight.studies.token_identity.settings import IdentitySettings
from headlight.studies.token_identity.vectors import TokenVectors


def token_identity(
    examples: Iterable[Encoded],
    model: CapturedModel,
    settings: IdentitySettings | None = None,
    *,
    folder: Path | str | None = None,
    keep_maps: bool = False,
    progress: bool = True,
) -> xarray.Dataset:
    """How often the nearest neighbour of a mapped hidden token is its input token.

    A token is identified if, of all input tokens of its sequence, x_i is nearest to g(e_i^l); g is
    the identity, a matrix or an MLP, trained on other sequences.  Words that occur twice differ by
    their positions; where a model adds none to its embeddings they count as one.

    Args:
        examples: texts or pairs, for example of `headlight.encode.sentence_pairs`.
        model: the model.
        settings: see `IdentitySettings`.
        folder: where to keep hidden tokens, rates and maps; what is finished is used again.
            Without a folder large hidden tokens are in temporary files.
        keep_maps: write every map into ``maps`` of the folder, see `load_map`.
        progress: say on standard error what is done.

    Returns:
        ``rate`` on the test tokens and ``train_rate``, as shares, by map, loss, offset, fraction,
        layer and fold; their means and standard errors over folds; ``rate_across`` by tested layer;
        and how the maps came about: ``parameter`` (the learning rate, or the λ of ridge
        regression), ``validation_loss``, ``best_epoch``, ``epochs``.  NaN where a naive map would
        compare vectors of different sizes.

    Raises:
        CorpusError: there are no examples.
        UsageError: something does not fit together; see `IdentitySettings`.
        UnsupportedModelError: the model does not give out its hidden tokens.
        RunError: the folder holds something else or cannot be used, or training diverged.
    """
    settings = settings or IdentitySettings()
    known = list(examples)
    if keep_maps and folder is None:
        raise RunError("maps are kept in a folder; give one.")
    with ExitStack() as stack:
        place = None if folder is None else Path(folder)
        if place is None and vectors_size(known, model) > settings.memory:
            place = Path(stack.enter_context(TemporaryDirectory(prefix="headlight-")))
        vectors = extract_vectors(
            known,
            model,
            embeddings=settings.embeddings,
            folder=place and place / "tokens",
            batch_tokens=settings.batch_tokens,
            progress=progress,
        )
        tokens = Tokens(vectors, settings, model.transformer.device)
        outcomes = study(
            tokens,
            settings,
            model.transformer.device,
            memo=_memo(folder, known, model, settings),
            keep=_Maps(place / "maps", model) if keep_maps and place else None,
            progress=progress,
        )
        return identity_dataset(
            outcomes, tokens.layers, settings, _described(model, vectors, settings)
        )


def _memo(
    folder: Path | str | None,
    known: list[Encoded],
    model: CapturedModel,
    settings: IdentitySettings,
) -> JsonCache:
    """The rates that are known already of these tokens; none without a folder that stays."""
    if folder is None:
        return JsonCache()
    return JsonCache(Path(folder) / "rates", vectors_signature(known, model, settings.embeddings))


@dataclass(frozen=True)
class _Maps:
    """The folder where maps are kept, a file each."""

    folder: Path
    model: CapturedModel

    def has(self, case: Case, key: Mapping[str, Any]) -> bool:
        """See `headlight.studies.token_identity.outcomes.Keep`."""
        return all(_notes(self._path(case, layer)).get("of") == _json(key) for layer in case.layers)

    def put(self, case: Case, key: Mapping[str, Any], fitted: Sequence[Fitted]) -> None:
        """See `headlight.studies.token_identity.outcomes.Keep`."""
        make_folder(self.folder, error=RunError)
        for layer, one in zip(case.layers, fitted, strict=True):
            notes = {
                "model": self.model.name,
                "revision": self.model.revision,
                "loss": case.loss,
                "offset": case.offset,
                "fraction": case.fraction,
                "fold": case.fold,
                "layer": layer,
                "parameter": one.parameter,
                "validation_loss": one.loss,
                "of": _json(key),
            }
            save_map(self._path(case, layer), case.map, one.weights, notes)

    def _path(self, case: Case, layer: int) -> Path:
        return self.folder / (
            f"{case.map}-{case.loss}-offset{case.offset:+}-of-{case.fraction:g}-layer-{layer}"
            f"-fold-{case.fold}.safetensors"
        )


def _notes(path: Path) -> dict[str, Any]:
    """What was written down with a map; nothing if there is none that can be read."""
    try:
        return load_map(path)[2]
    except ResultError:
        return {}


def _json(key: Mapping[str, Any]) -> Any:
    """As it comes back from a file."""
    return json.loads(json.dumps(key))


def _described(
    model: CapturedModel, vectors: TokenVectors, settings: IdentitySettings
) -> dict[str, Any]:
    """What would have to be repeated to get the same; and by chance how many would be found."""
    return {
        "title": "Token identity",
        "model": model.name,
        "revision": model.revision,
        "kind": model.kinds[0],
        "sequences": len(vectors.lengths),
        "tokens": int(vectors.lengths.sum()),
        "chance": float(len(vectors.lengths) / vectors.lengths.sum()),
        "repeated_inputs": _repeated(vectors),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": json.dumps(versions()),
    }


def _repeated(vectors: TokenVectors) -> int:
    """Tokens whose input vector occurs more than once in their sequence."""
    rows = np.ascontiguousarray(vectors.inputs)
    whole = rows.view(np.dtype((np.void, 4 * rows.shape[1])))[:, 0]
    number = np.unique(whole, return_inverse=True)[1].reshape(-1)
    _, where, counts = np.unique(
        vectors.sequence * len(rows) + number, return_inverse=True, return_counts=True
    )
    return int((counts[where.reshape(-1)] > 1).sum())
