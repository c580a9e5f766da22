"""MoQT on the wire: every message, parameter, setup option and property, every shape of a data
stream and of a datagram; and, for each, what is refused and with which code."""

from . import REFUSED

NS = ["6578616d706c65", "6c697665"]  # ("example", "live")
TRACK = {"namespace": NS, "name": "766964656f"}
BIG = 2**64 - 1


def parameter(name: str, value) -> dict:
    return {"parameter": name, "value": value}


def token(kind: int, **members) -> dict:
    return {"alias_type": kind, **members}


TOKENS = [
    token(0, alias=7),
    token(1, alias=7, type=1, value="c0ffee"),
    token(2, alias=300),
    token(3, type=0, value="00ff"),
    token(3, type=BIG, value=""),
]
FILTERS = [
    {"type": 1},
    {"type": 2},
    {"type": 3, "start": [5, 0]},
    {"type": 3, "start": [BIG, BIG]},
    {"type": 4, "start": [3, 9], "end_group": 3},
    {"type": 4, "start": [3, 9], "end_group": BIG},
]
NUMBERS = [0, 1, 127, 128, 16384, BIG]
VALUES = {
    "OBJECT_DELIVERY_TIMEOUT": NUMBERS,
    "AUTHORIZATION_TOKEN": TOKENS,
    "RENDEZVOUS_TIMEOUT": NUMBERS,
    "SUBGROUP_DELIVERY_TIMEOUT": NUMBERS,
    "EXPIRES": NUMBERS,
    "LARGEST_OBJECT": [[0, 0], [7, 300], [BIG, BIG]],
    "FILL_TIMEOUT": NUMBERS,
    "FORWARD": [0, 1],
    "SUBSCRIBER_PRIORITY": [0, 128, 255],
    "SUBSCRIPTION_FILTER": FILTERS,
    "GROUP_ORDER": [1, 2],
    "NEW_GROUP_REQUEST": NUMBERS,
    "TRACK_NAMESPACE_PREFIX": [[], NS, ["00" * 255] * 16],
}
UPDATES = [f"REQUEST_UPDATE of a {what}" for what in ("subscription", "fetch", "prefix")]
SUBSCRIBER = ["PUBLISH_OK", "SUBSCRIBE", UPDATES[0]]
PLACES = {
    "OBJECT_DELIVERY_TIMEOUT": SUBSCRIBER,
    "AUTHORIZATION_TOKEN": ["PUBLISH", "SUBSCRIBE", "SUBSCRIBE_NAMESPACE", "SUBSCRIBE_TRACKS",
                            "PUBLISH_NAMESPACE", "TRACK_STATUS", "FETCH", *UPDATES],
    "RENDEZVOUS_TIMEOUT": ["SUBSCRIBE"],
    "SUBGROUP_DELIVERY_TIMEOUT": SUBSCRIBER,
    "EXPIRES": ["SUBSCRIBE_OK", "PUBLISH", "PUBLISH_OK", "REQUEST_UPDATE_OK"],
    "LARGEST_OBJECT": ["SUBSCRIBE_OK", "PUBLISH", "REQUEST_UPDATE_OK", "TRACK_STATUS_OK"],
    "FILL_TIMEOUT": ["FETCH"],
    "FORWARD": ["SUBSCRIBE", UPDATES[0], "PUBLISH", "PUBLISH_OK", "SUBSCRIBE_TRACKS"],
    "SUBSCRIBER_PRIORITY": ["SUBSCRIBE", "FETCH", UPDATES[0], UPDATES[1], "PUBLISH_OK"],
    "SUBSCRIPTION_FILTER": SUBSCRIBER,
    "GROUP_ORDER": ["SUBSCRIBE", "PUBLISH_OK", "FETCH"],
    "NEW_GROUP_REQUEST": SUBSCRIBER,
    "TRACK_NAMESPACE_PREFIX": [UPDATES[2]],
}
STANDALONE = {"type": 1, **TRACK, "start": [2, 0], "end": [4, 17]}

