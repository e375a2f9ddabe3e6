"""Rows of the queries of a layer, joined from blocks of queries."""

from collections.abc import Mapping

from torch import Tensor

from headlight.capture import LayerRecord


class BlockRows:
    """Rows of the queries of a layer, joined from blocks of queries."""

    def __init__(self) -> None:
        self.rows: dict[str, Tensor] = {}

    def keep(self, record: LayerRecord, rows: Mapping[str, Tensor]) -> None:
        """Put the rows of a block where those of the layer are.

        There is one place for all of them from the beginning: small tensors that outlive a block
        would lie where its large ones were, and the next block, which is somewhat larger, could not
        take their memory.
        """
        first = record.first
        if not first:
            self.rows = {}
        if record.block is None:
            self.rows.update(rows)
            return
        for name, each in rows.items():
            if name not in self.rows:
                shape = (*each.shape[:2], record.block.queries, *each.shape[3:])
                self.rows[name] = each.new_empty(shape)
            self.rows[name][:, :, first : first + each.shape[2]] = each
