// The table of bad inputs, one-way streams and datagrams: every type of a subgroup, every set of
// flags of a fetched object, every type of a datagram; each truncated at every byte, with and
// without the stream's end, and with every byte changed. The draft's rules say what must become of
// each.
#include <gtest/gtest.h>

#include <functional>

#include "kvcast/moqt/bad_input_scene_test.h"
#include "kvcast/moqt/bad_input_table_test.h"
#include "kvcast/moqt/draft_stream_judge_test.h"

namespace kvcast::moqt {
namespace {

using draft::At;
using draft::Byte;
using draft::kFine;
using draft::kMalformedTrack;
using draft::kMost;
using draft::kViolation;
using draft::Num;
using draft::Sized;
using draft::StreamFacts;
using draft::Verdict;

constexpr uint64_t kAlias = 7;
constexpr unsigned kFlips[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff};

StreamFacts FactsOf(const Limits& limits) {
  StreamFacts facts;
  facts.alias = kAlias;
  facts.object_bytes_max = limits.object_bytes_max;
  facts.properties_bytes_max = limits.properties_bytes_max;
  return facts;
}

// A server that a client publishes to, as alias 7.
class Subscriber {
 public:
  Subscriber() : peer_(true) {
    peer_.SetUp().Send(peer_.PeersRequest(0), draft::PublishOf(peer_.PeersId(0), "b", kAlias));
    peer_.Drain();
  }
  BytePeer& peer() { return peer_; }

 private:
  BytePeer peer_;
};

// Sends a stream of its own, and compares with the verdict.
class SubgroupTable {
 public:
  SubgroupTable(const char* name, size_t at_least) : table_(name, at_least) {}

  void Expect(std::string_view why, std::string_view wire, bool fin, const Verdict& verdict,
              bool trickle = false) {
    Subscriber subscriber;
    BytePeer& peer = subscriber.peer();
    const StreamId stream = peer.PeersData(0);
    if (trickle) {
      peer.Trickle(stream, wire, fin);
    } else {
      peer.Send(stream, wire, fin);
    }
    table_.Check("a subgroup", why, wire, fin, peer.Outcome(stream), verdict);
  }
  void Judge(std::string_view why, std::string_view wire, bool fin, bool trickle = false) {
    const Verdict verdict = draft::JudgeStream(wire, fin, facts_);
    // Nobody can be told to stop who has ended already.
    Expect(why, wire, fin && verdict != draft::kTooMuch, verdict, trickle);
  }

