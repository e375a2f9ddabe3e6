"""Papers on maps of tokens, whose settings say all of such a paper; without torch."""

from headlight_papers.papers.token_maps.abnar2020 import Abnar2020
from headlight_papers.papers.token_maps.ferrando2022 import Ferrando2022
from headlight_papers.papers.token_maps.modarressi2022 import Modarressi2022
from headlight_papers.papers.token_maps.modarressi2023 import Modarressi2023
from headlight_papers.papers.token_maps.settings import MapPaperSettings

MAP_PAPERS: dict[str, type[MapPaperSettings]] = {
    each.name: each for each in (Abnar2020, Modarressi2022, Ferrando2022, Modarressi2023)
}
"""Settings of the papers on maps of tokens, by name."""
