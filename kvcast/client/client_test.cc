#include "kvcast/client/client.h"

#include <gtest/gtest.h>

#include "kvcast/client/client_pair_test.h"

namespace kvcast {
namespace {

using std::chrono::seconds;
using Items = std::vector<moqt::FetchItem>;

TEST(Client, PublishesFindsAndLoadsOverOneSession) {
  const std::vector<BlockHash> blocks = TestBlocks(5);
  const EngineMemory source(5, 1);
  EngineMemory target(5, 2);
  ClientPair pair;
  const OperationId publish = pair.Publish(source, blocks);
  pair.Run();
  ASSERT_TRUE(pair.Published(publish).has_value());
  // Another prompt that begins alike.
  const std::vector<BlockHash> other = TestBlocks(5, /*family=*/3, /*shared=*/4);
  EXPECT_EQ(pair.client().Find(other).block_count(), 4u);
  const OperationId load = pair.Load(target, other);
  pair.Run();
  EXPECT_EQ(pair.Loaded(load)->loaded(), 4u);
  EXPECT_EQ(target.Block(3), source.Block(3));
  EXPECT_EQ(target.Block(4), EngineMemory(5, 2).Block(4));
}

// The node's word is only taken where it is bound to what was asked for, so all of this must be
// noticed, or be harmless. What cannot be noticed without a seal (a wrong token with a right check
// sum under a right key) is left out.
void Spoil(Items& items, Random& random, const std::vector<BlockHash>& foreign) {
  if (items.empty()) {
    return;
  }
  const size_t at = random.Below(items.size());
  Object* object = std::get_if<Object>(&items[at]);
  switch (random.Below(9)) {
    case 0:
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      items.resize(at);
      break;
    case 2:
      items[at] = moqt::RangeEnd{object ? object->location : Location{0, 9}, random.Happens(0.5)};
      break;
    case 3:
      if (object) {
        std::string text = object->payload.ToString();
        char& spoilt = text[random.Below(text.size())];
        spoilt = static_cast<char>(spoilt ^ static_cast<char>(1 + random.Below(255)));
        object->payload = Bytes::Of(text);
      }
      break;
    case 4:
      if (object) {
        object->payload = object->payload.Slice(0, random.Below(object->payload.size()));
      }
      break;
    case 5:
      if (object) {
        object->payload.Append(Bytes::Of("x"));
      }
      break;
    case 6:
      if (object && object->location.object == 0) {
        object->properties = BlockHashProperties(foreign[random.Below(foreign.size())]);
      }
      break;
    case 7:
      if (object && object->location.object == 0) {
        object->properties = Properties();
      }
      break;
    default:
      if (object) {
        object->location.object += kTestBlockTokens;  // Beyond the block.
        items.resize(at + 1);
      }
      break;
  }
}

// One life of a client under a seed: engines that publish and load prompts which begin alike, a
// node that does everything wrong now and then, and callers that give up. Whatever happens, every
// operation ends, what is said to be loaded is what was published, and of the rest no token is
// anything but right or untouched.
class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), foreign_(TestBlocks(kBlocks, 99)), pair_(Options(seed)) {
    for (uint64_t family = 0; family < 3; ++family) {
      prompts_.push_back(TestBlocks(kBlocks, family, kShared));
    }
  }

  void Play() {
    for (size_t step = 0; step < 12; ++step) {
      DrawScript();
      const size_t prompt = random_.Below(prompts_.size());
      if (random_.Happens(0.4)) {
        (void)pair_.Publish(source_, prompts_[prompt], static_cast<uint8_t>(step + 1));
      } else {
        StartLoad(prompt);
      }
      for (size_t moves = random_.Below(200); moves-- > 0 && pair_.pair().Step();) {
        pair_.node().OnInput();
        pair_.client().OnInput(pair_.now());
      }
      if (random_.Happens(0.15)) {
        pair_.client().Cancel(1 + random_.Below(step + 1), pair_.now());
      }
      if (random_.Happens(0.05)) {
        pair_.pair().server().Close(moqt::SessionCode::kInternalError, "by chance");
      }
      if (random_.Happens(0.3)) {
        pair_.Pass(seconds(random_.Below(8)));
      }
    }
    pair_.node().script.alter_catalog = nullptr;
    pair_.Pass(std::chrono::minutes(2));
    CheckEverything();
  }

