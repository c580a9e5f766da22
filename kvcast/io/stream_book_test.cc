#include "kvcast/io/stream_book.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>
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
    book.Sent(*next, 1, false);
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

moqt::SendOrder OrderOf(uint64_t request, uint64_t group) {
  moqt::SendOrder order = Order(kData, 7, group);
  order.request = request;
  return order;
}

// Lets each be sent what is next for `steps` packets; what each request sent.
std::map<uint64_t, uint64_t> SendPackets(StreamBook& book, size_t steps) {
  constexpr uint64_t kPacketBytes = 1000;
  std::map<uint64_t, uint64_t> sent;
  for (size_t i = 0; i < steps; ++i) {
    QuicStream& next = *book.Next();
    sent[next.order.request] += kPacketBytes;
    book.Sent(next, kPacketBytes, false);
  }
  return sent;
}

// However many streams one has, whatever its groups are, and whoever came first.
TEST(StreamBook, RequestsThatAreEquallyUrgentTakeTurns) {
  StreamBook book;
  for (moqt::StreamId i = 0; i < 100; ++i) {
    Add(book, 3 + 4 * i, OrderOf(1, i), 10'000);
  }
  Add(book, 403, OrderOf(2, 1'000'000), 1'000'000);
  Add(book, 407, OrderOf(3, 0), 1'000'000);
  auto sent = SendPackets(book, 900);
  for (const uint64_t request : {1U, 2U, 3U}) {
    EXPECT_NEAR(static_cast<double>(sent[request]), 300'000, StreamBook::kTurnBytes + 1000);
  }
  // One that comes late has no arrears to make up, and waits for a turn of each.
  Add(book, 411, OrderOf(0, 0), 1'000'000);
  sent = SendPackets(book, 4 * (StreamBook::kTurnBytes / 1000 + 1));
  EXPECT_NEAR(static_cast<double>(sent[0]), StreamBook::kTurnBytes, 1000);
}

TEST(StreamBook, ARequestThatIsAloneDoesNotPayForItLater) {
  StreamBook book;
  Add(book, 3, OrderOf(1, 0), 5'000'000);
  SendPackets(book, 4000);
  Add(book, 7, OrderOf(2, 0), 1'000'000);
  auto sent = SendPackets(book, 200);
  EXPECT_NEAR(static_cast<double>(sent[1]), 100'000, StreamBook::kTurnBytes + 1000);
}

TEST(StreamBook, StreamsThatGoBothWaysTakeTurns) {
  StreamBook book;
  QuicStream& first = Add(book, 0, Order(kRequest, 0), 1'000'000);
  QuicStream& second = Add(book, 4, Order(kRequest, 0), 1'000'000);
  SendPackets(book, 100);
  EXPECT_NEAR(static_cast<double>(first.queue.unsent_bytes()),
              static_cast<double>(second.queue.unsent_bytes()), StreamBook::kTurnBytes + 1000);
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
    book.Sent(control, 1, false);
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

// A one-way stream that QUIC has not opened, with a byte to send.
QuicStream& AddUnopened(StreamBook& book, moqt::StreamId id, const moqt::SendOrder& order) {
  QuicStream& stream = book.Add(id, order);
  stream.queue.Append(Bytes::Of("x"));
  book.Changed(stream);
  return stream;
}

TEST(StreamBook, StreamsOpenByTheSameOrderAndAreFoundByEitherNumber) {
  StreamBook book;
  book.Add(2, Order(kControl, 0));  // It has nothing to send.
  AddUnopened(book, 6, OrderOf(1, 5));
  AddUnopened(book, 10, OrderOf(1, 4));
  AddUnopened(book, 14, OrderOf(1, 6));
  AddUnopened(book, 18, OrderOf(2, 9));
  AddUnopened(book, 22, Order(kData, 0));
  EXPECT_EQ(book.Next(), nullptr);
  std::vector<moqt::StreamId> opened;
  for (int64_t number = 2; QuicStream* const next = book.NextToOpen(); number += 4) {
    opened.push_back(next->id);
    book.Open(*next, number);
    EXPECT_EQ(book.FindNumber(number), next);
    EXPECT_EQ(book.Find(next->id), next);
  }
  EXPECT_EQ(opened, (std::vector<moqt::StreamId>{22, 10, 18, 6, 14}));
  EXPECT_EQ(SendAll(book).front(), 22U);
  EXPECT_EQ(book.FindNumber(22), nullptr);
  book.Remove(22);
  EXPECT_EQ(book.FindNumber(2), nullptr);
}

// Against the simplest thing that could be right, but for whose turn it is.
TEST(StreamBook, ChoosesWhatLookingAtAllOfThemWouldChoose) {
  StreamBook book;
  std::vector<QuicStream*> streams;
  Random random(11);
  const auto order = [&random] {
    moqt::SendOrder made =
        Order(kData, static_cast<uint8_t>(random.Below(3)), /*group=*/random.Below(4));
    made.request = random.Below(4);
    return made;
  };
  for (moqt::StreamId i = 0; i < 50; ++i) {
    streams.push_back(&book.Add(3 + 4 * i, order()));
    streams.back()->open = true;
  }
  for (int step = 0; step < 20'000; ++step) {
    QuicStream& stream = *streams[random.Below(streams.size())];
    switch (random.Below(4)) {
      case 0:
        stream.queue.Append(Bytes::Of(std::string(1 + random.Below(8'000), 'x')));
        break;
      case 1:
        book.Sent(stream, stream.queue.unsent_bytes(), false);
        break;
      case 2:
        stream.starved = !stream.starved;
        break;
      default:
        book.Reorder(stream, order());
    }
    book.Changed(stream);
    const QuicStream* const next = book.Next();
    for (const QuicStream* const other : streams) {
      if (other->starved || !other->queue.HasUnsent()) {
        ASSERT_NE(next, other) << "step " << step << " of seed 11";
        continue;
      }
      ASSERT_NE(next, nullptr) << "step " << step << " of seed 11";
      ASSERT_LE(next->order.urgency(), other->order.urgency()) << "step " << step << " of seed 11";
      if (next->order.urgency() == other->order.urgency() &&
          next->order.request == other->order.request) {
        ASSERT_LE(std::tie(next->order.group, next->id), std::tie(other->order.group, other->id))
            << "step " << step << " of seed 11";
      }
    }
  }
}

}  // namespace
}  // namespace kvcast
