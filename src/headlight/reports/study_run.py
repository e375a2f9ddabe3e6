"""Whole runs: a study from its source to the files in its folder, alone or as a worker."""

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import xarray

from headlight.capture import CapturedModel, load_model
from headlight.capture.tensor_parallel import processes_of
from headlight.catalogue import Study, find_study
from headlight.engine.configuration import configuration
from headlight.engine.folder import JOIN, RunFolder
from headlight.engine.progress import announced
from headlight.engine.ray_workers import on_cluster, working_directory
from headlight.engine.tensor_parallel import rank_folder
from headlight.engine.workers import check_workers, other_workers
from headlight.reports.passage_pages import check_pages, write_pages
from headlight.reports.report import claim_files, write_report
from headlight.result import refusing_incomplete
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
        study: Study that is run.
        source: Source that it reads.
        settings: Settings of the study.
        model: Model that reads the source.
        folder: Folder of the run, which is opened here; without a path nothing is kept.
        command: Command that requested the run, for the record.
        progress: Whether a bar is shown on standard error.
        objects: Arguments of its function ``run`` besides settings.

    Raises:
        HeadlightError: See the study.
    """
    check_workers(study, source, folder, list(objects))
    repeats = configuration(study, source, settings, model, folder.corpus_name)
    source = study.source.or_sample(source)
    if settings.pages:
        check_pages(source, folder.place)
    processes = processes_of(model.transformer)
    progress = progress and not (processes is not None and processes.rank())
    with (
        rank_folder(study, folder, processes) as own_folder,
        on_cluster(own_folder),
        own_folder.opened() as opened,
    ):
        trust = model.trust_remote_code
        home, place = str(Path.cwd()), str(opened.place)
        join = partial(join_run, repeats, place, home, trust_remote_code=trust)
        if opened.output is not None:
            claim_files(opened.output)
        with other_workers(study, repeats, opened, model, join, progress=progress):
            result = study.run(
                source,
                model,
                settings,
                folder=opened,
                command=command,
                progress=progress,
                **objects,
            )
        # A result that was finished before, or by another process, may have other names.
        result = result.assign_attrs({**model.origin, **opened.labels})
        if opened.output is not None:
            saying = announced("writing the report") if progress else nullcontext()
            # A result that an earlier process finished may have been changed since.
            with saying, refusing_incomplete() if opened.request.resume else nullcontext():
                wanted = settings.pages is not None
                pages = (
                    write_pages(result, source, settings, model, opened.output) if wanted else {}
                )
                write_report(result, opened.output, repeats, pages)
    return result


def join_run(
    configuration: Mapping[str, Any], folder: str, home: str, *, trust_remote_code: bool = False
) -> None:
    """Work on a run as one of its workers, in a process that has nothing but these arguments.

    Args:
        configuration: Configuration that repeats the run.
        folder: Folder of the run.
        home: Working directory of the first process, from which relative paths start.
        trust_remote_code: Whether the user lets code run that comes with the model. It is no part
            of the configuration, since a config file may come from somebody else.

    Raises:
        HeadlightError: See `run_study`.
    """
    config = dict(configuration)
    study, source = find_study(config.pop("study")), config.pop("source", None)
    model, tokenizer = (
        config.pop("model", study.source.default_model),
        config.pop("tokenizer", None),
    )
    name, corpus_name = config.pop("name", None), config.pop("corpus_name", None)
    loading = {
        option: config.pop(option)
        for option in ("revision", "dtype", "split_special_tokens")
        if option in config
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
