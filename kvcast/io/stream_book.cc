#include "kvcast/io/stream_book.h"

#include <algorithm>
#include <iterator>

#include "kvcast/base/check.h"

namespace kvcast {

QuicStream& StreamBook::Add(moqt::StreamId id, const moqt::SendOrder& order) {
  auto& place = Shelf(id)[id];
  KVCAST_CHECK(place == nullptr);
  place = std::make_unique<QuicStream>();
  place->id = id;
  place->order = order;
  Join(*place);
  return *place;
}

QuicStream* StreamBook::Find(moqt::StreamId id) {
  Streams& shelf = Shelf(id);
  const auto found = shelf.find(id);
  return found == shelf.end() ? nullptr : found->second.get();
}

void StreamBook::Remove(moqt::StreamId id) {
  Streams& shelf = Shelf(id);
  const auto found = shelf.find(id);
  if (found != shelf.end()) {
    Leave(*found->second);
    shelf.erase(found);
  }
}

void StreamBook::Reorder(QuicStream& stream, const moqt::SendOrder& order) {
  Leave(stream);  // It is found by the order that it had.
  stream.order = order;
  Join(stream);
  Changed(stream);
}

StreamBook::LaneName StreamBook::NameOf(const QuicStream& stream) {
  return {stream.order.urgency(), moqt::IsUni(stream.id) ? stream.order.request : stream.id};
}

void StreamBook::Join(QuicStream& stream) {
  stream.lane = &lanes_[NameOf(stream)];
  ++stream.lane->streams;
}

void StreamBook::Leave(QuicStream& stream) {
  if (stream.is_listed) {
    Unlist(stream);
  }
  if (--stream.lane->streams == 0) {
    lanes_.erase(NameOf(stream));
  }
  stream.lane = nullptr;
}

void StreamBook::List(QuicStream& stream) {
  stream.is_listed = true;
  StreamLane& lane = *stream.lane;
  lane.ready.insert({&stream});
  if (lane.ready.size() > 1) {
    return;
  }
  const std::pair place(stream.order.urgency(), ++turns_);  // Behind all that are as urgent.
  lane.turn_bytes = 0;
  if (lane.idle_place.empty()) {
    lane.place = waiting_.emplace(place, &lane).first;
  } else {
    lane.idle_place.key() = place;
    lane.place = waiting_.insert(std::move(lane.idle_place)).position;
  }
}

void StreamBook::Unlist(QuicStream& stream) {
  stream.is_listed = false;
  StreamLane& lane = *stream.lane;
  lane.ready.erase({&stream});
  if (lane.ready.empty()) {
    lane.idle_place = waiting_.extract(lane.place);
  }
}

void StreamBook::Sent(QuicStream& stream, uint64_t bytes, bool end) {
  stream.queue.Sent(bytes, end);
  stream.send_over = end;
  stream.lane->turn_bytes += bytes;
  Changed(stream);
  if (stream.lane->turn_bytes >= kTurnBytes && !stream.lane->ready.empty()) {
    EndTurn(*stream.lane);
  }
}

void StreamBook::EndTurn(StreamLane& lane) {
  lane.turn_bytes = 0;
  const auto next = std::next(lane.place);
  const uint32_t urgency = lane.place->first.first;
  if (next != waiting_.end() && next->first.first == urgency) {  // Else it is alone.
    auto place = waiting_.extract(lane.place);
    place.key().second = ++turns_;
    lane.place = waiting_.insert(std::move(place)).position;
  }
}

bool StreamBook::AllDelivered() const {
  // One that goes one way is gone from here as soon as its end is acknowledged.
  return std::ranges::none_of(one_way_,
                              [](const auto& entry) {
                                const SendQueue& queue = entry.second->queue;
                                return queue.holds_any() || queue.finished();
                              }) &&
         std::ranges::none_of(two_way_,
                              [](const auto& entry) { return entry.second->queue.holds_any(); });
}

void StreamBook::Changed(QuicStream& stream) {
  const bool has_bytes = !stream.starved && !stream.send_over && stream.queue.HasUnsent();
  const bool can_send = stream.open && (has_bytes || stream.unheard_of);
  if (can_send != stream.is_listed) {
    can_send ? List(stream) : Unlist(stream);
  }
}

}  // namespace kvcast
