#pragma once

#include <span>
#include <string>
#include <vector>

#include "examples/tinylm/inference/kernels.h"
#include "examples/tinylm/inference/kv_cache.h"
#include "examples/tinylm/inference/weights.h"
#include "kvcast/base/source_folder_test.h"

namespace kvcast::tinylm {

// The model that the tests compute with, from the repository.
inline const std::string kModelFolder = std::string(kSourceFolder) + "/examples/tinylm/model";

inline const Weights& ModelWeights() {
  static const Weights weights = *Weights::Load(kModelFolder);
  return weights;
}

// The kernels that this processor can run, the portable ones first.
inline std::vector<const Kernels*> AllKernels() {
  std::vector<const Kernels*> all = {&PortableKernels()};
  for (const Kernels* const kernels : {Avx2Kernels(), Avx512Kernels()}) {
    if (kernels != nullptr) {
      all.push_back(kernels);
    }
  }
  return all;
}

// Calls with the values of each layer, K and V, and head of so many tokens of a sequence.
template <typename Cache, typename Visit>
void ForEachRow(Cache& cache, const Sequence& sequence, uint32_t tokens, const Visit& visit) {
  for (uint32_t token = 0; token < tokens; ++token) {
    const uint32_t page = sequence.pages[token / cache.page_tokens()];
    for (size_t layer = 0; layer < cache.layers(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < cache.kv_heads(); ++head) {
          visit(std::span(cache.At(layer, plane, page, token % cache.page_tokens(), head),
                          cache.head_bytes()));
        }
      }
    }
  }
}

// K and V of all tokens that a sequence holds.
inline std::string KvOf(const KvCache& cache, const Sequence& sequence) {
  std::string values;
  ForEachRow(cache, sequence, sequence.tokens, [&](std::span<const std::byte> row) {
    values.append(reinterpret_cast<const char*>(row.data()), row.size());
  });
  return values;
}

}  // namespace kvcast::tinylm
