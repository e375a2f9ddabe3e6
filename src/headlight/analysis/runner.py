"""Running a study: its passes, one after the other, and its result, kept in a folder."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import xarray

from headlight.analysis.batch_runner import BatchRunner, Observer
from headlight.analysis.folder import RunFolder
from headlight.analysis.passes import observe
from headlight.analysis.plan import Pass, StudyPlan, batch_tokens, share_read
from headlight.capture import CapturedModel
from headlight.capture.backward import one_thread, own_precision
from headlight.encode import FRAME_NAMES, Encoded, piece_style, special_tokens
from headlight.encode.batch import Batch
from headlight.encode.examples import TEXT_SUM
from headlight.encode.pictures import PATCH_NAMES
from headlight.errors import CorpusError, RunError, setting
from headlight.files import Location
from headlight.result import RESULT, joined, load, save, stamp
from headlight.result.kinds import ALL
from headlight.run import State
from headlight.run.blocks import begin_pass
from headlight.run.checkpoint import FILE as CHECKPOINT
from headlight.run.example import NOTHING_SEEN, ShardReader, digest_with, is_digest, read_shards
from headlight.run.shared import Mode
from headlight.vocabulary import Kinds

E = TypeVar("E", bound=Encoded)

NOT_COUNTED = ("documents", "examples", TEXT_SUM)
"""Counts of an iteration that say nothing about what was left out."""
SELDOM = ("special", "doubled", "one_word")
"""Counts that a result has where they are not 0."""


def run_study(
    plan: StudyPlan[E],
    observer: Callable[[Pass, Batch, Sequence[E]], Observer],
    to_dataset: Callable[[Pass, State], xarray.Dataset],
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    progress: bool = True,
) -> xarray.Dataset:
    """Run the plan, or go on with it, and keep its result in the folder, if there is one.

    Args:
        plan: what is to be run.
        observer: makes the observer of one batch of one pass.
        to_dataset: makes the result of what was seen in a pass; what all results say of their
            origin is added here.
        folder: see `RunFolder`.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.

    Raises:
        CorpusError: the corpus cannot be read, or holds no example.
        RunError: the run in the folder is of another model, corpus or setting.
    """

    def compute(place: Location | None) -> xarray.Dataset:
        mode = (folder or RunFolder()).mode
        parts: list[xarray.Dataset] = []
        for one in plan.passes:
            state = _run_pass(plan, one, observer, place, mode=mode, progress=progress)
            read = _attributes_of_corpus(plan, state)  # before examples are read again
            part = to_dataset(one, state)
            parts.append(part.assign_attrs(read | part.attrs))
        result = joined(parts)
        several = len(parts) > 1 and plan.measures
        return result.sel(measure=list(plan.measures)) if several else result

    with plan.model.unchanged():
        origin, digest = Origin.of(plan), partial(_digest_of_corpus, plan)
        return keep_result(origin, compute, folder=folder, command=command, digest=digest)


@dataclass(frozen=True)
class Origin:
    """Origin of a result, as far as it is known before it is computed.

    Attributes:
        name: of the study.
        title: what the result is about.
        model: whose attention it is.
        signature: everything that the result depends on besides the corpus, as JSON.
        kind: which attention.
        corpus: what the corpus is called.
    """

    name: str
    title: str
    model: CapturedModel
    signature: Mapping[str, Any]
    kind: Kinds | None = None
    corpus: str = ""

    @classmethod
    def of(cls, plan: StudyPlan[Any]) -> "Origin":
        """Return the origin of the result of a plan."""
        kind = ALL if plan.all_kinds else plan.kind
        return cls(plan.name, plan.title, plan.model, plan.signature(), kind, plan.source)


def keep_result(
    origin: Origin,
    compute: Callable[[Location | None], xarray.Dataset],
    *,
    folder: RunFolder | None = None,
    command: str | None = None,
    digest: Callable[[], str] | None = None,
) -> xarray.Dataset:
    """The finished result in the folder, if it is of this very study; else a new one.

    Args:
        origin: what the result is of.
        compute: makes it; it is given the folder, where half-done work may be kept.
        folder: see `RunFolder`; without one nothing is kept.
        command: how it was asked for, for the record.
        digest: reads the corpus without the model, so that a changed one is noticed.

    Raises:
        RunError: the result in the folder is of another study, or the corpus has changed since.
        UsageError: the folder holds a run, and nobody has said what should become of it.
    """
    with (folder or RunFolder()).opened() as mine:
        place = mine.place
        if place and mine.shared:
            result = _of_first(place, origin, digest, lambda: _made(origin, command, compute, mine))
        else:
            finished = _finished(place, origin, digest) if place and mine.resume else None
            result = _made(origin, command, compute, mine) if finished is None else finished
        mine.tidy()
        return result


def _made(
    origin: Origin,
    command: str | None,
    compute: Callable[[Location | None], xarray.Dataset],
    folder: RunFolder,
) -> xarray.Dataset:
    """A new result, kept if there is a folder."""
    device = origin.model.transformer.device
    # With as many threads as others that share the run: bits depend on it.
    alone = one_thread() if folder.shared and device.type == "cpu" else nullcontext()
    with own_precision(device), alone:
        computed = compute(folder.place)
    attributes = _attributes(origin, command) | computed.attrs | folder.labels
    result = computed.copy()
    if origin.kind is not None and origin.kind != ALL:
        result = origin.model.with_own_numbers(result, origin.kind)
    result.attrs = {name: value for name, value in attributes.items() if value is not None}
    if folder.place:
        save(result, folder.place / RESULT)
    return result


def _of_first(
    place: Location,
    origin: Origin,
    digest: Callable[[], str] | None,
    make: Callable[[], xarray.Dataset],
) -> xarray.Dataset:
    """The result of a shared run: that of another process if it was first, else a new one."""
    result = _finished(place, origin, digest)
    if result is None:
        try:
            return make()
        except (RunError, FileNotFoundError):
            # While this process was behind, others may have ended, and put their blocks away.
            result = _finished(place, origin, None)
            if result is None:
                raise
    return result


def _run_pass(
    plan: StudyPlan[E],
    one: Pass,
    observer: Callable[[Pass, Batch, Sequence[E]], Observer],
    place: Location | None,
    *,
    mode: Mode,
    progress: bool,
) -> State:
    def observe_batch(batch: Batch, examples: Sequence[E]) -> Observer:
        return observer(one, batch, examples)

    place = begin_pass(place, one.folder) if place and one.folder else place
    runner = BatchRunner(
        plan.model,
        plan.sites,
        observe_batch,
        batch_tokens(plan.model, plan.settings),
        objective=one.objective,
        attribution=one.attribution,
        query_block=plan.query_block,
        residual=one.residual,
        begin_shard=plan.begin_shard,
        seconds=plan.seconds,
    )
    examples = _Watched(plan.examples)
    state = observe(
        examples,
        runner,
        signature=plan.signature(one),
        folder=place,
        mode=mode,
        max_examples=plan.max_examples,
        progress=progress and (plan.title_of(one) or True),
    )
    if not state.examples:
        if place:  # nothing to go on from
            (place / CHECKPOINT).unlink(missing_ok=True)
        raise CorpusError(
            f"{plan.source}: no example could be made of it for {plan.model}; {plan.if_empty}"
        )
    if place and not examples.begun:  # observed by an earlier process
        _check_same_corpus(_digest_of_corpus(plan), state.digest, place)
    return state


class _Watched(Iterable[E]):
    """Examples of which it is known whether anybody began to read them."""

    def __init__(self, examples: Iterable[E]) -> None:
        self._examples = examples
        self.begun = False

    def __iter__(self) -> Iterator[E]:
        self.begun = True
        return iter(self._examples)

    def shards(self, size: int) -> ShardReader[E]:
        """See `headlight.run.example.Sharded`."""
        self.begun = True
        return read_shards(self._examples, size)


def _attributes_of_corpus(plan: StudyPlan[E], state: State) -> dict[str, Any]:
    """Return the attributes of what was read, and of what was left out."""
    counts = state.counts or asdict(plan.examples.counts)
    ended = plan.max_examples is not None and state.examples == plan.max_examples
    return {
        **share_read(plan.corpus, int(counts.get("documents", 0)) if ended else None),
        **({} if plan.all_kinds else category_names(plan)),
        "corpus_digest": state.digest,
        **({"text_digest": f"{counts[TEXT_SUM]:x}"} if TEXT_SUM in counts else {}),
        "examples": state.examples,
        **({"recordings": state.examples} if plan.model.hears else {}),
        **({"pictures": state.examples} if plan.model.sees else {}),
        "tokens": state.tokens,
        **{
            name: value
            for name, value in counts.items()
            if name not in NOT_COUNTED and (value or name not in SELDOM)
        },
    }


def _attributes(origin: Origin, command: str | None) -> dict[str, Any]:
    """Return the attributes that are needed to reproduce a result."""
    return {
        "title": origin.title,
        **origin.model.origin,
        "kind": origin.kind,
        "corpus": origin.corpus or None,
        "command": command,
        "settings": json.dumps(origin.signature),
        "stage": origin.name,
        **stamp(),
    }


def category_names(plan: StudyPlan[E]) -> dict[str, str]:
    """Return the style of pieces, and the names of special tokens among keys and queries.

    Cross-attention goes from a text that begins otherwise than the one that it goes to.
    """
    if plan.model.sees:
        return {"category_names": json.dumps(PATCH_NAMES)}
    tokenizer: Any = plan.model.tokenizer
    source, target = special_tokens(tokenizer, plan.model.decoder_start)
    if plan.model.hears:
        source = dict(FRAME_NAMES)
    keys = target if plan.kind == "decoder" else source
    names = {"category_names": json.dumps(keys), "pieces": piece_style(tokenizer)}
    return names | ({"query_category_names": json.dumps(target)} if plan.kind == "cross" else {})


def _finished(
    folder: Location, origin: Origin, digest: Callable[[], str] | None
) -> xarray.Dataset | None:
    """The result in the folder, if this study has been completed there."""
    path = folder / RESULT
    if not path.exists():
        return None
    result = load(folder, stage=origin.name)
    before = json.loads(result.attrs.get("settings", "{}"))
    now = json.loads(json.dumps(dict(origin.signature)))  # as it comes back from a file
    different = sorted(name for name in before | now if before.get(name) != now.get(name))
    if different:
        raise RunError(
            f"{path} is of a study with other settings ({', '.join(map(setting, different))}); "
            f"repeat those, "
            f"start over with {setting('overwrite=True')}, or choose another folder with "
            f"{setting('out=')}."
        )
    if digest is not None:
        _check_same_corpus(digest(), str(result.attrs.get("corpus_digest")), folder)
    return result


def _digest_of_corpus(plan: StudyPlan[Any]) -> str:
    """Read the corpus without the model; its counts then say what was left out."""
    digest = NOTHING_SEEN
    for example in islice(plan.examples, plan.max_examples):
        digest = digest_with(digest, example)
    return digest


def _check_same_corpus(now: str, before: str, folder: Location) -> None:
    if is_digest(now) and not is_digest(before):
        raise RunError(
            f"{folder} was completed by an earlier version of Headlight, which can be told neither "
            "that the corpus is still the same nor that it is not; open the result as it is, or "
            f"start over with {setting('overwrite=True')}."
        )
    if now != before:
        raise RunError(
            f"the corpus has changed since the run in {folder} was completed; restore it, start "
            f"over with {setting('overwrite=True')}, or choose another folder with "
            f"{setting('out=')}."
        )
