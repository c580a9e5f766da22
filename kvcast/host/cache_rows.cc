#include "kvcast/host/cache_rows.h"

#include <numeric>
#include <string>

namespace kvcast {
namespace {

size_t TokenBytes(const LayerShape& layer, Plane plane, ValueType type) {
  return size_t{layer.kv_heads} * layer.size(plane) * ValueBytes(type);
}

}  // namespace

CacheRows::CacheRows(std::span<const LayerShape> layers, ValueType type, size_t tokens) {
  for (const LayerShape& layer : layers) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      planes_.emplace_back(tokens * TokenBytes(layer, plane, type));
    }
  }
}

std::vector<LayerMemory> CacheRows::Memory() {
  std::vector<LayerMemory> memory;
  for (size_t i = 0; i < planes_.size(); i += 2) {
    memory.push_back({planes_[i], planes_[i + 1]});
  }
  return memory;
}

Result<void> CacheRows::WriteAs(const KvFilePlan& plan, FileWriter writer) const {
  const std::string header = plan.header().ToString();
  KVCAST_TRY_VOID(writer.Append(AsBytes(header)));
  for (const KvFilePlan::Part& part : plan.parts()) {
    KVCAST_TRY_VOID(writer.Append(Values(part.layer, part.plane).first(part.bytes)));
  }
  return writer.Commit();
}

std::vector<LayerMemory> MemoryOf(const KvFile& file, size_t tokens) {
  std::vector<LayerMemory> memory;
  for (size_t layer = 0; layer < file.layers().size(); ++layer) {
    const auto plane = [&](Plane which) -> std::span<std::byte> {
      const size_t bytes = tokens * TokenBytes(file.layers()[layer], which, file.type());
      if (bytes == 0) {
        return {};
      }
      const std::span<const std::byte> values = file.Values(layer, which).first(bytes);
      return {const_cast<std::byte*>(values.data()), values.size()};
    };
    memory.push_back({plane(Plane::kKey), plane(Plane::kValue)});
  }
  return memory;
}

Result<PagedCache> BlocksInARow(const BlockShape& shape, ValueType type,
                                const std::vector<LayerMemory>& memory) {
  const PageFormat format{PageOrder::kNhd, KvPlacement::kApart, shape.tokens(), ValueBytes(type)};
  return PagedCache::Of(shape, format, memory);
}

std::vector<uint32_t> PagesInARow(size_t blocks) {
  std::vector<uint32_t> pages(blocks);
  std::iota(pages.begin(), pages.end(), 0u);
  return pages;
}

}  // namespace kvcast
