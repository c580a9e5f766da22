"""The entropy coder of the lossless rungs: codecs.md in Python."""

from kvcast_names import Refused
from kvcast_numbers import cut

STATES, LOW, OTHER = 64, 1 << 16, 15


class Table:
    def __init__(self, exponents: bytes, shares: bytes):
        self.exponents, self.shares = exponents, shares
        self.starts = [sum(shares[:symbol]) for symbol in range(16)]
        self.slots = [symbol for symbol in range(16) for _ in range(shares[symbol])]

    def symbol_of(self, exponent: int) -> int:
        symbol = self.exponents.find(bytes([exponent])) if exponent in self.exponents else OTHER
        return symbol if self.shares[symbol] else OTHER


def state_of(position: int) -> int:
    return position % 4 * 16 + position // 4


def rans_write(units: list[tuple[Table, bytes]]) -> tuple[list[int], list[int]]:
    """States and words, as they are read."""
    states, words = [LOW] * STATES, []
    for table, exponents in reversed(units):
        for step in reversed(cut(list(exponents), STATES)):
            for position in sorted(range(len(step)), key=state_of, reverse=True):
                symbol, at = table.symbol_of(step[position]), state_of(position)
                share = table.shares[symbol]
                if states[at] >= share << 24:
                    words.append(states[at] & 0xFFFF)
                    states[at] >>= 16
                states[at] = (states[at] // share << 8) + states[at] % share + table.starts[symbol]
    return states, words[::-1]


class RansReader:
    def __init__(self, states: list[int], words: list[int], others: bytes):
        self.states, self.words, self.others = states, words[::-1], others[::-1]
        if any(state < LOW for state in states):
            raise Refused("a state out of range")

    def unit(self, table: Table, count: int) -> list[int]:
        out = []
        for size in (len(part) for part in cut(list(range(count)), STATES)):
            for position in range(size):
                at = state_of(position)
                slot = self.states[at] & 255
                symbol = table.slots[slot]
                self.states[at] = table.shares[symbol] * (self.states[at] >> 8) + slot - table.starts[symbol]
                if symbol == OTHER and not self.others:
                    raise Refused("an exponent is missing")
                out.append(self.others[-1] if symbol == OTHER else table.exponents[symbol])
                self.others = self.others[:-1] if symbol == OTHER else self.others
            for at in range(STATES):
                if self.states[at] < LOW:
                    if not self.words:
                        raise Refused("a word is missing")
                    self.states[at] = self.states[at] << 16 | self.words.pop()
        return out

    def end(self) -> None:
        if self.words or self.others or any(state != LOW for state in self.states):
            raise Refused("the exponents do not end where they must")
