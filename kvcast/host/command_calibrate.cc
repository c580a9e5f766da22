#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "kvcast/codec/survey.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/rung_figures.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

struct CalibrateOptions {
  std::vector<std::string> samples;
  std::string out;
  CodingFlags coding;
};

struct Sampled {
  Calibration calibration;
  uint64_t tokens = 0;
  uint64_t values = 0;
};

// All samples, however long each is: blocks matter to none of the constants.
Result<Sampled> SampleAll(const CalibrateOptions& options) {
  std::optional<Survey> survey;
  uint64_t tokens = 0;
  uint64_t values = 0;
  Progress progress("Calibrating");
  for (size_t i = 0; i < options.samples.size(); ++i) {
    KVCAST_TRY(const CacheBlocks blocks, options.coding.Open(options.samples[i]));
    if (!survey) {
      survey.emplace(blocks.shape(), blocks.type());
    }
    if (survey->type() != blocks.type()) {
      return Error(ErrorCode::kMismatch, "The samples before it hold another type of values.")
          .In(options.samples[i]);
    }
    for (size_t block = 0; block < blocks.count(); ++block) {
      survey->Add(blocks.Block(block));
    }
    tokens += blocks.tokens();
    values += blocks.values();
    progress.Update(i + 1, options.samples.size());
  }
  progress.Done();
  return Sampled{Calibration::Of(*survey), tokens, values};
}

Result<void> RunCalibrate(const CalibrateOptions& options) {
  KVCAST_TRY(FileWriter writer, FileWriter::Create(options.out));
  KVCAST_TRY(const Sampled sampled, SampleAll(options));
  const Calibration& calibration = sampled.calibration;
  KVCAST_TRY_VOID(writer.Append(AsBytes(calibration.file())));
  KVCAST_TRY_VOID(writer.Commit());
  KVCAST_TRY(const CacheBlocks first, options.coding.Open(options.samples[0]));
  Json rows = Json::array();
  if (!options.coding.json) {
    fmt::print("samples      {}: {} tokens, {} values in {}\n", options.samples.size(),
               Grouped(sampled.tokens), Grouped(sampled.values), ToString(first.type()));
    fmt::print("calibration  {}: {}\n", options.out, HumanBytes(calibration.file().size()));
    fmt::print("digest       {}\n\n", calibration.digest().ToHex());
    fmt::print("What each rung makes of {}:\n\n", options.samples[0]);
    PrintFiguresHeading();
  }
  for (const Rung rung : RungsFor(first.type())) {
    KVCAST_TRY(const TrackFormat format, FormatFor(first, rung, &calibration));
    KVCAST_TRY(const RungFigures figures, FiguresOf(first, format));
    if (options.coding.json) {
      rows.push_back(figures.ToJson());
    } else {
      PrintFigures(figures);
    }
  }
  if (options.coding.json) {
    fmt::print("{}", JsonText(Json{{"samples", options.samples.size()},
                                   {"tokens", sampled.tokens},
                                   {"values", sampled.values},
                                   {"bytes", calibration.file().size()},
                                   {"digest", calibration.digest().ToHex()},
                                   {"rungs", rows}}));
  }
  return {};
}

}  // namespace

void AddCalibrateCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "calibrate",
      "Make the calibration of a model from sample caches\n\n"
      "SAMPLE... are KV caches of the model, of text like that which will be cached; a few dozen "
      "prompts are plenty. The result is one small file: for FP8 and FP4 how large values are in "
      "each layer and head, for the lossless rungs how often each exponent is. The same samples "
      "give the same file, whatever their order, and its digest names it: tracks that were encoded "
      "with it carry the digest.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast calibrate --model DIR/config.json samples/*.safetensors -o model.kvcal\n"
      "kvcast encode --model DIR --rung FP8 --calibration model.kvcal cache.safetensors -o "
      "cache.kvc");
  const auto options = std::make_shared<CalibrateOptions>();
  command->add_option("SAMPLE", options->samples, "KV caches in safetensors files")->required();
  command->add_option("-o,--output", options->out, "The calibration to write")
      ->type_name("FILE")
      ->required();
  CodingFlags::AddModelTo(*command, options->coding)->required();
  CodingFlags::AddBlockTokensTo(*command, options->coding);
  command->add_flag("--json", options->coding.json, "Print what was done as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunCalibrate(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
