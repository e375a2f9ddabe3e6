"""Notes on data and training under an exhibit."""

from headlight_papers.papers import yang2020 as published
from headlight_papers.papers.reproduction import Reproduction
from headlight_papers.papers.yang2020.results import load_sweep
from headlight_papers.papers.yang2020.tagger import HEADS, WIDTH

OF_WHAT = (
    "F1 is that of spans, strict IOB2; conlleval also lets a span begin with I-. Agreement, TVD "
    "and the divergences are between a model and its base, as means over the words of the test "
    "part: attention before dropout, without padding. KL of a row is KL(adversary ‖ base) in nats; "
    "KL of an entry is what the paper has, that of a row divided by its length. JSD is at most "
    "ln 2 = 0.693."
)


def notes_of(reproduction: Reproduction) -> list[str]:
    """Return notes on how data and training differ from the paper's."""
    attributes = load_sweep(reproduction).attrs
    settings = reproduction.settings
    train, dev, test = (attributes[f"sentences_{part}"] for part in ("train", "dev", "test"))
    vectors = "GloVe of the file given" if reproduction.sources.word_vectors else "no given vectors"
    chosen = (
        "the paper's code chooses on its test set, and here the development part was used"
        if settings.selection == "dev"
        else "as in the paper's code the best epoch was chosen on the test part itself"
    )
    return [
        f"Sentences: {train} to train, {dev} for development and {test} to test, split by "
        f"sentence; the paper has {published.SENTENCES['train']} and the official test set of "
        f"{published.SENTENCES['test']}. {chosen[0].upper()}{chosen[1:]}.",
        f"Input: {vectors}, frozen, and trained vectors of words and of their last one to four "
        "letters; the released code has frozen GloVe (200) and character n-grams (100), and the "
        "paper names neither. Batches of 32 sentences, those of the code 100; no sentence marks.",
        f"Taggers have one layer of {HEADS} heads, as in the paper, and a width of {WIDTH}; the "
        "paper names no width.",
        f"Every model is trained for {settings.epochs} epochs, adversaries from new weights, by "
        f"Adam with a rate that falls to 0; the released code has at most {published.EPOCHS} "
        "epochs with a falling rate, and the paper names none. Padding is neither a key nor part "
        "of a loss; in the released code it is both, and attention is compared after dropout.",
        "λ multiplies the mean KL of rows; the paper's multiplies a mean over entries, so that "
        f"ours times {attributes['row_length']:.1f}, the mean length of a row, is its λ. Table "
        "1 of the paper has an adversary of λ = 3, and its text calls it 2.5.",
        f"Over {settings.repeats} seeds, ± half of a 95% interval (Student's t). The adversaries "
        "of a seed are taught by the base of that seed. λ = 0 is the control: another model taught "
        "by the base, free to attend as it likes.",
    ]
