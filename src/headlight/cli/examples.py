"""The examples that the help of each study shows."""

from collections.abc import Mapping, Sequence

_LINES: Mapping[str, Sequence[tuple[str, str]]] = {
    "survey": (
        ("", "embedded model, sample corpus"),
        ("corpus.txt.gz --model bert-base-uncased --out run/", ""),
        ("wiki/ --pairs --max-examples 992", "as Clark and Kobayashi did"),
        ("wiki/ --measures weight,gradient", "runs the model backward as well"),
        ("hf:imdb:train:text --out imdb/ --resume", ""),
    ),
    "norms": (
        ("wiki/ --pairs --max-examples 992", "as Kobayashi did"),
        ("wiki/ --model gpt2 --sinks on", "looks for attention sinks"),
    ),
    "contributions": (
        ("wiki/ --max-examples 50 --max-length 64", ""),
        ("msr_paraphrase_test.txt --format pairs --max-examples 100", "as Brunner did"),
    ),
    "distances": (
        ("wiki/ --pairs --max-examples 992", "as Clark did"),
        ("wiki/ --measures weight,norm --layers 0-5", ""),
    ),
    "importance": (
        ("wiki/ --pairs --max-examples 992", "as Clark did"),
        ("wiki/ --model gpt2 --max-length 128", ""),
    ),
    "ablation": (
        ("wiki/ --max-examples 100", "a masked language model"),
        ("wiki/ --model gpt2 --max-length 128", "loss of the next token"),
        ("reviews.tsv --model ./my-classifier", "also how many answers stay right"),
    ),
    "identifiability": (
        ("wiki/ --max-length 256", ""),
        ("wiki/ --value-bias exclude --per-head", ""),
    ),
    "token_identity": (
        ("msr_paraphrase_test.txt --format pairs --solver ridge", "takes minutes, not hours"),
        ("wiki/ --pairs --max-examples 400 --maps naive,linear", ""),
    ),
    "dependency": (
        ("en_ewt-ud-dev.conllu", ""),
        ("ptb.conllx --model bert-base-uncased --measures weight,norm", ""),
    ),
    "coreference": (
        ("litbank/conll/", ""),
        ("ontonotes/ --model bert-base-uncased --overlap 32", "whole documents, in windows"),
    ),
    "parser_probes": (
        ("en_ewt-ud-dev.conllu --train en_ewt-ud-train.conllu", ""),
        ("en_ewt-ud-dev.conllu --probes right_branching,attention", ""),
    ),
    "alignment": (
        ("test.de-en --gold gold.talp", "embedded translator, by layer and head"),
        ("test.de --target test.en --gold gold.talp --measures norm,difference", ""),
        ("pairs.tsv --gold links.naacl --model Helsinki-NLP/opus-mt-de-en", ""),
    ),
    "permutation": (
        ("reviews.tsv --model ./my-classifier --max-examples 200", ""),
        ("reviews.tsv --model ./my-classifier --by head --changes uniform", "each head alone"),
        ("chunks.txt --model ./my-tagger --keep-special", "words and tags in columns"),
    ),
    "faithfulness": (
        ("reviews.tsv --model ./my-classifier --max-examples 200", ""),
        ("reviews.tsv --model ./my-classifier --removals mask,delete,attention", ""),
    ),
    "agreement": (
        ("reviews.tsv --model ./my-classifier --max-examples 200", ""),
        ("reviews.tsv --model ./my-classifier --measures weight,attribution --rows first", ""),
    ),
    "instance_adversary": (
        ("reviews.tsv --model ./my-classifier", "40 texts"),
        ("reviews.tsv --model ./my-classifier --by layer --rows first", "each layer alone"),
    ),
    "adversary": (
        ("reviews.tsv --model ./my-classifier --start bert-base-uncased", ""),
        ("reviews.tsv --model ./my-classifier --start base --layers 11", "one layer, from itself"),
        ("chunks.txt --model ./my-tagger --start scratch --lambdas 0.01,0.1", ""),
    ),
    "guided": (
        ("reviews.tsv --model ./my-classifier", ""),
        ("reviews.tsv --model ./my-classifier --also run/models/adversary-0-1.0", ""),
    ),
}


def _epilog(name: str, lines: Sequence[tuple[str, str]]) -> str:
    """As rich shows it: a paragraph for each line."""
    command = f"headlight {name.replace('_', '-')}"
    shown = [
        f"  {f'{command} {words}'.strip():<50} {f'[dim]{note}[/dim]' if note else ''}".rstrip()
        for words, note in lines
    ]
    return "\n[bold]Examples[/bold]\n\n" + "\n\n".join(shown) + "\n"


STUDY_EXAMPLES = {name: _epilog(name, lines) for name, lines in _LINES.items()}
"""By the name of the study."""
