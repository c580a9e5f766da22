// The two ends of a FETCH from a node's memory, a process each, for benchmarks to drive:
//
//   fetch_meter node ADDRESS MIB DATAGRAM_BYTES CONTROL AEAD [SHARDS]
//                                    serves a track of 160 KB objects, MIB in all, and prints
//                                    "HOST:PORT FINGERPRINT" when it is in memory, until its
//                                    standard input ends
//   fetch_meter read HOST:PORT FINGERPRINT MIB DATAGRAM_BYTES CONTROL AEAD TIMES [SHARDS PLACE]
//                                    fetches the track so many times, over one connection of its
//                                    own, and prints the bytes and seconds, from asking on
//
// CONTROL is distance, cubic or bbr; AEAD is fast or gnutls; PLACE is own or other: the
// connection's home is the shard that has the track, or is not. See bench/README.md.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "kvcast/host/node_server.h"
#include "kvcast/host/other_shards.h"
#include "kvcast/host/payload_memory.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/object/track_shard.h"

namespace kvcast {
namespace {

constexpr size_t kObjectBytes = 160 * 1024;
constexpr uint64_t kObjectsPerGroup = 32;  // 5 MiB.
constexpr uint64_t kGroupMib = kObjectBytes * kObjectsPerGroup >> 20;

TrackName Track() {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0", "prefix", "g"}), "BF16");
}

// A bare session on its connection, driven from this thread.
class Peer {
 public:
  Peer(EventLoop& loop, const SocketAddress& node, const Digest& fingerprint,
       const QuicOptions& options)
      : loop_(&loop),
        quic_(*QuicClient::Connect(loop, {node, "localhost"},
                                   *ClientCredentials::Make(PinnedCertificate{fingerprint}),
                                   options, [this](QuicConnection&) { return MakeSession(); })) {}

