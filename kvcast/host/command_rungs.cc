#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/host/coding_flags.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/rung_figures.h"

namespace kvcast {
namespace {

struct RungsOptions {
  std::string file;
  CodingFlags coding;
};

Result<void> RunRungs(const RungsOptions& options) {
  KVCAST_TRY(const std::optional<Calibration> calibration, options.coding.ReadCalibrationSaid());
  KVCAST_TRY(const CacheBlocks blocks, options.coding.Open(options.file));
  Json rows = Json::array();
  if (!options.coding.json) {
    fmt::print("{}: {} tokens in {} blocks, {} values in {}\n\n", options.file,
               Grouped(blocks.tokens()), blocks.count(), Grouped(blocks.values()),
               ToString(blocks.type()));
    PrintFiguresHeading();
  }
  const Calibration* const said = calibration ? &*calibration : nullptr;
  for (const Rung rung : RungsFor(blocks.type(), said != nullptr && said->bands() != nullptr)) {
    KVCAST_TRY(const TrackFormat format, FormatFor(blocks, rung, said));
    KVCAST_TRY(const RungFigures figures, FiguresOf(blocks, format, said));
    if (options.coding.json) {
      rows.push_back(figures.ToJson());
    } else {
      PrintFigures(figures);
    }
  }
  if (options.coding.json) {
    fmt::print("{}", JsonText(Json{{"tokens", blocks.tokens()},
                                   {"blocks", blocks.count()},
                                   {"values", blocks.values()},
                                   {"rungs", rows}}));
  }
  return {};
}

}  // namespace

void AddRungsCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "rungs",
      "Compare what each rung makes of a KV cache: size, error, speed\n\n"
      "Encodes and decodes the whole cache at every rung. Bytes are those that would travel, all "
      "headers and check sums counted; ratio is to the values as they are; error is the root of "
      "the mean square, as a share of the values' own; speeds are of values, on one core. What an "
      "error costs a model, only the model can say.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast rungs cache.safetensors\n"
      "kvcast rungs --calibration model.kvcal cache.safetensors --json");
  const auto options = std::make_shared<RungsOptions>();
  command->add_option("CACHE", options->file, "A KV cache in a safetensors file")->required();
  CodingFlags::AddModelTo(*command, options->coding);
  CodingFlags::AddCalibrationTo(
      *command, options->coding,
      "The model's calibration; without it, constants are those that suit this very cache, and "
      "there is neither AC nor KTC");
  CodingFlags::AddBlockTokensTo(*command, options->coding);
  command->add_flag("--json", options->coding.json, "Print the table as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunRungs(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
