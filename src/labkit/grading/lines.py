"""Cuts a hostile stream of bytes into lines, within limits."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.contract.wire import MAX_LINE, MAX_TOTAL


class Lines:
    """Feed it bytes, get whole lines. A line over the limit is left out and counted."""

    def __init__(self, max_line: int = MAX_LINE, max_total: int = MAX_TOTAL) -> None:
        self.too_long = 0
        self._max_line = max_line
        self._left = max_total
        self._rest = bytearray()
        self._skipping = False

    @property
    def flooded(self) -> bool:
        """Whether more came than one run may send."""
        return self._left < 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that `data` completes, without their newline."""
        self._left -= len(data)
        if self.flooded:
            return
        *heads, tail = data.split(b"\n")
        for head in heads:
            line = bytes(self._rest) + head
            self._rest.clear()
            if self._skipping or len(line) > self._max_line:
                self.too_long += 1
            elif line:
                yield line
            self._skipping = False
        self._rest += tail
        if len(self._rest) > self._max_line:
            self._rest.clear()
            self._skipping = True
