"""MoQT's data streams and datagrams: every type and shape, every property of an object; and what is
refused."""

from . import REFUSED

BIG = 2**64 - 1


def header(**members) -> dict:
    plain = {"alias": 7, "group": 3, "subgroup": 0, "priority": 128, "properties": 0,
             "end_of_group": 0, "first_object": 0}
    return {**plain, **members}


def sub(number: int, payload: str = "6162", properties: str = "", status: int = 0) -> dict:
    return {"object": number, "properties": properties, "payload": payload, "status": status}


def fetched(group: int, number: int, subgroup=0, priority: int = 128, payload: str = "6162",
            properties: str = "") -> dict:
    return {"group": group, "subgroup": subgroup, "object": number, "priority": priority,
            "properties": properties, "payload": payload}


def gap(kind: str, group: int, number: int) -> dict:
    return {"range": kind, "group": group, "object": number}


OBJECT_PROPERTIES = {
    "none": "",
    "IMMUTABLE_PROPERTIES": "0b040401" "0300",
    "PRIOR_GROUP_ID_GAP": "3c03",
    "PRIOR_OBJECT_ID_GAP": "3e01",
    "both gaps": "3c01" "0202",
    "a gap among the immutable ones": "0b023e01",
    "a block's key": "0b23b80120" + "5a" * 32,
    "unknown ones, in long numbers": "c00008" "8001" "8005" "8002" "beef",
    "grease": "809d" "0105",
}


def _subgroups() -> list[tuple]:
    two = [sub(0), sub(1, "")]
    cases = []
    for kind in range(0x80):
        mode = kind >> 1 & 3
        if kind & 0x10 and mode != 3:
            shape = header(subgroup=(0, "first object", 5)[mode], properties=kind & 1,
                           end_of_group=kind >> 3 & 1, priority=None if kind & 0x20 else 9,
                           first_object=kind >> 6 & 1)
            cases.append((f"write subgroup type {kind:#x}", {"write": {"header": shape, "objects": two}}))
    shapes = {
        "no objects": (header(), []),
        "gaps between objects": (header(), [sub(5), sub(6), sub(300), sub(BIG)]),
        "an end of group": (header(), [sub(0), sub(1, "", status=3)]),
        "an end of track": (header(), [sub(BIG, "", status=4)]),
        "an end of group that could have properties": (
            header(properties=1), [sub(0, "", status=3)]),
        "the largest numbers": (
            header(alias=BIG, group=BIG, subgroup=BIG, priority=255), [sub(BIG)]),
        "a subgroup named for its first object": (
            header(subgroup="first object"), [sub(40), sub(41)]),
        "a long object": (header(), [sub(0, "00" * 2000)]),
    }
    cases += [
        (f"write {why}", {"write": {"header": shape, "objects": objects}})
        for why, (shape, objects) in shapes.items()
    ]
    cases += [
        (f"write {why} on an object of a subgroup",
         {"write": {"header": header(properties=1), "objects": [sub(4, properties=wire)]}})
        for why, wire in OBJECT_PROPERTIES.items()
    ]
    return cases


