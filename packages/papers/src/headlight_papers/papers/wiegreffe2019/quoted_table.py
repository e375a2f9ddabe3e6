"""Table of which some columns are the paper's."""

import pandas

from headlight.views.parts import Table
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.wiegreffe2019 import UNCHECKED


def quoted_table(writer: ExhibitWriter, frame: pandas.DataFrame, caption: str) -> Table:
    """Return a table of which some columns are not ours."""
    columns = [name for name in frame.columns if name.endswith("quoted")]
    return writer.table(
        frame,
        caption,
        formats=dict.fromkeys(columns, ".3f"),
        note=f"The paper's numbers: {UNCHECKED}.",
    )
