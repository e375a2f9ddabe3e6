"""The results that the exhibits on contributions share, each made once."""

from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.folder import RunFolder
from headlight.attribution_settings import AttributionSettings
from headlight.corpora import open_treebank
from headlight.encode import sentences
from headlight.papers.brunner2020.datasets import (
    main_set,
    pair_examples,
    pair_length,
    pair_note,
    pair_source,
)
from headlight.papers.brunner2020.published_contribution import LAYERS
from headlight.papers.reproduction import Study, file_state
from headlight.papers.text import model_note
from headlight.studies.contributions import study as contributions
from headlight.studies.contributions.settings import ContributionSettings


def contributed(study: Study, name: str) -> xarray.Dataset:
    """What input tokens contribute, on a set of sentence pairs; exactly as well on some of MRPC."""
    exact = study.options.exact_pairs if name == main_set(study) else 0

    def make(run: Path) -> xarray.Dataset:
        return contributions.run(
            pair_examples(study, name),
            study.model,
            settings(study, exact=exact),
            folder=RunFolder(path=run, resume=True),
            progress=study.progress,
        )

    state = file_state(pair_source(study, name))
    return study.kept(f"contributions-{name}", "contributions", make, pairs=state)


def contributed_by_tags(study: Study) -> xarray.Dataset:
    """The same on the first sentences of the first treebank, by part of speech."""
    source = study.sources.dependency[0]

    def make(run: Path) -> xarray.Dataset:
        treebank = open_treebank(source, invalid="skip")
        first = next(iter(treebank), None)
        tags = "xpos" if first is not None and any(tag != "_" for tag in first.xpos) else "upos"
        examples = sentences(
            treebank,
            study.tokenizer,
            max_length=pair_length(study),
            overflow="skip",
            unencodable="skip" if study.options.broken == "skip" else "error",
        )
        found = contributions.run(
            examples,
            study.model,
            settings(
                study,
                max_examples=study.options.max_sentences or study.options.max_pairs,
                exact=0,
                tags=tags,
            ),
            folder=RunFolder(path=run, resume=True),
            progress=study.progress,
        )
        return found.assign_attrs(tags=tags)

    return study.kept("contributions-by-tags", "contributions", make, source=file_state(source))


def settings(study: Study, **more: Any) -> ContributionSettings:
    """How contributions are computed."""
    return ContributionSettings(
        kind=study.model.kinds[0],
        attribution=attribution_settings(study),
        seed=study.options.seed,
        **more,
    )


def attribution_settings(study: Study) -> AttributionSettings:
    """An estimate by random probes, as many as the options say."""
    return AttributionSettings(directions=study.options.attribution_probes, seed=study.options.seed)


def counterparts(found: xarray.Dataset) -> dict[int, int]:
    """The layers of BERT-base that are compared, and ours at the same depth; both from 1."""
    layers = found.sizes["layer"]
    return {theirs: max(1, round(theirs * layers / LAYERS)) for theirs in (1, 6, LAYERS)} | {1: 1}


def shown_layers(found: xarray.Dataset) -> list[int]:
    """The first, the middle and the last layer, zero-based."""
    return sorted({layer - 1 for layer in counterparts(found).values()})


def contribution_notes(study: Study, name: str, found: xarray.Dataset) -> list[str]:
    """Where model, data and method differ from the paper's."""
    read = pair_note(study, name, int(found.attrs["examples"]), int(found.attrs["tokens"]))
    return [model_note(study), read, method_note(study, found), *agreement_notes(found)]


def method_note(study: Study, found: xarray.Dataset) -> str:
    """How contributions were computed."""
    error = float(found["own_estimate_error"].mean()) / float(
        found["own_mean"].sel(group="all").mean()
    )
    return (
        "The size of a derivative is the Frobenius norm of the Jacobian of the hidden token by the "
        "input embedding; the paper does not say which norm it took. Contributions are estimated "
        f"from {study.options.attribution_probes} random probes for each input token: that of one "
        f"token to itself with a standard error of {100 * error:.1f}% on average."
    )


def agreement_notes(found: xarray.Dataset) -> list[str]:
    """How near the estimate came to what is exact."""
    if not found.attrs["exact_examples"]:
        return []
    exact, estimate = (found[f"{kind}_own_box"].sel(mark="median") for kind in _KINDS)
    apart = float(abs(estimate - exact).max())
    shares = (found[f"{kind}_not_largest"].mean() for kind in _KINDS)
    largest, guessed = (f"{100 * float(share):.1f}%" for share in shares)
    return [
        f"On {found.attrs['exact_examples']} short examples contributions were computed exactly as "
        "well: the estimate of a single one is off by "
        f"{100 * float(found['exact_relative'].mean()):.1f}% on average, and correlates with it at "
        f"{float(found['exact_correlation'].min()):.3f} or more in every layer; medians of own "
        f"contributions are at most {100 * apart:.2f} percentage points apart, and tokens that are "
        f"not their largest contributor are {largest} exactly and {guessed} by the estimate."
    ]


_KINDS = ("exact", "estimated")
