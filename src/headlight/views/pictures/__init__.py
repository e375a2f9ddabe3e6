"""Pictures of results, drawn with matplotlib.

Each function takes plain data and returns a matplotlib ``Figure``, which ``save_picture`` writes as
SVG and PNG. Values that are not numbers are never drawn, and texts are shown as they are.
"""

from headlight.views.pictures.attention_lines import LinkDrawing, attention_lines, windowed
from headlight.views.pictures.axes import Reference
from headlight.views.pictures.bar_charts import BarRow, Mark, bars
from headlight.views.pictures.box_plots import Box, BoxPanel, boxes
from headlight.views.pictures.dendrogram import dendrogram
from headlight.views.pictures.density import DensityPanel, density, weight_and_length
from headlight.views.pictures.embedding import Embedding, embedding
from headlight.views.pictures.heat_maps import HeadMap, head_map
from headlight.views.pictures.lines import Line, LinePanel, lines
from headlight.views.pictures.picture_files import Picture, save_picture, svg_text
from headlight.views.pictures.routes import routes_picture
from headlight.views.pictures.slopes import SlopePanel, slopes
from headlight.views.pictures.tables import table_picture
from headlight.views.pictures.theme import ordered_colours
from headlight.views.pictures.token_bars import TokenBars, token_bars
from headlight.views.pictures.values_by_layer import LayerPanel, LayerSeries, points_by_layer

__all__ = [
    "BarRow",
    "Box",
    "BoxPanel",
    "DensityPanel",
    "Embedding",
    "HeadMap",
    "LayerPanel",
    "LayerSeries",
    "Line",
    "LinePanel",
    "LinkDrawing",
    "Mark",
    "Picture",
    "Reference",
    "SlopePanel",
    "TokenBars",
    "attention_lines",
    "bars",
    "boxes",
    "dendrogram",
    "density",
    "embedding",
    "head_map",
    "lines",
    "ordered_colours",
    "points_by_layer",
    "routes_picture",
    "save_picture",
    "slopes",
    "svg_text",
    "table_picture",
    "token_bars",
    "weight_and_length",
    "windowed",
]