 private:
  BadInputTable table_;
  StreamFacts facts_ = FactsOf(Limits());
};

std::string Header(uint64_t type) {
  std::string out = Num(type) + Num(kAlias) + Num(3);
  out += (type & 0x06) == 0x04 ? Num(5) : "";
  return out + ((type & 0x20) == 0 ? Byte(9) : "");
}

// Objects of all kinds, as the type has them.
std::string Objects(uint64_t type) {
  const bool propertied = (type & 0x01) != 0;
  const std::string none = propertied ? Sized("") : "";
  const std::string some = propertied ? Sized(Num(0x3e) + Num(1) + Num(2) + Num(300)) : "";
  return Num(4) + some + Sized("ab") + Num(0) + none + Num(0) + Num(0) + Num(300) + none +
         Sized("c") + Num(0) + none + Num(0) + Num(3);
}

bool IsSubgroupType(uint64_t type) {
  return type < 0x80 && (type & 0x10) != 0 && (type & 0x06) != 0x06;
}

TEST(BadSubgroups, AreJudgedByTheRulesAtAnyByte) {
  SubgroupTable table("subgroup streams", 12000);
  for (uint64_t type = 0; type < 0x80; ++type) {
    if (!IsSubgroupType(type)) {
      continue;
    }
    const std::string wire = Header(type) + Objects(type);
    table.Expect("as it should be", wire, true, kFine);
    table.Expect("as it should be, in bytes", wire, true, kFine, true);
    for (size_t length = 0; length < wire.size(); ++length) {
      for (const bool fin : {false, true}) {
        table.Judge("cut short", wire.substr(0, length), fin);
        table.Judge("cut short, in bytes", wire.substr(0, length), fin, true);
      }
    }
    for (size_t at = 1; at < wire.size(); ++at) {
      for (const unsigned flip : kFlips) {
        std::string changed = wire;
        changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
        table.Judge("a byte changed", changed, true);
      }
    }
  }
}

TEST(BadSubgroups, AreToldWhatIsWrong) {
  SubgroupTable table("bad subgroups", 300);
  for (uint64_t type = 0; type < 0x400; ++type) {
    const bool known = IsSubgroupType(type) || type == 0x05;
    if (!known) {  // [3.4, 11.4.2]
      table.Expect("unknown type " + std::to_string(type), Num(type), false, kViolation);
    }
  }
  table.Expect("a second control stream", draft::Framed(0x2f00, ""), false, kViolation);
  table.Expect("no type", "", true, kViolation);
  for (const uint64_t type : {uint64_t{0x132b3e27}, uint64_t{0x132b3e29}, kMost}) {
    table.Expect("unknown type " + std::to_string(type), Num(type), false, kViolation);
  }
  table.Expect("padding", Num(0x132b3e28) + std::string(100, '\0'), true, kFine);
  const std::string plain = Header(0x10);
  const std::string propertied = Header(0x11) + Num(0);
  const std::string after = Sized("x");
  for (const uint64_t status : {uint64_t{1}, uint64_t{2}, uint64_t{5}, uint64_t{0x9d}, kMost}) {
    table.Expect("status", plain + Num(0) + Num(0) + Num(status), false, kViolation);
  }
  for (const uint64_t status : {3u, 4u}) {
    const std::string end = Num(0) + Num(status);
    table.Expect("more after the end", plain + Num(0) + end + Num(0), false, kViolation);
    table.Expect("a status with properties", propertied + Sized(Num(2) + Num(0)) + end, false,
                 kViolation);
  }
  table.Expect("an object past 2^64", plain + Num(kMost) + after + Num(0), false, kViolation);
  table.Expect("an object far past 2^64", plain + Num(9) + after + Num(kMost), false, kViolation);
  const auto properties = [&](const char* why, const std::string& bytes, const Verdict& verdict) {
    table.Expect(why, propertied + Sized(bytes) + after, false, verdict);
  };
  const auto immutable = [](const std::string& inside) { return Num(0x0b) + Sized(inside); };
  properties("a property without a value", Num(2), kViolation);
  properties("a property cut short", Num(1) + Num(4) + "abc", kViolation);
  properties("a property of 65,536 bytes", Num(1) + Num(65536), kViolation);
  properties("a property past 2^64", Num(2) + Num(0) + Num(kMost) + Num(0), kViolation);
  properties("nested immutable ones", immutable(immutable("")), kMalformedTrack);
  properties("immutable ones twice", immutable("") + Num(0) + Sized(""), kMalformedTrack);
  properties("unreadable immutable ones", immutable(Num(2)), kMalformedTrack);
  properties("a group gap below 0", Num(0x3c) + Num(4), kMalformedTrack);
  properties("an object gap below 0", Num(0x3e) + Num(1), kMalformedTrack);
  properties("an object gap below 0, immutable", immutable(Num(0x3e) + Num(1)), kMalformedTrack);
  properties("a group gap twice", Num(0x3c) + Num(1) + Num(0) + Num(1), kMalformedTrack);
  properties("a group gap twice, once immutable",
             immutable(Num(0x3c) + Num(1)) + Num(0x31) + Num(1), kMalformedTrack);
  for (const uint64_t type : {0x4000u, 0x4001u, 0x7fffu}) {
    const std::string pair = Num(type) + (type % 2 == 1 ? Sized("") : Num(0));
    properties("a mandatory property", pair, kMalformedTrack);
    properties("an immutable mandatory property", immutable(pair), kMalformedTrack);
  }
  properties("one before the mandatory ones", Num(0x3fff) + Sized(""), kFine);
  properties("one after the mandatory ones", Num(0x8000) + Num(0), kFine);
}

// A session that has asked for groups 2 to 9 from object 3 on.
class FetchTable {
 public:
  FetchTable(const char* name, size_t at_least) : table_(name, at_least) {
    facts_ = FactsOf(Limits());
    facts_.fetched_from = {2, 3};
    facts_.fetched_to = 9;
  }

