// Who gets what from a relay that asks them who they are.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/relay/relay_world_test.h"

namespace kvcast::relay {
namespace {

using moqt::RequestCode;

std::string ScopeOf(std::string_view tenant) { return std::string(tenant) + "/model@0"; }
TrackName TenantTrack(std::string_view tenant, std::string_view prefix) {
  return *TrackName::Of(*TrackNamespace::Of({kServiceField, ScopeOf(tenant), prefix, "generation"}),
                        "BF16");
}
TrackNamespace TenantCatalogs(std::string_view tenant) {
  return *TrackNamespace::Of({kServiceField, ScopeOf(tenant), "catalog"});
}

// A node with a token for each of two tenants, one for a relay, and one that ends.
RelayWorld::Options Guarded() {
  RelayWorld::Options options;
  options.relay.access.required = true;
  const auto add = [&](const std::string& token, std::vector<std::string> tenants,
                       std::vector<std::string> may, std::optional<uint64_t> until_us = {}) {
    Grant grant = *Grant::Of(tenants, may);
    grant.until_us = until_us;
    options.relay.access.tokens.Add(Sha256::Of(token), {token, grant});
  };
  add("acme", {"acme"}, {"engine"});
  add("globex", {"globex"}, {"engine"});
  add("reader", {"acme"}, {"read"});
  add("short", {"acme"}, {"engine"}, 60'000'000);
  add("relay", {"_all"}, {"relay"});
  return options;
}

// Two tenants, each with a cache of one block.
struct TwoCaches {
  TwoCaches() {
    acme.PublishAll(TenantTrack("acme", "p"), 1, 2);
    globex.PublishAll(TenantTrack("globex", "p"), 1, 2);
    world.Run();
  }
  RelayWorld world{Guarded()};
  Client& acme = world.Join({{}, {"acme"}});
  Client& globex = world.Join({{}, {"globex"}});
};

TEST(RelayAccess, GivesEachTenantItsOwn) {
  TwoCaches w;
  EXPECT_EQ(
      w.world.Fetch(w.acme, TenantTrack("acme", "p"), LocationRange::Groups(0, 0)).objects.size(),
      2u);
  EXPECT_TRUE(w.world.Fetch(w.acme, TenantTrack("globex", "p"), LocationRange::Groups(0, 0))
                  .objects.empty());
  EXPECT_EQ(w.acme.One<moqt::RequestRefused>().error.code, RequestCode::kDoesNotExist);
}

TEST(RelayAccess, ClosesTheSessionOfWhoIsNotKnown) {
  RelayWorld world(Guarded());
  Client& nobody = world.Join();
  Client& guesser = world.Join({{}, {"guess"}});
  world.Run();
  for (Client* client : {&nobody, &guesser}) {
    const auto closed = client->One<moqt::SessionClosed>();
    EXPECT_EQ(closed.code, static_cast<uint64_t>(moqt::SessionCode::kUnauthorized));
    EXPECT_EQ(closed.reason.find("guess"), std::string::npos);
  }
}

TEST(RelayAccess, RefusesToKeepWhatOneMayNotPublish) {
  TwoCaches w;
  (void)*w.acme->Publish(TenantTrack("globex", "q"), {}, {});
  w.world.Run();
  EXPECT_EQ(w.acme.One<moqt::RequestRefused>().error.code, RequestCode::kUnauthorized);
  (void)*w.acme->PublishNamespace(TenantTrack("globex", "q").space(), {});
  w.world.Run();
  EXPECT_EQ(w.acme.One<moqt::RequestRefused>().error.code, RequestCode::kUnauthorized);
  Client& reader = w.world.Join({{}, {"reader"}});
  w.world.Run();
  (void)*reader->Publish(TenantTrack("acme", "q"), {}, {});
  w.world.Run();
  EXPECT_EQ(reader.One<moqt::RequestRefused>().error.code, RequestCode::kUnauthorized);
  (void)*w.acme->Publish(*TrackName::Of(*TrackNamespace::Of({"demo"}), "clock"), {}, {});
  w.world.Run();
  EXPECT_EQ(w.acme.One<moqt::RequestRefused>().error.code, RequestCode::kUnauthorized);
}

TEST(RelayAccess, ListsNothingOfOthers) {
  TwoCaches w;
  (void)*w.acme->SubscribeTracks(TenantCatalogs("globex"), {});
  w.world.Run();
  EXPECT_EQ(w.acme.Take<moqt::RequestAccepted>().size(), 1u);
  w.globex.PublishAll(TenantTrack("globex", "q"), 1, 2);
  w.world.Run();
  EXPECT_TRUE(w.acme.Take<moqt::PublishReceived>().empty());
  (void)*w.acme->SubscribeTracks(TenantCatalogs("acme"), {});
  w.world.Run();
  EXPECT_EQ(w.acme.Take<moqt::PublishReceived>().size(), 1u);
}

// What follows from the credential alone can be said: it tells nothing of what is here.
TEST(RelayAccess, TakesPrefixesAboveTenantsFromThoseForAllOnly) {
  TwoCaches w;
  (void)*w.acme->SubscribeTracks(*TrackNamespace::Of({kServiceField}), {});
  w.world.Run();
  EXPECT_EQ(w.acme.One<moqt::RequestRefused>().error.code, RequestCode::kUnauthorized);
  Client& relay = w.world.Join({{}, {"relay"}});
  w.world.Run();
  (void)*relay->SubscribeTracks(*TrackNamespace::Of({kServiceField}), {});
  w.world.Run();
  EXPECT_EQ(relay.Take<moqt::PublishReceived>().size(), 2u);  // Both catalogs.
}

// A prefix that is not its own leads nowhere, and can be changed into one that does.
TEST(RelayAccess, LooksAtAPrefixAgainWhenItIsMoved) {
  TwoCaches w;
  const RequestId tracks = *w.acme->SubscribeTracks(TenantCatalogs("globex"), {});
  w.world.Run();
  moqt::Parameters parameters;
  parameters.namespace_prefix = TenantCatalogs("acme");
  ASSERT_TRUE(w.acme->Update(tracks, parameters).ok());
  w.world.Run();
  EXPECT_EQ(w.acme.One<moqt::PublishReceived>().track.space().field(1), ScopeOf("acme"));
  parameters.namespace_prefix = TenantCatalogs("globex");
  ASSERT_TRUE(w.acme->Update(tracks, parameters).ok());
  w.world.Run();
  EXPECT_EQ(w.acme.Take<moqt::UpdateAccepted>().size(), 2u);
  EXPECT_TRUE(w.acme.Take<moqt::PublishReceived>().empty());
}

TEST(RelayAccess, HonoursARequestsOwnToken) {
  TwoCaches w;
  moqt::Parameters parameters;
  parameters.auth_tokens.push_back({moqt::AuthToken::AliasType::kUseValue, 0, 0, "globex"});
  (void)*w.acme->AskTrackStatus(TenantTrack("globex", "p"), parameters);
  w.world.Run();
  EXPECT_EQ(w.acme.Take<moqt::RequestAccepted>().size(), 1u);
}

TEST(RelayAccess, EndsSessionsAndRequestsWithTheirTokens) {
  RelayWorld world(Guarded());
  Client& publisher = world.Join({{}, {"acme"}});
  Client& brief = world.Join({{}, {"short"}});
  Client& other = world.Join({{}, {"globex"}});
  const TrackName track = TenantTrack("acme", "p");
  (void)*publisher->Publish(track, {}, {});
  world.Run();
  (void)*brief->Subscribe(track, {});
  moqt::Parameters parameters;
  parameters.auth_tokens.push_back({moqt::AuthToken::AliasType::kUseValue, 0, 0, "short"});
  const RequestId lent = *other->Subscribe(track, parameters);
  world.Run();
  EXPECT_EQ(other.Take<moqt::RequestAccepted>().size(), 1u);
  world.Wait(std::chrono::seconds(59));
  world.Run();
  EXPECT_TRUE(brief.Take<moqt::SessionClosed>().empty());
  world.Wait(std::chrono::seconds(2));
  world.Run();
  EXPECT_EQ(brief.One<moqt::SessionClosed>().code,
            static_cast<uint64_t>(moqt::SessionCode::kExpiredAuthToken));
  EXPECT_EQ(other.One<moqt::RequestCancelled>().request, lent);
  EXPECT_TRUE(other.Take<moqt::SessionClosed>().empty());
}

TEST(RelayAccess, ClosesSessionsWhoseTokenIsTakenAway) {
  TwoCaches w;
  TokenTable left;
  left.Add(Sha256::Of("globex"), {"globex", *Grant::Of(std::vector<std::string>{"globex"},
                                                       std::vector<std::string>{"engine"})});
  w.world.relay().ReplaceAccess({true, left}, {}, w.world.now());
  w.world.Run();
  EXPECT_EQ(w.acme.Take<moqt::SessionClosed>().size(), 1u);
  EXPECT_TRUE(w.globex.Take<moqt::SessionClosed>().empty());
}

// Where a node begins to ask who comes, those who have not said so are asked again.
TEST(RelayAccess, HoldsForThoseWhoAreHereWhenItBegins) {
  RelayWorld world;
  Client& nobody = world.Join();
  Client& known = world.Join({{"engine", std::nullopt}, {}});
  world.Run();
  Credentials credentials;
  credentials[known.peer()] = {"engine", std::vector{*Grant::Of(std::vector<std::string>{"acme"},
                                                                std::vector<std::string>{"read"})}};
  world.relay().ReplaceAccess({true, {}}, credentials, world.now());
  world.Run();
  EXPECT_EQ(nobody.Take<moqt::SessionClosed>().size(), 1u);
  EXPECT_TRUE(known.Take<moqt::SessionClosed>().empty());
  // What its certificate is good for has changed, too.
  const TrackName track = TenantTrack("acme", "p");
  (void)*known->Publish(track, {}, {});
  world.Run();
  EXPECT_EQ(known.One<moqt::RequestRefused>().error.code, moqt::RequestCode::kUnauthorized);
}

// Everything that a node says to a peer, by stream.
class Witness final : public moqt::TransportUser {
 public:
  explicit Witness(Session& session) : session_(&session) {}

