"""Shared names, without torch: measures, categories, kinds of attention, choices.

`measure_names` are the measures of a pair of positions, and `MEASURES` the default of studies.
Readings, surveys, pages, reports, pictures, terminal and command line all read the row of a measure
here.  `headlight.measures.register_measure` adds a row together with the function that computes it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from headlight.errors import UnknownNameError, UsageError

Kind = Literal["encoder", "decoder", "cross"]
"""Kind of attention: of an encoder, of a decoder, or of a decoder to an encoder."""

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")

Kinds = Literal["encoder", "decoder", "cross", "all"]
"""Kind of attention, or all of them at once."""

ATTENTION = {
    "encoder": "Attention of the encoder",
    "decoder": "Attention of the decoder",
    "cross": "Cross-attention, from the target to the source",
}
"""Headings for each kind of attention."""

Part = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = ("train", "dev", "test")
"""Splits of the data that a model is trained with: for training, for selection, for testing."""

ValueBias = Literal["include", "exclude"]
"""Whether T of effective attention has the value bias in it."""

NormPooling = Literal["norms", "vectors"]
"""Pooling of norms over the pieces of a word: their sum, or the norm of the summed vectors."""

QueryPooling = Literal["mean", "first", "max"]
"""Pooling of the pieces of the attending word."""

RANKS_WITHOUT_FILE = ("corpus", "ids")
"""Frequency ranks that are in no file: counted in the corpus, or the order of the vocabulary."""


CATEGORY_LABELS = {
    "cls": "[CLS]",
    "sep": "[SEP]",
    "punctuation": "punctuation",
    "other": "other tokens",
}
"""Labels of the token categories, where a result has no other names for them."""

CATEGORIES = tuple(CATEGORY_LABELS)
"""Token categories; an index into this tuple stands for one of them."""

ROLES = ("system", "user", "assistant")
"""Roles of the messages of a chat."""

TEMPLATE = "template"
"""Segment of the tokens outside the contents of messages."""

SEGMENTS = (TEMPLATE, *ROLES)
"""Named segments of a chat."""

PATCH, BORDER, REGISTER = "patch", "border", "register"
"""Named segments of a picture: patches inside and at its border, and registers."""

IMAGE = "image"
"""Segment of a picture beside a prompt."""

PROMPT, ANSWER = "prompt", "answer"
"""Segments of a text that a model continues."""

CONTRIBUTION = "contribution"
"""Variable of a generation: what each token adds to the logit of the next one."""

NEIGHBOURS = {"previous": -1, "current": 0, "next": 1}
"""Offsets of neighbours from the attending position."""


SINK = 0.3
"""A text in which a head gives the first token more than this has a sink (Gu et al. 2024)."""

FEWEST_FREEDOM = 3
"""Minimum degrees of freedom of an error over texts; with fewer, the interval is missing."""

MASSIVE, MASSIVE_RATIO = 100, 1000
"""An entry of a hidden state is massive above the first, if it is the second times the median (Sun
et al. 2024)."""

ROUTE = 0.01
"""A link of routes that brings at least this share of the chosen token is shown."""

FAR = 1000
"""Minimum distance in tokens of a far copy."""

RELATIVE = tuple(range(-8, 9))
"""Places of keys, counted from the query."""

DISTANCES = (0, *(2**power for power in range(15)))
"""Lower edges of the bins of distances; each ends before the next, and the last has no end."""

MODEL_LABEL, CORPUS_LABEL = "model_label", "corpus_label"
"""Attributes of a result: names of its model and its corpus that users give, for titles."""

NUMBERING = "L4H7 is head 7 of layer 4; both are counted from 0, as in transformers."
"""Explanation of the names of heads, shown once wherever they are."""

WEIGHT_AND_NORM = "Weight: what the softmax gives. Norm: the size of what is taken."
"""Explanation of both, shown once below a title that names them."""

Colour = Literal["blue", "orange", "purple", "green", "red"]
Marker = Literal["circle", "square", "diamond", "triangle", "inverted triangle", "plus"]
Need = Literal["input", "gradient", "attribution", "residual"]

GRADIENT, ATTRIBUTION = "gradient", "attribution"
"""Measures that need more than a pass forward: a loss, and derivatives by the input tokens."""

PER_HEAD = ("layer", "head", "query", "key")
PER_LAYER = ("layer", "query", "key")


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Measure of attention: its names, its shape, its needs, and its look.

    Attributes:
        name: Name of the variable, the setting and the option.
        symbol: Symbol in formulas.
        short: Label where there is little room.
        label: Label in full.
        meaning: Meaning of a number, as the words after the label and a colon.
        source: Publication that defines it.
        axes: Axes of the variable in a reading.
        unit: Unit of the numbers.
        share: Whether a number is a share of its row as it is; sums of other measures are divided
            by the sum of the row.
        signed: Whether numbers may be below 0.
        needs: Captured tensors besides weights and values: the ``input`` of the attention module,
            the ``gradient`` of a backward pass, the ``attribution`` of input tokens, or the
            ``residual`` to which the output of the attention is added.
        default: Whether studies include it by default.
        colour: Colour of lines and heat maps.
        marker: Marker on lines.
    """

    name: str
    symbol: str
    short: str
    label: str
    meaning: str
    source: str
    axes: tuple[str, ...] = PER_HEAD
    unit: str = "1"
    share: bool = False
    signed: bool = False
    needs: Need | None = None
    default: bool = False
    colour: Colour = "green"
    marker: Marker = "circle"

    @property
    def title(self) -> str:
        """Return label and symbol: ``attention weight α``."""
        return f"{self.label} {self.symbol}"

    @property
    def help(self) -> str:
        """Return title and meaning as a sentence."""
        return f"{self.title[0].upper()}{self.title[1:]}: {self.meaning}."

    @property
    def per_head(self) -> bool:
        """Whether each head has numbers; otherwise all heads of a layer share them."""
        return "head" in self.axes

    @property
    def pairwise(self) -> bool:
        """Whether its numbers are of pairs of positions, as studies need them."""
        return self.axes in (PER_HEAD, PER_LAYER)


