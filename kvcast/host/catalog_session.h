#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/client/catalog_follower.h"
#include "kvcast/client/catalog_view.h"
#include "kvcast/host/node_flags.h"
#include "kvcast/host/relay_connection.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// What commands are told that show what nodes hold: which node to ask, and of which model.
struct CatalogFlags {
  NodeFlags node;
  std::string model;  // As `kvcast ls` writes it; empty for all.
  uint32_t timeout_s = 10;
  bool json = false;

  // `model` says what it is for. Returns it.
  static CLI::Option* AddTo(CLI::App& command, CatalogFlags& flags, const std::string& model);
};

// A node's catalogs, and those that it passes on, followed by a command that does one thing after
// the other.
class CatalogSession {
 public:
  // Connects, and waits until what is held is known. Ctrl-C ends waits from then on.
  static Result<std::unique_ptr<CatalogSession>> Open(const CatalogFlags& flags);

  CatalogView& view() { return view_; }
  // What the node says by then is in the view; at once if it has said something. The session's end
  // is an error.
  Result<void> Turn(Instant until);
  bool interrupted() const { return relay_->interrupted(); }

 private:
  CatalogSession() = default;
  Result<void> AwaitAll(Instant deadline);

  std::unique_ptr<EventLoop> loop_;
  std::unique_ptr<RelayConnection> relay_;
  CatalogView view_;
  std::unique_ptr<CatalogFollower> follower_;  // Leaves before its view and its session do.
};

}  // namespace kvcast
