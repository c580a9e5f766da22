#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/codec/codec.h"
#include "kvcast/codec/kvc_file.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"

namespace kvcast {
namespace {

struct EncodeOptions {
  std::string in;
  std::string out;
  std::string rung;
  CodingFlags coding;
};

struct Encoded {
  uint64_t bytes = 0;
  uint64_t objects = 0;
  Duration encoding{};  // Without reading or writing files.
};

Result<Encoded> WriteCoded(const CacheBlocks& blocks, const Codec& codec, FileWriter writer) {
  Encoded encoded;
  Progress progress("Encoding");
  const TrackFormat& format = codec.format();
  KVCAST_TRY_VOID(writer.Append(AsBytes(KvcOpening(format))));
  for (size_t i = 0; i < blocks.count(); ++i) {
    const Instant start = Now();
    const std::vector<Bytes> objects = codec.EncodeBlock(blocks.Block(i));
    encoded.encoding += Now() - start;
    uint32_t token = 0;
    for (const Bytes& object : objects) {
      KVCAST_TRY_VOID(writer.Append(AsBytes(KvcObjectOpening(format, token, object.size()))));
      for (size_t piece = 0; piece < object.piece_count(); ++piece) {
        KVCAST_TRY_VOID(writer.Append(object.piece(piece)));
      }
      token += format.run_tokens;
    }
    encoded.objects += objects.size();
    progress.Update((i + 1) * blocks.values() / blocks.count() * kPageValueBytes,
                    blocks.values() * kPageValueBytes);
  }
  encoded.bytes = writer.bytes_written();
  KVCAST_TRY_VOID(writer.Commit());
  progress.Done();
  return encoded;
}

void PrintEncoded(const EncodeOptions& options, const CacheBlocks& blocks, const Codec& codec,
                  const Encoded& encoded) {
  const double seconds = std::chrono::duration<double>(encoded.encoding).count();
  const auto values = static_cast<double>(blocks.values());
  const double bits = 8 * static_cast<double>(encoded.bytes) / values;
  const TrackFormat& format = codec.format();
  if (options.coding.json) {
    fmt::print("{}",
               JsonText(Json{
                   {"rung", std::string(ToString(format.rung))},
                   {"tokens", blocks.tokens()},
                   {"tokens_left_out", blocks.tokens_after()},
                   {"blocks", blocks.count()},
                   {"objects", encoded.objects},
                   {"values", blocks.values()},
                   {"bytes", encoded.bytes},
                   {"bits_per_value", bits},
                   {"ratio", 16 / bits},
                   {"calibration", format.calibration ? Json(format.calibration->ToHex()) : Json()},
                   {"seconds", seconds}}));
    return;
  }
  fmt::print("cache    {}: {} tokens in {}, {} blocks of {}\n", options.in,
             Grouped(blocks.tokens() + blocks.tokens_after()), ToString(blocks.type()),
             blocks.count(), blocks.shape().tokens());
  if (blocks.tokens_after() > 0) {
    fmt::print("         {} tokens after the last whole block left out\n", blocks.tokens_after());
  }
  fmt::print("rung     {}{}\n", ToString(format.rung),
             format.calibration ? ", calibration " + format.calibration->ToHex().substr(0, 16)
             : format.scales.empty() && format.tables.empty() ? ""
                                                              : ", constants from this cache");
  fmt::print("coded    {}: {} in {} objects, {:.3f} bits a value, {:.2f} times smaller\n",
             options.out, HumanBytes(encoded.bytes), Grouped(encoded.objects), bits, 16 / bits);
  fmt::print("took     {}, {} of values\n", HumanDuration(encoded.encoding),
             HumanRate(seconds > 0 ? values * kPageValueBytes / seconds : 0));
}

Result<void> RunEncode(const EncodeOptions& options) {
  KVCAST_TRY(const Rung rung, BuiltRungOf(options.rung));
  KVCAST_TRY(const std::optional<Calibration> calibration, options.coding.ReadCalibrationSaid());
  KVCAST_TRY(const CacheBlocks blocks, options.coding.Open(options.in));
  if (Result<void> enough = CheckTrueEnough(blocks.came(), rung); !enough.ok()) {
    return std::move(enough).error().In(options.in);
  }
  const Calibration* const said = calibration ? &*calibration : nullptr;
  KVCAST_TRY(const TrackFormat format, FormatFor(blocks, rung, said));
  KVCAST_TRY(const std::unique_ptr<const Codec> codec, CodecFor(format, said));
  KVCAST_TRY(FileWriter writer, FileWriter::Create(options.out));
  KVCAST_TRY(const Encoded encoded, WriteCoded(blocks, *codec, std::move(writer)));
  PrintEncoded(options, blocks, *codec, encoded);
  return {};
}

}  // namespace

void AddEncodeCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "encode",
      "Encode a KV cache at a rung, from a file into a file\n\n"
      "CACHE is a safetensors file, as 'kvcast inspect' describes it. What is written is what "
      "would travel: the properties of a track, once, and its objects, so that the size of the "
      "file is the size of the rung, all headers and check sums counted. Whole blocks are encoded; "
      "tokens after the last are left out, as they are never shared.\n\n"
      "Rungs: BF16, FP16 (as they are), BF16-lossless, FP16-lossless (smaller, bit by bit the "
      "same), Int8, FP8, Int4, FP4, AC, KTC-fine, KTC-medium, KTC-coarse. FP8, FP4 and the "
      "lossless "
      "ones have constants: with --calibration they are those of the model, without it those that "
      "suit this very cache. AC and KTC, the smallest, need the calibration, to decode as well. "
      "'kvcast rungs' compares all of them.");
  command->group(kCacheCommands);
  command->footer(
      "kvcast encode --model DIR/config.json --rung Int8 cache.safetensors -o cache.kvc\n"
      "kvcast encode --model DIR --rung FP8 --calibration model.kvcal cache.safetensors -o "
      "cache.kvc --json");
  const auto options = std::make_shared<EncodeOptions>();
  command->add_option("CACHE", options->in, "A KV cache in a safetensors file")->required();
  command->add_option("-o,--output", options->out, "The coded cache to write")
      ->type_name("FILE")
      ->required();
  CodingFlags::AddModelTo(*command, options->coding)->required();
  command->add_option("--rung", options->rung, "How to encode it")
      ->type_name("NAME")
      ->check(RungProblem)
      ->required();
  CodingFlags::AddCalibrationTo(*command, options->coding,
                                "The model's calibration, from 'kvcast calibrate'");
  CodingFlags::AddBlockTokensTo(*command, options->coding);
  command->add_flag("--json", options->coding.json, "Print what was done as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunEncode(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
