// Is a store of our own worth having? Durable puts and random gets of a disk tier in turn with
// RocksDB with blob files, as somebody would set it up for values of this size: no compression,
// O_DIRECT reads, no cache of values, group commit by several threads.
//
// KVCAST_BENCH_DIR names a directory on the disk to be asked about (default: the current one).
#include <benchmark/benchmark.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/interleaved.h"
#include "kvcast/base/check.h"
#include "kvcast/base/random.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/io/tier_load_bench.h"

namespace kvcast {
namespace {

constexpr uint64_t kPutBytes = 96 << 20;
constexpr uint64_t kGetSetBytes = 512 << 20;
constexpr uint64_t kGetBytes = 96 << 20;

class Peer {
 public:
  Peer(const std::filesystem::path& directory, uint64_t value_bytes, size_t threads)
      : threads_(threads), value_(value_bytes, '\0') {
    Random(1).Fill(std::as_writable_bytes(std::span(value_)));
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.enable_blob_files = true;
    options.min_blob_size = 4096;
    options.blob_file_size = 64 << 20;
    options.write_buffer_size = 64 << 20;
    options.max_background_jobs = 4;
    options.use_direct_reads = true;
    options.use_direct_io_for_flush_and_compaction = true;
    rocksdb::DB* opened = nullptr;
    KVCAST_CHECK(rocksdb::DB::Open(options, directory.string(), &opened).ok());
    db_.reset(opened);
  }

  // Durable when it returns: each waits for the log's sync, which all waiting ones share.
  void Put(uint64_t count) {
    const uint64_t first = values_;
    values_ += count;
    InParallel(count, [this, first](uint64_t i) {
      rocksdb::WriteOptions durably;
      durably.sync = true;
      KVCAST_CHECK(db_->Put(durably, KeyOf(first + i), value_).ok());
    });
  }
  void GetRandom(uint64_t count, uint64_t seed) {
    InParallel(count, [this, seed](uint64_t i) {
      rocksdb::ReadOptions checked;
      checked.verify_checksums = true;
      checked.fill_cache = false;
      rocksdb::PinnableSlice found;
      KVCAST_CHECK(
          db_->Get(checked, db_->DefaultColumnFamily(), KeyOf(Scatter(seed + i) % values_), &found)
              .ok());
      KVCAST_CHECK(found.size() == value_.size());
    });
  }
  // The same by one client that asks for so many at a time.
  void GetRandomTogether(uint64_t count, uint64_t seed, size_t depth) {
    rocksdb::ReadOptions checked;
    checked.verify_checksums = true;
    checked.fill_cache = false;
    for (uint64_t first = 0; first < count; first += depth) {
      const size_t wanted = std::min<uint64_t>(depth, count - first);
      std::vector<std::string> names;
      for (size_t i = 0; i < wanted; ++i) {
        names.push_back(KeyOf(Scatter(seed + first + i) % values_));
      }
      const std::vector<rocksdb::Slice> keys(names.begin(), names.end());
      std::vector<rocksdb::PinnableSlice> found(wanted);
      std::vector<rocksdb::Status> done(wanted);
      db_->MultiGet(checked, db_->DefaultColumnFamily(), wanted, keys.data(), found.data(),
                    done.data());
      for (size_t i = 0; i < wanted; ++i) {
        KVCAST_CHECK(done[i].ok() && found[i].size() == value_.size());
      }
    }
  }
  // What is in memory only would be no disk's work.
  void Flush() { KVCAST_CHECK(db_->Flush(rocksdb::FlushOptions()).ok()); }

 private:
  static std::string KeyOf(uint64_t number) {
    char key[32];
    std::snprintf(key, sizeof(key), "track/%016llx", static_cast<unsigned long long>(number));
    return key;
  }
  template <typename Work>
  void InParallel(uint64_t count, Work work) {
    std::atomic<uint64_t> next = 0;
    std::vector<std::thread> workers;
    for (size_t i = 0; i < threads_; ++i) {
      workers.emplace_back([&] {
        for (uint64_t mine = next++; mine < count; mine = next++) {
          work(mine);
        }
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
  }

  size_t threads_;
  std::string value_;
  uint64_t values_ = 0;
  std::unique_ptr<rocksdb::DB> db_;
};

TierLoad::Shape ShapeOf(const benchmark::State& state) {
  return {static_cast<uint64_t>(state.range(0)), static_cast<size_t>(state.range(1))};
}

// A tier is one thread's, whatever it is asked for at a time; RocksDB blocks who asks.
size_t ThreadsOf(const benchmark::State& state) { return static_cast<size_t>(state.range(2)); }

// At least 3.
void PutAgainstRocksDb(benchmark::State& state) {
  const TierLoad::Shape shape = ShapeOf(state);
  const ScratchDirectory scratch = *ScratchDirectory::Make(BenchDirectory());
  Peer peer(scratch / "peer", shape.object_bytes, ThreadsOf(state));
  TierLoad tier(scratch / "tier", shape);
  const uint64_t count = kPutBytes / shape.object_bytes;
  Interleave(
      state, "times_rocksdb", [&] { peer.Put(count); }, [&] { tier.Put(count); });
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kPutBytes));
}

// Values of which none is in RocksDB's cache, in turn with as many of ours. `get` asks RocksDB.
template <typename Get>
void CompareGets(benchmark::State& state, size_t threads, Get get) {
  const TierLoad::Shape shape = ShapeOf(state);
  const ScratchDirectory scratch = *ScratchDirectory::Make(BenchDirectory());
  Peer peer(scratch / "peer", shape.object_bytes, threads);
  TierLoad tier(scratch / "tier", shape);
  peer.Put(kGetSetBytes / shape.object_bytes);
  peer.Flush();
  tier.Put(kGetSetBytes / shape.object_bytes);
  Random random(3);
  const uint64_t count = kGetBytes / shape.object_bytes;
  Interleave(
      state, "times_rocksdb", [&] { get(peer, count, random.Next()); },
      [&] { tier.GetRandom(count, random); });
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(count * shape.object_bytes));
}

// At least 4, of one thread each. With as many threads as we ask for at a time RocksDB comes near
// to what the disk can do, and so does everybody.
void GetAgainstRocksDb(benchmark::State& state) {
  CompareGets(state, ThreadsOf(state),
              [](Peer& peer, uint64_t count, uint64_t seed) { peer.GetRandom(count, seed); });
}

// The most that one client of RocksDB can ask for without threads of its own.
void GetAgainstRocksDbsBatches(benchmark::State& state) {
  CompareGets(state, 1, [&](Peer& peer, uint64_t count, uint64_t seed) {
    peer.GetRandomTogether(count, seed, ShapeOf(state).depth);
  });
}

void Shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"bytes", "depth", "rocksdb_threads"})
      ->Args({160 << 10, 32, 1})
      ->Args({2 << 20, 16, 1})
      ->Args({160 << 10, 32, 32})
      ->Args({2 << 20, 16, 16})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(3)
      ->Repetitions(3)
      ->ReportAggregatesOnly();
}

BENCHMARK(PutAgainstRocksDb)->Apply(Shapes);
BENCHMARK(GetAgainstRocksDb)->Apply(Shapes);
BENCHMARK(GetAgainstRocksDbsBatches)
    ->ArgNames({"bytes", "depth"})
    ->Args({160 << 10, 32})
    ->Args({2 << 20, 16})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3)
    ->Repetitions(3)
    ->ReportAggregatesOnly();

}  // namespace
}  // namespace kvcast
