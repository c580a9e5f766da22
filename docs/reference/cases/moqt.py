"""vi64, track names and properties."""

from . import REFUSED, digest


def _vi64() -> list[tuple]:
    cases = [(f"write {value}", {"value": value}) for value in (0, 1, 37, 15293, 226442877)]
    for bits in range(7, 57, 7):  # the largest of each length, and the smallest of the next
        cases += [(f"write {value}", {"value": value}) for value in (2**bits - 1, 2**bits)]
    cases += [(f"write {value}", {"value": value}) for value in (2**63, 2**64 - 1)]
    cases += [
        (f"read {data}", {"bytes": data})
        for data in (
            "25 8025 bbbd ed7f3e7d faa1a0e403d8 fc8998abc66bc0 fefa318fa8e3ca11"
            " ffffffffffffffffff 00 8000 c00000 e0000000 f000000000 f80000000000 fc000000000000"
            " fe00000000000000 ff0000000000000000 ff8000000000000000 fe00000000000001 7f bfff"
        ).split()
    ]
    cases.append(("read no more than the integer", {"bytes": "8025ff"}))
    cases += [
        (f"{why}: {data}", {"bytes": data}, REFUSED)
        for why, data in [
            ("nothing", ""),
            ("one of two bytes", "80"),
            ("two of three bytes", "c000"),
            ("three of four bytes", "e00000"),
            ("seven of eight bytes", "fe000000000000"),
            ("eight of nine bytes", "ff00000000000000"),
            ("one of nine bytes", "ff"),
        ]
    ]
    return cases


def _named(fields: list[bytes], name: bytes) -> dict:
    return {"fields": [field.hex() for field in fields], "name": name.hex()}


def _track_name() -> list[tuple]:
    every_byte = bytes(range(256))
    cases = [
        ("MoQT's example", _named([b"example.net", b"team2", b"project_x"], b"report")),
        ("no fields", _named([], b"x")),
        ("no fields, empty name", _named([], b"")),
        ("empty name", _named([b"a"], b"")),
        ("every byte", _named([every_byte], every_byte)),
        ("hyphens within parts", _named([b"-", b"--", b"a-b"], b"-c-")),
        ("dots within parts", _named([b".", b".2e"], b"..")),
        ("digits that look like escapes", _named([b".61"], b"61")),
        ("zero bytes", _named([b"\0", b"\0\0"], b"\0")),
        ("32 fields", _named([b"f"] * 32, b"n")),
        ("128 bytes in a field: a length of two bytes", _named([b"x" * 128], b"y" * 127)),
        ("33 fields", _named([b"f"] * 33, b"n"), REFUSED),
        ("an empty field", _named([b"a", b"", b"b"], b"n"), REFUSED),
        ("one empty field", _named([b""], b"n"), REFUSED),
        ("wire: two fields", {"wire": "02016103626364016e"}),
        ("wire: longer integers than needed", {
            "wire": "8002" "c0000161" "e0000003626364" "f0000000016e"}),
        ("wire: no fields, empty name", {"wire": "0000"}),
        ("rendered: plain", {"rendered": "a-b_C9--d"}),
        ("rendered: escapes", {"rendered": "a.2db-.00.ff--.20"}),
        ("rendered: 4096 bytes", {"rendered": "a" * 4000 + "--" + "b" * 96}),
        ("rendered: empty name", {"rendered": "a--"}),
        ("rendered: no fields", {"rendered": "--x"}),
        ("rendered: nothing but the hyphens", {"rendered": "--"}),
    ]
    cases += [
        (f"wire: {why}", {"wire": wire}, REFUSED)
        for why, wire in [
            ("nothing", ""),
            ("no name", "0101" "61"),
            ("a field ends too early", "01" "03" "6161"),
            ("the name ends too early", "01" "0161" "02" "6e"),
            ("a byte is left over", "01" "0161" "016e" "00"),
            ("an empty field", "02" "0161" "00" "016e"),
            ("33 fields", "21" + "0166" * 33 + "016e"),
            ("2^64-1 fields", "ffffffffffffffffff" "0161" "016e"),
            ("a field of 2^64-1 bytes", "01" "ffffffffffffffffff" "61" "016e"),
            ("4097 bytes", "01" "9001" + "61" * 4097 + "00"),
        ]
    ]
    cases += [
        (f"rendered: {why}", {"rendered": text}, REFUSED)
        for why, text in [
            ("nothing", ""),
            ("one hyphen", "a-b"),
            ("three hyphens", "a---b"),
            ("two times two hyphens", "a--b--c"),
            ("an empty field", "a--b-"),
            ("an empty first field", "-a--b"),
            ("a hyphen in the name", "a--b-c"),
            ("upper-case hex", "a.2D--b"),
            ("a letter as an escape", "a.61--b"),
            ("an underscore as an escape", "a--.5f"),
            ("a digit as an escape", ".30--b"),
            ("half an escape", "a.2--b"),
            ("an escape at the end", "a--b."),
            ("no hex", "a.zz--b"),
            ("a space", "a b--c"),
            ("a slash", "a/b--c"),
            ("a letter beyond ASCII", "\u00e4--b"),
            ("a digit beyond ASCII", "\u0663--b"),
            ("a newline at the end", "a--b\n"),
            ("33 fields", "-".join("f" * 33) + "--n"),
            ("4097 bytes", "a" * 4000 + "--" + "b" * 97),
        ]
    ]
    return cases


