#include "kvcast/moqt/bad_input_parts_test.h"

#include <algorithm>

namespace kvcast::moqt {
namespace {

using namespace draft;  // NOLINT: the words that this file is written in
using draft::Byte;

const uint64_t kFarTooLong[] = {65535, 65536, uint64_t{1} << 32, uint64_t{1} << 62, kMost};

std::string Params(const std::vector<std::pair<uint64_t, std::string>>& list) {
  std::string out = Num(list.size());
  uint64_t previous = 0;
  for (const auto& [type, value] : list) {
    out += Num(type - previous) + value;  // Wraps where types fall, which is the point there.
    previous = type;
  }
  return out;
}

std::vector<const ParameterRule*> Allowed(Use use) {
  std::vector<const ParameterRule*> allowed;
  for (const ParameterRule& rule : ParameterRules()) {
    if (MayStand(rule, use)) {
      allowed.push_back(&rule);
    }
  }
  return allowed;
}

std::vector<std::string> GoodParameters(Use use) {
  std::vector<std::string> ways = {Num(0), Num(0, 8)};
  std::vector<std::pair<uint64_t, std::string>> every;
  for (const ParameterRule* rule : Allowed(use)) {
    const std::vector<std::string> values = GoodValues(rule->encoding);
    for (const std::string& value : values) {
      ways.push_back(Params({{rule->type, value}}));
    }
    every.emplace_back(rule->type, values[0]);
    if (rule->encoding == Encoding::kToken) {
      ways.push_back(Params({{rule->type, values[0]}, {rule->type, values[1]}}));
    }
  }
  ways.push_back(Params(every));
  return ways;
}

const std::vector<std::string>& GoodTrackProperties() {
  static const std::vector<std::string> ways = {
      "",
      Num(0x02) + Num(1000),                                 // OBJECT_DELIVERY_TIMEOUT
      Num(0x04) + Num(0),                                    // MAX_CACHE_DURATION
      Num(0x06) + Num(kMost),                                // SUBGROUP_DELIVERY_TIMEOUT
      Num(0x0b) + Sized(Num(0x0e) + Num(7)),                 // IMMUTABLE_PROPERTIES
      Num(0x0e) + Num(255),                                  // DEFAULT_PUBLISHER_PRIORITY
      Num(0x22) + Num(2),                                    // DEFAULT_PUBLISHER_GROUP_ORDER
      Num(0x30) + Num(1),                                    // DYNAMIC_GROUPS
      Num(0x3801) + Sized("ours") + Num(0) + Sized("more"),  // An application's, twice.
      Num(0x9d) + Sized("grease"),
      Num(0x02) + Num(1) + Num(2) + Num(2) + Num(7) + Sized("") + Num(3) + Num(0),
  };
  return ways;
}

std::vector<std::string> GoodOptions(bool at_server) {
  std::vector<std::string> ways = {
      "",
      Num(0x03) + Sized(Num(3) + Num(0) + "secret"),
      Num(0x03) + Sized(Num(1) + Num(9) + Num(0) + "kept") + Num(0) + Sized(Num(3) + Num(1)),
      Num(0x04) + Num(4096),
      Num(0x07) + Sized("somebody 1.0"),
      Num(0x0a) + Num(1) + Num(0) + Num(2),  // Unknown ones are ignored, and may stand twice.
      Num(0x9d) + Sized("grease"),
      Num(0x02) + Num(kMost) + Num(0x7f00) + Num(0),
  };
  if (at_server) {
    ways.push_back(Num(0x01) + Sized("/a/b?c=%20") + Num(4) + Sized("host:4443"));
    ways.push_back(Num(0x01) + Sized("") + Num(4) + Sized("[::1]"));
    ways.push_back(Num(0x05) + Sized("user@host"));
    ways.push_back(Num(0x05) + Sized("u:p%20@[::1]:4443"));
    for (const char* address :
         {"[::]", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "[a::B:0]",
          "[::ffff:192.0.2.255]", "[1:2:3:4:5:6:0.0.0.0]", "[v1F.a:b]:1", "[V0.!]"}) {
      ways.push_back(Num(0x05) + Sized(address));
    }
    ways.push_back(Num(0x05) + Sized("h%C3%A4st:"));
  }
  return ways;
}

std::vector<std::string> GoodErrors(const Scene& scene) {
  const std::string uri = scene.facts.at_server ? "" : "moqt://x/";
  const std::string name = scene.facts.about_namespace ? "" : "n";
  return {
      Num(0x10) + Num(0) + Sized("none"),
      Num(0x9) + Num(kMost) + Sized(""),
      Num(0x9d) + Num(1) + Sized(std::string(1024, 'r')),
      Num(kMost) + Num(0) + Sized(""),
      Num(0x34) + Num(1) + Sized("") + Sized(uri) + Space({"elsewhere"}) + Sized(name),
      Num(0x34) + Num(0) + Sized("") + Sized("") + Space({}) + Sized(""),
  };
}

std::vector<BadWay> BadIds(const Scene& scene) {
  std::vector<BadWay> bad = {
      {"the other side's id", Num(scene.next_id + 1), kInvalidRequestId},
      {"the other side's id, in nine bytes", Num(scene.next_id + 1, 8), kInvalidRequestId},
      {"the other side's largest id", Num(scene.facts.at_server ? kMost : kMost - 1),
       kInvalidRequestId},
  };
  for (const uint64_t used : scene.facts.used_ids) {
    bad.push_back({"an id used before", Num(used), kInvalidRequestId});
  }
  return bad;
}

// [2.4.1]; `named` with a track's name, which counts as well.
std::vector<BadWay> BadSpaces(const std::string& after, bool named) {
  const std::string longest(4096, 'l');
  std::vector<BadWay> bad = {
      {"33 fields", Space(std::vector<std::string>(33, "f")) + after, kViolation},
      {"an empty field", Space({""}) + after, kViolation},
      {"an empty field after others", Space({"a", "b", ""}) + after, kViolation},
      {"4,097 bytes in one field", Space({longest + "l"}) + after, kViolation},
      {"4,097 bytes in two fields", Space({longest, "l"}) + after, kViolation},
  };
  for (const uint64_t count : {uint64_t{33}, uint64_t{64}, uint64_t{65536}, kMost}) {
    bad.push_back({std::to_string(count) + " fields that are not there", Num(count), kViolation});
  }
  for (const uint64_t length : kFarTooLong) {
    bad.push_back({"a field of " + std::to_string(length) + " bytes that are not there",
                   Num(1) + Num(length) + "f", kViolation});
    if (named) {
      bad.push_back({"a name of " + std::to_string(length) + " bytes that are not there",
                     Space({"a"}) + Num(length) + "n", kViolation});
    }
  }
  if (named) {
    bad.push_back({"4,097 bytes with the name", Space({longest}) + Sized("n"), kViolation});
    bad.push_back({"a name of 4,097 bytes", Space({}) + Sized(longest + "l"), kViolation});
  }
  return bad;
}

std::vector<BadWay> BadRequested(const std::string& after, bool named) {
  std::vector<BadWay> bad = BadSpaces(after, named);
  bad.push_back({"the namespace of nobody", Space({"."}) + after, kDoesNotExist});
  bad.push_back({"below the namespace of nobody", Space({".", "x"}) + after, kDoesNotExist});
  bad.push_back({"a session's own namespace", Space({".session"}) + after, kDoesNotExist});
  bad.push_back({"below a session's own", Space({".session", "x"}) + after, kDoesNotExist});
  return bad;
}

std::vector<BadWay> BadSuffixes(const Scene& scene, const std::string& after, bool named) {
  std::vector<BadWay> bad = BadSpaces(after, named);
  const size_t room = 32 - scene.facts.prefix.size();
  size_t used = 0;
  for (const std::string& field : scene.facts.prefix) {
    used += field.size();
  }
  bad.push_back({"33 fields with the prefix",
                 Space(std::vector<std::string>(room + 1, "f")) + after, kViolation});
  bad.push_back(
      {"4,097 bytes with the prefix", Space({std::string(4097 - used, 'f')}) + after, kViolation});
  if (scene.use == Use::kNamespaceDone) {
    bad.push_back({"an end before the beginning", Space({"never"}), kViolation});
  }
  return bad;
}

struct BadValue {
  Encoding encoding;
  const char* why;
  std::string bytes;
  Verdict verdict;
};

const std::vector<BadValue>& BadValues() {
  static const std::vector<BadValue> bad = {
      {Encoding::kFlag, "FORWARD 2", Byte(2), kViolation},
      {Encoding::kFlag, "FORWARD 255", Byte(255), kViolation},
      {Encoding::kOrder, "GROUP_ORDER 0", Byte(0), kViolation},
      {Encoding::kOrder, "GROUP_ORDER 3", Byte(3), kViolation},
      {Encoding::kOrder, "GROUP_ORDER 255", Byte(255), kViolation},
      {Encoding::kFilter, "a filter of type 0", Sized(Num(0)), kViolation},
      {Encoding::kFilter, "a filter of type 5", Sized(Num(5)), kViolation},
      {Encoding::kFilter, "a filter of the largest type", Sized(Num(kMost)), kViolation},
      {Encoding::kFilter, "a filter of no bytes", Sized(""), kViolation},
      {Encoding::kFilter, "a filter without its start", Sized(Num(3)), kViolation},
      {Encoding::kFilter, "a filter without its start's object", Sized(Num(3) + Num(1)),
       kViolation},
      {Encoding::kFilter, "a filter without its end", Sized(Num(4) + At(1, 1)), kViolation},
      {Encoding::kFilter, "a filter past the last group", Sized(Num(4) + At(1, 1) + Num(kMost)),
       kViolation},
      {Encoding::kFilter, "a filter one past the last group", Sized(Num(4) + At(kMost, 0) + Num(1)),
       kViolation},
      {Encoding::kFilter, "a filter longer than it is", Sized(Num(2) + Num(0)), kViolation},
      {Encoding::kToken, "a token of alias type 4", Sized(Num(4)), kFormatting},
      {Encoding::kToken, "a token of the largest alias type", Sized(Num(kMost)), kFormatting},
      {Encoding::kToken, "a token of no bytes", Sized(""), kFormatting},
      {Encoding::kToken, "a token to delete without its alias", Sized(Num(0)), kFormatting},
      {Encoding::kToken, "a token to keep without its alias", Sized(Num(1)), kFormatting},
      {Encoding::kToken, "a token to keep without its type", Sized(Num(1) + Num(7)), kFormatting},
      {Encoding::kToken, "a token kept without its alias", Sized(Num(2)), kFormatting},
      {Encoding::kToken, "a token kept with more", Sized(Num(2) + Num(7) + "x"), kFormatting},
      {Encoding::kToken, "a token to delete with more", Sized(Num(0) + Num(7) + "x"), kFormatting},
      {Encoding::kToken, "a token without its type", Sized(Num(3)), kFormatting},
      {Encoding::kToken, "a token whose type is cut short", Sized(Num(3) + "\xc0"), kFormatting},
      {Encoding::kToken, "a token to keep", Sized(Num(1) + Num(7) + Num(0) + "t"), kCacheOverflow},
      {Encoding::kToken, "a token never kept", Sized(Num(2) + Num(7)), kUnknownTokenAlias},
      {Encoding::kToken, "a token to delete", Sized(Num(0) + Num(7)), kUnknownTokenAlias},
      {Encoding::kNamespace, "a prefix of 33 fields", Space(std::vector<std::string>(33, "f")),
       kViolation},
      {Encoding::kNamespace, "a prefix with an empty field", Space({"a", ""}), kViolation},
      {Encoding::kNamespace, "a prefix of 4,097 bytes", Space({std::string(4097, 'f')}),
       kViolation},
      {Encoding::kNamespace, "a prefix of nobody's", Space({"."}), kDoesNotExist},
      {Encoding::kNamespace, "a prefix below a session's own", Space({".session", "x"}),
       kDoesNotExist},
  };
  return bad;
}

// [10.2, 10.2.1] Which parameters there may be, and how often.
std::vector<BadWay> BadParameters(Use use) {
  std::vector<BadWay> bad;
  const auto close = [&bad](std::string why, std::string bytes) {
    bad.push_back({std::move(why), std::move(bytes), kViolation});
  };
  for (uint64_t type = 0; type < 0x90; ++type) {
    if (FindParameter(type) == nullptr) {
      close("unknown parameter " + std::to_string(type), Params({{type, Num(0)}}));
    }
  }
  for (const uint64_t type : {uint64_t{0x9d}, uint64_t{0x11c}, uint64_t{1} << 62, kMost}) {
    close("unknown parameter " + std::to_string(type), Params({{type, Num(0)}}));
  }
  for (const ParameterRule& rule : ParameterRules()) {
    const std::string name = rule.name;
    const std::string value = GoodValues(rule.encoding)[0];
    if (!MayStand(rule, use)) {
      close(name + " where it may not stand", Params({{rule.type, value}}));
      continue;
    }
    if (rule.type != 0x03) {
      close(name + " twice", Params({{rule.type, value}, {rule.type, value}}));
    }
    close(name + " then one past 2^64", Num(2) + Num(rule.type) + value + Num(kMost) + Num(0));
    close(name + " then an unknown one", Params({{rule.type, value}, {rule.type + 0x100, Num(0)}}));
    close(name + " without a value", Num(1) + Num(rule.type));
    close(name + ", and one more counted", Num(2) + Num(rule.type) + value);
    if (ShapeOf(use).parts.back() == Part::kParameters) {  // Else it would be a property.
      close(name + ", and one less counted", Num(0) + Num(rule.type) + value);
    }
    close(name + ", and 2^64 - 1 counted", Num(kMost) + Num(rule.type) + value);
    for (const ParameterRule* other : Allowed(use)) {
      if (other->type < rule.type) {
        close(name + " before " + other->name,
              Params({{rule.type, value}, {other->type, GoodValues(other->encoding)[0]}}));
      }
    }
  }
  return bad;
}

std::vector<BadWay> BadParameterValues(Use use) {
  std::vector<BadWay> bad;
  for (const ParameterRule* rule : Allowed(use)) {
    for (const BadValue& value : BadValues()) {
      if (value.encoding == rule->encoding) {
        bad.push_back({value.why, Params({{rule->type, value.bytes}}), value.verdict});
      }
    }
    const bool prefixed = rule->encoding == Encoding::kToken || rule->encoding == Encoding::kFilter;
    for (const uint64_t length : kFarTooLong) {
      if (prefixed) {
        bad.push_back({std::string(rule->name) + " of " + std::to_string(length) + " bytes",
                       Params({{rule->type, Num(length) + "\x02"}}), kViolation});
      }
    }
  }
  return bad;
}

// [2.5, 12]
std::vector<BadWay> BadTrackProperties(Use use) {
  const auto immutable = [](const std::string& inside) { return Num(0x0b) + Sized(inside); };
  const Verdict malformed = use == Use::kPublish ? kRefusedAsMalformed : kMalformedTrack;
  std::vector<BadWay> bad = {
      {"a priority of 256", Num(0x0e) + Num(256), kViolation},
      {"the largest priority", Num(0x0e) + Num(kMost), kViolation},
      {"a group order of 0", Num(0x22) + Num(0), kViolation},
      {"a group order of 3", Num(0x22) + Num(3), kViolation},
      {"the largest group order", Num(0x22) + Num(kMost), kViolation},
      {"dynamic groups of 2", Num(0x30) + Num(2), kViolation},
      {"the most dynamic groups", Num(0x30) + Num(kMost), kViolation},
      {"a group order of 0, immutable", immutable(Num(0x22) + Num(0)), kViolation},
      {"dynamic groups of 2, immutable", immutable(Num(0x30) + Num(2)), kViolation},
      {"a type past 2^64", Num(2) + Num(0) + Num(kMost) + Num(0), kViolation},
      {"a value of 65,536 bytes", Num(1) + Num(65536) + std::string(60000, 'v'), kViolation},
      {"a value that is not there", Num(1) + Num(5) + "abcd", kViolation},
      {"the longest value", Num(1) + Num(kMost) + "a", kViolation},
      {"a type alone", Num(4), kViolation},
      {"half a type", "\xc0", kViolation},
      {"half a number", Num(4) + "\xc0", kViolation},
      {"immutable ones within immutable ones", immutable(immutable("")), malformed},
      {"immutable ones twice", immutable("") + Num(0) + Sized(""), malformed},
      {"immutable ones that cannot be read", immutable(Num(4)), malformed},
      {"immutable ones cut short", immutable(Num(1) + Num(5) + "a"), malformed},
  };
  const Verdict unknown = use == Use::kPublish         ? kUnsupportedExtension
                          : use == Use::kTrackStatusOk ? kFine
                                                       : kGivenUp;
  for (const uint64_t type : {0x4000u, 0x4001u, 0x5555u, 0x7ffeu, 0x7fffu}) {
    const std::string pair = Num(type) + (type % 2 == 1 ? Sized("") : Num(0));
    bad.push_back({"mandatory property " + std::to_string(type), pair, unknown});
    bad.push_back(
        {"immutable mandatory property " + std::to_string(type), immutable(pair), unknown});
  }
  return bad;
}

// No host, or no host that a URI can have.
constexpr const char* kBadAuthorities[] = {"",
                                           ":443",
                                           "user@",
                                           "user@:1",
                                           "a/b",
                                           "a b",
                                           "a?b",
                                           "a#b",
                                           "a%",
                                           "a%2",
                                           "\xc3\xa4",
                                           "a\\b",
                                           "host:notaport",
                                           "host:1:2",
                                           "a@b@c",
                                           "[::1",
                                           "::1]",
                                           "]",
                                           "[",
                                           "[]",
                                           "exa[mple",
                                           "[::1]x",
                                           "[::1]:x",
                                           "a[b]",
                                           "[a]@b",
                                           "[%31]",
                                           "[[a]]",
                                           "[hello]",
                                           "[1:2]",
                                           "[12345::]",
                                           "[1:2:3:4:5:6:7:8:9]",
                                           "[1:2:3:4:5:6:7::8]",
                                           "[1::2::3]",
                                           "[:::]",
                                           "[::1:]",
                                           "[:1::]",
                                           "[::256.0.0.1]",
                                           "[::1.2.3]",
                                           "[::01.2.3.4]",
                                           "[1.2.3.4]",
                                           "[::1.2.3.4:5]",
                                           "[v.a]",
                                           "[v1.]",
                                           "[vg.a]",
                                           "[v1a]",
                                           "[v1.%31]",
                                           "[::g]",
                                           "[fe80::1%25eth0]"};

std::vector<BadWay> BadOptions(bool at_server) {
  std::vector<BadWay> bad = {
      {"an option past 2^64", Num(4) + Num(0) + Num(kMost) + Num(0), kViolation},
      {"an option of 65,536 bytes", Num(7) + Num(65536) + std::string(60000, 'v'), kViolation},
      {"the longest option", Num(7) + Num(kMost), kViolation},
      {"an unknown option that is not there", Num(9) + Num(5) + "abcd", kViolation},
      {"an option without a value", Num(4), kViolation},
      {"a cache size twice", Num(4) + Num(1) + Num(0) + Num(1), kViolation},
      {"an implementation twice", Num(7) + Sized("a") + Num(0) + Sized("b"), kViolation},
      {"a token to delete", Num(3) + Sized(Num(0) + Num(1)), at_server ? kViolation : kLeftOpen},
      {"a token by its alias", Num(3) + Sized(Num(2) + Num(1)), at_server ? kViolation : kLeftOpen},
      {"a token of alias type 4", Num(3) + Sized(Num(4)), kFormatting},
      {"a token of no bytes", Num(3) + Sized(""), kFormatting},
      {"a token without its type", Num(3) + Sized(Num(3)), kFormatting},
  };
  if (!at_server) {
    bad.push_back({"a server's PATH", Num(1) + Sized("/"), kInvalidPath});
    bad.push_back({"a server's empty PATH", Num(1) + Sized(""), kInvalidPath});
    bad.push_back({"a server's AUTHORITY", Num(5) + Sized("a"), kInvalidAuthority});
    return bad;
  }
  for (const char* path : {"a", "a/b", "/ ", "/\x7f", "/#f", "/%", "/%2", "/%2g", "/\xc3\xa4", "/[",
                           "/\"", "/<", "/\\", "/^", "/`", "/{"}) {
    bad.push_back({std::string("PATH ") + path, Num(1) + Sized(path), kMalformedPath});
  }
  for (const char* authority : kBadAuthorities) {
    bad.push_back(
        {std::string("AUTHORITY ") + authority, Num(5) + Sized(authority), kMalformedAuthority});
  }
  bad.push_back({"PATH twice", Num(1) + Sized("/") + Num(0) + Sized("/"), kViolation});
  bad.push_back({"AUTHORITY twice", Num(5) + Sized("a") + Num(0) + Sized("a"), kViolation});
  return bad;
}

std::vector<BadWay> BadRanges(const Scene& scene) {
  std::vector<BadWay> bad;
  for (const uint64_t type : {uint64_t{0}, uint64_t{4}, uint64_t{5}, uint64_t{127}, kMost}) {
    bad.push_back({"fetch type " + std::to_string(type), Num(type) + At(0, 0), kViolation});
  }
  for (BadWay& way : BadRequested(Sized("f"), true)) {
    bad.push_back({way.why, Num(1) + way.bytes + At(2, 3) + At(9, 0), way.verdict});
  }
  const std::string name = Num(1) + Space({"a"}) + Sized("f");
  bad.push_back({"an end before the start", name + At(2, 3) + At(1, 0), kInvalidRange});
  bad.push_back({"an end at the start", name + At(2, 3) + At(2, 3), kInvalidRange});
  bad.push_back({"an end within the group before", name + At(2, 3) + At(1, kMost), kInvalidRange});
  bad.push_back({"an end one before the start", name + At(2, kMost) + At(2, kMost), kInvalidRange});
  for (const uint64_t type : {2u, 3u}) {
    for (const uint64_t id : {scene.next_id, scene.next_id + 2, scene.next_id + 1, kMost}) {
      bad.push_back({"joining nothing", Num(type) + Num(id) + Num(0), kBadJoin});
    }
  }
  if (scene.facts.joinable) {
    const std::string join = Num(3) + Num(*scene.facts.joinable);
    bad.push_back(
        {"joining after the end", join + Num(scene.facts.joined_group + 1), kInvalidRange});
    bad.push_back({"joining at the last group", join + Num(kMost), kInvalidRange});
  }
  return bad;
}

std::vector<BadWay> BadErrors(const Scene& scene) {
  const std::string moved = Num(0x34) + Num(0) + Sized("");
  std::vector<BadWay> bad = {
      {"a reason of 1,025 bytes", Num(0) + Num(0) + Sized(std::string(1025, 'r')), kViolation},
      {"no redirect", moved, kViolation},
      {"a redirect that is not announced",
       Num(0x10) + Num(0) + Sized("") + Sized("") + Space({}) + Sized(""), kViolation},
  };
  for (const uint64_t length : kFarTooLong) {
    bad.push_back({"a reason that is not there", Num(0) + Num(0) + Num(length), kViolation});
    bad.push_back({"a place that is not there", moved + Num(length), kViolation});
  }
  for (BadWay& way : BadSpaces(Sized(""), true)) {
    bad.push_back({"moved to " + way.why, moved + Sized("") + way.bytes, way.verdict});
  }
  if (scene.facts.at_server) {
    bad.push_back(
        {"a server sent elsewhere", moved + Sized("u") + Space({}) + Sized(""), kViolation});
  }
  if (scene.facts.about_namespace) {
    bad.push_back({"a namespace moved to a track", moved + Sized("") + Space({"a"}) + Sized("n"),
                   kViolation});
  }
  return bad;
}

std::vector<BadWay> BadTexts(size_t most, bool at_server, bool is_uri) {
  std::vector<BadWay> bad = {{"one byte too many", Sized(std::string(most + 1, 't')), kViolation}};
  for (const uint64_t length : kFarTooLong) {
    bad.push_back({"a text that is not there", Num(length) + "t", kViolation});
  }
  if (is_uri && at_server) {
    bad.push_back({"a server sent elsewhere", Sized("u"), kViolation});
  }
  return bad;
}

}  // namespace

std::vector<std::string> GoodWays(Part part, const Scene& scene) {
  const std::string longest(4096, 'l');
  switch (part) {
    case Part::kRequestId:
      return {Num(scene.next_id), Num(scene.next_id + 2), Num(scene.next_id, 8)};
    case Part::kNumber:
      return {Num(0), Num(2), Num(kMost), Num(1, 8)};
    case Part::kAlias:
      return {Num(5), Num(kMost), Num(5, 3)};
    case Part::kFullName:
      return {
          Space({"a"}) + Sized("n"),      Space({}) + Sized(""),
          Space({"a", "b"}) + Sized(""),  Space({longest.substr(1)}) + Sized("n"),
          Space({".other"}) + Sized("n"), Space(std::vector<std::string>(32, "f")) + Sized("n")};
    case Part::kRequestedSpace:
      return {Space({"a"}), Space({}), Space({"a", "b"}), Space({longest}),
              Space(std::vector<std::string>(32, "f"))};
    case Part::kSuffix:
      return scene.use == Use::kNamespaceDone
                 ? std::vector<std::string>{Space(*scene.facts.announced.begin())}
                 : std::vector<std::string>{Space({"s"}), Space({}), Space({"s", "t"})};
    case Part::kSuffixedName:
      return {Space({"s"}) + Sized("n"), Space({}) + Sized(""), Space({"s", "t"}) + Sized("n")};
    case Part::kParameters:
      return GoodParameters(scene.use);
    case Part::kTrackProperties:
      return GoodTrackProperties();
    case Part::kNoProperties:
      return {""};
    case Part::kOptions:
      return GoodOptions(scene.facts.at_server);
    case Part::kFetchRange: {
      const std::string name = Num(1) + Space({"a"}) + Sized("f");
      std::vector<std::string> ways = {name + At(2, 3) + At(9, 0), name + At(0, 0) + At(0, 0),
                                       name + At(2, 3) + At(2, 4),
                                       name + At(kMost, 0) + At(kMost, 0)};
      if (scene.facts.joinable) {
        ways.push_back(Num(2) + Num(*scene.facts.joinable) + Num(1));
        ways.push_back(Num(3) + Num(*scene.facts.joinable) + Num(2));
      }
      return ways;
    }
    case Part::kEndOfTrack:
      return {Byte(0), Byte(1)};
    case Part::kEndLocation:
      return {At(9, 0), At(2, 4), At(2, 0), At(kMost, 0)};
    case Part::kUri:
      return scene.facts.at_server ? std::vector<std::string>{Sized(""), Num(0, 8)}
                                   : std::vector<std::string>{Sized(""), Sized("moqt://x/"),
                                                              Sized(std::string(8192, 'u'))};
    case Part::kGoAwayId:
      return {Num(scene.facts.at_server ? 1 : 0), Num(scene.facts.at_server ? kMost : kMost - 1)};
    case Part::kReason:
      return {Sized(""), Sized("over"), Sized(std::string(1024, 'r'))};
    case Part::kErrorAndRest:
      return GoodErrors(scene);
  }
  return {};
}

std::vector<BadWay> BadWays(Part part, const Scene& scene) {
  switch (part) {
    case Part::kRequestId:
      return BadIds(scene);
    case Part::kNumber:
    case Part::kAlias:
      return {};
    case Part::kFullName:
      return BadRequested(Sized("n"), true);
    case Part::kRequestedSpace:
      return BadRequested("", false);
    case Part::kSuffix:
      return BadSuffixes(scene, "", false);
    case Part::kSuffixedName:
      return BadSuffixes(scene, Sized("n"), true);
    case Part::kParameters: {
      std::vector<BadWay> bad = BadParameters(scene.use);
      std::ranges::copy(BadParameterValues(scene.use), std::back_inserter(bad));
      return bad;
    }
    case Part::kTrackProperties:
      return BadTrackProperties(scene.use);
    case Part::kNoProperties:
      return {{"properties", Num(2) + Num(1), kViolation}, {"a byte", Num(2), kViolation}};
    case Part::kOptions:
      return BadOptions(scene.facts.at_server);
    case Part::kFetchRange:
      return BadRanges(scene);
    case Part::kEndOfTrack:
      return {{"an end of track of 2", Byte(2), kViolation},
              {"an end of track of 255", Byte(255), kViolation}};
    case Part::kEndLocation:
      return {{"an end before the start", At(1, 0), kViolation},
              {"an end before the start's object", At(2, 2), kViolation}};
    case Part::kUri:
      return BadTexts(8192, scene.facts.at_server, true);
    case Part::kGoAwayId:
      return {{"no request of ours", Num(scene.facts.at_server ? 0 : 1), kInvalidRequestId}};
    case Part::kReason:
      return BadTexts(1024, scene.facts.at_server, false);
    case Part::kErrorAndRest:
      return BadErrors(scene);
  }
  return {};
}

}  // namespace kvcast::moqt
