"""A paper on maps of tokens, of what its settings say of it."""

from headlight_papers.papers.exhibit import ExhibitSpec, Paper
from headlight_papers.papers.token_maps.claims import findings
from headlight_papers.papers.token_maps.settings import MapPaperSettings
from headlight_papers.papers.token_maps.tables import table_exhibit


def paper_of(settings: type[MapPaperSettings]) -> Paper:
    """The paper of these settings, which is called as their module is."""
    return Paper(
        name=settings.__module__.rpartition(".")[2],
        settings=settings,
        introduction=settings.introduction,
        exhibits=(
            ExhibitSpec("findings", "Which findings hold", settings.source, findings),
            *map(table_exhibit, settings.tables),
        ),
    )
