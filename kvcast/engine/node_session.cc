#include "kvcast/engine/node_session.h"

#include <utility>

#include "kvcast/engine/agreed_codec.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// What a client has received it decodes and drops, so a few blocks' memory serves all that come.
// (A node keeps what it receives: there the heap serves as well.)
constexpr size_t kPayloadPoolBytes = 16 * 1024 * 1024;

moqt::Limits LimitsWith(ChunkPool& payload_chunks) {
  moqt::Limits limits;
  limits.payload_chunks = &payload_chunks;
  return limits;
}

ClientOptions DoneBy(Executor& executor, ClientOptions options) {
  options.executor = &executor;
  return options;
}

}  // namespace

NodeSession::NodeSession(EventLoop& loop, QuicConnection& connection, const moqt::Setup& setup,
                         const ClientOptions& options, std::function<void(ClientEvent)> tell)
    : connection_(&connection),
      payload_chunks_(kPayloadPoolBytes),
      session_(moqt::Role::kClient, setup, LimitsWith(payload_chunks_), Now(),
               AgreedCodec(connection)),
      executor_(WorkerTeam::OfProcess(), loop, [this] { OnWorkDone(); }),
      client_(session_, DoneBy(executor_, options)),
      tell_(std::move(tell)),
      timer_(loop, [this] {
        client_.OnTimeout(Now());
        Settle();
        connection_->Poke();
      }) {
  Settle();
}

void NodeSession::Command(const std::function<void(Client&)>& command) {
  session_.OnTime(Now());
  command(client_);
  Settle();
  connection_->Poke();
}

void NodeSession::OnWorkDone() {
  session_.OnTime(Now());
  client_.OnInput(Now());
  Settle();
  connection_->Poke();
}

// After the client has moved: tells what it says, and comes back when it wants to be asked.
void NodeSession::Settle() {
  while (std::optional<ClientEvent> event = client_.NextEvent()) {
    tell_(*std::move(event));
  }
  if (const std::optional<Instant> deadline = client_.deadline()) {
    timer_.Set(*deadline);
  } else {
    timer_.Stop();
  }
}

void NodeSession::OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) {
  session_.OnStreamData(stream, bytes, fin);
  has_input_ = true;
}

void NodeSession::OnStreamReset(moqt::StreamId stream, uint64_t code) {
  session_.OnStreamReset(stream, code);
  has_input_ = true;
}

void NodeSession::OnStopSending(moqt::StreamId stream, uint64_t code) {
  session_.OnStopSending(stream, code);
  has_input_ = true;
}

void NodeSession::OnBytesSent(moqt::StreamId stream, uint64_t bytes) {
  session_.OnBytesSent(stream, bytes);
  has_input_ = true;
}

void NodeSession::OnDelivered(moqt::StreamId stream) { session_.OnDelivered(stream); }

void NodeSession::OnDatagramsGone(uint64_t request, uint64_t count) {
  session_.OnDatagramsGone(request, count);
  has_input_ = true;
}

void NodeSession::OnDatagram(std::span<const std::byte> bytes) {
  session_.OnDatagram(bytes);
  has_input_ = true;
}

void NodeSession::OnStreamsAllowed(uint64_t bidi_total) {
  session_.OnStreamsAllowed(bidi_total);
  has_input_ = true;
}

// The last thing a connection says: nobody asks for actions after it.
void NodeSession::OnConnectionClosed(uint64_t code, std::string_view reason) {
  session_.OnConnectionClosed(code, reason);
  client_.OnInput(Now());
  Settle();
}

// Actions are asked for after every input, so this is where the client has its turn.
std::optional<moqt::TransportAction> NodeSession::NextAction() {
  if (std::exchange(has_input_, false)) {
    client_.OnInput(Now());
    Settle();
  }
  return session_.NextAction();
}

}  // namespace kvcast
