"""Results as pages, tables and files; nothing here knows a model.

``terminal_table`` draws a survey, ``reading_page``, ``reading_json`` and
``reading_terminal`` draw a reading, ``section_page`` and ``comparison_table`` draw the sections of
studies and papers. ``pictures`` draws for paper, and needs matplotlib.
"""

from headlight.views.comparison_terminal import comparison_table
from headlight.views.reading.json_format import reading_json
from headlight.views.reading.page import parse_page, reading_page
from headlight.views.reading.terminal import reading_terminal
from headlight.views.section_pages import section_page
from headlight.views.survey_terminal import terminal_table

__all__ = [
    "comparison_table",
    "parse_page",
    "reading_json",
    "reading_page",
    "reading_terminal",
    "section_page",
    "terminal_table",
]
