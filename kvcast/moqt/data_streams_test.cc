#include <gtest/gtest.h>

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/random.h"
#include "kvcast/moqt/codec_test.h"
#include "kvcast/moqt/frame.h"

namespace kvcast::moqt {
namespace {

Object StreamObject(Location location, std::string_view payload) {
  Object object;
  object.location = location;
  object.payload = Bytes::Of(payload);
  return object;
}

void ExpectSame(const Object& a, const Object& b) {
  EXPECT_EQ(a.location, b.location);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.forwarding, b.forwarding);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.properties, b.properties);
  EXPECT_TRUE(a.payload == b.payload);
  if (a.forwarding == Forwarding::kSubgroup) {
    EXPECT_EQ(a.subgroup, b.subgroup);
  }
}

struct SubgroupResult {
  SubgroupHeader header;
  std::vector<Object> objects;
  std::optional<Fault> fault;
  bool may_end = false;
};

// Reads a stream in pieces of the lengths that `cut` gives.
template <typename Cut>
SubgroupResult ReadSubgroup(std::string_view wire, Cut cut, const Limits& limits = {}) {
  SubgroupResult result;
  OpeningReader opening(DefaultCodec());
  std::unique_ptr<SubgroupReader> reader;
  while (!wire.empty() && !result.fault) {
    const size_t length = std::min<size_t>(cut(), wire.size());
    std::span<const std::byte> in = AsBytes(wire.substr(0, length));
    wire.remove_prefix(length);
    if (reader == nullptr) {
      const auto opened = opening.Read(in);
      if (!opened.ok()) {
        result.fault = opened.error();
        return result;
      }
      if (!opened->has_value()) {
        continue;
      }
      result.header = std::get<SubgroupHeader>(**opened);
      reader = DefaultCodec().ReadSubgroup(result.header, limits);
    }
    while (!in.empty() && !result.fault) {
      auto object = reader->Read(in, 77);
      if (!object.ok()) {
        result.fault = object.error();
      } else if (object->has_value()) {
        result.objects.push_back(**object);
      }
    }
  }
  result.may_end = reader != nullptr && reader->between_objects();
  return result;
}

SubgroupResult ReadSubgroupHex(std::string_view hex) {
  return ReadSubgroup(Unhex(hex), [] { return size_t{1000}; });
}

// The draft's first example, its ids as deltas.
TEST(SubgroupStream, ReadsAndWritesTheDraftsExample) {
  const char* wire =
      "1402000000"
      "000461626364"
      "000465666768";
  const SubgroupResult result = ReadSubgroupHex(wire);
  ASSERT_FALSE(result.fault);
  EXPECT_TRUE(result.may_end);
  ASSERT_EQ(result.objects.size(), 2u);
  EXPECT_EQ(result.objects[1].location, (Location{0, 1}));
  EXPECT_EQ(result.objects[1].payload.ToString(), "efgh");
  EXPECT_EQ(result.objects[1].priority, 0);
  const auto writer = DefaultCodec().WriteSubgroup(result.header);
  Bytes written = writer->Header();
  for (const Object& object : result.objects) {
    written.Append(writer->Write(object));
  }
  EXPECT_EQ(Hex(written), wire);
}

// The draft's second example; its lengths do not match its text, these do. The first property's
// number is written as the draft's author's encoder would: shortest.
TEST(SubgroupStream, ReadsPropertiesAndTheTracksPriority) {
  const Properties properties =
      PropertiesBuilder().Number(4, 2186796243).Bytes(77, "traceID:123456").Build();
  ByteWriter writer;
  writer.Write(
      Unhex("35020000"
            "00"));
  writer.Vi64(properties.encoded().size());
  writer.Write(properties.encoded());
  writer.Write(
      Unhex("0461626364"
            "00000465666768"));
  const SubgroupResult result = ReadSubgroup(writer.Take().ToString(), [] { return size_t{3}; });
  ASSERT_FALSE(result.fault);
  ASSERT_EQ(result.objects.size(), 2u);
  EXPECT_EQ(result.objects[0].properties, properties);
  EXPECT_EQ(result.objects[0].priority, 77);
  EXPECT_TRUE(result.objects[1].properties.empty());
}

