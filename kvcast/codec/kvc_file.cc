#include "kvcast/codec/kvc_file.h"

#include <optional>
#include <string_view>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/kv/track_properties.h"

namespace kvcast {
namespace {

constexpr std::string_view kKvcMagic = "KVC1";

// The text that the reader stands before, as bytes of the file.
Result<std::span<const std::byte>> TextAt(ByteReader& reader, std::span<const std::byte> file) {
  KVCAST_TRY(const uint64_t length, reader.Vi64());
  if (length > reader.remaining()) {
    return reader.Malformed("It ends within what should be " + std::to_string(length) + " bytes.");
  }
  const std::span<const std::byte> text = file.subspan(reader.offset(), length);
  KVCAST_TRY_VOID(reader.Skip(length));
  return text;
}

}  // namespace

std::string KvcOpening(const TrackFormat& format) {
  const Properties properties = WithFormat({}, format.Encode());
  ByteWriter writer;
  writer.Write(kKvcMagic);
  writer.Vi64(properties.encoded().size());
  writer.Write(properties.encoded());
  return writer.Take().ToString();
}

std::string KvcObjectOpening(const TrackFormat& format, uint32_t first_token,
                             size_t payload_bytes) {
  const Properties properties = RunProperties(first_token, format.run_tokens);
  ByteWriter writer;
  writer.Vi64(properties.encoded().size());
  writer.Write(properties.encoded());
  writer.Vi64(payload_bytes);
  return writer.Take().ToString();
}

Result<KvcFile> KvcFile::Parse(std::span<const std::byte> file) {
  if (!AsText(file).starts_with(kKvcMagic)) {
    return Error(ErrorCode::kMalformed, "This is no coded cache: 'kvcast encode' makes one.").At(0);
  }
  ByteReader reader(file);
  KVCAST_TRY_VOID(reader.Skip(kKvcMagic.size()));
  KVCAST_TRY(const std::span<const std::byte> encoded, TextAt(reader, file));
  KVCAST_TRY(const Properties properties, Properties::Parse(std::string(AsText(encoded))));
  KVCAST_TRY(const std::optional<std::string> format, FormatIn(properties));
  if (!format) {
    return reader.Malformed("The track does not say how its objects are coded.");
  }
  KvcFile kvc;
  kvc.begin_ = file.data();
  KVCAST_TRY(kvc.format_, TrackFormat::Parse(*format));
  KVCAST_TRY_VOID(kvc.ReadObjects(file, reader.offset()));
  return kvc;
}

Result<void> KvcFile::ReadObjects(std::span<const std::byte> file, uint64_t at) {
  ByteReader reader(file);
  KVCAST_TRY_VOID(reader.Skip(at));
  uint32_t token = 0;
  while (!reader.done()) {
    KVCAST_TRY(const std::span<const std::byte> properties, TextAt(reader, file));
    if (AsText(properties) != RunProperties(token, format_.run_tokens).encoded()) {
      return reader.Malformed("An object says of itself what its place in the block does not.");
    }
    KVCAST_TRY(const std::span<const std::byte> payload, TextAt(reader, file));
    payloads_.push_back(payload);
    token += format_.run_tokens;
    token = token >= format_.block_tokens ? 0 : token;
    if (blocks() > kBlocksMax) {
      return reader.Malformed("There are more blocks than a prompt has.");
    }
  }
  if (token != 0 || payloads_.empty()) {
    return reader.Malformed("It ends within a block; a coded cache holds whole blocks.");
  }
  return {};
}

std::span<const std::byte> KvcFile::Payload(size_t block, size_t object) const {
  KVCAST_CHECK(object < objects_per_block() && block < blocks());
  return payloads_[block * objects_per_block() + object];
}

uint64_t KvcFile::Place(size_t block, size_t object) const {
  return static_cast<uint64_t>(Payload(block, object).data() - begin_);
}

}  // namespace kvcast
