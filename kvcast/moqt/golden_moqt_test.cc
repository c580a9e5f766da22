// The golden vectors of MoQT in docs/reference/vectors, which the Python beside them reproduces
// too. What is read must mean what they say, what is written must be the same bytes, and what is
// refused must be refused with the same code.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>

#include "kvcast/base/hex.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/moqt/message_json_test.h"
#include "kvcast/moqt/stream_reading_test.h"

namespace kvcast::moqt {
namespace {

std::string Unhex(const Json& hex) {
  return std::string(AsText(*FromHex(hex.get_ref<const std::string&>())));
}

using Read = std::function<Decoded<Reading>(const Json& in, const std::string& wire)>;

// A case says either what is to be written or what is to be read.
void CheckCase(const Json& golden, const char* meant, const Read& read) {
  const Json& in = golden["in"];
  const std::string name = golden["name"].get<std::string>();
  const bool writes = in.contains("write");
  const std::string wire = Unhex(writes ? golden["out"]["wire"] : in["read"]);
  const Decoded<Reading> reading = read(in, wire);
  if (golden.contains("error")) {
    ASSERT_FALSE(reading.ok()) << name << " was read as " << reading->meaning.dump();
    const bool session = reading.error().scope() == Fault::Scope::kSession;
    EXPECT_EQ(golden.contains("code"), session) << name << ": " << reading.error().reason();
    EXPECT_EQ(reading.error().code(), golden[session ? "code" : "reset"].get<uint64_t>())
        << name << ": " << reading.error().reason();
    return;
  }
  ASSERT_TRUE(reading.ok()) << name << ": " << reading.error().reason();
  EXPECT_EQ(reading->meaning.dump(), (writes ? in["write"] : golden["out"][meant]).dump()) << name;
  if (writes) {
    EXPECT_EQ(ToHex(AsBytes(reading->written)), golden["out"]["wire"].get<std::string>()) << name;
  }
}

void CheckTopic(const std::string& topic, const char* meant, const Read& read) {
  std::ifstream stream(std::string(kSourceFolder) + "/docs/reference/vectors/" + topic + ".json");
  std::stringstream text;
  text << stream.rdbuf();
  const Result<Json> file = ParseJson(text.str());
  ASSERT_TRUE(file.ok()) << file.error().ToString();
  for (const Json& golden : (*file)["cases"]) {
    CheckCase(golden, meant, read);
  }
  std::cout << "[          ] " << topic << ": " << (*file)["cases"].size() << " vectors\n";
  ASSERT_GT((*file)["cases"].size(), 100u);
}

TEST(GoldenMoqt, Messages) {
  CheckTopic(
      "moqt_message", "message", [](const Json& in, const std::string& wire) -> Decoded<Reading> {
        const bool writes = in.contains("write");
        const std::string as = (writes ? in["write"]["message"] : in["as"]).get<std::string>();
        const bool server = !writes && in["sender"] == "server";
        const MessagePlace place = PlaceOf(as, server ? Role::kServer : Role::kClient);
        const Codec& codec = DefaultCodec();
        if (codec.MessageBytes(wire) != wire.size()) {
          return Fault::Violation("The message is not as long as it says.");
        }
        KVCAST_TRY(const Message message, codec.Decode(wire, place));
        if (const auto* publish = std::get_if<Publish>(&message); publish && publish->malformed) {
          return Fault::Track(ResetCode::kMalformedTrack, "The track is malformed.");
        }
        return Reading{MessageOut(message, as), codec.Encode(message).value().ToString()};
      });
}

TEST(GoldenMoqt, Streams) {
  CheckTopic("moqt_stream", "stream",
             [](const Json& in, const std::string& wire) -> Decoded<Reading> {
               const Json& given = in.contains("write") ? in["write"] : in;
               const bool fetch = given.contains("order");
               return ReadStream(wire, fetch ? static_cast<GroupOrder>(given["order"].get<int>())
                                             : GroupOrder::kAscending);
             });
}

TEST(GoldenMoqt, Datagrams) {
  CheckTopic("moqt_datagram", "datagram",
             [](const Json& in, const std::string& wire) -> Decoded<Reading> {
               (void)in;
               return ReadDatagram(wire);
             });
}

}  // namespace
}  // namespace kvcast::moqt