# Each message once, with the fewest parameters; where parameters stand, "parameters" is a member.
PLAIN = {
    "SETUP": {"options": {"tokens": []}},
    "GOAWAY on the control stream": {"uri": "", "timeout_ms": 0, "request_id": 1},
    "GOAWAY on a request": {"uri": "6d6f71743a2f2f782f", "timeout_ms": 30000},
    "PUBLISH_OK": {"parameters": [], "properties": ""},
    "REQUEST_UPDATE_OK": {"parameters": [], "properties": ""},
    "TRACK_STATUS_OK": {"parameters": [], "properties": ""},
    "SUBSCRIBE_NAMESPACE_OK": {"parameters": [], "properties": ""},
    "SUBSCRIBE_TRACKS_OK": {"parameters": [], "properties": ""},
    "PUBLISH_NAMESPACE_OK": {"parameters": [], "properties": ""},
    "REQUEST_ERROR": {"error": 0x10, "retry_interval": 0, "reason": "6e6f6e65"},
    "SUBSCRIBE": {"request_id": 0, **TRACK, "parameters": []},
    "SUBSCRIBE_OK": {"alias": 9, "parameters": [], "properties": ""},
    UPDATES[0]: {"request_id": 2, "parameters": []},
    UPDATES[1]: {"request_id": 2, "parameters": []},
    UPDATES[2]: {"request_id": 2, "parameters": []},
    "PUBLISH": {"request_id": 0, **TRACK, "alias": 300, "parameters": [], "properties": ""},
    "PUBLISH_DONE": {"status": 2, "streams": 4, "reason": ""},
    "FETCH": {"request_id": 0, "fetch": STANDALONE, "parameters": []},
    "FETCH_OK": {"end_of_track": 0, "end": [4, 17], "parameters": [], "properties": ""},
    "TRACK_STATUS": {"request_id": 0, **TRACK, "parameters": []},
    "PUBLISH_NAMESPACE": {"request_id": 0, "namespace": NS, "parameters": []},
    "NAMESPACE": {"namespace": NS},
    "NAMESPACE_DONE": {"namespace": NS},
    "SUBSCRIBE_NAMESPACE": {"request_id": 0, "namespace": NS, "parameters": []},
    "SUBSCRIBE_TRACKS": {"request_id": 0, "namespace": NS, "parameters": []},
    "PUBLISH_BLOCKED": TRACK,
}
# What else a message's own fields can be.
VARIANTS = {
    "GOAWAY on the control stream": [
        {"uri": "6d6f71743a2f2f612e6578616d706c65", "timeout_ms": 5000, "request_id": 4},
        {"uri": "61" * 8192, "timeout_ms": BIG, "request_id": BIG},
    ],
    "REQUEST_ERROR": [
        {"error": 0x9, "retry_interval": 1, "reason": ""},
        {"error": 0x9D, "retry_interval": BIG, "reason": "c3a4" * 512},
        {"error": 0x34, "retry_interval": 0, "reason": "6d6f766564",
         "redirect": {"uri": "6d6f71743a2f2f622f", **TRACK}},
        {"error": 0x34, "retry_interval": 60001, "reason": "",
         "redirect": {"uri": "", "namespace": [], "name": ""}},
    ],
    "SUBSCRIBE": [
        {"request_id": BIG - 1, "namespace": [], "name": ""},
        {"namespace": ["61"] * 32, "name": "00"},
        {"namespace": ["62" * 4000], "name": "63" * 96},
    ],
    "PUBLISH": [{"alias": BIG}],
    "PUBLISH_DONE": [
        {"status": 0x12, "streams": 0, "reason": "62726f6b656e"},
        {"status": 0x9D, "streams": 2**62 - 1, "reason": "61" * 1024},
    ],
    "FETCH": [
        {"fetch": {**STANDALONE, "start": [0, 0], "end": [0, 0]}},
        {"fetch": {**STANDALONE, "start": [BIG, BIG], "end": [BIG, 0]}},
        {"fetch": {"type": 2, "joining_request_id": 6, "joining_start": 2}},
        {"fetch": {"type": 3, "joining_request_id": 0, "joining_start": BIG}},
    ],
    "FETCH_OK": [{"end_of_track": 1, "end": [0, 1]}, {"end": [BIG, 0]}],
    "NAMESPACE": [{"namespace": []}],
    "NAMESPACE_DONE": [{"namespace": ["00"]}],
    "SUBSCRIBE_NAMESPACE": [{"namespace": []}],
    "SUBSCRIBE_TRACKS": [{"namespace": []}],
    "PUBLISH_BLOCKED": [{"namespace": [], "name": ""}],
}
SETUPS = [
    {"path": "", "tokens": []},
    {"path": "2f6d6f713f613d6225323063", "authority": "6578616d706c652e6e65743a34343433", "tokens": []},
    {"tokens": [TOKENS[1], TOKENS[3]]},
    {"tokens": [], "token_cache_bytes": 0},
    {"tokens": [], "token_cache_bytes": BIG},
    {"tokens": [], "authority": "5b3a3a315d3a39", "implementation": "6b7663617374"},
    {"tokens": [], "implementation": ""},
]
# Properties of tracks, by name: their bytes.
TRACK_PROPERTIES = {
    "OBJECT_DELIVERY_TIMEOUT": "0283e8",
    "MAX_CACHE_DURATION": "0400",
    "SUBGROUP_DELIVERY_TIMEOUT": "06ffffffffffffffffff",
    "IMMUTABLE_PROPERTIES": "0b020401",
    "DEFAULT_PUBLISHER_PRIORITY 0": "0e00",
    "DEFAULT_PUBLISHER_PRIORITY 255": "0e80ff",
    "DEFAULT_PUBLISHER_GROUP_ORDER 1": "2201",
    "DEFAULT_PUBLISHER_GROUP_ORDER 2": "2202",
    "DYNAMIC_GROUPS 0": "3000",
    "DYNAMIC_GROUPS 1": "3001",
    "one of an application's": "b8010368656c",
    "grease": "809d00",
    "all of them": "0201" "0202" "0203" "050109" "0d" "0e32" "0300" "0e01" "0e01",
}
BAD_TRACK_PROPERTIES = {
    "a priority of 256": "0e8100",
    "a group order of 0": "2200",
    "a group order of 3": "2203",
    "dynamic groups of 2": "3002",
    "a group order of 0 among the immutable ones": "0b022200",
    "a type of 2^64": "ffffffffffffffffff0001",
    "a length of 65536": "01c10000",
    "a value cut short": "0183aabb",
    "a type alone": "04",
    "immutable ones within immutable ones": "0b020b00",
    "immutable ones twice": "0b000000",
    "immutable ones that cannot be read": "0b0104",
}
WITH_PROPERTIES = ["SUBSCRIBE_OK", "PUBLISH", "FETCH_OK", "TRACK_STATUS_OK"]


