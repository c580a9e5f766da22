// What it costs a fetch that a node asks who comes: the same blocks are fetched, over sessions made
// of memory, of a node that lets everybody do everything and of one with a thousand tokens.
// Payloads are small, so that nothing else hides the difference; the limit is the node that asks
// nobody.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/interleaved.h"
#include "kvcast/base/check.h"
#include "kvcast/base/metrics.h"
#include "kvcast/catalog/block_key.h"
#include "kvcast/moqt/memory_connection.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/relay.h"

namespace kvcast::relay {
namespace {

constexpr size_t kTokens = 1000;
constexpr uint64_t kGroups = 16;
constexpr uint64_t kObjectsPerGroup = 128;
constexpr size_t kPayloadBytes = 256;

TrackName BenchTrack() {
  return *TrackName::Of(
      *TrackNamespace::Of({kServiceField, "tenant-500/model@0123456789abcdef", "prefix", "one"}),
      "BF16");
}

std::string TokenNumber(size_t number) { return "kvcast_token_" + std::to_string(number); }

Relay::Options OptionsOf(bool asks) {
  Relay::Options options;
  options.ram_bytes = size_t{256} << 20;
  options.limits.requests_per_second = 0;
  options.limits.useless_per_second = 0;
  options.access.required = asks;
  for (size_t i = 0; asks && i < kTokens; ++i) {
    const std::vector<std::string> tenants{"tenant-" + std::to_string(i)};
    options.access.tokens.Add(Sha256::Of(TokenNumber(i)),
                              {"holder", *Grant::Of(tenants, std::vector<std::string>{"engine"})});
  }
  return options;
}

moqt::Setup SetupWith(const std::string& token) {
  moqt::Setup setup;
  setup.path = "/";
  setup.authority = "node.example";
  setup.auth_tokens.push_back({moqt::AuthToken::AliasType::kUseValue, 0, 0, token});
  return setup;
}

// A node, and a client that has published what it fetches.
class BenchNode {
 public:
  explicit BenchNode(bool asks)
      : relay_(OptionsOf(asks), metrics_),
        client_(moqt::Role::kClient, SetupWith(TokenNumber(500)), {}, Instant()),
        server_(moqt::Role::kServer, {}, {}, Instant()),
        connection_({}, client_, server_),
        peer_(relay_.Join(server_)) {
    const moqt::RequestId request = *client_.Publish(track_, {}, {});
    Run();
    for (uint64_t group = 0; group < kGroups; ++group) {
      moqt::SubgroupHeader header;
      header.group = group;
      header.properties = true;
      header.end_of_group = true;
      header.first_object = true;
      const moqt::StreamId stream = *client_.OpenSubgroup(request, header);
      for (uint64_t i = 0; i < kObjectsPerGroup; ++i) {
        Object object;
        object.location = {group, i};
        object.payload = Bytes::Of(std::string(kPayloadBytes, 'x'));
        if (i == 0) {
          object.properties = BlockKeyProperties(Sha256::Of(std::to_string(group)));
        }
        KVCAST_CHECK(client_.SendObject(request, stream, object).ok());
      }
      KVCAST_CHECK(client_.EndSubgroup(request, stream).ok());
      Run();
    }
    KVCAST_CHECK(client_.EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
    Run();
  }
  ~BenchNode() { relay_.Leave(peer_); }
  BenchNode(const BenchNode&) = delete;
  BenchNode& operator=(const BenchNode&) = delete;

  // How many objects came.
  size_t Fetch(const LocationRange& range) {
    const moqt::RequestId request = *client_.Fetch(track_, range, {});
    size_t objects = 0;
    const auto take = [&] {
      while (const std::optional<moqt::Received> item = client_.Take(request)) {
        if (std::holds_alternative<moqt::ReceivedObject>(*item)) {
          ++objects;
        }
      }
    };
    do {
      take();
    } while (Step());
    take();
    while (client_.NextEvent()) {
    }
    return objects;
  }

 private:
  bool Step() {
    const bool moved = connection_.Step();
    relay_.OnInput(peer_, Instant());
    return moved;
  }
  void Run() {
    while (Step()) {
    }
    while (client_.NextEvent()) {
    }
  }

  Metrics metrics_;
  Relay relay_;
  moqt::Session client_;
  moqt::Session server_;
  moqt::MemoryConnection connection_;
  PeerId peer_;
  const TrackName track_ = BenchTrack();
};

void BM_FetchBlocks(benchmark::State& state) {
  BenchNode open(false);
  BenchNode asking(true);
  const auto fetch = [&](BenchNode& node) {
    for (uint64_t group = 0; group < kGroups; ++group) {
      KVCAST_CHECK(node.Fetch({{group, 0}, {group, kObjectsPerGroup - 1}}) == kObjectsPerGroup);
    }
  };
  Interleave(
      state, "of_a_node_that_asks_nobody", [&] { fetch(open); }, [&] { fetch(asking); });
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kGroups * kObjectsPerGroup));
}

BENCHMARK(BM_FetchBlocks)->UseManualTime()->Unit(benchmark::kMillisecond);

// The decision alone, which every request needs once, however many objects it brings.
void BM_Decide(benchmark::State& state) {
  const Access access(OptionsOf(true).access);
  const std::vector<moqt::AuthToken> tokens{
      {moqt::AuthToken::AliasType::kUseValue, 0, 0, TokenNumber(500)}};
  const Identity identity = access.Greet({}, tokens, "", 1).identity;
  const TrackName track = BenchTrack();
  for (auto _ : state) {
    const Access::Decision decision =
        access.Decide({}, identity, Act::kRead, track.space(), track.name(), {}, 1);
    KVCAST_CHECK(decision.allowed);
    benchmark::DoNotOptimize(&decision);
  }
}
BENCHMARK(BM_Decide);

}  // namespace
}  // namespace kvcast::relay
