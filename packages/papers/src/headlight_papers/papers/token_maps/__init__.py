"""Papers on maps of tokens, each defined by its settings alone; without torch."""

from headlight_papers.papers.token_maps.abnar2020 import Abnar2020
from headlight_papers.papers.token_maps.ferrando2022 import Ferrando2022
from headlight_papers.papers.token_maps.modarressi2022 import Modarressi2022
from headlight_papers.papers.token_maps.modarressi2023 import Modarressi2023
from headlight_papers.papers.token_maps.settings import MapPaperSettings

MAP_PAPERS: dict[str, type[MapPaperSettings]] = {
    paper.name: paper for paper in (Abnar2020, Modarressi2022, Ferrando2022, Modarressi2023)
}
"""Settings of the papers on maps of tokens, by name."""