  // References to one payload: the node has each in memory of its own.
  void Publish(uint64_t groups) {
    WaitUntilReady();
    Object object;
    object.payload = Bytes::Of(std::string(kObjectBytes, 'k'));
    const moqt::RequestId request = *session_->Publish(Track(), {}, {});
    for (uint64_t group = 0; group < groups; ++group) {
      moqt::SubgroupHeader header;
      header.group = group;
      header.end_of_group = true;
      const moqt::StreamId stream = *session_->OpenSubgroup(request, header);
      for (uint64_t i = 0; i < kObjectsPerGroup; ++i) {
        object.location = {group, i};
        KVCAST_CHECK(session_->SendObject(request, stream, object).ok());
      }
      KVCAST_CHECK(session_->EndSubgroup(request, stream).ok());
    }
    KVCAST_CHECK(session_->EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
    quic_->connection().Poke();
    while (session_->queued_bytes() > 0) {
      loop_->RunOnce(std::chrono::seconds(1));
    }
  }

  // Which of a node's shards has the connection.
  size_t home(size_t shards) const { return quic_->connection().first_id().data[0] % shards; }

  void WaitUntilReady() {
    while (!quic_->connection().ready() && !quic_->connection().closed()) {
      loop_->RunOnce(std::chrono::seconds(1));
    }
  }

  // Takes what comes, and lets it go; how many bytes that were, or nothing if it failed.
  std::optional<uint64_t> Fetch(uint64_t groups) {
    const moqt::RequestId request =
        *session_->Fetch(Track(), LocationRange::Groups(0, groups - 1), {});
    quic_->connection().Poke();
    uint64_t bytes = 0;
    while (!quic_->connection().closed()) {
      bool took = false;
      while (std::optional<moqt::Received> item = session_->Take(request)) {
        took = true;
        if (const auto* received = std::get_if<moqt::ReceivedObject>(&*item)) {
          bytes += received->object.payload.size();
        } else if (std::holds_alternative<moqt::FetchEnd>(*item)) {
          return bytes;
        }
      }
      while (const std::optional<moqt::Event> event = session_->NextEvent()) {
        if (std::holds_alternative<moqt::RequestRefused>(*event)) {
          return std::nullopt;
        }
      }
      if (took) {
        quic_->connection().Poke();
      }
      loop_->RunOnce(std::chrono::seconds(10));
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<moqt::TransportUser> MakeSession() {
    moqt::Setup setup;
    setup.path = "/";
    setup.authority = "localhost";
    auto session =
        std::make_unique<moqt::Session>(moqt::Role::kClient, setup, moqt::Limits(), Now());
    session_ = session.get();
    return session;
  }

  EventLoop* loop_;
  moqt::Session* session_ = nullptr;
  std::unique_ptr<QuicClient> quic_;
};

QuicOptions ReadOptions(const std::string& datagram_bytes, const std::string& control,
                        const std::string& aead) {
  QuicOptions options;
  options.datagram_bytes_max = std::strtoull(datagram_bytes.c_str(), nullptr, 10);
  if (control != "distance") {
    options.congestion_control =
        control == "cubic" ? CongestionControl::kCubic : CongestionControl::kBbr;
  }
  options.fast_packets = aead == "fast";
  return options;
}

int RunNode(const SocketAddress& listen, uint64_t groups, const QuicOptions& quic, size_t shards) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const auto credentials = *ServerCredentials::Development(scratch.path());
  const auto node_loop = *EventLoop::Make();
  Metrics metrics;
  NodeServer::Options options;
  options.listen = listen;
  // Every shard has its part, and one of them the track.
  options.relay.ram_bytes = 2 * groups * kObjectsPerGroup * kObjectBytes * shards;
  options.quic.connection = quic;
  // As `kvcast serve` does.
  const PayloadShare share = PayloadShare::Of(options.relay.ram_bytes / shards, *ProbeMemory());
  std::vector<ChunkMemory> payloads;
  for (size_t i = 0; i < shards; ++i) {
    payloads.push_back(SetAside(share, [] { return true; })->memory);
  }
  std::unique_ptr<OtherShards> others;
  std::unique_ptr<NodeServer> node;
  if (shards > 1) {
    others = *OtherShards::Make(*node_loop, shards);
    node =
        *others->Start(options, std::move(payloads), credentials, metrics, nullptr, scratch.path());
  } else {
    options.payload_memory = std::move(payloads[0]);
    node = *NodeServer::Start(*node_loop, options, credentials, metrics, nullptr);
  }
  std::thread thread([&] { node_loop->Run(); });
  {
    const auto loop = *EventLoop::Make();
    Peer publisher(*loop, node->local(), credentials.fingerprint(), quic);
    publisher.Publish(groups);
    while (publisher.Fetch(groups) != groups * kObjectsPerGroup * kObjectBytes) {
    }
  }
  std::printf("%s %s\n", node->local().ToString().c_str(),
              credentials.fingerprint().ToHex().c_str());
  (void)std::fflush(stdout);
  char ignored = 0;
  while (::read(STDIN_FILENO, &ignored, 1) > 0) {
  }
  node_loop->Stop();
  thread.join();
  return 0;
}

int RunRead(const SocketAddress& node, const Digest& fingerprint, uint64_t groups,
            const QuicOptions& quic, uint64_t times, size_t shards, bool own) {
  const auto loop = *EventLoop::Make();
  auto peer = std::make_unique<Peer>(*loop, node, fingerprint, quic);
  while (shards > 1 && (peer->home(shards) == ShardOf(Track().space(), shards)) != own) {
    peer = std::make_unique<Peer>(*loop, node, fingerprint, quic);
  }
  Peer& reader = *peer;
  reader.WaitUntilReady();
  const uint64_t track_bytes = groups * kObjectsPerGroup * kObjectBytes;
  const Instant begun = Now();
  for (uint64_t i = 0; i < times; ++i) {
    if (reader.Fetch(groups) != track_bytes) {
      fmt::print(stderr, "fetch_meter: the fetch failed\n");
      return 1;
    }
  }
  const double seconds = std::chrono::duration<double>(Now() - begun).count();
  fmt::print("{} {:.6f}\n", times * track_bytes, seconds);
  return 0;
}

int Run(const std::vector<std::string>& words) {
  const auto groups = [&](size_t at) {
    return std::max<uint64_t>(1, std::strtoull(words[at].c_str(), nullptr, 10) / kGroupMib);
  };
  const auto number = [&](size_t at) {
    return words.size() > at ? std::max<size_t>(1, std::strtoull(words[at].c_str(), nullptr, 10))
                             : 1;
  };
  if ((words.size() == 6 || words.size() == 7) && words[0] == "node") {
    return RunNode(*SocketAddress::Resolve(words[1]), groups(2),
                   ReadOptions(words[3], words[4], words[5]), number(6));
  }
  if ((words.size() == 8 || words.size() == 10) && words[0] == "read") {
    return RunRead(*SocketAddress::Resolve(words[1]), *Digest::FromHex(words[2]), groups(3),
                   ReadOptions(words[4], words[5], words[6]),
                   std::strtoull(words[7].c_str(), nullptr, 10), number(8),
                   words.size() < 10 || words[9] == "own");
  }
  fmt::print(stderr, "fetch_meter: see the beginning of fetch_meter.cc\n");
  return 2;
}

}  // namespace
}  // namespace kvcast

int main(int argc, char** argv) { return kvcast::Run({argv + 1, argv + argc}); }
