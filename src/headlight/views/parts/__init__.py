"""What pages of results are made of: sections with tables and pictures of the result's variables.

A `Section` answers one question. Its tables are made of `Columns`, its pictures of `Map` and
`Curve`: each names a variable, and takes rows, intervals and labels from the dimensions, bounds and
attributes of the result. What is none of these three is a function that makes a figure.
"""

from headlight.views.parts.columns import By, Columns, columns
from headlight.views.parts.curves import Curve, curves
from headlight.views.parts.maps import Map, maps
from headlight.views.parts.said import (
    IMPORTANCE_NAMES,
    attending_rows,
    categories,
    mean_of,
    rounded,
    sentence_links,
    settings_of,
)
from headlight.views.parts.section import Drawing, Figure, Section, Summary

__all__ = [
    "IMPORTANCE_NAMES",
    "By",
    "Columns",
    "Curve",
    "Drawing",
    "Figure",
    "Map",
    "Section",
    "Summary",
    "attending_rows",
    "categories",
    "columns",
    "curves",
    "maps",
    "mean_of",
    "rounded",
    "sentence_links",
    "settings_of",
]
