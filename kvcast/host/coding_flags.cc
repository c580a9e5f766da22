#include "kvcast/host/coding_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "kvcast/codec/bands.h"
#include "kvcast/engine/model_ladder.h"
#include "kvcast/host/suggestion.h"

namespace kvcast {
namespace {

constexpr Rung kBuiltRungs[] = {Rung::kBf16,         Rung::kFp16,      Rung::kBf16Lossless,
                                Rung::kFp16Lossless, Rung::kInt8,      Rung::kFp8,
                                Rung::kInt4,         Rung::kFp4,       Rung::kAc,
                                Rung::kKtcFine,      Rung::kKtcMedium, Rung::kKtcCoarse};

// Says what is wrong; empty if nothing is.
std::string CodedBlockProblem(const std::string& text) {
  uint32_t tokens = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, tokens);
  const bool fits = error == std::errc() && read == end && !text.starts_with('0') &&
                    tokens <= TrackFormat::kTokensMax;
  return fits ? "" : "'" + text + "' is not a number of tokens from 1 to 65535.";
}

}  // namespace

CLI::Option* CodingFlags::AddModelTo(CLI::App& command, CodingFlags& flags) {
  return command
      .add_option("--model", flags.model,
                  "The model's config.json, or the folder that it is in: says which layers and "
                  "heads a cache has")
      ->type_name("CONFIG");
}

void CodingFlags::AddCalibrationTo(CLI::App& command, CodingFlags& flags, const std::string& what) {
  command.add_option("--calibration", flags.calibration, what)->type_name("FILE");
}

void CodingFlags::AddBlockTokensTo(CLI::App& command, CodingFlags& flags) {
  command.add_option("--block-tokens", flags.block_tokens, "How many tokens make a block")
      ->type_name("N")
      ->check(CodedBlockProblem)
      ->capture_default_str();
}

Result<CacheBlocks> CodingFlags::Open(const std::string& file) const {
  std::vector<LayerShape> layers;
  if (!model.empty()) {
    KVCAST_TRY(layers, LayersOfModel(model));
  }
  return CacheBlocks::Open(file, static_cast<uint32_t>(block_tokens),
                           model.empty() ? nullptr : &layers);
}

Result<std::optional<Calibration>> CodingFlags::ReadCalibrationSaid() const {
  std::optional<Calibration> said;
  if (!calibration.empty()) {
    KVCAST_TRY(said, ReadCalibration(calibration));
  }
  return said;
}

Result<Rung> BuiltRungOf(const std::string& name) {
  std::vector<std::string> names;
  for (const Rung rung : kBuiltRungs) {
    if (ToString(rung) == name) {
      return Rung{rung};
    }
    names.emplace_back(ToString(rung));
  }
  const auto meant = Suggestion(name, names);
  return Error(
      ErrorCode::kInvalid,
      fmt::format("'{}' is no rung of this version.{} There are {}.", name,
                  meant ? fmt::format(" Did you mean '{}'?", *meant) : "", fmt::join(names, ", ")));
}

std::string RungProblem(const std::string& name) {
  const Result<Rung> rung = BuiltRungOf(name);
  return rung.ok() ? "" : rung.error().message();
}

std::vector<Rung> RungsFor(HalfType type, bool calibrated) {
  std::vector<Rung> rungs;
  std::ranges::copy_if(kBuiltRungs, std::back_inserter(rungs), [&](Rung rung) {
    const std::optional<HalfType> exact = ExactTypeOf(rung);
    return (calibrated || !BandRungIndex(rung)) && (!exact || *exact == type);
  });
  return rungs;
}

}  // namespace kvcast
