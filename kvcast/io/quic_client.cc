#include "kvcast/io/quic_client.h"

#include "kvcast/io/entropy.h"

namespace kvcast {
Result<std::unique_ptr<QuicClient>> QuicClient::Connect(EventLoop& loop, const Target& target,
                                                        const ClientCredentials& credentials,
                                                        const QuicOptions& options,
                                                        QuicConnection::MakeUser make_user) {
  std::unique_ptr<QuicClient> client(new QuicClient);
  QuicClient* const self = client.get();
  KVCAST_TRY(std::unique_ptr<QuicTls> tls,
             QuicTls::Client(credentials, options.alpns, target.server_name, target.address));
  QuicPort::Calls calls;
  calls.datagram = [self](const UdpPath& path, std::span<const std::byte> datagram) {
    self->connection_->Receive(path, datagram);
  };
  calls.pause = [self] { self->connection_->Flush(); };
  calls.writable = calls.pause;
  calls.refused = [self] { self->connection_->OnRefused(); };
  UdpSocket::Options socket;
  socket.peer = target.address;
  KVCAST_TRY(client->port_, QuicPort::Open(loop, target.address.Any(), socket, std::move(calls)));
  KVCAST_TRY(client->connection_,
             QuicConnection::Connect({.port = client->port_.get(),
                                      .owner = self,
                                      .options = options,
                                      .path = {client->port_->local(), target.address},
                                      .secret = RandomDigest(),
                                      .tls = std::move(tls),
                                      .make_user = std::move(make_user)}));
  return client;
}

}  // namespace kvcast
