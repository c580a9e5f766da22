// kvcast ls, stat, watch and warm: what nodes hold, as whoever asks sees it.
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "kvcast/base/json.h"
#include "kvcast/engine/value_store.h"
#include "kvcast/host/cache_commands_test.h"
#include "kvcast/io/clock.h"
#include "kvcast/kv/value_piece.h"

namespace kvcast {
namespace {

class WhatNodesHold : public CacheCommands {
 protected:
  CommandOutcome Ask(std::vector<std::string> words) {
    words.insert(words.end(), {"--node", node_.flag()});
    std::vector<const char*> pointers;
    for (const std::string& word : words) {
      pointers.push_back(word.c_str());
    }
    return RunKvcast(pointers);
  }
  void Put(const std::string& prompt = "a.tokens") {
    const CommandOutcome put =
        RunWords({"put", Path(prompt), Path("a.safetensors")}, {"--rung", "BF16"});
    ASSERT_EQ(put.status, 0) << put.err;
  }
  std::string Model() { return (*ParseJson(Ask({"ls", "--json"}).out))[0]["model"]; }
};

TEST_F(WhatNodesHold, NothingIsListedWhereNothingIs) {
  const CommandOutcome all = Ask({"ls"});
  EXPECT_EQ(all.status, 1);
  EXPECT_EQ(all.err, "");
  EXPECT_EQ((*ParseJson(Ask({"ls", "--json"}).out)).size(), 0u);
}

TEST_F(WhatNodesHold, ModelsAreListedAndThenTheirPrefixes) {
  Put();
  Write("b.tokens", TokenList(kTokens, 8));  // Its first blocks are a's.
  Put("b.tokens");
  const CommandOutcome all = Ask({"ls", "--json"});
  ASSERT_EQ(all.status, 0) << all.err;
  const Json models = *ParseJson(all.out);
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["prefixes"], 2);
  EXPECT_EQ(models[0]["blocks"], 9);
  EXPECT_EQ(models[0]["rungs"], Json::array({"BF16"}));
  EXPECT_EQ(models[0]["nodes"], 1);
  const std::string model = models[0]["model"];

  const CommandOutcome one = Ask({"ls", model, "--json"});
  ASSERT_EQ(one.status, 0) << one.err;
  const Json caches = *ParseJson(one.out);
  ASSERT_EQ(caches.size(), 2u);
  uint64_t bytes = 0;
  std::set<std::string> groups;
  for (const Json& cache : caches) {
    bytes += cache["bytes"].get<uint64_t>();
    groups.insert(cache["groups"]);
  }
  EXPECT_EQ(models[0]["bytes"], bytes);
  EXPECT_EQ(groups, (std::set<std::string>{"0-6", "5-6"}));

  const CommandOutcome text = Ask({"ls"});
  EXPECT_NE(text.out.find(model), std::string::npos) << text.out;
  EXPECT_NE(Ask({"ls", model}).out.find("BF16"), std::string::npos);
}

TEST_F(WhatNodesHold, APrefixIsKnownByItsFirstDigits) {
  Put();
  const std::string model = Model();
  const std::string prefix = (*ParseJson(Ask({"ls", model, "--json"}).out))[0]["prefix"];
  const CommandOutcome stat = Ask({"stat", model, prefix.substr(0, 6), "--json"});
  ASSERT_EQ(stat.status, 0) << stat.err;
  const Json told = *ParseJson(stat.out);
  EXPECT_EQ(told["prefix"], prefix);
  ASSERT_EQ(told["blocks"].size(), 7u);
  EXPECT_EQ(told["blocks"][6]["key"], prefix);  // A prefix goes by the hash of its last block.
  EXPECT_EQ(told["blocks"][0]["places"][0]["rung"], "BF16");
  EXPECT_NE(Ask({"stat", model, prefix}).out.find(prefix), std::string::npos);

  std::string other = prefix;
  other[0] = other[0] == '0' ? '1' : '0';
  const CommandOutcome missing = Ask({"stat", model, other});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.err.find("Nobody holds a prefix"), std::string::npos) << missing.err;
  EXPECT_EQ(Ask({"stat", model, "XY"}).status, 2);
}

TEST_F(WhatNodesHold, SeveralPrefixesThatBeginAlikeAreNotGuessedAt) {
  Put();
  Write("b.tokens", TokenList(kTokens, 30));
  Put("b.tokens");
  for (const char* const digit :
       {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"}) {
    const CommandOutcome stat = Ask({"stat", Model(), digit});
    EXPECT_TRUE(stat.status == 0 || stat.err.find("Nobody holds") != std::string::npos ||
                stat.err.find("give more digits") != std::string::npos)
        << stat.err;
  }
}

TEST_F(WhatNodesHold, WhatIsHeldAlreadyIsToldFirstIfThatIsWanted) {
  Put();
  const CommandOutcome all = Ask({"watch", "--all", "--count", "7", "--json"});
  ASSERT_EQ(all.status, 0) << all.err;
  std::istringstream lines(all.out);
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const Json event = *ParseJson(line);
    EXPECT_EQ(event["event"], "added");
    EXPECT_EQ(event["rung"], "BF16");
  }
  EXPECT_EQ(count, 7u);
}

