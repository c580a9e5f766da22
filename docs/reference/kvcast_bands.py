"""AC and KTC: codecs.md in Python."""

import struct
from dataclasses import dataclass, field

from kvcast_names import Reader, Refused
from kvcast_numbers import bits_of, bounded, cut, f32
from kvcast_rans import OTHER, STATES_BYTES, RansReader, Table, rans_write

BAND_RUNGS = ("AC", "KTC-coarse", "KTC-medium", "KTC-fine")
HEAD, LAYER = 1, 2
NO_ROPE = SKIPPED = 255
NAMED, FAR, REACH, STEP_PARTS, PARTS_MAX = 7, 128, 8191, 256, 2**21
SCALE_MIN, SCALE_MAX, SHIFT_MAX, BAND_VALUES_MAX = 2.0**-40, 2.0**40, 6, 16384
_ODD = (1686629713, 693598668, 85569306, 5026995, 172272, 3864, 61)
_EVEN = (1073741824, 1324675879, 272375560, 22401992, 987048, 27060, 506, 7)


def turn(phase: int) -> tuple[int, int]:
    """Cosine and sine of a phase, in 2^-30."""
    place = phase & 2**30 - 1
    square = place * place >> 30
    sums = []
    for terms in (_ODD, _EVEN):
        total = terms[-1]
        for term in reversed(terms[:-1]):
            total = term - (square * total >> 30)
        sums.append(total)
    sine, cosine = place * sums[0] >> 30, sums[1]
    return ((cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine))[phase >> 30]


@dataclass
class Rope:
    first: int
    adjacent: bool
    turns: list[int]

    def turned(self, head: list[float], position: int, back: bool) -> list[float]:
        out = list(head)
        for pair, step in enumerate(self.turns):
            cosine, sine = turn(step * position % 2**64 >> 32)
            cosine, sine = f32(f32(cosine) * 2.0**-30), f32(f32(sine) * 2.0**-30)
            sine = -sine if back else sine
            at = self.first + (2 * pair if self.adjacent else pair)
            to = at + (1 if self.adjacent else len(self.turns))
            x, y = head[at], head[to]
            out[at] = f32(f32(x * cosine) - f32(y * sine))
            out[to] = f32(f32(y * cosine) + f32(x * sine))
        return out


@dataclass
class SymbolTable:
    shift: int
    rounding: int
    zero_below: int
    shares: bytes

    def coder(self) -> Table:
        return Table(bytes(i - NAMED & 255 for i in range(15)), self.shares)

    def number(self, parts: int) -> int:
        magnitude = abs(parts)
        made = 0 if magnitude < self.zero_below else (magnitude + self.rounding) // STEP_PARTS
        return -made if parts < 0 else made

    def upper(self, number: int) -> int:
        """The byte that stands for a number's upper part."""
        return number >> self.shift & 255 if abs(number >> self.shift) <= 127 else FAR


@dataclass
class Band:
    component_scale: list[float]
    forward: list[int]
    inverse: list[int]


@dataclass
class PlaneBands:
    mean: list[float]
    in_scale: list[float]
    out_scale: list[float]
    ac_step: list[float]
    tables: list[bytes]
    bands: list[Band]


@dataclass
class Bands:
    form: int
    ropes: list[Rope]
    rope_of_layer: bytes
    rungs: list[tuple[float, float, list[SymbolTable]]] = field(default_factory=list)
    planes: list[PlaneBands] = field(default_factory=list)

    def encode(self) -> bytes:
        out = bytes([self.form, len(self.ropes)])
        for rope in self.ropes:
            out += struct.pack("<IBI", rope.first, rope.adjacent, len(rope.turns))
            out += struct.pack(f"<{len(rope.turns)}Q", *rope.turns)
        out += self.rope_of_layer
        for key_step, value_step, tables in self.rungs:
            out += struct.pack("<ffB", key_step, value_step, len(tables))
            for table in tables:
                out += struct.pack("<BBH", table.shift, table.rounding, table.zero_below) + table.shares
        for plane in self.planes:
            for floats in (plane.mean, plane.in_scale, plane.out_scale, plane.ac_step):
                out += struct.pack(f"<{len(floats)}f", *floats)
            out += b"".join(plane.tables)
            for band in plane.bands:
                out += struct.pack(f"<{len(band.component_scale)}f", *band.component_scale)
                for matrix in (band.forward, band.inverse):
                    out += struct.pack(f"<{len(matrix)}h", *matrix)
        return out


def _floats(reader: Reader, count: int, mean: bool = False) -> list[float]:
    floats = list(struct.unpack(f"<{count}f", reader.take(4 * count)))
    for value in floats:
        if not (mean and value == 0 or SCALE_MIN <= (abs(value) if mean else value) <= SCALE_MAX):
            raise Refused("a constant out of range")
    return floats


