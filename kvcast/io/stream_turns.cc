#include "kvcast/io/stream_turns.h"

#include <iterator>

namespace kvcast {

StreamTurns::LaneName StreamTurns::NameOf(const QuicStream& stream) {
  return {stream.order.urgency(), moqt::IsUni(stream.id) ? stream.order.request : stream.id};
}

void StreamTurns::Join(QuicStream& stream) {
  stream.lane = &lanes_[NameOf(stream)];
  ++stream.lane->streams;
}

void StreamTurns::Leave(QuicStream& stream) {
  if (stream.is_listed) {
    Unlist(stream);
  }
  if (--stream.lane->streams == 0) {
    lanes_.erase(NameOf(stream));
  }
  stream.lane = nullptr;
}

void StreamTurns::SetReady(QuicStream& stream, bool ready) {
  if (ready != stream.is_listed) {
    ready ? List(stream) : Unlist(stream);
  }
}

void StreamTurns::List(QuicStream& stream) {
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

void StreamTurns::Unlist(QuicStream& stream) {
  stream.is_listed = false;
  StreamLane& lane = *stream.lane;
  lane.ready.erase({&stream});
  if (lane.ready.empty()) {
    lane.idle_place = waiting_.extract(lane.place);
  }
}

void StreamTurns::Sent(QuicStream& stream, uint64_t bytes, uint64_t turn_bytes) {
  StreamLane& lane = *stream.lane;
  lane.turn_bytes += bytes;
  if (lane.turn_bytes >= turn_bytes && !lane.ready.empty()) {
    EndTurn(lane);
  }
}

void StreamTurns::EndTurn(StreamLane& lane) {
  lane.turn_bytes = 0;
  const auto next = std::next(lane.place);
  const uint32_t urgency = lane.place->first.first;
  if (next != waiting_.end() && next->first.first == urgency) {  // Else it is alone.
    auto place = waiting_.extract(lane.place);
    place.key().second = ++turns_;
    lane.place = waiting_.insert(std::move(place)).position;
  }
}

}  // namespace kvcast
