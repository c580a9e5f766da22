"""The entropy coder of the lossless rungs, AC and KTC: codecs.md in Python."""

from kvcast_names import Refused
from kvcast_numbers import cut

STATES, LOW, OTHER = 128, 1 << 8, 15
STATES_BYTES = 2 * STATES


class Table:
    def __init__(self, exponents: bytes, shares: bytes):
        self.exponents, self.shares = exponents, shares
        self.starts = [sum(shares[:symbol]) for symbol in range(16)]
        self.slots = [symbol for symbol in range(16) for _ in range(shares[symbol])]

    def symbol_of(self, exponent: int) -> int:
        symbol = self.exponents.find(bytes([exponent])) if exponent in self.exponents else OTHER
        return symbol if self.shares[symbol] else OTHER


def rans_write(units: list[tuple[Table, bytes]]) -> bytes:
    """States and stream, as they stand in a body."""
    states, stream = [LOW] * STATES, bytearray()
    for table, values in reversed(units):
        for step in reversed(cut(list(values), STATES)):
            for at, value in reversed(list(enumerate(step))):
                symbol = table.symbol_of(value)
                share = table.shares[symbol]
                if states[at] >= share << 8:
                    stream.append(states[at] & 0xFF)
                    states[at] >>= 8
                states[at] = (states[at] // share << 8) + states[at] % share + table.starts[symbol]
    return b"".join(state.to_bytes(2, "little") for state in states) + bytes(stream[::-1])


class RansReader:
    def __init__(self, coded: bytes, others: bytes):
        self.states = [int.from_bytes(state, "little") for state in cut(coded[:STATES_BYTES], 2)]
        self.stream, self.others = bytearray(coded[STATES_BYTES:][::-1]), others[::-1]
        if any(state < LOW for state in self.states):
            raise Refused("a state out of range")

    def unit(self, table: Table, count: int) -> list[int]:
        out = []
        for size in (len(part) for part in cut(list(range(count)), STATES)):
            for at in range(size):
                slot = self.states[at] & 255
                symbol = table.slots[slot]
                self.states[at] = table.shares[symbol] * (self.states[at] >> 8) + slot - table.starts[symbol]
                if symbol == OTHER and not self.others:
                    raise Refused("a value is missing")
                out.append(self.others[-1] if symbol == OTHER else table.exponents[symbol])
                self.others = self.others[:-1] if symbol == OTHER else self.others
            for at in range(size):
                if self.states[at] < LOW:
                    if not self.stream:
                        raise Refused("a byte is missing")
                    self.states[at] = self.states[at] << 8 | self.stream.pop()
        return out

    def end(self) -> None:
        if self.stream or self.others or any(state != LOW for state in self.states):
            raise Refused("the exponents do not end where they must")
