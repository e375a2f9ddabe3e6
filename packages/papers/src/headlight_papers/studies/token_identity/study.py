"""Token identity: can the input token be recovered from a hidden token?

Source: Brunner et al. (2020), Section 4 and Appendix B.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray

from headlight.analysis.batch_size import batch_tokens
from headlight.analysis.corpus_attributes import share_read
from headlight.analysis.kept_results import Origin, keep_result
from headlight.analysis.run_folder import RunFolder
from headlight.analysis.text_plan import plan_text_study
from headlight.analysis.text_sources import TextSource
from headlight.analysis.work_folders import prepare_work_folders
from headlight.capture import CapturedModel
from headlight.files import Location
from headlight.result import Description, calculated_with, describe
from headlight_papers.intervals import student
from headlight_papers.studies.token_identity import TokenIdentitySettings
from headlight_papers.studies.token_identity.cases import Tokens, split
from headlight_papers.studies.token_identity.extraction import (
    TokenVectors,
    extract_vectors,
    vectors_signature,
    vectors_size,
)
from headlight_papers.studies.token_identity.outcomes import Outcome, evaluate_maps
from headlight_papers.training import JsonCache

_RATES = {
    "rate": "share of test tokens identified",
    "train_rate": "share of training tokens identified",
    "rate_across": "share of test tokens of another layer identified",
}
VARIABLES: dict[str, Description] = {
    **{name: (text, "1") for name, text in _RATES.items()},
    **{f"{name}_mean": (f"{text}, mean over folds", "1", "share") for name, text in _RATES.items()},
    **{f"{name}_standard_error": (f"{text}, standard error", "1") for name, text in _RATES.items()},
    **{
        f"{name}_mean_{end}": (f"{text}, {which} end of the 95% interval over folds", "1", "share")
        for name, text in _RATES.items()
        for end, which in (("low", "lower"), ("high", "upper"))
    },
    "validation_loss": ("mean loss on the validation tokens", ""),
    "parameter": ("learning rate, or λ of ridge regression", "1"),
    "best_epoch": ("epoch whose weights were kept", "1"),
    "epochs": ("epochs trained", "1"),
}
DIMENSIONS = ("map", "loss", "offset", "fraction", "layer", "fold")


def identity_dataset(
    outcomes: Sequence[Outcome], layers: Sequence[int], settings: TokenIdentitySettings
) -> xarray.Dataset:
    """Named arrays of identifiability rates, and of how the maps came about."""
    coordinates: dict[str, list[Any]] = {
        "map": list(settings.maps),
        "loss": list(settings.losses),
        "offset": list(settings.offsets),
        "fraction": list(settings.fractions),
        "layer": list(layers),
        "fold": list(range(settings.folds)),
    }
    shape = tuple(len(coordinates[name]) for name in DIMENSIONS)
    places = [_place(outcome, coordinates) for outcome in outcomes]

    def filled(what: Callable[[Outcome], float]) -> tuple[tuple[str, ...], np.ndarray]:
        values = np.full(shape, np.nan)
        for place, outcome in zip(places, outcomes, strict=True):
            values[place] = what(outcome)
        return DIMENSIONS, values

    result = xarray.Dataset(
        {
            "rate": filled(lambda outcome: outcome.test),
            "train_rate": filled(lambda outcome: outcome.train),
            "validation_loss": filled(lambda outcome: outcome.loss),
            "parameter": filled(lambda outcome: outcome.parameter),
            "best_epoch": filled(lambda outcome: outcome.best),
            "epochs": filled(lambda outcome: outcome.epochs),
        },
        coords={
            **coordinates,
            "solver": ("map", [_solver(name, settings) for name in settings.maps]),
        },
    )
    if settings.across:
        values = np.full((*shape, len(layers)), np.nan)
        for place, outcome in zip(places, outcomes, strict=True):
            values[place] = outcome.across
        result["rate_across"] = ((*DIMENSIONS, "tested_layer"), values)
        result = result.assign_coords(tested_layer=list(layers))
    return describe(_over_folds(result), VARIABLES)


def _over_folds(result: xarray.Dataset) -> xarray.Dataset:
    """Means over folds, their standard errors and intervals, as if folds were independent."""
    folds = result.sizes["fold"]
    for name in ("rate", "train_rate", "rate_across"):
        if name in result:
            result[f"{name}_mean"] = result[name].mean("fold")
            spread = result[name].std("fold", ddof=1) if folds > 1 else result[name].mean("fold")
            error = spread / folds**0.5 if folds > 1 else spread * np.nan
            result[f"{name}_standard_error"] = error
            mean = result[f"{name}_mean"]
            ends = student(mean.values, error.values, np.full(mean.shape, folds - 1.0), least=1)
            for end, values in zip(("low", "high"), ends, strict=True):
                result[f"{name}_mean_{end}"] = mean.dims, values
    return result


def _place(outcome: Outcome, coordinates: Mapping[str, list[Any]]) -> tuple[int, ...]:
    case = outcome.case
    here = (case.map, case.loss, case.offset, case.fraction, case.layers[0], case.fold)
    return tuple(
        coordinates[name].index(value) for name, value in zip(DIMENSIONS, here, strict=True)
    )


def _solver(name: str, settings: TokenIdentitySettings) -> str:
    """Return the solver for maps of this kind."""
    if name == "naive":
        return "none"
    return settings.solver if name == "linear" else "adam"


TOKENS, RATES = "tokens", "rates"
"""Folders of hidden tokens, and of what is known of each map."""


def run(
    source: TextSource,
    model: CapturedModel,
    settings: TokenIdentitySettings | None = None,
    *,
    folder: RunFolder | None = None,
    cache: Path | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Measure how often the nearest neighbour of a mapped hidden token is its input token.

    A token is identified if, of all input tokens of its sequence, x_i is nearest to g(e_i^l); g is
    the identity, a matrix or an MLP, trained on other sequences.  Words that occur twice differ by
    their positions; where a model adds none to its embeddings they count as one.

    Args:
        source: see `headlight.analysis.text_sources.TextSource`; each example is a sequence.
        model: the model.
        settings: see `TokenIdentitySettings`.
        folder: where to keep hidden tokens, rates and the result; what is finished is used
            again.  Without one large hidden tokens are in temporary files.
        cache: folder of hidden tokens and rates, in place of `folder`; studies of the same tokens
            can share one.
        command: how it was asked for, for the record.
        progress: say on standard error what is done.

    Returns:
        ``rate`` on the test tokens and ``train_rate``, as shares, by map, loss, offset, fraction,
        layer and fold; their means and standard errors over folds; ``rate_across`` by tested layer;
        and how the maps came about: ``parameter`` (the learning rate, or the λ of ridge
        regression), ``validation_loss``, ``best_epoch``, ``epochs``.  NaN where a naive map would
        compare vectors of different sizes.

    Raises:
        CorpusError: there are no examples.
        UsageError: something does not fit together; see `TokenIdentitySettings`.
        UnsupportedModelError: the model does not give out its hidden tokens.
        RunError: the folder holds something else or cannot be used, or training diverged.
    """
    settings = settings or TokenIdentitySettings()
    plan = plan_text_study("token_identity", "Token identity", source, model, settings)
    all_examples = list(islice(plan.examples, plan.max_examples))
    counts = plan.examples.counts
    ended = len(all_examples) == plan.max_examples
    cut = counts.not_read() | share_read(plan.corpus, counts.documents if ended else None)
    if all_examples:
        split(len(all_examples), 0, settings.seed)  # refuses too few before the model runs
    about = vectors_signature(all_examples, plan.model)

    def compute(place: Location | None) -> xarray.Dataset:
        local = place if isinstance(place, Path) else None  # a store cannot be memory-mapped
        if local:
            overwrite = folder is not None and folder.overwrite
            prepare_work_folders(local, (TOKENS, RATES), overwrite=overwrite)
        known_rates = cache or place
        depend = {**about, **calculated_with()}
        rates = JsonCache(known_rates / RATES, depend) if known_rates else JsonCache()
        vector_cache = cache or local
        with ExitStack() as stack:
            if vector_cache is None and vectors_size(all_examples, plan.model) > settings.memory:
                vector_cache = Path(stack.enter_context(TemporaryDirectory(prefix="headlight-")))
            vectors = extract_vectors(
                all_examples,
                plan.model,
                folder=vector_cache and vector_cache / TOKENS,
                batch_tokens=batch_tokens(plan.model, plan.settings),
                progress=progress,
            )
            device = plan.model.transformer.device
            tokens = Tokens(vectors, settings, device)
            outcomes = evaluate_maps(tokens, settings, device, cache=rates, progress=progress)
            result = identity_dataset(outcomes, tokens.layers, settings)
            return result.assign_attrs(
                corpus_digest=about["examples"], **_attributes(vectors), **cut
            )

    origin, digest = Origin.of(plan), str(about["examples"])
    return keep_result(origin, compute, folder=folder, command=command, digest=lambda: digest)


def _attributes(vectors: TokenVectors) -> dict[str, Any]:
    """Return the numbers of examples and tokens, and the accuracy by chance."""
    return {
        "examples": len(vectors.lengths),
        "tokens": int(vectors.lengths.sum()),
        "chance": float(len(vectors.lengths) / vectors.lengths.sum()),
        "repeated_inputs": _repeated(vectors),
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
