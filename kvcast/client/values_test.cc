// An engine's own bytes, under names of its own, into a node and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/client/client_pair_test.h"
#include "kvcast/kv/value_format.h"
#include "kvcast/kv/value_piece.h"

namespace kvcast {
namespace {

using std::chrono::seconds;
using Items = std::vector<moqt::FetchItem>;
using Outcomes = std::vector<ValueOutcome>;

constexpr size_t kValues = 5;
constexpr ValueOutcome kLoaded = ValueOutcome::kLoaded;
constexpr ValueOutcome kStored = ValueOutcome::kStored;
constexpr ValueOutcome kHeld = ValueOutcome::kHeld;
constexpr ValueOutcome kAbsent = ValueOutcome::kAbsent;
constexpr ValueOutcome kDamaged = ValueOutcome::kDamaged;

BlockHash NameOf(size_t value) { return Sha256::Of("value " + std::to_string(value)); }

class Values : public testing::Test {
 protected:
  Values() {
    Random random(7);
    for (size_t i = 0; i < kValues; ++i) {
      // The third has three pieces.
      source_.emplace_back(i == 2 ? 2 * ValuePiece::kBodyMax + 5 : 1000 + i);
      random.Fill(source_.back());
      target_.emplace_back(source_.back().size());
    }
  }

  std::optional<Outcomes> End(ClientPair& pair, OperationId operation) {
    for (const ClientEvent& event : pair.events()) {
      if (const auto* ended = std::get_if<ValuesEnded>(&event);
          ended != nullptr && ended->operation == operation) {
        return ended->outcomes;
      }
    }
    return std::nullopt;
  }
  OperationId BeginPut(ClientPair& pair, const std::vector<size_t>& values,
                       Client::PutTerms terms = {}) {
    std::vector<ValueSource> sources;
    for (const size_t value : values) {
      sources.push_back({NameOf(value), source_[value]});
    }
    terms.generation = {std::byte{++generation_}};
    return pair.client().PutValues(sources, terms, pair.now());
  }
  OperationId BeginGet(ClientPair& pair, const std::vector<size_t>& values,
                       Duration patience = seconds(10)) {
    std::vector<ValuePlace> places;
    for (const size_t value : values) {
      places.push_back({NameOf(value), target_[value]});
    }
    return pair.client().GetValues(places, pair.now() + patience, pair.now());
  }
  Outcomes Put(ClientPair& pair, const std::vector<size_t>& values) {
    const OperationId put = BeginPut(pair, values);
    pair.Run();
    return End(pair, put).value_or(Outcomes());
  }
  Outcomes Get(ClientPair& pair, const std::vector<size_t>& values) {
    const OperationId get = BeginGet(pair, values);
    pair.Run();
    return End(pair, get).value_or(Outcomes());
  }
  TrackName TrackAt(ClientPair& pair) { return pair.node().tracks().begin()->first; }

  uint8_t generation_ = 0;
  std::vector<std::vector<std::byte>> source_;
  std::vector<std::vector<std::byte>> target_;
};

TEST_F(Values, ComeBackAsTheyWerePut) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed < 5 ? 4099 : 1 << 20;
    ClientPair pair(options);
    EXPECT_EQ(Put(pair, {0, 1, 2, 3, 4}), Outcomes(kValues, kStored));
    for (auto& target : target_) {
      std::ranges::fill(target, std::byte{0});
    }
    EXPECT_EQ(Get(pair, {4, 2, 0, 1, 3}), Outcomes(kValues, kLoaded));
    EXPECT_EQ(target_, source_);
  }
}

// What goes over the wire is the contract: a track, a group a value, its pieces as objects.
TEST_F(Values, AreTracksAsTheContractHasThem) {
  ClientPair pair;
  (void)Put(pair, {2, 0});
  ASSERT_EQ(pair.node().tracks().size(), 1u);
  const auto& [track, groups] = *pair.node().tracks().begin();
  EXPECT_EQ(track, TrackNameOf(TestKind().scope(), NameOf(0), {std::byte{1}}, kValueTrackName));
  EXPECT_EQ(track.name(), "Opaque");
  ASSERT_EQ(groups.size(), 2u);
  ASSERT_EQ(groups.at(0).size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(groups.at(0)[i].payload, ValuePiece::Make(NameOf(2), source_[2], i));
    EXPECT_EQ(*BlockHashIn(groups.at(0)[i].properties),
              i == 0 ? std::optional(NameOf(2)) : std::nullopt);
  }
  EXPECT_EQ(groups.at(1).size(), 1u);
}