  void OnTime(Instant now) override { session_->OnTime(now); }
  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override {
    said_[stream] += std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    said_[stream] += fin ? "|" : "";
    session_->OnStreamData(stream, bytes, fin);
  }
  void OnStreamReset(moqt::StreamId stream, uint64_t code) override {
    said_[stream] += "reset " + std::to_string(code);
    session_->OnStreamReset(stream, code);
  }
  void OnStopSending(moqt::StreamId stream, uint64_t code) override {
    said_[stream] += "stop " + std::to_string(code);
    session_->OnStopSending(stream, code);
  }
  void OnBytesSent(moqt::StreamId stream, uint64_t bytes) override {
    session_->OnBytesSent(stream, bytes);
  }
  void OnDelivered(moqt::StreamId stream) override { session_->OnDelivered(stream); }
  void OnDatagramsGone(uint64_t request, uint64_t count) override {
    session_->OnDatagramsGone(request, count);
  }
  void OnConnectionClosed(uint64_t code, std::string_view reason) override {
    said_[0] += "closed " + std::to_string(code) + std::string(reason);
    session_->OnConnectionClosed(code, reason);
  }
  std::optional<moqt::TransportAction> NextAction() override { return session_->NextAction(); }

  const std::map<moqt::StreamId, std::string>& said() const { return said_; }

