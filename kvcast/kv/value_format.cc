#include "kvcast/kv/value_format.h"

#include "kvcast/base/byte_writer.h"

namespace kvcast {

Result<void> ValueFormat::Check() const {
  if (layout.empty() || layout.size() > kLayoutBytesMax) {
    return Error(ErrorCode::kInvalid,
                 "A layout has 1 to 4,096 bytes: whatever makes an engine's bytes mean something "
                 "else, in its own words. This one has " +
                     std::to_string(layout.size()) + ".");
  }
  if (block_tokens < kBlockTokensMin || block_tokens > kBlockTokensMax) {
    return Error(ErrorCode::kInvalid,
                 "A block has 16 to 1,024 tokens, not " + std::to_string(block_tokens) + ".");
  }
  return {};
}

std::string ValueFormat::Encode() const {
  ByteWriter writer;
  writer.Write("kvcast/values/1");
  uint8_t tag = 1;
  for (const std::string& text : {model, layout}) {
    writer.U8(tag++);
    writer.U32Le(static_cast<uint32_t>(text.size()));
    writer.Write(text);
  }
  writer.U8(tag);
  writer.U32Le(sizeof(block_tokens));
  writer.U32Le(block_tokens);
  return writer.Take().ToString();
}

}  // namespace kvcast
