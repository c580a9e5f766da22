#include "kvcast/engine/node_connection.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/hex.h"
#include "kvcast/engine/address_race.h"
#include "kvcast/engine/client_setup.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

// Turns of the loop that a farewell may take before nobody waits for it any more.
constexpr int kFarewellTurnsMax = 100;
// A wait is added to the time that it is, and must not overflow then.
constexpr Duration kWaitMax = std::chrono::hours(1);
// How often connections that race each other are looked at.
constexpr Duration kRaceLook = std::chrono::milliseconds(10);
// Room for two fingerprints and what is said of them; a node might say anything.
constexpr size_t kReasonShownMax = 500;

}  // namespace

Result<std::unique_ptr<NodeConnection>> NodeConnection::Open(
    const std::vector<NodeAddress>& addresses, const ClientOptions& options, Duration patience) {
  Result<std::unique_ptr<NodeConnection>> connection =
      OpenAny(addresses, options, Now() + std::min(patience, kWaitMax));
  if (!connection.ok()) {
    return std::move(connection).error().In("node " + NamesOf(addresses));
  }
  return connection;
}

Result<std::unique_ptr<NodeConnection>> NodeConnection::OpenAny(
    const std::vector<NodeAddress>& addresses, const ClientOptions& given, Instant deadline) {
  std::vector<size_t> nodes;  // Which of them each place is.
  std::vector<SocketAddress> places;
  std::optional<Error> unknown;
  for (size_t node = 0; node < addresses.size(); ++node) {
    Result<std::vector<SocketAddress>> known = addresses[node].places;
    if (known->empty()) {
      known = SocketAddress::ResolveAll(addresses[node].host_and_port);
    }
    if (!known.ok()) {
      unknown = unknown.value_or(known.error());  // Of the others one may do.
      continue;
    }
    places.insert(places.end(), known->begin(), known->end());
    nodes.resize(places.size(), node);
  }
  if (places.empty()) {
    return *unknown;
  }
  size_t begun = 0;
  const auto start = [&](const SocketAddress& place) -> Result<std::unique_ptr<NodeConnection>> {
    ClientOptions options = given;
    FillRandom(std::as_writable_bytes(std::span(&options.index_seed, 1)));
    KVCAST_TRY(CallNews news, CallNews::Make());
    std::unique_ptr<NodeConnection> connection(new NodeConnection(std::move(news)));
    KVCAST_TRY_VOID(connection->Connect(addresses, {nodes[begun++], place}, options));
    return connection;
  };
  // Each has its own thread and its own news: with several, all are looked at now and then.
  const Duration look = places.size() > 1 ? kRaceLook : kWaitMax;
  KVCAST_TRY(
      std::unique_ptr<NodeConnection> connection,
      FirstToAnswer<NodeConnection>(
          places, deadline, start, [](NodeConnection& each) { return each.AwaitReady(Instant{}); },
          [look](NodeConnection& newest, Instant until) {
            (void)newest.AwaitReady(std::min(until, Now() + look)).ok();
          }));
  KVCAST_TRY(const bool ready, connection->AwaitReady(deadline));
  if (!ready) {
    return Error(ErrorCode::kMachine,
                 "The node does not answer. Is 'kvcast serve' running there, and does UDP get "
                 "through to " +
                     NamesOf(addresses) + "?");
  }
  return connection;
}

Result<void> NodeConnection::Connect(const std::vector<NodeAddress>& addresses,
                                     const NodeLink::First& first, const ClientOptions& options) {
  // What is wrong with these is no matter of the network, and said at once.
  KVCAST_TRY_VOID(ClientCredentials::Make(addresses[first.node].trust, addresses[first.node].own));
  KVCAST_TRY(thread_, LoopThread::Make());
  thread_->Run([&] {
    link_ = std::make_unique<NodeLink>(
        thread_->loop(), addresses, options, [this](const ClientEvent& event) { OnEvent(event); },
        first);
    loads_ = std::make_unique<OngoingLoads>(
        thread_->loop(), *link_,
        OngoingLoads::Told{
            .progress = [this](Call call, size_t blocks) { OnLoaded(call, blocks); },
            .end = [this](Call call, LoadReport report) { OnLoadEnd(call, std::move(report)); }});
    publications_ = std::make_unique<OngoingPublications>(
        thread_->loop(), *link_, options.publish_patience,
        OngoingPublications::Told{.progress =
                                      [this](Call call, const PublishReport& report) {
                                        OnPublishReport(call, report, /*over=*/false);
                                      },
                                  .end =
                                      [this](Call call, const PublishReport& report) {
                                        OnPublishReport(call, report, /*over=*/true);
                                      }});
  });
  return {};
}

