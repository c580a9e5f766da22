#include "kvcast/host/upstream_flags.h"

#include <gtest/gtest.h>

#include <variant>

namespace kvcast {
namespace {

const std::string kFingerprint(64, 'a');

// As they are typed.
std::vector<TierConfig> Typed(const std::vector<std::string>& places) {
  std::vector<TierConfig> typed;
  for (const std::string& place : places) {
    typed.push_back({place, {}, "--upstream"});
  }
  return typed;
}

TEST(UpstreamFlags, SayWhoIsAskedForWhat) {
  UpstreamFlags flags;
  flags.upstreams =
      Typed({"a-b=one.example:4433", "two.example:4433#" + kFingerprint, "c=one.example:4433"});
  const auto options = flags.Options();
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  ASSERT_EQ(options->size(), 2u);
  const UpstreamLink::Options& one = options->at(0);
  EXPECT_EQ(one.name, "one.example:4433");
  ASSERT_EQ(one.prefixes.size(), 2u);
  EXPECT_EQ(one.prefixes[0], *TrackNamespace::Of({"a", "b"}));
  EXPECT_EQ(one.prefixes[1], *TrackNamespace::Of({"c"}));
  EXPECT_TRUE(std::holds_alternative<SystemTrust>(one.address.trust));
  const UpstreamLink::Options& two = options->at(1);
  EXPECT_EQ(two.name, "two.example:4433");
  EXPECT_EQ(two.prefixes, std::vector{TrackNamespace()});
  EXPECT_TRUE(std::holds_alternative<PinnedCertificate>(two.address.trust));
}

TEST(UpstreamFlags, TrustAnAuthorityWhereThereIsNoFingerprint) {
  UpstreamFlags flags;
  flags.upstreams = Typed({"one.example:4433", "two.example:4433#" + kFingerprint});
  flags.authorities = "authority.pem";
  flags.certificate = "node.pem";
  flags.key = "node.key";
  const auto options = flags.Options();
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(std::holds_alternative<TrustedAuthorities>(options->at(0).address.trust));
  EXPECT_TRUE(std::holds_alternative<PinnedCertificate>(options->at(1).address.trust));
  EXPECT_TRUE(options->at(0).address.own.has_value());
}

TEST(UpstreamFlags, SayWhatIsToldAndHeededOfEach) {
  UpstreamFlags flags;
  flags.upstreams = {{"one.example:1", {{"hears", "false"}}, "--upstream"},
                     {"two.example:1", {{"forgets", "false"}, {"hears", "true"}}, "--upstream"}};
  const auto options = flags.Options();
  ASSERT_TRUE(options.ok()) << options.error().ToString();
  EXPECT_FALSE(options->at(0).hears);
  EXPECT_TRUE(options->at(0).forgets);
  EXPECT_TRUE(options->at(1).hears);
  EXPECT_FALSE(options->at(1).forgets);
  // Of one upstream not two things.
  flags.upstreams.push_back({"a=one.example:1", {}, "--upstream"});
  EXPECT_FALSE(flags.Options().ok());
  flags.upstreams.back().words = {{"hears", "false"}};
  EXPECT_TRUE(flags.Options().ok());
  for (const char* value : {"", "no", "True"}) {
    flags.upstreams = {{"one.example:1", {{"hears", value}}, "--upstream"}};
    EXPECT_FALSE(flags.Options().ok()) << value;
  }
  flags.upstreams = {{"one.example:1", {{"heard", "true"}}, "--upstream"}};
  EXPECT_FALSE(flags.Options().ok());
}

TEST(UpstreamFlags, RefuseWhatTheyCannotRead) {
  for (const char* text : {"", "=one.example:1", "a--b=one.example:1", "one.example",
                           "a=", "one.example:0", "one.example:1#12"}) {
    UpstreamFlags flags;
    flags.upstreams = Typed({text});
    EXPECT_FALSE(flags.Options().ok()) << text;
  }
}

}  // namespace
}  // namespace kvcast
