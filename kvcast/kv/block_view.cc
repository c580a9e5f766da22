#include "kvcast/kv/block_view.h"

#include <limits>
#include <string>

namespace kvcast {

Result<BlockView> BlockView::OfTables(const PagedCache& cache,
                                      std::span<const std::span<const uint32_t>> tables,
                                      size_t first_token, uint32_t tokens, const Slice& slice) {
  if (tokens == 0) {
    return Error(ErrorCode::kInvalid, "A block has at least one token.");
  }
  if (tables.size() != cache.table_count()) {
    return Error(ErrorCode::kInvalid, "Pages were given in " + std::to_string(tables.size()) +
                                          " tables; the cache has " +
                                          std::to_string(cache.table_count()) + ".");
  }
  const BlockShape whole({cache.layers().begin(), cache.layers().end()}, tokens);
  KVCAST_TRY(BlockShape shape, whole.Sliced(slice));
  BlockView view(cache, std::move(shape));
  view.rows_.reserve(tables.size());
  for (size_t table = 0; table < tables.size(); ++table) {
    KVCAST_TRY(TableRow row, RowOf(cache, table, tables[table], first_token, tokens));
    view.rows_.push_back(std::move(row));
  }
  view.position_ = first_token;
  view.first_layer_ = slice.layers ? slice.layers->first : 0;
  view.first_head_ = slice.heads ? slice.heads->first : 0;
  return view;
}

Result<BlockView::TableRow> BlockView::RowOf(const PagedCache& cache, size_t table,
                                             std::span<const uint32_t> pages, size_t first_token,
                                             uint32_t tokens) {
  const size_t page_tokens = cache.page_tokens(table);
  const size_t first_page = first_token / page_tokens;
  const size_t offset = first_token % page_tokens;
  const size_t page_count = (offset + tokens + page_tokens - 1) / page_tokens;
  if (first_page > pages.size() || page_count > pages.size() - first_page) {
    return Error(ErrorCode::kInvalid, "Tokens " + std::to_string(first_token) + " to " +
                                          std::to_string(first_token + tokens - 1) +
                                          " do not lie in " + std::to_string(pages.size()) +
                                          " pages of " + std::to_string(page_tokens) + ".");
  }
  const std::span<const uint32_t> own = pages.subspan(first_page, page_count);
  for (const uint32_t page : own) {
    if (page >= cache.page_count(table)) {
      return Error(ErrorCode::kInvalid, "Page " + std::to_string(page) + " is not one of the " +
                                            std::to_string(cache.page_count(table)) +
                                            " there are.");
    }
  }
  return TableRow{{own.begin(), own.end()}, offset, page_tokens};
}

}  // namespace kvcast
