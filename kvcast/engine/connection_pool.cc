#include "kvcast/engine/connection_pool.h"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "kvcast/codec/calibration.h"

namespace kvcast {
namespace {

// Everything that two users must have in common, each part with its length.
class KeyText {
 public:
  void Add(std::string_view part) {
    text_ += std::to_string(part.size()) + ":";
    text_ += part;
  }
  void Add(uint64_t number) { Add(std::string_view(std::to_string(number))); }

  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

void Add(KeyText& key, const ServerTrust& trust) {
  key.Add(trust.index());
  if (const auto* pinned = std::get_if<PinnedCertificate>(&trust)) {
    key.Add(pinned->fingerprint.ToHex());
  } else if (const auto* authorities = std::get_if<TrustedAuthorities>(&trust)) {
    key.Add(authorities->file.string());
  }
}

std::string KeyOf(const std::vector<NodeAddress>& addresses, const ClientOptions& options) {
  KeyText key;
  key.Add(static_cast<uint64_t>(::getpid()));
  for (const NodeAddress& address : addresses) {
    key.Add(address.host_and_port);
    Add(key, address.trust);
    key.Add(address.own ? address.own->certificate.string() : "");
    key.Add(address.own ? address.own->key.string() : "");
    key.Add(address.token);
  }
  key.Add(options.kind.scope().Field());
  key.Add(options.kind.slice().Suffix());
  key.Add(ToString(options.kind.rung()));
  key.Add(ToString(options.ladder.pages()));
  const Calibration* const calibration = options.ladder.calibration();
  key.Add(calibration == nullptr ? "" : calibration->digest().ToHex());
  key.Add(options.index_bytes_max);
  key.Add(options.prefetch_bytes_max);
  return key.Take();
}

}  // namespace

ConnectionPool& ConnectionPool::OfProcess() {
  static ConnectionPool pool;
  return pool;
}

std::shared_ptr<NodeConnection> ConnectionPool::Find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(key);
  std::shared_ptr<NodeConnection> connection =
      found == connections_.end() ? nullptr : found->second.lock();
  // Who opens one waits until a node is there; one that is lost is for those who have it.
  return connection == nullptr || connection->lost() ? nullptr : connection;
}

Result<std::shared_ptr<NodeConnection>> ConnectionPool::Open(
    const std::vector<NodeAddress>& addresses, const ClientOptions& options, Duration patience) {
  const std::string key = KeyOf(addresses, options);
  if (std::shared_ptr<NodeConnection> known = Find(key)) {
    return known;
  }
  KVCAST_TRY(std::unique_ptr<NodeConnection> opened,
             NodeConnection::Open(addresses, options, patience));
  if (std::shared_ptr<NodeConnection> known = Find(key)) {
    return known;  // Somebody else was faster.
  }
  std::shared_ptr<NodeConnection> connection = std::move(opened);
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [](const auto& each) { return each.second.expired(); });
  connections_.insert_or_assign(key, connection);
  return connection;
}

size_t ConnectionPool::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::ranges::count_if(connections_, [](const auto& each) { return !each.second.expired(); }));
}

}  // namespace kvcast
