#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "kvcast/codec/survey.h"
#include "kvcast/host/band_sampling.h"
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
  std::string weights;
  std::string transform;  // "head" or "layer"; empty: what suits the model.
  CodingFlags coding;
};

struct Sampled {
  Calibration calibration;
  uint64_t tokens = 0;
  uint64_t values = 0;
};

// The samples in an order that does not depend on how they were said: sums do, in the last place.
Result<std::vector<std::string>> InTheirOrder(const std::vector<std::string>& samples) {
  std::vector<std::pair<std::string, std::string>> digests;
  for (const std::string& sample : samples) {
    KVCAST_TRY(const MappedFile mapped, MappedFile::Open(sample));
    digests.emplace_back(Sha256::Of(mapped.span()).ToHex(), sample);
  }
  std::ranges::sort(digests);
  std::vector<std::string> ordered;
  for (auto& [digest, sample] : digests) {
    ordered.push_back(std::move(sample));
  }
  return ordered;
}

// All samples, however long each is: blocks matter to none of the constants.
Result<Sampled> SampleAll(const CalibrateOptions& options) {
  KVCAST_TRY(const std::vector<LayerShape> layers, LayersOfModel(options.coding.model));
  KVCAST_TRY(std::vector<std::string> ordered, InTheirOrder(options.samples));
  const BandForm form = options.transform.empty()     ? UsualForm(layers)
                        : options.transform == "head" ? BandForm::kHead
                                                      : BandForm::kLayer;
  const BandSampling sampling{std::move(ordered), options.weights, options.coding, form};
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
  }
  KVCAST_TRY(Bands bands, sampling.Sampled(values, progress));
  progress.Done();
  return Sampled{Calibration::Of(*survey, std::move(bands)), tokens, values};
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
  for (const Rung rung : RungsFor(first.type(), /*calibrated=*/true)) {
    KVCAST_TRY(const TrackFormat format, FormatFor(first, rung, &calibration));
    KVCAST_TRY(const RungFigures figures, FiguresOf(first, format, &calibration));
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
      "prompts are plenty. Where they hold queries too, layers.I.q, AC and KTC spend their bits "
      "where "
      "those look; where the weights are said, where the output projection does. The result is one "
      "file: for FP8 and FP4 how large values are in each layer and head, for the lossless rungs "
      "how "
      "often each exponent is, for AC and KTC means, transforms and how often each number is. The "
      "same samples give the same file, whatever their order, and its digest names it: tracks that "
      "were encoded with it carry the digest.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast calibrate --model DIR/config.json samples/*.safetensors -o model.kvcal\n"
      "kvcast calibrate --model DIR --weights DIR/model.safetensors samples/* -o model.kvcal\n"
      "kvcast encode --model DIR --rung FP8 --calibration model.kvcal cache.safetensors -o "
      "cache.kvc");
  const auto options = std::make_shared<CalibrateOptions>();
  command->add_option("SAMPLE", options->samples, "KV caches in safetensors files")->required();
  command->add_option("-o,--output", options->out, "The calibration to write")
      ->type_name("FILE")
      ->required();
  CodingFlags::AddModelTo(*command, options->coding)->required();
  command
      ->add_option("--weights", options->weights,
                   "The model's weights, for their output projections")
      ->type_name("FILE");
  command
      ->add_option(
          "--transform", options->transform,
          "What KTC transforms together, a head or a whole layer: a layer is smaller, a head "
          "faster, and lets slices of heads be coded alone [default: layers of at most 512 "
          "values, else heads]")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"head", "layer"}));
  CodingFlags::AddBlockTokensTo(*command, options->coding);
  command->add_flag("--json", options->coding.json, "Print what was done as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunCalibrate(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