 private:
  static constexpr size_t kShared = 3;

  struct Target {
    OperationId load;
    std::unique_ptr<EngineMemory> memory;
  };

  static moqt::SessionPair::Options Options(uint64_t seed) {
    moqt::SessionPair::Options options;
    options.seed = seed;
    options.cut_max = seed % 3 == 0 ? 30 : 1 << 20;
    options.limits.send_queue_high_bytes = seed % 2 == 0 ? 500 : 1 << 20;
    options.limits.send_queue_low_bytes = 100;
    return options;
  }

  void DrawScript() {
    NodeScript script;
    script.refuse_publish = random_.Happens(0.1);
    script.silent_on_publish = random_.Happens(0.05);
    script.give_up_publish = random_.Happens(0.05);
    script.refuse_fetch = random_.Happens(0.1);
    script.silent_on_fetch = random_.Happens(0.05);
    script.never_end = random_.Happens(0.1);
    if (random_.Happens(0.1)) {
      script.reset_after = random_.Below(20);
      script.reset_at_once = random_.Happens(0.5);
    }
    if (random_.Happens(0.5)) {
      script.alter = [this](Items& items) { Spoil(items, random_, foreign_); };
    }
    if (random_.Happens(0.1)) {
      script.alter_catalog = [](Object& object) { object.payload = Bytes::Of("nonsense"); };
    }
    pair_.node().script = std::move(script);
  }

  void StartLoad(size_t prompt) {
    auto memory = std::make_unique<EngineMemory>(kBlocks, kTargetSeed);
    const OperationId load = pair_.Load(*memory, prompts_[prompt]);
    targets_.push_back({load, std::move(memory)});
  }

  // All prompts were published from one memory: equal names mean equal bytes there too.
  void CheckEverything() {
    const EngineMemory untouched(kBlocks, kTargetSeed);
    for (const Target& target : targets_) {
      const std::optional<LoadReport> report = pair_.Loaded(target.load);
      ASSERT_TRUE(report.has_value()) << "a load that never ended";
      for (size_t block = 0; block < kBlocks; ++block) {
        const bool loaded = block < report->loaded();
        for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
          const std::string is = target.memory->Token(block, token);
          const bool right = is == source_.Token(block, token);
          ASSERT_TRUE(right || (!loaded && is == untouched.Token(block, token)))
              << "block " << block << " token " << token << (loaded ? " is said loaded" : "");
        }
      }
      for (size_t i = 0; i < report->outcomes.size(); ++i) {
        ASSERT_EQ(report->outcomes[i] == BlockOutcome::kLoaded, i < report->loaded());
      }
      loaded_ += report->loaded();
    }
    ASSERT_FALSE(pair_.client().deadline().has_value()) << "something still waits";
  }

 public:
  size_t loaded() const { return loaded_; }

 private:
  static constexpr uint64_t kTargetSeed = 77;

  Random random_;
  const std::vector<BlockHash> foreign_;
  std::vector<std::vector<BlockHash>> prompts_;
  const EngineMemory source_{kBlocks, 1};
  std::vector<Target> targets_;
  ClientPair pair_;
  size_t loaded_ = 0;
};

TEST(Client, IsNeverFooledAndAlwaysEnds) {
  size_t loaded = 0;
  for (uint64_t seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    world.Play();
    loaded += world.loaded();
  }
  EXPECT_GT(loaded, 1000u) << "too little was loaded for this to mean anything";
}

}  // namespace
}  // namespace kvcast
