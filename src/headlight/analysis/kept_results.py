"""Results kept in the folder of a run, their origin, and whether one is of this very study."""

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import xarray

from headlight.analysis.plan import StudyPlan
from headlight.analysis.run_folder import RunFolder
from headlight.capture import CapturedModel
from headlight.capture.torch_settings import one_thread, own_precision
from headlight.errors import RunError, setting
from headlight.files import Location
from headlight.result import RESULT, load, save, stamp
from headlight.result.kinds import ALL
from headlight.run.example import is_digest
from headlight.vocabulary import Kinds


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
        check_same_corpus(digest(), str(result.attrs.get("corpus_digest")), folder)
    return result


def check_same_corpus(now: str, before: str, folder: Location) -> None:
    """Refuse a result whose corpus has another digest now.

    Raises:
        RunError: it is so, or an earlier version has written it.
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
