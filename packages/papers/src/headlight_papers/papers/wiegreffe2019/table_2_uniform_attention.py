"""Table 2: whether attention is needed at all."""

import numpy as np
import pandas

from headlight.views.parts import Section
from headlight_papers.intervals import mean_interval
from headlight_papers.papers.exhibit_files import ExhibitWriter
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.wiegreffe2019 import QUOTED
from headlight_papers.papers.wiegreffe2019.exhibit import exhibit
from headlight_papers.papers.wiegreffe2019.models_in_context import models_in_context
from headlight_papers.papers.wiegreffe2019.notes import ENCODER_NAMES, OF_WHAT, notes_of
from headlight_papers.papers.wiegreffe2019.quoted_table import quoted_table
from headlight_papers.papers.wiegreffe2019.results import frames_of


@exhibit("table-2", "Table 2 and Section 3.1", title="Whether attention is needed at all")
def table_2(reproduction: Reproduction, writer: ExhibitWriter) -> Section:
    """F1 of bases, of models trained with uniform attention, and of bases into which it is put."""
    table = []
    for title, encoder, some in models_in_context(frames_of(reproduction)):
        quoted = QUOTED.get(title) if encoder == "lstm" else None
        base, guided, uniform = (some[some.kind == kind] for kind in ("base", "guided", "uniform"))
        table.append(
            {
                "set": title,
                "encoder": ENCODER_NAMES[encoder],
                "base": str(mean_interval(base.f1)),
                "uniform, trained": str(mean_interval(guided.f1)),
                "uniform, put in": str(mean_interval(uniform.f1)),
                "accuracy of the base": str(mean_interval(base.accuracy)),
                "base, quoted": quoted.base if quoted else np.nan,
                "uniform, quoted": quoted.uniform if quoted else np.nan,
            }
        )
    return Section(
        explanation=f"{OF_WHAT} Where a model that is trained with frozen uniform attention is as "
        "good as one with attention of its own, the task does not need attention, and what is "
        "asked of it there says little.",
        tables=[quoted_table(writer, pandas.DataFrame(table), "F1 with and without attention")],
        notes=notes_of(reproduction),
    )
