"""The main job: read a corpus through a model, and say head by head what attention does."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import xarray

from headlight.capture import Kind, Site, Subject
from headlight.corpora import Corpus, Source, open_corpus
from headlight.encode import Encoded, Examples, pairs as encode_pairs, texts
from headlight.encode.batch import Batch
from headlight.errors import CorpusError, RunError, UnknownNameError, UsageError
from headlight.measures import ValueBias
from headlight.observe import BATCH_TOKENS, Step, observe
from headlight.result import load, save, versions
from headlight.run import State
from headlight.run.checkpoint import FILE as CHECKPOINT
from headlight.run.example import NOTHING_SEEN, digest_with
from headlight.surveys.dataset import dataset
from headlight.surveys.folder import RESULT, Folder
from headlight.surveys.observer import Observer, Side

SAMPLE = Path(__file__).parents[1] / "assets" / "sample.txt"
LONGEST_DEFAULT = 512
PAIR_LENGTH = 128
SAMPLE_LENGTH = 256
"""Two paragraphs of the sample corpus."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to survey; everything that the result depends on besides model and corpus.

    Attributes:
        pairs: two adjacent segments per example (Clark et al. 2019) instead of one text.
        max_length: tokens per example, special ones included; by default 128 for pairs, else what
            the model takes, at most 512.
        overflow: a longer text is ``truncate``d, ``split`` or an ``error``.
        segment_ids: with pairs, segment ids ``pair`` (0 and 1) or ``zeros`` (the released maps of
            Clark et al.).
        lone_units: with pairs, a paragraph that fills the room alone waits for the next (``join``),
            or ends its document (``discard``, the released code of Clark et al.).
        max_examples: stop after so many.
        kind: which attention: ``encoder``, ``decoder`` or ``cross``; by default the first of these
            that the model has, given the inputs.
        layers: which layers; by default all. The others keep their fast attention.
        value_bias: whether T of effective attention has the value bias in it.
        batch_tokens: tokens in a batch, padding included. The result does not depend on it.
        seed: where segments are cut.
    """

    pairs: bool = False
    max_length: int | None = None
    overflow: str = "truncate"
    segment_ids: str = "pair"
    lone_units: str = "join"
    max_examples: int | None = None
    kind: Kind | None = None
    layers: tuple[int, ...] | None = None
    value_bias: ValueBias = "include"
    batch_tokens: int = BATCH_TOKENS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_examples is not None and self.max_examples < 1:
            raise UsageError(f"max_examples must be at least 1, not {self.max_examples}.")
        if self.batch_tokens < 1:
            raise UsageError(f"batch_tokens must be at least 1, not {self.batch_tokens}.")
        if self.kind not in (None, "encoder", "decoder", "cross"):
            raise UnknownNameError("kind of attention", self.kind, ("encoder", "decoder", "cross"))
        if self.value_bias not in ("include", "exclude"):
            raise UnknownNameError(
                "treatment of the value bias", self.value_bias, ("include", "exclude")
            )


def sample_settings(settings: Settings, subject: Subject) -> Settings:
    """What suits the sample corpus: two adjacent paragraphs per example."""
    if settings.max_length is not None:
        return replace(settings, pairs=True)
    longest = min(SAMPLE_LENGTH, subject.longest or SAMPLE_LENGTH)
    return replace(settings, pairs=True, max_length=longest)


def survey(
    corpus: Source | Corpus | None,
    subject: Subject,
    settings: Settings | None = None,
    *,
    folder: Folder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """What raw weights, vector norms and effective attention say about every head, on a corpus.

    Streams: memory does not grow with the corpus.  With a folder, what was found is kept after
    every shard, so that an interrupted run can be resumed, and ends in ``result.nc``.

    Args:
        corpus: a path, glob, ``hf:NAME``, ``-``, texts, or an open corpus; None for the sample
            corpus that comes with the package.
        subject: the model.
        settings: see `Settings`.
        folder: see `Folder`; without one nothing is kept.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Returns:
        The statistics, see the documentation of results; layers and heads are zero-based.

    Raises:
        UsageError: something does not fit together: layers, kinds, lengths, folder.
        CorpusError: the corpus cannot be read, or holds no example.
        UnsupportedModelError: the attention of the model cannot be captured exactly.
        RunError: the run in the folder is of another model, corpus or setting.
    """
    settings, folder = settings or Settings(), folder or Folder()
    if subject.tokenizer is None:
        raise UsageError(f"{subject.name} has no tokenizer, and a survey reads text.")
    plan = _planned(corpus, subject, settings)
    place = folder.made()
    if place and folder.resume and (finished := _finished(place, plan)):
        return finished
    state = _run(plan, place, resume=folder.resume, progress=progress)
    if not state.examples:
        if place:  # nothing to go on from
            (place / CHECKPOINT).unlink(missing_ok=True)
        raise CorpusError(
            f"{plan.signature['corpus']}: no example could be made of it; is the text too short?"
        )
    if place and not plan.examples.counts.examples:  # measured by an earlier process
        _demand_same_corpus(plan, state.digest, place)
    result = dataset(
        state.tally, [site.layer for site in plan.sites], _attributes(plan, state, command)
    )
    if place:
        save(result, place / RESULT)
    return result


@dataclass(frozen=True)
class _Plan:
    """What is to be run."""

    subject: Subject
    kind: Kind
    sites: list[Site]
    examples: Examples
    settings: Settings
    signature: dict[str, Any]


def _planned(corpus: Source | Corpus | None, subject: Subject, settings: Settings) -> _Plan:
    source = SAMPLE if corpus is None else corpus
    opened = source if isinstance(source, Corpus) else open_corpus(source)
    subject, kind, sites = _choose(subject, settings)
    examples = _examples(opened, subject, settings)
    signature = _signature(opened, subject, settings, kind, sites)
    return _Plan(subject, kind, sites, examples, settings, signature)


def _attributes(plan: _Plan, state: State, command: str | None) -> dict[str, Any]:
    """What would have to be repeated to get the same, and what was left out."""
    counts = plan.examples.counts
    return {
        "title": "Survey of attention",
        **{name: plan.signature[name] for name in ("model", "revision", "kind", "corpus")},
        "category_names": json.dumps(_names(plan.subject.tokenizer)),
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


def _names(tokenizer: Any) -> dict[str, str]:
    """What this tokenizer calls the special tokens that begin and end a text."""
    named = {
        "cls": tokenizer.cls_token or tokenizer.bos_token,
        "sep": tokenizer.sep_token or tokenizer.eos_token,
    }
    return {category: str(token) for category, token in named.items() if token}


def _choose(subject: Subject, settings: Settings) -> tuple[Subject, Kind, list[Site]]:
    """The part of the model that runs, and the attention in it that is asked for."""
    wants_decoder = settings.pairs and settings.kind != "encoder"
    if subject.has_decoder_inputs and not wants_decoder:
        if settings.kind in ("decoder", "cross"):
            raise UsageError(
                f"{settings.kind} attention of {subject.name} needs two texts per example; "
                "use pairs."
            )
        subject = subject.encoder()
    kind = settings.kind or subject.kinds[0]
    sites = subject.sites_of(kind, settings.layers)
    if not sites:
        raise UsageError("no layer is asked for; name at least one, or leave layers out for all.")
    return subject, kind, sites


def _examples(corpus: Corpus, subject: Subject, settings: Settings) -> Examples:
    longest = subject.longest
    length = settings.max_length
    if length is None:
        most = PAIR_LENGTH if settings.pairs else LONGEST_DEFAULT
        length = min(most, longest or most)
    if longest is not None and length > longest:
        raise UsageError(
            f"max_length is {length}, and {subject.name} takes at most {longest} tokens; "
            "allow fewer."
        )
    tokenizer: Any = subject.tokenizer
    if not settings.pairs:
        return texts(corpus, tokenizer, max_length=length, overflow=settings.overflow)
    return encode_pairs(
        corpus,
        tokenizer,
        length=length,
        seed=settings.seed,
        segment_ids=settings.segment_ids,
        lone_units=settings.lone_units,
        decoder_start=subject.decoder_start,
    )


def _signature(
    corpus: Corpus, subject: Subject, settings: Settings, kind: Kind, sites: Sequence[Site]
) -> dict[str, Any]:
    """Everything that must be equal for two runs to be parts of one."""
    return {
        **asdict(settings),
        "kind": kind,
        "layers": [site.layer for site in sites],
        "model": subject.name,
        "revision": subject.revision,
        "dtype": str(subject.transformer.dtype).removeprefix("torch."),
        "corpus": "the sample corpus" if corpus.source == str(SAMPLE) else corpus.source,
    }


def _finished(folder: Path, plan: _Plan) -> xarray.Dataset | None:
    """The result in the folder, if this survey has been completed there.

    Raises:
        RunError: the result is of another survey, or the corpus has changed since.
    """
    path = folder / RESULT
    if not path.exists():
        return None
    result = load(path, stage="survey")
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


def _demand_same_corpus(plan: _Plan, digest: str, folder: Path) -> None:
    """Read the corpus without measuring it; `plan.examples.counts` then says what was left out."""
    found = NOTHING_SEEN
    for example in islice(plan.examples, plan.settings.max_examples):
        found = digest_with(found, example)
    if found != digest:
        raise RunError(
            f"the corpus has changed since the run in {folder} was completed; restore it, begin "
            "anew with --overwrite, or choose another folder with --out."
        )


def _run(plan: _Plan, folder: Path | None, *, resume: bool, progress: bool) -> State:
    settings = plan.settings

    def observer(batch: Batch, _: Sequence[Encoded]) -> Observer:
        return Observer(*Side.both(batch, plan.kind), plan.kind, settings.value_bias)

    return observe(
        plan.examples,
        Step(plan.subject, plan.sites, observer, settings.batch_tokens),
        signature=plan.signature,
        folder=folder,
        resume=resume,
        max_examples=settings.max_examples,
        progress=progress,
    )
