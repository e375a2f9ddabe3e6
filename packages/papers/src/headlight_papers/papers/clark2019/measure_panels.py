"""Panels of a figure, one for each measure."""

from headlight.views.parts import By
from headlight.vocabulary import measure_table

MEASURE = By("measure", {row.name: row.title for row in measure_table()})
