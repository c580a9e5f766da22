#include "kvcast/kv/safetensors.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/base/json_place.h"

namespace kvcast {
namespace {

constexpr size_t kLengthBytes = Safetensors::kLengthBytes;

// Where `header`, which comes after its length, tells of a tensor or of one thing about it.
uint64_t PlaceOf(std::string_view header, std::string_view tensor, std::string_view about = {}) {
  return kLengthBytes +
         (about.empty() ? JsonPlace(header, {tensor}) : JsonPlace(header, {tensor, about}));
}

// A tensor as the header tells of it, with what it takes to say what is wrong with it.
struct Told {
  std::string_view header;
  std::string_view name;
  const Json& object;

  Error Wrong(std::string_view about, std::string message,
              ErrorCode code = ErrorCode::kMalformed) const {
    return Error(code, std::move(message))
        .At(PlaceOf(header, name, about))
        .In("tensor \"" + Printable(name) + "\"");
  }
};

// What a tensor's header promises, with its place in the data.
struct Entry {
  Tensor tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Result<std::vector<uint64_t>> Numbers(const Told& told, const char* key) {
  const auto found = told.object.find(key);
  if (found == told.object.end() || !found->is_array()) {
    return told.Wrong(key, "\"" + std::string(key) + "\" must be a list of numbers.");
  }
  std::vector<uint64_t> numbers;
  for (const Json& number : *found) {
    if (!number.is_number_unsigned()) {
      return told.Wrong(key,
                        "\"" + std::string(key) + "\" holds something else than whole numbers.");
    }
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

// The product of a shape and the dtype's bits, in bytes; the count may be any 64-bit numbers.
Result<uint64_t> BytesOf(const Told& told, const Tensor& tensor) {
  const uint32_t bits = DtypeBits(tensor.dtype);
  if (bits == 0) {
    return told.Wrong("dtype", "Dtype \"" + Printable(tensor.dtype) + "\" is not known.",
                      ErrorCode::kUnsupported);
  }
  uint64_t values = 1;
  for (const uint64_t size : tensor.shape) {
    if (__builtin_mul_overflow(values, size, &values)) {
      return told.Wrong("shape", "Its shape is past 2^64 values.");
    }
  }
  uint64_t total = 0;
  if (__builtin_mul_overflow(values, uint64_t{bits}, &total) || total % 8 != 0) {
    return told.Wrong("shape", "Its shape is not a whole number of bytes below 2^64.");
  }
  return total / 8;
}

Result<void> ParsePlace(const Told& told, Entry& entry) {
  KVCAST_TRY(const std::vector<uint64_t> offsets, Numbers(told, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return told.Wrong("data_offsets", "\"data_offsets\" must be a begin and an end.");
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return {};
}

Result<Entry> ParseTensor(const Told& told) {
  const Json& object = told.object;
  if (!object.is_object() || object.size() != 3) {
    return told.Wrong("", "It must be described by dtype, shape and data_offsets.");
  }
  Entry entry;
  const auto dtype = object.find("dtype");
  if (dtype == object.end() || !dtype->is_string()) {
    return told.Wrong("dtype", "\"dtype\" must be a name.");
  }
  entry.tensor.dtype = dtype->get<std::string>();
  KVCAST_TRY(entry.tensor.shape, Numbers(told, "shape"));
  KVCAST_TRY_VOID(ParsePlace(told, entry));
  KVCAST_TRY(const uint64_t bytes, BytesOf(told, entry.tensor));
  if (bytes != entry.end - entry.begin) {
    return told.Wrong("shape", "Its shape needs " + std::to_string(bytes) +
                                   " bytes; its offsets give " +
                                   std::to_string(entry.end - entry.begin) + ".");
  }
  return entry;
}

Result<size_t> HeaderBytes(std::span<const std::byte> front, uint64_t file_bytes) {
  ByteReader reader(front);
  KVCAST_TRY(const uint64_t length, reader.U64Le());
  if (length > Safetensors::kHeaderBytesMax) {
    return Error(ErrorCode::kTooLarge,
                 "The header claims " + std::to_string(length) + " bytes; at most " +
                     std::to_string(Safetensors::kHeaderBytesMax) + " are read.")
        .At(0);
  }
  if (length == 0) {
    return Error(ErrorCode::kMalformed,
                 "The header claims 0 bytes: this is no safetensors file, or an empty one.")
        .At(0);
  }
  if (file_bytes < kLengthBytes || length > file_bytes - kLengthBytes) {
    return Error(ErrorCode::kMalformed,
                 "The header claims " + std::to_string(length) + " bytes; the file has " +
                     std::to_string(file_bytes - std::min<uint64_t>(file_bytes, kLengthBytes)) +
                     " after it.")
        .At(0);
  }
  return length;
}

Result<std::string_view> HeaderText(std::span<const std::byte> front, uint64_t file_bytes) {
  KVCAST_TRY(const size_t length, HeaderBytes(front, file_bytes));
  if (front.size() - kLengthBytes < length) {  // Somebody has cut it since its size was asked for.
    return Error(ErrorCode::kMalformed, "The file ends within its header.").At(front.size());
  }
  const std::string_view text = AsText(front.subspan(kLengthBytes, length));
  if (text.front() != '{') {
    return Error(ErrorCode::kMalformed, "The header must begin with {.").At(kLengthBytes);
  }
  return text;
}

Result<Json> ParseHeader(std::string_view text) {
  Result<Json> parsed =
      ParseJson(text, {.bytes_max = Safetensors::kHeaderBytesMax, .depth_max = 4});
  if (!parsed.ok()) {
    const Error& error = parsed.error();
    return Error(error.code(), error.message()).At(kLengthBytes + error.offset().value_or(0));
  }
  return parsed;
}

Result<std::map<std::string, std::string, std::less<>>> ParseMetadata(const Told& told) {
  std::map<std::string, std::string, std::less<>> metadata;
  if (!told.object.is_object()) {
    return told.Wrong("", "It must be an object.");
  }
  for (const auto& member : told.object.items()) {
    if (!member.value().is_string()) {
      return told.Wrong(member.key(), "\"" + Printable(member.key()) + "\" must be a string.");
    }
    metadata.emplace(member.key(), member.value().get<std::string>());
  }
  return metadata;
}

// Together they must fill the data: a hole could hide bytes, an overlap could alias them.
Result<void> CheckPlaces(const std::map<std::string, Entry, std::less<>>& entries,
                         std::string_view header, uint64_t data_bytes) {
  std::vector<std::pair<std::string_view, const Entry*>> places;
  for (const auto& [name, entry] : entries) {
    places.emplace_back(name, &entry);
  }
  std::ranges::sort(places, [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  uint64_t end = 0;
  for (const auto& [name, entry] : places) {
    if (entry->begin != end) {
      return Error(ErrorCode::kMalformed, "Its data begins at " + std::to_string(entry->begin) +
                                              "; " + std::to_string(end) + " was expected.")
          .At(PlaceOf(header, name, "data_offsets"))
          .In("tensor \"" + Printable(name) + "\"");
    }
    end = entry->end;
  }
  if (end != data_bytes) {
    return Error(ErrorCode::kMalformed, "The tensors end at " + std::to_string(end) +
                                            " of the data; it has " + std::to_string(data_bytes) +
                                            " bytes.")
        .At(kLengthBytes + header.size() + std::min<uint64_t>(end, data_bytes));
  }
  return {};
}

}  // namespace

uint32_t DtypeBits(std::string_view dtype) {
  constexpr std::pair<std::string_view, uint32_t> kBits[] = {
      {"BOOL", 8}, {"U8", 8},   {"I8", 8},   {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
      {"I16", 16}, {"U16", 16}, {"F16", 16}, {"BF16", 16},   {"I32", 32},    {"U32", 32},
      {"F32", 32}, {"I64", 64}, {"U64", 64}, {"F64", 64},    {"F4", 4}};
  for (const auto& [name, bits] : kBits) {
    if (name == dtype) {
      return bits;
    }
  }
  return 0;
}

Result<size_t> Safetensors::FrontBytes(std::span<const std::byte> front, uint64_t file_bytes) {
  KVCAST_TRY(const size_t header, HeaderBytes(front, file_bytes));
  return kLengthBytes + header;
}

Result<std::vector<std::string>> Safetensors::CheckWhole(std::span<const std::byte> front,
                                                         uint64_t file_bytes) {
  KVCAST_TRY(const std::string_view text, HeaderText(front, file_bytes));
  KVCAST_TRY(const Json header, ParseHeader(text));
  std::map<std::string, Entry, std::less<>> entries;
  for (const auto& member : header.items()) {
    const Told told{text, member.key(), member.value()};
    if (member.key() == "__metadata__") {
      continue;
    }
    if (!member.value().is_object()) {
      return told.Wrong("", "It must be described by dtype, shape and data_offsets.");
    }
    KVCAST_TRY_VOID(ParsePlace(told, entries[member.key()]));
  }
  KVCAST_TRY_VOID(CheckPlaces(entries, text, file_bytes - kLengthBytes - text.size()));
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) {
    names.push_back(name);
  }
  return names;
}

uint64_t Safetensors::PlaceIn(std::span<const std::byte> front, std::string_view name) {
  return PlaceOf(AsText(front.subspan(kLengthBytes)), name);
}

Result<Safetensors> Safetensors::Parse(std::span<const std::byte> file) {
  KVCAST_TRY(const std::string_view text, HeaderText(file, file.size()));
  const Result<Json> parsed = ParseHeader(text);
  if (!parsed.ok()) {
    return Error(parsed.error());
  }
  if (parsed->size() > kTensorsMax + (parsed->contains("__metadata__") ? 1 : 0)) {
    return Error(ErrorCode::kMalformed, "The header must be an object of at most 65,536 tensors.")
        .At(kLengthBytes);
  }
  Safetensors safetensors;
  safetensors.header_ = text;
  std::map<std::string, Entry, std::less<>> entries;
  for (const auto& member : parsed->items()) {
    const Told told{text, member.key(), member.value()};
    if (member.key() == "__metadata__") {
      KVCAST_TRY(safetensors.metadata_, ParseMetadata(told));
      continue;
    }
    if (member.key().size() > kNameBytesMax) {
      return told.Wrong("", "Its name has more than 256 bytes.");
    }
    KVCAST_TRY(Entry entry, ParseTensor(told));
    entries.emplace(member.key(), std::move(entry));
  }
  const std::span<const std::byte> data = file.subspan(kLengthBytes + text.size());
  KVCAST_TRY_VOID(CheckPlaces(entries, text, data.size()));
  for (auto& [name, entry] : entries) {
    entry.tensor.data = data.subspan(entry.begin, entry.end - entry.begin);
    safetensors.tensors_.emplace(name, std::move(entry.tensor));
  }
  return safetensors;
}

const Tensor* Safetensors::Find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

uint64_t Safetensors::Place(std::string_view name, std::string_view about) const {
  return PlaceOf(header_, name, about);
}

}  // namespace kvcast
