#include "kvcast/host/config_file.h"

#include <gtest/gtest.h>

#include <set>

#include "kvcast/base/source_folder_test.h"
#include "kvcast/host/config_key.h"
#include "kvcast/host/config_text.h"
#include "kvcast/host/upstream_flags.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

NodeConfig Taken(std::string_view text) {
  NodeConfig config;
  const Result<void> taken = TakeConfigText(text, "node.toml", config);
  EXPECT_TRUE(taken.ok()) << taken.error().ToString();
  return config;
}

std::string RefusalOf(std::string_view text) {
  NodeConfig config;
  const Result<void> taken = TakeConfigText(text, "node.toml", config);
  EXPECT_FALSE(taken.ok()) << text;
  return taken.ok() ? "" : taken.error().message();
}

TEST(ConfigFile, SetsWhatItSaysAndLeavesTheRest) {
  const NodeConfig config = Taken(R"(
[listen]
address = "127.0.0.1:9"
[memory]
ram = "512MiB"
prefault = false
[limits]
published_max = 7
fetch_queue_bytes = 1048576
answer_patience = "250ms"
[limits.session]
object_bytes_max = "1MiB"
)");
  EXPECT_EQ(config.listen, "127.0.0.1:9");
  EXPECT_EQ(config.ram, "512MiB");
  EXPECT_FALSE(config.prefault);
  EXPECT_EQ(config.relay.published_max, 7U);
  EXPECT_EQ(config.relay.fetch_queue_bytes, size_t{1} << 20);
  EXPECT_EQ(config.relay.answer_patience, std::chrono::milliseconds(250));
  EXPECT_EQ(config.session.object_bytes_max, uint64_t{1} << 20);
  EXPECT_EQ(config.session.requests_max, NodeConfig().session.requests_max);
  EXPECT_EQ(config.origins.at("memory.ram"), "node.toml:5");
  EXPECT_EQ(config.Naming("memory", "ram"), "node.toml:5: memory.ram");
  EXPECT_EQ(config.Naming("tls", "certificate"), "--cert");
}

TEST(ConfigFile, ListsDisksBucketsAndReservations) {
  const NodeConfig config = Taken(R"(
[[disk]]
directory = "/a,b"
bytes = "1GiB"
[[disk]]
directory = "/c"
[[bucket]]
url = "s3://caches/prod"
endpoint = "https://s3.example.org"
[reserve.memory]
acme = "1GiB"
[reserve.disk]
acme = 5
)");
  ASSERT_EQ(config.disks.size(), 2U);
  EXPECT_EQ(config.disks[0].where, "/a,b");
  EXPECT_EQ(config.disks[0].words,
            (std::vector<std::pair<std::string, std::string>>{{"bytes", "1GiB"}}));
  EXPECT_EQ(config.disks[1].origin, "node.toml:5");
  ASSERT_EQ(config.buckets.size(), 1U);
  EXPECT_EQ(config.buckets[0].where, "s3://caches/prod");
  ASSERT_EQ(config.reservations.size(), 1U);
  EXPECT_EQ(config.reservations[0].tenant, "acme");
  EXPECT_EQ(config.disk_reservations[0].bytes, "5");
}

// Whoever mistypes a key would otherwise run with a default and believe that it is theirs.
TEST(ConfigFile, RefusesKeysThatThereAreNotAndSaysWhichWasMeant) {
  EXPECT_EQ(RefusalOf("[memory]\nrma = \"1GiB\"\n"),
            "node.toml:2: There is no 'rma' in [memory]. Did you mean 'ram'? 'kvcast config' "
            "prints every key.");
  EXPECT_EQ(RefusalOf("[memroy]\nram = \"1GiB\"\n"),
            "node.toml:1: There is no 'memroy' in a configuration. Did you mean 'memory'? 'kvcast "
            "config' prints every key.");
  EXPECT_NE(RefusalOf("ram = \"1GiB\"\n").find("It is a key of [memory]."), std::string::npos);
  EXPECT_NE(RefusalOf("[[disk]]\ndirectory = \"a\"\nbites = \"1GiB\"\n")
                .find("node.toml:3: There is no 'bites' in [disk]. Did you mean 'bytes'?"),
            std::string::npos);
  EXPECT_NE(RefusalOf("[limits.sesion]\n").find("Did you mean 'session'?"), std::string::npos);
}

TEST(ConfigFile, RefusesValuesOfAnotherKindAndSaysWhatWouldBeRight) {
  EXPECT_EQ(RefusalOf("[memory]\n\nprefault = \"yes\"\n"),
            "node.toml:3: memory.prefault: It is a text, and true or false is wanted");
  EXPECT_EQ(RefusalOf("[stop]\ndrain = 2\n"),
            "node.toml:2: stop.drain: It is a whole number, and a time such as \"2s\" is wanted");
  EXPECT_EQ(RefusalOf("[quic]\ncongestion = \"reno\"\n"),
            "node.toml:2: quic.congestion: \"reno\" is none of auto|cubic|bbr; a text, "
            "auto|cubic|bbr is wanted");
  EXPECT_NE(RefusalOf("[memory]\nram = \"4GB\"\n").find("as in 4GiB"), std::string::npos);
  EXPECT_NE(RefusalOf("[limits]\npublished_max = 0\n").find("It has to be from 1 to 4294967296"),
            std::string::npos);
  EXPECT_NE(RefusalOf("[limits]\npublished_max = -1\n").find("not a whole number"),
            std::string::npos);
  EXPECT_NE(RefusalOf("[stop]\ndrain = \"2h\"\n").find("from 0s to 1h"), std::string::npos);
  EXPECT_NE(RefusalOf("[disk]\ndirectory = \"a\"\n").find("[[disk]]"), std::string::npos);
  EXPECT_NE(RefusalOf("memory = 5\n").find("[memory]"), std::string::npos);
  EXPECT_NE(RefusalOf("[[disk]]\nbytes = 1\n").find("has no 'directory'"), std::string::npos);
  EXPECT_NE(RefusalOf("[reserve.memory]\nacme = true\n").find("node.toml:2"), std::string::npos);
}