Result<bool> NodeConnection::AwaitReady(Instant deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::max(deadline - Now(), Duration(0)), [&] { return ready_ || lost_; });
  if (lost_) {
    return Error(ErrorCode::kMachine, "Cannot use the node: " + *lost_);
  }
  return ready_;
}

NodeConnection::~NodeConnection() {
  if (link_ == nullptr) {
    return;
  }
  thread_->Run([&] { link_->Close(); });
  bool closed = false;
  for (int turn = 0; turn < kFarewellTurnsMax && !closed; ++turn) {
    thread_->Run([&] { closed = link_->closed(); });
  }
  thread_->Run([&] {
    link_.reset();
    loads_.reset();
    publications_.reset();
  });
}

bool NodeConnection::Command(const std::function<void(Client&)>& command) {
  bool has_node = false;
  thread_->Run([&] {
    if (NodeSession* const session = link_->session()) {
      session->Command(command);
      has_node = true;
    }
  });
  return has_node;
}

void NodeConnection::OnEvent(const ClientEvent& event) {
  OnLinkEvent(event);
  loads_->OnEvent(event);
  publications_->OnEvent(event);
  if (const auto* ended = std::get_if<PrefetchEnded>(&event)) {
    OnPrefetchEnd(*ended);
  }
}

void NodeConnection::OnPrefetchEnd(const PrefetchEnded& ended) {
  const auto found = prefetches_.find({link_->number(), ended.operation});
  if (found == prefetches_.end()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  calls_.at(found->second).prefetch_end = ended.report;
  Note(found->second, /*is_news=*/true);
  prefetches_.erase(found);
}

void NodeConnection::OnLinkEvent(const ClientEvent& event) {
  const std::lock_guard lock(mutex_);
  if (std::holds_alternative<NodeReady>(event)) {
    ready_ = true;
    lost_.reset();
  } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
    ready_ = false;
    lost_ = lost->reason.empty() ? "The connection was lost."
                                 : Printable(lost->reason, kReasonShownMax);
  }
  changed_.notify_all();
}

void NodeConnection::OnLoaded(Call call, size_t blocks) {
  const std::lock_guard lock(mutex_);
  calls_.at(call).loaded = blocks;
  Note(call, /*is_news=*/true);
}

void NodeConnection::OnLoadEnd(Call call, LoadReport report) {
  const std::lock_guard lock(mutex_);
  calls_.at(call).load_end = std::move(report);
  Note(call, /*is_news=*/true);
}

void NodeConnection::OnPublishReport(Call call, const PublishReport& report, bool over) {
  const std::lock_guard lock(mutex_);
  Progress& progress = calls_.at(call);
  progress.published = report;
  if (over) {
    progress.publish_end = report;
  }
  Note(call, over);
}

void NodeConnection::Note(Call call, bool is_news) {
  Progress& progress = calls_.at(call);
  ++progress.changes;
  if (is_news && progress.tag && !std::exchange(progress.is_news, true)) {
    progress.news->calls_.push_back(call);
    progress.news->signal_.Set();
  }
  changed_.notify_all();
}

NodeConnection::Progress NodeConnection::Take(Call call) {
  if (calls_.at(call).is_news) {
    CallNews& news = *calls_.at(call).news;
    std::erase(news.calls_, call);
    if (news.calls_.empty()) {
      news.signal_.Clear();
    }
  }
  return calls_.extract(call).mapped();
}

std::optional<uint64_t> NodeConnection::NextNews(CallNews& news) {
  const std::lock_guard lock(mutex_);
  if (news.calls_.empty()) {
    return std::nullopt;
  }
  Progress& progress = calls_.at(news.calls_.front());
  progress.is_news = false;
  news.calls_.pop_front();
  if (news.calls_.empty()) {
    news.signal_.Clear();
  }
  return progress.tag;
}

void NodeConnection::PostReady(Call call, size_t blocks) {
  thread_->loop().Post([this, call, blocks] { publications_->Ready(call, blocks); });
}

void NodeConnection::PostClose(Call call) {
  thread_->loop().Post([this, call] { publications_->Close(call); });
}

