"""The results that the exhibits on contributions share, each made once."""

from typing import Any

import xarray

from headlight.corpora import open_treebank
from headlight.encode import sentences
from headlight_papers.papers.brunner2020 import published
from headlight_papers.papers.brunner2020.pair_sets import PairSet, find_pair_set
from headlight_papers.papers.brunner2020.settings import Settings
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.text import model_note


def load_contributions(reproduction: Reproduction[Settings], pairs: PairSet) -> xarray.Dataset:
    """Load the contributions of input tokens on a set of sentence pairs; exact ones on some."""
    main = pairs == find_pair_set(reproduction)
    exact = reproduction.settings.exact_pairs if main else 0
    return reproduction.run(
        "attribution",
        pairs.pairs,
        max_length=pairs.length,
        reads=pairs.reads,
        name=f"contributions-{pairs.name}",
        exact=exact,
        **contribution_settings(reproduction),
    )


def load_contributions_by_tags(reproduction: Reproduction[Settings]) -> xarray.Dataset:
    """Load contributions on the first sentences of the first treebank, by part of speech."""
    chosen, source = reproduction.settings, reproduction.sources.dependency[0]
    treebank = open_treebank(source, invalid="skip")
    first = next(iter(treebank), None)
    has_xpos = first is not None and any(tag != "_" for tag in first.xpos)
    tags = "xpos" if has_xpos else "upos"
    examples = sentences(
        treebank,
        reproduction.tokenizer,
        max_length=reproduction.max_length,
        overflow="skip",
        unencodable="skip" if chosen.invalid == "skip" else "error",
    )
    found = reproduction.run(
        "attribution",
        examples,
        reads=[source, [reproduction.max_length, chosen.invalid]],
        name="contributions-by-tags",
        max_examples=chosen.max_sentences or chosen.max_pairs,
        exact=0,
        tags=tags,
        **contribution_settings(reproduction),
    )
    return found.assign_attrs(tags=tags)


def contribution_settings(reproduction: Reproduction[Settings]) -> dict[str, Any]:
    """Return the settings by which contributions are computed."""
    return {
        "kind": reproduction.model.kinds[0],
        "attribution": attribution_settings(reproduction),
        "seed": reproduction.settings.seed,
    }


def attribution_settings(reproduction: Reproduction[Settings]) -> dict[str, Any]:
    """An estimate from random directions, as many as the settings say."""
    chosen = reproduction.settings
    return {"directions": chosen.directions, "seed": chosen.seed, "precision": "medium"}


def counterparts(found: xarray.Dataset) -> dict[int, int]:
    """The layers of BERT-base that are compared, and ours at the same depth; both from 1."""
    layers, paper = found.sizes["layer"], published.LAYERS
    return {theirs: max(1, round(theirs * layers / paper)) for theirs in (1, 6, paper)} | {1: 1}


def shown_layers(found: xarray.Dataset) -> list[int]:
    """The first, the middle and the last layer, zero-based."""
    return sorted({layer - 1 for layer in counterparts(found).values()})


def contribution_notes(
    reproduction: Reproduction, pairs: PairSet, found: xarray.Dataset
) -> list[str]:
    """Return notes on how model, data and method differ from the paper's."""
    read = pairs.note(int(found.attrs["examples"]), int(found.attrs["tokens"]))
    method = method_note(reproduction, found)
    return [model_note(reproduction), read, method, *agreement_notes(found)]


def method_note(reproduction: Reproduction[Settings], found: xarray.Dataset) -> str:
    """Return the note on how contributions were computed."""
    own = float(found["own_mean"].sel(group="all").mean())
    error = float(found["own_estimate_error"].mean()) / own
    return (
        "The size of a derivative is the Frobenius norm of the Jacobian of the hidden token by the "
        "input embedding; the paper does not say which norm it took. Contributions are estimated "
        f"from {reproduction.settings.directions} random directions for each input token: that of "
        f"one token to itself with a standard error of {100 * error:.1f}% on average. Products of "
        "matrices may be rounded to bfloat16."
    )


def agreement_notes(found: xarray.Dataset) -> list[str]:
    """Return notes on how near the estimate came to the exact contributions."""
    if not found.attrs["exact_examples"]:
        return []
    kinds = ("exact", "estimated")
    exact, estimate = (found[f"{kind}_own_box"].sel(mark="median") for kind in kinds)
    apart = float(abs(estimate - exact).max())
    shares = (found[f"{kind}_not_largest"].mean() for kind in kinds)
    largest, guessed = (f"{100 * float(share):.1f}%" for share in shares)
    return [
        f"On {found.attrs['exact_examples']} short examples contributions were computed exactly as "
        "well: the estimate of a single one is off by "
        f"{100 * float(found['exact_relative'].mean()):.1f}% on average, and correlates with it at "
        f"{float(found['exact_correlation'].min()):.3f} or more in every layer; medians of own "
        f"contributions are at most {100 * apart:.2f} percentage points apart, and tokens that are "
        f"not their largest contributor are {largest} exactly and {guessed} by the estimate."
    ]
