"""Results kept in the folder of a run, their origin, and whether one is of this very study."""

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


@dataclass
class KeptResult:
    """Result of a run, as far as there is one.

    Attributes:
        origin: Origin of the result.
        folder: Open folder of the run.
        command: Command that asked for it, for the record.
        result: The finished result, if it is known.
    """

    origin: Origin
    folder: OpenFolder
    command: str | None = None
    result: xarray.Dataset | None = None

    def save(self, computed: xarray.Dataset) -> None:
        """Complete a result by its origin, and keep it if there is a folder."""
        origin = self.origin
        attributes = _attributes(origin, self.command) | computed.attrs | self.folder.labels
        result = computed.copy()
        if origin.kind is not None and origin.kind != ALL:
            result = origin.model.with_own_numbers(result, origin.kind)
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
    """The finished result in the folder, if it is of this very study; else the block computes it.

    Within the block numbers have the precision of their own, and as many threads as those of
    others that share the run.

    Args:
        origin: Origin of the result.
        folder: Open folder of the run.
        command: Command that asked for it, for the record.
        digest: Reads the corpus without the model, so that a changed one is noticed.

    Raises:
        RunError: the result in the folder is of another study, or the corpus has changed since.
    """
    kept = KeptResult(origin, folder, command)
    if folder.place and folder.resumed:
        kept.result = _finished(folder.place, origin, digest)
    if kept.result is not None:
        yield kept
    else:
        device = origin.model.transformer.device
        # With as many threads as others that share the run: bits depend on it.
        alone = one_thread() if folder.shared and device.type == "cpu" else nullcontext()
        try:
            with own_precision(device), alone:
                yield kept
        except (RunError, FileNotFoundError):
            # While this process was behind, others may have ended, and put their blocks away.
            if folder.place and folder.shared:
                kept.result = _finished(folder.place, origin, None)
            if kept.result is None:
                raise
    folder.tidy()


def keep_result(
    origin: Origin, compute: Callable[[Location | None], xarray.Dataset], **options: Any
) -> xarray.Dataset:
    """The finished result in the folder, or one that is computed and kept there.

    Args:
        origin: Origin of the result.
        compute: Computes it, given the folder, where half-done work may be kept.
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