 private:
  Session* session_;
  std::map<moqt::StreamId, std::string> said_;
};

// What the node says to a peer of acme's that asks for things of another tenant, in all ways that
// there are; the other tenant has them, or has nothing at all.
std::map<moqt::StreamId, std::string> SaidAbout(bool there, std::string_view tenant) {
  RelayWorld world(Guarded());
  Client& globex = world.Join({{}, {"globex"}});
  world.Run();
  const TrackName track = TenantTrack(tenant, "p");
  if (there) {
    globex.PublishAll(TenantTrack("globex", "p"), 2, 3);
    (void)*globex->Publish(TenantTrack("globex", "live"), {}, {});
    (void)*globex->PublishNamespace(TenantTrack("globex", "told").space(), {});
    world.Run();
  }
  moqt::Setup setup;
  setup.path = "/";
  setup.authority = "node.example";
  setup.auth_tokens.push_back({moqt::AuthToken::AliasType::kUseValue, 0, 0, "acme"});
  Session session(moqt::Role::kClient, setup, {}, Instant());
  Session server(moqt::Role::kServer, {}, {}, Instant());
  Witness witness(session);
  moqt::MemoryConnection connection({}, witness, server);
  const PeerId peer = world.relay().Join(server);
  const auto settle = [&] {
    bool moved = true;
    while (moved) {
      moved = connection.Step();
      world.relay().OnInput(peer, world.now());
      world.Run();
    }
    while (session.NextEvent()) {
    }
  };
  settle();
  moqt::Parameters waits;
  waits.rendezvous_timeout_ms = 500;
  moqt::Parameters moves;
  moves.namespace_prefix = *TrackNamespace::Of({kServiceField, ScopeOf(tenant), "p"});
  const auto ask = [&](auto call) {
    EXPECT_TRUE(call().ok());
    settle();
  };
  ask([&] { return session.Fetch(track, LocationRange::Groups(0, 1), {}); });
  ask([&] { return session.Subscribe(track, {}); });
  ask([&] { return session.Subscribe(TenantTrack(tenant, "live"), waits); });
  ask([&] { return session.Subscribe(TenantTrack(tenant, "told"), {}); });
  ask([&] { return session.AskTrackStatus(track, {}); });
  ask([&] { return session.AskTrackStatus(TenantTrack(tenant, "told"), {}); });
  ask([&] { return session.SubscribeTracks(TenantCatalogs(tenant), {}); });
  ask([&] { return session.SubscribeNamespace(track.space().First(2), {}); });
  const Result<RequestId> moved =
      session.SubscribeTracks(*TrackNamespace::Of({kServiceField, "acme/other@0"}), {});
  settle();
  ask([&] { return session.Update(*moved, moves); });
  ask([&] { return session.Publish(TenantTrack(tenant, "mine"), {}, {}); });
  ask([&] { return session.PublishNamespace(TenantTrack(tenant, "p").space(), {}); });
  if (there) {
    globex.PublishAll(TenantTrack("globex", "later"), 1, 2);
  }
  settle();
  world.Wait(std::chrono::seconds(1));
  settle();
  world.relay().Leave(peer);
  return witness.said();
}

TEST(RelayAccess, SaysTheSameToTheByteOfWhatIsThereAndNotAllowedAndOfWhatIsNotThere) {
  EXPECT_EQ(SaidAbout(true, "globex"), SaidAbout(false, "globex"));
}

// A peer's own tenant, of which nothing is there, but for what it may publish itself.
TEST(RelayAccess, AnswersWhatIsNotAllowedAsWhatIsNotThere) {
  const auto others = SaidAbout(true, "globex");
  const auto own = SaidAbout(true, "acme");
  size_t same = 0;
  for (const auto& [stream, said] : others) {
    const auto found = own.find(stream);
    same += found != own.end() && found->second == said ? 1u : 0u;
  }
  // PUBLISH and PUBLISH_NAMESPACE are refused, or accepted; and of what it has told, it hears.
  EXPECT_EQ(same, others.size() - 3);
}

}  // namespace
}  // namespace kvcast::relay
