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
    std::unique_ptr<NodeConnection> connection(new NodeConnection);
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
  thread_->Run([&] { link_.reset(); });
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

// An operation of a session that is over has ended with it.
void NodeConnection::CommandIn(Call call, const std::function<void(Client&)>& command) {
  NodeSession* const session = link_->session();
  if (session != nullptr && link_->number() == call.first) {
    session->Command(command);
  }
}

void NodeConnection::Post(Call call, std::function<void(Client&)> command) {
  thread_->loop().Post([this, call, command = std::move(command)] { CommandIn(call, command); });
}

// On the loop's thread.
void NodeConnection::OnEvent(const ClientEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    const auto operation = [&](OperationId id) -> Operation& {
      return operations_[{link_->number(), id}];
    };
    if (std::holds_alternative<NodeReady>(event)) {
      ready_ = true;
      lost_.reset();
    } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
      ready_ = false;
      lost_ = lost->reason.empty() ? "The connection was lost."
                                   : Printable(lost->reason, kReasonShownMax);
    } else if (const auto* loading = std::get_if<LoadProgress>(&event)) {
      operation(loading->operation).loaded = loading->blocks;
      ++operation(loading->operation).changes;
    } else if (const auto* loaded = std::get_if<LoadEnded>(&event)) {
      operation(loaded->operation).load_end = loaded->report;
    } else if (const auto* publishing = std::get_if<PublishProgress>(&event)) {
      operation(publishing->operation).published = publishing->report;
      ++operation(publishing->operation).changes;
    } else if (const auto* published = std::get_if<PublishEnded>(&event)) {
      operation(published->operation).publish_end = published->report;
    }
  }
  changed_.notify_all();
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
  Command([&](Client& client) { places = client.Places(blocks, first_block, rungs, Now()); });
  std::erase_if(places, [&](const BlockPlace& place) {
    return generation && place.generation != *generation;
  });
  return places;
}

Result<std::optional<NodeConnection::Call>> NodeConnection::Begin(const Beginning& begin) {
  Result<OperationId> id = OperationId{0};
  uint64_t number = 0;
  const bool has_node = Command([&](Client& client) {
    number = link_->number();
    id = begin(client, Now());
  });
  KVCAST_TRY(const OperationId operation, id);
  return has_node ? std::optional(Call{number, operation}) : std::nullopt;
}

NodeConnection::Operation NodeConnection::Await(
    Call id, Instant deadline, const std::stop_token& stop,
    const std::function<void(const Operation&)>& on_change) {
  std::unique_lock lock(mutex_);
  Operation& operation = operations_[id];  // Stays in its place: it is a map.
  uint64_t seen = 0;
  const auto ended = [&] { return operation.load_end || operation.publish_end; };
  const auto news = [&] { return ended() || operation.changes != seen; };
  bool cancelled = false;
  while (!ended()) {
    if (std::exchange(seen, operation.changes) != operation.changes) {
      const Operation now = operation;
      lock.unlock();
      on_change(now);
      lock.lock();
    } else if (cancelled) {
      changed_.wait(lock, news);
    } else if (stop.stop_requested() || Now() >= deadline) {
      cancelled = true;
      lock.unlock();
      thread_->Run(
          [&] { CommandIn(id, [&](Client& client) { client.Cancel(id.second, Now()); }); });
      lock.lock();
    } else {
      changed_.wait_for(lock, stop, std::min(deadline - Now(), kWaitMax), news);
    }
  }
  return operations_.extract(id).mapped();
}

Result<LoadReport> NodeConnection::Load(CacheMatch match, std::span<const BlockHash> blocks,
                                        PromptPages pages, const LoadCall& call) {
  const size_t first = match.first_block();
  const size_t end = call.follow ? std::max(first, std::min(blocks.size(), pages.block_count()))
                                 : match.end_block();
  KVCAST_TRY(const std::optional<Call> id, Begin([&](Client& client, Instant now) {
               return client.Load(std::move(match), {blocks.begin(), blocks.end()},
                                  std::move(pages),
                                  {call.deadline, call.compute_per_block, call.follow}, now);
             }));
  if (!id) {
    return LoadReport::NodeLost(first, end - first, LostReason());
  }
  // The load ends itself at its deadline, so nothing else has to.
  Operation ended = Await(*id, Instant::max(), call.stop, [&](const Operation& operation) {
    if (call.on_progress) {
      call.on_progress(operation.loaded);
    }
  });
  return *std::move(ended.load_end);
}

Result<std::optional<NodeConnection::Call>> NodeConnection::BeginAt(
    std::span<const BlockHash> blocks, PromptPages pages, const PublishCall& call, size_t ready) {
  const Generation generation = call.generation ? *call.generation : DrawGeneration();
  return Begin([&](Client& client, Instant now) {
    return client.Publish({blocks.begin(), blocks.end()}, std::move(pages),
                          {generation, call.durability, call.rung, ready}, now);
  });
}

Result<PublishReport> NodeConnection::Publish(std::span<const BlockHash> blocks, PromptPages pages,
                                              const PublishCall& call) {
  KVCAST_TRY(const std::optional<Call> id, BeginAt(blocks, std::move(pages), call, SIZE_MAX));
  return id ? AwaitPublish(*id, call) : PublishReport::NodeLost(blocks.size(), LostReason());
}

Result<std::unique_ptr<LivePublication>> NodeConnection::BeginPublish(
    std::span<const BlockHash> blocks, PromptPages pages, const PublishCall& call) {
  KVCAST_TRY(const std::optional<Call> id, BeginAt(blocks, std::move(pages), call, /*ready=*/0));
  std::unique_ptr<LivePublication> live(
      new LivePublication(*this, id.value_or(Call{}), /*finished=*/!id));
  if (!id) {
    live->report_ = PublishReport::NodeLost(blocks.size(), LostReason());
  }
  return live;
}

PublishReport NodeConnection::AwaitPublish(Call id, const PublishCall& call) {
  Operation ended = Await(id, call.deadline, call.stop, [&](const Operation& operation) {
    if (call.on_progress) {
      call.on_progress(operation.published);
    }
  });
  PublishReport report = *std::move(ended.publish_end);
  if (report.fault == PublishFault::kCancelled && !call.stop.stop_requested()) {
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
