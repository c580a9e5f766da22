#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/client/prompt_pages.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/exponent_survey.h"
#include "kvcast/codec/half_type.h"
#include "kvcast/kv/rung.h"
#include "kvcast/object/properties.h"

namespace kvcast {

// At which rungs an engine can publish and load: what its pages hold, and the constants of its
// model, if it has them.
class Ladder {
 public:
  explicit Ladder(HalfType pages, std::shared_ptr<const Calibration> calibration = nullptr)
      : pages_(pages), calibration_(std::move(calibration)) {}

  HalfType pages() const { return pages_; }
  // Null: there is none.
  const Calibration* calibration() const { return calibration_.get(); }
  // The exact rungs are those of pages of their own type; AC and KTC want a calibration, FP8 and
  // FP4 only to be published: then their tracks say all of it.
  bool Loads(Rung rung) const;
  bool Publishes(Rung rung) const;
  // What to publish where nobody says otherwise: exact and small, and KTC-medium if it can.
  std::vector<Rung> PublishedByDefault(const Slice& slice = {}) const;
  // What to load then: the rungs that give the very values, the smaller first.
  std::vector<Rung> LoadedByDefault() const;
  // All that it can load and that are as true as this one, the truest first: what to choose from
  // where a load has a deadline.
  std::vector<Rung> LoadedDownTo(Rung least) const;
  // And that are no truer than `best`.
  std::vector<Rung> LoadedBetween(Rung best, Rung least) const;

  // Unsupported: a rung at which it cannot publish. Mismatch: the calibration is of other layers or
  // values than these pages.
  Result<void> CheckPublishes(Rung rung, const PromptPages& pages) const;
  // Without a calibration the lossless rungs take constants that suit the very pages that are
  // published: those are to be looked at first.
  bool LooksAtPages(Rung rung) const;
  // What encodes these pages; `seen` is what was seen of them, where they are to be looked at.
  // Fails as CheckPublishes() does.
  Result<std::shared_ptr<const Codec>> Encoder(Rung rung, const PromptPages& pages,
                                               const ExponentSurvey* seen = nullptr) const;

  // What decodes a track into these pages, by the track's own properties: those of a plain rung
  // need not say anything. Mismatch: it is of another rung, shape, slice or calibration.
  Result<std::shared_ptr<const Codec>> Decoder(Rung rung, const Properties& track,
                                               const PromptPages& pages) const;

 private:
  HalfType pages_;
  std::shared_ptr<const Calibration> calibration_;
};

}  // namespace kvcast
