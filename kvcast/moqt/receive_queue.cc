#include "kvcast/moqt/receive_queue.h"

#include <utility>

namespace kvcast::moqt {
namespace {

// Besides its payload, so that empty objects are not free.
constexpr size_t kItemBytes = sizeof(Received) + 64;

size_t BytesOf(const Received& item) {
  const ReceivedObject* received = std::get_if<ReceivedObject>(&item);
  return kItemBytes + (received == nullptr ? 0
                                           : received->object.payload.size() +
                                                 received->object.properties.encoded().size());
}

}  // namespace

void ReceiveQueue::Push(StreamId stream, Received item) {
  if (items_.empty()) {
    outbox_->Tell(ObjectsReady{request_});
  }
  const size_t bytes = BytesOf(item);
  credit_->Queued(request_, stream, bytes);
  datagram_bytes_ += stream == ReceivedObject::kNoStream ? bytes : 0;
  items_.push_back({stream, bytes, std::move(item)});
}

std::optional<Received> ReceiveQueue::Take() {
  if (items_.empty()) {
    return std::nullopt;
  }
  Item item = std::move(items_.front());
  items_.pop_front();
  last_taken_ = *now_;
  credit_->Taken(request_, item.stream, item.bytes);
  datagram_bytes_ -= item.stream == ReceivedObject::kNoStream ? item.bytes : 0;
  return std::move(item.content);
}

void ReceiveQueue::Clear() {
  while (Take()) {
  }
}

}  // namespace kvcast::moqt