TEST(SubgroupStream, TakesItsIdFromTheModeItNames) {
  EXPECT_EQ(ReadSubgroupHex("12010900"
                            "050161")
                .objects[0]
                .subgroup,
            5u);
  EXPECT_EQ(ReadSubgroupHex("12010900"
                            "050161"
                            "000161")
                .objects[1]
                .subgroup,
            5u);
  EXPECT_EQ(ReadSubgroupHex("1401090700"
                            "050161")
                .objects[0]
                .subgroup,
            7u);
  EXPECT_EQ(ReadSubgroupHex("10010900"
                            "050161")
                .objects[0]
                .subgroup,
            0u);
}

TEST(SubgroupStream, KnowsEmptyObjectsAndEnds) {
  const SubgroupResult result = ReadSubgroupHex(
      "10010900"
      "000000"
      "020003");
  ASSERT_EQ(result.objects.size(), 2u);
  EXPECT_EQ(result.objects[0].status, ObjectStatus::kNormal);
  EXPECT_TRUE(result.objects[0].payload.empty());
  EXPECT_EQ(result.objects[1].status, ObjectStatus::kEndOfGroup);
  EXPECT_EQ(result.objects[1].location, (Location{9, 3}));
}

TEST(SubgroupStream, IsRefusedAsTheDraftSays) {
  const struct {
    const char* hex;
    Fault::Scope scope;
    uint64_t code;
  } cases[] = {
      {"16", Fault::Scope::kSession, 3},  // Reserved mode.
      {"7f", Fault::Scope::kSession, 3},  //
      {"10010900"
       "000001",
       Fault::Scope::kSession, 3},  // Status 1.
      {"10010900"
       "000005",
       Fault::Scope::kSession, 3},  // Status 5.
      {"10010900"
       "000003"
       "000161",
       Fault::Scope::kSession, 3},  // After the group's end.
      {"11010900"
       "0002020100"
       "03",
       Fault::Scope::kSession, 3},  // Properties on an end.
      {"10010900"
       "ffffffffffffffffff0161"
       "000161",
       Fault::Scope::kSession, 3},  // Past 2^64.
      {"11010900"
       "000103",
       Fault::Scope::kSession, 3},  // A property without length.
      {"11010900"
       "00040b020b00",
       Fault::Scope::kTrack, 0x12},  // Immutable within immutable.
      {"11010900"
       "0004c0400001",
       Fault::Scope::kTrack, 0x12},  // A mandatory track property.
      {"11010900"
       "00023e01",
       Fault::Scope::kTrack, 0x12},  // A gap below object 0.
      {"11010900"
       "00023c0a",
       Fault::Scope::kTrack, 0x12},  // A gap below group 0.
      {"11010900"
       "05043e010001",
       Fault::Scope::kTrack, 0x12},  // Two gaps.
      {"11010900"
       "00c20000",
       Fault::Scope::kStream, 9},  // 128 KiB of properties.
      {"10010900"
       "00f0ffffffff",
       Fault::Scope::kStream, 9},  // 4 GB of payload.
  };
  for (const auto& [hex, scope, code] : cases) {
    const SubgroupResult result = ReadSubgroupHex(hex);
    ASSERT_TRUE(result.fault.has_value()) << hex;
    EXPECT_EQ(result.fault->scope(), scope) << hex;
    EXPECT_EQ(result.fault->code(), code) << hex;
  }
}

TEST(SubgroupStream, MayNotEndWithinAnObject) {
  const std::string wire = Unhex(
      "1401090700"
      "050161");
  for (size_t length = 1; length < wire.size(); ++length) {
    const bool between = length == 5;
    EXPECT_EQ(ReadSubgroup(wire.substr(0, length), [] { return size_t{9}; }).may_end, between);
  }
}

Object RandomObject(Random& random, Location location) {
  std::string payload(random.Happens(0.1) ? random.Below(40000) : random.Below(20), '\0');
  random.Fill(std::as_writable_bytes(std::span(payload)));
  Object object = StreamObject(location, payload);
  object.subgroup = random.Below(3);
  object.priority = static_cast<uint8_t>(random.Below(3));
  if (random.Happens(0.3)) {
    object.properties = PropertiesBuilder().Number(0x3800, random.Next()).Build();
  }
  return object;
}