TEST_F(Values, AreFoundWithoutAsking) {
  ClientPair pair;
  (void)Put(pair, {0, 2});
  const std::vector<BlockHash> names = {NameOf(0), NameOf(1), NameOf(2)};
  EXPECT_EQ(pair.client().FindValues(names),
            (std::vector<std::optional<uint64_t>>{source_[0].size(), {}, source_[2].size()}));
  EXPECT_TRUE(pair.node().fetches().empty());
}

TEST_F(Values, AreSentOnceHoweverOftenTheyArePut) {
  ClientPair pair;
  EXPECT_EQ(Put(pair, {0, 1, 0}), (Outcomes{kStored, kStored, kStored}));
  EXPECT_EQ(Put(pair, {1, 3, 0}), (Outcomes{kHeld, kStored, kHeld}));
  EXPECT_EQ(pair.node().publishes(), 2u);
  EXPECT_EQ(Put(pair, {1, 3}), (Outcomes{kHeld, kHeld}));
  EXPECT_EQ(pair.node().publishes(), 2u);
  EXPECT_EQ(Put(pair, {}), Outcomes());
}

TEST_F(Values, ThatLieSideBySideComeWithOneFetch) {
  ClientPair pair;
  (void)Put(pair, {0, 1, 2, 3, 4});
  EXPECT_EQ(Get(pair, {1, 2, 3}), Outcomes(3, kLoaded));
  EXPECT_EQ(pair.node().fetches().size(), 1u);
  EXPECT_EQ(Get(pair, {0, 2, 4, 4}), Outcomes(4, kLoaded));
  EXPECT_EQ(target_, source_);
}

