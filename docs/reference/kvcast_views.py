"""Where a block's values lie in an engine's pages, and which blocks of a prompt can be had.

Follows views.md.
"""

from dataclasses import dataclass, field

from kvcast_names import Refused

ORDERS = ("nhd", "hnd")
PLACEMENTS = ("apart", "planes_first", "pages_first")
PLANES = ("key", "value")


# ---- Blocks and slices ------------------------------------------------------------------------


@dataclass(frozen=True)
class LayerShape:
    """What one layer caches for a token. MLA's latent is its K, and it has no V."""

    kv_heads: int
    key_size: int
    value_size: int

    def size(self, plane: str) -> int:
        return self.key_size if plane == "key" else self.value_size


def sliced(layers: list[LayerShape], slice_layers, slice_heads) -> list[LayerShape]:
    """The layers and heads that a slice is of; each is two ends, both included, or None."""
    if slice_layers is not None:
        first, last = slice_layers
        if not 0 <= first <= last < len(layers):
            raise Refused(f"layers {first} to {last} of {len(layers)}")
        layers = layers[first : last + 1]
    if slice_heads is None:
        return layers
    first, last = slice_heads
    for layer in layers:
        if not 0 <= first <= last < layer.kv_heads:
            raise Refused(f"KV heads {first} to {last} of {layer.kv_heads}")
        if layer.value_size == 0:
            raise Refused("a latent belongs to all heads")
    return [LayerShape(last - first + 1, each.key_size, each.value_size) for each in layers]


def rows(layers: list[LayerShape], tokens: int):
    """Every row of a block in canonical order."""
    for token in range(tokens):
        for number, layer in enumerate(layers):
            for plane in PLANES:
                for head in range(layer.kv_heads if layer.size(plane) else 0):
                    yield token, number, plane, head


# ---- Pages ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PageFormat:
    order: str
    placement: str
    page_tokens: int
    value_bytes: int

    def __post_init__(self):
        if self.order not in ORDERS or self.placement not in PLACEMENTS:
            raise Refused("no such layout")
        if self.page_tokens < 1 or self.value_bytes < 1:
            raise Refused("a page has at least one token and a value one byte")

    def page_bytes(self, layer: LayerShape, plane: str) -> int:
        return self.page_tokens * layer.kv_heads * layer.size(plane) * self.value_bytes

    def place(
        self, layer: LayerShape, pages: int, plane: str, page: int, token: int, head: int
    ) -> tuple[str, int]:
        """Which of a layer's buffers holds a row, and how many bytes lie before it there."""
        row = layer.size(plane) * self.value_bytes
        if self.order == "nhd":
            within = (token * layer.kv_heads + head) * row
        else:
            within = (head * self.page_tokens + token) * row
        key_page, value_page = (self.page_bytes(layer, each) for each in PLANES)
        own_page = key_page if plane == "key" else value_page
        if self.placement == "apart":
            return plane, page * own_page + within
        if self.placement == "planes_first":
            return "key", (0 if plane == "key" else pages * key_page) + page * own_page + within
        return "key", page * (key_page + value_page) + (0 if plane == "key" else key_page) + within


@dataclass(frozen=True)
class BlockView:
    """A block, or a slice of one, in an engine's pages; `table` lists the prompt's, in order."""

    layers: list[LayerShape]
    format: PageFormat
    pages: int
    table: list[int]
    first_token: int
    tokens: int
    slice_layers: tuple[int, int] | None = None
    slice_heads: tuple[int, int] | None = None

    def __post_init__(self):
        if not self.layers:
            raise Refused("a model has layers")
        if self.tokens < 1:
            raise Refused("a block has at least one token")
        for page in self.own_pages():
            if page >= self.pages:
                raise Refused(f"page {page} of {self.pages}")
        self.shape()

    def own_pages(self) -> list[int]:
        first = self.first_token // self.format.page_tokens
        last = (self.first_token + self.tokens - 1) // self.format.page_tokens
        if last >= len(self.table):
            raise Refused(f"the block ends on page {last} of a table of {len(self.table)}")
        return self.table[first : last + 1]

    def shape(self) -> list[LayerShape]:
        return sliced(self.layers, self.slice_layers, self.slice_heads)

    def row(self, token: int, layer: int, plane: str, head: int) -> dict:
        """Where a row of the slice lies, and how many bytes of the slice's values go before it."""
        shape = self.shape()
        position = 0
        for at in rows(shape, self.tokens):
            size = shape[at[1]].size(at[2]) * self.format.value_bytes
            if at == (token, layer, plane, head):
                break
            position += size
        else:
            raise Refused("the slice has no such row")
        page, in_page = divmod(self.first_token + token, self.format.page_tokens)
        number = layer + (self.slice_layers[0] if self.slice_layers else 0)
        buffer, offset = self.format.place(
            self.layers[number], self.pages, plane, self.table[page], in_page,
            head + (self.slice_heads[0] if self.slice_heads else 0),
        )
        return {"buffer": buffer, "offset": offset, "bytes": size, "position": position}


# ---- Index ------------------------------------------------------------------------------------


@dataclass
class Index:
    """Which blocks somebody has: (node, track, group) and what is there."""

    held: dict[tuple, tuple] = field(default_factory=dict)

    def add(self, node: int, track: str, group: int, key: str, size: int) -> None:
        if self.held.setdefault((node, track, group), (key, size)) != (key, size):
            raise Refused("the group is already there as another block")

    def remove(self, *beginning) -> None:
        """A group of a track, a track with all its groups, or a node with all its tracks."""
        self.held = {
            place: block
            for place, block in self.held.items()
            if place[: len(beginning)] != beginning
        }

    def longest_match(self, prompt: list[str]) -> dict:
        sources = [
            sorted(place for place, (key, _) in self.held.items() if key == wanted)
            for wanted in prompt
        ]
        present = [block for block, found in enumerate(sources) if found]
        missing = [block for block, found in enumerate(sources) if not found]
        return {
            "leading": missing[0] if missing else len(prompt),
            "end": present[-1] + 1 if present else 0,
            "present": present,
            "sources": [
                [{"node": node, "track": track, "group": group} for node, track, group in found]
                for found in sources
                if found
            ],
        }
