// What a cache loads and publishes while nobody waits. Included by kvcast.hpp.
#ifndef KVCAST_KVCAST_LOADING_HPP_
#define KVCAST_KVCAST_LOADING_HPP_

#include "kvcast/kvcast.hpp"
#include "kvcast/kvcast_terms.hpp"

namespace kvcast {
inline namespace v0 {
namespace detail {

inline CacheReport ReportOf(const kvcast_report& told) {
  return {told.blocks,
          told.tokens,
          told.bytes,
          told.held,
          static_cast<Status>(told.status),
          told.reason,
          told.live,
          {},
          told.prefetched,
          static_cast<Durability>(told.durability)};
}
inline std::vector<CacheBlock> EachOf(const std::vector<kvcast_block>& blocks, size_t count) {
  std::vector<CacheBlock> each;
  for (size_t i = 0; i < count && i < blocks.size(); ++i) {
    const char* const rung = blocks[i].rung == nullptr ? "" : blocks[i].rung;
    each.push_back({static_cast<Status>(blocks[i].status), rung, blocks[i].why});
  }
  return each;
}

}  // namespace detail

// A load that goes on by itself. See kvcast_loading. Destroyed before it is over, it is given up.
// The cache must outlive it.
class CacheLoading {
 public:
  // The first so many of the prompt's tokens are in their pages by now.
  uint64_t tokens() const { return kvcast_loading_tokens(loading_.get()); }
  // Pages of the first so many tokens may be written to now. Waits for nothing.
  void Room(uint64_t tokens) { kvcast_loading_room(loading_.get(), tokens); }
  // Ends it as soon as can be. Waits for nothing.
  void Cancel() { kvcast_loading_cancel(loading_.get()); }
  // How it ended, once: it is gone then. Absent: it goes on. Waits for its end for so long at most.
  Expected<std::optional<CacheReport>> Wait(Microseconds wait = Microseconds(0)) {
    kvcast_report told{};
    told.struct_size = sizeof(told);
    std::vector<kvcast_block> blocks(blocks_max_);
    size_t count = blocks.size();
    const kvcast_code code = kvcast_loading_wait(loading_.get(), wait.count(), &told, blocks.data(),
                                                 sizeof(kvcast_block), &count);
    if (code == KVCAST_PENDING) {
      return std::optional<CacheReport>();
    }
    if (code != KVCAST_OK) {
      return detail::FailureOf(code);
    }
    (void)loading_.release();
    CacheReport report = detail::ReportOf(told);
    report.each = detail::EachOf(blocks, count);
    return std::optional(std::move(report));
  }

 private:
  friend class Cache;
  struct Abandon {
    void operator()(kvcast_loading* loading) const { kvcast_loading_abandon(loading); }
  };
  CacheLoading(kvcast_loading* loading, size_t blocks_max)
      : loading_(loading), blocks_max_(blocks_max) {}

  std::unique_ptr<kvcast_loading, Abandon> loading_;
  size_t blocks_max_;
};

// Blocks on their way into this host's memory. See kvcast_prefetch. Destroyed before it is over, it
// is given up, and what has come stays. The cache must outlive it.
class CachePrefetch {
 public:
  // How it ended, once: it is gone then. Absent: it goes on. Waits for its end for so long at most.
  Expected<std::optional<CacheReport>> Wait(Microseconds wait = Microseconds(0)) {
    kvcast_report told{};
    told.struct_size = sizeof(told);
    const kvcast_code code = kvcast_prefetch_wait(prefetch_.get(), wait.count(), &told);
    if (code == KVCAST_PENDING) {
      return std::optional<CacheReport>();
    }
    if (code != KVCAST_OK) {
      return detail::FailureOf(code);
    }
    (void)prefetch_.release();
    return std::optional(detail::ReportOf(told));
  }

 private:
  friend class Cache;
  struct Abandon {
    void operator()(kvcast_prefetch* prefetch) const { kvcast_prefetch_abandon(prefetch); }
  };
  explicit CachePrefetch(kvcast_prefetch* prefetch) : prefetch_(prefetch) {}

  std::unique_ptr<kvcast_prefetch, Abandon> prefetch_;
};

// A prompt that is published while it is being computed. See kvcast_publication. Destroyed before
// it is over, it is given up. The cache must outlive it.
class CachePublication {
 public:
  // The first so many tokens are computed. Waits for nothing.
  void Ready(uint64_t tokens) { (void)kvcast_publication_ready(publication_.get(), tokens); }
  // No more will be. Waits until the node lists what is ready.
  Expected<CacheReport> Finish(Microseconds timeout = Microseconds(30'000'000)) {
    kvcast_report told{};
    told.struct_size = sizeof(told);
    const kvcast_code code = kvcast_publication_finish(
        publication_.release(), timeout.count() > 0 ? timeout.count() : -1, &told);
    return code == KVCAST_OK ? Expected<CacheReport>(detail::ReportOf(told))
                             : detail::FailureOf(code);
  }
  // The same in two. Waits for nothing,
  void Close() { (void)kvcast_publication_close(publication_.get()); }
  // and tells how it ended, once: it is gone then. Absent: it goes on. Waits for so long at most.
  Expected<std::optional<CacheReport>> Wait(Microseconds wait = Microseconds(0)) {
    kvcast_report told{};
    told.struct_size = sizeof(told);
    const kvcast_code code = kvcast_publication_wait(publication_.get(), wait.count(), &told);
    if (code == KVCAST_PENDING) {
      return std::optional<CacheReport>();
    }
    if (code != KVCAST_OK) {
      return detail::FailureOf(code);
    }
    (void)publication_.release();
    return std::optional(detail::ReportOf(told));
  }

 private:
  friend class Cache;
  struct Abandon {
    void operator()(kvcast_publication* publication) const {
      kvcast_publication_abandon(publication);
    }
  };
  explicit CachePublication(kvcast_publication* publication) : publication_(publication) {}

  std::unique_ptr<kvcast_publication, Abandon> publication_;
};

}  // namespace v0
}  // namespace kvcast

#endif  // KVCAST_KVCAST_LOADING_HPP_
