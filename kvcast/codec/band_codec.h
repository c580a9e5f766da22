#pragma once

#include <memory>
#include <vector>

#include "kvcast/codec/band_rows.h"
#include "kvcast/codec/bands.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/paired_matrix.h"
#include "kvcast/codec/rans.h"
#include "kvcast/codec/turn_table.h"

namespace kvcast {

// AC and KTC: keys turned back, means taken off, values or the components that a matrix makes of
// them in whole numbers of steps, and those by rANS with the calibration's tables.
//
//   body := position:u32 others:u32 raw[..] other[others] far:i16* state:u32[64] word:u16*
//   raw  := the lower bits of numbers whose table has a shift, from each byte's lowest bit on; how
//           many there are, the tables say
//
// Numbers stand in the order band, table, token, component; those of one band and table are a unit
// of the entropy coder. The position is that of the run's first token in the prompt.
class BandCodec final : public Codec {
 public:
  // REQUIRES: a format that Codec::Of has looked at, of such a rung, and the bands of its
  // calibration; a slice that cuts through no band.
  BandCodec(const TrackFormat& format, HalfType pages, const Kernels& kernels,
            std::shared_ptr<const Bands> bands, std::span<const LayerShape> layers);

 private:
  struct Unit {
    uint32_t table = 0;
    uint32_t first = 0;  // Of the band's coded components.
    uint32_t count = 0;
  };
  struct Band {
    BandPlace place;  // In the slice.
    uint8_t rope = Bands::kNoRope;
    std::vector<Unit> units;
    std::vector<uint32_t> order;  // Of coded components: which they are.
    std::vector<float> mean;
    std::vector<float> in_scale;   // KTC's.
    std::vector<float> parts;      // Per coded component: to 1/256 of a step.
    std::vector<float> out_scale;  // Times the step.
    PairedMatrix forward;          // KTC's: values to coded components,
    PairedMatrix inverse;          // and back.
  };
  struct Symbols;
  struct Reading;

  size_t BodyBytesMax(uint32_t tokens) const override;
  size_t EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                    std::span<std::byte> body) const override;
  Result<void> DecodeBody(std::span<const std::byte> body, uint32_t first_token, uint32_t tokens,
                          BlockView& block) const override;

  Band BandOf(const PlaneBands& plane, const BandRung& rung, size_t rung_index, size_t index,
              uint32_t values) const;
  void AddPlane(const LayerShape& model_layer, uint32_t layer, Plane plane,
                const PlaneBands& constants, const BandRung& rung, size_t rung_index);
  std::vector<TurnTable> TurnTables(size_t position, uint32_t tokens) const;
  void WriteValues(const Band& band, std::vector<float>& values, uint32_t token, uint32_t in_run,
                   std::span<const TurnTable> turns, BlockView& block) const;
  void EncodeBand(const Band& band, const BlockView& block, uint32_t first_token, uint32_t tokens,
                  std::span<const TurnTable> turns, Symbols& symbols) const;
  bool ReadBand(const Band& band, uint32_t tokens, Reading& reading) const;
  std::vector<int32_t> PartsOf(const Band& band, const BlockView& block, uint32_t first_token,
                               uint32_t tokens, const TurnTable* turns) const;
  void RestoreBand(const Band& band, uint32_t first_token, uint32_t tokens,
                   std::span<const TurnTable> turns, Reading& reading, BlockView& block) const;
  size_t RawBits(uint32_t tokens) const { return size_t{raw_bits_} * tokens; }

  const Kernels* kernels_;
  const std::shared_ptr<const Bands> bands_;
  const bool is_ac_;
  std::vector<SymbolTable> tables_;
  std::vector<RansTable> coding_tables_;
  std::vector<Band> coded_bands_;
  uint32_t components_ = 0;  // Of a token.
  uint32_t raw_bits_ = 0;
};

}  // namespace kvcast