def _fetches() -> list[tuple]:
    def stream(*items, order: int = 1, request: int = 4) -> dict:
        return {"write": {"request_id": request, "order": order, "items": list(items)}}

    cases = [
        ("write a fetch of nothing", stream()),
        ("write a fetch's first object", stream(fetched(3, 9, subgroup=2, priority=0))),
        ("write a fetch of the last object there can be",
         stream(fetched(BIG, BIG, subgroup=BIG, priority=255), request=BIG)),
        ("write objects in a row", stream(*(fetched(0, number) for number in range(3)))),
        ("write objects with gaps", stream(fetched(0, 0), fetched(0, 5), fetched(0, BIG))),
        ("write groups rising", stream(fetched(0, 2), fetched(1, 3), fetched(9, 0), fetched(10, 1))),
        ("write groups falling",
         stream(fetched(BIG, 0), fetched(7, 1), fetched(6, 0), fetched(0, 5), order=2)),
        ("write subgroups",
         stream(fetched(0, 0, 4), fetched(0, 1, 4), fetched(0, 2, 5), fetched(0, 3, 0),
                fetched(0, 4, 1), fetched(0, 5, 900))),
        ("write priorities",
         stream(fetched(0, 0, priority=1), fetched(0, 1, priority=1), fetched(0, 2, priority=2))),
        ("write a datagram among others",
         stream(fetched(0, 0, 4), fetched(0, 1, None), fetched(0, 2, 4), fetched(0, 3, 5))),
        ("write a datagram first", stream(fetched(0, 0, None), fetched(0, 1, 3))),
        ("write empty objects", stream(fetched(0, 0, payload=""), fetched(0, 1, payload=""))),
        ("write a long fetched object", stream(fetched(0, 0, payload="00" * 2000))),
    ]
    for kind in ("unknown", "non-existent"):
        cases += [
            (f"write an {kind} range first", stream(gap(kind, 2, 7), fetched(2, 8))),
            (f"write an {kind} range alone", stream(gap(kind, BIG, BIG))),
            (f"write an {kind} range between objects",
             stream(fetched(1, 0, 3), gap(kind, 4, 0), fetched(4, 1, 3), fetched(5, 0, 4))),
            (f"write an {kind} range after another",
             stream(gap("non-existent", 0, 5), gap(kind, 0, 9), fetched(1, 0))),
            (f"write an {kind} range downward",
             stream(fetched(9, 0), gap(kind, 4, 2), fetched(4, 3), fetched(3, 0), order=2)),
        ]
    cases += [
        (f"write {why} on a fetched object", stream(fetched(4, 4, properties=wire)))
        for why, wire in OBJECT_PROPERTIES.items()
    ]
    return cases


def _read_streams() -> list[tuple]:
    def subgroup(wire: str) -> dict:
        return {"read": wire}

    def fetch(wire: str, order: int = 1) -> dict:
        return {"read": "0504" + wire, "order": order}

    first = "1c" "00" "00" "80" "0161"  # Group, object and priority stand; subgroup 0.
    cases = [
        ("read a subgroup in long numbers",
         subgroup("8010" "8007" "c00003" "80" "8000" "8001" "61")),
        ("read a normal object of no bytes", subgroup("10070380" "00" "00" "00")),
        ("read a subgroup 0 that stands there", subgroup("14070300" "80" "00" "0161")),
        ("read a fetch in long numbers",
         fetch("801c" "8000" "8000" "80" "8001" "61" "8000" "8001" "62")),
        ("read fields that could have been left out",
         fetch(first + "17" "00" "01" "80" "0162")),
        ("read properties of no bytes", fetch("3c" "00" "00" "80" "00" "0161")),
        ("read a datagram with the bits of a subgroup", fetch("5f" "00" "00" "80" "0161")),
        ("read an object after another group's", fetch(first + "08" "00" "0162")),
    ]
    bad = [
        ("a subgroup type with mode 3", subgroup("16070380")),
        ("a stream type without bit 4", subgroup("20070380")),
        ("a stream type of 0x90", subgroup("8090070380")),
        ("a header cut short", subgroup("1007")),
        ("an object cut short", subgroup("10070380" "00" "0561")),
        ("an object without a status", subgroup("10070380" "00" "00")),
        ("status 1", subgroup("10070380" "00" "00" "01")),
        ("status 2", subgroup("10070380" "00" "00" "02")),
        ("status 5", subgroup("10070380" "00" "00" "05")),
        ("an object after the end of its group", subgroup("10070380" "000003" "000161")),
        ("an object past 2^64", subgroup("10070380" + "ff" * 9 + "0161" "000162")),
        ("properties on an end of group", subgroup("11070380" "00" "020401" "0003")),
        ("properties that cannot be read", subgroup("11070380" "00" "0104" "0161")),
        ("a property of 65,536 bytes", subgroup("11070380" "00" "0407c10000" "0161")),
        ("immutable properties within immutable ones",
         subgroup("11070380" "00" "040b020b00" "0161")),
        ("immutable properties that cannot be read", subgroup("11070380" "00" "030b0104" "0161")),
        ("a mandatory property on an object", subgroup("11070380" "00" "04c0400000" "0161")),
        ("a group gap past group 0", subgroup("11070380" "00" "023c04" "0161")),
        ("an object gap past object 0", subgroup("11070380" "00" "023e01" "0161")),
        ("a gap twice", subgroup("11070380" "05" "043c01" "0001" "0161")),
        ("a gap twice, once among the immutable ones",
         subgroup("11070380" "05" "060b023c01" "3101" "0161")),
        ("a first object without a group", fetch("14" "00" "80" "0161")),
        ("a first object without a number", fetch("18" "00" "80" "0161")),
        ("a first object without a priority", fetch("0c" "00" "00" "0161")),
        ("a first object in the subgroup before", fetch("1d" "00" "00" "80" "0161")),
        ("a first object in the subgroup after the one before", fetch("1e" "00" "00" "80" "0161")),
        ("flags of 0x80", fetch("8080" "00" "00")),
        ("flags of 0x8d", fetch("808d" "00" "00")),
        ("flags of 0x20c", fetch("820c" "00" "00")),
        ("a group past 2^64", fetch(first + "0c" + "ff" * 9 + "00" "0161")),
        ("a group below 0", fetch(first + "0c" "00" "00" "0161", order=2)),
        ("a fetched object past 2^64", fetch("1c" "00" + "ff" * 9 + "80" "0161" + "00" "0161")),
        ("a subgroup past 2^64", fetch("1f" "00" + "ff" * 9 + "00" "80" "0161" + "02" "0161")),
        ("an object after a range, in no subgroup", fetch("808c" "00" "00" + "11" "80" "0161")),
        ("an object after a range, of no priority", fetch("808c" "00" "00" + "00" "0161")),
        ("an object twice", fetch(first + "04" "00" "0161")),
        ("a fetched object cut short", fetch("1c" "00" "00" "80" "0561")),
        ("a range cut short", fetch("808c" "00")),
        ("a fetch stream without its request", {"read": "05", "order": 1}),
    ]
    cases += [(f"refuse {why}", given, REFUSED) for why, given in bad]
    return cases


