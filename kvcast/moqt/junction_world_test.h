#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/moqt/junction.h"
#include "kvcast/moqt/memory_connection.h"
#include "kvcast/moqt/session.h"
#include "kvcast/moqt/session_pair.h"

namespace kvcast::moqt {

// A client, and a server of several sessions that share its connection.
class JunctionWorld {
 public:
  static constexpr size_t kParts = 3;

  struct Options : MemoryConnection::Options {
    size_t home = 1;
    Limits limits;
  };

  JunctionWorld() : JunctionWorld(Options()) {}
  explicit JunctionWorld(const Options& options)
      : client_(Role::kClient, SessionPair::ClientSetup(), options.limits, Instant()) {
    std::vector<std::unique_ptr<TransportUser>> parts;
    for (size_t i = 0; i < kParts; ++i) {
      auto part = std::make_unique<Session>(Role::kServer, Setup(), options.limits, Instant(),
                                            DefaultCodec(), SessionShare{i, kParts});
      parts_.push_back(part.get());
      parts.push_back(std::move(part));
    }
    Junction::Options junction;
    junction.codec = &DefaultCodec();
    junction.limits = options.limits;
    junction.home = options.home;
    junction.part_of = [](const TrackNamespace& space) {
      return static_cast<size_t>(space.field(space.field_count() - 1)[0] - '0');
    };
    junction_ = std::make_unique<Junction>(junction, std::move(parts));
    connection_ = std::make_unique<MemoryConnection>(options, client_, *junction_);
    events_.resize(kParts + 1);
  }

  Session& client() { return client_; }
  Session& part(size_t index) { return *parts_[index]; }
  Junction& junction() { return *junction_; }
  MemoryConnection& connection() { return *connection_; }
  void Run() {
    while (connection_->Step()) {
    }
  }

  static TrackNamespace Space(size_t part, std::string_view more = "m") {
    return *TrackNamespace::Of({"kv", more, std::to_string(part)});
  }
  static TrackName Track(size_t part, std::string_view name = "t") {
    return *TrackName::Of(Space(part), name);
  }
  static Object At(Location location, std::string_view payload) {
    Object object;
    object.location = location;
    object.payload = Bytes::Of(payload);
    return object;
  }

  // As SessionPair has them.
  template <typename T>
  std::vector<T> Take(Session& session) {
    size_t at = kParts;
    for (size_t i = 0; i < kParts; ++i) {
      at = parts_[i] == &session ? i : at;
    }
    while (std::optional<Event> event = session.NextEvent()) {
      events_[at].push_back(*std::move(event));
    }
    std::vector<T> taken;
    std::vector<Event> rest;
    for (Event& event : events_[at]) {
      if (T* found = std::get_if<T>(&event)) {
        taken.push_back(std::move(*found));
      } else {
        rest.push_back(std::move(event));
      }
    }
    events_[at] = std::move(rest);
    return taken;
  }
  template <typename T>
  T One(Session& session) {
    std::vector<T> taken = Take<T>(session);
    if (taken.size() != 1) {
      ADD_FAILURE() << taken.size() << " events instead of one";
      std::abort();
    }
    return std::move(taken[0]);
  }
  // The payloads that have come for a request, in their order.
  static std::vector<std::string> Payloads(Session& session, RequestId request) {
    std::vector<std::string> payloads;
    while (const std::optional<Received> received = session.Take(request)) {
      if (const auto* object = std::get_if<ReceivedObject>(&*received)) {
        payloads.push_back(object->object.payload.ToString());
      }
    }
    return payloads;
  }

 private:
  Session client_;
  std::vector<Session*> parts_;
  std::unique_ptr<Junction> junction_;
  std::unique_ptr<MemoryConnection> connection_;
  std::vector<std::vector<Event>> events_;
};

}  // namespace kvcast::moqt
