"""Views of blocks in an engine's pages, and the longest match of an index."""

from . import REFUSED, digest

GQA = {"kv_heads": 2, "key_size": 4, "value_size": 3}
WIDE = {"kv_heads": 4, "key_size": 2, "value_size": 5}
MLA = {"kv_heads": 1, "key_size": 6, "value_size": 0}


def _view(row=(0, 0, "key", 0), slice_layers=None, slice_heads=None, **changes):
    token, layer, plane, head = row
    whole = {
        "layers": [GQA, WIDE], "order": "nhd", "placement": "apart", "page_tokens": 4,
        "value_bytes": 2, "pages": 5, "table": [3, 0, 4, 1], "first_token": 6, "tokens": 8,
        "slice": {"layers": slice_layers, "heads": slice_heads},
        "token": token, "layer": layer, "plane": plane, "head": head,
    }
    return whole | changes


_LAYOUTS = [(order, placement) for order in ("nhd", "hnd")
            for placement in ("apart", "planes_first", "pages_first")]
# The block's first row, one in the middle of each plane and layer, and its last.
_ROWS = [(0, 0, "key", 0), (3, 0, "value", 1), (5, 1, "key", 2), (7, 1, "value", 3)]

_SEEN = [
    *((f"{order}, {placement}: token {row[0]}, layer {row[1]}, {row[2]}, head {row[3]}",
       _view(row, order=order, placement=placement))
      for order, placement in _LAYOUTS for row in _ROWS),
    *((f"{order}, {placement}: a latent", _view(
        (2, 1, "key", 0), layers=[MLA, MLA], order=order, placement=placement))
      for order, placement in _LAYOUTS),
    ("a latent beside heads", _view((1, 1, "key", 0), layers=[GQA, MLA, GQA])),
    ("what comes after a latent", _view((1, 2, "value", 1), layers=[GQA, MLA, GQA])),
    ("values of one byte", _view((7, 1, "value", 3), value_bytes=1, placement="pages_first")),
    ("values of four bytes", _view((7, 1, "value", 3), value_bytes=4, order="hnd")),
    ("pages of one token", _view((2, 1, "key", 1), page_tokens=1, first_token=1, tokens=3)),
    ("pages larger than the block", _view((3, 1, "key", 1), page_tokens=64, first_token=70,
                                          tokens=16, order="hnd")),
    ("a block of one token, the last of its page", _view(
        (0, 1, "value", 0), first_token=15, tokens=1)),
    ("a page that stands twice in the table", _view((4, 0, "key", 0), table=[2, 2], first_token=0)),
    ("a table whose other pages are not there", _view(
        (0, 0, "key", 1), table=[9, 0, 9], first_token=4, tokens=4)),
    ("a slice of layers", _view((1, 0, "value", 3), slice_layers=[1, 1])),
    ("a slice of heads", _view((1, 1, "value", 0), slice_heads=[1, 1])),
    ("a slice of both", _view((1, 0, "value", 0), slice_layers=[1, 1], slice_heads=[2, 3],
                              order="hnd", placement="planes_first")),
    ("a slice of all there is", _view((7, 1, "value", 3), slice_layers=[0, 1])),
    ("heads that a layer outside of the slice does not have", _view(
        (0, 0, "key", 1), slice_layers=[1, 1], slice_heads=[2, 3])),
    ("layers beside a latent, sliced by heads", _view(
        (0, 0, "key", 0), layers=[GQA, MLA], slice_layers=[0, 0], slice_heads=[0, 0])),
]
_UNSEEN = [
    ("no layers", _view(layers=[])),
    ("no tokens", _view(tokens=0)),
    ("pages of no tokens", _view(page_tokens=0)),
    ("values of no bytes", _view(value_bytes=0)),
    ("a page that is not there", _view(table=[3, 0, 5, 1])),
    ("no pages at all", _view(pages=0)),
    ("a block that ends beyond its table", _view(first_token=9)),
    ("a block that begins beyond its table", _view(first_token=99, tokens=1)),
    ("an empty table", _view(table=[], first_token=0, tokens=1)),
    ("a slice of layers that are not there", _view(slice_layers=[1, 2])),
    ("a slice of layers that ends before it begins", _view(slice_layers=[1, 0])),
    ("a slice of heads that one layer does not have", _view(slice_heads=[0, 2])),
    ("a slice of heads that ends before it begins", _view(slice_heads=[1, 0])),
    ("a slice of a latent's heads", _view(layers=[MLA, MLA], slice_heads=[0, 0])),
    ("V of a latent", _view((0, 0, "value", 0), layers=[MLA, MLA])),
    ("a token beyond the block", _view((8, 0, "key", 0))),
    ("a layer beyond the slice", _view((0, 1, "key", 0), slice_layers=[1, 1])),
    ("a head beyond the slice", _view((0, 0, "key", 1), slice_heads=[1, 1])),
]

