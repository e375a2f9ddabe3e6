"""Written by scripts/stubs.py from the table of questions; do not edit."""

from collections.abc import Iterable, Mapping, Sequence
from headlight.chats import Chat
from headlight.corpora.pairs import SentencePair
from headlight.reading.alternatives import Alternatives
from headlight.reading.explanation import Explanation
from headlight.reading.flow import Flow
from headlight.reading.generation import Generation
from headlight.reading.patching import Patching
from headlight.reading.prediction import Prediction
from headlight.reading.reading import Reading
from headlight.reading.routes import Routes
from headlight.reading.similarity import Similarity
from headlight.reading.sources import Sources
from headlight.settings.attribution import AttributionSettings
from pathlib import Path
from typing import Any, Literal

class QuestionMethods:
    """Base of models that answer questions: a method for each row of the table."""

    def read(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
        pair: str | None = None,
        *,
        audio: str | Path | None = None,
        image: Any = None,
        ids: Sequence[int] | None = None,
        prompt: int | None = None,
        attention_mask: Sequence[int] | None = None,
        position_ids: Sequence[int] | None = None,
        kind: Literal['encoder', 'decoder', 'cross', 'all'] | None = None,
        layers: int | Iterable[int] | None = None,
        heads: int | Iterable[int] | None = None,
        queries: int | Iterable[int] | None = None,
        value_bias: Literal['include', 'exclude'] = 'include',
        attribution: bool | AttributionSettings | Mapping[str, Any] = False,
        residual: bool = False,
    ) -> Reading:
        """Read one text, or a pair, and keep every measure of every head.

        Args:
            text: text, or a list of messages as a chat, which the template of the tokenizer writes,
                and whose tokens have named segments; of a recording its transcript, by default the
                model's own.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            audio: WAV file, for a model of speech; see `headlight.reading.speech.read_speech`.
            image: picture, as a file or a picture of Pillow: in a model of both pictures and text,
                its encoder of pictures reads the picture alone, and its language model reads it
                beside a text.
            ids: token ids in the place of a text, such as those that a server generated; none are
                added.
            prompt: number of first ids that were the prompt; segments then tell it from the
                ``answer``.
            attention_mask: 1 for each id that is read, 0 for padding before and after them, which
                does not appear.
            position_ids: position of each id; by default those that are read count from 0.
            kind: kind of attention; by default the first that the model has; ``all`` shows all
                kinds.
            layers: layers to show, from 0; by default all.
            heads: heads of each layer to keep, from 0; by default all.
            queries: positions of attending tokens to keep, from 0; by default all.
            value_bias: value bias in T of effective attention.
            attribution: contributions of input tokens to hidden tokens, which cost more than
                everything else together; if true, they are estimated with the default settings.
            residual: also compute the measures that see the residual connection and the norm behind
                it, ``block_norm`` and ``layer_norm``.

        Returns:
            Reading, whose ``dataset`` holds, over layer, head, query (the attending token) and key.

            - ``weight``, ``norm``, ``effective`` (layer × head × query × key): α, ‖αf(x)‖ and A⊥
            - ``merged_norm`` (layer × query × key): norm of the sum of all heads
            - ``block_norm``, ``layer_norm`` (layer × query × key): with the residual connection, and
              behind its norm, with `residual`
            - ``attribution`` (layer × query × key): contributions to hidden tokens, with `attribution`
            - ``vector_norm`` (layer × head × key), ``input_norm`` (layer × key): ‖f(x)‖ and ‖x‖
            - ``entropy`` (layer × head × query): of the weights, in nats
            - ``rank`` (layer × head): rank of T
            - ``head_number`` (statistic × measure × layer × head), ``head_rows`` (statistic):
              statistics of each head, and the number of rows behind each

            With all kinds of attention, ``kind`` is a first dimension.

        Raises:
            UsageError: nothing to read, no tokenizer, an empty or too long text, ids that are not those
                of the model, of another number than their mask, or with a hole in it, a file that is no
                recording or no picture, a picture beside a text by a model that does not read it so, no
                such kind, layer, head or position, or contributions of all kinds at once.
            UnsupportedModelError: the attention of the model cannot be captured exactly, or a layer
                whose residual is requested could not be followed.
        """
        ...

    def predict(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        pair: str | None = None,
        *,
        target: str | Path | None = None,
        against: str | Path | None = None,
        position: int | None = None,
        compare_text: str | Path | None = None,
        slope: Literal['zero_origin', 'chord', 'derivative'] = 'zero_origin',
    ) -> Prediction:
        """What a prediction rests on, by leaving out words, and the addends of its logit.

        Each word of the text is left out in turn, and the model predicts again; see
        `headlight.reading.word_removal`.

        Statistics of norms, attention weights and slopes of activations are taken as constants of the
        text; the logit is then a sum of what the embeddings and biases add, and of what heads and
        layers write (ALTI-Logit, Ferrando et al. 2023; DecompX, Modarressi et al. 2023).  The model has
        its head, in float32 or float64.  Behind a chat whose last message is not the assistant's, the
        template begins an answer.

        With another text of as many tokens every number is that of the text less that of the other.
        What a parameter adds, such as a bias, differs as well: the constants are those of each text.

        Args:
            text: what it reads; a list of messages is a chat.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            target: word that continues the text, such as " he", or fills the mask; or the name or
                number of a class; by default the prediction of the model.
            against: another word or class, whose logit is subtracted.
            position: position of the predicting token, from 0; by default the last of the text, or
                its first mask.
            compare_text: second text with the same number of tokens, such as one that differs in a
                word.
            slope: slope of linearized activations: ``zero_origin`` (act(x)/x), ``chord`` from the
                bias, or ``derivative``.

        Returns:
            Prediction, whose ``dataset`` holds addends of ``logit``, in its unit.

            - ``logit`` (): the explained logit, or difference of two
            - ``token_total``, ``position_total`` (token): what the embedding of a token, and of its
              position, adds through all layers
            - ``direct``, ``total`` (component): what embeddings, attention modules, feed-forward layers
              and biases add, directly and through later layers
            - ``head_direct``, ``head_total`` (site × head × token): the same of each head, by the token
              that it takes from; a site is an attention module
            - ``remainder_direct``, ``remainder_total`` (): what is missing from either sum
            - ``left_out_probability``, ``left_out_first`` (word): probability of the target without a
              word, and what is most probable then
            - ``left_out_against`` (word): probability of the other target without the word
            - ``candidate_probability`` (candidate): what else is probable

        Raises:
            MissingHeadError: the model predicts nothing.
            UsageError: no tokenizer, an empty or too long text, an unknown word or class, no such
                position, the model is in half precision, or the other text has other numbers of tokens.
            UnsupportedModelError: the parts do not add up, attention cannot be captured exactly, or the
                model reads its text twice.
        """
        ...

    def generate(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        pair: str | None = None,
        *,
        max_new_tokens: int = 20,
        layers: int | Iterable[int] | None = None,
        predict: bool = False,
    ) -> Generation:
        """Generate text, the most probable token each time, and read it with its prompt.

        A decoder goes on with the text, or answers a chat; an encoder-decoder writes what its decoder
        makes of it.  It ends at the end-of-text token, or where the model takes no more.  What the
        model's own generation settings force or forbid stays so.

        Args:
            text: what it reads; a list of messages is a chat.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            max_new_tokens: tokens to generate at most, each time the most probable one.
            layers: layers to read, from 0; by default all.
            predict: decompose the logit of each generated token into what the tokens before it add.

        Returns:
            Generation, a `Reading` of the prompt and the answer in rows of the tokens that predict the
            answer, whose ``dataset`` also holds what was generated.

            - ``query_next``, ``query_probability`` (query): the token generated after the one of the
              row, and its probability
            - ``contribution`` (query × key): what each token adds to the logit of the next, with
              `predict`

        Raises:
            MissingHeadError: the model does not predict next tokens.
            UsageError: no tokenizer, a second text, an empty or too long text, or no such layer.
            UnsupportedModelError: the attention of the model cannot be captured exactly.
        """
        ...

    def patch(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        pair: str | None = None,
        *,
        target: str | Path | None = None,
        against: str | Path | None = None,
        position: int | None = None,
        compare_text: str | Path | None = None,
        kind: Literal['encoder', 'decoder', 'cross'] | None = None,
        layers: int | Iterable[int] | None = None,
    ) -> Patching:
        """Patch each head with the same head of another text, and measure the fall of a logit.

        One head at a time is given its output, or its attention weights, of the other text, while the
        model reads the text; everything behind it is recomputed.

        Args:
            text: what it reads; a list of messages is a chat.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            target: word that continues the text, such as " he", or fills the mask; or the name or
                number of a class; by default the prediction of the model.
            against: another word or class, whose logit is subtracted.
            position: position of the predicting token, from 0; by default the last of the text, or
                its first mask.
            compare_text: second text with the same number of tokens, such as one that differs in a
                word.
            kind: kind of attention; by default the first that the model has.
            layers: layers whose heads are patched, from 0; by default all.

        Returns:
            Patching, whose ``dataset`` holds logits and their falls.

            - ``score``, ``other_score`` (): logit in the text, and in the other text
            - ``output``, ``pattern`` (layer × head): fall of the logit, with the output or with the
              weights that the head has in the other text

        Raises:
            MissingHeadError: the model predicts nothing.
            UsageError: no other text, one of another number of tokens, no tokenizer, an empty or too
                long text, an unknown word or class, or no such position, layer or kind.
            UnsupportedModelError: the attention of the model cannot be captured exactly.

        Source: Wang et al. (2023), activation patching; Vig et al. (2020).
        """
        ...

    def alternatives(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        pair: str | None = None,
        *,
        layer: int = 0,
        head: int = 0,
        number: int = 1,
        kind: Literal['encoder', 'decoder', 'cross'] | None = None,
        method: Literal['random', 'farthest'] = 'random',
        distance: float = 1.0,
        queries: int | Iterable[int] | None = None,
        certify: bool = False,
        precision: Literal['model', 'float64'] = 'model',
        seed: int = 0,
    ) -> Alternatives:
        """Other attention of one head on one text, or a pair, which the output cannot tell.

        Keys that a query cannot see stay at 0.  Row by row, as far as the settings say; a row that has
        no alternative stays as it is, and if no row has any, there is no alternative, which is a
        result.

        The model is in evaluation mode.

        Args:
            text: what it reads; a list of messages is a chat.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            layer: layer, from 0.
            head: head, from 0.
            number: number of alternatives.
            kind: kind of attention; by default the first that the model has.
            method: ``random``: along a random direction of LN([T, 1]), Eq. 7 of the paper; or
                ``farthest``: the largest total variation that repeated linear programs find.
            distance: step, as a share of λ_max or of the way to the farthest; above 0 and at most
                1.
            queries: positions of the rows that change; by default all.
            certify: also bound the total variation tightly, by two linear programs per key and row.
            precision: precision of the ``model``, or ``float64`` for a copy of it, in which equal
                outputs agree to about 1e-12, unless the model computes softmax in float32.
            seed: random seed of the directions.

        Returns:
            Alternatives, whose ``dataset`` holds matrices and numbers of rows.

            - ``original`` (query × key): weights of the head
            - ``attention`` (alternative × query × key): other weights, none where there are none
            - ``total_variation`` (alternative × query): distance of each row from its original, 0 to 1
            - ``output_difference`` (alternative): largest change of the output of the model
            - ``asked``, ``exists`` (query): whether the row was to change, and has an alternative
            - ``bound`` (query): upper bound of the total variation
            - ``rank``, ``rank_with_ones``, ``keys`` (query): rank of T and of [T, 1], and the number of
              visible keys

        Raises:
            UsageError: no tokenizer, an empty or too long text, no such kind, layer, head or query; or
                scipy is needed and not installed.
        """
        ...

    def routes(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        pair: str | None = None,
        *,
        kind: Literal['encoder', 'decoder', 'cross'] | None = None,
        token: int | None = None,
        layer: int | None = None,
        least: float = 0.01,
        compare_text: str | Path | None = None,
    ) -> Routes:
        """Compute the routes to every token after every layer, by residual stream, heads, tokens.

        With another text of as many tokens the shares of its parts stand beside them.

        The share of a part p in a sum y is max(0, ‖y‖₁ − ‖y − p‖₁) over the sum of that of all parts.
        Parts of the sum after the attention are the residual, α f(x) of each head and key, and the
        bias.  They are taken through norms and scales on their way, and through a norm that follows
        the sum (post-LN), with the statistics of the run.

        Args:
            text: what it reads; a list of messages is a chat.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            kind: kind of attention; by default the first that the model has.
            token: token whose routes are shown, from 0, or from -1 backwards; by default the last
                word.
            layer: layer after which the token is followed, from 0; by default the last.
            least: smallest share of the token that a shown link brings.
            compare_text: second text with the same number of tokens, such as one that differs in a
                word; heads are then named that take most more, or less, than in it.

        Returns:
            Routes, whose ``dataset`` holds shares of each token after the attention of each layer.

            - ``residual``, ``bias`` (layer × query): share of the token before the layer, and of the
              bias of the output projection
            - ``share`` (part): share of what a head takes from a token
            - ``part_layer``, ``part_head``, ``part_query``, ``part_key`` (part): which part that is
            - ``rest`` (layer × query × key): of all smaller parts together
            - ``forward`` (layer × query): share of the feed-forward layer in the sum after it
            - ``compare_share`` (part): of the same part in the other text, with `compare_text`

        Raises:
            UsageError: no tokenizer, an empty or too long text, no such kind, cross-attention, or the
                other text has another number of tokens.
            UnsupportedModelError: what follows the attention could not be followed, or the heads have
                a gate with a number for each component.

        Source: Ferrando and Voita (2024), with the distance of Ferrando et al. (2022).
        """
        ...

    def explain(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        pair: str | None = None,
        *,
        layer: int | None = None,
        head: int | None = None,
        query: int = -1,
        key: int | None = None,
        against_key: int | None = None,
        kind: Literal['encoder', 'decoder', 'cross'] | None = None,
    ) -> Explanation:
        """Explain the score of a query and a key.

        The statistics of norms are taken as constants of the text.  The score is then a sum of what
        embeddings, heads, feed-forward layers and biases wrote into the residual stream of the query,
        with the key as it is; and another sum, of what was written for the key.  Both are ⟨q, k⟩ times
        the scale, before masks, soft caps and biases of positions.  Since scores are products, they are
        also the sum over all pairs of a part of the query and a part of the key.  A constant added to
        the scores of all keys moves no weight; the difference of the scores of two keys does, and it is
        such a sum, too, of the parts of the query and the differences of those of the keys.

        Args:
            text: what it reads; a list of messages is a chat.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            layer: layer, from 0; by default that of the head with the largest weight.
            head: head, from 0; by default the one with the largest weight.
            query: attending token, from 0, or from -1 backwards.
            key: attended token; by default the one with the largest weight, except the first token
                and the query.
            against_key: another token that the query sees; the difference of the two scores is then
                taken apart, which alone moves weight from one to the other.
            kind: kind of attention; by default the first that the model has.

        Returns:
            Explanation, whose ``dataset`` holds a score and its addends.

            - ``score``, ``weight`` (): ⟨q, k⟩ times the scale, and α of the cell
            - ``part`` (part_number): what each part adds to the score, on either side
            - ``head_part`` (of × site × earlier_head × token): parts of earlier heads, by the token
              that they take from; of is the side, a site is an attention module
            - ``product`` (query_part × key_part): what the parts of both sides add to the score
            - ``other_score``, ``other_weight`` (): the same of the other key, if there is one
            - ``difference`` (query_part × key_part): what the parts add to ``score`` − ``other_score``

        Raises:
            UsageError: no tokenizer, an empty or too long text, no such layer, head or token,
                cross-attention, another key that is the key, or that the query does not see, or the
                model is in half precision.
            UnsupportedModelError: the parts do not add up to the score.

        Source: Elhage et al. (2021): frozen norms, and scores as sums over pairs ("QK circuit").
        """
        ...

    def flow(
        self,
        text: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any] | None = None,
        pair: str | None = None,
        *,
        image: Any = None,
        methods: str | Path | Iterable[str | Path] = ('rollout', 'globenc', 'alti'),
        kind: Literal['encoder', 'decoder', 'cross'] | None = None,
        layers: int | Iterable[int] | None = None,
        attribution: AttributionSettings | Mapping[str, Any] | None = None,
    ) -> Flow:
        """The share of each input token in each token after each layer, by each method.

        Of an encoder-decoder the encoder is read.

        Args:
            text: what it reads; a list of messages is a chat.
            pair: a second text: the second segment, or the decoder's text in an encoder-decoder
                model.
            image: picture, as a file or a picture of Pillow, that the model reads in place of a
                text.
            methods: methods of attribution; see `headlight.settings.flow.METHODS`.
            kind: kind of attention; by default the first that the model has.
            layers: layers after which tokens are analysed, from 0; by default all.
            attribution: computation of ``attribution``, if it is among the methods.

        Returns:
            Flow, whose ``dataset`` holds shares of input tokens.

            - ``share`` (map × layer × query × key): share of the input token (key) in the token (query)
              after each layer, by each method; rows sum to 1

        Raises:
            UnknownNameError: there is no such method.
            UsageError: no tokenizer, an empty or too long text, no such layer, or cross-attention.
            UnsupportedModelError: a method cannot be used with this model.
        """
        ...

    def similarity(
        self,
        text: str | Iterable[SentencePair | tuple[str, str]],
        pair: str | None = None,
        *,
        number: int = 10,
    ) -> Similarity:
        """Decompose the cosine of two embeddings into what each pair of tokens adds.

        Texts are embedded by the model's own rule, as the files of a SentenceTransformer say it; where
        nothing says one, by the mean over all tokens.  Attention weights, statistics of norms and
        slopes are constants of each text.

        Args:
            text: first text; or pairs of texts, as tuples of two or as an open corpus of pairs.
            pair: second text.
            number: pairs of words, the largest, whose removal is computed.

        Returns:
            Similarity, whose ``dataset`` holds a cosine and its parts; of several pairs of texts it has
            a row for each in ``term``, and their means in ``mean``.

            - ``cosine`` (): cosine of the two embeddings
            - ``norm`` (side): length of each embedding, before it is normalised
            - ``pair_part`` (a_token × b_token): what a pair of tokens adds
            - ``bias`` (): what positions and biases add, by themselves and with tokens
            - ``word_part`` (a_word × b_word): what a pair of words adds
            - ``part``, ``without_cosine`` (pair): what the largest pairs of words add, and the cosine
              of the texts without both words
            - ``head_part`` (side × layer × head), ``rest_part`` (side): what heads, and all else, write
              directly into the cosine; of each side they add up to it

        Raises:
            UsageError: no second text, an empty or too long text, no tokenizer, or a model that does
                not read one text alone.
            ModelError: the files that say how texts are embedded are damaged.
            UnsupportedModelError: the embedding is not a sum over tokens (it is pooled by a maximum,
                say), or its parts do not add up.

        Source: parts of embeddings: Modarressi et al. (2023), DecompX, without the sharing of biases.
        """
        ...

    def sources(
        self,
        question: str | Chat | Sequence[Mapping[str, Any]] | Mapping[str, Any],
        context: Sequence[str] | None = None,
        *,
        answer: str | None = None,
        number: int = 10,
        chosen: str | Path | Iterable[str | Path] | None = None,
        measures: Literal['weight', 'norm'] | Iterable[Literal['weight', 'norm']] = ('weight',),
        orders: int = 2,
        masks: int = 16,
        max_new_tokens: int = 20,
        predict: bool = True,
        needles: int = 12,
        haystack: int = 200,
        seed: int = 0,
    ) -> Sources:
        """Compare what passages contribute to an answer, by several signals.

        *Removal* is the fall of the answer's log-probability without the passage; *sets* are the
        coefficients of a linear model of the log-probability, fitted to random sets of passages.  Of
        attention, the shares are those of the rows that predict the answer's tokens: means over the
        chosen heads, and over all.  *Predict* is what heads write directly from the passage into the
        logits of the answer's tokens, summed.

        Args:
            question: text, or messages of a chat, which may hold the passages or have them written
                before the question; or several examples; see `headlight.corpora.passages.EXAMPLE`.
            context: passages.
            answer: answer; by default the last message of a chat if it is the assistant's, else
                what the model writes, up to the end of a line.
            number: heads that are chosen, those that copy most of hidden facts.
            chosen: names of heads, such as L17H4, in the place of these.
            measures: measures of attention whose shares are compared.
            orders: different orders of the passages over which numbers are averaged, the first as
                they are; all orders, where there are no more.
            masks: random sets of passages in each order, to which a linear model is fitted.
            max_new_tokens: tokens of an answer that the model writes, at most.
            predict: compute direct contributions to the answer.
            needles: hidden facts by which heads are chosen.
            haystack: tokens of each text with a hidden fact.
            seed: random seed of orders and sets.

        Returns:
            Sources, whose ``dataset`` holds numbers of passages and heads.

            - ``value`` (answer × signal × passage): how much a passage was used, by each signal
            - ``mean`` (signal × passage): mean over answers
            - ``right`` (answer × signal), ``right_share`` (signal): whether a signal is largest on the
              passage that an answer rests on, and the share of such answers
            - ``rank`` (answer × signal), ``agreement`` (signal): Spearman's correlation of a signal
              with removal over the passages, and its mean over answers
            - ``head_share`` (answer × measure × layer × head × passage): shares of each head
            - ``lookback`` (answer × layer × head × token): ratio of weights on the prompt, by token
            - ``retrieval`` (layer × head): share of the tokens of a hidden fact that a head copies
            - ``log_probability`` (answer): of the answer with all passages, in nats

        Raises:
            MissingHeadError: the model does not predict next tokens.
            UsageError: no passage or an empty one, no question or an empty answer, a prompt that with
                the answer is longer than the model reads, no such head, or no tokenizer.
            UnsupportedModelError: attention cannot be captured exactly, or texts are read otherwise in
                a batch than alone.

        Source: removal and sets: Cohen-Wang et al. (2024), "ContextCite"; heads that copy: Wu et al.
            (2024), "Retrieval head"; the ratio: Chuang et al. (2024), "Lookback Lens", Eq. 1.
        """
        ...
