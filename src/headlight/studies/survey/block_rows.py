"""Rows of the queries of a layer, joined from blocks of queries."""

from collections.abc import Mapping

from torch import Tensor

from headlight.capture import LayerRecord


class BlockRows:
    """Rows of the queries of a layer, joined from blocks of queries."""

    def __init__(self) -> None:
        self.rows: dict[str, Tensor] = {}

    def keep(self, record: LayerRecord, rows: Mapping[str, Tensor]) -> None:
        """Write the rows of a block into those of the layer.

        The rows of the whole layer are allocated with the first block: small tensors that outlive a
        block would occupy memory freed by its large ones, which the next, somewhat larger block
        could then not reuse.
        """
        first = record.first
        if not first:
            self.rows = {}
        if record.block is None:
            self.rows.update(rows)
            return
        for name, values in rows.items():
            if name not in self.rows:
                shape = (*values.shape[:2], record.block.queries, *values.shape[3:])
                self.rows[name] = values.new_empty(shape)
            self.rows[name][:, :, first : first + values.shape[2]] = values
