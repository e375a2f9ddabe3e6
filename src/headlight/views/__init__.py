"""Results as pages, tables and files; nothing here knows a model.

``report`` and ``terminal_table`` draw a survey, ``reading_page``, ``reading_json`` and
``reading_terminal`` draw a reading.
"""

from headlight.views.page import reading_page
from headlight.views.report import report
from headlight.views.serial import reading_json
from headlight.views.terminal import reading_terminal, terminal_table

__all__ = ["reading_json", "reading_page", "reading_terminal", "report", "terminal_table"]
