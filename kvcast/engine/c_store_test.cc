// The C interface of the store, at a node on loopback.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/io/worker_team.h"
#include "kvcast/kvcast.h"

namespace kvcast {
namespace {

constexpr size_t kBytes = 40'000;  // Of a value.
constexpr size_t kValues = 32;
constexpr int64_t kPatienceUs = 60'000'000;  // Only so as not to hang.

kvcast_batch BatchOf(int32_t kind, std::span<const kvcast_item> items) {
  kvcast_batch batch{};
  batch.struct_size = sizeof(batch);
  batch.kind = kind;
  batch.items = items.data();
  batch.item_size = sizeof(kvcast_item);
  batch.count = items.size();
  batch.timeout_us = kPatienceUs;
  return batch;
}

// An engine with two halves of memory: what it puts, and where it gets.
class Engine {
 public:
  explicit Engine(const std::string& node, uint64_t seed = 1, const std::string& layout = "toy")
      : Engine(At(node), seed, layout) {}
  explicit Engine(kvcast_node where, uint64_t seed = 1, const std::string& layout = "toy") {
    where.struct_size = sizeof(where);
    const kvcast_format format = {.struct_size = sizeof(kvcast_format),
                                  .model = "toy",
                                  .layout = layout.data(),
                                  .layout_bytes = layout.size(),
                                  .block_tokens = 16};
    code_ = kvcast_store_open(&where, &format, &store_);
    Random(seed).Fill(std::span(memory_).first(kValues * kBytes));
    if (store_ != nullptr) {
      EXPECT_EQ(kvcast_store_register(store_, memory_.data(), memory_.size(), &region_), KVCAST_OK);
    }
  }
  ~Engine() { kvcast_store_close(store_); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  kvcast_store* store() { return store_; }
  kvcast_code code() const { return code_; }
  uint32_t region() const { return region_; }
  std::span<std::byte> Put(size_t value) { return At(value); }
  std::span<std::byte> Got(size_t value) { return At(kValues + value); }

  // Items for values first to first + count, and a batch of them.
  kvcast_batch Batch(int32_t kind, size_t first, size_t count) {
    items_.clear();
    keys_.clear();
    for (size_t i = first; i < first + count; ++i) {
      keys_.push_back("block " + std::to_string(i));
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t at = kind == KVCAST_GET ? kValues + first + i : first + i;
      items_.push_back({keys_[i].data(), keys_[i].size(), region_, 0, at * kBytes, kBytes});
    }
    return BatchOf(kind, items_);
  }
  std::vector<kvcast_item>& items() { return items_; }
  std::vector<int32_t> Run(const kvcast_batch& batch, uint64_t* sizes = nullptr) {
    std::vector<int32_t> statuses(batch.count, -100);
    EXPECT_EQ(kvcast_store_run(store_, &batch, statuses.data(), sizes), KVCAST_OK)
        << kvcast_message();
    return statuses;
  }
  std::vector<int32_t> Run(int32_t kind, size_t first, size_t count) {
    return Run(Batch(kind, first, count));
  }

 private:
  static kvcast_node At(const std::string& node) {
    kvcast_node where{};
    where.address = node.c_str();
    return where;
  }
  std::span<std::byte> At(size_t value) {
    return std::span(memory_).subspan(value * kBytes, kBytes);
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(2 * kValues * kBytes);
  std::vector<std::string> keys_;
  std::vector<kvcast_item> items_;
  kvcast_store* store_ = nullptr;
  uint32_t region_ = 0;
  kvcast_code code_ = KVCAST_OK;
};

std::vector<int32_t> All(size_t count, int32_t status) { return std::vector(count, status); }

TEST(CStore, CarriesValuesFromOneEngineToAnother) {
  ScriptedServer server;
  Engine engine(server.flag());
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  EXPECT_EQ(kvcast_store_connected(engine.store()), 1);
  EXPECT_EQ(engine.Run(KVCAST_LOOKUP, 0, 4), All(4, KVCAST_ITEM_ABSENT));
  EXPECT_EQ(engine.Run(KVCAST_PUT, 0, 8), All(8, KVCAST_ITEM_STORED));
  EXPECT_EQ(engine.Run(KVCAST_PUT, 0, 8), All(8, KVCAST_ITEM_HELD));
  std::array<uint64_t, 10> sizes{};
  const std::vector<int32_t> found = engine.Run(engine.Batch(KVCAST_LOOKUP, 0, 10), sizes.data());
  EXPECT_EQ(kvcast_leading(found.data(), found.size()), 8u);
  EXPECT_EQ(sizes[7], kBytes);
  EXPECT_EQ(sizes[8], 0u);
  std::vector<int32_t> got = All(8, KVCAST_ITEM_LOADED);
  got.insert(got.end(), 2, KVCAST_ITEM_ABSENT);
  EXPECT_EQ(engine.Run(KVCAST_GET, 0, 10), got);
  for (size_t value = 0; value < 8; ++value) {
    EXPECT_TRUE(std::ranges::equal(engine.Got(value), engine.Put(value)));
  }
}

TEST(CStore, GoesOnWithAnotherNode) {
  ScriptedServer first;
  ScriptedServer second;
  const std::string address = first.flag();
  const std::string other = second.flag();
  const char* const others[] = {other.c_str()};
  kvcast_node where{};
  where.address = address.c_str();
  where.others = others;
  where.other_count = 1;
  Engine engine(where);
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  ASSERT_EQ(engine.Run(KVCAST_PUT, 0, 8), All(8, KVCAST_ITEM_STORED));
  first.Leave();
  while (engine.Run(KVCAST_LOOKUP, 0, 8) != All(8, KVCAST_ITEM_ABSENT)) {
    std::this_thread::yield();
  }
  while (engine.Run(KVCAST_PUT, 0, 8) != All(8, KVCAST_ITEM_STORED)) {
    std::this_thread::yield();
  }
  EXPECT_EQ(engine.Run(KVCAST_GET, 0, 8), All(8, KVCAST_ITEM_LOADED));
}

TEST(CStore, TellsOfEndsByADescriptor) {
  ScriptedServer server;
  Engine engine(server.flag());
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  pollfd waits{kvcast_store_fd(engine.store()), POLLIN, 0};
  EXPECT_EQ(poll(&waits, 1, 0), 0);
  uint64_t first = 0;
  uint64_t second = 0;
  const kvcast_batch put = engine.Batch(KVCAST_PUT, 0, 4);
  ASSERT_EQ(kvcast_store_submit(engine.store(), &put, &first), KVCAST_OK);
  ASSERT_EQ(poll(&waits, 1, -1), 1);
  const kvcast_batch get = engine.Batch(KVCAST_GET, 0, 4);
  ASSERT_EQ(kvcast_store_submit(engine.store(), &get, &second), KVCAST_OK);
  std::array<int32_t, 4> statuses{};
  ASSERT_EQ(kvcast_store_wait(engine.store(), second, kPatienceUs, statuses.data(), nullptr, 4),
            KVCAST_OK);
  EXPECT_EQ(statuses[3], KVCAST_ITEM_LOADED);
  uint64_t ended = 0;
  ASSERT_EQ(kvcast_store_ended(engine.store(), &ended), KVCAST_OK);
  EXPECT_EQ(ended, first);
  EXPECT_EQ(poll(&waits, 1, 0), 1);
  ASSERT_EQ(kvcast_store_wait(engine.store(), first, 0, statuses.data(), nullptr, 4), KVCAST_OK);
  EXPECT_EQ(statuses[3], KVCAST_ITEM_STORED);
  EXPECT_EQ(poll(&waits, 1, 0), 0);
  EXPECT_EQ(kvcast_store_ended(engine.store(), &ended), KVCAST_PENDING);
  EXPECT_EQ(kvcast_store_wait(engine.store(), first, 0, nullptr, nullptr, 0), KVCAST_NOT_FOUND);
  EXPECT_EQ(kvcast_store_wait(engine.store(), 12345, 0, nullptr, nullptr, 0), KVCAST_NOT_FOUND);
}

TEST(CStore, EndsBatchesAtTheirDeadlineOrWhenTheyAreCancelled) {
  NodeScript script;
  script.silent_on_fetch = true;
  ScriptedServer server(script);
  Engine engine(server.flag());
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  EXPECT_EQ(engine.Run(KVCAST_PUT, 0, 2), All(2, KVCAST_ITEM_STORED));
  kvcast_batch get = engine.Batch(KVCAST_GET, 0, 3);
  get.timeout_us = 20'000;
  const Instant begun = Now();
  EXPECT_EQ(engine.Run(get),
            (std::vector<int32_t>{KVCAST_ITEM_LATE, KVCAST_ITEM_LATE, KVCAST_ITEM_ABSENT}));
  EXPECT_GE(Now() - begun, std::chrono::milliseconds(20));

  get.timeout_us = kPatienceUs;
  uint64_t id = 0;
  ASSERT_EQ(kvcast_store_submit(engine.store(), &get, &id), KVCAST_OK);
  EXPECT_EQ(kvcast_store_wait(engine.store(), id, 0, nullptr, nullptr, 0), KVCAST_PENDING);
  EXPECT_EQ(kvcast_store_unregister(engine.store(), engine.region()), KVCAST_INVALID);
  EXPECT_EQ(kvcast_store_cancel(engine.store(), id), KVCAST_OK);
  std::array<int32_t, 3> statuses{};
  EXPECT_EQ(kvcast_store_wait(engine.store(), id, 0, statuses.data(), nullptr, 3), KVCAST_OK);
  EXPECT_EQ(statuses[0], KVCAST_ITEM_CANCELLED);
  EXPECT_EQ(statuses[2], KVCAST_ITEM_ABSENT);
  EXPECT_EQ(kvcast_store_cancel(engine.store(), id), KVCAST_OK);
  EXPECT_EQ(kvcast_store_unregister(engine.store(), engine.region()), KVCAST_OK);
}

// What is called meanwhile ends at once, and then the node is back.
TEST(CStore, FindsItsWayBackToANodeThatWasLost) {
  ScriptedServer server;
  Engine engine(server.flag());
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  EXPECT_EQ(engine.Run(KVCAST_PUT, 0, 2), All(2, KVCAST_ITEM_STORED));
  server.Leave();
  while (kvcast_store_connected(engine.store()) == 1) {
    std::this_thread::yield();
  }
  EXPECT_EQ(engine.Run(KVCAST_GET, 0, 2), All(2, KVCAST_ITEM_LOST));
  EXPECT_EQ(engine.Run(KVCAST_PUT, 0, 2), All(2, KVCAST_ITEM_LOST));
  server.Return();
  std::vector<int32_t> put;
  do {
    put = engine.Run(KVCAST_PUT, 0, 2);
  } while (put == All(2, KVCAST_ITEM_LOST));
  EXPECT_EQ(put, All(2, KVCAST_ITEM_STORED));  // The other one knew nothing of them.
  EXPECT_EQ(kvcast_store_connected(engine.store()), 1);
}

// A batch that a node has, and does not finish.
class OngoingBatch : public testing::Test {
 protected:
  // Each node of the server, with its number; the first one is lost within the batch.
  using Prepare = std::function<void(ScriptedNode&, size_t)>;
  explicit OngoingBatch(Prepare prepare = {}) : prepare_(std::move(prepare)) {}

  void Begin(int32_t kind, size_t count, int64_t timeout_us = kPatienceUs) {
    kvcast_batch batch = engine_.Batch(kind, 0, count);
    batch.timeout_us = timeout_us;
    count_ = count;
    ASSERT_EQ(kvcast_store_submit(engine_.store(), &batch, &batch_), KVCAST_OK) << kvcast_message();
  }
  template <typename Condition>
  void Until(Condition condition) {
    bool is_so = false;
    while (!is_so) {
      server_.WithNode([&](ScriptedNode& node) { is_so = condition(node); });
    }
  }
  std::vector<int32_t> End() {
    std::vector<int32_t> statuses(count_, -100);
    EXPECT_EQ(
        kvcast_store_wait(engine_.store(), batch_, kPatienceUs, statuses.data(), nullptr, count_),
        KVCAST_OK);
    return statuses;
  }
  void Lose() {
    server_.Leave();
    while (kvcast_store_connected(engine_.store()) == 1) {
      std::this_thread::yield();
    }
  }
  // What the node has got, value by value.
  std::map<uint64_t, uint64_t> Got() {
    std::map<uint64_t, uint64_t> bytes;
    server_.WithNode([&](ScriptedNode& node) {
      for (const auto& [track, groups] : node.tracks()) {
        for (const auto& [group, objects] : groups) {
          for (const Object& object : objects) {
            bytes[group] += object.payload.size();
          }
        }
      }
    });
    return bytes;
  }

  Prepare prepare_;
  size_t nodes_ = 0;
  ScriptedServer server_{{}, [this](ScriptedNode& node) {
                           if (prepare_) {
                             prepare_(node, nodes_++);
                           }
                         }};
  Engine engine_{server_.flag()};
  uint64_t batch_ = 0;
  size_t count_ = 0;
};

class OngoingPut : public OngoingBatch {
 protected:
  OngoingPut()
      : OngoingBatch(
            [](ScriptedNode& node, size_t number) { node.script.never_list = number == 0; }) {}
};

TEST_F(OngoingPut, GoesOnWhenANodeIsThere) {
  Begin(KVCAST_PUT, 4);
  Until([](ScriptedNode& node) {
    return !node.tracks().empty() && node.tracks().begin()->second.size() == 4;
  });
  Lose();
  server_.Return();
  EXPECT_EQ(End(), All(4, KVCAST_ITEM_STORED));
  EXPECT_EQ(Got().size(), 4u);
  EXPECT_EQ(engine_.Run(KVCAST_GET, 0, 4), All(4, KVCAST_ITEM_LOADED));
  for (size_t value = 0; value < 4; ++value) {
    EXPECT_TRUE(std::ranges::equal(engine_.Got(value), engine_.Put(value)));
  }
}

TEST_F(OngoingPut, EndsAtItsDeadlineIfNoNodeIsThere) {
  Begin(KVCAST_PUT, 4, /*timeout_us=*/500'000);
  Until([](ScriptedNode& node) { return node.publishes() == 1; });
  Lose();
  EXPECT_EQ(End(), All(4, KVCAST_ITEM_LATE));
}

TEST_F(OngoingPut, IsCancelledWhileItWaitsForANode) {
  Begin(KVCAST_PUT, 4);
  Until([](ScriptedNode& node) { return node.publishes() == 1; });
  Lose();
  EXPECT_EQ(kvcast_store_cancel(engine_.store(), batch_), KVCAST_OK);
  EXPECT_EQ(End(), All(4, KVCAST_ITEM_CANCELLED));
}

// One that gives two values and then nothing more, and one that holds all of them.
class OngoingGet : public OngoingBatch {
 protected:
  static constexpr size_t kGiven = 2;

  OngoingGet()
      : OngoingBatch([this](ScriptedNode& node, size_t number) {
          if (number > 0) {
            node.script.alter = {};
            HoldAll(node);
            return;
          }
          node.script.alter = [](std::vector<moqt::FetchItem>& items) {
            std::erase_if(items, [](const moqt::FetchItem& item) {
              const auto* const object = std::get_if<Object>(&item);
              return object == nullptr || object->location.group >= kGiven;
            });
          };
          node.script.never_end = true;
        }) {}
  void HoldAll(ScriptedNode& node) {
    if (held_) {
      node.Take(held_->first, held_->second);
    }
  }
  // Puts them, and remembers what the node has got of them.
  void Put(size_t count) {
    ASSERT_EQ(engine_.Run(KVCAST_PUT, 0, count), All(count, KVCAST_ITEM_STORED));
    server_.WithNode([&](ScriptedNode& node) { held_.emplace(*node.tracks().begin()); });
  }

  std::optional<std::pair<TrackName, ScriptedNode::Groups>> held_;
};

TEST_F(OngoingGet, GoesOnWithWhatHasNotCome) {
  Put(5);
  Begin(KVCAST_GET, 5);
  Until([](ScriptedNode& node) { return !node.fetches().empty() && node.fetches_have_left(); });
  Lose();
  server_.Return();
  EXPECT_EQ(End(), All(5, KVCAST_ITEM_LOADED));
  for (size_t value = 0; value < 5; ++value) {
    EXPECT_TRUE(std::ranges::equal(engine_.Got(value), engine_.Put(value))) << value;
  }
  server_.WithNode([&](ScriptedNode& node) {
    ASSERT_EQ(node.fetches().size(), 1u);
    EXPECT_EQ(node.fetches()[0].range.first.group, kGiven);
  });
}

TEST_F(OngoingGet, EndsAsLostWhereNoNodeIsThereSoon) {
  Put(5);
  Begin(KVCAST_GET, 5);
  Until([](ScriptedNode& node) { return !node.fetches().empty(); });
  Lose();
  EXPECT_EQ(End().back(), KVCAST_ITEM_LOST);
}

TEST_F(OngoingGet, EndsWhereTheNextNodeHoldsNothing) {
  Put(5);
  Begin(KVCAST_GET, 5);
  Until([](ScriptedNode& node) { return !node.fetches().empty(); });
  held_.reset();
  Lose();
  server_.Return();
  EXPECT_EQ(End().back(), KVCAST_ITEM_ABSENT);
}

TEST(CStore, OpensWithoutANodeIfNobodyIsToWaitForOne) {
  kvcast_node node{};
  node.struct_size = sizeof(node);
  const std::string address = "127.0.0.1:1#" + std::string(64, '0');
  node.address = address.c_str();
  node.patience_ms = -1;
  kvcast_format format{};
  format.struct_size = sizeof(format);
  format.model = "toy";
  format.layout = "x";
  format.layout_bytes = 1;
  format.block_tokens = 16;
  kvcast_store* store = nullptr;
  ASSERT_EQ(kvcast_store_open(&node, &format, &store), KVCAST_OK) << kvcast_message();
  EXPECT_EQ(kvcast_store_connected(store), 0);
  const kvcast_item item = {"key", 3, 0, 0, 0, 0};
  int32_t status = 0;
  kvcast_batch lookup = BatchOf(KVCAST_LOOKUP, std::span(&item, 1));
  EXPECT_EQ(kvcast_store_run(store, &lookup, &status, nullptr), KVCAST_OK);
  EXPECT_EQ(status, KVCAST_ITEM_ABSENT);
  kvcast_store_close(store);
}

// What makes no sense costs the item, or the call, and never the process.
TEST(CStore, TakesNoNumberAtItsWord) {
  ScriptedServer server;
  Engine engine(server.flag());
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  for (const int32_t kind : {KVCAST_PUT, KVCAST_GET}) {
    kvcast_batch batch = engine.Batch(kind, 0, 9);
    std::vector<kvcast_item>& items = engine.items();
    items[1].key_bytes = 0;
    items[2].key_bytes = 1025;
    items[3].region = 77;
    items[4].offset = UINT64_MAX;
    items[5].bytes = UINT64_MAX;
    items[6].offset = UINT64_MAX - kBytes + 1;
    items[7].bytes = 0;
    std::vector<char> key(2000);
    items[2].key = key.data();
    const std::vector<int32_t> statuses = engine.Run(batch);
    EXPECT_GT(statuses[0], 0);
    EXPECT_GT(statuses[8], 0);
    EXPECT_EQ(std::vector(statuses.begin() + 1, statuses.end() - 1), All(7, KVCAST_ITEM_INVALID));
  }
  uint64_t id = 0;
  kvcast_batch batch = engine.Batch(KVCAST_GET, 0, 1);
  const auto submitted = [&](auto change) {
    kvcast_batch changed = batch;
    change(changed);
    return kvcast_store_submit(engine.store(), &changed, &id);
  };
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.struct_size = 8; }), KVCAST_INVALID);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.struct_size = SIZE_MAX; }), KVCAST_INVALID);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.kind = 3; }), KVCAST_UNSUPPORTED);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.kind = -1; }), KVCAST_UNSUPPORTED);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.flags = 2; }), KVCAST_UNSUPPORTED);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.durability = 3; }), KVCAST_UNSUPPORTED);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.count = SIZE_MAX; }), KVCAST_TOO_LARGE);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.items = nullptr; }), KVCAST_INVALID);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.item_size = 8; }), KVCAST_INVALID);
  EXPECT_EQ(submitted([](kvcast_batch& b) { b.salt_bytes = 1; }), KVCAST_INVALID);
  EXPECT_STRNE(kvcast_message(), "");
  EXPECT_EQ(kvcast_store_submit(engine.store(), nullptr, &id), KVCAST_INVALID);
  EXPECT_EQ(kvcast_store_submit(nullptr, &batch, &id), KVCAST_INVALID);
  EXPECT_EQ(kvcast_store_register(engine.store(), nullptr, 1, &batch.flags), KVCAST_INVALID);
  kvcast_store_close(nullptr);
}

