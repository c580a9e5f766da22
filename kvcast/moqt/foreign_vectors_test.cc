// What others wrote down: codec vectors for draft 17, as far as draft 18 did not change them, and
// control messages that another implementation really sent. Neither is part of this repository; see
// docs/reference/foreign-vectors.md for where they come from and which are left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "kvcast/base/hex.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/base/vi64.h"
#include "kvcast/moqt/message_json_test.h"
#include "kvcast/moqt/stream_reading_test.h"

namespace kvcast::moqt {
namespace {

namespace fs = std::filesystem;

// Where they lie, if they do.
fs::path Folder() {
  if (const char* named = std::getenv("KVCAST_FOREIGN_VECTORS")) {
    return named;
  }
  return fs::path(kSourceFolder) / "../shared/moqt";  // The tests are skipped where it is not.
}

std::string TextOf(const fs::path& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string WireOf(const std::string& hex) { return std::string(AsText(*FromHex(hex))); }

// Where messages of these names stand, as others spell them.
std::string OurName(const std::string& type) {
  static const std::map<std::string, std::string> names = {
      {"setup", "SETUP"},
      {"goaway", "GOAWAY on a request"},
      {"fetch_ok", "FETCH_OK"},
      {"namespace", "NAMESPACE"},
      {"namespace_done", "NAMESPACE_DONE"},
      {"publish_blocked", "PUBLISH_BLOCKED"},
      {"publish_done", "PUBLISH_DONE"},
      {"request_error", "REQUEST_ERROR"},
      {"request_ok", "TRACK_STATUS_OK"},
      {"subscribe_ok", "SUBSCRIBE_OK"},
  };
  const auto found = names.find(type);
  return found == names.end() ? "" : found->second;
}
MessagePlace ForeignPlace(const std::string& type) { return PlaceOf(OurName(type), Role::kClient); }

std::string Digits(const Json& number) { return std::to_string(number.get<uint64_t>()); }
std::string Text(const Json& hex) { return WireOf(hex.get<std::string>()); }

// What the messages of those vectors say, in their words and from what we have read.
Json TheirParameters(const Json& ours) {
  Json theirs = Json::object();
  for (const Json& each : ours) {
    if (each["parameter"] == "EXPIRES") {
      theirs["expires"] = Digits(each["value"]);
    } else if (each["parameter"] == "LARGEST_OBJECT") {
      theirs["largest_object"] = {{"group", Digits(each["value"][0])},
                                  {"object", Digits(each["value"][1])}};
    } else {
      theirs["not known here"] = each;
    }
  }
  return theirs;
}

// At most one, of less than 64.
Json TheirProperties(const std::string& hex) {
  static const std::map<std::string, std::string> names = {{"0b", "immutable_properties"},
                                                           {"22", "default_publisher_group_order"},
                                                           {"30", "dynamic_groups"}};
  if (hex.empty()) {
    return Json::object();
  }
  const std::string name = names.at(hex.substr(0, 2));
  return {{name, name == "immutable_properties"
                     ? hex.substr(4)
                     : std::to_string(std::stoul(hex.substr(2), nullptr, 16))}};
}

Json TheirOptions(const Json& ours) {
  static const std::map<std::string, std::string> names = {
      {"path", "path"}, {"authority", "authority"}, {"implementation", "moqt_implementation"}};
  Json theirs = Json::object();
  for (const auto& [key, value] : ours.items()) {
    if (key == "tokens" && !value.empty()) {
      const Json& token = value[0];
      theirs["authorization_token"] = {
          {"alias_type", Digits(token["alias_type"])},
          {"token_alias", Digits(token["alias"])},
          {"token_type", Digits(token["type"])},
          // They have a length before it, which no draft has: it is a byte of ours.
          {"token_value", token["value"].get<std::string>().substr(2)}};
    } else if (key != "tokens") {
      theirs[names.at(key)] = Text(value);
    }
  }
  return theirs;
}

Json TheirMessage(const Json& ours) {
  static const std::map<std::string, std::string> numbers = {
      {"end_of_track", "end_of_track"}, {"timeout_ms", "timeout"},
      {"status", "status_code"},        {"streams", "stream_count"},
      {"error", "error_code"},          {"retry_interval", "retry_interval"},
      {"alias", "track_alias"}};
  static const std::map<std::string, std::string> texts = {
      {"uri", "new_session_uri"}, {"name", "track_name"}, {"reason", "reason_phrase"}};
  Json theirs = Json::object();
  for (const auto& [key, value] : ours.items()) {
    if (const auto number = numbers.find(key); number != numbers.end()) {
      theirs[number->second] = Digits(value);
    } else if (const auto text = texts.find(key); text != texts.end()) {
      theirs[text->second] = Text(value);
    } else if (key == "end") {
      theirs["end_group"] = Digits(value[0]);
      theirs["end_object"] = Digits(value[1]);
    } else if (key == "namespace") {
      theirs["namespace_suffix"] = Json::array();
      for (const Json& field : value) {
        theirs["namespace_suffix"].push_back(Text(field));
      }
    } else if (key == "parameters") {
      theirs["parameters"] = TheirParameters(value);
    } else if (key == "properties") {
      theirs["track_properties"] = TheirProperties(value.get<std::string>());
    } else if (key == "options") {
      theirs["options"] = TheirOptions(value);
    }
  }
  return theirs;
}

// The message reads, as what the vector says of it if it does, and is written as it was read.
void ExpectReads(const std::string& what, const std::string& wire, const MessagePlace& place,
                 const Json& said = nullptr, const std::string& as = "") {
  ASSERT_EQ(DefaultCodec().MessageBytes(wire), wire.size()) << what;
  const Decoded<Message> message = DefaultCodec().Decode(wire, place);
  ASSERT_TRUE(message.ok()) << what << ": " << message.error().reason();
  if (!said.is_null()) {
    Json meant = TheirMessage(MessageOut(*message, as));
    if (!said.contains("track_properties")) {
      meant.erase("track_properties");  // Of REQUEST_OK they had none.
    }
    EXPECT_EQ(meant, said) << what;
  }
  const std::string written = DefaultCodec().Encode(*message).value().ToString();
  EXPECT_EQ(ToHex(AsBytes(written)), ToHex(AsBytes(wire))) << what;
}

TEST(ForeignVectors, ObservedMessagesOfDraft18AreRead) {
  const fs::path path = Folder() / "observed_control_messages.jsonl";
  if (!fs::exists(path)) {
    GTEST_SKIP() << "no " << path.string() << "; KVCAST_FOREIGN_VECTORS names its folder";
  }
  std::istringstream lines(TextOf(path));
  size_t count = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json observed = *ParseJson(line);
    if (observed["draft"] != 18) {
      continue;
    }
    const std::string type = observed["type"].get<std::string>();
    std::string hex = observed["hex"].get<std::string>();
    if (type == "setup" && hex.starts_with("00")) {
      hex = "af" + hex;  // The receiver logged it without the first byte, which told the stream.
    }
    ExpectReads(type, WireOf(hex), ForeignPlace(type));
    ++count;
  }
  std::cout << "[          ] " << count << " observed messages\n";
  EXPECT_GE(count, 10u);
}

// What draft 18 changed, or what these vectors have otherwise than it. The folder's integers are
// RFC 9000's, which are the same as MoQT's below 64 only.
const std::set<std::string>& LeftOut() {
  static const std::set<std::string> left_out = {
      // Integers of 64 and more.
      "fetch-ok/with-track-properties",
      "fetch-ok/with-params-and-properties",
      "goaway/with-uri",
      "goaway/non-canonical-uri-length",
      "request-ok/with-expires",
      "setup/max-auth-token-cache",
      "subscribe-ok/with-track-properties",
      "subscribe-ok/with-max-cache-duration",
      "subscribe-ok/with-params-and-properties",
      "datagram/datagram-no-object-id",
      "fetch-header/fetch-end-of-non-existent-range",
      "fetch-header/fetch-end-of-unknown-range",
      "fetch-header/fetch-datagram-flag",
      "subgroup/subgroup-explicit-subgroup-id",
      // Rules that draft 18 has: no token by its alias in SETUP, no empty properties in a datagram,
      // none on a status, no gap of groups that reaches below group 0.
      "setup/with-auth-token-delete",
      "datagram/datagram-with-empty-properties",
      "datagram/datagram-with-properties-content",
      "subgroup/subgroup-properties-status-object",
      "subgroup/subgroup-with-object-properties",
      "subgroup/subgroup-properties-two-objects-nonempty",
      "fetch-header/fetch-with-properties",
  };
  return left_out;
}

// Requests lost a field in draft 18, SUBSCRIBE_NAMESPACE changed its number and split, PUBLISH_OK
// became REQUEST_OK.
const std::set<std::string> kChangedMessages = {
    "fetch",      "publish",        "publish-namespace",
    "publish-ok", "request-update", "subscribe-namespace",
    "subscribe",  "track-status"};

// By "file/id".
std::map<std::string, Json> Draft17(const std::string& below) {
  std::map<std::string, Json> vectors;
  const fs::path folder = Folder() / "vectors/transport/draft17/codec" / below;
  if (!fs::exists(folder)) {
    return vectors;
  }
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    if (file.is_regular_file()) {
      const Json document = *ParseJson(TextOf(file.path()));
      for (const Json& vector : document["vectors"]) {
        const std::string id = file.path().stem().string() + "/" + vector["id"].get<std::string>();
        vectors.emplace(id, vector);
      }
    }
  }
  return vectors;
}

TEST(ForeignVectors, MessagesOfDraft17ThatDraft18KeptAreRead) {
  const std::map<std::string, Json> vectors = Draft17("messages");
  if (vectors.empty()) {
    GTEST_SKIP() << "no vectors in " << Folder().string()
                 << "; KVCAST_FOREIGN_VECTORS names their folder";
  }
  size_t count = 0;
  for (const auto& [id, vector] : vectors) {
    std::string type = id.substr(0, id.find('/'));
    if (kChangedMessages.contains(type) || LeftOut().contains(id)) {
      continue;
    }
    std::replace(type.begin(), type.end(), '-', '_');
    std::string wire = WireOf(vector["hex"].get<std::string>());
    if (type == "setup") {
      wire[0] = '\xaf';  // The type is 0x2f00 in either draft, and another number of bits says so.
    }
    if (type == "unknown_type") {
      EXPECT_EQ(DefaultCodec().MessageBytes(wire), wire.size()) << id;
      EXPECT_FALSE(DefaultCodec().Decode(wire, ForeignPlace("request_ok")).ok()) << id;
    } else if (vector.contains("error")) {
      EXPECT_GT(DefaultCodec().MessageBytes(wire).value_or(~size_t{0}), wire.size()) << id;
    } else {
      ExpectReads(id, wire, ForeignPlace(type), vector["decoded"], OurName(type));
    }
    ++count;
  }
  std::cout << "[          ] " << count << " of " << vectors.size() << " messages of draft 17\n";
  EXPECT_GE(count, 40u);
}

// Integers below 64 are the same in RFC 9000 and in MoQT.
TEST(ForeignVectors, IntegersThatBothFormsShareAreRead) {
  const std::map<std::string, Json> vectors = Draft17("");
  if (vectors.empty()) {
    GTEST_SKIP() << "no vectors in " << Folder().string()
                 << "; KVCAST_FOREIGN_VECTORS names their folder";
  }
  size_t count = 0;
  for (const auto& [id, vector] : vectors) {
    const std::string wire = WireOf(vector["hex"].get<std::string>());
    if (!vector.contains("decoded") || wire.size() != 1) {
      continue;
    }
    // Newer compilers compare JSON with a text only where the JSON stands first.
    EXPECT_EQ(vector["decoded"]["value"], std::to_string(ReadVi64(AsBytes(wire)))) << id;
    ++count;
  }
  EXPECT_EQ(count, 4u);
}

// Whatever the vector says of a stream, a datagram or an object, in the words of `ours`; what it
// does not say is left out.
Json Meant(const Json& theirs, const Json& ours) {
  static const std::map<std::string, std::string> names = {
      {"track_alias", "alias"},    {"group_id", "group"},        {"subgroup_id", "subgroup"},
      {"object_id", "object"},     {"status", "status"},         {"publisher_priority", "priority"},
      {"object_status", "status"}, {"request_id", "request_id"}, {"end_of_group", "end_of_group"}};
  Json meant = Json::object();
  for (const auto& [key, value] : theirs.items()) {
    if (const auto found = names.find(key); found != names.end() && ours.contains(found->second)) {
      meant[found->second] = value.is_boolean() ? Json(value.get<bool>() ? 1U : 0U)
                                                : Json(std::stoull(value.get<std::string>()));
    } else if (key == "payload_hex") {
      meant["payload"] = value;
    }
  }
  return meant;
}

// All that the vector says holds of what we have read.
void ExpectMeans(const std::string& what, const Json& theirs, const Json& ours) {
  const Json meant = Meant(theirs, ours);
  EXPECT_FALSE(meant.empty()) << what;
  for (const auto& [key, value] : meant.items()) {
    // Our subgroup says that it is the first object's, theirs which that was.
    if (ours[key] != "first object") {
      EXPECT_EQ(ours[key], value) << what << ": " << key;
    }
  }
}

TEST(ForeignVectors, StreamsAndDatagramsOfDraft17ThatDraft18KeptAreRead) {
  const std::map<std::string, Json> vectors = Draft17("data-streams");
  if (vectors.empty()) {
    GTEST_SKIP() << "no vectors in " << Folder().string()
                 << "; KVCAST_FOREIGN_VECTORS names their folder";
  }
  size_t count = 0;
  for (const auto& [id, vector] : vectors) {
    if (LeftOut().contains(id)) {
      continue;
    }
    const bool datagram = id.starts_with("datagram/");
    const std::string wire = WireOf(vector["hex"].get<std::string>());
    const Decoded<Reading> reading =
        datagram ? ReadDatagram(wire) : ReadStream(wire, GroupOrder::kAscending);
    ++count;
    if (vector.contains("error")) {
      EXPECT_FALSE(reading.ok()) << id;
      continue;
    }
    ASSERT_TRUE(reading.ok()) << id << ": " << reading.error().reason();
    // We leave out an object id of 0 in a datagram; all else we write as they do.
    const bool leaves_out = datagram && reading->meaning["object"] == 0;
    const std::string& written = reading->written;
    EXPECT_TRUE(leaves_out || written == wire) << id << ": " << ToHex(AsBytes(written));
    EXPECT_TRUE(!leaves_out || ReadDatagram(written)->meaning == reading->meaning) << id;
    const Json& theirs = vector["decoded"];
    const Json& ours = reading->meaning;
    ExpectMeans(id, theirs, ours.contains("header") ? ours["header"] : ours);
    if (!datagram) {
      const Json& objects = ours[ours.contains("items") ? "items" : "objects"];
      ASSERT_EQ(objects.size(), theirs["objects"].size()) << id;
      for (size_t i = 0; i < objects.size(); ++i) {
        ExpectMeans(id, theirs["objects"][i], objects[i]);
      }
    }
  }
  std::cout << "[          ] " << count << " of " << vectors.size()
            << " streams and datagrams of draft 17\n";
  EXPECT_GE(count, 15u);
}

}  // namespace
}  // namespace kvcast::moqt
