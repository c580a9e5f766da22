// What a node keeps must come into memory that is already there: does a payload that arrives in
// packets cost about what copying it costs? Beside memcpy of the same bytes, in turn, into the
// arena and onto the heap; first while the memory fills, then while it turns over.
#include <benchmark/benchmark.h>

#include <cstring>
#include <deque>
#include <vector>

#include "bench/interleaved.h"
#include "kvcast/io/arena.h"
#include "kvcast/moqt/payload_reader.h"

namespace kvcast {
namespace {

constexpr size_t kHeldBytes = size_t{512} << 20;
constexpr size_t kRoundBytes = size_t{16} << 20;
constexpr size_t kPacketBytes = 1200;

// Holds the newest so many bytes of payloads, as a full tier does.
class Receiver {
 public:
  Receiver(ChunkPool* pool, size_t payload_bytes) : pool_(pool), payload_(payload_bytes) {}

  void Receive(size_t bytes) {
    for (; bytes >= payload_.size(); bytes -= payload_.size()) {
      while (held_.size() * payload_.size() > kHeldBytes) {
        held_.pop_front();
      }
      reader_.Begin(payload_.size(), pool_);
      for (size_t at = 0; at < payload_.size(); at += kPacketBytes) {
        std::span<const std::byte> in =
            std::span(payload_).subspan(at, std::min(kPacketBytes, payload_.size() - at));
        (void)reader_.Read(in);
      }
      held_.push_back(reader_.Take());
    }
  }

 private:
  ChunkPool* pool_;
  std::vector<std::byte> payload_;
  moqt::PayloadReader reader_;
  std::deque<Bytes> held_;
};

void CopyBeside(benchmark::State& state, ChunkPool* pool, bool filled) {
  const auto payload_bytes = static_cast<size_t>(state.range(0)) * 1024;
  std::vector<std::byte> from(kRoundBytes, std::byte{1});
  std::vector<std::byte> to(kRoundBytes);
  Receiver receiver(pool, payload_bytes);
  if (filled) {
    receiver.Receive(2 * kHeldBytes);
  }
  Interleave(
      state, "of_memcpy",
      [&] {
        std::memcpy(to.data(), from.data(), kRoundBytes);
        benchmark::DoNotOptimize(to.data());
      },
      [&] { receiver.Receive(kRoundBytes); });
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRoundBytes));
}

void IntoArena(benchmark::State& state, bool filled) {
  Result<Arena> arena = MapArena({.bytes = kHeldBytes + kHeldBytes / 4});
  if (!arena.ok()) {
    state.SkipWithError(arena.error().message().c_str());
    return;
  }
  ChunkPool pool(0, std::move(arena->memory));
  CopyBeside(state, &pool, filled);
}

void OntoHeap(benchmark::State& state, bool filled) { CopyBeside(state, nullptr, filled); }

// As many rounds as fill the memory once.
constexpr int kFillRounds = kHeldBytes / kRoundBytes;

BENCHMARK_CAPTURE(IntoArena, first, false)
    ->Arg(160)
    ->Arg(2048)
    ->Iterations(kFillRounds)
    ->UseManualTime();
BENCHMARK_CAPTURE(OntoHeap, first, false)
    ->Arg(160)
    ->Arg(2048)
    ->Iterations(kFillRounds)
    ->UseManualTime();
BENCHMARK_CAPTURE(IntoArena, turnover, true)->Arg(160)->Arg(2048)->UseManualTime();
BENCHMARK_CAPTURE(OntoHeap, turnover, true)->Arg(160)->Arg(2048)->UseManualTime();

}  // namespace
}  // namespace kvcast
