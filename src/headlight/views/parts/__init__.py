"""Parts of pages of results: sections with tables and pictures of the result's variables.

A `Section` answers one question. Its tables are made of `Columns`, its pictures of `Map` and
`Curve`: each names a variable, and takes rows, intervals and labels from the dimensions, bounds and
attributes of the result. All other pictures are functions that make a figure: `bars` of the rows of
a table, `boxes` of values, and the rarer shapes of `headlight.views.pictures`.
"""

from headlight.views.dimensions import By
from headlight.views.parts.alignment_drawings import (
    DrawnAlignment,
    alignment_picture,
    sentence_links,
)
from headlight.views.parts.bar_charts import bars
from headlight.views.parts.box_plots import MARKS, boxes, boxes_of
from headlight.views.parts.comparison import Comparison
from headlight.views.parts.curves import Curve, curves
from headlight.views.parts.heat_maps import Map, maps
from headlight.views.parts.result_facts import (
    attending_rows,
    categories,
    mean_of,
    rounded,
    settings_of,
)
from headlight.views.parts.section import Drawing, Figure, Section, Summary, Table
from headlight.views.parts.table_columns import Columns, columns
from headlight.views.pictures import (
    DensityPanel,
    Embedding,
    LinkDrawing,
    Reference,
    attention_lines,
    dendrogram,
    density,
    embedding,
    save_picture,
    table_picture,
    weight_and_length,
    windowed,
)

__all__ = [
    "MARKS",
    "By",
    "Columns",
    "Comparison",
    "Curve",
    "DensityPanel",
    "Drawing",
    "DrawnAlignment",
    "Embedding",
    "Figure",
    "LinkDrawing",
    "Map",
    "Reference",
    "Section",
    "Summary",
    "Table",
    "alignment_picture",
    "attending_rows",
    "attention_lines",
    "bars",
    "boxes",
    "boxes_of",
    "categories",
    "columns",
    "curves",
    "dendrogram",
    "density",
    "embedding",
    "maps",
    "mean_of",
    "rounded",
    "save_picture",
    "sentence_links",
    "settings_of",
    "table_picture",
    "weight_and_length",
    "windowed",
]
