#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/codec/bands.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/kvc_file.h"
#include "kvcast/host/cache_rows.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

// No rung makes a cache so many times smaller.
constexpr uint64_t kTimesSmallerMax = 64;

struct DecodeOptions {
  std::string in;
  std::string out;
  CodingFlags coding;
};

// Whether a coded cache is one of the model, and of the calibration if one is said.
Result<void> CheckDecodes(const DecodeOptions& options, const TrackFormat& format,
                          const Calibration* calibration) {
  KVCAST_TRY(const std::vector<LayerShape> layers, LayersOfModel(options.coding.model));
  if (format.first_layer != 0 || format.first_head != 0 ||
      !std::ranges::equal(layers, format.layers)) {
    return Error(ErrorCode::kMismatch,
                 "The coded cache is not one of this model: its layers, heads or head sizes are "
                 "others.");
  }
  if (calibration == nullptr && BandRungIndex(format.rung)) {
    return Error(
        ErrorCode::kInvalid,
        fmt::format("The rung {} cannot be decoded without --calibration.", ToString(format.rung)));
  }
  if (calibration != nullptr && format.calibration &&
      *format.calibration != calibration->digest()) {
    return Error(ErrorCode::kMismatch, "The cache was encoded with another calibration, " +
                                           format.calibration->ToHex().substr(0, 16) + ".");
  }
  return {};
}

// The file that it becomes. Mismatch: objects that are too short for what the format says, on whose
// word no memory is taken.
Result<KvFilePlan> PlanFor(const TrackFormat& format, size_t tokens, size_t coded_bytes) {
  if (tokens > std::numeric_limits<uint32_t>::max()) {
    return Error(ErrorCode::kTooLarge, "The coded cache has more tokens than a KV file can hold.");
  }
  KVCAST_TRY(
      KvFilePlan plan,
      KvFilePlan::Of(format.layers, ValuesOf(format.value_type), static_cast<uint32_t>(tokens),
                     {{std::string(kRungKey), std::string(ToString(format.rung))}}));
  if (plan.file_bytes() / kTimesSmallerMax > coded_bytes) {
    return Error(ErrorCode::kMismatch, "The objects are shorter than any of this shape and rung.");
  }
  return plan;
}

Result<Duration> DecodeAll(const KvcFile& file, const Codec& codec, const PagedCache& cache) {
  Progress progress("Decoding");
  const uint32_t block_tokens = file.format().block_tokens;
  const std::vector<uint32_t> pages = PagesInARow(file.blocks());
  Duration decoding{};
  for (size_t i = 0; i < file.blocks(); ++i) {
    KVCAST_TRY(BlockView block, BlockView::Of(cache, pages, i * block_tokens, block_tokens));
    const Instant start = Now();
    std::vector<std::span<const std::byte>> payloads;
    for (size_t object = 0; object < file.objects_per_block(); ++object) {
      payloads.push_back(file.Payload(i, object));
    }
    const Codec::Decoded decoded = codec.DecodeSeveral(payloads, 0, block);
    if (decoded.fault) {
      const size_t token = decoded.objects * file.format().run_tokens;
      return Error(decoded.fault->code(),
                   fmt::format("Block {}, token {}: {}", i, token, decoded.fault->message()))
          .At(file.Place(i, decoded.objects));
    }
    decoding += Now() - start;
    progress.Update(i + 1, file.blocks());
  }
  progress.Done();
  return decoding;
}

void PrintDecoded(const DecodeOptions& options, const KvcFile& file, uint64_t bytes,
                  Duration decoding) {
  const double seconds = std::chrono::duration<double>(decoding).count();
  const TrackFormat& format = file.format();
  const size_t tokens = file.blocks() * format.block_tokens;
  const auto values = static_cast<double>(tokens * format.Shape().values_per_token());
  const double bits = 8 * static_cast<double>(bytes) / values;
  if (options.coding.json) {
    fmt::print("{}", JsonText(Json{{"rung", std::string(ToString(format.rung))},
                                   {"tokens", tokens},
                                   {"blocks", file.blocks()},
                                   {"values", static_cast<uint64_t>(values)},
                                   {"bytes", bytes},
                                   {"bits_per_value", bits},
                                   {"seconds", seconds}}));
    return;
  }
  fmt::print("coded    {}: {} at {}, {:.3f} bits a value\n", options.in, HumanBytes(bytes),
             ToString(format.rung), bits);
  fmt::print("cache    {}: {} tokens in {}\n", options.out, Grouped(tokens),
             ToString(format.value_type));
  fmt::print("took     {}, {} of values\n", HumanDuration(decoding),
             HumanRate(seconds > 0 ? values * kPageValueBytes / seconds : 0));
}

Result<void> RunDecode(const DecodeOptions& options) {
  KVCAST_TRY(const MappedFile mapped, MappedFile::Open(options.in));
  const Result<KvcFile> file = KvcFile::Parse(mapped.span());
  if (!file.ok()) {
    return Error(file.error()).In(options.in);
  }
  const TrackFormat& format = file->format();
  KVCAST_TRY(const std::optional<Calibration> calibration, options.coding.ReadCalibrationSaid());
  const Calibration* const said = calibration ? &*calibration : nullptr;
  if (Result<void> fits = CheckDecodes(options, format, said); !fits.ok()) {
    return std::move(fits).error().In(options.in);
  }
  KVCAST_TRY(const std::unique_ptr<const Codec> codec, CodecFor(format, said));
  const ValueType type = ValuesOf(format.value_type);
  const size_t tokens = file->blocks() * format.block_tokens;
  const Result<KvFilePlan> plan = PlanFor(format, tokens, mapped.span().size());
  if (!plan.ok()) {
    return Error(plan.error()).In(options.in);
  }
  KVCAST_TRY(FileWriter writer, FileWriter::Create(options.out));
  CacheRows rows(format.layers, type, tokens);
  KVCAST_TRY(const PagedCache cache, BlocksInARow(codec->shape(), type, rows.Memory()));
  const Result<Duration> decoding = DecodeAll(*file, *codec, cache);
  if (!decoding.ok()) {
    return Error(decoding.error()).In(options.in);
  }
  KVCAST_TRY_VOID(rows.WriteAs(*plan, std::move(writer)));
  PrintDecoded(options, *file, mapped.span().size(), *decoding);
  return {};
}

}  // namespace

void AddDecodeCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "decode",
      "Decode a coded KV cache into a safetensors file\n\n"
      "CODED is what 'kvcast encode' wrote. It says itself how it was encoded; the model says "
      "what must be in it. A damaged byte, another model or another calibration is an error, and "
      "then nothing is written.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast decode --model DIR/config.json cache.kvc -o cache.safetensors\n"
      "kvcast decode --model DIR --calibration model.kvcal cache.kvc -o cache.safetensors --json");
  const auto options = std::make_shared<DecodeOptions>();
  command->add_option("CODED", options->in, "A coded cache")->required();
  command->add_option("-o,--output", options->out, "The safetensors file to write")
      ->type_name("FILE")
      ->required();
  CodingFlags::AddModelTo(*command, options->coding)->required();
  CodingFlags::AddCalibrationTo(
      *command, options->coding,
      "The calibration that it must have been encoded with, if with any. AC and KTC cannot be "
      "decoded without; the constants of other rungs travel with the cache, and this is a check");
  command->add_flag("--json", options->coding.json, "Print what was done as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunDecode(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
