"""Token identity: can the input token be recovered from a hidden token?

Source: Brunner et al. (2020), Section 4 and Appendix B.
"""

from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray

from headlight.capture import CapturedModel
from headlight.engine.batch_size import batch_tokens
from headlight.engine.corpus_attributes import share_read
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.kept_results import Origin, keep_result
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.engine.work_folders import prepare_work_folders
from headlight.files import Location
from headlight.result import calculated_with
from headlight_papers.studies.token_identity import TokenIdentitySettings
from headlight_papers.studies.token_identity.cases import Tokens, split
from headlight_papers.studies.token_identity.dataset import identity_dataset
from headlight_papers.studies.token_identity.extraction import (
    TokenVectors,
    extract_vectors,
    vectors_signature,
    vectors_size,
)
from headlight_papers.studies.token_identity.outcomes import evaluate_maps
from headlight_papers.training.json_cache import JsonCache

TOKENS, RATES = "tokens", "rates"
"""Folders of hidden tokens, and of results of each map."""


def run(
    source: TextSource,
    model: CapturedModel,
    settings: TokenIdentitySettings | None = None,
    *,
    folder: OpenFolder = NOWHERE,
    cache: Path | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Measure how often the nearest neighbour of a mapped hidden token is its input token.

    A token is identified if, of all input tokens of its sequence, x_i is nearest to g(e_i^l); g is
    the identity, a matrix or an MLP, trained on other sequences.  Words that occur twice differ by
    their positions; where a model adds none to its embeddings they count as one.

    Args:
        source: texts (`headlight.engine.text_sources.TextSource`); each example is a sequence.
        model: model whose hidden tokens are mapped.
        settings: settings of the study.
        folder: folder of hidden tokens, rates and the result; finished parts are used again.
            Without one, large hidden tokens are in temporary files.
        cache: folder of hidden tokens and rates, in place of `folder`; studies of the same tokens
            can share one.
        command: command to record with the result.
        progress: whether to show progress on standard error.

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
            prepare_work_folders(local, (TOKENS, RATES), overwrite=folder.overwrite)
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

    origin, digest = Origin.from_plan(plan), str(about["examples"])
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
    """Count tokens whose input vector occurs more than once in their sequence."""
    rows = np.ascontiguousarray(vectors.inputs)
    whole = rows.view(np.dtype((np.void, 4 * rows.shape[1])))[:, 0]
    number = np.unique(whole, return_inverse=True)[1].reshape(-1)
    _, where, counts = np.unique(
        vectors.sequence * len(rows) + number, return_inverse=True, return_counts=True
    )
    return int((counts[where.reshape(-1)] > 1).sum())