VIEWS = [*_SEEN, *((name, given, REFUSED) for name, given in _UNSEEN)]

# ---- Index ------------------------------------------------------------------------------------

KEYS = [digest(f"block {number}") for number in range(8)]
OTHER = digest("another prompt's block")


def _held(node, track, *blocks, size=100):
    """Groups of a track, each the block of the prompt that has its number."""
    return [{"node": node, "track": track, "group": block, "key": KEYS[block], "bytes": size}
            for block in blocks]


def _index(sources, prompt, removed=()):
    return {"sources": sources, "removed": list(removed), "prompt": prompt}


_A, _B = "tenant-a--BF16", "tenant-b--FP8"
_HOLES = [*_held(1, _A, 0, 1, 3), *_held(2, _B, 1, 4, 6)]

_FOUND = [
    ("an empty index", _index([], KEYS)),
    ("an empty prompt", _index(_HOLES, [])),
    ("a prefix without holes", _index(_held(1, _A, 0, 1, 2), KEYS)),
    ("all of a prompt", _index(_held(1, _A, 0, 1, 2), KEYS[:3])),
    ("more than the prompt has", _index(_held(1, _A, 0, 1, 2, 3), KEYS[:2])),
    ("holes", _index(_HOLES, KEYS)),
    ("a hole at the start", _index(_held(1, _A, 2, 3), KEYS)),
    ("only the last", _index(_held(1, _A, 7), KEYS)),
    ("blocks of another prompt", _index(
        [{"node": 1, "track": _A, "group": 0, "key": OTHER, "bytes": 1}], KEYS)),
    ("a block under another group's number", _index(
        [{"node": 1, "track": _A, "group": 9, "key": KEYS[0], "bytes": 1}], KEYS)),
    ("many sources of one block", _index(
        [*_held(2, _B, 0), *_held(2, _A, 0), *_held(1, _B, 0), *_held(10, _A, 0)], KEYS[:1])),
    ("one block in two groups of a track", _index(
        [*_held(1, _A, 0), {"node": 1, "track": _A, "group": 5, "key": KEYS[0], "bytes": 1}],
        KEYS[:1])),
    ("a block twice in a prompt", _index(_held(1, _A, 0), [KEYS[0], KEYS[1], KEYS[0]])),
    ("told twice", _index(_held(1, _A, 0, 1) * 2, KEYS)),
    ("a group removed makes a hole", _index(
        _held(1, _A, 0, 1, 2), KEYS, [{"node": 1, "track": _A, "group": 1}])),
    ("the last block removed", _index(
        _held(1, _A, 0, 1, 2), KEYS, [{"node": 1, "track": _A, "group": 2}])),
    ("a group removed that another node has", _index(
        [*_held(1, _A, 0, 1), *_held(2, _A, 1)], KEYS, [{"node": 1, "track": _A, "group": 1}])),
    ("a group removed that was not there", _index(
        _held(1, _A, 0), KEYS, [{"node": 1, "track": _A, "group": 7}])),
    ("a track removed", _index(
        [*_HOLES, *_held(1, _B, 0, 2)], KEYS, [{"node": 1, "track": _A}])),
    ("a node removed", _index([*_HOLES, *_held(1, _B, 0, 2)], KEYS, [{"node": 1}])),
    ("all nodes removed", _index(_HOLES, KEYS, [{"node": 1}, {"node": 2}])),
]
_CONTRADICTING = [
    ("a group that is another block already", _index(
        [*_held(1, _A, 0), {"node": 1, "track": _A, "group": 0, "key": OTHER, "bytes": 100}],
        KEYS)),
    ("a group with other bytes", _index([*_held(1, _A, 0), *_held(1, _A, 0, size=7)], KEYS)),
]

INDEX = [*_FOUND, *((name, given, REFUSED) for name, given in _CONTRADICTING)]