void NodeConnection::Cancel(Call call) {
  loads_->Cancel(call);
  publications_->Cancel(call);
  const auto prefetch =
      std::ranges::find_if(prefetches_, [call](const auto& each) { return each.second == call; });
  NodeSession* const session = link_->session();
  if (prefetch != prefetches_.end() && session != nullptr) {
    const auto [number, operation] = prefetch->first;
    session->Command(
        [&, operation = operation](Client& client) { client.Cancel(operation, Now()); });
  }
}

void NodeConnection::PostCancel(Call call) {
  thread_->loop().Post([this, call] { Cancel(call); });
}

void NodeConnection::PostRoom(Call call, size_t blocks) {
  thread_->loop().Post([this, call, blocks] { loads_->Room(call, blocks); });
}

CacheMatch NodeConnection::Find(std::span<const BlockHash> blocks, size_t first_block,
                                std::span<const Rung> rungs,
                                const std::optional<Generation>& generation) {
  CacheMatch match = CacheMatch::None(std::min(first_block, blocks.size()));
  Command([&](Client& client) { match = client.Find(blocks, first_block, rungs, generation); });
  return match;
}

Generation NodeConnection::DrawGeneration() {
  Generation generation;
  FillRandom(generation);
  return generation;
}

std::vector<BlockPlace> NodeConnection::Places(std::span<const BlockHash> blocks,
                                               size_t first_block, std::span<const Rung> rungs,
                                               const std::optional<Generation>& generation) {
  std::vector<BlockPlace> places;
  Command([&](Client& client) {
    places = client.Places(blocks, first_block, rungs, generation, Now());
  });
  return places;
}

NodeConnection::Call NodeConnection::Add(const std::optional<uint64_t>& tag, CallNews* news) {
  const std::lock_guard lock(mutex_);
  calls_[next_call_].tag = tag;
  calls_[next_call_].news = news != nullptr ? news : &own_news_;
  return next_call_++;
}

size_t NodeConnection::Loaded(Call call) const {
  const std::lock_guard lock(mutex_);
  return calls_.at(call).loaded;
}

NodeConnection::Progress NodeConnection::Await(
    Call call, Instant deadline, const std::stop_token& stop,
    const std::function<void(const Progress&)>& on_change) {
  std::unique_lock lock(mutex_);
  const Progress& progress = calls_.at(call);  // Stays in its place: it is a map.
  uint64_t seen = 0;
  const auto news = [&] { return progress.over() || progress.changes != seen; };
  bool cancelled = false;
  while (!progress.over()) {
    if (std::exchange(seen, progress.changes) != progress.changes) {
      const Progress now = progress;
      lock.unlock();
      on_change(now);
      lock.lock();
    } else if (cancelled) {
      changed_.wait(lock, news);
    } else if (stop.stop_requested() || Now() >= deadline) {
      cancelled = true;
      lock.unlock();
      thread_->Run([&] { Cancel(call); });
      lock.lock();
    } else {
      changed_.wait_for(lock, stop, std::min(deadline - Now(), kWaitMax), news);
    }
  }
  return Take(call);
}

std::optional<NodeConnection::Progress> NodeConnection::AwaitEnd(Call call, Instant until) {
  std::unique_lock lock(mutex_);
  const Progress& progress = calls_.at(call);
  while (!progress.over() && Now() < until) {
    changed_.wait_for(lock, std::min(until - Now(), kWaitMax), [&] { return progress.over(); });
  }
  return progress.over() ? std::optional(Take(call)) : std::nullopt;
}

Result<NodeConnection::Call> NodeConnection::StartLoad(const CacheMatch& match,
                                                       std::span<const BlockHash> blocks,
                                                       const PromptPages& pages,
                                                       const LoadCall& call,
                                                       const std::optional<uint64_t>& tag) {
  const Call added = Add(tag, call.news);
  Result<bool> begun = false;
  thread_->Run([&] {
    begun = loads_->Begin(added,
                          {{blocks.begin(), blocks.end()},
                           pages,
                           {call.deadline, call.compute_per_block, call.follow, call.room}},
                          match);
  });
  const std::string lost = LostReason();
  const std::lock_guard lock(mutex_);
  if (!begun.ok()) {
    (void)Take(added);
    return begun.error();
  }
  if (!*begun) {
    const size_t first = match.first_block();
    const size_t end = call.follow ? std::max(first, std::min(blocks.size(), pages.block_count()))
                                   : match.end_block();
    calls_.at(added).load_end = LoadReport::NodeLost(first, end - first, lost);
    Note(added, /*is_news=*/true);
  }
  return added;
}

