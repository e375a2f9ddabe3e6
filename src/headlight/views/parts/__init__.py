"""Parts of pages of results: sections with tables and pictures of the result's variables.

A `Section` answers one question. Its tables are made of `Columns`, its pictures of `Map` and
`Curve`: each names a variable, and takes rows, intervals and labels from the dimensions, bounds and
attributes of the result. What is none of these three is a function that makes a figure: `bars` of
the rows of a table, `boxes` of values, and the shapes of `headlight.views.pictures` that few have.
"""

from headlight.views.parts.alignments import DrawnAlignment, alignment_picture
from headlight.views.parts.bars import bars
from headlight.views.parts.boxes import MARKS, boxes, boxes_of
from headlight.views.parts.columns import By, Columns, columns
from headlight.views.parts.curves import Curve, curves
from headlight.views.parts.maps import Map, maps
from headlight.views.parts.said import (
    attending_rows,
    categories,
    mean_of,
    rounded,
    sentence_links,
    settings_of,
)
from headlight.views.parts.section import (
    Comparison,
    Drawing,
    Figure,
    Section,
    Summary,
    Table,
)
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
