// How fast are objects made of blocks and blocks of objects, by the speed of copying the values as
// they are? A codec is never the bottleneck as long as it keeps up with memory.
//
// One core, a cache of Llama-3-8B's shape in pages of 16 tokens, BF16, and as many blocks in turn
// as fill a GiB, so that nothing is in a processor's cache; in huge pages, if the kernel gives
// them.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <thread>

#include "bench/interleaved.h"
#include "kvcast/base/check.h"
#include "kvcast/base/random.h"
#include "kvcast/codec/band_fitting.h"
#include "kvcast/codec/band_moments.h"
#include "kvcast/codec/calibration.h"
#include "kvcast/codec/codec.h"
#include "kvcast/codec/number_format.h"
#include "kvcast/codec/survey.h"

namespace kvcast {
namespace {

constexpr uint32_t kLayers = 32;
constexpr uint32_t kPageTokens = 16;
constexpr uint32_t kTokens = 128;  // Of a block, as they are unless configured.
constexpr uint32_t kBlockPages = kTokens / kPageTokens;
constexpr size_t kBlocks = 64;  // 16 MiB each.
constexpr size_t kLayerBytes = size_t{kTokens} * 8 * 128 * 2;
constexpr size_t kBlockBytes = 2 * kLayers * kLayerBytes;

// Large memory as engines have it: in huge pages where the kernel gives them, already touched.
class Room {
 public:
  explicit Room(size_t bytes) : bytes_(bytes) {
    void* const memory = std::aligned_alloc(kHugePage, RoundedUp(bytes));
    KVCAST_CHECK(memory != nullptr);
    (void)madvise(memory, RoundedUp(bytes), MADV_HUGEPAGE);
    std::memset(memory, 0, RoundedUp(bytes));
    memory_.reset(static_cast<std::byte*>(memory));
  }
  std::byte* data() { return memory_.get(); }
  size_t size() const { return bytes_; }
  std::span<std::byte> span() { return {memory_.get(), bytes_}; }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  static size_t RoundedUp(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  const size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

// A GiB of pages in a layout that engines use: per layer K and V apart, [page, token, head, value].
class BenchCache {
 public:
  BenchCache() {
    std::vector<LayerMemory> layers;
    const size_t plane = kBlocks * kLayerBytes;
    for (size_t layer = 0; layer < kLayers; ++layer) {
      layers.push_back({memory_.subspan(2 * layer * plane, plane),
                        memory_.subspan((2 * layer + 1) * plane, plane)});
    }
    cache_.emplace(
        *PagedCache::Of(Shape(), {PageOrder::kNhd, KvPlacement::kApart, kPageTokens, 2}, layers));
  }
  static BlockShape Shape() {
    return BlockShape(std::vector<LayerShape>(kLayers, {8, 128, 128}), kTokens);
  }
  BlockView Block(uint32_t index) const {
    std::array<uint32_t, kBlockPages> table{};
    std::iota(table.begin(), table.end(), index * kBlockPages);
    return *BlockView::Of(*cache_, table, 0, kTokens);
  }
  std::span<std::byte> memory() { return memory_; }
  // Heads whose values lean on their neighbours and differ in size, as those of models do; repeated
  // after some MiB.
  void Fill() {
    Random random(1);
    constexpr size_t kPeriod = size_t{3} << 20;
    float before = 0;
    for (size_t i = 0; i < kPeriod; i += 2) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) {
        sum += static_cast<float>(random.Below(2001)) / 1000.0F - 1.0F;
      }
      const size_t in_head = i / 2 % 128;
      before = in_head == 0 ? sum : before * 0.6F + sum;
      const uint16_t bits = FloatToBf16(before * (1 + static_cast<float>(in_head * 5 % 7)));
      std::memcpy(memory_.data() + i, &bits, 2);
    }
    for (size_t i = kPeriod; i < memory_.size(); i += kPeriod) {
      std::memcpy(memory_.data() + i, memory_.data(), std::min(kPeriod, memory_.size() - i));
    }
  }

