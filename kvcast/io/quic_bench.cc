// How much of what the kernel moves does QUIC leave? One bulk stream between two threads over
// loopback, in turn with a TCP connection that carries the same bytes unencrypted.
#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>
#include <thread>

#include "bench/interleaved.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/io/quic_server.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

constexpr size_t kRoundBytes = 512 * 1024 * 1024;
constexpr size_t kPartBytes = 64 * 1024 * 1024;

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// More memory than caches hold, as a store has it: one piece over and over would be read from
// there.
Bytes Payload() {
  const Bytes part = Bytes::Copy(std::vector<std::byte>(kPartBytes, std::byte{9}));
  Bytes payload;
  while (payload.size() < kRoundBytes) {
    payload.Append(part);
  }
  return payload;
}

// Copies what arrives to where a receiver would want it, and lets more come.
class Receiver : public moqt::TransportUser {
 public:
  explicit Receiver(EventLoop& loop) : loop_(&loop), memory_(kRoundBytes) {}

  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override {
    std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<ptrdiff_t>(received_));
    received_ += bytes.size();
    stream_ = stream;
    stream_credit_ += bytes.size();
    connection_credit_ += bytes.size();
    if (fin) {
      received_ = 0;
      loop_->Stop();
    }
  }
  void OnStreamReset(moqt::StreamId, uint64_t) override {}
  void OnStopSending(moqt::StreamId, uint64_t) override {}
  void OnBytesSent(moqt::StreamId, uint64_t) override {}
  void OnDelivered(moqt::StreamId) override {}
  void OnDatagramsGone(uint64_t, uint64_t) override {}
  void OnConnectionClosed(uint64_t, std::string_view reason) override {
    std::fprintf(stderr, "closed: %s\n", std::string(reason).c_str());
    loop_->Stop();
  }
  std::optional<moqt::TransportAction> NextAction() override {
    if (stream_credit_ > 0) {
      return moqt::StreamCredit{stream_, std::exchange(stream_credit_, 0)};
    }
    if (connection_credit_ > 0) {
      return moqt::ConnectionCredit{std::exchange(connection_credit_, 0)};
    }
    if (request_) {
      request_ = false;
      return moqt::OpenStream{stream_id_, {}};
    }
    if (write_) {
      write_ = false;
      return moqt::SendBytes{stream_id_, Bytes::Of("go"), true};
    }
    return std::nullopt;
  }
  void Request(moqt::StreamId stream) {
    stream_id_ = stream;
    request_ = write_ = true;
  }

 private:
  EventLoop* loop_;
  std::vector<std::byte> memory_;
  size_t received_ = 0;
  moqt::StreamId stream_ = 0;
  uint64_t stream_credit_ = 0;
  uint64_t connection_credit_ = 0;
  moqt::StreamId stream_id_ = 0;
  bool request_ = false;
  bool write_ = false;
};

// Answers every request with the payload.
class Sender : public moqt::TransportUser {
 public:
  explicit Sender(const Bytes& payload) : payload_(payload) {}
  void OnStreamData(moqt::StreamId stream, std::span<const std::byte>, bool fin) override {
    if (fin) {
      asked_ = stream;
    }
  }
  void OnStreamReset(moqt::StreamId, uint64_t) override {}
  void OnStopSending(moqt::StreamId, uint64_t) override {}
  void OnBytesSent(moqt::StreamId, uint64_t) override {}
  void OnDelivered(moqt::StreamId) override {}
  void OnDatagramsGone(uint64_t, uint64_t) override {}
  void OnConnectionClosed(uint64_t, std::string_view) override {}
  std::optional<moqt::TransportAction> NextAction() override {
    if (!asked_) {
      return std::nullopt;
    }
    const moqt::StreamId stream = *asked_;
    asked_.reset();
    return moqt::SendBytes{stream, payload_, true};
  }

 private:
  Bytes payload_;
  std::optional<moqt::StreamId> asked_;
};