TEST_F(Values, ThatAreMissingOrDamagedCostNoOther) {
  ClientPair pair;
  (void)Put(pair, {0, 1, 2, 4});
  pair.node().Evict(TrackAt(pair), 1, /*unlist=*/false);
  pair.node().script.alter = [](Items& items) {
    for (moqt::FetchItem& item : items) {
      auto* object = std::get_if<Object>(&item);
      if (object != nullptr && object->location == Location{2, 1}) {
        std::vector<std::byte> bytes(object->payload.size());
        object->payload.CopyTo(bytes);
        bytes[5000] ^= std::byte{1};
        object->payload = Bytes::Copy(bytes);
      }
    }
  };
  EXPECT_EQ(Get(pair, {0, 1, 2, 3, 4}), (Outcomes{kLoaded, kAbsent, kDamaged, kAbsent, kLoaded}));
  EXPECT_EQ(target_[0], source_[0]);
  EXPECT_EQ(target_[4], source_[4]);
  // Not a byte of the piece that was damaged.
  EXPECT_TRUE(std::ranges::all_of(std::span(target_[2]).subspan(ValuePiece::kBodyMax),
                                  [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(Values, OfOneKeyAreNotTakenForThoseOfAnother) {
  ClientPair pair;
  (void)Put(pair, {0, 1});
  pair.node().script.alter = [](Items& items) {
    for (moqt::FetchItem& item : items) {
      if (auto* object = std::get_if<Object>(&item)) {
        object->properties = BlockHashProperties(NameOf(1));
      }
    }
  };
  EXPECT_EQ(Get(pair, {0, 1}), (Outcomes{kDamaged, kLoaded}));
}

TEST_F(Values, OfAnotherSizeThanTheirPlaceAreNotLoaded) {
  ClientPair pair;
  (void)Put(pair, {0, 1, 2});
  target_[0].resize(1);
  target_[1].resize(10'000'000);
  EXPECT_EQ(Get(pair, {0, 1, 2}),
            (Outcomes{ValueOutcome::kOtherSize, ValueOutcome::kOtherSize, kLoaded}));
  EXPECT_EQ(target_[0], std::vector<std::byte>(1));
}

// Two engines have put the same, neither knowing of the other: what one has lost the other may
// have.
TEST_F(Values, AreAskedOfAnotherTrackWhereOneCouldNotGiveThem) {
  ClientPair pair;
  (void)BeginPut(pair, {0, 1});
  (void)BeginPut(pair, {1, 0});
  pair.Run();
  ASSERT_EQ(pair.node().tracks().size(), 2u);
  for (const auto& [track, groups] : std::map(pair.node().tracks())) {
    const bool is_first = track == pair.node().tracks().begin()->first;
    pair.node().Evict(track, is_first ? 0 : 1, /*unlist=*/false);
  }
  EXPECT_EQ(Get(pair, {0, 1, 2}).at(2), kAbsent);
  EXPECT_LE(pair.node().fetches().size(), 4u);
}

TEST_F(Values, EndAtTheirDeadline) {
  ClientPair pair;
  (void)Put(pair, {0, 1});
  pair.node().script.silent_on_fetch = true;
  pair.node().script.silent_on_publish = true;
  const OperationId get = BeginGet(pair, {0, 1, 3}, seconds(2));
  const OperationId put =
      BeginPut(pair, {0, 3}, {{}, Durability::kMemory, pair.now() + seconds(2)});
  pair.Pass(seconds(1));
  EXPECT_FALSE(End(pair, get).has_value());
  EXPECT_FALSE(End(pair, put).has_value());
  pair.Pass(seconds(1));
  EXPECT_EQ(End(pair, get), (Outcomes{ValueOutcome::kTooLate, ValueOutcome::kTooLate, kAbsent}));
  EXPECT_EQ(End(pair, put), (Outcomes{kHeld, ValueOutcome::kTooLate}));
}

// Also while nobody knows yet what the node holds.
TEST_F(Values, EndAtTheirDeadlineBeforeTheyBegan) {
  NodeScript script;
  script.silent_on_tracks = true;
  ClientPair pair({}, script);
  const OperationId get = BeginGet(pair, {0}, Duration(1));
  const OperationId put = BeginPut(pair, {0}, {{}, Durability::kMemory, pair.now() + Duration(1)});
  pair.Pass(std::chrono::milliseconds(1));
  EXPECT_EQ(End(pair, get), Outcomes{ValueOutcome::kTooLate});
  EXPECT_EQ(End(pair, put), Outcomes{ValueOutcome::kTooLate});
}

TEST_F(Values, CanBeCancelled) {
  ClientPair pair;
  (void)Put(pair, {0});
  pair.node().script.silent_on_fetch = true;
  pair.node().script.silent_on_publish = true;
  const OperationId get = BeginGet(pair, {0});
  const OperationId put = BeginPut(pair, {1});
  pair.Run();
  pair.client().Cancel(get, pair.now());
  pair.client().Cancel(put, pair.now());
  EXPECT_EQ(End(pair, get), Outcomes{ValueOutcome::kCancelled});
  EXPECT_EQ(End(pair, put), Outcomes{ValueOutcome::kCancelled});
}

TEST_F(Values, AreLostWithTheirNode) {
  ClientPair pair;
  (void)Put(pair, {0});
  pair.node().script.silent_on_fetch = true;
  const OperationId get = BeginGet(pair, {0});
  const OperationId put = BeginPut(pair, {1});
  pair.pair().server().Close(moqt::SessionCode::kInternalError, "broken");
  pair.Run();
  EXPECT_EQ(End(pair, get), Outcomes{ValueOutcome::kNodeLost});
  EXPECT_EQ(End(pair, put), Outcomes{ValueOutcome::kNodeLost});
  EXPECT_EQ(Get(pair, {0}), Outcomes{ValueOutcome::kNodeLost});
  EXPECT_EQ(Put(pair, {0}), Outcomes{ValueOutcome::kNodeLost});
}

TEST_F(Values, ThatANodeWillNotGiveOrTakeAreRefused) {
  ClientPair pair;
  (void)Put(pair, {0});
  pair.node().script.refuse_fetch = true;
  pair.node().script.refuse_publish = true;
  EXPECT_EQ(Get(pair, {0, 1}), (Outcomes{ValueOutcome::kRefused, kAbsent}));
  EXPECT_EQ(Put(pair, {0, 1}), (Outcomes{kHeld, ValueOutcome::kRefused}));
}

// Caches of the same model are none of a store's business, whatever their blocks are called.
TEST_F(Values, AreNotTakenFromCaches) {
  ClientPair pair;
  const EngineMemory memory(kBlocks, 1);
  const std::vector<BlockHash> blocks = TestBlocks(kBlocks);
  (void)pair.Publish(memory, blocks);
  pair.Run();
  EXPECT_EQ(pair.client().Find(blocks).block_count(), kBlocks);
  EXPECT_EQ(pair.client().FindValues(blocks),
            std::vector<std::optional<uint64_t>>(kBlocks, std::nullopt));
}

}  // namespace
}  // namespace kvcast
