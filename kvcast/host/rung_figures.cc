#include "kvcast/host/rung_figures.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "kvcast/codec/codec.h"
#include "kvcast/codec/kvc_file.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/host/cache_rows.h"
#include "kvcast/host/model_text.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

struct SquareSums {
  double of_values = 0;
  double of_errors = 0;
};

void AddRow(HalfType type, std::span<const std::byte> was, std::span<const std::byte> is,
            SquareSums& sums) {
  for (size_t at = 0; at < was.size(); at += kPageValueBytes) {
    uint16_t bits[2] = {};
    std::memcpy(&bits[0], was.data() + at, kPageValueBytes);
    std::memcpy(&bits[1], is.data() + at, kPageValueBytes);
    const double before = ToFloat(type, Bounded(type, bits[0]));
    const double after = ToFloat(type, Bounded(type, bits[1]));
    sums.of_values += before * before;
    sums.of_errors += (before - after) * (before - after);
  }
}

void AddBlock(HalfType type, const BlockView& was, const BlockView& is, SquareSums& sums) {
  for (uint32_t token = 0; token < was.shape().tokens(); ++token) {
    for (size_t layer = 0; layer < was.shape().layers().size(); ++layer) {
      const LayerShape& shape = was.shape().layers()[layer];
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; shape.size(plane) > 0 && head < shape.kv_heads; ++head) {
          AddRow(type, was.Row(token, layer, plane, head), is.Row(token, layer, plane, head), sums);
        }
      }
    }
  }
}

double SecondsOf(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Json RungFigures::ToJson() const {
  return Json{{"rung", std::string(ToString(rung))},
              {"bytes", bytes},
              {"bits_per_value", bits_per_value},
              {"ratio", ratio},
              {"error", error},
              {"encode_bytes_per_s", encode_bytes_per_s},
              {"decode_bytes_per_s", decode_bytes_per_s}};
}

Result<RungFigures> FiguresOf(const CacheBlocks& blocks, const TrackFormat& format,
                              const Calibration* calibration) {
  KVCAST_TRY(const std::unique_ptr<const Codec> codec, CodecFor(format, calibration));
  CacheRows rows(blocks.shape().layers(), ValuesOf(blocks.type()), blocks.shape().tokens());
  KVCAST_TRY(const PagedCache cache,
             BlocksInARow(blocks.shape(), ValuesOf(blocks.type()), rows.Memory()));
  KVCAST_TRY(BlockView decoded, BlockView::Of(cache, PagesInARow(1), 0, blocks.shape().tokens()));
  RungFigures figures;
  figures.rung = format.rung;
  figures.bytes = KvcOpening(format).size();
  Duration encoding{};
  Duration decoding{};
  SquareSums sums;
  for (size_t i = 0; i < blocks.count(); ++i) {
    const BlockView block = blocks.Block(i);
    const Instant start = Now();
    const std::vector<Bytes> objects = codec->EncodeBlock(block);
    const Instant encoded = Now();
    uint32_t token = 0;
    for (const Bytes& object : objects) {
      figures.bytes += KvcObjectOpening(format, token, object.size()).size() + object.size();
      token += codec->TokensFrom(token);
    }
    const Instant counted = Now();
    const Codec::Decoded done = codec->DecodeSeveral(objects, 0, decoded);
    if (done.fault) {
      return *done.fault;
    }
    encoding += encoded - start;
    decoding += Now() - counted;
    AddBlock(blocks.type(), block, decoded, sums);
  }
  const auto values = static_cast<double>(blocks.values());
  figures.bits_per_value = 8 * static_cast<double>(figures.bytes) / values;
  figures.ratio = values * kPageValueBytes / static_cast<double>(figures.bytes);
  figures.error = sums.of_values > 0 ? std::sqrt(sums.of_errors / sums.of_values) : 0;
  const auto rate = [&](Duration spent) {
    return SecondsOf(spent) > 0 ? values * kPageValueBytes / SecondsOf(spent) : 0;
  };
  figures.encode_bytes_per_s = rate(encoding);
  figures.decode_bytes_per_s = rate(decoding);
  return figures;
}

void PrintFiguresHeading() {
  fmt::print("{:<14}{:>14}{:>12}{:>8}{:>10}{:>13}{:>13}\n", "rung", "bytes", "bits/value", "ratio",
             "error", "encode", "decode");
}

void PrintFigures(const RungFigures& figures) {
  fmt::print("{:<14}{:>14}{:>12.3f}{:>8.2f}{:>10}{:>13}{:>13}\n", ToString(figures.rung),
             Grouped(figures.bytes), figures.bits_per_value, figures.ratio,
             figures.error == 0 ? "none" : fmt::format("{:.3f} %", figures.error * 100),
             HumanRate(figures.encode_bytes_per_s), HumanRate(figures.decode_bytes_per_s));
}

}  // namespace kvcast
