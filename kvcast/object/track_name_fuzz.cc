// Any bytes: a name that we write back the same way, or an error within them.
// Inputs of up to 16384 bytes: names of 4,096 bytes take three times as many when they are
// rendered.
#include "kvcast/base/check.h"
#include "kvcast/object/track_name.h"

using kvcast::AsText;
using kvcast::ByteReader;
using kvcast::ByteWriter;
using kvcast::TrackName;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  if (const auto name = TrackName::Parse(AsText(input)); name.ok()) {
    KVCAST_CHECK(name->Render() == AsText(input));  // One name, one rendering.
  } else {
    KVCAST_CHECK(name.error().offset().value_or(size + 1) <= size);
  }
  ByteReader reader(input);
  const auto name = TrackName::ReadFrom(reader);
  if (!name.ok()) {
    KVCAST_CHECK(name.error().offset().value_or(size + 1) <= size);
    return 0;
  }
  ByteWriter writer;
  name->WriteTo(writer);
  const kvcast::Bytes written = writer.Take();
  KVCAST_CHECK(written.size() <= reader.offset());  // The shortest form.
  ByteReader again(written);
  KVCAST_CHECK(*TrackName::ReadFrom(again) == *name);
  KVCAST_CHECK(*TrackName::Parse(name->Render()) == *name);
  return 0;
}
