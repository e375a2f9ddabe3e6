"""Fill the tables of variables in docs/results.md from results of all studies.

    python scripts/results_page.py

A table stands between ``<!-- variables: STUDY -->`` and ``<!-- end -->``.  Every study is run on a
few examples of the tests, with settings that leave none of its variables out.
"""

import re
import runpy
import tempfile
from pathlib import Path

import xarray
from tokenizers import Tokenizer, models as vocabularies, pre_tokenizers, processors
from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

import headlight
from headlight.catalogue import studies

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "results.md"
TABLE = re.compile(r"(<!-- variables: ([a-z_]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SIZES = ("layers", "attention_heads", "ffn_dim")
UNITS = {"1": "–", "": "of vectors"}
"""Of a pure number, and of what is as long as the model's vectors are."""


def filled(page: str, results: dict[str, xarray.Dataset]) -> str:
    """The page with the variables of these results, by study."""
    return TABLE.sub(lambda match: f"{match[1]}{table(results[match[2]])}{match[3]}", page)


def table(result: xarray.Dataset) -> str:
    """The variables of a result, one a line."""
    rows = [
        f"| `{name}` | {', '.join(map(str, variable.dims)) or '–'} "
        f"| {str(variable.attrs['long_name']).replace('|', chr(92) + '|')} "
        f"| {UNITS.get(unit := str(variable.attrs['units']), unit)} |"
        for name, variable in result.data_vars.items()
    ]
    return "\n".join(
        ["| variable | axes | what it is | unit |", "| --- | --- | --- | --- |", *rows, ""]
    )


def all_results(folder: Path) -> dict[str, xarray.Dataset]:
    """One result of every study, of a tiny model on files in the folder."""
    example_data = runpy.run_path(str(ROOT / "tests" / "example_data.py"))
    example_data["write"](folder)
    models = {
        "parallel": translator(folder / "translator"),
        "labelled": example_data["tiny_classifier"](folder / "classifier"),
    }
    model = example_data["tiny_model"](folder)
    gold = str(folder / "gold.talp")
    found = {
        name: getattr(headlight, name)(
            folder / example_data["SOURCES"][study.reads],
            model=models.get(study.reads, model),
            progress=False,
            **({"gold": gold} if study.reads == "parallel" else {}),
            **study.smallest,
        )
        for name, study in studies().items()
    }
    pairs = folder / example_data["SOURCES"]["parallel"]
    encoded = headlight.alignment(pairs, model=model, progress=False, gold=gold, bootstrap=2)
    return found | {"alignment_of_encoders": encoded}


def translator(folder: Path) -> Path:
    """A Marian model with random weights, and a vocabulary of letters."""
    pieces = ["<pad>", "</s>", "<unk>", *"abcdefghijklmnopqrstuvwxyz.,"]
    inner = Tokenizer(vocabularies.Unigram([(piece, -1.0) for piece in pieces], unk_id=2))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    sizes = {f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in SIZES}
    tokens = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    config = MarianConfig(vocab_size=len(pieces), d_model=16, **sizes, **tokens)
    MarianMTModel(config).save_pretrained(folder)
    return folder


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found = all_results(Path(place))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