def written(place: str, /, **members) -> dict:
    return {"write": {"message": place, **PLAIN[place], **members}}


def read(name: str, wire: str, sender: str = "client") -> dict:
    return {"read": wire, "as": name, "sender": sender}


def framed(kind: str, body: str) -> str:
    return kind + f"{len(body) // 2:04x}" + body


def _written_messages() -> list[tuple]:
    cases = [(f"write {name}", written(name)) for name in PLAIN]
    for name, variants in VARIANTS.items():
        cases += [
            (f"write {name}, variant {number}", written(name, **members))
            for number, members in enumerate(variants, 1)
        ]
    cases += [
        (f"write SETUP, variant {number}", written("SETUP", options=options))
        for number, options in enumerate(SETUPS, 1)
    ]
    for name, values in VALUES.items():
        for place in PLACES[name]:
            cases += [
                (f"write {name} {number} in {place}",
                 written(place, parameters=[parameter(name, value)]))
                for number, value in enumerate(values, 1)
            ]
    for place in PLAIN:
        names = [name for name in VALUES if place in PLACES[name]]
        if len(names) > 1:
            every = [parameter(name, VALUES[name][0]) for name in names]
            cases.append((f"write every parameter in {place}", written(place, parameters=every)))
    two = [parameter("AUTHORIZATION_TOKEN", TOKENS[3]), parameter("AUTHORIZATION_TOKEN", TOKENS[4])]
    cases.append(("write two tokens in SUBSCRIBE", written("SUBSCRIBE", parameters=two)))
    for place in WITH_PROPERTIES:
        cases += [
            (f"write {name} of a track in {place}", written(place, properties=wire))
            for name, wire in TRACK_PROPERTIES.items()
        ]
    return cases


