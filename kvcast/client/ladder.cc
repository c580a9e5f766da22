#include "kvcast/client/ladder.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/codec/bands.h"
#include "kvcast/kv/track_properties.h"

namespace kvcast {
namespace {

bool IsPlain(Rung rung) { return rung == Rung::kBf16 || rung == Rung::kFp16; }

bool IsLossless(Rung rung) { return rung == Rung::kBf16Lossless || rung == Rung::kFp16Lossless; }

bool HasConstants(Rung rung) {
  return !IsPlain(rung) && rung != Rung::kInt8 && rung != Rung::kInt4;
}

// Its layers are the model's own, of which the pages may be a slice.
Result<TrackFormat> FormatCalibrated(Rung rung, HalfType type, const PromptPages& pages,
                                     const Calibration& calibration) {
  KVCAST_TRY(TrackFormat format, calibration.FormatOf(rung, pages.shape().tokens(), pages.slice()));
  if (format.Shape() != pages.shape() || calibration.value_type() != type) {
    return Error(ErrorCode::kMismatch,
                 "The calibration is not one of this model: its layers, heads, head sizes or "
                 "values are others.");
  }
  return format;
}

Result<void> CheckFits(const TrackFormat& format, Rung rung, const PromptPages& pages) {
  const Slice& slice = pages.slice();
  if (format.rung != rung) {
    return Error(ErrorCode::kMismatch,
                 "The track says that it is of another rung than its name does.");
  }
  if (format.Shape() != pages.shape() ||
      format.first_layer != (slice.layers ? slice.layers->first : 0) ||
      format.first_head != (slice.heads ? slice.heads->first : 0)) {
    return Error(ErrorCode::kMismatch,
                 "The track is of other layers, heads, head sizes or block lengths.");
  }
  return {};
}

}  // namespace

bool Ladder::Loads(Rung rung) const {
  if (const std::optional<HalfType> exact = ExactTypeOf(rung)) {
    return *exact == pages_;
  }
  return !BandRungIndex(rung) || (calibration_ != nullptr && calibration_->bands() != nullptr);
}

bool Ladder::Publishes(Rung rung) const {
  const bool scaled = rung == Rung::kFp8 || rung == Rung::kFp4;
  return Loads(rung) && (calibration_ != nullptr || !scaled);
}

std::vector<Rung> Ladder::PublishedByDefault(const Slice& slice) const {
  std::vector<Rung> rungs = {LoadedByDefault().front()};
  if (Publishes(Rung::kKtcMedium) && !slice.heads) {
    rungs.push_back(Rung::kKtcMedium);
  }
  return rungs;
}

std::vector<Rung> Ladder::LoadedByDefault() const {
  return pages_ == HalfType::kBf16 ? std::vector{Rung::kBf16Lossless, Rung::kBf16}
                                   : std::vector{Rung::kFp16Lossless, Rung::kFp16};
}

std::vector<Rung> Ladder::LoadedDownTo(Rung least) const {
  return LoadedBetween(RungsByQuality().front(), least);
}

std::vector<Rung> Ladder::LoadedBetween(Rung best, Rung least) const {
  std::vector<Rung> rungs;
  for (const Rung rung : RungsByQuality()) {
    if (Loads(rung) && !IsTruer(rung, best) && !IsTruer(least, rung)) {
      rungs.push_back(rung);
    }
  }
  return rungs;
}

Result<void> Ladder::CheckPublishes(Rung rung, const PromptPages& pages) const {
  if (!Publishes(rung)) {
    return Error(ErrorCode::kUnsupported,
                 "Pages of " + std::string(ToString(pages_)) + " cannot be published as " +
                     std::string(ToString(rung)) +
                     (calibration_ == nullptr ? " without a calibration of the model."
                                              : " with this calibration."));
  }
  if (HasConstants(rung) && calibration_ != nullptr) {
    KVCAST_TRY_VOID(FormatCalibrated(rung, pages_, pages, *calibration_));
  }
  return {};
}

bool Ladder::LooksAtPages(Rung rung) const {
  return calibration_ == nullptr && IsLossless(rung) && Publishes(rung);
}

Result<std::shared_ptr<const Codec>> Ladder::Encoder(Rung rung, const PromptPages& pages,
                                                     const ExponentSurvey* seen) const {
  KVCAST_TRY_VOID(CheckPublishes(rung, pages));
  TrackFormat format = TrackFormat::Of(rung, pages_, pages.shape(), pages.slice());
  if (LooksAtPages(rung)) {
    KVCAST_CHECK(seen != nullptr);
    KVCAST_TRY(format, seen->FormatOf(rung));
  } else if (HasConstants(rung)) {
    KVCAST_TRY(format, FormatCalibrated(rung, pages_, pages, *calibration_));
  }
  KVCAST_TRY(std::unique_ptr<const Codec> codec, calibration_ == nullptr
                                                     ? Codec::Of(format, pages_)
                                                     : Codec::Of(format, pages_, *calibration_));
  return std::shared_ptr<const Codec>(std::move(codec));
}

Result<std::shared_ptr<const Codec>> Ladder::Decoder(Rung rung, const Properties& track,
                                                     const PromptPages& pages) const {
  KVCAST_TRY(const std::optional<std::string> told, FormatIn(track));
  if (!told && !IsPlain(rung)) {
    return Error(ErrorCode::kMalformed, "The track does not say how it is coded.");
  }
  TrackFormat format = TrackFormat::Of(rung, pages_, pages.shape(), pages.slice());
  if (told) {
    KVCAST_TRY(format, TrackFormat::Parse(*told));
  }
  KVCAST_TRY_VOID(CheckFits(format, rung, pages));
  // What the others need, their tracks say: it may be of a calibration that this one has not seen.
  const bool calibrated = calibration_ != nullptr && BandRungIndex(rung);
  KVCAST_TRY(std::unique_ptr<const Codec> codec,
             calibrated ? Codec::Of(format, pages_, *calibration_) : Codec::Of(format, pages_));
  return std::shared_ptr<const Codec>(std::move(codec));
}

}  // namespace kvcast
