"""Mixing ratios of Kobayashi et al. (2021): tables, claims, and the exhibits in order."""

from headlight_papers.papers.kobayashi2021 import Settings
from headlight_papers.papers.kobayashi2021.claims import findings
from headlight_papers.papers.kobayashi2021.layer_figures import categories, frequency, layers, masks
from headlight_papers.papers.kobayashi2021.table_2_mixing import table_2
from headlight_papers.papers.paper import Paper

PAPER = Paper(
    name="kobayashi2021",
    settings=Settings,
    introduction="How much of what a layer makes of a token comes from other tokens, by attention "
    "weights and by norms, without and with what stands around the attention: Table 2, and the "
    "same by layer, by frequency and of masked tokens, on this model and data. The published "
    "numbers are those of Table 2. Layers are numbered from 1.",
    exhibits=(findings, table_2, layers, frequency, masks, categories),
)