 private:
  Room room_{kBlocks * kBlockBytes};
  const std::span<std::byte> memory_ = room_.span();
  std::optional<PagedCache> cache_;
};

struct Bench {
  BenchCache pages;
  Room copy{kBlocks * kBlockBytes};
  Bench() { pages.Fill(); }
  // The limit: a block's bytes from one place to another.
  void Copy(size_t block) {
    const size_t at = block % kBlocks * kBlockBytes;
    std::memcpy(copy.data() + at,
                pages.memory().data() + (at + kBlocks / 2 * kBlockBytes) % copy.size(),
                kBlockBytes);
    benchmark::ClobberMemory();
  }
};

Bench& Shared() {
  static Bench bench;
  return bench;
}

// AC and KTC of these pages, the transform per head; made once, as it takes a while.
const Calibration& BenchCalibration() {
  static const Calibration calibration = [] {
    constexpr uint32_t kSampled = 4;
    Shared().pages.Fill();  // Decoding has made them all alike.
    const BlockShape shape = BenchCache::Shape();
    const Rope rope{0, false, std::vector<uint64_t>(64, uint64_t{1} << 55)};
    Survey survey(shape, HalfType::kBf16);
    BandMoments moments(shape.layers(), HalfType::kBf16, std::vector<Rope>(kLayers, rope),
                        BandForm::kHead);
    for (uint32_t i = 0; i < kSampled; ++i) {
      survey.Add(Shared().pages.Block(i));
      moments.Add(Shared().pages.Block(i));
    }
    BandFitting fitting(shape.layers(), HalfType::kBf16, moments.Finished());
    for (uint32_t i = 0; i < kSampled; ++i) {
      fitting.AddMagnitudes(Shared().pages.Block(i), 1);
    }
    fitting.FitSteps();
    for (uint32_t i = 0; i < kSampled; ++i) {
      fitting.AddNumbers(Shared().pages.Block(i), 1);
    }
    fitting.FitTables();
    return Calibration::Of(survey, fitting.bands());
  }();
  return calibration;
}

std::unique_ptr<const Codec> CodecFor(Rung rung, const Kernels& kernels) {
  if (BandRungIndex(rung)) {
    return *Codec::Of(*BenchCalibration().FormatOf(rung, kTokens), HalfType::kBf16,
                      BenchCalibration(), kernels);
  }
  Survey survey(BenchCache::Shape(), HalfType::kBf16);
  survey.Add(Shared().pages.Block(0));
  return *Codec::Of(*survey.FormatOf(rung), HalfType::kBf16, kernels);
}

enum class Work { kDecode, kEncode, kFloor };

// What no decoder can beat: the objects' bytes read once, since they are checked before anything is
// written, and the pages' lines written past the caches.
void ReadAndWrite(std::span<const std::span<const std::byte>> payloads, BlockView& view) {
#if defined(__x86_64__)
  __m128i seen = _mm_setzero_si128();
  for (const std::span<const std::byte> payload : payloads) {
    for (size_t i = 0; i + sizeof(seen) <= payload.size(); i += sizeof(seen)) {
      const auto* const at = reinterpret_cast<const __m128i*>(payload.data() + i);
      seen = _mm_xor_si128(seen, _mm_loadu_si128(at));
    }
  }
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      // Its pages lie in a row.
      std::byte* const page = view.MutableRow(0, layer, plane, 0).data();
      for (size_t i = 0; i < kLayerBytes; i += sizeof(seen)) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(page + i), seen);
      }
    }
  }
  _mm_sfence();
#endif
}