_TABLE = {
    row.name: row
    for row in (
        Measure(
            name="weight",
            symbol="α",
            short="weight",
            label="attention weight",
            meaning="the share of its attention that the row's token gives to the column's token",
            source="Clark et al. (2019)",
            share=True,
            default=True,
            colour="blue",
        ),
        Measure(
            name="norm",
            symbol="‖αf(x)‖",
            short="norm",
            label="weighted norm",
            meaning="how long a vector the head really moves from the column's token to the row's",
            source="Kobayashi et al. (2020), Section 3",
            default=True,
            colour="orange",
            marker="square",
        ),
        Measure(
            name="effective",
            symbol="A⊥",
            short="effective",
            label="effective attention",
            meaning=(
                "the part of the weight that can change the head's output; it can be negative"
            ),
            source="Brunner et al. (2020), Eq. 9",
            share=True,
            signed=True,
            default=True,
            colour="purple",
            marker="diamond",
        ),
        Measure(
            name="gradient",
            symbol="|∂L/∂α|",
            short="gradient",
            label="gradient",
            meaning="how much the loss changes with the weight",
            source="Clark et al. (2019), Section 3.2",
            needs="gradient",
            marker="inverted triangle",
        ),
        Measure(
            name="merged_norm",
            symbol="‖Σαf(x)‖",
            short="merged norm",
            label="merged norm",
            meaning=(
                "how long a vector moves from the column's token to the row's if those of all "
                "heads of the layer are summed first, so there is no head to choose"
            ),
            source="Kobayashi et al. (2020), Section 3, Eq. 3",
            axes=PER_LAYER,
        ),
        Measure(
            name="block_norm",
            symbol="‖Σαf(x)+δx‖",
            short="block norm",
            label="norm in the attention block",
            meaning=(
                "how long a vector the column's token gives to what the attention block adds up "
                "for the row's, where each token also keeps itself by the residual connection"
            ),
            source="Kobayashi et al. (2021)",
            axes=PER_LAYER,
            needs="residual",
            marker="triangle",
        ),
        Measure(
            name="layer_norm",
            symbol="‖LN(Σαf(x)+δx)‖",
            short="layer norm",
            label="norm behind the layer normalization",
            meaning=(
                "the same behind the norm that follows the sum; where none follows, it is the norm "
                "in the attention block"
            ),
            source="Kobayashi et al. (2021)",
            axes=PER_LAYER,
            needs="residual",
            colour="red",
            marker="inverted triangle",
        ),
        Measure(
            name="attribution",
            symbol="c",
            short="attribution",
            label="attribution to input tokens",
            meaning=(
                "the share of the column's input token in what the row's hidden token depends on, "
                "at the output of the layer (all heads, and the layers below)"
            ),
            source="Brunner et al. (2020), Eq. 11",
            axes=PER_LAYER,
            share=True,
            needs="attribution",
            colour="red",
            marker="plus",
        ),
        Measure(
            name="vector_norm",
            symbol="‖f(x)‖",
            short="vector norm",
            label="norm of the transformed vector",
            meaning="how long the vector is that the head would move from a token at weight 1",
            source="Kobayashi et al. (2020), Section 3",
            axes=("layer", "head", "key"),
        ),
        Measure(
            name="input_norm",
            symbol="‖x‖",
            short="input norm",
            label="norm of the input vector",
            meaning="how long the vector of a token is that values are made from",
            source="Kobayashi et al. (2020), Section 4.1",
            axes=("layer", "key"),
            needs="input",
        ),
        Measure(
            name="entropy",
            symbol="H(α)",
            short="entropy",
            label="entropy of the weights",
            meaning="how broadly a token attends",
            source="Clark et al. (2019), Section 3.3",
            axes=("layer", "head", "query"),
            unit="nats",
        ),
        Measure(
            name="rank",
            symbol="rank T",
            short="rank",
            label="rank of T",
            meaning="how many dimensions of attention the head's output can tell apart",
            source="Brunner et al. (2020), Section 3.2",
            axes=("layer", "head"),
        ),
    )
}

