#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "kvcast/moqt/event.h"
#include "kvcast/moqt/transport.h"

namespace kvcast::moqt {

// What a session's parts want done and have to tell, until it is taken.
class Outbox {
 public:
  void Do(TransportAction action) {
    if (!closed_) {
      actions_.push_back(std::move(action));
    }
  }
  void Tell(Event event) {
    if (!closed_) {
      events_.push_back(std::move(event));
    }
  }
  // The last that is told, and what closes the connection if we do: whoever is still at work when a
  // session closes finds that nothing comes after it.
  void Close(SessionClosed event, std::optional<CloseConnection> action) {
    if (action) {
      Do(*std::move(action));
    }
    Tell(std::move(event));
    closed_ = true;
  }

  std::optional<TransportAction> NextAction() { return Next(actions_); }
  std::optional<Event> NextEvent() { return Next(events_); }
  bool has_event() const { return !events_.empty(); }

 private:
  template <typename T>
  static std::optional<T> Next(std::deque<T>& queue) {
    if (queue.empty()) {
      return std::nullopt;
    }
    std::optional<T> first = std::move(queue.front());
    queue.pop_front();
    return first;
  }

  std::deque<TransportAction> actions_;
  std::deque<Event> events_;
  bool closed_ = false;
};

}  // namespace kvcast::moqt
