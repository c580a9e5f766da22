// Any track name or greeting, as peers send them: a catalog's, which is written the same way again,
// or something else.
#include "kvcast/base/byte_reader.h"
#include "kvcast/base/check.h"
#include "kvcast/catalog/node_greeting.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::ByteReader reader(std::as_bytes(std::span(data, size)));
  if (const auto name = kvcast::TrackName::ReadFrom(reader); name.ok()) {
    const auto catalog = kvcast::CatalogTrack::Parse(*name);
    const auto forgotten = kvcast::CatalogTrack::ParseForgotten(*name);
    KVCAST_CHECK(!catalog.ok() || !forgotten.ok());
    KVCAST_CHECK(!catalog.ok() || catalog->Name() == *name);
    KVCAST_CHECK(!forgotten.ok() || forgotten->ForgottenName() == *name);
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto node = kvcast::NodeIn(text)) {
    const size_t end = text.rfind(" node/");
    KVCAST_CHECK(kvcast::NodeGreeting(text.substr(0, end), *node) == text);
  }
  return 0;
}
