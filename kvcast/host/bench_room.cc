#include "kvcast/host/bench_room.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "kvcast/codec/number_format.h"

namespace kvcast {
namespace {

// No number, as either type has it; no pool holds one.
constexpr uint16_t kSpoilt = 0x7fff;

}  // namespace

BenchRoom::BenchRoom(const BenchPool& pool, size_t blocks)
    : pool_(&pool),
      blocks_(blocks),
      rows_(pool.model().shape.layers(), pool.model().values,
            blocks * pool.model().shape.tokens()) {}

Result<std::unique_ptr<BenchRoom>> BenchRoom::Make(const BenchPool& pool, size_t blocks) {
  const BenchModel& model = pool.model();
  std::unique_ptr<BenchRoom> room(new BenchRoom(pool, blocks));
  const PageFormat format{PageOrder::kNhd, KvPlacement::kApart, pool.page_tokens(),
                          ValueBytes(model.values),
                          static_cast<uint32_t>(blocks * pool.pages_per_block())};
  KVCAST_TRY(PagedCache cache, PagedCache::Of(model.shape, format, room->rows_.Memory()));
  room->cache_ = std::make_unique<PagedCache>(std::move(cache));
  return room;
}

Result<PromptPages> BenchRoom::Pages(size_t blocks) const {
  return PromptPages::Of(*cache_, PagesInARow(blocks * pool_->pages_per_block()),
                         pool_->model().shape.tokens(), blocks);
}

void BenchRoom::Spoil(size_t blocks) {
  const std::vector<LayerMemory> memory = rows_.Memory();
  const BlockShape& shape = pool_->model().shape;
  for (size_t layer = 0; layer < memory.size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const std::span<std::byte> all =
          plane == Plane::kKey ? memory[layer].key : memory[layer].value;
      const size_t row_bytes = size_t{shape.layers()[layer].size(plane)} * kPageValueBytes;
      const size_t end = all.size() / blocks_ * blocks;
      for (size_t at = 0; row_bytes > 0 && at < end; at += row_bytes) {
        std::memcpy(all.data() + at, &kSpoilt, sizeof(kSpoilt));
      }
    }
  }
}

std::span<const std::byte> BenchRoom::PageValues(size_t page, size_t layer, Plane plane) const {
  const std::span<const std::byte> all = rows_.Values(layer, plane);
  const size_t bytes = all.size() / (blocks_ * pool_->pages_per_block());
  return all.subspan(page * bytes, bytes);
}

bool BenchRoom::IsExactly(size_t index, uint64_t number) const {
  const std::vector<uint32_t> pages = pool_->PagesOf(number);
  for (size_t layer = 0; layer < pool_->model().shape.layers().size(); ++layer) {
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      for (size_t i = 0; i < pages.size(); ++i) {
        const std::span<const std::byte> was = pool_->PageValues(pages[i], layer, plane);
        const std::span<const std::byte> is = PageValues(index * pages.size() + i, layer, plane);
        if (!was.empty() && std::memcmp(was.data(), is.data(), was.size()) != 0) {
          return false;
        }
      }
    }
  }
  return true;
}

double BenchRoom::ErrorOf(size_t index, uint64_t number) const {
  const std::vector<uint32_t> pages = pool_->PagesOf(number);
  const HalfType type = pool_->model().halves;
  double of_values = 0;
  double of_errors = 0;
  for (size_t layer = 0; layer < pool_->model().shape.layers().size(); ++layer) {
    const LayerShape& shape = pool_->model().shape.layers()[layer];
    for (const Plane plane : {Plane::kKey, Plane::kValue}) {
      const size_t row_bytes = size_t{shape.size(plane)} * kPageValueBytes;
      for (size_t i = 0; i < pages.size(); ++i) {  // Of each page, its first row.
        const std::span<const std::byte> was = pool_->PageValues(pages[i], layer, plane);
        const std::span<const std::byte> is = PageValues(index * pages.size() + i, layer, plane);
        for (size_t at = 0; at < row_bytes; at += kPageValueBytes) {
          uint16_t bits[2] = {};
          std::memcpy(&bits[0], was.data() + at, kPageValueBytes);
          std::memcpy(&bits[1], is.data() + at, kPageValueBytes);
          const double before = ToFloat(type, Bounded(type, bits[0]));
          const double after = ToFloat(type, Bounded(type, bits[1]));
          of_values += before * before;
          of_errors += (before - after) * (before - after);
        }
      }
    }
  }
  return of_values > 0 ? std::sqrt(of_errors / of_values) : 0;
}

}  // namespace kvcast
