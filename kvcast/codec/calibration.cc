#include "kvcast/codec/calibration.h"

#include <algorithm>
#include <bit>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/codec/layer_runs.h"
#include "kvcast/codec/rung_constants.h"

namespace kvcast {
namespace {

constexpr std::string_view kCalibrationMagic = "KVCAL";
constexpr uint8_t kPlainVersion = 1;
constexpr uint8_t kBandsVersion = 2;
// Other text has larger values than the samples had.
constexpr float kHeadroom = 2.0F;

Error NotACalibration(std::string message) {
  return Error(ErrorCode::kMalformed, std::move(message));
}

// The digest, and what it is of.
Result<std::pair<Digest, std::string_view>> Opened(std::string_view file) {
  if (!file.starts_with(kCalibrationMagic)) {
    return NotACalibration("This is no calibration: 'kvcast calibrate' makes one.").At(0);
  }
  if (file.size() < kCalibrationMagic.size() + 1 + Digest::kBytes ||
      file.size() > Calibration::kBytesMax) {
    return NotACalibration("The calibration is cut short, or larger than any.").At(file.size());
  }
  const std::string_view covered = file.substr(0, file.size() - Digest::kBytes);
  const auto version = static_cast<uint8_t>(covered[kCalibrationMagic.size()]);
  if (version != kPlainVersion && version != kBandsVersion) {
    return Error(ErrorCode::kUnsupported,
                 "The calibration is of another version; make it again with 'kvcast calibrate'.")
        .At(kCalibrationMagic.size());
  }
  const Digest digest = Sha256::Of(covered);
  if (!std::ranges::equal(digest.span(), AsBytes(file.substr(covered.size())))) {
    return NotACalibration("The calibration is damaged: its digest does not fit.")
        .At(covered.size());
  }
  return std::pair(digest, covered);
}

// As many as the layers need. Whether they are sound, a format's check says.
Result<void> ReadConstants(ByteReader& reader, const std::vector<LayerShape>& layers,
                           RungConstants& constants) {
  TrackFormat counts;
  counts.layers = layers;
  const size_t rows = counts.RowCount();
  const size_t planes = counts.PlaneCount();
  const size_t table_bytes = ExponentTable::kNamed + ExponentTable::kSymbols;
  if (reader.remaining() < (rows + planes) * sizeof(float) + planes * table_bytes) {
    return reader.Malformed("The calibration has not as many constants as its layers need.");
  }
  for (size_t i = 0; i < rows + planes; ++i) {
    KVCAST_TRY(const uint32_t bits, reader.U32Le());
    (i < rows ? constants.fp8 : constants.fp4).push_back(std::bit_cast<float>(bits));
  }
  for (size_t i = 0; i < planes; ++i) {
    ExponentTable& table = constants.tables.emplace_back();
    KVCAST_TRY_VOID(reader.Read(std::as_writable_bytes(std::span(table.exponents))));
    KVCAST_TRY_VOID(reader.Read(std::as_writable_bytes(std::span(table.shares))));
  }
  return {};
}

}  // namespace

Calibration Calibration::Of(const Survey& survey, Bands bands) {
  Calibration calibration = Of(survey);
  calibration.bands_ = std::make_shared<const Bands>(std::move(bands));
  calibration.Write();
  return calibration;
}

Calibration Calibration::Of(const Survey& survey) {
  Calibration calibration;
  calibration.type_ = survey.type();
  calibration.layers_.assign(survey.shape().layers().begin(), survey.shape().layers().end());
  calibration.constants_ = survey.Constants(kHeadroom);
  calibration.Write();
  return calibration;
}

void Calibration::Write() {
  ByteWriter writer;
  writer.Write(kCalibrationMagic);
  writer.U8(bands_ != nullptr ? kBandsVersion : kPlainVersion);
  writer.U8(static_cast<uint8_t>(type_));
  WriteLayerRuns(layers_, writer);
  for (const std::vector<float>* scales : {&constants_.fp8, &constants_.fp4}) {
    for (const float scale : *scales) {
      writer.U32Le(std::bit_cast<uint32_t>(scale));
    }
  }
  for (const ExponentTable& table : constants_.tables) {
    writer.Write(std::as_bytes(std::span(table.exponents)));
    writer.Write(std::as_bytes(std::span(table.shares)));
  }
  if (bands_ != nullptr) {
    bands_->Write(writer);
  }
  file_ = writer.Take().ToString();
  digest_ = Sha256::Of(file_);
  file_.append(reinterpret_cast<const char*>(digest_.bytes.data()), digest_.bytes.size());
}

Result<Calibration> Calibration::Parse(std::string_view file) {
  KVCAST_TRY(const auto opened, Opened(file));
  ByteReader reader(AsBytes(opened.second));
  KVCAST_TRY_VOID(reader.Skip(kCalibrationMagic.size()));
  KVCAST_TRY(const uint8_t version, reader.U8());
  KVCAST_TRY(const uint8_t type, reader.U8());
  if (type > static_cast<uint8_t>(HalfType::kFp16)) {
    return reader.Malformed("The calibration is of values of an unknown type.");
  }
  Calibration calibration;
  calibration.type_ = static_cast<HalfType>(type);
  KVCAST_TRY(calibration.layers_, ReadLayerRuns(reader));
  if (calibration.layers_.empty() || !std::ranges::all_of(calibration.layers_, IsSoundLayer)) {
    return reader.Malformed("No cache has such layers.");
  }
  KVCAST_TRY_VOID(ReadConstants(reader, calibration.layers_, calibration.constants_));
  if (version == kBandsVersion) {
    KVCAST_TRY(Bands bands, Bands::Read(reader, calibration.layers_));
    calibration.bands_ = std::make_shared<const Bands>(std::move(bands));
  }
  if (!reader.done()) {
    return reader.Malformed("The calibration has not as many constants as its layers need.");
  }
  calibration.Write();
  if (calibration.file_ != file) {
    return NotACalibration("The calibration is not written as it must be.").At(0);
  }
  return calibration;
}

Result<TrackFormat> Calibration::FormatOf(Rung rung, uint32_t block_tokens,
                                          const Slice& slice) const {
  KVCAST_TRY(const BlockShape shape, BlockShape(layers_, block_tokens).Sliced(slice));
  KVCAST_TRY(TrackFormat format,
             constants_.Sliced(layers_, slice).FormatOf(rung, type_, shape, slice));
  if (!format.scales.empty() || !format.tables.empty() || BandRungIndex(rung)) {
    format.calibration = digest_;
  }
  if (BandRungIndex(rung)) {
    KVCAST_TRY_VOID(CheckBands(format));
  }
  return format;
}

Result<void> Calibration::CheckBands(const TrackFormat& format) const {
  if (bands_ == nullptr) {
    return Error(ErrorCode::kUnsupported, "The calibration is one without AC and KTC.");
  }
  if (format.calibration != digest_ || format.first_layer > layers_.size() ||
      format.layers.size() > layers_.size() - format.first_layer) {
    return Error(ErrorCode::kMismatch, "The track is not one of this calibration.");
  }
  for (size_t i = 0; i < format.layers.size(); ++i) {
    const LayerShape& whole = layers_[format.first_layer + i];
    const LayerShape& part = format.layers[i];
    if (part.key_size != whole.key_size || part.value_size != whole.value_size ||
        format.first_head > whole.kv_heads || part.kv_heads > whole.kv_heads - format.first_head) {
      return Error(ErrorCode::kMismatch, "The track is not one of this calibration.");
    }
    if (format.rung != Rung::kAc && bands_->form == BandForm::kLayer &&
        part.kv_heads != whole.kv_heads) {
      return Error(ErrorCode::kUnsupported,
                   "This calibration codes all heads of a layer together, and a slice of heads "
                   "cannot be decoded alone; calibrate with one transform per head.");
    }
  }
  return {};
}

}  // namespace kvcast
