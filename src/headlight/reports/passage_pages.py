"""Pages of the passages that a report shows, each with the heads that it is shown for.

A survey keeps only some tokens of such a text, and a number that identifies it.  The corpus is gone
through once more without the model to find the few texts that are requested; the model then reads
these, and each becomes a small page.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import xarray

from headlight.capture import CapturedModel
from headlight.catalogue.question_settings import ReadingSettings
from headlight.catalogue.writers import REPORT
from headlight.encode import Encoded
from headlight.engine.folder import PAGES
from headlight.engine.pass_folders import refuse_link
from headlight.engine.plan import StudyPlan
from headlight.engine.repeatable_corpus import is_read_once
from headlight.engine.text_plan import plan_text_study
from headlight.engine.text_sources import TextSource
from headlight.errors import RunError, UsageError, setting
from headlight.files import Location
from headlight.findings import highlights, passage_of
from headlight.observations.text_ids import rank_of
from headlight.output_folder import OutputFolder
from headlight.reading import read_example
from headlight.result.kinds import split_kinds
from headlight.views import reading_page
from headlight.views.passages import PassagePages, Shown
from headlight.views.reading.corpus_results import InCorpus


def check_pages(source: TextSource, folder: Location | None) -> None:
    """Refuse, before a survey runs, sources and folders that pages of passages cannot use.

    Raises:
        UsageError: The corpus can be read only once.
        RunError: The folder of pages is a link to somewhere else.
    """
    if folder is not None:
        refuse_link(folder / PAGES, "writes its pages")
    if is_read_once(source):
        raise UsageError(
            "pages of passages need a corpus that can be read again; save it to a file, or leave "
            "out pages."
        )


def write_pages(
    result: xarray.Dataset,
    source: TextSource,
    settings: Any,
    model: CapturedModel,
    output: OutputFolder,
) -> PassagePages:
    """Write a page for each of the first passages that the report shows.

    Earlier pages, from a run that was resumed, are kept.

    Args:
        result: Result of the survey.
        source: Source that it read.
        settings: Settings of the survey; `pages` is the number of pages.
        model: Model that reads the texts.
        output: Folder of the run.

    Returns:
        Addresses of the pages that the run has written, relative to the folder.

    Raises:
        HeadlightError: The folder cannot be written, or somebody else's file is in the way.
    """
    texts = _shown(result)
    pages: dict[Shown, str] = {
        text: f"{PAGES}/{number}.html" for number, text in enumerate(texts, 1)
    }
    wanted = list(texts)[: settings.pages]
    if wanted:
        output.claim(pages[text] for text in wanted)
        plan = plan_text_study("survey", "Survey of attention", source, model, settings)
        for text, example in _wanted_examples(plan, wanted):
            kind, _ = text
            page = _page(plan, example, kind, texts[text], result)
            output.write(pages[text], page.encode())
    written = output.names()
    return {
        text: address
        for text, address in pages.items()
        if address in written and (output.place / address).exists()
    }


def _shown(result: xarray.Dataset) -> dict[Shown, list[tuple[int, int]]]:
    """Return the texts that the report shows, with the heads for which it shows them."""
    texts: dict[Shown, list[tuple[int, int]]] = {}
    for kind, part in split_kinds(result).items():
        for highlight in highlights(part):
            layer, head = highlight.layer, highlight.head
            if layer is None or head is None:
                continue
            passage = passage_of(part, highlight.kind, layer, head)
            if passage is not None:
                texts.setdefault((kind, passage.rank), []).append((layer, head))
    return texts


def _wanted_examples(
    plan: StudyPlan[Encoded], wanted: Sequence[Shown]
) -> Iterator[tuple[Shown, Encoded]]:
    """Yield the wanted examples in the order of the corpus, and stop at the last of them.

    Raises:
        RunError: Some are not in it any more.
    """
    missing = set(wanted)
    kinds: list[Any] = sorted({kind for kind, _ in wanted})
    for example in islice(plan.examples, plan.max_examples):
        for text in missing & {(kind, rank_of(example, kind)) for kind in kinds}:
            missing.discard(text)
            yield text, example
        if not missing:
            return
    raise RunError(
        f"the corpus has changed since it was surveyed: {len(missing)} of {len(wanted)} texts that "
        f"get a page are not in it any more. The result is kept; restore the corpus and go on with "
        f"{setting('resume=True')}."
    )


def _page(
    plan: StudyPlan[Encoded],
    example: Encoded,
    kind: Any,
    heads: Sequence[tuple[int, int]],
    result: xarray.Dataset,
) -> str:
    """Return the page of one text, which leads back to the report."""
    ids = example.ids if kind == "encoder" or not example.target else example.target
    tokenizer: Any = plan.model.tokenizer
    reading = read_example(
        plan.model,
        example,
        ReadingSettings(kind=kind, layers=plan.settings.layers),
        attributes=_origin(tokenizer.decode(ids, skip_special_tokens=True)),
    )
    corpus = InCorpus(survey=result, report=f"../{REPORT}")
    return reading_page(reading.dataset, whole_heads=heads, corpus=corpus)


def _origin(text: str) -> Mapping[str, str]:
    return {"text": text, "pair": "", "command": ""}
