// How much of what the disk can do does a disk tier leave? Puts that are acknowledged when they are
// durable, and random gets that are checked, in turn with bare io_uring on files of the same
// directory: O_DIRECT, registered buffers, the same size and as many at a time.
//
// KVCAST_BENCH_DIR names a directory on the disk to be asked about (default: the current one).
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/interleaved.h"
#include "kvcast/base/check.h"
#include "kvcast/base/random.h"
#include "kvcast/io/aligned_buffer.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/io/tier_load_bench.h"

namespace kvcast {
namespace {

constexpr uint64_t kRoundBytes = 192 << 20;
constexpr int kRounds = 3;
constexpr uint64_t kGetSetBytes = 512 << 20;  // That random gets are from.
constexpr uint64_t kGetRoundBytes = 128 << 20;

using Shape = TierLoad::Shape;

// Bare io_uring on files of one size. Each is there before it is written, and is written once, as a
// segment is: to write a block again is quicker, since its file system need not note that it has
// been written.
class RawFiles {
 public:
  RawFiles(const std::filesystem::path& path, const Shape& shape, uint64_t bytes, int count)
      : shape_(shape), slots_(bytes / shape.device_bytes()) {
    for (int i = 0; i < count; ++i) {
      const std::string name = path.string() + std::to_string(i);
      files_.emplace_back(::open(name.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600));
      KVCAST_CHECK(files_.back());
      KVCAST_CHECK(::posix_fallocate(files_.back().number(), 0, static_cast<off_t>(bytes)) == 0);
      KVCAST_CHECK(::fsync(files_.back().number()) == 0);
    }
    KVCAST_CHECK(io_uring_queue_init(static_cast<unsigned>(2 * shape.depth), &ring_, 0) == 0);
    std::vector<iovec> buffers;
    for (size_t i = 0; i < shape.depth; ++i) {
      memory_.push_back(MakeAlignedBuffer(shape.device_bytes()));
      std::fill_n(memory_.back().get(), shape.device_bytes(), static_cast<std::byte>(i + 1));
      buffers.push_back({memory_.back().get(), shape.device_bytes()});
    }
    KVCAST_CHECK(io_uring_register_buffers(&ring_, buffers.data(),
                                           static_cast<unsigned>(buffers.size())) == 0);
  }
  ~RawFiles() { io_uring_queue_exit(&ring_); }
  RawFiles(const RawFiles&) = delete;
  RawFiles& operator=(const RawFiles&) = delete;

  // All of the next file, from its beginning, and then durable.
  void WriteNext() {
    uint64_t next = 0;
    KVCAST_CHECK(++current_ < static_cast<int>(files_.size()));
    Run(
        slots_, [&] { return next++; }, true);
    KVCAST_CHECK(::fdatasync(Current()) == 0);
  }
  // From the file that was written last.
  void ReadRandom(uint64_t count, Random& random) {
    Run(
        count, [&] { return random.Below(slots_); }, false);
  }

 private:
  int Current() const { return files_[static_cast<size_t>(current_)].number(); }

  template <typename Slot>
  void Run(uint64_t count, Slot slot, bool write) {
    uint64_t begun = 0;
    const auto begin = [&](size_t buffer) {
      io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
      const auto length = static_cast<unsigned>(shape_.device_bytes());
      const uint64_t offset = slot() * shape_.device_bytes();
      if (write) {
        io_uring_prep_write_fixed(entry, Current(), memory_[buffer].get(), length, offset,
                                  static_cast<int>(buffer));
      } else {
        io_uring_prep_read_fixed(entry, Current(), memory_[buffer].get(), length, offset,
                                 static_cast<int>(buffer));
      }
      io_uring_sqe_set_data64(entry, buffer);
      ++begun;
    };
    for (size_t i = 0; i < shape_.depth && begun < count; ++i) {
      begin(i);
    }
    for (uint64_t done = 0; done < count; ++done) {
      io_uring_submit(&ring_);
      io_uring_cqe* entry = nullptr;
      KVCAST_CHECK(io_uring_wait_cqe(&ring_, &entry) == 0);
      KVCAST_CHECK(entry->res == static_cast<int>(shape_.device_bytes()));
      const size_t buffer = io_uring_cqe_get_data64(entry);
      io_uring_cqe_seen(&ring_, entry);
      if (begun < count) {
        begin(buffer);
      }
    }
  }

  Shape shape_;
  uint64_t slots_;
  std::vector<Descriptor> files_;
  int current_ = -1;
  io_uring ring_{};
  std::vector<AlignedBuffer> memory_;
};

Shape ShapeOf(const benchmark::State& state) {
  return {static_cast<uint64_t>(state.range(0)), static_cast<size_t>(state.range(1))};
}

// At least 0.85.
void PutDurably(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  const ScratchDirectory scratch = *ScratchDirectory::Make(BenchDirectory());
  RawFiles raw(scratch / "raw", shape, kRoundBytes, kRounds);
  TierLoad tier(scratch / "tier", shape);
  Interleave(
      state, "of_raw", [&] { raw.WriteNext(); },
      [&] { tier.Put(kRoundBytes / shape.object_bytes); });
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kRoundBytes));
}

// At least 0.9.
void GetAtRandom(benchmark::State& state) {
  const Shape shape = ShapeOf(state);
  const ScratchDirectory scratch = *ScratchDirectory::Make(BenchDirectory());
  RawFiles raw(scratch / "raw", shape, kGetSetBytes, 1);
  raw.WriteNext();
  TierLoad tier(scratch / "tier", shape);
  tier.Put(kGetSetBytes / shape.object_bytes);
  Random random(3);
  const uint64_t count = kGetRoundBytes / shape.object_bytes;
  Interleave(
      state, "of_raw", [&] { raw.ReadRandom(count, random); },
      [&] { tier.GetRandom(count, random); });
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(count * shape.object_bytes));
}

// So many bytes wait to be durable as a busy node lets wait: a sync is shared by all of them.
void PutShapes(benchmark::internal::Benchmark* bench) {
  bench->Args({160 << 10, 128})->Args({2 << 20, 32});
}
void GetShapes(benchmark::internal::Benchmark* bench) {
  bench->Args({160 << 10, 32})->Args({2 << 20, 16});
}
void Repeated(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bytes", "depth"})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(kRounds)
      ->Repetitions(5)
      ->ReportAggregatesOnly();
}

BENCHMARK(PutDurably)->Apply(PutShapes)->Apply(Repeated);
BENCHMARK(GetAtRandom)->Apply(GetShapes)->Apply(Repeated);

}  // namespace
}  // namespace kvcast
