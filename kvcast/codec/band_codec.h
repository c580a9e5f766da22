#pragma once

#include <memory>
#include <vector>

#include "kvcast/codec/codec.h"
#include "kvcast/codec/coded_planes.h"
#include "kvcast/codec/rans.h"

namespace kvcast {

// AC and KTC: keys turned back, means taken off, values or the components that a matrix makes of
// them in whole numbers of steps, and those by rANS with the calibration's tables.
//
//   body := position:u32 others:u32 raw[..] other[others] far:i16* state:u16[128] byte*
//   raw  := for each unit as many planes of bits as its table has a shift
//
// Numbers stand in the order plane, table, component, token; those of one plane and table are a
// unit of the entropy coder. The position is that of the run's first token in the prompt.
class BandCodec final : public Codec {
 public:
  // REQUIRES: a format that Codec::Of has looked at, of such a rung, and the bands of its
  // calibration; a slice that cuts through no band.
  BandCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels,
            std::shared_ptr<const Bands> bands, std::span<const LayerShape> layers);

 private:
  struct Scratch;
  struct Numbering;
  struct Restoring;
  struct Writing;
  struct Reading;

  size_t BodyBytesMax(uint32_t tokens) const override;
  size_t EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                    std::span<std::byte> body) const override;
  Result<void> DecodeBody(std::span<const std::byte> body, uint32_t first_token, uint32_t tokens,
                          BlockView& block) const override;

  size_t RawBytes(uint32_t tokens) const;
  void NumberBand(const CodedPlane& plane, const CodedBand& band, size_t head_stride,
                  Scratch& scratch) const;
  void NumberPlane(Numbering& numbering, Scratch& scratch) const;
  void WriteUnit(const CodedUnit& unit, Scratch& scratch, Writing& writing) const;
  Result<void> Open(std::span<const std::byte> body, uint32_t tokens, Reading& reading) const;
  bool ReadUnit(const CodedUnit& unit, Scratch& scratch, Reading& reading) const;
  void RestoreBand(const CodedPlane& plane, const CodedBand& band, size_t head_stride,
                   Scratch& scratch) const;

  const Kernels* kernels_;
  const std::shared_ptr<const Bands> bands_;
  const bool is_ac_;
  const std::vector<SymbolTable> tables_;
  std::vector<RansTable> coding_tables_;
  const CodedPlanes coded_;
};

}  // namespace kvcast
