"""Results kept in the folder of a run, their origin, and whether they are of this study."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import xarray

from headlight.capture import CapturedModel
from headlight.capture.torch_settings import one_thread, own_precision
from headlight.engine.example import is_digest
from headlight.engine.folder import NOWHERE, OpenFolder
from headlight.engine.plan import StudyPlan
from headlight.errors import RunError, setting
from headlight.files import Location
from headlight.result import RESULT, load, save, stamp
from headlight.result.kinds import ALL
from headlight.vocabulary import Kinds


@dataclass(frozen=True)
class Origin:
    """Origin of a result, as far as it is known before it is computed.

    Attributes:
        name: Name of the study.
        title: Title of the result.
        model: Model whose attention is observed.
        signature: Everything that the result depends on besides the corpus, as JSON.
        kind: Kind of attention.
        corpus: Name of the corpus.
    """

    name: str
    title: str
    model: CapturedModel
    signature: Mapping[str, Any]
    kind: Kinds | None = None
    corpus: str = ""

    @classmethod
    def from_plan(cls, plan: StudyPlan[Any]) -> "Origin":
        """Return the origin of the result of a plan."""
        kind = ALL if plan.all_kinds else plan.kind
        return cls(plan.name, plan.title, plan.model, plan.signature(), kind, plan.source)


@dataclass
class KeptResult:
    """Result of a run, as far as there is one.

    Attributes:
        origin: Origin of the result.
        folder: Open folder of the run.
        command: Command that requested the run, for the record.
        result: Finished result, if it is known.
    """

    origin: Origin
    folder: OpenFolder
    command: str | None = None
    result: xarray.Dataset | None = None

    def save(self, computed: xarray.Dataset) -> None:
        """Add its origin to a result, and keep the result if there is a folder."""
        origin = self.origin
        attributes = _attributes(origin, self.command) | computed.attrs | self.folder.labels
        result = computed.copy()
        if origin.kind is not None and origin.kind != ALL:
            result = origin.model.with_coordinates(result, origin.kind)
        result.attrs = {name: value for name, value in attributes.items() if value is not None}
        if self.folder.place:
            save(result, self.folder.place / RESULT)
        self.result = result


@contextmanager
def kept_result(
    origin: Origin,
    folder: OpenFolder = NOWHERE,
    *,
    command: str | None = None,
    digest: Callable[[], str] | None = None,
) -> Iterator[KeptResult]:
    """Yield the finished result in the folder, if it is of this study; else the block computes it.

    Within the block, numbers are computed in their own precision, and with as many threads as in
    other processes that share the run.

    Args:
        origin: Origin of the result.
        folder: Open folder of the run.
        command: Command that requested the run, for the record.
        digest: Function that reads the corpus without the model, so that a change is noticed.

    Raises:
        RunError: the result in the folder is of another study, or the corpus has changed since.
    """
    kept = KeptResult(origin, folder, command)
    if folder.place and folder.resumed:
        kept.result = _load_finished(folder.place, origin, digest)
    if kept.result is not None:
        yield kept
    else:
        device = origin.model.transformer.device
        # As many threads as in other processes that share the run: the last bits depend on them.
        alone = one_thread() if folder.shared and device.type == "cpu" else nullcontext()
        try:
            with own_precision(device), alone:
                yield kept
        except (RunError, FileNotFoundError):
            # While this process was behind, others may have ended the run and removed its blocks.
            if folder.place and folder.shared:
                kept.result = _load_finished(folder.place, origin, None)
            if kept.result is None:
                raise
    folder.tidy()


def keep_result(
    origin: Origin, compute: Callable[[Location | None], xarray.Dataset], **options: Any
) -> xarray.Dataset:
    """Return the finished result in the folder, or compute one and keep it there.

    Args:
        origin: Origin of the result.
        compute: Function that computes the result, given the folder, where half-done work may be
            kept.
        options: Options of `kept_result`.

    Raises:
        RunError: see `kept_result`.
    """
    with kept_result(origin, **options) as kept:
        if kept.result is None:
            kept.save(compute(kept.folder.place))
    assert kept.result is not None  # noqa: S101 - it was there, or was computed
    return kept.result


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


def _load_finished(
    folder: Location, origin: Origin, digest: Callable[[], str] | None
) -> xarray.Dataset | None:
    """Return the result in the folder, if this study has been completed there."""
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
        check_same_corpus(digest(), str(result.attrs.get("corpus_digest")), folder)
    return result


def check_same_corpus(now: str, before: str, folder: Location) -> None:
    """Refuse a result whose corpus has another digest now.

    Raises:
        RunError: the digests differ, or an earlier version wrote that of the result.
    """
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
