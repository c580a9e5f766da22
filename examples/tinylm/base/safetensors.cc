#include "examples/tinylm/base/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "examples/tinylm/base/json.h"

namespace kvcast::tinylm {
namespace {

constexpr size_t kLengthBytes = 8;

Error Malformed(const std::string& what) { return {ErrorCode::kMalformed, what}; }

bool IsNumbers(const Json& json) {
  return json.is_array() &&
         std::ranges::all_of(json, [](const Json& each) { return each.is_number_unsigned(); });
}

Result<Tensor> TensorOf(const Json& told, std::span<const std::byte> data) {
  const auto dtype = told.find("dtype");
  const auto shape = told.find("shape");
  const auto offsets = told.find("data_offsets");
  if (dtype == told.end() || shape == told.end() || offsets == told.end() || !dtype->is_string() ||
      !IsNumbers(*shape) || !IsNumbers(*offsets) || offsets->size() != 2) {
    return Malformed("A tensor has a dtype, a shape and two offsets.");
  }
  Tensor tensor{dtype->get<std::string>(), shape->get<std::vector<uint64_t>>(), {}};
  const auto [begin, end] = offsets->get<std::array<uint64_t, 2>>();
  if (begin > end || end > data.size()) {
    return Malformed("It lies outside of the file.");
  }
  tensor.data = data.subspan(begin, end - begin);
  uint64_t left = tensor.data.size() / sizeof(uint16_t);
  for (const uint64_t size : tensor.shape) {
    if (size == 0 || left % size != 0) {
      left = 0;
      break;
    }
    left /= size;
  }
  if (tensor.dtype == "BF16" && (left != 1 || tensor.data.size() % sizeof(uint16_t) != 0)) {
    return Malformed("It does not have the bytes of its shape.");
  }
  return tensor;
}

}  // namespace

Result<std::map<std::string, Tensor>> ParseSafetensors(std::span<const std::byte> file) {
  uint64_t length = 0;
  if (file.size() < kLengthBytes) {
    return Malformed("It is too short.");
  }
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > file.size() - kLengthBytes) {
    return Malformed("It ends within its header.");
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  TINYLM_TRY(const Json header, ParseJson(text));
  if (!header.is_object()) {
    return Malformed("Its header must be an object.");
  }
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, told] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    Result<Tensor> tensor = told.is_object() ? TensorOf(told, file.subspan(kLengthBytes + length))
                                             : Malformed("It must be an object.");
    if (!tensor.ok()) {
      return std::move(tensor).error().In("tensor \"" + name + "\"");
    }
    tensors.emplace(name, *std::move(tensor));
  }
  return tensors;
}

}  // namespace kvcast::tinylm
