#include "kvcast/io/quic_server.h"

#include <ngtcp2/ngtcp2_crypto.h>

#include <algorithm>

#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

std::string IdKey(const uint8_t* bytes, size_t length) {
  return {reinterpret_cast<const char*>(bytes), length};  // Short enough to need no allocation.
}
std::string IdKey(const ngtcp2_cid& id) { return IdKey(id.data, id.datalen); }

}  // namespace

QuicServer::QuicServer(EventLoop& loop, ServerCredentials credentials, Options options,
                       QuicConnection::MakeUser make_user)
    : credentials_(std::move(credentials)),
      options_(std::move(options)),
      make_user_(std::move(make_user)),
      secret_(options_.secret ? *options_.secret : RandomDigest()),
      answers_(secret_),
      burial_(loop, [this] { BuryGone(); }) {}

QuicServer::~QuicServer() { connections_.clear(); }  // While there still is a port.

Result<std::unique_ptr<QuicServer>> QuicServer::Listen(EventLoop& loop, const SocketAddress& local,
                                                       const ServerCredentials& credentials,
                                                       const Options& options,
                                                       QuicConnection::MakeUser make_user) {
  KVCAST_TRY(UdpSocket socket, UdpSocket::Bind(local, options.socket));
  return Listen(loop, std::move(socket), credentials, options, std::move(make_user));
}

Result<std::unique_ptr<QuicServer>> QuicServer::Listen(EventLoop& loop, UdpSocket socket,
                                                       const ServerCredentials& credentials,
                                                       const Options& options,
                                                       QuicConnection::MakeUser make_user) {
  std::unique_ptr<QuicServer> server(
      new QuicServer(loop, credentials, options, std::move(make_user)));
  QuicServer* const self = server.get();
  QuicPort::Calls calls;
  calls.datagram = [self](const UdpPath& path, std::span<const std::byte> datagram) {
    self->OnDatagram(path, datagram);
  };
  calls.pause = [self] { self->FlushTouched(); };
  calls.writable = [self] { self->FlushAll(); };
  KVCAST_TRY(server->port_, QuicPort::Open(loop, std::move(socket), std::move(calls)));
  return server;
}

void QuicServer::Renew(const ServerCredentials& credentials, const Options& options) {
  credentials_ = credentials;
  auto on_untrusted = std::move(options_.on_untrusted);
  auto pass_on = std::move(options_.pass_on);
  const PortShare share = options_.share;
  options_ = options;
  options_.on_untrusted = std::move(on_untrusted);
  options_.pass_on = std::move(pass_on);
  options_.share = share;
}

template <typename Write>
bool QuicServer::Answer(const UdpPath& path, Write write) {
  if (port_->blocked()) {
    return false;
  }
  const size_t bytes = write(port_->batch().Room());
  if (bytes > 0) {
    port_->batch().Add(path, bytes);
    port_->Send();
  }
  return bytes > 0;
}

void QuicServer::Receive(const UdpPath& path, std::span<const std::byte> datagram) {
  OnDatagram(path, datagram);
  FlushTouched();
}

void QuicServer::OnDatagram(const UdpPath& path, std::span<const std::byte> datagram) {
  ngtcp2_version_cid header{};
  const int failed =
      ngtcp2_pkt_decode_version_cid(&header, reinterpret_cast<const uint8_t*>(datagram.data()),
                                    datagram.size(), kConnectionIdBytes);
  if (failed == NGTCP2_ERR_VERSION_NEGOTIATION) {
    Answer(path, [&](auto room) { return StatelessAnswers::Versions(room, header); });
    return;
  }
  if (failed != 0) {
    return;
  }
  const size_t home = options_.share.HomeOf({header.dcid, header.dcidlen});
  if (home != options_.share.index) {
    options_.pass_on(home, path, datagram);
    return;
  }
  const auto found = by_id_.find(IdKey(header.dcid, header.dcidlen));
  const bool is_short = (datagram[0] & std::byte{0x80}) == std::byte{0};
  if (found == by_id_.end() && is_short) {
    SayReset(path, {header.dcid, header.dcidlen}, datagram.size());
    return;
  }
  QuicConnection* const connection = found != by_id_.end() ? found->second : Accept(path, datagram);
  if (connection != nullptr) {
    connection->Receive(path, datagram);
    Touch(*connection);
  }
}

