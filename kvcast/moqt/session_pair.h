#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/moqt/memory_connection.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {

// Two sessions back to back, on a connection made of memory.
class SessionPair {
 public:
  struct Options : MemoryConnection::Options {
    Limits limits;
    std::string greeting;  // What the server calls itself; empty: nothing.
  };

  // The draft of pairs that are made.
  static inline const Codec* spoken = &DefaultCodec();

  explicit SessionPair(const Options& options)
      : client_(Role::kClient, ClientSetup(), options.limits, Instant(), *spoken),
        server_(Role::kServer, ServerSetup(options.greeting), options.limits, Instant(), *spoken),
        connection_(options, client_, server_) {}
  SessionPair() : SessionPair(Options()) {}

  Session& client() { return client_; }
  Session& server() { return server_; }
  MemoryConnection& connection() { return connection_; }

  // Until nothing moves any more.
  void Run() {
    while (Step()) {
    }
  }
  bool Step() { return connection_.Step(); }

  // The events of a kind that a side has told so far, and not given out before.
  template <typename T>
  std::vector<T> Take(Session& session) {
    std::vector<Event>& events = session_events(session);
    std::vector<T> taken;
    std::vector<Event> rest;
    for (Event& event : events) {
      if (T* found = std::get_if<T>(&event)) {
        taken.push_back(std::move(*found));
      } else {
        rest.push_back(std::move(event));
      }
    }
    events = std::move(rest);
    return taken;
  }
  // The only one of its kind.
  template <typename T>
  T One(Session& session) {
    std::vector<T> taken = Take<T>(session);
    if (taken.size() != 1) {
      ADD_FAILURE() << taken.size() << " events instead of one";
      std::abort();
    }
    return std::move(taken[0]);
  }

  size_t Waiting(const Session& from) const { return connection_.Waiting(from); }
  bool connection_closed() const { return connection_.closed(); }

  static Setup ClientSetup() {
    Setup setup;
    setup.path = "/";
    setup.authority = "node.example";
    return setup;
  }
  static Setup ServerSetup(const std::string& greeting) {
    Setup setup;
    setup.implementation = greeting.empty() ? std::nullopt : std::optional(greeting);
    return setup;
  }

 private:
  std::vector<Event>& session_events(Session& session) {
    std::vector<Event>& events = &session == &client_ ? client_events_ : server_events_;
    while (std::optional<Event> event = session.NextEvent()) {
      events.push_back(*std::move(event));
    }
    return events;
  }

  Session client_;
  Session server_;
  MemoryConnection connection_;
  std::vector<Event> client_events_;
  std::vector<Event> server_events_;
};

}  // namespace kvcast::moqt