def _table(reader: Reader) -> SymbolTable:
    table = SymbolTable(*struct.unpack("<BBH", reader.take(4)), reader.take(16))
    if sum(table.shares) != 256 or not table.shares[OTHER] or table.shift > SHIFT_MAX:
        raise Refused("an unsound table")
    return table


def _rope(reader: Reader) -> Rope:
    first, adjacent, pairs = struct.unpack("<IBI", reader.take(9))
    if adjacent > 1 or not pairs:
        raise Refused("keys turned as nobody does")
    return Rope(first, bool(adjacent), list(struct.unpack(f"<{pairs}Q", reader.take(8 * pairs))))


def _plane(reader: Reader, made: Bands, values: int, together: int) -> PlaneBands:
    if together > BAND_VALUES_MAX:
        raise Refused("too wide a band")
    floats = [_floats(reader, values, mean=part == 0) for part in range(4)]
    tables = [reader.take(values) for _ in BAND_RUNGS]
    for (_, _, known), used in zip(made.rungs, tables):
        if any(table != SKIPPED and table >= len(known) for table in used):
            raise Refused("a table that is not there")
    bands = []
    for _ in range(values // together):
        scales = _floats(reader, together)
        count = together * together
        bands.append(Band(scales, *(list(struct.unpack(f"<{count}h", reader.take(2 * count)))
                                    for _ in range(2))))
    return PlaneBands(*floats, tables, bands)


def read_bands(reader: Reader, layers: list[tuple[int, int, int]]) -> Bands:
    form, ropes = reader.take(2)
    if form not in (HEAD, LAYER):
        raise Refused("an unknown form")
    made = Bands(form, [_rope(reader) for _ in range(ropes)], b"")
    made.rope_of_layer = reader.take(len(layers))
    for rope, (_, key_size, _) in zip(made.rope_of_layer, layers):
        if rope != NO_ROPE and (rope >= ropes or made.ropes[rope].first
                                + 2 * len(made.ropes[rope].turns) > key_size):
            raise Refused("a rope that is not there, or too long")
    for _ in BAND_RUNGS:
        steps = _floats(reader, 2)
        made.rungs.append((*steps, [_table(reader) for _ in range(reader.take(1)[0])]))
    for heads, *sizes in layers:
        for size in filter(None, sizes):
            values = heads * size
            made.planes.append(_plane(reader, made, values, values if form == LAYER else size))
    return made


class _CodedBand:
    """One band of a track: where its values lie in a token, and how they are coded."""

    def __init__(self, bands: Bands, rung: str, plane: int, index: int, values: int, is_key: bool):
        number = BAND_RUNGS.index(rung)
        self.constants, self.is_ac = bands.planes[plane], rung == "AC"
        self.step = bands.rungs[number][0 if is_key else 1]
        self.known = bands.rungs[number][2]
        self.matrix = None if self.is_ac else self.constants.bands[index]
        self.first, self.values = index * values, values
        used = self.constants.tables[number][self.first:self.first + values]
        self.coded = {c: table for c, table in enumerate(used) if table != SKIPPED}
        scales = self.constants.ac_step if self.is_ac else self.constants.out_scale
        self.out_scale = [f32(scale * self.step) for scale in self._own(scales)]

    def _own(self, floats: list[float]) -> list[float]:
        return floats[self.first:self.first + self.values]

    def parts(self, values: list[float]) -> dict[int, int]:
        """Of each coded component, in 1/256 of a step."""
        values = [f32(value - mean) for value, mean in zip(values, self._own(self.constants.mean))]
        whole = [round(max(-REACH, min(REACH, f32(value * scale))))
                 for value, scale in zip(values, self._own(self.constants.in_scale))]
        made = {}
        for c in self.coded:
            if self.is_ac:
                component, scale = values[c], f32(STEP_PARTS / self.out_scale[c])
            else:
                row = self.matrix.forward[c * self.values:(c + 1) * self.values]
                total = sum(a * b for a, b in zip(row, whole)) & 0xFFFFFFFF
                component = f32(total - 2**32 if total >> 31 else total)
                scale = f32(f32(self.matrix.component_scale[c] * STEP_PARTS) / self.step)
            made[c] = round(max(-PARTS_MAX, min(PARTS_MAX, f32(component * scale))))
        return made

    def restored(self, numbers: dict[int, int]) -> list[float]:
        out = self._own(self.constants.mean)
        for i in range(self.values):
            if self.is_ac:
                total = numbers.get(i, 0)
            else:
                total = sum(number * self.matrix.inverse[c * self.values + i]
                            for c, number in numbers.items()) & 0xFFFFFFFF
                total = total - 2**32 if total >> 31 else total
            out[i] = f32(out[i] + f32(f32(total) * self.out_scale[i]))
        return out


def _coded_planes(bands: Bands, layers: list[tuple[int, int, int]], form) -> list[list[tuple]]:
    """Of each plane of a track: bands, their rope, and where their values begin in a token."""
    made, plane, at = [], 0, 0
    for layer, (heads, *sizes) in enumerate(layers):
        inside = form.first_layer <= layer < form.first_layer + len(form.layers)
        for part, size in enumerate(sizes):
            if not size:
                continue
            together = 1 if form.rung == "AC" or bands.form == HEAD else heads
            own_heads = form.layers[layer - form.first_layer][0] if inside else 0
            if together > 1 and own_heads not in (0, heads):
                raise Refused("a slice that cuts a band")
            own = []
            for head in range(form.first_head, form.first_head + own_heads, together):
                band = _CodedBand(bands, form.rung, plane, head // together, together * size, part == 0)
                rope = bands.rope_of_layer[layer] if part == 0 else NO_ROPE
                own.append((band, bands.ropes[rope] if rope != NO_ROPE else None, size, at))
                at += together * size
            made.append(own)
            plane += 1
    return made


def _units(plane: list[tuple]) -> list[tuple[SymbolTable, list[tuple[int, int]]]]:
    """Tables in order, with what is coded by each: band of the plane, and component."""
    known = plane[0][0].known if plane else []
    units = [(table, [(b, c) for b, (band, *_) in enumerate(plane)
                      for c, own in band.coded.items() if own == number])
             for number, table in enumerate(known)]
    return [unit for unit in units if unit[1]]


def _bit_planes(numbers: list[int], shift: int) -> bytes:
    return b"".join(bytes(sum((number >> bit & 1) << i for i, number in enumerate(byte))
                          for byte in cut(numbers, 8)) for bit in range(shift))


def encode_bands(form, bands: Bands, layers: list, position: int, values: list[int]) -> bytes:
    tokens = cut(values, form.values())
    units, raw, fars = [], b"", []
    for plane in _coded_planes(bands, layers, form):
        parts = []
        for band, rope, size, at in plane:
            parts.append([])
            for token, own in enumerate(tokens):
                floats = [bounded(form.value_type, bits) for bits in own[at:at + band.values]]
                if rope:
                    floats = [value for head in cut(floats, size)
                              for value in rope.turned(head, position + token, back=True)]
                parts[-1].append(band.parts(floats))
        for known, components in _units(plane):
            numbers = [known.number(token[c]) for b, c in components for token in parts[b]]
            raw += _bit_planes(numbers, known.shift)
            uppers = [known.upper(number) for number in numbers]
            fars += [number >> known.shift for number, upper in zip(numbers, uppers) if upper == FAR]
            units.append((known.coder(), bytes(uppers)))
    others = bytes(e for table, unit in units for e in unit if table.symbol_of(e) == OTHER)
    return (struct.pack("<II", position, len(others)) + raw + others
            + struct.pack(f"<{len(fars)}h", *fars) + rans_write(units))


def decode_bands(form, bands: Bands, layers: list, tokens: int, body: bytes, out: str) -> list[int]:
    planes = _coded_planes(bands, layers, form)
    sizes = [(known.shift, len(unit) * tokens) for plane in planes for known, unit in _units(plane)]
    raw_bytes = sum(shift * -(-count // 8) for shift, count in sizes)
    spare = len(body) - (8 + raw_bytes + STATES_BYTES)
    if not 0 <= spare <= 4 * sum(count for _, count in sizes):
        raise Refused("another size than such tokens can have")
    reader = Reader(body)
    position, others = struct.unpack("<II", reader.take(8))
    if others > spare:
        raise Refused("numbers that do not fit")
    raw = Reader(reader.take(raw_bytes))
    others = reader.take(others)
    if 2 * others.count(FAR) > spare - len(others):
        raise Refused("numbers that do not fit")
    fars = iter([far for far, in struct.iter_unpack("<h", reader.take(2 * others.count(FAR)))])
    coder = RansReader(reader.take(reader.left()), others)
    made = [[0] * form.values() for _ in range(tokens)]
    for plane in planes:
        numbers: list[list[dict[int, int]]] = [[{} for _ in range(tokens)] for _ in plane]
        for known, unit in _units(plane):
            uppers = coder.unit(known.coder(), len(unit) * tokens)
            lower = [raw.take(-(-len(uppers) // 8)) for _ in range(known.shift)]
            for i, upper in enumerate(uppers):
                upper = next(fars) if upper == FAR else upper - 256 if upper > 127 else upper
                number = (upper << known.shift) + sum(
                    (bits[i // 8] >> i % 8 & 1) << bit for bit, bits in enumerate(lower))
                band, c = unit[i // tokens]
                numbers[band][i % tokens][c] = (number + 2**15) % 2**16 - 2**15
        for own, (band, rope, size, at) in zip(numbers, plane):
            for token in range(tokens):
                floats = band.restored(own[token])
                if rope:
                    floats = [value for head in cut(floats, size)
                              for value in rope.turned(head, position + token, back=False)]
                made[token][at:at + band.values] = [bits_of(out, value) for value in floats]
    coder.end()
    return [bits for token in made for bits in token]