void QuicServer::SayReset(const UdpPath& path, std::span<const uint8_t> id, size_t received_bytes) {
  const Instant now = Now();
  if (now - resets_since_ >= std::chrono::seconds(1)) {
    resets_since_ = now;
    resets_left_ = options_.resets_per_second;
  }
  if (resets_left_ > 0 &&
      Answer(path, [&](auto room) { return answers_.Reset(room, id, received_bytes); })) {
    --resets_left_;
    ++resets_;
  }
}

QuicConnection* QuicServer::Accept(const UdpPath& path, std::span<const std::byte> datagram) {
  ngtcp2_pkt_hd header{};
  if (ngtcp2_accept(&header, reinterpret_cast<const uint8_t*>(datagram.data()), datagram.size()) !=
          0 ||
      connections_.size() >= options_.connections_max || options_.handshakes_max == 0) {
    return nullptr;
  }
  QuicConnection::FirstPacket first{header.dcid, header.scid, header.version, std::nullopt, {}};
  if (header.tokenlen > 0 && header.token[0] == NGTCP2_CRYPTO_TOKEN_MAGIC_RETRY) {
    first.before_retry = answers_.CheckRetry(path.remote, header);
    first.token = {header.token, header.tokenlen};
    if (!first.before_retry) {
      Answer(path, [&](auto room) { return StatelessAnswers::InvalidToken(room, header); });
      return nullptr;
    }
  } else if (handshakes() >= std::min(options_.handshakes_before_retry, options_.handshakes_max)) {
    if (Answer(path, [&](auto room) {
          return answers_.Retry(room, path.remote, header, options_.share);
        })) {
      ++retries_;
    }
    return nullptr;
  }
  return Admit(path, first);
}

QuicConnection* QuicServer::Admit(const UdpPath& path, const QuicConnection::FirstPacket& first) {
  while (handshakes() >= options_.handshakes_max) {
    Bury(*handshakes_.OldestOfMost());
  }
  auto tls = QuicTls::Server(credentials_, options_.connection.alpns);
  if (!tls.ok()) {
    return nullptr;
  }
  auto made = QuicConnection::Accept({.port = port_.get(),
                                      .owner = this,
                                      .options = options_.connection,
                                      .path = path,
                                      .secret = secret_,
                                      .share = options_.share,
                                      .tls = *std::move(tls),
                                      .make_user = make_user_},
                                     first);
  if (!made.ok()) {
    return nullptr;
  }
  QuicConnection* const connection = made->get();
  connections_[connection].connection = *std::move(made);
  handshakes_.Begin(connection, path.remote);
  for (const ngtcp2_cid& id : connection->Ids()) {
    OnIdIssued(*connection, id);
  }
  return connection;
}

void QuicServer::OnIdIssued(QuicConnection& connection, const ngtcp2_cid& id) {
  by_id_[IdKey(id)] = &connection;
  connections_.at(&connection).ids.push_back(IdKey(id));
}

void QuicServer::OnIdRetired(const ngtcp2_cid& id) {
  const auto found = by_id_.find(IdKey(id));
  if (found != by_id_.end()) {
    std::erase(connections_.at(found->second).ids, found->first);
    by_id_.erase(found);
  }
}

void QuicServer::OnReady(QuicConnection& connection) { handshakes_.End(&connection); }

void QuicServer::OnUntrusted(QuicConnection& connection, const std::string& reason) {
  if (options_.on_untrusted) {
    options_.on_untrusted(connection.remote(), reason);
  }
}

void QuicServer::OnGone(QuicConnection& connection) {
  gone_.push_back(&connection);
  burial_.Set(Now());
}

void QuicServer::BuryGone() {
  for (QuicConnection* const connection : std::exchange(gone_, {})) {
    Bury(*connection);
  }
}

void QuicServer::Bury(QuicConnection& connection) {
  const auto found = connections_.find(&connection);
  for (const std::string& id : found->second.ids) {
    by_id_.erase(id);
  }
  handshakes_.End(&connection);
  std::erase(touched_, &connection);
  std::erase(gone_, &connection);
  connections_.erase(found);
}

void QuicServer::Touch(QuicConnection& connection) {
  Entry& entry = connections_.at(&connection);
  if (!entry.touched) {
    entry.touched = true;
    touched_.push_back(&connection);
  }
}

void QuicServer::FlushTouched() {
  for (QuicConnection* const connection : touched_) {
    connections_.at(connection).touched = false;
    connection->Flush();
  }
  touched_.clear();
}

void QuicServer::FlushAll() {
  for (auto& [connection, entry] : connections_) {
    connection->Flush();
  }
}

}  // namespace kvcast
