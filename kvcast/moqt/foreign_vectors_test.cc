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

std::string Bytes(const std::string& hex) { return std::string(AsText(*FromHex(hex))); }

// Where messages of these names stand, as others spell them.
MessagePlace ForeignPlace(const std::string& type) {
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
  return PlaceOf(found == names.end() ? "" : found->second, Role::kClient);
}

// The message reads, and is written as it was read.
void ExpectReads(const std::string& what, const std::string& wire, const MessagePlace& place) {
  ASSERT_EQ(DefaultCodec().MessageBytes(wire), wire.size()) << what;
  const Decoded<Message> message = DefaultCodec().Decode(wire, place);
  ASSERT_TRUE(message.ok()) << what << ": " << message.error().reason();
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
    ExpectReads(type, Bytes(hex), ForeignPlace(type));
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
    "subscribe",  "track-status",   "unknown-type"};

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
    std::string wire = Bytes(vector["hex"].get<std::string>());
    if (type == "setup") {
      wire[0] = '\xaf';  // The type is 0x2f00 in either draft, and another number of bits says so.
    }
    if (vector.contains("error")) {
      EXPECT_GT(DefaultCodec().MessageBytes(wire).value_or(~size_t{0}), wire.size()) << id;
    } else {
      ExpectReads(id, wire, ForeignPlace(type));
    }
    ++count;
  }
  std::cout << "[          ] " << count << " of " << vectors.size() << " messages of draft 17\n";
  EXPECT_GE(count, 40u);
}

// The payloads of a stream's objects, one after the other.
std::string Payloads(const Json& objects) {
  std::string all;
  for (const Json& object : objects) {
    all +=
        object.value(object.contains("payload") ? "payload" : "payload_hex", std::string()) + ";";
  }
  return all;
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
    const std::string wire = Bytes(vector["hex"].get<std::string>());
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
    if (datagram) {
      EXPECT_EQ(reading->meaning["payload"], theirs.value("payload_hex", "")) << id;
    } else {
      const char* ours = reading->meaning.contains("items") ? "items" : "objects";
      EXPECT_EQ(Payloads(reading->meaning[ours]), Payloads(theirs["objects"])) << id;
    }
  }
  std::cout << "[          ] " << count << " of " << vectors.size()
            << " streams and datagrams of draft 17\n";
  EXPECT_GE(count, 15u);
}

}  // namespace
}  // namespace kvcast::moqt