TEST(CStore, FindsNothingThatWasLaidOutDifferentlyOrSalted) {
  ScriptedServer server;
  Engine engine(server.flag());
  Engine other(server.flag(), 2, "toy, but the heads come first");
  ASSERT_NE(other.store(), nullptr) << kvcast_message();
  EXPECT_EQ(engine.Run(KVCAST_PUT, 0, 2), All(2, KVCAST_ITEM_STORED));
  EXPECT_EQ(other.Run(KVCAST_LOOKUP, 0, 2), All(2, KVCAST_ITEM_ABSENT));
  kvcast_batch salted = engine.Batch(KVCAST_LOOKUP, 0, 2);
  salted.salt = "x";
  salted.salt_bytes = 1;
  EXPECT_EQ(engine.Run(salted), All(2, KVCAST_ITEM_ABSENT));
  EXPECT_EQ(engine.Run(KVCAST_LOOKUP, 0, 2), All(2, KVCAST_ITEM_HELD));
}

TEST(CStore, NamesBlocksByAllThatStandsBeforeThem) {
  ScriptedServer server;
  Engine engine(server.flag());
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  const std::array<kvcast_bytes, 3> hashes = {{{"a", 1}, {"b", 1}, {"c", 1}}};
  std::array<uint8_t, 96> whole{};
  std::array<uint8_t, 64> rest{};
  ASSERT_EQ(
      kvcast_store_chain(engine.store(), hashes.data(), 3, nullptr, 0, nullptr, 0, whole.data()),
      KVCAST_OK);
  ASSERT_EQ(kvcast_store_chain(engine.store(), hashes.data() + 1, 2, whole.data(), 1, nullptr, 0,
                               rest.data()),
            KVCAST_OK);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + 32));
  kvcast_batch put = engine.Batch(KVCAST_PUT, 0, 3);
  put.flags = KVCAST_KEYS_ARE_NAMES;
  for (size_t i = 0; i < 3; ++i) {
    engine.items()[i].key = whole.data() + 32 * i;
    engine.items()[i].key_bytes = 32;
  }
  EXPECT_EQ(engine.Run(put), All(3, KVCAST_ITEM_STORED));
  engine.items()[1].key_bytes = 31;
  EXPECT_EQ(engine.Run(put),
            (std::vector<int32_t>{KVCAST_ITEM_HELD, KVCAST_ITEM_INVALID, KVCAST_ITEM_HELD}));
}