MEASURES = tuple(row.name for row in _TABLE.values() if row.default)
"""Names of the measures of studies by default."""


def head_name(layer: int, head: int) -> str:
    """Return the name of a head, with both numbers counted from 0: ``L4H7``.

    Papers count from 1 and write ``5-8``, which their exhibits add in brackets.
    """
    return f"L{layer}H{head}"


def place_of_head(name: str) -> tuple[int, int] | None:
    """Return layer and head of a name such as ``L4H7``; None of any other word."""
    match = re.fullmatch(r"L(\d{1,4})H(\d{1,4})", name.strip())
    return (int(match[1]), int(match[2])) if match else None


def require_names_of_heads(names: Iterable[str]) -> None:
    """Refuse a word that is no name of a head, in any model.

    Raises:
        UsageError: There is such a word.
    """
    for name in names:
        if place_of_head(name) is None:
            raise UsageError(
                f"there is no head {name!r}; write L2H5 for head 5 of layer 2, counted from 0."
            )


def measure_table() -> tuple[Measure, ...]:
    """Return all rows: measures of pairs of positions, and of single positions."""
    return tuple(_TABLE.values())


def measure_names() -> tuple[str, ...]:
    """Return the measures of pairs of positions, which studies can include."""
    return tuple(row.name for row in _TABLE.values() if row.pairwise)


def reading_measures() -> tuple[str, ...]:
    """Return the measures of a reading, which needs no loss and so has no gradient."""
    return tuple(name for name in measure_names() if _TABLE[name].needs != "gradient")


def measure(name: str) -> Measure:
    """Return the row of a measure.

    Raises:
        UnknownNameError: There is none of that name.
    """
    if name not in _TABLE:
        raise UnknownNameError("measure", name, _TABLE)
    return _TABLE[name]


def check_measures(names: Sequence[str]) -> None:
    """Refuse measures that a study cannot include, a measure that is named twice, or none.

    Raises:
        UnknownNameError: There is no such measure of pairs of positions.
        UsageError: No measure is named, or one is named twice.
    """
    names_known = measure_names()
    for name in names:
        if name not in names_known:
            raise UnknownNameError("measure", name, names_known)
    if not names or len(set(names)) < len(names):
        raise UsageError(f"measures is {names!r}; name at least one, and each of them once.")


def measures_that_need(need: Need, names: Iterable[str]) -> tuple[str, ...]:
    """Return the measures with a need, such as a backward pass (``gradient``)."""
    return tuple(name for name in names if measure(name).needs == need)


def add_measure(row: Measure) -> None:
    """Append a row to the table; `headlight.measures.register_measure` calls this.

    Raises:
        UsageError: The table has a row of that name.
    """
    if row.name in _TABLE:
        raise UsageError(f"there is a measure {row.name!r} already; give yours another name.")
    _TABLE[row.name] = row


def remove_measure(name: str) -> None:
    """Remove a row from the table.

    Raises:
        UnknownNameError: There is none of that name.
    """
    del _TABLE[measure(name).name]


_LOCAL = re.compile(r"([A-Za-z]:)?[\\/]|~|\.\.?[\\/]|[\w.-]+/[\w.-]+/")
"""Beginning of a path; a name of a hub has one slash at most."""


def base_name(name: object) -> str:
    """Return the name of a model or corpus in a title: the end of a local path, other names whole.

    The end is the last part, or of a pattern the last folder with it; the whole path is in the
    provenance.
    """
    text = str(name)
    parts = [part for part in re.split(r"[\\/]+", text) if part]
    if not _LOCAL.match(text) or not parts:
        return text
    return "/".join(parts[-2:] if "*" in parts[-1] else parts[-1:])
