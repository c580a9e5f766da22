#pragma once

#include <cstddef>

// Included by files that are compiled for one kind of processor: no standard library here that
// brings functions along, or the linker may keep the copy that an older processor cannot run.

namespace kvcast::tinylm {

// A matrix that is multiplied with has its columns in panels of this many; see Panels.
inline constexpr size_t kPanelColumns = 64;
// How many sums a reduction keeps side by side, whatever the width of a register is.
inline constexpr size_t kLanes = 16;

// out[row][column] = (accumulate ? out[row][column] : 0) + sum over k of a[row][k] b[k][column].
struct Product {
  const float* a = nullptr;
  size_t a_stride = 0;  // From one row to the next, in floats.
  const float* panels = nullptr;
  size_t panel_stride = 0;  // From one panel of b to the next, in floats.
  float* out = nullptr;
  size_t out_stride = 0;
  size_t rows = 0;
  size_t depth = 0;
  size_t columns = 0;  // A multiple of kPanelColumns.
  bool accumulate = false;
};

// Softmax over scores that arrive tile by tile: the largest so far, and the sum of all weights
// relative to it.
struct SoftmaxState {
  float largest = -1e30F;
  float sum = 0;
};

// The arithmetic that takes the time, for one kind of processor.
//
// Every set computes every value by the same operations in the same order: a product as one chain
// of fused multiply-adds from the first k to the last, other sums in kLanes chains. So neither the
// processor nor the number of rows computed together changes a bit of any row, and KV that was
// computed elsewhere is the KV that would have been computed here.
struct Kernels {
  const char* name = nullptr;

  void (*multiply)(const Product& product) = nullptr;

  // Turns the first `valid` of `count` scores into weights 2^(score - largest), the others into 0,
  // and returns by what to multiply everything weighted before. REQUIRES: 0 < valid <= count, and
  // room for a multiple of kLanes.
  float (*weigh)(float* scores, size_t valid, size_t count, SoftmaxState& state) = nullptr;

  // gate[i] = silu(gate[i]) * up[i]. REQUIRES, of both: `count` is a multiple of kLanes.
  void (*gate)(float* gate, const float* up, size_t count) = nullptr;
  float (*sum_of_squares)(const float* values, size_t count) = nullptr;
};

// Within any processor's reach.
const Kernels& PortableKernels();
// Null where this processor does not have them.
const Kernels* Avx2Kernels();
const Kernels* Avx512Kernels();
// The fastest that this processor has.
const Kernels& BestKernels();

// Null where the compiler was not asked for them. For the above to look at, after the processor.
extern const Kernels* const kCompiledForAvx2;
extern const Kernels* const kCompiledForAvx512;

}  // namespace kvcast::tinylm
