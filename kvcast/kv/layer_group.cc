#include "kvcast/kv/layer_group.h"

namespace kvcast {

std::string_view ToString(Attention attention) {
  switch (attention) {
    case Attention::kMha:
      return "mha";
    case Attention::kGqa:
      return "gqa";
    case Attention::kMla:
      return "mla";
  }
  return "unknown";
}

std::string_view ToString(WindowKind kind) {
  switch (kind) {
    case WindowKind::kFull:
      return "full";
    case WindowKind::kSliding:
      return "sliding";
    case WindowKind::kChunked:
      return "chunked";
  }
  return "unknown";
}

}  // namespace kvcast
