#include "kvcast/client/client.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/planted.h"
#include "kvcast/client/page_supply.h"
#include "kvcast/client/put_outcomes.h"
#include "kvcast/kv/index_feed.h"
#include "kvcast/kv/value_format.h"

namespace kvcast {
namespace {

// The request that an event is about, if it is about one.
std::optional<moqt::RequestId> RequestOf(const moqt::Event& event) {
  return std::visit(
      [](const auto& any) -> std::optional<moqt::RequestId> {
        if constexpr (requires { any.request; }) {
          return any.request;
        } else {
          return std::nullopt;
        }
      },
      event);
}

// Whether the peer asks for something that a client does not do.
bool IsForeignRequest(const moqt::Event& event) {
  return std::holds_alternative<moqt::SubscribeReceived>(event) ||
         std::holds_alternative<moqt::FetchReceived>(event) ||
         std::holds_alternative<moqt::TrackStatusReceived>(event) ||
         std::holds_alternative<moqt::SubscribeTracksReceived>(event) ||
         std::holds_alternative<moqt::SubscribeNamespaceReceived>(event) ||
         std::holds_alternative<moqt::PublishNamespaceReceived>(event);
}

}  // namespace

Client::Client(moqt::Session& session, const ClientOptions& options)
    : session_(&session),
      options_(options),
      executor_(options.executor != nullptr ? options.executor : &own_executor_),
      index_(options.index_bytes_max, options.index_seed),
      held_(index_),
      follower_(
          session, CatalogTrack{options.kind.scope().Namespace(), {}, {}}.Prefix(),
          [this](const CatalogTrack& catalog) -> Result<std::unique_ptr<CatalogFeed>> {
            KVCAST_TRY(std::unique_ptr<IndexFeed> feed, IndexFeed::Open(index_));
            held_.OnCatalog(feed->node(), catalog.node);
            return std::unique_ptr<CatalogFeed>(std::move(feed));
          },
          options.catalog_patience),
      pace_(std::make_shared<NodePace>()),
      acks_(session),
      value_kind_(options.kind.scope(), kValueTrackName) {}

void Client::OnInput(Instant now) {
  while (std::optional<moqt::Event> event = session_->NextEvent()) {
    OnEvent(*event, now);
  }
  Settle(now);
}

void Client::OnEvent(const moqt::Event& event, Instant now) {
  if (const auto* closed = std::get_if<moqt::SessionClosed>(&event)) {
    OnSessionClosed(closed->reason);
  } else if (const auto* set_up = std::get_if<moqt::SetupDone>(&event)) {
    OnSetup(set_up->peer, now);
  } else if (const auto* offered = std::get_if<moqt::PublishReceived>(&event)) {
    if (!follower_.OnOffer(*offered, now)) {
      (void)session_->RefuseRequest(
          offered->request,
          {moqt::RequestCode::kUninterested, std::nullopt, "This client did not ask for it.", {}});
    }
  } else if (IsForeignRequest(event)) {
    (void)session_->RefuseRequest(
        *RequestOf(event),
        {moqt::RequestCode::kNotSupported, std::nullopt, "A client serves nothing.", {}});
  } else if (const auto* update = std::get_if<moqt::UpdateReceived>(&event)) {
    (void)session_->AcceptUpdate(update->request, {});  // It says what was sent.
    OnRequestEvent(update->request, event, now);
  } else if (const std::optional<moqt::RequestId> request = RequestOf(event)) {
    OnRequestEvent(*request, event, now);
  }
}

// Loads begin when it is known what the node holds, and so after this.
void Client::OnSetup(const moqt::Setup& peer, Instant now) {
  held_.OnSetup(peer);
  if (options_.paces != nullptr && held_.node() && loads_.empty()) {
    pace_ = options_.paces->Of(*held_.node());
  }
  follower_.OnSetUp(now);
}

void Client::OnRequestEvent(moqt::RequestId request, const moqt::Event& event, Instant now) {
  if (follower_.Owns(request)) {
    follower_.OnEvent(event, now);
    return;
  }
  if (acks_.Owns(request)) {
    acks_.OnEvent(request, event);
    return;
  }
  for (auto& [operation, entry] : loads_) {
    if (entry.loading->Owns(request)) {
      entry.loading->OnEvent(event, now);
      return;
    }
  }
  for (auto& [operation, entry] : publications_) {
    if (entry.publication->Owns(request)) {
      entry.publication->OnEvent(event, now);
      return;
    }
  }
  for (auto& [operation, prefetching] : prefetches_) {
    if (prefetching->Owns(request)) {
      prefetching->OnEvent(event);
      return;
    }
  }
  for (auto& [operation, loading] : value_loads_) {
    if (loading->Owns(request)) {
      loading->OnEvent(event);
      return;
    }
  }
}

void Client::OnSessionClosed(const std::string& reason) {
  lost_ = true;
  lost_reason_ = reason;
  follower_.OnNodeLost();
  acks_.OnNodeLost();
  for (auto& [operation, entry] : loads_) {
    entry.loading->OnNodeLost(reason);
  }
  for (auto& [operation, entry] : publications_) {
    entry.publication->OnNodeLost(reason);
  }
  for (auto& [operation, prefetching] : prefetches_) {
    prefetching->OnNodeLost(reason);
  }
  for (auto& [operation, loading] : value_loads_) {
    loading->OnNodeLost();
  }
}

void Client::OnTimeout(Instant now) {
  session_->OnTimeout(now);
  follower_.OnTimeout(now);
  for (auto& [operation, entry] : loads_) {
    entry.loading->OnTimeout(now);
  }
  for (auto& [operation, entry] : publications_) {
    entry.publication->OnTimeout(now);
  }
  for (auto& [operation, prefetching] : prefetches_) {
    prefetching->OnTimeout(now);
  }
  for (auto& [operation, loading] : value_loads_) {
    loading->OnTimeout(now);
  }
  OnInput(now);
}

std::optional<Instant> Client::deadline() const {
  std::optional<Instant> first;
  const auto add = [&](std::optional<Instant> at) {
    first = at && (!first || *at < *first) ? at : first;
  };
  if (!lost_) {
    add(session_->deadline());
    add(follower_.deadline());
    add(acks_.deadline());
  }
  for (const auto& [operation, entry] : loads_) {
    add(entry.loading->deadline());
  }
  for (const auto& [operation, entry] : publications_) {
    add(entry.publication->deadline());
  }
  for (const auto& [operation, prefetching] : prefetches_) {
    add(prefetching->deadline());
  }
  for (const auto& [operation, loading] : value_loads_) {
    add(loading->deadline());
  }
  return first;
}

std::optional<ClientEvent> Client::NextEvent() {
  if (events_.empty()) {
    return std::nullopt;
  }
  ClientEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

CacheMatch Client::Find(std::span<const BlockHash> blocks, size_t first_block,
                        std::span<const Rung> rungs,
                        const std::optional<Generation>& generation) const {
  const Rung own = options_.kind.rung();
  CacheMatch match =
      CacheMatch::Of(index_, blocks, options_.kind, rungs.empty() ? std::span(&own, 1) : rungs,
                     first_block, generation);
  if (options_.shelf != nullptr && !options_.shelf->empty()) {
    match.ExtendOver(*options_.shelf, index_, blocks, options_.kind);
  }
  return match;
}

std::vector<BlockPlace> Client::Places(std::span<const BlockHash> blocks, size_t first_block,
                                       std::span<const Rung> rungs,
                                       const std::optional<Generation>& generation,
                                       Instant now) const {
  const Rung own = options_.kind.rung();
  return PlacesOf(index_, held_.writers(), blocks, options_.kind,
                  rungs.empty() ? std::span(&own, 1) : rungs, first_block, generation, *pace_, now);
}

Result<void> Client::CheckPages(const PromptPages& pages) const {
  if (pages.value_bytes() != kPageValueBytes || pages.slice() != options_.kind.slice()) {
    return Error(ErrorCode::kInvalid, "The pages hold other values, or another slice, than " +
                                          std::string(ToString(options_.ladder.pages())) +
                                          options_.kind.slice().Suffix() + ".");
  }
  return {};
}

Result<OperationId> Client::Publish(std::vector<BlockHash> blocks, PromptPages pages,
                                    const PublishTerms& terms, Instant now) {
  KVCAST_TRY_VOID(CheckPages(pages));
  if (blocks.size() != pages.block_count()) {
    return Error(ErrorCode::kInvalid, std::to_string(blocks.size()) + " names for " +
                                          std::to_string(pages.block_count()) + " blocks.");
  }
  const CacheKind kind = options_.kind.At(terms.rung.value_or(options_.kind.rung()));
  KVCAST_TRY_VOID(options_.ladder.CheckPublishes(kind.rung(), pages));
  auto supply = std::make_unique<PageSupply>(std::move(pages), options_.ladder, kind.rung(),
                                             *executor_, options_.work, terms.coding);
  const Generation generation =
      Planted(PlantedBug::kOneGeneration) ? Generation() : terms.generation;
  return Begin({std::make_unique<Publication>(
                    *session_, held_, acks_,
                    Publication::Offer{kind, generation, std::move(blocks), std::move(supply),
                                       terms.durability, Instant::max(), terms.ready},
                    options_.publish_patience),
                {}},
               now);
}

void Client::Ready(OperationId publish, size_t blocks, Instant now) {
  if (const auto found = publications_.find(publish); found != publications_.end()) {
    found->second.publication->Ready(blocks, now);
    Settle(now);
  }
}

void Client::Room(OperationId load, size_t blocks, Instant now) {
  if (const auto found = loads_.find(load); found != loads_.end()) {
    found->second.loading->Room(blocks, now);
    Settle(now);
  }
}

void Client::Close(OperationId publish, Instant now) {
  if (const auto found = publications_.find(publish); found != publications_.end()) {
    found->second.publication->Close(now);
    Settle(now);
  }
}

OperationId Client::Begin(PublishEntry entry, Instant now) {
  if (lost_) {
    entry.publication->OnNodeLost(lost_reason_);
  }
  const OperationId operation = next_operation_++;
  publications_.emplace(operation, std::move(entry));
  Settle(now);
  return operation;
}

Result<OperationId> Client::Load(CacheMatch match, std::vector<BlockHash> blocks, PromptPages pages,
                                 const LoadTerms& terms, Instant now) {
  KVCAST_TRY_VOID(CheckPages(pages));
  if (match.end_block() > blocks.size() || match.end_block() > pages.block_count()) {
    return Error(ErrorCode::kInvalid, "The match has " + std::to_string(match.end_block()) +
                                          " blocks, and not all have a name and a place.");
  }
  const size_t end =
      terms.follow ? std::min(blocks.size(), pages.block_count()) : match.end_block();
  for (const auto& [prefetch, prefetching] : prefetches_) {
    prefetching->GiveWayTo(std::span(blocks).first(end));
  }
  const OperationId operation = next_operation_++;
  const Loading::Ground ground{session_,         pace_.get(), &index_,        &options_.kind,
                               &options_.ladder, executor_,   &options_.work, options_.shelf.get()};
  auto loading = std::make_unique<Loading>(ground, std::move(match), std::move(blocks),
                                           std::move(pages), terms, now);
  if (lost_) {
    loading->OnNodeLost(lost_reason_);
  }
  loads_.emplace(operation, LoadEntry{std::move(loading)});
  Settle(now);
  return operation;
}

OperationId Client::Prefetch(CacheMatch match, std::vector<BlockHash> blocks,
                             const PrefetchTerms& terms, Instant now) {
  const OperationId operation = next_operation_++;
  auto prefetching = std::make_unique<Prefetching>(
      Prefetching::Ground{session_, &index_, &options_.kind, options_.shelf.get()},
      std::move(match), std::move(blocks), terms, now);
  if (lost_) {
    prefetching->OnNodeLost(lost_reason_);
  }
  prefetches_.emplace(operation, std::move(prefetching));
  Settle(now);
  return operation;
}

void Client::Cancel(OperationId operation, Instant now) {
  if (const auto prefetch = prefetches_.find(operation); prefetch != prefetches_.end()) {
    prefetch->second->Cancel();
  }
  if (const auto load = loads_.find(operation); load != loads_.end()) {
    load->second.loading->Cancel();
  }
  if (const auto publish = publications_.find(operation); publish != publications_.end()) {
    publish->second.publication->Cancel();
  }
  if (const auto values = value_loads_.find(operation); values != value_loads_.end()) {
    values->second->Cancel();
  }
  Settle(now);
}

void Client::Settle(Instant now) {
  if (!lost_ && follower_.settled() && !std::exchange(ready_told_, true)) {
    events_.push_back(NodeReady{});
  }
  if (lost_ && !std::exchange(lost_told_, true)) {
    events_.push_back(NodeLost{lost_reason_});
  }
  SettlePublications(now);
  SettleLoads(now);
  SettlePrefetches();
  SettleValues();
  acks_.Settle(now);
}

void Client::SettlePublications(Instant now) {
  for (auto at = publications_.begin(); at != publications_.end();) {
    auto& [operation, entry] = *at;
    Publication& publication = *entry.publication;
    if (!publication.over() && !publication.started() && follower_.settled()) {
      publication.Start(now);
    }
    publication.Look(now);
    if (publication.over()) {
      if (entry.values) {
        events_.push_back(ValuesEnded{operation, PutOutcomes(publication, *entry.values)});
      } else {
        events_.push_back(PublishEnded{operation, publication.report()});
      }
      at = publications_.erase(at);
      continue;
    }
    if (!entry.values && publication.report() != entry.told) {
      entry.told = publication.report();
      events_.push_back(PublishProgress{operation, entry.told});
    }
    ++at;
  }
}

void Client::SettleLoads(Instant now) {
  for (auto at = loads_.begin(); at != loads_.end();) {
    auto& [operation, entry] = *at;
    entry.loading->Look(now);
    if (entry.loading->leading() > entry.told) {
      entry.told = entry.loading->leading();
      events_.push_back(LoadProgress{operation, entry.told});
    }
    if (entry.loading->over()) {
      events_.push_back(LoadEnded{operation, entry.loading->Report()});
      at = loads_.erase(at);
    } else {
      ++at;
    }
  }
}

void Client::SettlePrefetches() {
  for (auto at = prefetches_.begin(); at != prefetches_.end();) {
    auto& [operation, prefetching] = *at;
    prefetching->Look();
    if (prefetching->over()) {
      events_.push_back(PrefetchEnded{operation, prefetching->report()});
      at = prefetches_.erase(at);
    } else {
      ++at;
    }
  }
}

}  // namespace kvcast
