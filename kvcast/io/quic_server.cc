#include "kvcast/io/quic_server.h"

#include <algorithm>
#include <array>

#include "kvcast/io/clock.h"
#include "kvcast/io/entropy.h"

namespace kvcast {
namespace {

std::string Key(const uint8_t* bytes, size_t length) {
  return {reinterpret_cast<const char*>(bytes), length};  // Short enough to need no allocation.
}
std::string Key(const ngtcp2_cid& id) { return Key(id.data, id.datalen); }

}  // namespace

QuicServer::QuicServer(EventLoop& loop, ServerCredentials credentials, Options options,
                       QuicConnection::MakeUser make_user)
    : credentials_(std::move(credentials)),
      options_(std::move(options)),
      make_user_(std::move(make_user)),
      burial_(loop, [this] { BuryGone(); }) {}

QuicServer::~QuicServer() { connections_.clear(); }  // While there still is a port.

Result<std::unique_ptr<QuicServer>> QuicServer::Listen(EventLoop& loop, const SocketAddress& local,
                                                       const ServerCredentials& credentials,
                                                       const Options& options,
                                                       QuicConnection::MakeUser make_user) {
  std::unique_ptr<QuicServer> server(
      new QuicServer(loop, credentials, options, std::move(make_user)));
  QuicServer* const self = server.get();
  QuicPort::Calls calls;
  calls.datagram = [self](const SocketAddress& from, std::span<const std::byte> datagram) {
    self->OnDatagram(from, datagram);
  };
  calls.pause = [self] { self->FlushTouched(); };
  calls.writable = [self] { self->FlushAll(); };
  KVCAST_TRY(server->port_, QuicPort::Open(loop, local, options.socket, std::move(calls)));
  return server;
}

void QuicServer::OnDatagram(const SocketAddress& from, std::span<const std::byte> datagram) {
  ngtcp2_version_cid header{};
  const int failed =
      ngtcp2_pkt_decode_version_cid(&header, reinterpret_cast<const uint8_t*>(datagram.data()),
                                    datagram.size(), kConnectionIdBytes);
  if (failed == NGTCP2_ERR_VERSION_NEGOTIATION) {
    OfferVersions(from, header);
    return;
  }
  if (failed != 0) {
    return;
  }
  const auto found = by_id_.find(Key(header.dcid, header.dcidlen));
  QuicConnection* const connection = found != by_id_.end() ? found->second : Accept(from, datagram);
  if (connection != nullptr) {
    connection->Receive(from, datagram);
    Touch(*connection);
  }
}

QuicConnection* QuicServer::Accept(const SocketAddress& from, std::span<const std::byte> datagram) {
  ngtcp2_pkt_hd header{};
  if (ngtcp2_accept(&header, reinterpret_cast<const uint8_t*>(datagram.data()), datagram.size()) !=
          0 ||
      connections_.size() >= options_.connections_max || handshakes_ >= options_.handshakes_max) {
    return nullptr;
  }
  auto tls = QuicTls::Server(credentials_, options_.connection.alpn);
  if (!tls.ok()) {
    return nullptr;
  }
  auto made = QuicConnection::Accept({.port = port_.get(),
                                      .owner = this,
                                      .options = options_.connection,
                                      .remote = from,
                                      .tls = *std::move(tls),
                                      .make_user = make_user_},
                                     {header.dcid, header.scid, header.version});
  if (!made.ok()) {
    return nullptr;
  }
  QuicConnection* const connection = made->get();
  connections_[connection].connection = *std::move(made);
  ++handshakes_;
  for (const ngtcp2_cid& id : connection->Ids()) {
    OnIdIssued(*connection, id);
  }
  return connection;
}

// A client that speaks another version of QUIC learns which one we do.
void QuicServer::OfferVersions(const SocketAddress& to, const ngtcp2_version_cid& asked) {
  if (port_->blocked()) {
    return;
  }
  const std::array<uint32_t, 1> versions{NGTCP2_PROTO_VER_V1};
  std::array<std::byte, 1> random{};
  FillRandom(random);
  const auto room = port_->batch().Room();
  const ngtcp2_ssize bytes = ngtcp2_pkt_write_version_negotiation(
      room.data(), room.size(), static_cast<uint8_t>(random[0]), asked.scid, asked.scidlen,
      asked.dcid, asked.dcidlen, versions.data(), versions.size());
  if (bytes > 0) {
    port_->batch().Add(to, static_cast<size_t>(bytes));
    port_->Send();
  }
}

void QuicServer::OnIdIssued(QuicConnection& connection, const ngtcp2_cid& id) {
  by_id_[Key(id)] = &connection;
  connections_.at(&connection).ids.push_back(Key(id));
}

void QuicServer::OnIdRetired(const ngtcp2_cid& id) {
  const auto found = by_id_.find(Key(id));
  if (found != by_id_.end()) {
    std::erase(connections_.at(found->second).ids, found->first);
    by_id_.erase(found);
  }
}

void QuicServer::OnReady(QuicConnection& connection) {
  Entry& entry = connections_.at(&connection);
  if (entry.handshaking) {
    entry.handshaking = false;
    --handshakes_;
  }
}

void QuicServer::OnGone(QuicConnection& connection) {
  gone_.push_back(&connection);
  burial_.Set(Now());
}

void QuicServer::BuryGone() {
  for (QuicConnection* const connection : gone_) {
    const auto found = connections_.find(connection);
    for (const std::string& id : found->second.ids) {
      by_id_.erase(id);
    }
    handshakes_ -= found->second.handshaking ? 1U : 0U;
    std::erase(touched_, connection);
    connections_.erase(found);
  }
  gone_.clear();
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
