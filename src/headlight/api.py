"""Functions of studies, all of one signature, and functions that open and compare results."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import xarray

import headlight.views.accessor  # noqa: F401 - results can make their tables, pictures and pages
from headlight.catalogue import Study, find_study, register_measures
from headlight.catalogue.study_arguments import RUN, arguments, documentation, objects, signature
from headlight.engine.folder import RunFolder
from headlight.errors import UnknownNameError, UsageError
from headlight.files import Location
from headlight.result import load as load_result
from headlight.result.kinds import of_kind
from headlight.settings import plain


def open(path: str | Location) -> xarray.Dataset:
    """Open the result of any study, or a reading.

    Args:
        path: File, such as ``result.nc``, or folder of a run; also in a store.

    Returns:
        Result with ``.headlight.table()``, ``.headlight.plot()`` and ``.headlight.report()``.

    Raises:
        ResultError: There is none, or it cannot be read.
    """
    return load_result(path)


def compare(
    *runs: str | Path | xarray.Dataset,
    match: str = "place",
    kind: str | None = None,
    names: Sequence[str] = (),
) -> xarray.Dataset:
    """Compare surveys head by head: models, checkpoints, corpora, precisions.

    Args:
        runs: Two or more surveys, or their folders; all others are compared with the first.
        match: Heads that are compared: ``place`` for those of one layer and number, ``behaviour``
            for those that are most alike.
        kind: Kind of attention compared, where the surveys hold several.
        names: Display names of the runs.

    Returns:
        Result of `headlight.findings.differences.differences`, with ``.headlight.table()``,
        ``.headlight.plot()`` and ``.headlight.report()``.

    Raises:
        UsageError: There is one run alone, one is no survey or of an earlier version, or heads
            cannot be matched.
        ResultError: A result cannot be read.
    """
    from headlight.findings.differences import COMPARED, check_comparable, differences

    if kind is None:  # refused before all numbers are read, which may take gigabytes
        headers = [
            run if isinstance(run, xarray.Dataset) else load_result(run, only=COMPARED)
            for run in runs
        ]
        check_comparable(headers, match)
    results = [run if isinstance(run, xarray.Dataset) else open(run) for run in runs]
    if kind is not None:
        results = [of_kind(result, kind) if "kind" in result.dims else result for result in results]
    return differences(results, match=match, names=names)


@cache
def study_function(name: str) -> Callable[..., xarray.Dataset]:
    """Return the function of a study, with a parameter for each of its settings.

    Raises:
        UnknownNameError: There is no such study.
        UsageError: It is in another package, and cannot be loaded.
    """
    register_measures()
    study = find_study(name)

    def function(*source: Any, **keywords: Any) -> xarray.Dataset:
        return _call(study, *source, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "headlight"
    function.__doc__ = documentation(study)
    function.__signature__ = signature(study)  # type: ignore[attr-defined]
    return function


def _call(study: Study, /, *source: Any, **keywords: Any) -> xarray.Dataset:
    """Run a study on a source; the functions of all studies call this."""
    # Torch takes seconds to import, and is not needed to refuse a wrong name or a taken folder.
    _check_names(study, keywords)
    bound = signature(study).bind(*source, **keywords).arguments
    read = bound.pop("source", None)
    model, tokenizer, name = (bound.pop(key, None) for key in ("model", "tokenizer", "name"))
    run = {argument.name: bound.pop(argument.name, argument.default) for argument in RUN}
    progress = run.pop("progress")
    folder = RunFolder(path=run.pop("out"), **run)
    handed = _objects(study, bound)
    settings = study.settings.from_mapping({key: plain(value) for key, value in bound.items()})
    folder.check_free()
    study.check_files(read, settings)
    from headlight.capture import CapturedModel, load_model
    from headlight.reports.study_run import run_study

    if not isinstance(model, CapturedModel):
        model = load_model(
            study.source.default_model if model is None else model,
            tokenizer,
            head=settings.required_head,
            layers=settings.layers,
        )
    elif tokenizer is not None:
        raise UsageError("the model has a tokenizer already; leave out tokenizer.")
    elif settings.required_head == "none":
        model = model.headless()
    named = model.called(name)
    return run_study(study, read, settings, named, folder, progress=progress, **handed)


def _check_names(study: Study, keywords: Iterable[str]) -> None:
    """Refuse a keyword that the study does not know, and name the nearest one.

    Raises:
        UnknownNameError: There is such a keyword.
    """
    names = {argument.name for argument in arguments(study)}
    for name in keywords:
        if name not in names:
            raise UnknownNameError(f"setting of {study.name}", name, names)


def _objects(study: Study, keywords: dict[str, Any]) -> dict[str, Any]:
    """Take the arguments that are Python objects, such as an objective, out of the keywords."""
    settings = study.settings.hints()
    names = [
        name
        for name in objects(study)
        if name in keywords and (name not in settings or not isinstance(keywords[name], str | Path))
    ]
    return {name: keywords.pop(name) for name in names}