// Objects of one rung, in a ring of as many bytes as there are pages, as if they had just come in.
// Threads may work on different blocks.
class BenchRing {
 public:
  BenchRing(Rung rung, const Kernels& kernels)
      : codec_(CodecFor(rung, kernels)),
        run_(codec_->format().run_tokens),
        room_(codec_->ObjectBytesMax(run_)) {
    Write(0);
    for (size_t slot = objects_; slot < sizes_.size(); ++slot) {  // Only places differ.
      std::memcpy(ring_.data() + slot * room_, ring_.data() + slot % objects_ * room_, room_);
      sizes_[slot] = sizes_[slot % objects_];
    }
  }
  void Write(size_t block) {
    const BlockView view = Shared().pages.Block(static_cast<uint32_t>(block % kBlocks));
    const size_t slot = block % slots_ * objects_;
    std::vector<std::span<std::byte>> outs(objects_);
    for (size_t i = 0; i < objects_; ++i) {
      outs[i] = ring_.subspan((slot + i) * room_, room_);
    }
    codec_->EncodeSeveral(view, 0, outs);
    for (size_t i = 0; i < objects_; ++i) {
      sizes_[slot + i] = outs[i].size();
    }
  }
  void Read(size_t block, Work work) {
    // All but the first, of which objects are made.
    BlockView view = Shared().pages.Block(static_cast<uint32_t>(1 + block % (kBlocks - 1)));
    const size_t slot = block % slots_ * objects_;
    std::vector<std::span<const std::byte>> payloads(objects_);
    for (size_t i = 0; i < objects_; ++i) {
      payloads[i] = ring_.subspan((slot + i) * room_, sizes_[slot + i]);
    }
    if (work == Work::kFloor) {
      ReadAndWrite(payloads, view);
      return;
    }
    const Codec::Decoded decoded = codec_->DecodeSeveral(payloads, 0, view);
    KVCAST_CHECK(!decoded.fault);
  }
  // Some blocks in a row.
  void Run(size_t first, size_t count, Work work) {
    for (size_t block = first; block < first + count; ++block) {
      work == Work::kEncode ? Write(block) : Read(block, work);
    }
  }
  double bits() const {
    size_t bytes = 0;
    for (size_t i = 0; i < objects_; ++i) {
      bytes += sizes_[i];
    }
    return 16.0 * static_cast<double>(bytes) / static_cast<double>(kBlockBytes);
  }

 private:
  const std::unique_ptr<const Codec> codec_;
  const uint32_t run_;
  const size_t room_;
  const size_t objects_ = kTokens / run_;
  const size_t slots_ = Shared().copy.size() / 2 / (room_ * objects_);
  Room memory_{slots_ * objects_ * room_};
  const std::span<std::byte> ring_ = memory_.span();
  std::vector<size_t> sizes_ = std::vector<size_t>(slots_ * objects_);
};

constexpr size_t kPart = 2;  // Blocks in a row.

void Measure(benchmark::State& state, Rung rung, const Kernels* kernels, Work work, double wanted) {
  Bench& bench = Shared();
  BenchRing ring(rung, *kernels);
  size_t next = 0;
  const auto copy = [&] {
    for (size_t i = 0; i < kPart; ++i) {
      bench.Copy(next + i);
    }
  };
  Interleave(state, "of_memcpy", copy, [&] {
    ring.Run(next, kPart, work);
    next += kPart;
  });
  state.counters["wanted"] = wanted;
  state.counters["bits"] = ring.bits();
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kPart * kBlockBytes));
}

// How much more do two threads do than one, each on blocks of its own? `of_one` is 1 where the
// second does as much as the first.
void MeasureTwo(benchmark::State& state, Rung rung, Work work) {
  BenchRing ring(rung, BestKernels());
  constexpr size_t kApart = kBlocks / 4;  // Blocks between what the two work on.
  size_t next = 0;
  Interleave(
      state, "of_one", [&] { ring.Run(next, kPart, work); },
      [&] {
        std::thread other([&] { ring.Run(next + kApart, kPart, work); });
        ring.Run(next, kPart, work);
        other.join();
        next = (next + kPart) % kApart;
      });
  state.counters["times_one"] = 2 * state.counters["of_one"];
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(2 * kPart * kBlockBytes));
}

// Two threads copying, by one: what memory gives.
void MeasureTwoCopies(benchmark::State& state) {
  Bench& bench = Shared();
  const auto run = [&](size_t first) {
    for (size_t i = 0; i < kPart; ++i) {
      bench.Copy(first + i);
    }
  };
  size_t next = 0;
  Interleave(
      state, "of_one", [&] { run(next); },
      [&] {
        std::thread other([&] { run(next + kBlocks / 4); });
        run(next);
        other.join();
        next = (next + kPart) % (kBlocks / 4);
      });
  state.counters["times_one"] = 2 * state.counters["of_one"];
}

