// What do MoQT, the relay and the store leave of QUIC's speed? One FETCH of 160 KB objects from a
// node's memory over loopback, node and reader on a thread each, in turn with peers that run by
// themselves:
//
//   KVCAST_BARE_QUIC=PROGRAM   one bulk stream over the same libraries, without a protocol above.
//                              Called as PROGRAM mtu=N total=MB cc=cubic pin=0 where crt.pem and
//                              key.pem are, it prints a line with "X GB/s".
//   iperf3 -C cubic            TCP, unencrypted.
//
// A peer that is not there is skipped, and its ratio with it.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "kvcast/host/node_server.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

constexpr size_t kObjectBytes = 160 * 1024;
constexpr uint64_t kObjectsPerGroup = 128;
constexpr uint64_t kGroups = 25;
constexpr uint64_t kTrackBytes = kGroups * kObjectsPerGroup * kObjectBytes;
constexpr uint64_t kTrackMiB = kTrackBytes >> 20;

TrackName Track() {
  return *TrackName::Of(*TrackNamespace::Of({"service", "tenant/model@0", "prefix", "g"}), "BF16");
}

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// What a command prints; empty if it fails.
std::string OutputOf(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) {
    return text;
  }
  std::array<char, 4096> buffer{};
  while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), bytes);
  }
  return ::pclose(pipe) == 0 ? text : "";
}

// The number that stands right before `unit`.
std::optional<double> NumberBefore(const std::string& text, const std::string& unit) {
  const size_t at = text.find(unit);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const size_t from = text.find_last_of(" :", at - 1) + 1;
  return std::strtod(text.substr(from, at - from).c_str(), nullptr);
}

// Bytes a second that a program over bare QUIC moves, or nothing.
std::optional<double> BareQuic(const std::filesystem::path& directory, size_t datagram_bytes) {
  const char* const program = std::getenv("KVCAST_BARE_QUIC");
  if (program == nullptr) {
    return std::nullopt;
  }
  const std::string text = OutputOf(
      "cd '" + directory.string() + "' && '" + program + "' mtu=" + std::to_string(datagram_bytes) +
      " total=" + std::to_string(kTrackMiB) + " cc=cubic pin=0 2>/dev/null");
  const std::optional<double> rate = NumberBefore(text, " GB/s");
  return rate ? std::optional(*rate * 1e9) : std::nullopt;
}

// The same over TCP, by iperf3.
std::optional<double> Iperf3() {
  static const bool is_here = !OutputOf("command -v iperf3").empty();
  if (!is_here) {
    return std::nullopt;
  }
  const std::string port = std::to_string(20000 + ::getpid() % 20000);
  const std::string text = OutputOf("iperf3 -s -1 -p " + port +
                                    " >/dev/null 2>&1 & for i in 1 2 3 4 5; do sleep 0.2; "
                                    "iperf3 -c 127.0.0.1 -p " +
                                    port + " -C cubic -f m -n " + std::to_string(kTrackMiB) +
                                    "M 2>/dev/null | grep receiver && break; done");
  const std::optional<double> rate = NumberBefore(text, " Mbits/sec");
  return rate ? std::optional(*rate * 1e6 / 8) : std::nullopt;
}

// A bare session on its connection, driven from this thread.
class Reader {
 public:
  Reader(EventLoop& loop, const SocketAddress& node, const Digest& fingerprint,
         const QuicOptions& options)
      : loop_(&loop),
        quic_(*QuicClient::Connect(loop, {node, "localhost"},
                                   *ClientCredentials::Make(PinnedCertificate{fingerprint}),
                                   options, [this](QuicConnection&) { return MakeSession(); })) {}