TEST(SubgroupStream, GivesBackWhatWasWrittenInAnyCut) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    SubgroupHeader header;
    header.alias = random.Below(300);
    header.group = random.Next();
    header.mode = static_cast<SubgroupHeader::Mode>(random.Below(3));
    header.properties = random.Happens(0.5);
    header.first_object = random.Happens(0.5);
    header.end_of_group = random.Happens(0.5);
    if (random.Happens(0.5)) {
      header.priority = static_cast<uint8_t>(random.Below(256));
    }
    header.subgroup = header.mode == SubgroupHeader::Mode::kExplicit ? 4 : 0;
    const auto writer = DefaultCodec().WriteSubgroup(header);
    Bytes wire = writer->Header();
    std::vector<Object> sent;
    uint64_t id = random.Below(100);
    for (uint64_t i = random.Below(6); i > 0; --i, id += 1 + random.Below(3)) {
      Object object = RandomObject(random, {header.group, id});
      object.priority = header.priority.value_or(77);
      if (!header.properties) {
        object.properties = Properties();
      }
      sent.push_back(object);
      sent.back().subgroup = header.mode == SubgroupHeader::Mode::kFirstObject
                                 ? sent[0].location.object
                                 : header.subgroup;
      wire.Append(writer->Write(object));
    }
    const std::string text = wire.ToString();
    for (const bool single : {true, false}) {
      const SubgroupResult result =
          ReadSubgroup(text, [&] { return single ? 1 : 1 + random.Below(50); });
      ASSERT_FALSE(result.fault) << "seed " << seed;
      EXPECT_EQ(result.header, header);
      ASSERT_EQ(result.objects.size(), sent.size()) << "seed " << seed;
      for (size_t i = 0; i < sent.size(); ++i) {
        ExpectSame(result.objects[i], sent[i]);
      }
    }
  }
}

struct FetchResult {
  std::vector<FetchItem> items;
  std::optional<Fault> fault;
  bool may_end = false;
};

template <typename Cut>
FetchResult ReadFetch(std::string_view wire, Cut cut, GroupOrder order = GroupOrder::kAscending) {
  const Limits limits;
  const auto reader = DefaultCodec().ReadFetch(order, limits);
  FetchResult result;
  while (!wire.empty()) {
    const size_t length = std::min<size_t>(cut(), wire.size());
    std::span<const std::byte> in = AsBytes(wire.substr(0, length));
    wire.remove_prefix(length);
    while (!in.empty()) {
      auto item = reader->Read(in);
      if (!item.ok()) {
        result.fault = item.error();
        return result;
      }
      if (item->has_value()) {
        result.items.push_back(**item);
      }
    }
  }
  result.may_end = reader->between_items();
  return result;
}

FetchResult ReadFetchHex(std::string_view hex, GroupOrder order = GroupOrder::kAscending) {
  return ReadFetch(
      Unhex(hex), [] { return size_t{1000}; }, order);
}

Location LocationOf(const FetchItem& item) {
  const Object* object = std::get_if<Object>(&item);
  return object ? object->location : std::get<RangeEnd>(item).last;
}

// Worked out by hand from the draft's rules.
TEST(FetchStream, FollowsTheItemBefore) {
  const FetchResult result = ReadFetchHex(
      "1c"
      "05"
      "03"
      "80"
      "0161"  // {5, 3}, priority 128.
      "00"
      "0162"  // {5, 4}.
      "04"
      "02"
      "0163"  // {5, 6}.
      "08"
      "00"
      "0164"  // {6, 7}: the id goes on across groups.
      "0c"
      "01"
      "00"
      "0165"  // {8, 0}.
      "810c"
      "09"
      "04"  // Unknown up to {9, 4}.
      "00"
      "0166"  // {9, 5}.
      "808c"
      "0a"
      "00"  // Nothing up to {10, 0}.
      "07"
      "02"
      "03"
      "00");  // {10, 3}, subgroup 2, empty.
  ASSERT_FALSE(result.fault) << result.fault->reason();
  EXPECT_TRUE(result.may_end);
  const Location at[] = {{5, 3}, {5, 4}, {5, 6}, {6, 7}, {8, 0}, {9, 4}, {9, 5}, {10, 0}, {10, 3}};
  ASSERT_EQ(result.items.size(), std::size(at));
  for (size_t i = 0; i < std::size(at); ++i) {
    EXPECT_EQ(LocationOf(result.items[i]), at[i]) << i;
  }
  EXPECT_TRUE(std::get<RangeEnd>(result.items[5]).unknown);
  EXPECT_FALSE(std::get<RangeEnd>(result.items[7]).unknown);
  const Object& last = std::get<Object>(result.items[8]);
  EXPECT_EQ(last.priority, 128);
  EXPECT_TRUE(last.payload.empty());
}

