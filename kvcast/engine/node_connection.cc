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

Result<std::unique_ptr<NodeConnection>> NodeConnection::Open(const NodeAddress& address,
                                                             const CacheKind& kind,
                                                             Duration patience,
                                                             const Ladder& ladder) {
  Result<std::unique_ptr<NodeConnection>> connection =
      OpenAny(address, kind, Now() + std::min(patience, kWaitMax), ladder);
  if (!connection.ok()) {
    return std::move(connection).error().In("node " + Printable(address.host_and_port));
  }
  return connection;
}

Result<std::unique_ptr<NodeConnection>> NodeConnection::OpenAny(const NodeAddress& address,
                                                                const CacheKind& kind,
                                                                Instant deadline,
                                                                const Ladder& ladder) {
  std::vector<SocketAddress> places = address.places;
  if (places.empty()) {
    KVCAST_TRY(places, SocketAddress::ResolveAll(address.host_and_port));
  }
  const auto start = [&](const SocketAddress& place) -> Result<std::unique_ptr<NodeConnection>> {
    ClientOptions options{kind, ladder};
    FillRandom(std::as_writable_bytes(std::span(&options.index_seed, 1)));
    std::unique_ptr<NodeConnection> connection(new NodeConnection);
    KVCAST_TRY_VOID(connection->Connect(address, place, options));
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
                     Printable(address.host_and_port) + "?");
  }
  return connection;
}

Result<void> NodeConnection::Connect(const NodeAddress& address, const SocketAddress& place,
                                     const ClientOptions& options) {
  KVCAST_TRY(const ClientCredentials credentials,
             ClientCredentials::Make(address.trust, address.own));
  KVCAST_TRY(thread_, LoopThread::Make());
  const moqt::Setup setup = ClientSetup(address.host_and_port, "/", address.token);
  Result<void> connected;
  thread_->Run([&] {
    Result<std::unique_ptr<QuicClient>> quic = QuicClient::Connect(
        thread_->loop(), {place, SocketAddress::HostOf(address.host_and_port)}, credentials,
        address.quic, [this, setup, options](QuicConnection& connection) {
          auto session =
              std::make_unique<NodeSession>(thread_->loop(), connection, setup, options,
                                            [this](const ClientEvent& event) { OnEvent(event); });
          session_ = session.get();
          return session;
        });
    if (quic.ok()) {
      quic_ = *std::move(quic);
    } else {
      connected = std::move(quic).error();
    }
  });
  return connected;
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
  if (quic_ == nullptr) {
    return;
  }
  thread_->Run([&] { quic_->connection().Close(0, "The engine is done."); });
  bool closed = false;
  for (int turn = 0; turn < kFarewellTurnsMax && !closed; ++turn) {
    thread_->Run([&] { closed = quic_->connection().closed(); });
  }
  thread_->Run([&] { quic_.reset(); });
}

void NodeConnection::Command(const std::function<void(Client&)>& command) {
  thread_->Run([&] { session_->Command(command); });
}

void NodeConnection::Post(std::function<void(Client&)> command) {
  thread_->loop().Post([this, command = std::move(command)] { session_->Command(command); });
}

// On the loop's thread.
void NodeConnection::OnEvent(const ClientEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    if (std::holds_alternative<NodeReady>(event)) {
      ready_ = true;
    } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
      lost_ = lost->reason.empty() ? "The connection was lost."
                                   : Printable(lost->reason, kReasonShownMax);
    } else if (const auto* loading = std::get_if<LoadProgress>(&event)) {
      Operation& operation = operations_[loading->operation];
      operation.loaded = loading->blocks;
      ++operation.changes;
    } else if (const auto* loaded = std::get_if<LoadEnded>(&event)) {
      operations_[loaded->operation].load_end = loaded->report;
    } else if (const auto* publishing = std::get_if<PublishProgress>(&event)) {
      Operation& operation = operations_[publishing->operation];
      operation.published = publishing->report;
      ++operation.changes;
    } else if (const auto* published = std::get_if<PublishEnded>(&event)) {
      operations_[published->operation].publish_end = published->report;
    }
  }
  changed_.notify_all();
}

CacheMatch NodeConnection::Find(std::span<const BlockHash> blocks, size_t first_block,
                                std::span<const Rung> rungs) {
  CacheMatch match;
  Command([&](Client& client) { match = client.Find(blocks, first_block, rungs); });
  return match;
}

Result<OperationId> NodeConnection::Begin(const Beginning& begin) {
  Result<OperationId> id = OperationId{0};
  Command([&](Client& client) { id = begin(client, Now()); });
  return id;
}

NodeConnection::Operation NodeConnection::Await(
    OperationId id, Instant deadline, const std::stop_token& stop,
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
      Command([&](Client& client) { client.Cancel(id, Now()); });
      lock.lock();
    } else {
      changed_.wait_for(lock, stop, std::min(deadline - Now(), kWaitMax), news);
    }
  }
  return operations_.extract(id).mapped();
}

Result<LoadReport> NodeConnection::Load(CacheMatch match, std::span<const BlockHash> blocks,
                                        PromptPages pages, const LoadCall& call) {
  KVCAST_TRY(const OperationId id, Begin([&](Client& client, Instant now) {
               return client.Load(std::move(match), {blocks.begin(), blocks.end()},
                                  std::move(pages),
                                  {call.deadline, call.compute_per_block, call.follow}, now);
             }));
  // The load ends itself at its deadline, so nothing else has to.
  Operation ended = Await(id, Instant::max(), call.stop, [&](const Operation& operation) {
    if (call.on_progress) {
      call.on_progress(operation.loaded);
    }
  });
  return *std::move(ended.load_end);
}

Result<PublishReport> NodeConnection::Publish(std::span<const BlockHash> blocks, PromptPages pages,
                                              const PublishCall& call) {
  Generation generation;
  FillRandom(generation);
  KVCAST_TRY(const OperationId id, Begin([&](Client& client, Instant now) {
               return client.Publish({blocks.begin(), blocks.end()}, std::move(pages),
                                     {generation, call.durability, call.rung}, now);
             }));
  return AwaitPublish(id, call);
}

Result<std::unique_ptr<LivePublication>> NodeConnection::BeginPublish(
    std::span<const BlockHash> blocks, PromptPages pages, const PublishCall& call) {
  Generation generation;
  FillRandom(generation);
  KVCAST_TRY(const OperationId id, Begin([&](Client& client, Instant now) {
               return client.Publish({blocks.begin(), blocks.end()}, std::move(pages),
                                     {generation, call.durability, call.rung, /*ready=*/0}, now);
             }));
  return std::unique_ptr<LivePublication>(new LivePublication(*this, id));
}

PublishReport NodeConnection::AwaitPublish(OperationId id, const PublishCall& call) {
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

std::optional<std::string> NodeConnection::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace kvcast
