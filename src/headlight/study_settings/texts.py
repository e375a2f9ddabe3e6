"""Settings of a corpus of texts: format, maximal length, number of examples."""

from dataclasses import dataclass
from typing import Literal

from headlight.errors import CorpusError
from headlight.settings import AtLeast1, Common
from headlight.study_settings.models import ModelSettings


@dataclass(frozen=True, kw_only=True)
class TextSettings(ModelSettings):
    """Settings of a corpus of texts.

    Attributes:
        format: format of the corpus; by default inferred from suffix or content. Plain text
            without blank lines is read as ``lines``, unless it is wrapped prose; ``pairs`` are
            sentence pairs (MRPC, CoLA, MNLI); ``translations``, for models with a decoder, are
            those of headlight align.
        column: column or key of the text, or keys with dots between (data.text); by default
            ``text``, or the only one.
        pairs: read two adjacent segments per example, as Clark et al. (2019) do, instead of one
            text.
        max_length: maximal number of tokens per example, special ones included; by default 128 for
            pairs, else that of the model, at most 512.
        overflow: handling of texts over the maximal length.
        segment_ids: segment ids of pairs: 0 and 1 (``pair``), or ``zeros``, as in the released maps
            of Clark et al.
        lone_units: handling of a paragraph that fills a pair alone: ``join`` it with the next, or
            end the document there (``discard``, as in the released code of Clark et al.).
        max_examples: maximal number of examples.
        seed: random seed, which also decides where segments are cut.
    """

    format: Common[str | None] = None
    column: Common[str | None] = None
    pairs: Common[bool] = False
    max_length: Common[AtLeast1 | None] = None
    overflow: Literal["truncate", "split", "error"] = "truncate"
    segment_ids: Literal["pair", "zeros"] = "pair"
    lone_units: Literal["join", "discard"] = "join"
    max_examples: Common[AtLeast1 | None] = None
    seed: int = 0

    def check_source(self, source: str | None) -> None:
        """Read the first text or pair, or the transcript of the first recording."""
        from headlight.corpora import medium_of, open_corpus, open_recordings, pair_format

        if source is None or medium_of(source) == "pictures":
            return  # pictures are decoded later, for the model that reads them
        if medium_of(source) == "speech":
            next(iter(open_recordings(source, column=self.column)))
        elif (pairs := pair_format(self.format)) is not None:
            next(iter(pairs.open(source)))
        else:
            try:
                next(iter(open_corpus(source, format=self.format, column=self.column)))
            except CorpusError as error:
                table = {self.format, source.rpartition(".")[2]} & {"csv", "tsv"}
                if table and "holds no text" in str(error):
                    error.args = (
                        f"{error.args[0]} The first line of a table is taken as its header; of "
                        "plain text the format is paragraphs or lines.",
                    )
                raise