  // All groups, from references to one payload: the node has them in memory of its own.
  void Publish() {
    Object object;
    object.payload = Bytes::Of(std::string(kObjectBytes, 'k'));
    const moqt::RequestId request = *session_->Publish(Track(), {}, {});
    for (uint64_t group = 0; group < kGroups; ++group) {
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

  // Takes what comes, and lets it go. True if all came.
  bool Fetch() {
    const moqt::RequestId request =
        *session_->Fetch(Track(), LocationRange::Groups(0, kGroups - 1), {});
    quic_->connection().Poke();
    uint64_t bytes = 0;
    while (true) {
      bool took = false;
      while (std::optional<moqt::Received> item = session_->Take(request)) {
        took = true;
        if (const auto* received = std::get_if<moqt::ReceivedObject>(&*item)) {
          bytes += received->object.payload.size();
        } else if (std::holds_alternative<moqt::FetchEnd>(*item)) {
          quic_->connection().Poke();
          return bytes == kTrackBytes;
        }
      }
      while (const std::optional<moqt::Event> event = session_->NextEvent()) {
        if (std::holds_alternative<moqt::RequestRefused>(*event) ||
            std::holds_alternative<moqt::SessionClosed>(*event)) {
          return false;
        }
      }
      if (took) {
        quic_->connection().Poke();
      }
      loop_->RunOnce(std::chrono::seconds(10));
    }
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

// Sums up a peer's rates, for a ratio of means.
struct Peer {
  double rates = 0;
  int rounds = 0;

  void Add(const std::optional<double>& rate) {
    if (rate) {
      rates += *rate;
      ++rounds;
    }
  }
  void Report(benchmark::State& state, const std::string& name, double ours) const {
    if (rounds > 0) {
      state.counters["of_" + name] = ours / (rates / rounds);
      state.counters[name + "_GB/s"] = rates / rounds / 1e9;
    }
  }
};

void FetchFromMemory(benchmark::State& state) {
  const size_t datagram_bytes = static_cast<size_t>(state.range(0));
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const auto credentials = *ServerCredentials::Development(scratch.path());
  std::filesystem::create_symlink(ServerCredentials::kDevelopmentCertificate, scratch / "crt.pem");
  std::filesystem::create_symlink(ServerCredentials::kDevelopmentKey, scratch / "key.pem");

  const auto node_loop = *EventLoop::Make();
  Metrics metrics;
  NodeServer::Options options;
  options.listen = SocketAddress::Loopback(0);
  options.relay.ram_bytes = 2 * kTrackBytes;
  options.quic.connection.datagram_bytes_max = datagram_bytes;
  const auto node = *NodeServer::Start(*node_loop, options, credentials, metrics, nullptr);
  std::thread thread([&] { node_loop->Run(); });

  {
    const auto loop = *EventLoop::Make();
    Reader reader(*loop, node->local(), credentials.fingerprint(), options.quic.connection);
    reader.Publish();
    while (!reader.Fetch()) {  // Also until the last of it has arrived.
    }
    Peer bare_quic;
    Peer iperf3;
    double seconds = 0;
    double cpu_seconds = 0;
    for (auto _ : state) {
      bare_quic.Add(BareQuic(scratch.path(), datagram_bytes));
      const double cpu_before = CpuSeconds();
      const auto begun = std::chrono::steady_clock::now();
      KVCAST_CHECK(reader.Fetch());
      const double own =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      cpu_seconds += CpuSeconds() - cpu_before;
      iperf3.Add(Iperf3());
      seconds += own;
      state.SetIterationTime(own);
    }
    const double rate =
        static_cast<double>(state.iterations()) * static_cast<double>(kTrackBytes) / seconds;
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(kTrackBytes));
    // What both ends together cost, which says more than time on a machine that others use.
    state.counters["GB/cpu_s"] = rate * seconds / 1e9 / cpu_seconds;
    bare_quic.Report(state, "bare_quic", rate);
    iperf3.Report(state, "iperf3", rate);
    if (bare_quic.rounds == 0) {
      state.SetLabel("bare QUIC skipped: KVCAST_BARE_QUIC names no program that works");
    }
  }
  node_loop->Stop();
  thread.join();
}

BENCHMARK(FetchFromMemory)
    ->Arg(1452)
    ->Arg(65'400)
    ->Iterations(5)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvcast
