#include "kvcast/host/other_shards.h"

#include "kvcast/base/check.h"
#include "kvcast/host/shard_plan.h"

namespace kvcast {

Result<std::unique_ptr<OtherShards>> OtherShards::Make(EventLoop& first, size_t count) {
  KVCAST_CHECK(count > 1 && count <= PortShare::kCountMax);
  std::vector<std::unique_ptr<Shard>> shards;
  for (size_t i = 1; i < count; ++i) {
    shards.push_back(std::make_unique<Shard>());
    KVCAST_TRY(shards.back()->thread, LoopThread::Make());
  }
  return std::unique_ptr<OtherShards>(new OtherShards(first, std::move(shards)));
}

OtherShards::OtherShards(EventLoop& first, std::vector<std::unique_ptr<Shard>> shards)
    : first_loop_(&first), shards_(std::move(shards)) {
  MakeBridges();
}

EventLoop& OtherShards::LoopOf(size_t shard) {
  return shard == 0 ? *first_loop_ : shards_[shard - 1]->thread->loop();
}

void OtherShards::MakeBridges() {
  bridges_.resize(count());
  for (size_t from = 0; from < count(); ++from) {
    for (size_t to = 0; to < count(); ++to) {
      bridges_[from].push_back(
          from == to
              ? nullptr
              : std::make_unique<Bridge>(
                    LoopOf(from), LoopOf(to), [this, from, to](std::vector<ShardParcel>& parcels) {
                      NodeServer* const node = to == 0 ? first_ : shards_[to - 1]->node.get();
                      if (node != nullptr) {
                        node->Take(from, parcels);
                      }
                    }));
    }
  }
}

ShardLines OtherShards::LinesOf(size_t shard) {
  ShardLines lines{shard, count(), {}};
  for (const std::unique_ptr<Bridge>& bridge : bridges_[shard]) {
    lines.bridges.push_back(bridge.get());
  }
  return lines;
}

void OtherShards::OnEach(const std::function<void(Shard&)>& work) {
  for (const std::unique_ptr<Shard>& shard : shards_) {
    shard->thread->Run([&] { work(*shard); });
  }
}

// What is under way between shards finds nobody any more; then they go, each on its thread, and
// last the bridges, whose timers are their loops'.
OtherShards::~OtherShards() {
  gives_up_ = true;
  first_ = nullptr;
  for (size_t i = 0; i < shards_.size(); ++i) {
    shards_[i]->thread->Run([&] {
      for (size_t from = 0; from < count(); ++from) {
        if (bridges_[from][i + 1] != nullptr) {
          bridges_[from][i + 1]->Close();
        }
      }
    });
  }
  for (size_t from = 1; from < count(); ++from) {
    bridges_[from][0]->Close();
  }
  OnEach([](Shard& shard) {
    shard.health.reset();
    shard.node.reset();
  });
  for (size_t i = 0; i < shards_.size(); ++i) {
    shards_[i]->thread->Run([&] { bridges_[i + 1].clear(); });
  }
}

bool OtherShards::Await(EventLoop& loop, std::future<Result<void>>& opening,
                        const std::function<bool()>& go_on) {
  while (opening.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    if (!go_on()) {
      return false;
    }
    loop.RunOnce(std::chrono::milliseconds(20));
  }
  return true;
}

Result<std::unique_ptr<NodeServer>> OtherShards::Start(const NodeServer::Options& node,
                                                       std::vector<ChunkMemory> payloads,
                                                       const ServerCredentials& credentials,
                                                       Metrics& metrics, LogSink* log,
                                                       const std::filesystem::path& state) {
  payloads.resize(count());
  std::vector<NodeServer::Options> plans;
  for (size_t i = 0; i < count(); ++i) {
    KVCAST_TRY(NodeServer::Options plan, ShardOptions(node, i, count(), state));
    plan.shard = LinesOf(i);
    plan.payload_memory = std::move(payloads[i]);
    plans.push_back(std::move(plan));
  }
  std::vector<std::future<Result<void>>> openings;
  for (size_t i = 1; i < count(); ++i) {
    plans[i].on_opening = [this] { return !gives_up_; };
    auto promise = std::make_shared<std::promise<Result<void>>>();
    openings.push_back(promise->get_future());
    Shard& shard = *shards_[i - 1];
    shard.thread->loop().Post([&shard, promise, log, plan = std::move(plans[i])] {
      auto opened = NodeServer::Open(shard.thread->loop(), plan, shard.metrics, log);
      if (opened.ok()) {
        shard.node = *std::move(opened);
      }
      promise->set_value(opened.ok() ? Result<void>() : Result<void>(opened.error()));
    });
  }
  auto first = NodeServer::Open(*first_loop_, plans[0], metrics, log);
  Result<void> opened = first.ok() ? Result<void>() : Result<void>(first.error());
  for (std::future<Result<void>>& opening : openings) {
    // All are waited for: they use what is here.
    if (!opened.ok() || !Await(*first_loop_, opening, node.on_opening)) {
      gives_up_ = true;
    }
    const Result<void> other = opening.get();
    opened = opened.ok() ? other : opened;
  }
  KVCAST_TRY_VOID(std::move(opened));
  first_ = first->get();
  const Result<void> listening = Listen(*first_, credentials);
  if (!listening.ok()) {
    first_ = nullptr;
    return listening.error();
  }
  return first;
}

Result<void> OtherShards::Listen(NodeServer& first, const ServerCredentials& credentials) {
  KVCAST_TRY(std::vector<UdpSocket> sockets, NodeServer::BindSockets(first.options(), count()));
  Result<void> listening = first.Listen(credentials, std::move(sockets[0]));
  for (size_t i = 1; listening.ok() && i < count(); ++i) {
    Shard& shard = *shards_[i - 1];
    shard.thread->Run([&] { listening = shard.node->Listen(credentials, std::move(sockets[i])); });
  }
  return listening;
}

void OtherShards::Watch(const NodeHealth::Options& options, LogSink* log) {
  OnEach([&](Shard& shard) {
    shard.health = std::make_unique<NodeHealth>(shard.thread->loop(), *shard.node, options,
                                                shard.metrics, log);
  });
}

void OtherShards::StopWatching() {
  OnEach([](Shard& shard) {
    if (shard.health != nullptr) {
      shard.health->Leave();
    }
  });
}

}  // namespace kvcast
