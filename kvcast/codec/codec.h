#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kvcast/base/bytes.h"
#include "kvcast/base/result.h"
#include "kvcast/codec/kernels.h"
#include "kvcast/codec/track_format.h"
#include "kvcast/kv/block_view.h"

namespace kvcast {

class Calibration;

// The type of values that a rung keeps exactly; absent where it keeps none.
std::optional<HalfType> ExactTypeOf(Rung rung);

// Turns blocks into a track's objects and back: one rung, one shape, its constants at hand.
//
// Reads straight from an engine's pages and writes straight into them, whatever their layout. An
// object holds the tokens from its id on, one or a run of them, and needs no other object.
// Immutable: any number of threads may use one codec at once.
class Codec {
 public:
  // `pages` is what the engine's pages hold. Invalid: a format that Check() refuses. Unsupported: a
  // rung that is not built, or an exact one between different types of values.
  static Result<std::unique_ptr<const Codec>> Of(const TrackFormat& format, HalfType pages,
                                                 const Kernels& kernels = BestKernels());
  // The same for a track that was encoded with a calibration, which AC and KTC cannot do without.
  // Mismatch: it was another one.
  static Result<std::unique_ptr<const Codec>> Of(const TrackFormat& format, HalfType pages,
                                                 const Calibration& calibration,
                                                 const Kernels& kernels = BestKernels());
  // Values as they are. REQUIRES: FP16 or BF16, a shape that Check() does not refuse.
  static std::unique_ptr<const Codec> Plain(Rung rung, const BlockShape& shape);
  virtual ~Codec() = default;

  const TrackFormat& format() const { return format_; }
  const BlockShape& shape() const { return shape_; }

  // How many tokens the object that begins with this one holds. REQUIRES: a token of the block.
  uint32_t TokensFrom(uint32_t first_token) const;
  // The most bytes that an object of so many tokens has: exactly those, at fixed-rate rungs.
  size_t ObjectBytesMax(uint32_t tokens = 1) const;

  // The object that begins with a token. REQUIRES: a block of this shape with values of the
  // format's type; a token that is a multiple of run_tokens.
  Bytes Encode(const BlockView& block, uint32_t first_token) const;
  // The same into memory of the caller's; gives how much of it was used. REQUIRES: room for
  // ObjectBytesMax.
  size_t EncodeInto(const BlockView& block, uint32_t first_token, std::span<std::byte> out) const;
  // The objects that follow one another from a token on, each into memory of its own, which is cut
  // to what it used. Faster than one after the other where objects hold single tokens: what lies
  // side by side in a page is then read at once.
  void EncodeSeveral(const BlockView& block, uint32_t first_token,
                     std::span<std::span<std::byte>> outs) const;
  // So many objects that follow one another from a token on, or all of a block's. REQUIRES: there
  // are as many.
  std::vector<Bytes> EncodeObjects(const BlockView& block, uint32_t first_token,
                                   size_t count) const;
  std::vector<Bytes> EncodeBlock(const BlockView& block) const;

  // How many objects are best worked on at a time.
  virtual size_t Together() const { return 1; }

  // Writes an object's tokens and says how many they are. Mismatch or malformed: the object is
  // damaged, or not one of this track at this token. Then nothing has been written; only a run
  // whose check fits and whose contents do not may leave its own tokens half written.
  // REQUIRES: a block of this shape, a token within it.
  Result<uint32_t> Decode(const Bytes& payload, uint32_t first_token, BlockView& block) const;
  Result<uint32_t> Decode(std::span<const std::byte> payload, uint32_t first_token,
                          BlockView& block) const;
  // Objects that follow one another from a token on, up to the first that Decode would refuse.
  // Faster than one after the other, as with EncodeSeveral.
  struct Decoded {
    size_t objects = 0;          // Those that were written.
    std::optional<Error> fault;  // Of the one behind them.
  };
  Decoded DecodeSeveral(std::span<const std::span<const std::byte>> payloads, uint32_t first_token,
                        BlockView& block) const;
  Decoded DecodeSeveral(std::span<const Bytes> payloads, uint32_t first_token,
                        BlockView& block) const;

 protected:
  Codec(TrackFormat format, HalfType pages);
  HalfType pages() const { return pages_; }

  // An object without its header; one that was encoded is cut to what it used.
  template <typename Byte>
  struct Body {
    uint32_t first_token = 0;
    uint32_t tokens = 0;
    std::span<Byte> bytes;
  };
  static constexpr size_t kTogetherMax = 16;
  // As many as Together() says, up to kTogetherMax, or fewer. Each by itself, where a codec does
  // not know better.
  virtual void EncodeBodies(const BlockView& block, std::span<Body<std::byte>> bodies) const;
  virtual Decoded DecodeBodies(std::span<const Body<const std::byte>> bodies,
                               BlockView& block) const;

 private:
  virtual size_t BodyBytesMax(uint32_t tokens) const = 0;
  // Gives the body's bytes.
  virtual size_t EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                            std::span<std::byte> body) const = 0;
  virtual Result<void> DecodeBody(std::span<const std::byte> body, uint32_t first_token,
                                  uint32_t tokens, BlockView& block) const = 0;
  Result<Body<const std::byte>> Open(std::span<const std::byte> payload,
                                     uint32_t first_token) const;

  const TrackFormat format_;
  const BlockShape shape_;
  const HalfType pages_;
  const uint32_t format_sum_;
};

}  // namespace kvcast
