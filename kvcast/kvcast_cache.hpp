// An engine that says what its pages hold. Included by kvcast.hpp.
#ifndef KVCAST_KVCAST_CACHE_HPP_
#define KVCAST_KVCAST_CACHE_HPP_

#include "kvcast/kvcast.hpp"
#include "kvcast/kvcast_loading.hpp"
#include "kvcast/kvcast_terms.hpp"

namespace kvcast {
inline namespace v0 {

// For engines that say what their pages hold. See kvcast_cache.
class Cache {
 public:
  using Model = CacheModel;
  using Layer = kvcast_layer;
  using Pages = CachePages;
  using Input = kvcast_input;
  using Prompt = CachePrompt;
  using Terms = CacheTerms;
  using Block = CacheBlock;
  using Offer = CacheOffer;
  using Report = CacheReport;

  using Loading = CacheLoading;
  using Prefetch = CachePrefetch;
  using Publication = CachePublication;

  static Expected<Cache> Open(const Node& node, const Model& model, const Pages& pages) {
    const detail::GivenNode where = detail::NodeOf(node);
    const kvcast_model named = detail::ModelOf(model);
    const kvcast_pages laid = detail::PagesOf(pages);
    kvcast_cache* cache = nullptr;
    const kvcast_code code = kvcast_cache_open(&where.node, &named, &laid, &cache);
    return code == KVCAST_OK ? Expected<Cache>(Cache(cache)) : detail::FailureOf(code);
  }

  // A prompt's cache as a file, without any node. See kvcast_file_save.
  // Absent: it is in place.
  static std::optional<Failure> Save(const std::string& path, const Model& model,
                                     const Pages& pages, const Prompt& prompt) {
    const kvcast_model named = detail::ModelOf(model);
    const kvcast_pages laid = detail::PagesOf(pages);
    const kvcast_prompt given = detail::PromptOf(prompt);
    const kvcast_code code = kvcast_file_save(path.c_str(), &named, &laid, &given);
    return code == KVCAST_OK ? std::nullopt : std::optional(detail::FailureOf(code));
  }
  // So many of the prompt's first tokens are in their pages then.
  static Expected<uint64_t> Restore(const std::string& path, const Model& model, const Pages& pages,
                                    const Prompt& prompt) {
    const kvcast_model named = detail::ModelOf(model);
    const kvcast_pages laid = detail::PagesOf(pages);
    const kvcast_prompt given = detail::PromptOf(prompt);
    uint64_t tokens = 0;
    const kvcast_code code = kvcast_file_restore(path.c_str(), &named, &laid, &given, &tokens);
    return code == KVCAST_OK ? Expected<uint64_t>(tokens) : detail::FailureOf(code);
  }

  // For ranks that publish their parts of one cache: one draws it, and tells the others.
  static Expected<Generation> DrawGeneration() {
    Generation generation{};
    const kvcast_code code = kvcast_draw_generation(generation.data());
    return code == KVCAST_OK ? Expected<Generation>(generation) : detail::FailureOf(code);
  }

  // The longest prefix that can be had. Asks nobody.
  Expected<Report> Find(const Prompt& prompt, const Terms& terms = Terms()) {
    return Call(kvcast_cache_find, prompt, terms);
  }
  // Who holds which block of that, and at which rung. Asks nobody.
  Expected<std::vector<Offer>> Offers(const Prompt& prompt, const Terms& terms = Terms()) {
    const kvcast_prompt asked = detail::PromptOf(prompt);
    const kvcast_terms given = detail::TermsOf(terms);
    std::vector<kvcast_offer> told;
    size_t count = 0;
    do {  // There may be more when they are asked for again.
      told.resize(count);
      const kvcast_code code = kvcast_cache_offers(cache_.get(), &asked, &given, told.data(),
                                                   sizeof(kvcast_offer), &count);
      if (code != KVCAST_OK) {
        return detail::FailureOf(code);
      }
    } while (count > told.size());
    told.resize(count);
    std::vector<Offer> offers;
    for (const kvcast_offer& each : told) {
      offers.push_back({each.block, each.rung, each.bytes, std::nullopt,
                        std::string(each.node, each.node + sizeof(each.node)),
                        std::string(each.generation, each.generation + sizeof(each.generation))});
      if (each.load_us >= 0) {
        offers.back().load = Microseconds(each.load_us);
      }
    }
    return offers;
  }
  // What is loaded stands first: report->tokens of them. The rest is to be computed.
  Expected<Report> Load(const Prompt& prompt, const Terms& terms = Terms()) {
    std::vector<kvcast_block> blocks(prompt.tokens.size() / (cache_ ? block_tokens() : 1));
    size_t count = blocks.size();
    const auto load = [&](auto... given) {
      return kvcast_cache_load_blocks(given..., blocks.data(), sizeof(kvcast_block), &count);
    };
    Expected<Report> report = Call(load, prompt, terms);
    if (report) {
      report->each = detail::EachOf(blocks, blocks.size());
    }
    return report;
  }
  // The same, while nobody waits: the prompt and the terms may go when this returns.
  Expected<Loading> BeginLoad(const Prompt& prompt, const Terms& terms = Terms()) {
    const kvcast_prompt asked = detail::PromptOf(prompt);
    const kvcast_terms given = detail::TermsOf(terms);
    kvcast_loading* loading = nullptr;
    const kvcast_code code = kvcast_cache_begin_load(cache_.get(), &asked, &given, &loading);
    return code == KVCAST_OK
               ? Expected<Loading>(Loading(loading, prompt.tokens.size() / block_tokens()))
               : detail::FailureOf(code);
  }
  // Brings what will be loaded soon into this host's memory; the prompt needs no pages.
  Expected<Prefetch> BeginPrefetch(const Prompt& prompt, const Terms& terms = Terms()) {
    const kvcast_prompt asked = detail::PromptOf(prompt);
    const kvcast_terms given = detail::TermsOf(terms);
    kvcast_prefetch* prefetch = nullptr;
    const kvcast_code code = kvcast_cache_begin_prefetch(cache_.get(), &asked, &given, &prefetch);
    return code == KVCAST_OK ? Expected<Prefetch>(Prefetch(prefetch)) : detail::FailureOf(code);
  }
  Expected<Report> Publish(const Prompt& prompt, const Terms& terms = Terms()) {
    return Call(kvcast_cache_publish, prompt, terms);
  }
  // Nothing is ready yet, and no page is read before it is.
  Expected<Publication> Begin(const Prompt& prompt, const Terms& terms = Terms()) {
    const kvcast_prompt asked = detail::PromptOf(prompt);
    const kvcast_terms given = detail::TermsOf(terms);
    kvcast_publication* publication = nullptr;
    const kvcast_code code = kvcast_cache_begin(cache_.get(), &asked, &given, &publication);
    return code == KVCAST_OK ? Expected<Publication>(Publication(publication))
                             : detail::FailureOf(code);
  }

  // Of what was begun: the tag of a load that has come further, or of whatever is over, since this
  // last said so.
  std::optional<uint64_t> NextNews() {
    uint64_t tag = 0;
    const kvcast_code code = kvcast_cache_news(cache_.get(), &tag);
    return code == KVCAST_OK ? std::optional<uint64_t>(tag) : std::nullopt;
  }
  // Can be read while there are such news: for select, poll and epoll.
  int descriptor() const { return kvcast_cache_fd(cache_.get()); }

  uint32_t block_tokens() const { return kvcast_cache_block_tokens(cache_.get()); }
  bool connected() const { return kvcast_cache_connected(cache_.get()) != 0; }
  kvcast_cache* handle() { return cache_.get(); }

 private:
  struct Close {
    void operator()(kvcast_cache* cache) const { kvcast_cache_close(cache); }
  };
  explicit Cache(kvcast_cache* cache) : cache_(cache) {}

  template <typename Function>
  Expected<Report> Call(const Function& function, const Prompt& prompt, const Terms& terms) {
    const kvcast_prompt asked = detail::PromptOf(prompt);
    const kvcast_terms given = detail::TermsOf(terms);
    kvcast_report told{};
    told.struct_size = sizeof(told);
    const kvcast_code code = function(cache_.get(), &asked, &given, &told);
    return code == KVCAST_OK ? Expected<Report>(detail::ReportOf(told)) : detail::FailureOf(code);
  }

  std::unique_ptr<kvcast_cache, Close> cache_;
};

}  // namespace v0
}  // namespace kvcast

#endif  // KVCAST_KVCAST_CACHE_HPP_
