#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/socket_address.h"

namespace kvcast {

// Connects to whichever address of a host answers first. A name often has one that leads nowhere
// from here, such as IPv6 without a route: so the next one is tried as well when one has failed, or
// has not answered within its head start.
//
// `start` begins a connection to an address; `ready` says whether one has been made, or why it
// never will be; `wait` waits for news of the one that began last, and may return early. What is
// given back is ready, or the oldest that still waits at `deadline`; an error is the first one's.
inline constexpr Duration kHeadStart = std::chrono::milliseconds(300);

template <typename T, typename Start, typename Ready, typename Wait>
requires std::invocable<Start, const SocketAddress&> && std::invocable<Ready, T&> &&
    std::invocable<Wait, T&, Instant>
        Result<std::unique_ptr<T>> FirstToAnswer(std::span<const SocketAddress> addresses,
                                                 Instant deadline, Start start, Ready ready,
                                                 Wait wait) {
  std::vector<std::unique_ptr<T>> going;
  std::optional<Error> first_error;
  const auto note = [&](const Error& error) {
    if (!first_error) {
      first_error = error;
    }
  };
  size_t begun = 0;
  Instant next_start{};
  while (true) {
    if (begun < addresses.size() && (going.empty() || Now() >= next_start)) {
      Result<std::unique_ptr<T>> started = start(addresses[begun++]);
      if (started.ok()) {
        going.push_back(*std::move(started));
      } else {
        note(started.error());
      }
      next_start = Now() + kHeadStart;
    }
    for (size_t i = 0; i < going.size();) {
      const Result<bool> state = ready(*going[i]);
      if (state.ok() && *state) {
        return std::move(going[i]);
      }
      if (state.ok()) {
        ++i;
        continue;
      }
      note(state.error());
      going.erase(going.begin() + static_cast<ptrdiff_t>(i));
    }
    if (going.empty() && begun == addresses.size()) {
      return *first_error;
    }
    if (!going.empty()) {
      if (Now() >= deadline) {
        return std::move(going.front());
      }
      wait(*going.back(), begun < addresses.size() ? std::min(next_start, deadline) : deadline);
    }
  }
}

}  // namespace kvcast