def _written_properties() -> list[tuple]:
    def number(kind, value):
        return {"type": kind, "value": value}

    def data(kind, value):
        return {"type": kind, "bytes": value}

    cases = [
        (f"write {why}", {"properties": listed})
        for why, listed in [
            ("none", []),
            ("type 0", [number(0, 0)]),
            ("an even type", [number(2, 300)]),
            ("an odd type", [data(1, "c0ffee")]),
            ("an odd type without bytes", [data(1, "")]),
            ("rising types", [number(2, 1), data(3, "aa"), number(0x3802, 2**64 - 1)]),
            ("a type twice", [number(4, 1), number(4, 2), data(5, "00"), data(5, "")]),
            ("type 0 twice", [number(0, 1), number(0, 2)]),
            ("the largest types", [number(2**64 - 2, 7), data(2**64 - 1, "07")]),
            ("a nested list", [number(4, 1), data(11, "0c01"), number(12, 9)]),
            ("128 bytes", [data(1, "ab" * 128)]),
        ]
    ]
    cases += [
        ("write falling types", {"properties": [number(4, 1), number(2, 1)]}, REFUSED),
        ("write bytes under an even type", {"properties": [data(2, "00")]}, REFUSED),
        ("write a number under an odd type", {"properties": [number(3, 0)]}, REFUSED),
    ]
    return cases


def _read_properties() -> list[tuple]:
    cases = [
        (f"read {why}", {"wire": wire})
        for why, wire in [
            ("none", ""),
            ("an even and an odd type", "0201" "0102beef"),
            ("longer integers than needed", "8002" "c00001" "8001" "8001" "aa"),
            ("a type twice", "0401" "0002"),
            ("the largest type", "ffffffffffffffffff" "01" "aa"),
            ("immutable properties", "0b05" "0201" "0101" "ff"),
            ("immutable properties that hold none", "0b00"),
        ]
    ]
    cases += [
        (f"read {why}", {"wire": wire}, REFUSED)
        for why, wire in [
            ("a type without a value", "02"),
            ("an odd type without a length", "01"),
            ("fewer bytes than the length", "0103aabb"),
            ("half a type", "80"),
            ("half a value", "02c000"),
            ("a type of 2^64", "02" "01" "fffffffffffffffffe" "00"),
            ("a length of 65,536", "01" "c10000" + "00" * 40),
            ("a length of 2^64-1", "01" "ffffffffffffffffff" "00"),
            ("immutable properties twice", "0b00" "0000"),
            ("immutable properties within immutable ones", "0b02" "0b00"),
            ("immutable properties that do not parse", "0b01" "ff"),
            ("immutable properties that end too early", "0b01" "02"),
        ]
    ]
    return cases


def _block_hash_properties() -> list[tuple]:
    block = digest("a block's hash")
    immutable = "0b" "23" "b801" "20" + block
    cases = [
        ("write a block's hash", {"block_hash": block}),
        ("write a block's hash of 31 bytes", {"block_hash": block[2:]}, REFUSED),
    ]
    cases += [
        (f"block hash: {why}", {"first_object": wire})
        for why, wire in [
            ("alone", immutable),
            ("among others", "0401" "07" "25" "0201" "b7ff" "20" + block + "0101"),
        ]
    ]
    cases += [
        (f"block hash: {why}", {"first_object": wire}, REFUSED)
        for why, wire in [
            ("no properties", ""),
            ("not among the immutable ones", "b801" "20" + block),
            ("31 bytes", "0b" "22" "b801" "1f" + block[2:]),
            ("twice", "0b" "45" "b801" "20" + block + "00" "20" + block),
            ("in immutable properties within immutable ones", "0b" "25" + immutable),
            ("immutable properties that do not parse", "0b" "22" "b801" "20" + block[2:]),
        ]
    ]
    return cases


VI64 = _vi64()
TRACK_NAME = _track_name()
PROPERTIES = _written_properties() + _read_properties() + _block_hash_properties()
