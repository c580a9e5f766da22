#include "kvcast/io/impairment_proxy.h"

#include <algorithm>
#include <cstring>

#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

// How often a socket is asked for more before others have their turn.
constexpr int kProxyReceivesPerTurn = 8;

std::string PathKey(const UdpPath& path) {
  std::string key;
  for (const SocketAddress* const end : {&path.local, &path.remote}) {
    key.append(reinterpret_cast<const char*>(end->get()), end->length());
  }
  return key;
}

void ReceiveAll(UdpSocket& socket, const UdpSocket::Take& take) {
  for (int i = 0; i < kProxyReceivesPerTurn && socket.Receive(take); ++i) {
  }
}

}  // namespace

ImpairmentProxy::ImpairmentProxy(EventLoop& loop, const Options& options)
    : loop_(&loop),
      options_(options),
      there_(options.there),
      back_(options.back),
      timer_(loop, [this] { Deliver(); }) {}

Result<std::unique_ptr<ImpairmentProxy>> ImpairmentProxy::Start(EventLoop& loop,
                                                                const Options& options) {
  std::unique_ptr<ImpairmentProxy> proxy(new ImpairmentProxy(loop, options));
  KVCAST_TRY(UdpSocket front, UdpSocket::Bind(options.listen));
  proxy->front_ = std::make_unique<UdpSocket>(std::move(front));
  KVCAST_TRY(
      proxy->watch_,
      LoopWatch::Make(loop, proxy->front_->descriptor(), [self = proxy.get()](LoopWatch::Ready) {
        ReceiveAll(*self->front_, [self](const UdpPath& path, std::span<const std::byte> datagram) {
          self->OnClientDatagram(path, datagram);
        });
        self->Deliver();
      }));
  return proxy;
}

void ImpairmentProxy::OnClientDatagram(const UdpPath& path, std::span<const std::byte> datagram) {
  if (const Client* const client = ClientOn(path)) {
    Pass(client->id, true, datagram);
  } else {
    ++unintended_losses_;
  }
}

ImpairmentProxy::Client* ImpairmentProxy::ClientOn(const UdpPath& path) {
  const std::string name = PathKey(path);
  if (const auto known = by_path_.find(name); known != by_path_.end()) {
    const auto client = by_id_.at(known->second);
    clients_.splice(clients_.begin(), clients_, client);
    return &*client;
  }
  auto socket = UdpSocket::Bind(options_.server.Any());
  if (!socket.ok()) {
    return nullptr;
  }
  Client client{path, std::make_unique<UdpSocket>(*std::move(socket)), nullptr, next_id_++};
  auto watch = LoopWatch::Make(
      *loop_, client.socket->descriptor(),
      [this, id = client.id, own = client.socket.get()](LoopWatch::Ready) {
        ReceiveAll(*own, [this, id](const UdpPath&, std::span<const std::byte> datagram) {
          Pass(id, false, datagram);
        });
        Deliver();
      });
  if (!watch.ok()) {
    return nullptr;
  }
  client.watch = *std::move(watch);
  clients_.push_front(std::move(client));
  by_id_[clients_.front().id] = clients_.begin();
  by_path_[name] = clients_.front().id;
  ForgetSilentClients();
  return &clients_.front();
}

void ImpairmentProxy::ForgetSilentClients() {
  while (clients_.size() > std::max<size_t>(options_.clients_max, 1)) {
    by_id_.erase(clients_.back().id);
    by_path_.erase(PathKey(clients_.back().path));
    clients_.pop_back();
  }
}

void ImpairmentProxy::Pass(uint64_t client, bool there, std::span<const std::byte> datagram) {
  const ImpairedLink::Fate fate = (there ? there_ : back_).Send(datagram.size(), Now());
  std::vector<std::byte> damaged;
  if (fate.turned_bit) {
    damaged.assign(datagram.begin(), datagram.end());
    damaged[*fate.turned_bit / 8] ^= std::byte{1} << (*fate.turned_bit % 8);
    datagram = damaged;
  }
  for (const std::optional<Instant>& arrival : {fate.arrival, fate.second_arrival}) {
    if (arrival) {
      Hold(*arrival, client, there, datagram);
    }
  }
}

void ImpairmentProxy::Hold(Instant arrival, uint64_t client, bool there,
                           std::span<const std::byte> datagram) {
  if (held_bytes_ + datagram.size() > options_.held_bytes_max) {
    ++unintended_losses_;
    return;
  }
  held_bytes_ += datagram.size();
  held_.emplace(arrival, Held{client, there, {datagram.begin(), datagram.end()}});
}

void ImpairmentProxy::Deliver() {
  const Instant now = Now();
  while (!held_.empty() && held_.begin()->first <= now) {
    const Held held = std::move(held_.begin()->second);
    held_.erase(held_.begin());
    held_bytes_ -= held.bytes.size();
    const auto found = by_id_.find(held.client);
    if (found == by_id_.end()) {
      continue;  // Forgotten meanwhile.
    }
    const Client& client = *found->second;
    UdpSocket* const socket = held.there ? client.socket.get() : front_.get();
    const UdpPath path = held.there ? UdpPath{socket->local(), options_.server} : client.path;
    if (socket != batch_socket_ || !batch_.Takes(path, held.bytes.size())) {
      Flush();
      batch_socket_ = socket;
    }
    std::memcpy(batch_.Room().data(), held.bytes.data(), held.bytes.size());
    batch_.Add(path, held.bytes.size());
  }
  Flush();
  if (held_.empty()) {
    timer_.Stop();
  } else {
    timer_.Set(held_.begin()->first);
  }
}

void ImpairmentProxy::Flush() {
  if (!batch_.empty() && !batch_.Send(*batch_socket_)) {
    unintended_losses_ += batch_.Drop();
  }
}

}  // namespace kvcast
