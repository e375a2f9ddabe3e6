"""What every survey of a corpus shares: choosing what runs, running it, keeping the result."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import xarray

from headlight.analysis.attribution import attribution_signature, required_attribution
from headlight.analysis.batch_runner import BatchRunner, Observer
from headlight.analysis.folder import RESULT, RunFolder
from headlight.analysis.passes import observe
from headlight.analysis.settings import Settings
from headlight.attribution_settings import AttributionSettings
from headlight.capture import AttentionSite, CapturedModel, Kind, Objective, default_objective
from headlight.corpora import Corpus, Source, open_corpus
from headlight.encode import Encoded, Examples, adjacent_segments, texts
from headlight.encode.batch import Batch
from headlight.errors import CorpusError, RunError, UsageError
from headlight.measures import GRADIENT
from headlight.result import load, save, versions
from headlight.run import State
from headlight.run.checkpoint import FILE as CHECKPOINT
from headlight.run.example import NOTHING_SEEN, digest_with

SAMPLE = Path(__file__).parents[1] / "assets" / "sample.txt"
LONGEST_DEFAULT = 512
PAIR_LENGTH = 128

NOTHING_MORE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Attributes:
        stage: what the result is called: ``survey``, ``distances`` and so on.
        model: the part of the model that runs.
        kind: which attention is looked at.
        sites: its modules.
        examples: what the model reads.
        settings: how.
        objective: whose gradients are looked at as well; with one the model is run backward too.
        signature: everything that must be equal for two runs to be parts of one.
    """

    stage: str
    model: CapturedModel
    kind: Kind
    sites: list[AttentionSite]
    examples: Examples
    settings: Settings
    objective: Objective | None
    signature: dict[str, Any]

    @property
    def attribution(self) -> AttributionSettings | None:
        """How contributions are computed, if a measure needs them."""
        return required_attribution(self.settings.measures, self.settings.attribution)


def plan_study(
    corpus: Source | Corpus | Examples | None,
    model: CapturedModel,
    settings: Settings,
    *,
    objective: Objective | None = None,
    stage: str = "survey",
    options: Mapping[str, Any] = NOTHING_MORE,
) -> Plan:
    """Choose what runs; nothing of it runs yet.

    Args:
        corpus: a path, glob, ``hf:NAME``, ``-``, texts, or an open corpus; None for the sample
            corpus that comes with the package; or examples that were made for this model, of which
            no setting changes anything but their number.
        model: the model.
        settings: see `Settings`.
        objective: with one, the model is run backward too, and an encoder-decoder runs whole, also
            where attention of its encoder is asked for.
        stage: what the result is called.
        options: what the result depends on besides settings and objective, as JSON.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths; or no tokenizer.
        CorpusError: the corpus cannot be opened.
    """
    if model.tokenizer is None:
        raise UsageError(f"{model.name} has no tokenizer, and a survey reads text.")
    opened = corpus if isinstance(corpus, Examples) else _opened(corpus)
    model, kind, sites = _chosen(model, settings, whole=objective is not None)
    if isinstance(opened, Examples):
        examples, name = opened, "examples"
    else:
        examples, name = _examples(opened, model, settings), opened.source
    signature = {**_signature(name, model, settings, kind, sites), **options}
    if objective:
        signature["objective"] = dict(objective.settings())
    return Plan(stage, model, kind, sites, examples, settings, objective, signature)


def require_objective(
    model: CapturedModel, settings: Settings, objective: Objective | None
) -> Objective | None:
    """The objective that the measures need: the one given, or what the model was trained for.

    Raises:
        MissingHeadError: one is needed, none is given, and the model has no language-model head.
        UsageError: one is given and not needed, or the loss needs two texts.
    """
    if GRADIENT not in settings.measures:
        if objective:
            raise UsageError(
                "an objective is given, and no measure needs it; add 'gradient' to the measures."
            )
        return None
    found = objective or default_objective(model)
    if model.has_decoder_inputs and not settings.pairs:
        raise UsageError(f"the loss of {model.name} needs two texts per example; use pairs.")
    return found


