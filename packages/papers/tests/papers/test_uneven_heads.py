"""A model whose layers differ in heads: no exhibit names a head that is not there."""

import re
from pathlib import Path

import pandas
import pytest

from headlight.reading.model import Model, load
from headlight_papers.papers import find_paper
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.sources import Sources
from long_cases import mostly_long
from papers.material import saved_model

HEADS = {"L0H0 (1-1)", "L0H1 (1-2)", "L1H0 (2-1)"}
"""Those that there are, with the papers' names."""
EXHIBITS = {
    "kobayashi2020": [each.name for each in find_paper("kobayashi2020").exhibits if not each.needs],
    "clark2019": ["figure-1", "section-3-1", "figure-6", "table-1"],
    "brunner2020": ["figure-6"],
}


@pytest.fixture(scope="module")
def uneven(tmp_path_factory) -> Model:
    """Two layers; the second has one head of twice the size."""
    made = load(saved_model(tmp_path_factory.mktemp("models") / "tiny"))
    attention = made.transformer.base_model.encoder.layer[1].attention.self
    attention.num_attention_heads, attention.attention_head_size = 1, 16
    attention.scaling = 16**-0.5
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_long(EXHIBITS, "brunner2020"))
def test_names_are_those_of_heads_that_there_are(name, uneven, data: Path, tmp_path: Path):
    paper = find_paper(name)
    treebank = str(data / "ud_ours" / "ours-dev.conllu")
    few = {"measures": ("weight", "norm")} if name == "clark2019" else {}
    made = Reproduction(
        uneven,
        None,
        Sources(text=str(data / "text"), dependency=(treebank,)),
        paper.settings(max_length=40, max_examples=4, **few),
        tmp_path,
        progress=False,
    )
    for spec in paper.select(EXHIBITS[name]):
        exhibit = spec.create(made)
        named = set(re.findall(r"(?<!there )\b[Hh]ead (L\d+H\d+ \(\d+-\d+\))", repr(exhibit)))
        for path in tmp_path.glob(f"{spec.name}*.csv"):
            frame = pandas.read_csv(path, dtype=str)
            for column in [each for each in frame.columns if each.split()[-1] == "head"]:
                named |= set(frame[column].dropna())
        assert named <= HEADS, spec.name
        assert any("2 layers of 1 to 2 heads" in note for note in exhibit.notes)
        if spec.name == "section-3-1":
            assert f"of {len(HEADS)} here" in exhibit.comparisons[0].note
