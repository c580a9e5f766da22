#include "kvcast/io/stream_book.h"

#include <gtest/gtest.h>

#include <vector>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

moqt::SendOrder Order(moqt::SendOrder::Tier tier, uint8_t priority, uint64_t group = 0) {
  moqt::SendOrder order;
  order.tier = tier;
  order.subscriber_priority = priority;
  order.group = group;
  return order;
}
constexpr auto kControl = moqt::SendOrder::Tier::kControl;
constexpr auto kRequest = moqt::SendOrder::Tier::kRequest;
constexpr auto kData = moqt::SendOrder::Tier::kData;

// A stream with this many bytes to send.
QuicStream& Add(StreamBook& book, moqt::StreamId id, const moqt::SendOrder& order,
                size_t bytes = 1) {
  QuicStream& stream = book.Add(id, order);
  stream.open = true;
  stream.queue.Append(Bytes::Of(std::string(bytes, 'x')));
  book.Changed(stream);
  return stream;
}

// Sends everything, a byte at a time; the streams in the order in which they are done.
std::vector<moqt::StreamId> SendAll(StreamBook& book) {
  std::vector<moqt::StreamId> done;
  while (QuicStream* const next = book.Next()) {
    next->queue.Sent(1, false);
    book.Changed(*next);
    if (!next->queue.HasUnsent()) {
      done.push_back(next->id);
    }
  }
  return done;
}

TEST(StreamBook, ControlComesBeforeRequestsBeforeData) {
  StreamBook book;
  Add(book, 3, Order(kData, 0));
  Add(book, 0, Order(kRequest, 255));
  Add(book, 2, Order(kControl, 255));
  EXPECT_EQ(SendAll(book), (std::vector<moqt::StreamId>{2, 0, 3}));
}

TEST(StreamBook, DataGoesByPriorityThenGroupThenAge) {
  StreamBook book;
  Add(book, 3, Order(kData, 5, 9));
  Add(book, 7, Order(kData, 5, 8));
  Add(book, 11, Order(kData, 4, 99));
  Add(book, 15, Order(kData, 5, 8));
  EXPECT_EQ(SendAll(book), (std::vector<moqt::StreamId>{11, 7, 15, 3}));
}

// However much data waits, and however urgent it is.
TEST(StreamBook, ControlIsNeverStarved) {
  StreamBook book;
  for (moqt::StreamId i = 0; i < 1000; ++i) {
    Add(book, 3 + 4 * i, Order(kData, 0), 10);
  }
  QuicStream& control = Add(book, 2, Order(kControl, 255));
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(book.Next(), &control);
    control.queue.Sent(1, false);
    book.Changed(control);
    ASSERT_NE(book.Next(), &control);
    control.queue.Append(Bytes::Of("y"));
    book.Changed(control);
  }
}

TEST(StreamBook, StreamsThatMayNotSendStandInNobodysWay) {
  StreamBook book;
  QuicStream& first = Add(book, 3, Order(kData, 1));
  QuicStream& second = Add(book, 7, Order(kData, 2));
  first.starved = true;
  book.Changed(first);
  EXPECT_EQ(book.Next(), &second);
  first.starved = false;
  book.Changed(first);
  EXPECT_EQ(book.Next(), &first);
  book.Remove(3);
  EXPECT_EQ(book.Next(), &second);
  second.send_over = true;
  book.Changed(second);
  EXPECT_EQ(book.Next(), nullptr);
}

TEST(StreamBook, AChangedOrderIsHeededWhetherTheStreamCanSendOrNot) {
  StreamBook book;
  QuicStream& first = Add(book, 3, Order(kData, 1));
  QuicStream& second = Add(book, 7, Order(kData, 2));
  QuicStream& idle = book.Add(11, Order(kData, 3));
  book.Reorder(first, Order(kData, 9));
  EXPECT_EQ(book.Next(), &second);
  book.Reorder(idle, Order(kData, 0));
  EXPECT_EQ(book.Next(), &second);
  idle.open = true;
  idle.queue.Append(Bytes::Of("x"));
  book.Changed(idle);
  EXPECT_EQ(book.Next(), &idle);
}

// Against the simplest thing that could be right.
TEST(StreamBook, ChoosesWhatLookingAtAllOfThemWouldChoose) {
  StreamBook book;
  std::vector<QuicStream*> streams;
  Random random(11);
  for (moqt::StreamId i = 0; i < 50; ++i) {
    streams.push_back(&book.Add(3 + 4 * i, Order(kData, static_cast<uint8_t>(random.Below(5)))));
    streams.back()->open = true;
  }
  for (int step = 0; step < 20'000; ++step) {
    QuicStream& stream = *streams[random.Below(streams.size())];
    switch (random.Below(4)) {
      case 0:
        stream.queue.Append(Bytes::Of("x"));
        break;
      case 1:
        stream.queue.Sent(stream.queue.unsent_bytes(), false);
        break;
      case 2:
        stream.starved = !stream.starved;
        break;
      default:
        book.Reorder(stream, Order(kData, static_cast<uint8_t>(random.Below(5))));
    }
    book.Changed(stream);
    QuicStream* best = nullptr;
    for (QuicStream* const other : streams) {
      const bool can_send = !other->starved && other->queue.HasUnsent();
      if (can_send && (best == nullptr ||
                       std::tie(other->order, other->id) < std::tie(best->order, best->id))) {
        best = other;
      }
    }
    ASSERT_EQ(book.Next(), best) << "step " << step << " of seed 11";
  }
}

}  // namespace
}  // namespace kvcast