TEST(ConfigFile, SaysWhatBecameOfKeysOfEarlierVersions) {
  EXPECT_EQ(RefusalOf("[tls]\nupstream_hears = true\n"),
            "node.toml:2: There is no 'upstream_hears' in [tls] any more: it is 'hears' of each "
            "[[upstream]], true unless it says otherwise.");
  EXPECT_NE(
      RefusalOf("[tls]\nupstream_forgets = false\n").find("it is 'forgets' of each [[upstream]]"),
      std::string::npos);
}

TEST(ConfigFile, SaysOfEachUpstreamWhatItHearsAndWhoseForgettingCounts) {
  const std::string text =
      "[[upstream]]\nnode = \"one.example:1\"\nhears = false\n"
      "[[upstream]]\nnode = \"two.example:1\"\nforgets = false\n";
  for (const NodeConfig& config : {Taken(text), Taken(ConfigText(Taken(text)))}) {
    const auto options = UpstreamFlags{config.upstreams, {}, {}, {}}.Options();
    ASSERT_TRUE(options.ok());
    ASSERT_EQ(options->size(), 2U);
    EXPECT_FALSE(options->at(0).hears);
    EXPECT_TRUE(options->at(0).forgets);
    EXPECT_TRUE(options->at(1).hears);
    EXPECT_FALSE(options->at(1).forgets);
  }
  EXPECT_NE(RefusalOf("[[upstream]]\nnode = \"one.example:1\"\nhears = \"no\"\n")
                .find("upstream.hears: It is a text, and true or false is wanted"),
            std::string::npos);
}

TEST(ConfigFile, SaysWhereItIsNoToml) {
  EXPECT_EQ(RefusalOf("[memory]\nram = \n").find("node.toml:2: This is not TOML: "), 0U);
}

// Every key at another value than its default, by the text that tells of it.
TEST(ConfigFile, ReadsWhatIsPrinted) {
  NodeConfig config = Taken(R"(
[listen]
address = "[::1]:5"
ready_file = "a \"quoted\\ file"
[memory]
prefault = false
[[disk]]
directory = "/a,b"
class = "hdd"
[[bucket]]
url = "s3://b/p"
[reserve.memory]
acme = "1GiB"
[limits.quic]
idle_timeout = "1500ms"
)");
  const std::string printed = ConfigText(config);
  NodeConfig again = Taken(printed);
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_EQ(key.Get(again), key.Get(config)) << key.full_name();
    EXPECT_TRUE(again.origins.contains(key.full_name())) << key.full_name();
  }
  ASSERT_EQ(again.disks.size(), 1U);
  EXPECT_EQ(again.disks[0].where, "/a,b");
  EXPECT_EQ(again.disks[0].words, config.disks[0].words);
  EXPECT_EQ(again.buckets[0].where, "s3://b/p");
  EXPECT_EQ(again.reservations[0].bytes, "1GiB");
}

TEST(ConfigKeys, GoTogether) {
  EXPECT_TRUE(CheckLimits(NodeConfig()).ok());
  const NodeConfig config = Taken("[limits.session]\nsend_queue_low_bytes = \"1GiB\"\n");
  EXPECT_EQ(CheckLimits(config).error().message(),
            "node.toml:2: limits.session.send_queue_low_bytes: It is more than "
            "send_queue_high_bytes, which is 4MiB");
}

TEST(ConfigKeys, AreToldApartAndHaveAHome) {
  std::set<std::string> names;
  std::set<std::string> flags;
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_TRUE(names.insert(key.full_name()).second) << key.full_name();
    EXPECT_TRUE(*key.flag == '\0' || flags.insert(key.flag).second) << key.flag;
    EXPECT_TRUE(std::ranges::any_of(ConfigSections(), [&](const ConfigSection& section) {
      return std::string_view(section.name) == key.section;
    })) << key.section;
    // A default can be written down.
    NodeConfig config;
    EXPECT_TRUE(key.Set(config, key.Get(NodeConfig())).ok()) << key.full_name();
  }
}

// docs/reference/config.md has a row for every key, with the default that holds.
TEST(ConfigKeys, AreAllDocumented) {
  const std::string page =
      *ReadFile(std::string(kSourceFolder) + "/docs/reference/config.md", size_t{1} << 20);
  for (const ConfigKey& key : ConfigKeys()) {
    EXPECT_NE(page.find(ConfigKeyRow(key)), std::string::npos) << ConfigKeyRow(key);
  }
  for (const ConfigTierKey& key : ConfigTierKeys()) {
    EXPECT_NE(page.find(ConfigKeyRow(key)), std::string::npos) << ConfigKeyRow(key);
  }
  for (const ConfigSection& section : ConfigSections()) {
    EXPECT_NE(page.find("\n## [" + std::string(section.name) + "]"), std::string::npos)
        << section.name;
  }
}

}  // namespace
}  // namespace kvcast
