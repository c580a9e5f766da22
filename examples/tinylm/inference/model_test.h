#pragma once

#include <string>
#include <vector>

#include "examples/tinylm/inference/kernels.h"
#include "examples/tinylm/inference/kv_cache.h"
#include "examples/tinylm/inference/weights.h"
#include "kvcast/base/bytes.h"
#include "kvcast/base/source_folder_test.h"
#include "kvcast/kv/block_view.h"

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

// K and V of all tokens that a sequence holds, in kvcast's canonical order.
inline std::string KvOf(const KvCache& cache, const Sequence& sequence) {
  const BlockView view = *BlockView::Of(cache.pages(), sequence.pages, 0, sequence.tokens);
  std::string values;
  for (uint32_t token = 0; token < sequence.tokens; ++token) {
    for (size_t layer = 0; layer < view.shape().layers().size(); ++layer) {
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < view.shape().layers()[layer].kv_heads; ++head) {
          values += AsText(view.Row(token, layer, plane, head));
        }
      }
    }
  }
  return values;
}

}  // namespace kvcast::tinylm
