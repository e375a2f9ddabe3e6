"""What enters the blocks of a model is what it calls its hidden states itself."""

import pytest
import torch

from architectures import DECODERS, ENCODER_DECODERS, ENCODERS, case
from headlight.capture import CapturedModel, LayerRecord
from headlight.capture.residual_stream import find_stream
from tiny_models import Architecture, Padding

TEXT_MODELS = [*ENCODERS, *DECODERS, *ENCODER_DECODERS]


def states_of(model: CapturedModel, inputs: dict) -> dict[str, tuple[torch.Tensor, ...]]:
    """Hidden states before each layer, by kind of attention."""
    with torch.no_grad():
        output = model.transformer(**inputs, output_hidden_states=True)
    of_decoder = getattr(output, "decoder_hidden_states", None)
    if of_decoder is not None:
        encoder = output.encoder_hidden_states
        return {"encoder": encoder, "decoder": of_decoder, "cross": of_decoder}
    return dict.fromkeys(("encoder", "decoder"), output.hidden_states)


@pytest.mark.parametrize(("row", "padding"), [
    case(row, padding) for row in TEXT_MODELS for padding in row.paddings if padding != "left"
])  # fmt: skip
def test_records_say_what_entered_the_block(row: Architecture, padding: Padding) -> None:
    transformer = row.build()
    model = CapturedModel(transformer, name=row.name)
    inputs = row.inputs(torch.Generator().manual_seed(1), padding)
    seen: list[LayerRecord] = []
    with model.capture(stream=True) as recorder, torch.no_grad():
        recorder.visit = seen.append
        transformer(**inputs)
    states = states_of(model, inputs)
    assert seen
    for record in seen:
        expected, kind = states[record.site.kind], record.site.kind
        assert record.stream is not None
        side = "" if kind == "encoder" or "decoder_input_ids" not in inputs else "decoder_"
        real = inputs.get(f"{side}attention_mask", torch.ones(record.stream.shape[:2])).bool()
        # A model may have a mask of its own for padding in its fast attention.
        found = record.stream[real]
        same = [torch.allclose(each[real], found, 1e-3, 1e-5) for each in expected[:-1]]
        layers = sum(site.kind == kind for site in model.sites)
        # Some blocks of some models have no attention: there it is one of the states, in order.
        assert same[record.site.layer] if len(expected) == layers + 1 else any(same)


def test_without_being_asked_records_hold_no_stream() -> None:
    row = ENCODERS[0]
    model = CapturedModel(row.build(), name=row.name)
    seen: list[LayerRecord] = []
    with model.capture() as recorder, torch.no_grad():
        recorder.visit = seen.append
        model.transformer(**row.inputs(torch.Generator().manual_seed(1), "none"))
    assert [record.stream for record in seen] == [None, None]
    assert "stream" not in vars(model)


def test_a_model_that_gives_out_no_hidden_states_has_no_stream() -> None:
    class Silent(torch.nn.Module):
        def forward(self, given: torch.Tensor, output_hidden_states: bool = False) -> torch.Tensor:
            return given

    assert find_stream(Silent(), {"given": torch.ones(1)}) == {}