def _datagrams() -> list[tuple]:
    cases = []
    for kind in range(0x30):
        if kind & 0x10 or kind & 0x22 == 0x22:
            continue
        status = 4 if kind & 0x20 else 0
        properties = "0403" if kind & 1 else ""
        if status and properties:
            continue  # Status 0 in a datagram of its own is read, and not written.
        cases.append((f"write datagram type {kind:#x}", {"write": {
            "alias": 7, "group": 3, "object": 0 if kind & 4 else 300,
            "priority": None if kind & 8 else 9, "properties": properties,
            "end_of_group": kind >> 1 & 1, "status": status,
            "payload": "" if status else "6b76"}}))
    cases += [
        (f"write {why} on a datagram", {"write": {
            "alias": 7, "group": 4, "object": 4, "priority": 1, "properties": wire,
            "end_of_group": 0, "status": 0, "payload": "00"}})
        for why, wire in OBJECT_PROPERTIES.items()
    ]
    cases += [
        (f"read {why}", {"read": wire})
        for why, wire in [
            ("a normal status", "20" "07" "03" "05" "80" "00"),
            ("a normal status with properties", "21" "07" "03" "05" "80" "020403" "00"),
            ("an empty payload", "00" "07" "03" "05" "80"),
            ("an object 0 that stands there", "00" "07" "03" "00" "80" "61"),
            ("long numbers", "8000" "8007" "8003" "c00005" "80" "61"),
            ("padding", "f0132b3e29" "000000"),
            ("padding of no bytes", "f0132b3e29"),
        ]
    ]
    bad = [(f"type {kind:#x}", f"{kind:02x}" "07030580")
           for kind in range(0x80) if kind & 0x50 or kind & 0x22 == 0x22]
    bad += [
        ("nothing", ""), ("a type alone", "00"), ("no priority", "00070305"),
        ("type 0x100", "810007030580"),
        ("properties of no bytes", "01070305" "80" "00" "61"),
        ("properties longer than the datagram", "01070305" "80" "09" "0403"),
        ("properties that cannot be read", "01070305" "80" "01" "04" "61"),
        ("status 1", "20070305" "80" "01"), ("status 5", "20070305" "80" "05"),
        ("no status", "20070305" "80"), ("bytes after the status", "20070305" "80" "0361"),
        ("properties on an end of group", "21070305" "80" "020403" "03"),
        ("a mandatory property", "01070305" "80" "04c0400000" "61"),
        ("an object gap past object 0", "01070300" "80" "023e01" "61"),
    ]
    cases += [(f"refuse {why}", {"read": wire}, REFUSED) for why, wire in bad]
    return cases


STREAMS = _subgroups() + _fetches() + _read_streams()
DATAGRAMS = _datagrams()
