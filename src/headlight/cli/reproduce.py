"""The command `reproduce`."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headlight.cli.arguments import command_line, names
from headlight.cli.config_file import ConfigFile
from headlight.cli.notes import unknown_tokens
from headlight.cli.options import RUN, Device, ModelName, Precision, Revision, TokenizerName, Trust
from headlight.cli.printing import complain, say, show
from headlight.cli.setting_options import takes_settings
from headlight.papers import PaperName, find_paper
from headlight.papers.folder import reproduction_folder
from headlight.papers.settings import ReproductionSettings
from headlight.papers.sources import Sources
from headlight.papers.translations import languages_of

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

  headlight reproduce kobayashi2020 --only table-3,figure-7 --translator Helsinki-NLP/opus-mt-de-en
      --translations test.de --translations-target test.en --gold gold.talp

  headlight reproduce brunner2020 --pairs hf:glue:mrpc:validation --compare ./fine-tuned

  headlight reproduce yang2020 --tagged conll2000/train.txt --word-vectors glove.txt

  headlight reproduce jain2019 --labelled hf:stanfordnlp/sst2 --labelled hf:stanfordnlp/imdb

  headlight reproduce wiegreffe2019 --labelled hf:stanfordnlp/imdb --word-vectors glove.txt
"""


@takes_settings(sources=Sources, settings=ReproductionSettings)
def reproduce(
    paper: Annotated[PaperName, typer.Argument(help="Which paper.")],
    config: ConfigFile = None,
    model: ModelName = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of data, whose folders say by their names what they hold: wikipedia… or "
            "text… (text), ud_…, treebank… or ptb… (treebanks), …coref…, glove… or word2vec…, "
            "…mrpc…, …cola…, …mnli… or pairs… (sentence pairs), align… and parallel… "
            "(translations, with and without links of words), conll2000…, chunk… or tagged… "
            "(sentences whose words have tags), sst…, imdb…, ag_news…, 20news… or labelled… (texts "
            "of two classes)."
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(help="A second model, such as the first one after fine-tuning."),
    ] = None,
    translator: Annotated[
        str | None,
        typer.Option(
            help="A translation model, of kobayashi2020. Default: --model if it is one, else the "
            "embedded translator from German to English."
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Exhibits, such as table-1,figure-3. Default: all.")
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the exhibits, and make none.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write to. Default: headlight-PAPER.", rich_help_panel=RUN),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Use the results that are in --out already.", rich_help_panel=RUN
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Remove the results in --out first.", rich_help_panel=RUN),
    ] = False,
    revision: Revision = None,
    device: Device = "auto",
    dtype: Precision = "float32",
    trust_remote_code: Trust = False,
    tokenizer: TokenizerName = None,
    *,
    sources: Sources,
    settings: ReproductionSettings,
) -> None:
    """Make the tables and figures of a paper on your model and data, beside the published numbers.

    Writes index.html, and every exhibit as SVG, PNG and CSV, into --out.
    """
    place = out or Path(f"headlight-{paper}")
    folder = reproduction_folder(place, resume=resume, overwrite=overwrite)
    if not listed:
        folder.check_free()
    found = sources
    if data is not None:
        found = sources.or_else(Sources.found_in(data, languages_of(translator or model)))
    chosen = find_paper(paper)  # which imports torch
    if listed:
        _list_exhibits(chosen)
        return
    wanted = None if only is None else tuple(names(only))
    needs = {need for spec in chosen.select(wanted) for need in spec.needs}
    resolved = chosen.resolve(settings)

    from headlight.papers.reproduce import reproduce as reproduce_paper

    found.check(needs)
    with folder.opened():
        reproduction = chosen.open(
            model,
            found,
            resolved,
            place,
            compared=compare,
            translator=translator,
            translates="translator" in needs,
            revision=revision,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            tokenizer=tokenizer,
        )
        page = reproduce_paper(
            chosen, reproduction, wanted, command=command_line(), on_exhibit=_tell_exhibit
        )
    notes = (unknown_tokens(result.attrs) for result in reproduction.results.values())
    for note in dict.fromkeys(chain.from_iterable(notes)):  # many results are of the same text
        complain(note)
    say(f"page: {page}")


def _tell_exhibit(spec: "ExhibitSpec", exhibit: "Exhibit | None") -> None:
    from headlight.views import comparison_table

    if exhibit is None:
        complain(f"{spec.name}: left out, see the page")
    else:
        show(comparison_table(exhibit))


def _list_exhibits(paper: "Paper") -> None:
    for spec in paper.exhibits:
        needs = f" (needs {' and '.join(spec.needs)})" if spec.needs else ""
        say(f"{spec.name:<12}  {spec.title}{needs}")