TEST(FetchStream, CountsGroupsDownWhereAskedTo) {
  const FetchResult result = ReadFetchHex(
      "1c"
      "05"
      "03"
      "80"
      "0161"
      "0c"
      "01"
      "00"
      "0162",
      GroupOrder::kDescending);
  ASSERT_EQ(result.items.size(), 2u);
  EXPECT_EQ(LocationOf(result.items[1]), (Location{3, 0}));
}

TEST(FetchStream, IsRefusedAsTheDraftSays) {
  const struct {
    const char* hex;
    GroupOrder order;
    Fault::Scope scope;
    uint64_t code;
  } cases[] = {
      {"8080", GroupOrder::kAscending, Fault::Scope::kSession, 3},  // Unknown flags.
      {"14", GroupOrder::kAscending, Fault::Scope::kSession, 3},    // No group at first.
      {"18", GroupOrder::kAscending, Fault::Scope::kSession, 3},    // No id at first.
      {"0c", GroupOrder::kAscending, Fault::Scope::kSession, 3},    // No priority at first.
      {"1d", GroupOrder::kAscending, Fault::Scope::kSession, 3},    // No subgroup before.
      {"1e", GroupOrder::kAscending, Fault::Scope::kSession, 3},    //
      {"808c"
       "0000"
       "00",
       GroupOrder::kAscending, Fault::Scope::kSession, 3},  // No priority yet.
      {"1c05030000"
       "0805",
       GroupOrder::kDescending, Fault::Scope::kSession, 3},  // Below group 0.
      {"1cffffffffffffffffff030000"
       "0800",
       GroupOrder::kAscending, Fault::Scope::kSession, 3},
      {"1c05ffffffffffffffffff0000"
       "00",
       GroupOrder::kAscending, Fault::Scope::kSession, 3},
      {"1c05030000"
       "0400",
       GroupOrder::kAscending, Fault::Scope::kTrack, 0x12},  // Twice.
      {"1c05030000"
       "808c0502",
       GroupOrder::kAscending, Fault::Scope::kTrack, 0x12},  // Backwards.
      {"1c050300f0ffffffff", GroupOrder::kAscending, Fault::Scope::kStream, 9},
      {"3c050300c20000", GroupOrder::kAscending, Fault::Scope::kStream, 9},
  };
  for (const auto& [hex, order, scope, code] : cases) {
    const FetchResult result = ReadFetchHex(hex, order);
    ASSERT_TRUE(result.fault.has_value()) << hex;
    EXPECT_EQ(result.fault->scope(), scope) << hex;
    EXPECT_EQ(result.fault->code(), code) << hex;
  }
}

TEST(FetchStream, GivesBackWhatWasWrittenInAnyCut) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const GroupOrder order = random.Happens(0.5) ? GroupOrder::kAscending : GroupOrder::kDescending;
    const auto writer = DefaultCodec().WriteFetch(6, order);
    EXPECT_EQ(Hex(writer->Header()), "0506");
    Bytes wire;
    std::vector<FetchItem> sent;
    Location at{100, random.Below(3)};
    for (uint64_t i = random.Below(12); i > 0; --i) {
      if (random.Happens(0.2)) {
        sent.push_back(RangeEnd{at, random.Happens(0.5)});
        wire.Append(writer->Write(std::get<RangeEnd>(sent.back())));
      } else {
        Object object = RandomObject(random, at);
        if (random.Happens(0.2)) {
          object.forwarding = Forwarding::kDatagram;
        }
        wire.Append(writer->Write(object));
        sent.push_back(object);
      }
      if (random.Happens(0.3)) {
        const uint64_t by = 1 + random.Below(3);
        at = {order == GroupOrder::kAscending ? at.group + by : at.group - by, random.Below(9)};
      } else {
        at.object += 1 + random.Below(2);
      }
    }
    const std::string text = wire.ToString();
    for (const bool single : {true, false}) {
      const FetchResult result = ReadFetch(
          text, [&] { return single ? 1 : 1 + random.Below(50); }, order);
      ASSERT_FALSE(result.fault) << "seed " << seed << result.fault->reason();
      EXPECT_TRUE(result.may_end);
      ASSERT_EQ(result.items.size(), sent.size()) << "seed " << seed;
      for (size_t i = 0; i < sent.size(); ++i) {
        ASSERT_EQ(result.items[i].index(), sent[i].index());
        if (const Object* object = std::get_if<Object>(&sent[i])) {
          ExpectSame(std::get<Object>(result.items[i]), *object);
        } else {
          EXPECT_EQ(std::get<RangeEnd>(result.items[i]), std::get<RangeEnd>(sent[i]));
        }
      }
    }
  }
}

ObjectDatagram DatagramOf(Location location, std::string_view payload) {
  ObjectDatagram datagram;
  datagram.alias = 7;
  datagram.object = StreamObject(location, payload);
  datagram.object.forwarding = Forwarding::kDatagram;
  datagram.object.priority = 9;
  return datagram;
}

TEST(Datagram, IsWrittenAsTheDraftDrawsIt) {
  ObjectDatagram datagram = DatagramOf({2, 3}, "ab");
  EXPECT_EQ(Hex(DefaultCodec().EncodeDatagram(datagram)),
            "0007020309"
            "6162");
  datagram.end_of_group = true;
  datagram.default_priority = true;
  datagram.object.location.object = 0;
  EXPECT_EQ(Hex(DefaultCodec().EncodeDatagram(datagram)),
            "0e0702"
            "6162");
  datagram.object.properties = PropertiesBuilder().Number(0x3800, 1).Build();
  EXPECT_EQ(Hex(DefaultCodec().EncodeDatagram(datagram)),
            "0f070203b80001"
            "6162");
  datagram = DatagramOf({2, 3}, "");
  EXPECT_EQ(Hex(DefaultCodec().EncodeDatagram(datagram)),
            "2007020309"
            "00");
  datagram.object.status = ObjectStatus::kEndOfTrack;
  EXPECT_EQ(Hex(DefaultCodec().EncodeDatagram(datagram)),
            "2007020309"
            "04");
}

TEST(Datagram, GivesBackWhatWasWritten) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    ObjectDatagram sent;
    sent.alias = random.Below(300);
    sent.object = RandomObject(random, {random.Next(), random.Below(3)});
    sent.object.forwarding = Forwarding::kDatagram;
    sent.end_of_group = random.Happens(0.5);
    sent.default_priority = random.Happens(0.5);
    const std::string wire = DefaultCodec().EncodeDatagram(sent).ToString();
    const auto read = DefaultCodec().DecodeDatagram(AsBytes(wire));
    ASSERT_TRUE(read.ok() && read->has_value()) << "seed " << seed;
    const ObjectDatagram& got = **read;
    if (got.default_priority) {
      sent.object.priority = got.object.priority;
    }
    EXPECT_EQ(got.alias, sent.alias);
    EXPECT_EQ(got.end_of_group, sent.end_of_group) << "seed " << seed;
    EXPECT_EQ(got.default_priority, sent.default_priority);
    ExpectSame(got.object, sent.object);
  }
}

TEST(Datagram, OfPaddingIsNothing) {
  for (const char* hex : {"f0132b3e29", "f0132b3e290000"}) {
    const std::string wire = Unhex(hex);
    const auto read = DefaultCodec().DecodeDatagram(AsBytes(wire));
    ASSERT_TRUE(read.ok()) << read.error().reason();
    EXPECT_FALSE(read->has_value());
  }
}

TEST(Datagram, IsRefusedAsTheDraftSays) {
  const char* const cases[] = {
      "",          // No type.
      "10",        // A type of streams.
      "22070203",  // A status that ends its group by the type.
      "2f0702",    //
      "40070203",  // Unknown.
      "0007",      // Cut short.
      "0107020309"
      "00",  // Properties of no bytes.
      "0107020309"
      "05",  // Properties longer than the datagram.
      "2007020309"
      "01",  // Status 1.
      "2007020309"
      "0361",  // A payload after a status.
      "2107020309"
      "03b8000103",  // Properties on an end of group.
  };
  for (const char* hex : cases) {
    const std::string wire = Unhex(hex);
    const auto read = DefaultCodec().DecodeDatagram(AsBytes(wire));
    ASSERT_FALSE(read.ok()) << hex;
    EXPECT_EQ(read.error().scope(), Fault::Scope::kSession) << hex;
    EXPECT_EQ(read.error().code(), 3u) << hex;
  }
  // A gap that reaches below object 0 makes the track malformed, which its alias names.
  const std::string wire = Unhex(
      "0107020309"
      "023e0461");
  const auto read = DefaultCodec().DecodeDatagram(AsBytes(wire));
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ((*read)->alias, 7u);
  ASSERT_TRUE((*read)->fault.has_value());
  EXPECT_EQ((*read)->fault->scope(), Fault::Scope::kTrack);
}

}  // namespace
}  // namespace kvcast::moqt
