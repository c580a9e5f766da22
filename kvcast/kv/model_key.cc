#include "kvcast/kv/model_key.h"

#include "kvcast/base/byte_writer.h"
#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

struct DtypeName {
  KvDtype dtype;
  std::string_view name;
  std::string_view hugging_face;
};

constexpr DtypeName kDtypeNames[] = {
    {KvDtype::kBf16, "bf16", "bfloat16"},
    {KvDtype::kFp16, "fp16", "float16"},
    {KvDtype::kFp32, "fp32", "float32"},
    {KvDtype::kFp8E4m3, "fp8_e4m3", "float8_e4m3fn"},
    {KvDtype::kFp8E5m2, "fp8_e5m2", "float8_e5m2"},
    {KvDtype::kInt8, "int8", "int8"},
};

// A writer of tagged fields.
class Fields {
 public:
  void Add(uint8_t tag, std::string_view bytes) {
    writer_.U8(tag);
    writer_.U32Le(static_cast<uint32_t>(bytes.size()));
    writer_.Write(bytes);
  }
  void Add(uint8_t tag, const Digest& digest) { Add(tag, AsText(digest.bytes)); }
  void Add(uint8_t tag, std::span<const uint32_t> numbers) {
    writer_.U8(tag);
    writer_.U32Le(static_cast<uint32_t>(numbers.size() * sizeof(uint32_t)));
    for (const uint32_t number : numbers) {
      writer_.U32Le(number);
    }
  }
  void Add(uint8_t tag, uint32_t number) { Add(tag, std::span<const uint32_t>(&number, 1)); }
  std::string Take() { return writer_.Take().ToString(); }

 private:
  ByteWriter writer_;
};

std::string EncodeGroup(const LayerGroup& group) {
  Fields fields;
  fields.Add(1, ToString(group.attention));
  fields.Add(2, group.layers);
  fields.Add(3, group.kv_heads);
  fields.Add(4, group.key_size);
  fields.Add(5, group.value_size);
  fields.Add(6, group.rotary_size);
  fields.Add(7, ToString(group.window_kind));
  fields.Add(8, group.window);
  fields.Add(9, group.rope);
  return fields.Take();
}

}  // namespace

std::string_view ToString(KvDtype dtype) {
  for (const DtypeName& known : kDtypeNames) {
    if (known.dtype == dtype) {
      return known.name;
    }
  }
  return "unknown";
}

Result<KvDtype> KvDtypeOf(std::string_view name) {
  for (const DtypeName& known : kDtypeNames) {
    if (name == known.name || name == known.hugging_face) {
      return known.dtype;
    }
  }
  return Error(ErrorCode::kUnsupported,
               "\"" + Printable(name) +
                   "\" is not a KV dtype; bf16, fp16, fp32, fp8_e4m3, fp8_e5m2 and int8 are.");
}

Result<uint32_t> BlockTokensOf(uint64_t tokens) {
  if (tokens < 1 || tokens > UINT32_MAX) {
    return Error(ErrorCode::kInvalid, "A block has at least one token and fewer than 2^32; not " +
                                          std::to_string(tokens) + ".");
  }
  return static_cast<uint32_t>(tokens);
}

std::string ModelDescription::Encode() const {
  Fields fields;
  fields.Add(1, weights);
  fields.Add(2, tokenizer);
  fields.Add(3, adapter ? AsText(adapter->bytes) : std::string_view());
  fields.Add(4, config);
  fields.Add(5, ToString(kv_dtype));
  fields.Add(6, block_tokens);
  for (const LayerGroup& group : groups) {
    fields.Add(7, EncodeGroup(group));
  }
  return "kvcast/model/1" + fields.Take();
}

Digest DigestOfFiles(std::span<const Digest> files) {
  ByteWriter writer;
  writer.Write("kvcast/files/1");
  writer.U32Le(static_cast<uint32_t>(files.size()));
  for (const Digest& file : files) {
    writer.Write(file.bytes);
  }
  return Sha256::Of(writer.Take());
}

}  // namespace kvcast
