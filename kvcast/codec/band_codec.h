#pragma once

#include <memory>
#include <vector>

#include "kvcast/codec/bands.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/number_rows.h"
#include "kvcast/codec/paired_matrix.h"
#include "kvcast/codec/rans.h"

namespace kvcast {

// AC and KTC: keys turned back, means taken off, values or the components that a matrix makes of
// them in whole numbers of steps, and those by rANS with the calibration's tables.
//
//   body := position:u32 others:u32 raw[..] other[others] far:i16* state:u24[64] byte*
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
  struct Unit {
    uint32_t table = 0;
    uint32_t first = 0;  // Of the plane's rows: one for each component that is coded.
    uint32_t count = 0;
  };
  // Constants are in split places, head by head.
  struct Band {
    uint32_t first_head = 0;
    std::vector<uint32_t> rows;  // Of AC's values, or of KTC's coded components; kNoRow: of none.
    std::vector<float> means;
    std::vector<float> in_scales;   // KTC's.
    std::vector<float> out_scales;  // Times the step.
    std::vector<float> parts;       // Of each row: to 1/256 of a step, and those to numbers.
    std::vector<int32_t> rounding;
    std::vector<int32_t> zero_below;
    PairedMatrix forward;  // KTC's: values to coded components,
    PairedMatrix inverse;  // and back.

    NumberRounding Rounding() const { return {parts.data(), rounding.data(), zero_below.data()}; }
  };
  struct CodedPlane {
    uint32_t layer = 0;
    Plane plane = Plane::kKey;
    uint32_t size = 0;   // Values of a head.
    uint32_t heads = 0;  // Of a band.
    uint8_t rope = Bands::kNoRope;
    uint32_t rows = 0;
    std::vector<Unit> units;
    std::vector<Band> bands;
  };
  struct Scratch;
  struct Writing;
  struct Reading;
  static constexpr uint32_t kNoRow = ~uint32_t{0};

  size_t BodyBytesMax(uint32_t tokens) const override;
  size_t EncodeBody(const BlockView& block, uint32_t first_token, uint32_t tokens,
                    std::span<std::byte> body) const override;
  Result<void> DecodeBody(std::span<const std::byte> body, uint32_t first_token, uint32_t tokens,
                          BlockView& block) const override;

  void AddPlane(const LayerShape& model_layer, uint32_t layer, Plane plane,
                const PlaneBands& constants, const BandRung& rung, size_t rung_index);
  Band BandOf(const CodedPlane& plane, const PlaneBands& constants, float step, uint32_t head,
              std::span<const uint8_t> table_of, std::span<const uint32_t> row_of) const;
  static void SetMatrices(Band& band, const BandMatrix& matrix,
                          std::span<const uint32_t> components, uint32_t size);
  size_t RawBytes(uint32_t tokens) const;
  void NumberBand(const CodedPlane& plane, const Band& band, const BlockView& block,
                  uint32_t first_token, Scratch& scratch) const;
  void PrefetchBand(const CodedPlane& plane, size_t index, const BlockView& block,
                    uint32_t first_token, uint32_t tokens) const;
  void WriteUnit(const Unit& unit, Scratch& scratch, Writing& writing) const;
  Result<Reading> ReadingOf(std::span<const std::byte> body, uint32_t tokens) const;
  bool ReadUnit(const Unit& unit, Scratch& scratch, Reading& reading) const;
  void RestoreBand(const CodedPlane& plane, const Band& band, BlockView& block,
                   uint32_t first_token, Scratch& scratch) const;

  const Kernels* kernels_;
  const std::shared_ptr<const Bands> bands_;
  const bool is_ac_;
  std::vector<SymbolTable> tables_;
  std::vector<RansTable> coding_tables_;
  std::vector<CodedPlane> planes_;
  uint32_t components_ = 0;  // Of a token.
};

}  // namespace kvcast
