"""The command `gallery`."""

from typing import Annotated

import typer

from headlight.catalogue.writers import RESULT
from headlight.cli.help import examples
from headlight.cli.printing import say

GALLERY_EXAMPLES = examples(
    "headlight gallery run/ --out site/",
    ("headlight gallery bert/ smollm2/ --out site/ --overwrite", "two models, once more"),
)


def gallery(
    runs: Annotated[list[str], typer.Argument(help=f"Folders of surveys, or their {RESULT}.")],
    out: Annotated[str, typer.Option("--out", help="Folder for the pages.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write into a folder that is not empty.")
    ] = False,
) -> None:
    """Write the heads of surveys as pages for any web host, with a search over all models."""
    from headlight.engine.progress import announced
    from headlight.reports.gallery import gallery as make_gallery

    with announced("writing the pages of heads"):
        place = make_gallery(runs, out, overwrite=overwrite)
    say(f"gallery: {place}")