Result<LoadReport> NodeConnection::Load(const CacheMatch& match, std::span<const BlockHash> blocks,
                                        const PromptPages& pages, const LoadCall& call) {
  KVCAST_TRY(const Call started, StartLoad(match, blocks, pages, call, /*tag=*/std::nullopt));
  // The load ends itself at its deadline, so nothing else has to.
  Progress ended = Await(started, Instant::max(), call.stop, [&](const Progress& progress) {
    if (call.on_progress) {
      call.on_progress(progress.loaded);
    }
  });
  return *std::move(ended.load_end);
}

Result<std::unique_ptr<LiveLoad>> NodeConnection::BeginLoad(const CacheMatch& match,
                                                            std::span<const BlockHash> blocks,
                                                            const PromptPages& pages,
                                                            const LoadCall& call) {
  KVCAST_TRY(const Call started, StartLoad(match, blocks, pages, call, call.tag));
  return std::unique_ptr<LiveLoad>(new LiveLoad(*this, started));
}

Result<NodeConnection::Call> NodeConnection::StartPublish(std::span<const BlockHash> blocks,
                                                          const PromptPages& pages,
                                                          const PublishCall& call, size_t ready,
                                                          const std::optional<uint64_t>& tag) {
  const Generation generation = call.generation ? *call.generation : DrawGeneration();
  const Call added = Add(tag, call.news);
  Result<bool> begun = false;
  thread_->Run([&] {
    begun = publications_->Begin(
        added,
        {{blocks.begin(), blocks.end()}, pages, {generation, call.durability, call.rung, ready}});
  });
  const std::string lost = LostReason();
  const std::lock_guard lock(mutex_);
  if (!begun.ok()) {
    (void)Take(added);
    return begun.error();
  }
  if (!*begun) {
    calls_.at(added).publish_end = PublishReport::NodeLost(blocks.size(), lost);
    Note(added, /*is_news=*/true);
  }
  return added;
}

Result<PublishReport> NodeConnection::Publish(std::span<const BlockHash> blocks,
                                              const PromptPages& pages, const PublishCall& call) {
  KVCAST_TRY(const Call started,
             StartPublish(blocks, pages, call, /*ready=*/SIZE_MAX, /*tag=*/std::nullopt));
  return AwaitPublish(started, call);
}

Result<std::unique_ptr<LivePublication>> NodeConnection::BeginPublish(
    std::span<const BlockHash> blocks, const PromptPages& pages, const PublishCall& call) {
  KVCAST_TRY(const Call started, StartPublish(blocks, pages, call, /*ready=*/0, call.tag));
  return std::unique_ptr<LivePublication>(new LivePublication(*this, started));
}

std::unique_ptr<LivePrefetch> NodeConnection::BeginPrefetch(const CacheMatch& match,
                                                            std::span<const BlockHash> blocks,
                                                            const PrefetchCall& call) {
  const Call added = Add(call.tag, call.news);
  const bool has_node = Command([&](Client& client) {
    const OperationId operation =
        client.Prefetch(match, {blocks.begin(), blocks.end()}, call.terms, Now());
    prefetches_[{link_->number(), operation}] = added;
  });
  const std::string lost = LostReason();
  const std::lock_guard lock(mutex_);
  if (!has_node) {
    calls_.at(added).prefetch_end =
        PrefetchReport{.first_block = match.first_block(),
                       .fault = BlockOutcome::kNodeLost,
                       .reason = "There is no session to a node: " + lost};
    Note(added, /*is_news=*/true);
  }
  return std::unique_ptr<LivePrefetch>(new LivePrefetch(*this, added));
}

PublishReport NodeConnection::AwaitPublish(Call call, const PublishCall& terms) {
  Progress ended = Await(call, terms.deadline, terms.stop, [&](const Progress& progress) {
    if (terms.on_progress) {
      terms.on_progress(progress.published);
    }
  });
  PublishReport report = *std::move(ended.publish_end);
  if (report.fault == PublishFault::kCancelled && !terms.stop.stop_requested()) {
    report.fault = PublishFault::kPatienceOver;
    report.reason = "The deadline passed.";
  }
  return report;
}

std::string NodeConnection::LostReason() const {
  return lost().value_or("The connection was lost.");
}

std::optional<std::string> NodeConnection::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace kvcast
