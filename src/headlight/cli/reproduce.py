"""The command `reproduce`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.cli.arguments import command_line, names, printable
from headlight.cli.options import (
    Broken,
    Device,
    Kind,
    ModelName,
    PaperName,
    Precision,
    Revision,
    SegmentIds,
    Solver,
    Trust,
)

if TYPE_CHECKING:
    from headlight.papers.exhibit import ExhibitSpec, Paper
    from headlight.views.exhibits import Exhibit

REPRODUCE_EXAMPLES = """
[bold]Examples[/bold]

  headlight reproduce clark2019 --list                 [dim]the exhibits, and what each needs[/dim]

  headlight reproduce clark2019 --data corpora/        [dim]embedded model; folders by name[/dim]

  headlight reproduce clark2019 --model bert-base-uncased --dependency ptb.conll

  headlight reproduce clark2019 --only table-1,figure-5 --dependency en_ewt-ud-dev.conllu --resume

  headlight reproduce kobayashi2020 --model bert-base-uncased --text wiki/

  headlight reproduce kobayashi2020 --model Helsinki-NLP/opus-mt-de-en --text wiki/ --kind cross

  headlight reproduce brunner2020 --pairs hf:glue:mrpc:validation --compare ./fine-tuned
"""


def reproduce(
    paper: Annotated[PaperName, typer.Argument(help="Which paper.")],
    model: ModelName = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data, whose folders say by their names what they hold: wikipedia… or "
            "text… (text), ud_…, treebank… or ptb… (treebanks), …coref…, glove… or word2vec…, "
            "…mrpc…, …cola…, …mnli… or pairs… (sentence pairs)."
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(help="Text: file, folder, glob or hf:NAME. Default: the sample corpus."),
    ] = None,
    dependency: Annotated[
        list[str] | None,
        typer.Option(help="Treebank (CoNLL-U, CoNLL-X, columns); may be given more than once."),
    ] = None,
    dependency_train: Annotated[
        str | None,
        typer.Option(help="Treebank to train probes on. Default: a part of the first treebank."),
    ] = None,
    coreference: Annotated[
        list[str] | None,
        typer.Option(
            help="Coreference (CoNLL-2012, LitBank, CorefUD); may be given more than once."
        ),
    ] = None,
    word_vectors: Annotated[
        str | None,
        typer.Option(help="GloVe or word2vec text file. Default: the model's input embeddings."),
    ] = None,
    frequency_ranks: Annotated[
        str | None,
        typer.Option(
            help="File with lines of rank, count and token id, for this tokenizer; or ids, the "
            "order of its vocabulary. Default: corpus, counted in the text."
        ),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Option(
            help="Sentence pairs (MRPC, CoLA, MNLI, TSV, CSV, JSON lines, or hf:glue:mrpc); may be "
            "given more than once."
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(help="A second model, such as the first one after fine-tuning."),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Exhibits, such as table-1,figure-3. Default: all.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the exhibits, and make none.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to. Default: headlight-PAPER.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Use the results that are in --out already.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the results in --out first.")
    ] = False,
    measures: Annotated[
        str, typer.Option(help="What is compared with one another.")
    ] = "weight,norm,effective,gradient",
    max_examples: Annotated[int, typer.Option(min=1, help="Segments of text.")] = 992,
    max_length: Annotated[int, typer.Option(min=8, help="Tokens per segment of text.")] = 128,
    kind: Annotated[
        Kind | None,
        typer.Option(help="Which attention, of kobayashi2020. Default: the first the model has."),
    ] = None,
    max_sentences: Annotated[
        int | None, typer.Option(min=1, help="Sentences of each treebank. Default: all.")
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Read whole documents for coreference, in windows that share so many words. "
            "Default: cut them off after 128 tokens, as Clark did.",
        ),
    ] = None,
    max_pairs: Annotated[int, typer.Option(min=1, help="Examples of each --pairs.")] = 408,
    directions: Annotated[
        int,
        typer.Option(min=2, help="Random directions for a token, to estimate contributions by."),
    ] = 8,
    exact_pairs: Annotated[
        int, typer.Option(min=0, help="Short examples of which attribution is exact as well.")
    ] = 20,
    folds: Annotated[
        int, typer.Option(min=1, help="Random splits of the pairs on which tokens are identified.")
    ] = 10,
    mlp_folds: Annotated[
        int, typer.Option(min=1, help="As many of them for MLPs, which take ten times as long.")
    ] = 2,
    solver: Annotated[
        Solver, typer.Option(help="Of linear maps that identify tokens; ridge is much quicker.")
    ] = Solver.ADAM,
    segment_ids: Annotated[
        SegmentIds | None,
        typer.Option(help="Segment ids of pairs. Default: as the paper's authors set them."),
    ] = None,
    invalid: Annotated[
        Broken,
        typer.Option(help="What becomes of sentences and documents with invalid annotations."),
    ] = Broken.REFUSE,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
) -> None:
    """Make the tables and figures of a paper on your model and data, beside the published numbers.

    Writes index.html, and every exhibit as SVG, PNG and CSV, into --out.
    """
    from headlight.papers import find_paper

    chosen = find_paper(paper.value)
    if listed:
        _list_exhibits(chosen)
        return
    wanted = None if only is None else tuple(names(only))
    specs = chosen.select(wanted)  # complains before anything slow

    from headlight.papers.settings import ReproductionSettings
    from headlight.papers.sources import Sources

    settings = chosen.resolve(
        ReproductionSettings(
            measures=tuple(names(measures)),
            max_examples=max_examples,
            max_length=max_length,
            kind=kind.value if kind else None,
            segment_ids=segment_ids.value if segment_ids else None,
            max_sentences=max_sentences,
            overlap=overlap,
            invalid=invalid.value,
            seed=seed,
            max_pairs=max_pairs,
            directions=directions,
            exact_pairs=exact_pairs,
            folds=folds,
            mlp_folds=mlp_folds,
            solver=solver.value,
        )
    )
    found = Sources(
        text=text,
        dependency=tuple(dependency or ()),
        dependency_train=dependency_train,
        coreference=tuple(coreference or ()),
        word_vectors=word_vectors,
        frequency_ranks=frequency_ranks,
        pairs=tuple(pairs or ()),
    )
    sources = found if data is None else found.or_else(Sources.found_in(data))
    if any("pairs" in spec.needs for spec in specs):
        _demand_pairs(sources.pairs)

    from headlight.papers.reproduce import reproduce as reproduce_paper
    from headlight.papers.reproduction import create_folder, open_reproduction

    folder = create_folder(
        out or Path(f"headlight-{paper.value}"), resume=resume, overwrite=overwrite
    )
    reproduction = open_reproduction(
        model,
        sources,
        settings,
        folder,
        compared=compare,
        revision=revision,
        device=device,
        dtype=dtype,
        trust_remote_code=trust_remote_code,
    )
    page = reproduce_paper(
        chosen, reproduction, wanted, command=command_line(), on_exhibit=_tell_exhibit
    )
    typer.echo(f"page: {printable(page)}")


def _demand_pairs(sources: tuple[str, ...]) -> None:
    """Complain before the model is loaded about pairs of which not even the first can be read."""
    from headlight.corpora import open_sentence_pairs

    for source in sources:
        next(iter(open_sentence_pairs(source)))


def _tell_exhibit(spec: "ExhibitSpec", exhibit: "Exhibit | None") -> None:
    from rich.console import Console

    from headlight.views import comparison_table

    if exhibit is None:
        typer.echo(f"{spec.name}: left out, see the page", err=True)
    else:
        Console().print(comparison_table(exhibit))


def _list_exhibits(paper: "Paper") -> None:
    for spec in paper.exhibits:
        needs = f" (needs {' and '.join(spec.needs)})" if spec.needs else ""
        typer.echo(f"{spec.name:<12}  {spec.title}{needs}")