def run_study(
    plan: Plan,
    observer: Callable[[Batch, Sequence[Encoded]], Observer],
    described: Callable[[State], xarray.Dataset],
    *,
    folder: RunFolder,
    progress: bool = True,
) -> xarray.Dataset:
    """Run the plan, or go on with it, and keep its result in the folder, if there is one.

    Args:
        plan: what is to be run.
        observer: makes the observer of one batch.
        described: makes the result of what was seen.
        folder: see `RunFolder`.
        progress: show a bar on standard error.

    Raises:
        CorpusError: the corpus cannot be read, or holds no example.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    place = folder.made()
    if place and folder.resume and (finished := _finished(place, plan)):
        return finished
    step = BatchRunner(
        plan.model,
        plan.sites,
        observer,
        plan.settings.batch_tokens,
        plan.objective,
        plan.attribution,
    )
    state = observe(
        plan.examples,
        step,
        signature=plan.signature,
        folder=place,
        resume=folder.resume,
        max_examples=plan.settings.max_examples,
        progress=progress,
    )
    if not state.examples:
        if place:  # nothing to go on from
            (place / CHECKPOINT).unlink(missing_ok=True)
        raise CorpusError(
            f"{plan.signature['corpus']}: no example could be made of it; is the text too short?"
        )
    if place and not plan.examples.counts.examples:  # measured by an earlier process
        _demand_same_corpus(plan, state.digest, place)
    result = described(state)
    if place:
        save(result, place / RESULT)
    return result


def attributes(plan: Plan, state: State, title: str, command: str | None = None) -> dict[str, Any]:
    """What would have to be repeated to get the same, and what was left out."""
    counts = plan.examples.counts
    return {
        "title": title,
        **{name: plan.signature[name] for name in ("model", "revision", "kind", "corpus")},
        "category_names": json.dumps(_names(plan.model.tokenizer)),
        "corpus_digest": state.digest,
        "documents": state.examples,
        "tokens": state.tokens,
        "truncated": counts.truncated,
        "split": counts.split,
        "discarded": counts.discarded,
        "empty": counts.empty,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "versions": json.dumps(versions()),
        "settings": json.dumps(plan.signature),
    }


def _opened(corpus: Source | Corpus | None) -> Corpus:
    source = SAMPLE if corpus is None else corpus
    return source if isinstance(source, Corpus) else open_corpus(source)


def _names(tokenizer: Any) -> dict[str, str]:
    """What this tokenizer calls the special tokens that begin and end a text."""
    named = {
        "cls": tokenizer.cls_token or tokenizer.bos_token,
        "sep": tokenizer.sep_token or tokenizer.eos_token,
    }
    return {category: str(token) for category, token in named.items() if token}


def _chosen(
    model: CapturedModel, settings: Settings, *, whole: bool
) -> tuple[CapturedModel, Kind, list[AttentionSite]]:
    """The part of the model that runs, and the attention in it that is asked for."""
    wants_decoder = settings.pairs and (whole or settings.kind != "encoder")
    if model.has_decoder_inputs and not wants_decoder:
        if settings.kind in ("decoder", "cross"):
            raise UsageError(
                f"{settings.kind} attention of {model.name} needs two texts per example; use pairs."
            )
        model = model.encoder()
    kind = settings.kind or model.kinds[0]
    sites = model.sites_of(kind, settings.layers)
    if not sites:
        raise UsageError("no layer is asked for; name at least one, or leave layers out for all.")
    return model, kind, sites


def _examples(corpus: Corpus, model: CapturedModel, settings: Settings) -> Examples:
    longest = model.longest
    length = settings.max_length
    if length is None:
        most = PAIR_LENGTH if settings.pairs else LONGEST_DEFAULT
        length = min(most, longest or most)
    if longest is not None and length > longest:
        raise UsageError(
            f"max_length is {length}, and {model.name} takes at most {longest} tokens; allow fewer."
        )
    tokenizer: Any = model.tokenizer
    if not settings.pairs:
        return texts(corpus, tokenizer, max_length=length, overflow=settings.overflow)
    return adjacent_segments(
        corpus,
        tokenizer,
        length=length,
        seed=settings.seed,
        segment_ids=settings.segment_ids,
        lone_units=settings.lone_units,
        decoder_start=model.decoder_start,
    )


def _signature(
    corpus: str,
    model: CapturedModel,
    settings: Settings,
    kind: Kind,
    sites: Sequence[AttentionSite],
) -> dict[str, Any]:
    """Everything that must be equal for two runs to be parts of one."""
    attribution = required_attribution(settings.measures, settings.attribution)
    return {
        **asdict(settings),
        "attribution": attribution_signature(attribution),
        "kind": kind,
        "layers": [site.layer for site in sites],
        "model": model.name,
        "revision": model.revision,
        "dtype": str(model.transformer.dtype).removeprefix("torch."),
        "corpus": "the sample corpus" if corpus == str(SAMPLE) else corpus,
    }


def _finished(folder: Path, plan: Plan) -> xarray.Dataset | None:
    """The result in the folder, if this plan has been completed there.

    Raises:
        RunError: the result is of another survey, or the corpus has changed since.
    """
    path = folder / RESULT
    if not path.exists():
        return None
    result = load(path, stage=plan.stage)
    before = json.loads(result.attrs.get("settings", "{}"))
    now = json.loads(json.dumps(plan.signature))  # as it comes back from a file
    different = sorted(name for name in before | now if before.get(name) != now.get(name))
    if different:
        raise RunError(
            f"{path} is of a survey with other settings ({', '.join(different)}); repeat those, "
            "begin anew with --overwrite, or choose another folder with --out."
        )
    _demand_same_corpus(plan, result.attrs["corpus_digest"], folder)
    return result


def _demand_same_corpus(plan: Plan, digest: str, folder: Path) -> None:
    """Read the corpus without measuring it; `plan.examples.counts` then says what was left out."""
    found = NOTHING_SEEN
    for example in islice(plan.examples, plan.settings.max_examples):
        found = digest_with(found, example)
    if found != digest:
        raise RunError(
            f"the corpus has changed since the run in {folder} was completed; restore it, begin "
            "anew with --overwrite, or choose another folder with --out."
        )
