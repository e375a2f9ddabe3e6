"""Runs of studies on behalf of a user, alone or as one of several workers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import xarray

from headlight.analysis.run_folder import JOIN, RunFolder
from headlight.capture import CapturedModel, load_model
from headlight.capture.tensor_parallel import processes_of
from headlight.catalogue import Study, find_study
from headlight.result import refusing_incomplete
from headlight.run import announced
from headlight.sessions.config_file import write_configuration
from headlight.sessions.configuration import configuration
from headlight.sessions.passage_pages import check_pages, write_pages
from headlight.sessions.ray_cluster import on_cluster, ray_workers, working_directory
from headlight.sessions.report import write_report
from headlight.sessions.tensor_parallel import rank_folder
from headlight.sessions.workers import check_workers, local_workers
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
            saying = announced("writing the report") if progress else nullcontext()
            # What an earlier process finished may have been changed since.
            with saying, refusing_incomplete() if folder.resume else nullcontext():
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
    config = dict(configuration)
    study, source = find_study(config.pop("study")), config.pop("source", None)
    model, tokenizer = (
        config.pop("model", study.source.default_model),
        config.pop("tokenizer", None),
    )
    name, corpus_name = config.pop("name", None), config.pop("corpus_name", None)
    loading = {
        name: config.pop(name)
        for name in ("revision", "dtype", "split_special_tokens")
        if name in config
    }
    settings = study.settings.from_mapping(config)
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
