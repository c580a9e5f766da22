#include "kvcast/io/stream_book.h"

#include <algorithm>

#include "kvcast/base/check.h"

namespace kvcast {

QuicStream& StreamBook::Add(moqt::StreamId id, const moqt::SendOrder& order) {
  auto& place = Shelf(id)[id];
  KVCAST_CHECK(place == nullptr);
  place = std::make_unique<QuicStream>();
  place->id = id;
  place->order = order;
  place->turns = &opening_;
  opening_.Join(*place);
  return *place;
}

QuicStream* StreamBook::Find(moqt::StreamId id) {
  Streams& shelf = Shelf(id);
  const auto found = shelf.find(id);
  return found == shelf.end() ? nullptr : found->second.get();
}

QuicStream* StreamBook::FindNumber(int64_t number) {
  const auto renumbered = renumbered_.find(number);
  if (renumbered != renumbered_.end()) {
    return Find(renumbered->second);
  }
  QuicStream* const stream = Find(static_cast<moqt::StreamId>(number));
  return stream != nullptr && stream->number == number ? stream : nullptr;
}

void StreamBook::Remove(moqt::StreamId id) {
  Streams& shelf = Shelf(id);
  const auto found = shelf.find(id);
  if (found != shelf.end()) {
    found->second->turns->Leave(*found->second);
    renumbered_.erase(found->second->number);
    shelf.erase(found);
  }
}

void StreamBook::Open(QuicStream& stream, int64_t number) {
  if (static_cast<moqt::StreamId>(number) != stream.id) {
    renumbered_.emplace(number, stream.id);
  }
  stream.number = number;
  stream.turns->Sent(stream, 1, 1);
  stream.open = true;
  Changed(stream);
}

void StreamBook::Reorder(QuicStream& stream, const moqt::SendOrder& order) {
  stream.turns->Leave(stream);  // It is found by the order that it had.
  stream.order = order;
  stream.turns->Join(stream);
  Changed(stream);
}

void StreamBook::Sent(QuicStream& stream, uint64_t bytes, bool end) {
  stream.queue.Sent(bytes, end);
  stream.send_over = end;
  Changed(stream);
  stream.turns->Sent(stream, bytes, kTurnBytes);
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
  StreamTurns& turns = TurnsOf(stream);
  if (stream.turns != &turns) {
    stream.turns->Leave(stream);
    stream.turns = &turns;
    turns.Join(stream);
  }
  // Two-way streams are opened in the order in which they were made.
  const bool has_turns = stream.open || moqt::IsUni(stream.id);
  const bool has_bytes = !stream.starved && !stream.send_over && stream.queue.HasUnsent();
  turns.SetReady(stream, has_turns && (has_bytes || stream.unheard_of));
}

}  // namespace kvcast