// Pages are copied one by one, each layer's K and V where they lie: the same bytes as `Copy` takes
// at once, as somebody would who has pages.
void CopyPages(benchmark::State& state) {
  Bench& bench = Shared();
  Room whole(kBlocks / 2 * kBlockBytes);
  size_t next = 0;
  const auto pages = [&] {
    for (size_t i = 0; i < kPart; ++i) {
      const size_t block = (next + i) % (kBlocks / 2);
      BlockView view = bench.pages.Block(static_cast<uint32_t>(block));
      const std::byte* from = whole.data() + block * kBlockBytes;
      for (uint32_t layer = 0; layer < kLayers; ++layer) {
        for (const Plane plane : {Plane::kKey, Plane::kValue}) {
          for (uint32_t token = 0; token < kTokens; token += kPageTokens) {
            constexpr size_t kPageBytes = kLayerBytes / kBlockPages;
            std::memcpy(view.MutableRow(token, layer, plane, 0).data(), from, kPageBytes);
            from += kPageBytes;
          }
        }
      }
    }
    benchmark::ClobberMemory();
  };
  const auto copy = [&] {
    for (size_t i = 0; i < kPart; ++i) {
      bench.Copy(next + i);
    }
  };
  Interleave(state, "of_memcpy", copy, [&] {
    pages();
    next += kPart;
  });
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kPart * kBlockBytes));
}

// What is wanted of memcpy's speed, with AVX-512; 0: nothing.
double Wanted(Rung rung, bool encode) {
  switch (rung) {
    case Rung::kBf16Lossless:
      return encode ? 0 : 0.5;
    case Rung::kAc:
      return encode ? 0.6 : 0.7;
    case Rung::kKtcCoarse:
    case Rung::kKtcMedium:
    case Rung::kKtcFine:
      return encode ? 0.1 : 0.15;
    default:
      return encode ? 0.7 : 1.3;
  }
}

void RegisterTwo(Rung rung) {
  for (const Work work : {Work::kDecode, Work::kEncode}) {
    const std::string name = std::string("two_threads/") +
                             (work == Work::kEncode ? "encode/" : "decode/") +
                             std::string(ToString(rung));
    benchmark::RegisterBenchmark(name.c_str(), MeasureTwo, rung, work)->UseManualTime();
  }
}

void Register() {
  benchmark::RegisterBenchmark("memcpy/by_page", CopyPages)->UseManualTime();
  benchmark::RegisterBenchmark("two_threads/memcpy", MeasureTwoCopies)->UseManualTime();
  for (const Rung rung : {Rung::kFp8, Rung::kInt8, Rung::kInt4, Rung::kFp4, Rung::kBf16Lossless,
                          Rung::kAc, Rung::kKtcMedium}) {
    RegisterTwo(rung);
  }
#if defined(__x86_64__)
  for (const Rung rung : {Rung::kFp8, Rung::kInt8, Rung::kInt4, Rung::kFp4}) {
    benchmark::RegisterBenchmark(("floor/" + std::string(ToString(rung))).c_str(), Measure, rung,
                                 &BestKernels(), Work::kFloor, Wanted(rung, false))
        ->UseManualTime();
  }
#endif
  for (const Kernels* kernels : UsableKernels()) {
    const double part = kernels->name.starts_with("AVX-512") ? 1
                        : kernels->name == "AVX2"            ? 0.45
                                                             : 0;
    for (const Rung rung : {Rung::kFp8, Rung::kInt8, Rung::kInt4, Rung::kFp4, Rung::kBf16Lossless,
                            Rung::kAc, Rung::kKtcCoarse, Rung::kKtcMedium, Rung::kKtcFine}) {
      for (const bool encode : {false, true}) {
        const std::string name = std::string(encode ? "encode/" : "decode/") +
                                 std::string(ToString(rung)) + "/" + std::string(kernels->name);
        benchmark::RegisterBenchmark(name.c_str(), Measure, rung, kernels,
                                     encode ? Work::kEncode : Work::kDecode,
                                     part * Wanted(rung, encode))
            ->UseManualTime();
      }
    }
  }
}

const bool kRegistered = (Register(), true);

}  // namespace
}  // namespace kvcast