// The same over TCP: a thread that writes when it is asked, and this one that reads.
class TcpPair {
 public:
  explicit TcpPair(const Bytes& payload) : payload_(payload), memory_(kRoundBytes) {
    const Descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    const SocketAddress any = SocketAddress::Loopback(0);
    sockaddr_in address{};
    socklen_t length = sizeof(address);
    KVCAST_CHECK(::bind(listener.number(), any.get(), any.length()) == 0);
    KVCAST_CHECK(::listen(listener.number(), 1) == 0);
    KVCAST_CHECK(::getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &length) ==
                 0);
    reader_ = Descriptor(::socket(AF_INET, SOCK_STREAM, 0));
    // The system's own may be one that paces, which loopback does not deserve.
    ::setsockopt(reader_.number(), IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
    KVCAST_CHECK(::connect(reader_.number(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    writer_ = Descriptor(::accept(listener.number(), nullptr, nullptr));
    ::setsockopt(writer_.number(), IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TcpPair() {
    ::shutdown(reader_.number(), SHUT_RDWR);
    thread_.join();
  }
  void Fetch() {
    const char go = 'g';
    KVCAST_CHECK(::write(reader_.number(), &go, 1) == 1);
    for (size_t got = 0; got < kRoundBytes;) {
      const ssize_t more = ::read(reader_.number(), memory_.data() + got, kRoundBytes - got);
      KVCAST_CHECK(more > 0);
      got += static_cast<size_t>(more);
    }
  }

 private:
  void Serve() {
    char go = 0;
    while (::read(writer_.number(), &go, 1) == 1) {
      for (size_t i = 0; i < payload_.piece_count(); ++i) {
        auto piece = payload_.piece(i);
        while (!piece.empty()) {
          const ssize_t sent = ::write(writer_.number(), piece.data(), piece.size());
          KVCAST_CHECK(sent > 0);
          piece = piece.subspan(static_cast<size_t>(sent));
        }
      }
    }
  }

  Bytes payload_;
  std::vector<std::byte> memory_;
  Descriptor reader_;
  Descriptor writer_;
  std::thread thread_;
};

void BulkStream(benchmark::State& state) {
  const Bytes payload = Payload();
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const auto credentials = *ServerCredentials::Development(scratch.path());
  const auto server_loop = *EventLoop::Make();
  QuicServer::Options options;
  options.connection.datagram_bytes_max = static_cast<size_t>(state.range(0));
  auto server =
      *QuicServer::Listen(*server_loop, SocketAddress::Loopback(0), credentials, options,
                          [&](QuicConnection&) { return std::make_unique<Sender>(payload); });
  std::thread thread([&] { server_loop->Run(); });

  const auto loop = *EventLoop::Make();
  Receiver* receiver = nullptr;
  const auto client =
      *QuicClient::Connect(*loop, {server->local(), ""},
                           *ClientCredentials::Make(PinnedCertificate{credentials.fingerprint()}),
                           options.connection, [&](QuicConnection&) {
                             auto user = std::make_unique<Receiver>(*loop);
                             receiver = user.get();
                             return user;
                           });
  moqt::StreamId stream = 0;
  double cpu_seconds = 0;
  TcpPair tcp(payload);
  Interleave(
      state, "of_tcp", [&] { tcp.Fetch(); },
      [&] {
        const double begun = CpuSeconds();
        receiver->Request(stream);
        client->connection().Poke();
        loop->Run();
        stream += 4;
        cpu_seconds += CpuSeconds() - begun;
      });
  const int64_t bytes = state.iterations() * static_cast<int64_t>(kRoundBytes);
  state.SetBytesProcessed(bytes);
  // What both ends together cost, which says more than time on a machine that others use.
  state.counters["gb_per_cpu_s"] = static_cast<double>(bytes) / 1e9 / cpu_seconds;
  server_loop->Stop();
  thread.join();
}

BENCHMARK(BulkStream)
    ->Arg(1452)
    ->Arg(8952)
    ->Arg(65'400)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kvcast