  void Judge(std::string_view why, std::string_view items, bool fin, bool descending,
             bool trickle = false) {
    const bool at_server = !descending;  // Both roles and orders, in half as many cases.
    BytePeer peer(at_server);
    peer.SetUp();
    Parameters parameters;
    if (descending) {
      parameters.group_order = GroupOrder::kDescending;
    }
    const LocationRange range{{2, 3}, {9, LocationRange::kWholeGroup}};
    facts_.request_id =
        *peer.session().Fetch(*TrackName::Of(*TrackNamespace::Of({"a"}), "f"), range, parameters);
    facts_.descending = descending;
    peer.Drain();
    const std::string wire = Num(0x05) + Num(facts_.request_id) + std::string(items);
    const Verdict verdict = draft::JudgeStream(wire, fin, facts_);
    const bool ended = fin && verdict != draft::kTooMuch;
    const StreamId stream = peer.PeersData(0);
    if (trickle) {
      peer.Trickle(stream, wire, ended);
    } else {
      peer.Send(stream, wire, ended);
    }
    table_.Check(descending ? "a falling fetch" : "a fetch", why, wire, ended, peer.Outcome(stream),
                 verdict);
  }

 private:
  BadInputTable table_;
  StreamFacts facts_;
};

// An object with these flags; what they leave out is as before.
std::string Item(uint64_t flags, uint64_t group, uint64_t object) {
  std::string out = Num(flags);
  out += (flags & 0x08) != 0 ? Num(group) : "";
  out += (flags & 0x43) == 0x03 && flags < 0x80 ? Num(6) : "";
  out += (flags & 0x04) != 0 ? Num(object) : "";
  if (flags >= 0x80) {
    return out;
  }
  out += (flags & 0x10) != 0 ? Byte(200) : "";
  out += (flags & 0x20) != 0 ? Sized(Num(0x0b) + Sized(Num(4) + Num(1))) : "";
  return out + Sized("yz");
}

TEST(BadFetches, AreJudgedByTheRulesForAllFlags) {
  FetchTable table("flags of fetched objects", 5000);
  std::vector<uint64_t> flags;
  for (uint64_t number = 0; number < 0x300; ++number) {
    flags.push_back(number);
  }
  flags.push_back(kMost);
  for (const uint64_t second : flags) {
    for (const bool descending : {false, true}) {
      const uint64_t start = descending ? 8 : 3;
      table.Judge("first", Item(second, start, 5), true, descending);
      for (const uint64_t first : {0x1fu, 0x3cu, 0x5cu, 0x8cu, 0x10cu}) {
        const std::string before = Item(first, start, 5);
        // A range's end says where it is, an object says how far it is from the one before.
        const bool range = second == 0x8c || second == 0x10c;
        const uint64_t next = range ? (descending ? start - 2 : start + 2) : 1;
        table.Judge("second", before + Item(second, next, 7), true, descending);
        table.Judge("second, in bytes", before + Item(second, next, 7), true, descending, true);
        table.Judge("too far", before + Item(second, kMost, kMost), true, descending);
      }
    }
  }
}

TEST(BadFetches, AreJudgedByTheRulesAtAnyByte) {
  FetchTable table("fetch streams", 5000);
  const std::string rising = Item(0x1f, 3, 5) + Item(0x00, 0, 0) + Item(0x2d, 1, 4) +
                             Item(0x10c, 7, 2) + Item(0x16, 0, 1) + Item(0x48, 0, 0) +
                             Item(0x8c, 9, 300);
  const std::string falling = Item(0x3c, 9, 0) + Item(0x0b, 0, 0) + Item(0x10c, 5, 300) +
                              Item(0x01, 0, 0) + Item(0x08, 1, 0) + Item(0x5c, 0, 4);
  for (const bool descending : {false, true}) {
    const std::string& wire = descending ? falling : rising;
    table.Judge("as it should be", wire, true, descending);
    for (size_t length = 0; length < wire.size(); ++length) {
      for (const bool fin : {false, true}) {
        table.Judge("cut short", wire.substr(0, length), fin, descending);
        table.Judge("cut short, in bytes", wire.substr(0, length), fin, descending, true);
      }
    }
    for (size_t at = 0; at < wire.size(); ++at) {
      for (unsigned value = 0; value < 256; ++value) {
        std::string changed = wire;
        changed[at] = static_cast<char>(value);
        table.Judge("a byte changed", changed, true, descending);
      }
    }
  }
}

class DatagramTable {
 public:
  DatagramTable(const char* name, size_t at_least) : table_(name, at_least) {}

  void Expect(std::string_view why, std::string_view wire, const Verdict& verdict) {
    Subscriber subscriber;
    BytePeer& peer = subscriber.peer();
    peer.session().OnDatagram(AsBytes(wire));
    table_.Check("a datagram", why, wire, false, peer.Outcome(peer.PeersRequest(0)), verdict);
  }
  void Judge(std::string_view why, std::string_view wire) {
    Expect(why, wire, draft::JudgeDatagram(wire, facts_));
  }

 private:
  BadInputTable table_;
  StreamFacts facts_ = FactsOf(Limits());
};

std::string Datagram(uint64_t type, const std::string& properties = Num(4) + Num(300),
                     uint64_t status = 4) {
  std::string out = Num(type) + Num(kAlias) + Num(3);
  out += (type & 0x04) == 0 ? Num(300) : "";
  out += (type & 0x08) == 0 ? Byte(9) : "";
  out += (type & 0x01) != 0 ? Sized(properties) : "";
  return out + ((type & 0x20) != 0 ? Num((type & 0x01) != 0 ? 0 : status) : "payload");
}

TEST(BadDatagrams, AreJudgedByTheRulesAtAnyByte) {
  DatagramTable table("datagrams", 3000);
  for (uint64_t type = 0; type < 0x100; ++type) {
    const std::string wire = Datagram(type);
    table.Judge("type " + std::to_string(type), wire);
    if ((type & ~uint64_t{0x2f}) != 0 || (type & 0x22) == 0x22) {
      table.Expect("unknown type " + std::to_string(type), wire, kViolation);
      continue;
    }
    table.Expect("as it should be", wire, kFine);
    for (size_t length = 0; length < wire.size(); ++length) {
      table.Judge("cut short", wire.substr(0, length));
    }
    for (size_t at = 0; at < wire.size(); ++at) {
      for (const unsigned flip : kFlips) {
        std::string changed = wire;
        changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
        table.Judge("a byte changed", changed);
      }
    }
  }
}

TEST(BadDatagrams, AreToldWhatIsWrong) {
  DatagramTable table("bad datagrams", 15);
  table.Expect("nothing", "", kViolation);
  table.Expect("padding", Num(0x132b3e29) + std::string(50, '\0'), kFine);
  for (const uint64_t type : {uint64_t{0x132b3e28}, uint64_t{0x2f00}, kMost}) {
    table.Expect("unknown type", Num(type), kViolation);
  }
  table.Expect("properties of no bytes", Datagram(0x01, ""), kViolation);
  table.Expect("a property cut short", Datagram(0x01, Num(4)), kViolation);
  table.Expect("a mandatory property", Datagram(0x01, Num(0x4000) + Num(0)), kMalformedTrack);
  table.Expect("a group gap below 0", Datagram(0x01, Num(0x3c) + Num(4)), kMalformedTrack);
  table.Expect("an object gap below 0", Datagram(0x05, Num(0x3e) + Num(1)), kMalformedTrack);
  table.Expect("bytes after the status", Datagram(0x20) + "x", kViolation);
  for (const uint64_t status : {uint64_t{1}, uint64_t{2}, uint64_t{5}, kMost}) {
    table.Expect("status", Datagram(0x20, "", status), kViolation);
  }
  for (const uint64_t status : {3u, 4u}) {
    std::string wire = Datagram(0x21);
    wire.back() = static_cast<char>(status);
    table.Expect("a status with properties", wire, kViolation);
  }
  std::string unknown = Datagram(0x01, Num(0x4000) + Num(0));
  unknown[1] = 99;
  table.Expect("a malformed track that is not known", unknown, kFine);
}

}  // namespace
}  // namespace kvcast::moqt