// An engine that has keys of its own, and has put values of these sizes under them.
class WhatEnginesKeepInNodes : public WhatNodesHold {
 protected:
  void PutValues(const std::vector<size_t>& sizes) {
    ValueStore::Options options;
    options.addresses = {node_.address()};
    options.format = {"someone-elses", "bytes", 16};
    const auto store = *ValueStore::Open(options);
    std::vector<std::byte> memory(std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
    const RegionId region = *store->Register(memory);
    std::vector<std::string> keys;
    for (size_t i = 0; i < sizes.size(); ++i) {
      keys.push_back("key " + std::to_string(i));
    }
    std::vector<ValueItem> items;
    uint64_t offset = 0;
    for (size_t i = 0; i < sizes.size(); offset += sizes[i++]) {
      items.push_back({AsBytes(keys[i]), region, offset, sizes[i]});
    }
    const ValueBatch batch{ValueBatch::Kind::kPut, items, Now() + std::chrono::seconds(30)};
    const auto results = *store->Wait(*store->Submit(batch), Instant::max());
    ASSERT_TRUE(results.has_value());
    for (const ValueResult& result : *results) {
      ASSERT_EQ(result.outcome, ValueOutcome::kStored);
    }
  }
};

TEST_F(WhatEnginesKeepInNodes, ValuesAreListedByModelWithTheirSizes) {
  PutValues({100'000, 40});
  const CommandOutcome all = Ask({"ls", "--json"});
  ASSERT_EQ(all.status, 0) << all.err;
  const Json models = *ParseJson(all.out);
  ASSERT_EQ(models.size(), 1u);
  EXPECT_EQ(models[0]["values"], 2);
  EXPECT_EQ(models[0]["prefixes"], 0);
  EXPECT_EQ(models[0]["blocks"], 0);
  EXPECT_EQ(models[0]["rungs"], Json::array());
  const std::string model = models[0]["model"];
  EXPECT_TRUE(model.starts_with("public/someone-elses@")) << model;

  const Json values = *ParseJson(Ask({"ls", model, "--json"}).out);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(ValuePiece::LengthOf(values[0]["bytes"]), 100'000u);
  EXPECT_EQ(ValuePiece::LengthOf(values[1]["bytes"]), 40u);
  EXPECT_EQ(models[0]["bytes"],
            values[0]["bytes"].get<uint64_t>() + values[1]["bytes"].get<uint64_t>());
  EXPECT_NE(Ask({"ls"}).out.find(model), std::string::npos);
  EXPECT_NE(Ask({"ls", model}).out.find("97.7 KiB"), std::string::npos);
}

TEST_F(WhatEnginesKeepInNodes, AValueIsKnownByItsFirstDigits) {
  PutValues({100'000, 40});
  const std::string model = Model();
  const std::string name = (*ParseJson(Ask({"ls", model, "--json"}).out))[1]["value"];
  const CommandOutcome stat = Ask({"stat", model, name.substr(0, 12), "--json"});
  ASSERT_EQ(stat.status, 0) << stat.err;
  const Json told = *ParseJson(stat.out);
  EXPECT_EQ(told["value"], name);
  ASSERT_EQ(told["places"].size(), 1u);
  EXPECT_EQ(ValuePiece::LengthOf(told["places"][0]["bytes"]), 40u);
  EXPECT_NE(Ask({"stat", model, name}).out.find(name), std::string::npos);
}

TEST_F(WhatEnginesKeepInNodes, AValueThatComesIsToldAsOne) {
  PutValues({40});
  const CommandOutcome lines = Ask({"watch", "--all", "--count", "1", "--json"});
  const Json event = *ParseJson(lines.out);
  EXPECT_EQ(event["value"], event["key"]);
  EXPECT_EQ(event["model"], Model());
  const CommandOutcome text = Ask({"watch", "--all", "--count", "1"});
  EXPECT_NE(text.out.find(" value "), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("Opaque"), std::string::npos) << text.out;
}

TEST_F(WhatNodesHold, AModelIsWrittenAsItIsListed) {
  const CommandOutcome odd = Ask({"ls", "tinylm"});
  EXPECT_EQ(odd.status, 1);
  EXPECT_NE(odd.err.find("TENANT/NAME@16-HEX-DIGITS"), std::string::npos) << odd.err;
}

TEST_F(WhatNodesHold, ACacheIsBroughtNearWithoutBeingLoaded) {
  Put();
  const CommandOutcome warm = RunWords({"warm", Path("a.tokens")}, {"--json"});
  ASSERT_EQ(warm.status, 0) << warm.err;
  const Json told = *ParseJson(warm.out);
  EXPECT_EQ(told["blocks"], 7);
  EXPECT_EQ(told["missing"], 0);
  EXPECT_GT(told["bytes"], 7 * 4 * 2 * 2 * 2 * 8 * 2);
  const CommandOutcome text = RunWords({"warm", Path("a.tokens")}, {"--rung", "BF16"});
  EXPECT_NE(text.out.find("warmed   7 of 7 blocks"), std::string::npos) << text.out;
  Write("c.tokens", TokenList(kTokens, 30));
  EXPECT_EQ(RunWords({"warm", Path("c.tokens")}, {}).status, 1);
}

}  // namespace
}  // namespace kvcast
