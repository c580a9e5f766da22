// A prefill is matrix multiplications with attention, norms and page keeping in between. Does all
// of it together run at a third or more of the rate at which a good library multiplies matrices?
// Each prefill is measured in turn with OpenBLAS's sgemm on one thread, on the shape that most of
// the model's own products have, with as many operations.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <vector>

#include "bench/interleaved.h"
#include "examples/tinylm/base/file.h"
#include "examples/tinylm/base/token_list.h"
#include "examples/tinylm/inference/forward.h"

namespace kvcast::tinylm {
namespace {

const std::string kFolder = TINYLM_FOLDER;

// A multiplication and an addition are two operations. Of attention, only what a token sees counts.
double Operations(const Config& config, size_t tokens) {
  const auto rows = static_cast<double>(tokens);
  const size_t per_layer = config.hidden * (config.query_size() + 2 * config.kv_size()) +
                           config.query_size() * config.hidden +
                           size_t{3} * config.hidden * config.feed_forward;
  const double products = 2 * rows * static_cast<double>(per_layer * config.layers);
  const double seen = rows * (rows + 1) / 2;
  const double attention = 4 * seen * static_cast<double>(config.query_size() * config.layers);
  return products + attention;
}

// Gate and up of one layer, for all tokens of the prompt: half of the model's weights are in these.
class Sgemm {
 public:
  Sgemm(const Config& config, size_t tokens)
      : rows_(tokens),
        columns_(size_t{2} * config.feed_forward),
        depth_(config.hidden),
        a_(rows_ * depth_, 0.5F),
        b_(columns_ * depth_, 0.25F),
        out_(rows_ * columns_) {
    openblas_set_num_threads(1);
  }

  double operations() const { return 2.0 * static_cast<double>(rows_ * columns_ * depth_); }
  void Run() {
    const auto m = static_cast<blasint>(rows_);
    const auto n = static_cast<blasint>(columns_);
    const auto k = static_cast<blasint>(depth_);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a_.data(), k, b_.data(), k, 0,
                out_.data(), n);
    benchmark::DoNotOptimize(out_.data());
  }

 private:
  size_t rows_;
  size_t columns_;
  size_t depth_;
  AlignedFloats a_;
  AlignedFloats b_;
  AlignedFloats out_;
};

void Prefill(benchmark::State& state, const Kernels* kernels) {
  if (kernels == nullptr) {
    state.SkipWithError("This processor cannot run these kernels.");
    return;
  }
  const Weights weights = *Weights::Load(kFolder + "/model");
  const std::vector<Token> prompt =
      *ParseTokenList(*ReadFile(kFolder + "/prompts/shared-prefix-a.tokens", 1 << 20));
  const auto pages = static_cast<uint32_t>(prompt.size() / 16 + 1);
  KvCache cache = *KvCache::Of(weights.config, 16, pages);
  Forward forward(weights, *kernels);
  Sgemm sgemm(weights.config, prompt.size());
  const double operations = Operations(weights.config, prompt.size());
  const int repeats = static_cast<int>(operations / sgemm.operations()) + 1;
  Interleave(
      state, "of_sgemm",
      [&] {
        for (int i = 0; i < repeats; ++i) {
          sgemm.Run();
        }
      },
      [&] {
        Sequence sequence;
        TINYLM_CHECK(forward.Append(prompt, cache, sequence).ok());
        cache.Release(sequence);
      });
  // Of rates, not of times: sgemm had a little more to do.
  state.counters["of_sgemm"] =
      state.counters["of_sgemm"] * operations / (repeats * sgemm.operations());
  state.counters["tokens"] = static_cast<double>(prompt.size());
  state.counters["operations_per_s"] = benchmark::Counter(
      operations, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

BENCHMARK_CAPTURE(Prefill, avx512, Avx512Kernels())
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(5);
BENCHMARK_CAPTURE(Prefill, avx2, Avx2Kernels())
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime()
    ->Iterations(5);

}  // namespace
}  // namespace kvcast::tinylm