def _read_messages() -> list[tuple]:
    cases = [
        (f"read {why}", read(name, wire))
        for why, name, wire in [
            ("integers longer than needed", "SUBSCRIBE", "8003" "0009" "8000" "8001" "8001" "61" "00"
             "00"),
            ("a type in nine bytes", "NAMESPACE", "ff0000000000000008" "0001" "00"),
            ("an unknown error code", "REQUEST_ERROR", framed("05", "ff" + "ff" * 8 + "0000")),
            ("an unknown status", "PUBLISH_DONE", framed("0b", "809d" "00" "00")),
            ("unknown setup options", "SETUP", framed("af00", "0a05" "01" "03" "aabbcc")),
            ("an unknown setup option twice", "SETUP", framed("af00", "0a05" "0006")),
            ("an unknown setup option of grease", "SETUP", framed("af00", "809d" "00")),
            ("a filter whose numbers are long", "SUBSCRIBE",
             framed("03", "00" "00" "00" "01" "21" "8007" "8003" "c00005" "8000")),
            ("a namespace of 4,096 bytes", "NAMESPACE",
             framed("08", "20" + ("8080" + "61" * 128) * 32)),
        ]
    ]
    cases += [
        (f"refuse {why}", read(name, wire), REFUSED) for why, name, wire in _bad_messages()
    ]
    cases += [
        (f"refuse {why} in {place}",
         read(place, framed(kind, body + wire)), REFUSED)
        for why, wire in BAD_TRACK_PROPERTIES.items()
        for place, kind, body in [
            ("SUBSCRIBE_OK", "04", "0900"), ("PUBLISH", "1d", "0001016100" "0700"),
            ("FETCH_OK", "18", "00040500"), ("TRACK_STATUS_OK", "07", "00")]
    ]
    server = [
        ("a server's PATH", "af00", "0100"), ("a server's AUTHORITY", "af00", "050161")]
    cases += [
        (f"refuse {why}", read("SETUP", framed(kind, body), "server"), REFUSED)
        for why, kind, body in server
    ]
    return cases


