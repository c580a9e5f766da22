#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"

namespace kvcast {

// One tensor of a file, and where its bytes lie in the file.
struct Tensor {
  std::string dtype;  // "BF16", as safetensors spells it.
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;
};

// A safetensors file, read where it lies:
//
//   file := header_length:u64 header:json data
//
// Everything the header says is checked before anybody relies on it: each tensor's bytes are its
// shape times its dtype, and together they fill the data without a hole or an overlap.
class Safetensors {
 public:
  static constexpr size_t kHeaderBytesMax = 16 * 1024 * 1024;
  static constexpr size_t kTensorsMax = 65536;
  static constexpr size_t kNameBytesMax = 256;

  // How many bytes of a file are length and header, as its first eight bytes say: what CheckWhole
  // wants to see.
  static constexpr size_t kLengthBytes = 8;
  static Result<size_t> FrontBytes(std::span<const std::byte> front, uint64_t file_bytes);
  // Whether a file of so many bytes is whole: its header can be read, and the tensors it tells of
  // fill the rest, of whatever types and shapes they are. Then their names. `front` is the file's
  // beginning, as long as FrontBytes says; more of it is not looked at.
  static Result<std::vector<std::string>> CheckWhole(std::span<const std::byte> front,
                                                     uint64_t file_bytes);
  // Where such a beginning tells of a tensor: an offset in the file. REQUIRES: CheckWhole took it.
  static uint64_t PlaceIn(std::span<const std::byte> front, std::string_view name);

  // Refers to `file`, which must outlive the result.
  static Result<Safetensors> Parse(std::span<const std::byte> file);

  const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  // Null if there is none of that name.
  const Tensor* Find(std::string_view name) const;
  // Where the header tells of a tensor, or of one thing about it ("shape"), for errors: an offset
  // in the file. The metadata is told of like a tensor, "__metadata__".
  uint64_t Place(std::string_view name, std::string_view about = {}) const;

 private:
  std::string_view header_;
  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

// Bits of one value of a safetensors dtype; 0 for one we do not know.
uint32_t DtypeBits(std::string_view dtype);

}  // namespace kvcast
