#include "kvcast/io/stream_book.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {

QuicStream& StreamBook::Add(moqt::StreamId id, const moqt::SendOrder& order) {
  auto& place = streams_[id];
  KVCAST_CHECK(place == nullptr);
  place = std::make_unique<QuicStream>();
  place->id = id;
  place->order = order;
  return *place;
}

QuicStream* StreamBook::Find(moqt::StreamId id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void StreamBook::Remove(moqt::StreamId id) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) {
    ready_.erase(Turn{found->second.get()});
    streams_.erase(found);
  }
}

void StreamBook::Reorder(QuicStream& stream, const moqt::SendOrder& order) {
  if (stream.is_listed) {
    ready_.erase(Turn{&stream});  // It is found by the order that it had.
  }
  stream.order = order;
  if (stream.is_listed) {
    ready_.insert(Turn{&stream});
  }
}

bool StreamBook::AllDelivered() const {
  return std::ranges::none_of(streams_, [](const auto& entry) {
    const QuicStream& stream = *entry.second;
    // One that goes one way is gone from here as soon as its end is acknowledged.
    return stream.queue.holds_any() || (moqt::IsUni(stream.id) && stream.queue.finished());
  });
}

void StreamBook::Changed(QuicStream& stream) {
  const bool has_bytes = !stream.starved && !stream.send_over && stream.queue.HasUnsent();
  const bool can_send = stream.open && (has_bytes || stream.unheard_of);
  if (can_send == stream.is_listed) {
    return;
  }
  stream.is_listed = can_send;
  if (can_send) {
    ready_.insert(Turn{&stream});
  } else {
    ready_.erase(Turn{&stream});
  }
}

}  // namespace kvcast