def _bad_messages() -> list[tuple]:
    bad = [
        ("another message", "SUBSCRIBE", "04000400000000"),
        ("a message longer than its fields", "SUBSCRIBE", framed("03", "0000000000")),
        ("a message shorter than its fields", "SUBSCRIBE", framed("03", "0000")),
        ("a message cut short", "SUBSCRIBE", "0300080000"),
        ("33 fields", "SUBSCRIBE", framed("03", "00" "21" + "0161" * 33 + "0000")),
        ("an empty field", "SUBSCRIBE", framed("03", "00" "01" "00" "00" "00")),
        ("a name of 4,097 bytes", "SUBSCRIBE",
         framed("03", "00" "01" "9000" + "61" * 4096 + "0161" "00")),
        ("a namespace of 4,097 bytes", "NAMESPACE", framed("08", "01" "9001" + "61" * 4097)),
        ("a reason of 1,025 bytes", "PUBLISH_DONE", framed("0b", "0000" "8401" + "61" * 1025)),
        ("a URI of 8,193 bytes", "GOAWAY on a request", framed("10", "a001" + "61" * 8193 + "00")),
        ("no request id on the control stream", "GOAWAY on the control stream", framed("10", "0000")),
        ("a request id on a request", "GOAWAY on a request", framed("10", "000001")),
        ("fetch type 0", "FETCH", framed("16", "0000" "0000" "00")),
        ("fetch type 4", "FETCH", framed("16", "0004" "0000" "00")),
        ("an end of track of 2", "FETCH_OK", framed("18", "02" "0405" "00")),
        ("properties in PUBLISH_OK", "PUBLISH_OK", framed("07", "00" "0201")),
        ("no redirect", "REQUEST_ERROR", framed("05", "34" "00" "00")),
        ("a redirect that was not announced", "REQUEST_ERROR", framed("05", "10" "00" "00" "000000")),
        ("an unknown parameter", "SUBSCRIBE", framed("03", "000000" "01" "0500")),
        ("a parameter of grease", "SUBSCRIBE", framed("03", "000000" "01" "809d00")),
        ("a parameter past 2^64", "SUBSCRIBE",
         framed("03", "000000" "02" "0200" + "ff" * 9 + "00")),
        ("fewer parameters than counted", "SUBSCRIBE", framed("03", "000000" "02" "0200")),
        ("more parameters than counted", "SUBSCRIBE", framed("03", "000000" "00" "0200")),
        ("FORWARD 2", "SUBSCRIBE", framed("03", "000000" "01" "1002")),
        ("GROUP_ORDER 0", "SUBSCRIBE", framed("03", "000000" "01" "2200")),
        ("GROUP_ORDER 3", "FETCH", framed("16", "0002" "0000" "01" "2203")),
        ("filter type 0", "SUBSCRIBE", framed("03", "000000" "01" "210100")),
        ("filter type 5", "SUBSCRIBE", framed("03", "000000" "01" "210105")),
        ("a filter past the last group", "SUBSCRIBE",
         framed("03", "000000" "01" "210c" "04" "01" "00" + "ff" * 9)),
        ("a filter cut short", "SUBSCRIBE", framed("03", "000000" "01" "21020301")),
        ("a filter longer than its fields", "SUBSCRIBE", framed("03", "000000" "01" "21020200")),
        ("a token of alias type 4", "SUBSCRIBE", framed("03", "000000" "01" "030104")),
        ("a token of no bytes", "SUBSCRIBE", framed("03", "000000" "01" "0300")),
        ("a token longer than its fields", "SUBSCRIBE", framed("03", "000000" "01" "0303020700")),
        ("a token longer than the message", "SUBSCRIBE", framed("03", "000000" "01" "030503")),
        ("PATH that is no path", "SETUP", framed("af00", "010161")),
        ("PATH with a space", "SETUP", framed("af00", "01022f20")),
        ("PATH with half an escape", "SETUP", framed("af00", "01032f2561")),
        ("PATH twice", "SETUP", framed("af00", "01000000")),
        ("AUTHORITY of no bytes", "SETUP", framed("af00", "0500")),
        ("AUTHORITY with a slash", "SETUP", framed("af00", "0503612f62")),
        ("AUTHORITY of a port only", "SETUP", framed("af00", "05023a39")),
        ("a cache size twice", "SETUP", framed("af00", "04000000")),
        ("an implementation twice", "SETUP", framed("af00", "07000000")),
        ("a setup option past 2^64", "SETUP", framed("af00", "0400" + "ff" * 9 + "00")),
        ("a setup option cut short", "SETUP", framed("af00", "0705aabb")),
        ("a setup option without a value", "SETUP", framed("af00", "04")),
        ("a setup option of 65,536 bytes", "SETUP", framed("af00", "07c10000")),
        ("a token to delete in SETUP", "SETUP", framed("af00", "03020007")),
        ("a token by its alias in SETUP", "SETUP", framed("af00", "03020207")),
        ("a token of alias type 9 in SETUP", "SETUP", framed("af00", "030109")),
    ]
    for name, values in VALUES.items():
        allowed = PLACES[name]
        bad += [
            (f"{name} in {place}", place, _with(place, name, values[0]))
            for place in PLAIN
            # The draft lets timeouts stand in any REQUEST_UPDATE, and EXPIRES in what answers like
            # SUBSCRIBE_OK; what it leaves open is no vector.
            if "parameters" in PLAIN[place] and place not in allowed
            and not ("TIMEOUT" in name and place in UPDATES)
            and (name, place) != ("EXPIRES", "TRACK_STATUS_OK")
        ]
        if name != "AUTHORIZATION_TOKEN":
            bad.append((f"{name} twice", allowed[0], _with(allowed[0], name, values[0], values[0])))
    return bad


def _with(place: str, name: str, *values) -> str:
    import kvcast_moqt

    members = {**PLAIN[place], "parameters": [parameter(name, value) for value in values]}
    return kvcast_moqt.write_message({"message": place, **members}).hex()


# ---- Data streams -------------------------------------------------------------------------------


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
    "IMMUTABLE_PROPERTIES": "0b040401" "0701",
    "PRIOR_GROUP_ID_GAP": "3c03",
    "PRIOR_OBJECT_ID_GAP": "3e01",
    "both gaps": "3c01" "0202",
    "a gap among the immutable ones": "0b023e01",
    "a block's key": "0b23b80120" + "5a" * 32,
    "unknown ones, in long numbers": "c00008" "8001" "8003" "8002" "beef",
    "grease": "809d05",
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


MESSAGES = _written_messages() + _read_messages()
STREAMS = _subgroups() + _fetches() + _read_streams()
DATAGRAMS = _datagrams()
