"""The question in docs/extending.md, installed as another package, is asked like all others."""

import json
import re
from pathlib import Path

import pytest

import example_data
from extending.guide import install
from extending.test_study_of_another_package import called, headlight

TEXT = "the old mill keeps a town"
COUNT = """

TOKENS = Question(
    name="count_tokens", sentence="Count tokens.", settings=Settings, answered="spread.counting",
    is_command=False, of_one_text=False,
)
"""
COUNTING = '''"""Another question, of many texts."""


def count_tokens(model, texts, *, special=True):
    """Count the tokens of texts."""
    return [len(model.tokenizer(each, add_special_tokens=special).input_ids) for each in texts]
'''


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package beside what an installer writes of it, and a model."""
    folder = tmp_path_factory.mktemp("installed")
    install(folder, "spread", "A question",
            also={"count_tokens": "spread:TOKENS", "read": "spread:SPREAD"})  # fmt: skip
    with (folder / "spread" / "__init__.py").open("a") as file:
        file.write(COUNT)
    (folder / "spread" / "counting.py").write_text(COUNTING)
    (folder / "model").mkdir()
    example_data.tiny_model(folder / "model")
    return folder


@pytest.mark.slow
def test_it_is_a_command_with_help_and_files(place: Path) -> None:
    done = called(place, "-m", "headlight", "--help")
    listed = done.stdout.partition("Look at texts")[2].partition("Study a corpus")[0]
    assert "spread" in listed
    assert "count" not in done.stdout
    assert "the question read of the package spread is left out, since its name is" in done.stderr
    own = headlight(place, "spread", "--help")
    assert "--layer" in own
    assert 'headlight spread "The cat sat." --layer 1' in own
    files = ("--json", "a.json", "--html", "a.html", "--out", "a.nc")
    said = headlight(place, "spread", TEXT, "--model", "model", "--layer", "1", *files)
    widest = float(re.findall(r"spreads over (\S+) tokens", said)[0])
    assert 1 <= widest <= len(TEXT.split()) + 2
    assert json.loads((place / "a.json").read_text(encoding="utf-8"))["text"] == TEXT
    assert "Tokens by head" in (place / "a.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_is_a_method_and_a_function_of_the_app(place: Path) -> None:
    done = called(
        place,
        "-W",
        "ignore",
        "-c",
        "import headlight, inspect\n"
        "model = headlight.load('model')\n"
        "assert {'spread', 'count_tokens', 'predict'} <= {*dir(model)}\n"
        "assert 'layer: layer, from 0.' in model.spread.__doc__\n"
        f"assert model.spread({TEXT!r}, layer=1).dataset.spread.shape == (2,)\n"
        "assert model.count_tokens(['the', 'the old'], special=False) == [1, 2]\n"
        "assert model.count_tokens.__doc__ == 'Count the tokens of texts.'\n"
        "from headlight.serve.functions import FUNCTIONS\n"
        "assert 'spread' in FUNCTIONS and 'count_tokens' not in FUNCTIONS\n"
        f"model.spread({TEXT!r}, lager=1)\n",
    )
    assert "Did you mean 'layer'?" in done.stderr.splitlines()[-1], done.stderr
