"""The steps of a run: it is checked, shared among workers, measured, and written down."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.folder import JOIN, RunFolder
from headlight.capture import CapturedModel, load_model
from headlight.capture.tensor_parallel import processes_of
from headlight.catalogue import Study, find_study
from headlight.catalogue.models import EMBEDDED_MODELS, EMBEDDED_NAME
from headlight.result import refusing_incomplete
from headlight.sessions.passage_pages import check_pages, write_pages
from headlight.sessions.reports import write_configuration, write_report
from headlight.sessions.workers import (
    check_workers,
    local_workers,
    on_cluster,
    rank_folder,
    ray_workers,
    working_directory,
)
from headlight.settings import StudySettings


def run_study(
    study: Study,
    source: Any,
    settings: StudySettings,
    model: CapturedModel,
    folder: RunFolder,
    *,
    command: str | None = None,
    progress: bool = True,
    **objects: Any,
) -> xarray.Dataset:
    """Run a study, and write its report, tables and configuration beside its result.

    Args:
        study: which.
        source: what it reads.
        settings: of its own class.
        model: the model.
        folder: where everything is kept, if anywhere.
        command: how it was asked for, for the record.
        progress: show a bar on standard error.
        objects: what its function ``run`` takes besides settings.

    Raises:
        HeadlightError: see the study.
    """
    check_workers(study, source, folder, list(objects))
    repeats = configuration(study, source, settings, model, folder.corpus_name)
    source = study.source.or_sample(source)
    if settings.pages:
        check_pages(source, folder.place if folder else None)
    processes = processes_of(model.transformer)
    progress = progress and not (processes is not None and processes.rank())
    with rank_folder(study, folder, processes) as own, on_cluster(own), own.opened() as mine:
        with _workers(study, repeats, mine, model, progress=progress):
            result = study.run(
                source, model, settings, folder=mine, command=command, progress=progress, **objects
            )
        # What was finished before, or by another process, may have other names.
        result = result.assign_attrs({**model.origin, **mine.labels})
        if mine.output is not None:
            # What an earlier process finished may have been changed since.
            with refusing_incomplete() if folder.resume else nullcontext():
                wanted = settings.pages is not None
                pages = write_pages(result, source, settings, model, mine.output) if wanted else {}
                write_report(result, mine.output, repeats, pages)
    return result


def join_run(
    configuration: Mapping[str, Any], folder: str, home: str, *, trust_remote_code: bool = False
) -> None:
    """Work on a run as one of its workers, in a process that knows nothing else of it.

    Args:
        configuration: what repeats the run, see `configuration`.
        folder: of the run.
        home: the working directory of the first process, from which paths are meant.
        trust_remote_code: whether the user lets code run that comes with the model; no config file
            says so.

    Raises:
        HeadlightError: see `run_study`.
    """
    given = dict(configuration)
    study, source = find_study(given.pop("study")), given.pop("source", None)
    model, tokenizer = given.pop("model", study.source.default_model), given.pop("tokenizer", None)
    name, corpus_name = given.pop("name", None), given.pop("corpus_name", None)
    loading = {
        name: given.pop(name)
        for name in ("revision", "dtype", "split_special_tokens")
        if name in given
    }
    settings = study.settings.from_mapping(given)
    with working_directory(home):
        loaded = load_model(
            model,
            tokenizer,
            **loading,
            trust_remote_code=trust_remote_code,
            head=settings.required_head,
            layers=settings.layers,
        )
        mine = RunFolder(path=folder, workers=JOIN, corpus_name=corpus_name)
        run_study(study, source, settings, loaded.called(name), mine, progress=False)


@contextmanager
def _workers(
    study: Study,
    repeats: Mapping[str, Any],
    folder: RunFolder,
    model: CapturedModel,
    *,
    progress: bool,
) -> Iterator[None]:
    """Other processes at the run: those of a cluster until all is done, ours as the block lasts."""
    if folder.shared and folder.output is not None:  # for those who join or ask how far it is
        write_configuration(repeats, folder.output)
    if folder.on_ray:
        trust = model.trust_remote_code
        home, place = str(Path.cwd()), str(folder.place)
        join = partial(join_run, repeats, place, home, trust_remote_code=trust)
        ray_workers(join, folder, show=progress)
    with local_workers(study, repeats, folder, model):
        yield


def configuration(
    study: Study,
    source: Any,
    settings: StudySettings,
    model: CapturedModel,
    corpus_name: str | None = None,
) -> dict[str, Any]:
    """Everything that repeats a run, as a config file of the command holds it."""
    found: dict[str, Any] = {"study": study.name}
    if isinstance(source, str | Path):
        found["source"] = str(source)
    if model.name != EMBEDDED_NAME:
        found["model"] = model.name
    if (tokenizer := _name_of_another(model)) is not None:
        found["tokenizer"] = tokenizer
    if not model.revision.startswith("sha256:"):  # which is of the weights in a folder
        found["revision"] = model.revision
    found |= {"name": model.label} if model.label else {}
    found |= {"corpus_name": corpus_name} if corpus_name else {}
    if getattr(model.tokenizer, "split_special_tokens", False):
        found["split_special_tokens"] = True
    found["dtype"] = str(model.transformer.dtype).removeprefix("torch.")
    return found | settings.signature()


def _name_of_another(model: CapturedModel) -> str | None:
    """Return the source of the tokenizer, if it did not come with the model."""
    named = str(getattr(model.tokenizer, "name_or_path", ""))
    own = {"", model.name, str(EMBEDDED_MODELS.get(model.name, ""))}
    return None if named in own else named