TEST(CStore, SaysWhyItCannotBeOpened) {
  Engine nowhere("127.0.0.1");
  EXPECT_EQ(nowhere.code(), KVCAST_INVALID);
  EXPECT_NE(std::string(kvcast_message()).find("HOST:PORT"), std::string::npos);
  ScriptedServer server;
  Engine without(server.flag(), 1, "");
  EXPECT_EQ(without.code(), KVCAST_INVALID);
  EXPECT_STREQ(kvcast_code_text(KVCAST_INVALID), "invalid");
  EXPECT_STREQ(kvcast_item_text(KVCAST_ITEM_LATE), "too late");
  EXPECT_STREQ(kvcast_item_text(99), "unknown");
}

// For the thread sanitizer above all.
TEST(CStore, MayBeUsedByManyThreadsAtOnce) {
  ScriptedServer server;
  Engine engine(server.flag());
  ASSERT_NE(engine.store(), nullptr) << kvcast_message();
  std::atomic<size_t> good = 0;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t round = 0; round < 5; ++round) {
        for (size_t i = 0; i < 4; ++i) {
          const std::string key = std::to_string(thread) + "/" + std::to_string(round % 2 + i);
          const size_t at = thread * 4 + i;
          const kvcast_item item = {key.data(), key.size(),  engine.region(),
                                    0,          at * kBytes, kBytes};
          kvcast_batch batch = BatchOf(KVCAST_PUT, std::span(&item, 1));
          int32_t status = 0;
          (void)kvcast_store_run(engine.store(), &batch, &status, nullptr);
          good += status > 0 ? 1u : 0u;
          batch.kind = KVCAST_LOOKUP;
          (void)kvcast_store_run(engine.store(), &batch, &status, nullptr);
          good += status > 0 ? 1u : 0u;
          uint64_t id = 0;
          (void)kvcast_store_submit(engine.store(), &batch, &id);
          (void)kvcast_store_cancel(engine.store(), id);
          (void)kvcast_store_wait(engine.store(), id, kPatienceUs, nullptr, nullptr, 0);
          uint32_t region = 0;
          std::array<std::byte, 8> small{};
          (void)kvcast_store_register(engine.store(), small.data(), small.size(), &region);
          (void)kvcast_store_unregister(engine.store(), region);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(good, 4u * 5 * 4 * 2);
}

TEST(CodecThreads, AreAsManyAsIsSaidBeforeThereAreAny) {
  kvcast_set_codec_threads(3);
  const std::shared_ptr<WorkerTeam> team = WorkerTeam::OfProcess();
  EXPECT_EQ(team->size(), 3u);
  kvcast_set_codec_threads(0);
  EXPECT_EQ(WorkerTeam::OfProcess()->size(), 3u);
}

}  // namespace
}  // namespace kvcast
