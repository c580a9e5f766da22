// What one peer can make a session hold, and what it may say of tokens.
#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <set>

#include "kvcast/moqt/codec_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast::moqt {
namespace {

// A server and what a peer says to it.
class Server {
 public:
  explicit Server(const Limits& limits = {}) : session_(Role::kServer, {}, limits, Instant()) {
    Say(2, "af000000");
  }
  void Say(StreamId stream, std::string_view hex) {
    session_.OnStreamData(stream, AsBytes(Unhex(hex)), false);
  }
  void Say(StreamId stream, const Message& message) { Say(stream, Hex(message)); }
  std::optional<uint64_t> closed() {
    for (; const auto event = session_.NextEvent();) {
      if (const auto* closed = std::get_if<SessionClosed>(&*event)) {
        closed_ = closed->code;
      }
    }
    return closed_;
  }
  size_t stopped(ResetCode code) {
    size_t count = 0;
    while (const auto action = session_.NextAction()) {
      const auto* stop = std::get_if<StopSending>(&*action);
      count += stop != nullptr && stop->code == static_cast<uint64_t>(code) ? 1u : 0u;
    }
    return count;
  }
  // Requests that were refused as excessive load since the last call.
  size_t refused() {
    size_t count = 0;
    while (const auto action = session_.NextAction()) {
      const auto* send = std::get_if<SendBytes>(&*action);
      count += send != nullptr && Hex(send->bytes).starts_with("05") &&
                       Hex(send->bytes).substr(6, 2) == "09"
                   ? 1u
                   : 0u;
    }
    return count;
  }
  Session& session() { return session_; }
  // Forgets what was done, as if it had been sent and heard.
  void Drain() {
    while (session_.NextAction()) {
    }
    (void)closed();
  }

 private:
  Session session_;
  std::optional<uint64_t> closed_;
};

size_t HeapBytes() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

// 1,000 bytes of an object that claims 4,000, on as many streams as the peer likes.
TEST(Bounds, HoldOnlySoMuchOfWhatHasBegun) {
  Limits limits;
  limits.partial_bytes_max = 10'000;
  Server server(limits);
  server.Say(0, "1d00080001016101620700");  // PUBLISH, alias 7.
  for (StreamId stream = 6; stream < 6 + 4 * 50; stream += 4) {
    server.Say(stream, "10070000008fa0" + std::string(2000, '6'));
  }
  EXPECT_EQ(server.stopped(ResetCode::kExcessiveLoad), 48u);  // Memory for all of two is reserved.
  EXPECT_FALSE(server.closed().has_value());
}

TEST(Bounds, HoldOnlySoManyMessagesThatHaveBegun) {
  Limits limits;
  limits.partial_bytes_max = 1'000;
  Server server(limits);
  for (StreamId stream = 0; stream < 4 * 50; stream += 4) {
    server.Say(stream, "03ffff" + std::string(200, '6'));
  }
  EXPECT_GE(server.stopped(ResetCode::kExcessiveLoad), 40u);
  EXPECT_FALSE(server.closed().has_value());
}

TEST(Bounds, LetOnlySoManyStreamsWaitForATrack) {
  Limits limits;
  limits.waiting_streams_max = 5;
  Server server(limits);
  for (StreamId stream = 6; stream < 6 + 4 * 50; stream += 4) {
    server.Say(stream, "1009000000");
  }
  EXPECT_EQ(server.stopped(ResetCode::kExcessiveLoad), 45u);
}

// A subscription that the server has accepted.
void Accept(Server& server, StreamId stream, RequestId id, const std::string& track) {
  server.Say(stream, Subscribe{id, *TrackName::Of({}, track), {}});
  ASSERT_TRUE(server.session().AcceptSubscribe(id, {}, {}).ok());
}

// A peer that updates a request without end and reads no answer.
TEST(Bounds, HoldOnlySoManyAnswersThatThePeerDoesNotRead) {
  Limits limits;
  limits.answer_bytes = 20'000;
  Server server(limits);
  Accept(server, 0, 0, "t");
  Accept(server, 4, 2, "u");
  uint64_t answered = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    server.Say(0, RequestUpdate{4 + 2 * i, {}});
    answered += server.session().AcceptUpdate(0, {}).ok() ? 1u : 0u;
  }
  EXPECT_GT(answered, 20u);
  EXPECT_LT(answered, 100u);
  EXPECT_EQ(server.stopped(ResetCode::kTooFarBehind), 1u);
  EXPECT_FALSE(server.closed().has_value());
  server.Say(4, RequestUpdate{4000, {}});
  EXPECT_TRUE(server.session().AcceptUpdate(2, {}).ok());
}

// The same, spread over many requests.
TEST(Bounds, HoldOnlySoManyAnswersOfAllRequests) {
  Limits limits;
  limits.session_answer_bytes = 100'000;
  Server server(limits);
  for (uint64_t i = 0; i < 50; ++i) {
    Accept(server, 4 * i, 2 * i, "t" + std::to_string(i));
  }
  uint64_t answered = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    server.Say(4 * (i % 50), RequestUpdate{100 + 2 * i, {}});
    answered += server.session().AcceptUpdate(2 * (i % 50), {}).ok() ? 1u : 0u;
  }
  EXPECT_LT(answered, 1000u);
  EXPECT_GT(server.stopped(ResetCode::kTooFarBehind), 10u);
  EXPECT_FALSE(server.closed().has_value());
}

// A subscription that cannot end: a subgroup of it was ended, and the peer lets none of it be sent.
class StarvedSubscription : public Server {
 public:
  explicit StarvedSubscription(const Limits& limits = {}) : Server(limits) {
    Accept(*this, kStream, 0, "t");
    const StreamId subgroup = *session().OpenSubgroup(0, {});
    EXPECT_TRUE(session().EndSubgroup(0, subgroup).ok());
    Drain();
  }
  // Updates it without end, and counts what that leads to.
  void Update(const std::function<void()>& answer) {
    for (uint64_t i = 0; i < 1000; ++i) {
      Say(kStream, RequestUpdate{2 + 2 * i, {}});
      answer();
    }
    while (const auto event = session().NextEvent()) {
      cancellations += std::holds_alternative<RequestCancelled>(*event) ? 1u : 0u;
    }
    while (const auto action = session().NextAction()) {
      const auto* send = std::get_if<SendBytes>(&*action);
      errors += send != nullptr && Hex(send->bytes).starts_with("05") ? 1u : 0u;
      const auto* reset = std::get_if<ResetStream>(&*action);
      resets += reset != nullptr && reset->stream == kStream ? 1u : 0u;
    }
    EXPECT_FALSE(closed().has_value());
  }

  size_t errors = 0;
  size_t cancellations = 0;
  size_t resets = 0;

 private:
  static constexpr StreamId kStream = 0;
};

// The one refusal ends the subscription: what follows is not answered, since nobody could tell
// those answers from it.
TEST(Bounds, RefuseUpdatesOfARequestThatIsAboutToEndOnce) {
  StarvedSubscription refused;
  const RequestError error{RequestCode::kUnauthorized, {}, "no", {}};
  refused.Update([&] { (void)refused.session().RefuseUpdate(0, error).ok(); });
  EXPECT_EQ(refused.errors, 1u);
  EXPECT_EQ(refused.cancellations, 1u);
  EXPECT_EQ(refused.resets, 0u);

  Limits limits;
  limits.updates_max = 2;
  StarvedSubscription crowded(limits);
  const size_t before = crowded.session().kept_bytes();
  crowded.Update([] {});
  EXPECT_EQ(crowded.errors, 1u);
  EXPECT_EQ(crowded.cancellations, 1u);
  EXPECT_FALSE(crowded.session().AcceptUpdate(0, {}).ok());
  EXPECT_EQ(crowded.session().kept_bytes(), before);
}

// A refusal waits as any other answer does.
TEST(Bounds, CountRefusalsAmongAnswersThatThePeerDoesNotRead) {
  Limits limits;
  limits.answer_bytes = 100;
  StarvedSubscription world(limits);
  const RequestError error{RequestCode::kUnauthorized, {}, "no", {}};
  world.Update([&] { (void)world.session().RefuseUpdate(0, error).ok(); });
  EXPECT_EQ(world.resets, 1u);
  EXPECT_EQ(world.cancellations, 1u);
  EXPECT_EQ(world.session().queued_bytes(), 0u);
}

TEST(Bounds, LetAPeerThatReadsUpdateForEver) {
  Limits limits;
  limits.answer_bytes = 5'000;
  Server server(limits);
  Accept(server, 0, 0, "t");
  for (uint64_t i = 0; i < 1000; ++i) {
    server.Say(0, RequestUpdate{2 + 2 * i, {}});
    ASSERT_TRUE(server.session().AcceptUpdate(0, {}).ok());
    while (const auto action = server.session().NextAction()) {
      if (const auto* sent = std::get_if<SendBytes>(&*action)) {
        server.session().OnBytesSent(sent->stream, sent->bytes.size());
      }
    }
  }
}

// Small objects cost far more than their bytes, and are counted so.
TEST(Bounds, CountWhatWaitsToBeSentAsMemory) {
  Server server;
  Accept(server, 0, 0, "t");
  (void)server.stopped(ResetCode::kCancelled);
  for (uint64_t group = 0; group < 100; ++group) {
    SubgroupHeader header;
    header.group = group;
    const StreamId stream = *server.session().OpenSubgroup(0, header);
    Object object;
    object.location = {group, 0};
    object.payload = Bytes::Of("x");
    ASSERT_TRUE(server.session().SendObject(0, stream, object).ok());
    ASSERT_TRUE(server.session().EndSubgroup(0, stream).ok());
  }
  EXPECT_GE(server.session().queued_bytes(0), 100u * 1500);
  EXPECT_EQ(server.session().queued_bytes(), server.session().queued_bytes(0));
  while (const auto action = server.session().NextAction()) {
    if (const auto* sent = std::get_if<SendBytes>(&*action)) {
      for (size_t i = 0; i < sent->bytes.size(); ++i) {
        server.session().OnBytesSent(sent->stream, 1);
      }
    }
  }
  EXPECT_EQ(server.session().queued_bytes(), 0u);
}

TEST(Bounds, TellWhichRequestsWaitAndWhetherTheyGetOn) {
  Server server;
  Accept(server, 0, 0, "t");
  (void)server.stopped(ResetCode::kCancelled);
  EXPECT_TRUE(server.session().QueuedRequests().empty());
  std::set<uint64_t> seen;
  for (uint64_t group = 0; group < 2; ++group) {
    SubgroupHeader header;
    header.group = group;
    const StreamId stream = *server.session().OpenSubgroup(0, header);
    Object object;
    object.location = {group, 0};
    object.payload = Bytes::Of("xyz");
    ASSERT_TRUE(server.session().SendObject(0, stream, object).ok());
    ASSERT_TRUE(server.session().EndSubgroup(0, stream).ok());
    EXPECT_EQ(server.session().QueuedRequests(), std::vector<RequestId>{0});
    size_t bytes = 0;
    while (const auto action = server.session().NextAction()) {
      if (const auto* sent = std::get_if<SendBytes>(&*action); sent && sent->stream == stream) {
        bytes += sent->bytes.size();
      }
    }
    for (; bytes > 1; --bytes) {
      server.session().OnBytesSent(stream, 1);
      EXPECT_TRUE(seen.insert(server.session().progress(0)).second);  // Never the same again.
    }
    server.session().OnBytesSent(stream, 1);
    EXPECT_TRUE(server.session().QueuedRequests().empty());
  }
}

// Rules that were forgotten are not kept; those of a track that came first are.
TEST(Bounds, RememberOnlySoMuchOfTracks) {
  Limits limits;
  limits.rules_bytes = 10'000;
  Server server(limits);
  for (uint64_t track = 0; track < 10; ++track) {
    server.Say(4 * track,
               Publish{2 * track, *TrackName::Of({}, std::to_string(track)), track, {}, {}});
    for (uint64_t group = 0; group < 20; ++group) {
      SubgroupHeader header;
      header.alias = track;
      header.group = group;
      const auto writer = DefaultCodec().WriteSubgroup(header);
      Object object;
      object.location = {group, 0};
      object.payload = Bytes::Of("x");
      server.Say(6 + 4 * (track * 20 + group), Hex(writer->Header()) + Hex(writer->Write(object)));
    }
    EXPECT_LE(server.session().remembered_bytes(), limits.rules_bytes);
    EXPECT_GT(server.session().remembered_bytes(), 1000u);
  }
  for (uint64_t track = 0; track < 10; ++track) {
    server.session().Cancel(2 * track, ResetCode::kCancelled);
  }
  EXPECT_EQ(server.session().remembered_bytes(), 0u);
}

Subscribe WithTokens(std::vector<AuthToken> tokens) {
  Subscribe message{0, *TrackName::Of({}, "t"), {}};
  message.parameters.auth_tokens = std::move(tokens);
  return message;
}

// Eight updates each of twenty subscriptions, none answered, with 8 MB of tokens: these were told
// of, and nobody needs them a second time. (Where the heap is not the C library's own, as with
// a sanitizer, the figure is nothing and so is small.)
TEST(Bounds, KeepNoTokensOnceTheyWereTold) {
  Server server;
  const std::string token(40'000, 't');
  const auto say = [&server](StreamId stream, const Message& message) {
    const std::string bytes = DefaultCodec().Encode(message)->ToString();
    server.session().OnStreamData(stream, AsBytes(bytes), false);
    server.Drain();
  };
  Parameters parameters;
  parameters.auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 1, token}};
  const size_t before = HeapBytes();
  RequestId id = 0;
  for (uint64_t i = 0; i < 20; ++i, id += 2) {
    say(4 * i, Subscribe{id, *TrackName::Of({}, std::to_string(i)), parameters});
  }
  Fetch fetch;
  fetch.range = {{0, 0}, {1, 0}};
  fetch.parameters = parameters;
  for (uint64_t i = 20; i < 40; ++i, id += 2) {
    fetch.request_id = id;
    say(4 * i, fetch);
  }
  for (uint64_t i = 0; i < 8 * 20; ++i, id += 2) {
    say(4 * (i % 20), RequestUpdate{id, parameters});
  }
  EXPECT_FALSE(server.closed().has_value());
  const size_t after = HeapBytes();
  EXPECT_LT(after - std::min(before, after), 600'000u);
}

// Names, and prefixes that are to change.
TEST(Bounds, KeepOnlySoMuchOfRequestsAndUpdates) {
  Limits limits;
  limits.request_bytes = 50'000;
  Server server(limits);
  const auto space = [](uint64_t i) {
    return *TrackNamespace::Of({std::to_string(i), std::string(1'000, 'n')});
  };
  for (uint64_t i = 0; i < 10; ++i) {
    server.Say(4 * i, SubscribeNamespace{2 * i, space(i), {}});
  }
  EXPECT_GE(server.session().kept_bytes(), 10u * 2'000);
  EXPECT_EQ(server.refused(), 0u);
  Parameters moved;
  for (uint64_t i = 0; i < 100; ++i) {
    moved.namespace_prefix = space(100 + i);
    server.Say(4 * (i % 10), RequestUpdate{20 + 2 * i, moved});
  }
  EXPECT_LE(server.session().kept_bytes(), limits.request_bytes);
  EXPECT_GT(server.refused(), 0u);
  for (uint64_t i = 0; i < 100; ++i) {
    server.Say(4 * (10 + i), Subscribe{220 + 2 * i, *TrackName::Of(space(i), ""), {}});
  }
  EXPECT_LE(server.session().kept_bytes(), limits.request_bytes);
  EXPECT_GT(server.session().kept_bytes(), limits.request_bytes - 5'000);
  EXPECT_GT(server.refused(), 50u);
  EXPECT_FALSE(server.closed().has_value());
  for (uint64_t i = 0; i < 210; ++i) {
    server.session().Cancel(2 * i, ResetCode::kCancelled);
  }
  EXPECT_EQ(server.session().kept_bytes(), 0u);
}

// What a prefix has become is kept as long as its request.
TEST(Bounds, CountPrefixesThatHaveChanged) {
  Limits limits;
  limits.request_bytes = 50'000;
  Server server(limits);
  for (uint64_t i = 0; i < 100; ++i) {
    server.Say(4 * i, SubscribeNamespace{2 * i, *TrackNamespace::Of({std::to_string(i)}), {}});
    ASSERT_TRUE(server.session().AcceptSubscribeNamespace(2 * i, {}).ok());
  }
  EXPECT_EQ(server.refused(), 0u);
  const size_t before = server.session().kept_bytes();
  size_t granted = 0;
  Parameters moved;
  for (uint64_t i = 0; i < 100; ++i) {
    moved.namespace_prefix = *TrackNamespace::Of({std::to_string(i), std::string(1'000, 'n')});
    server.Say(4 * i, RequestUpdate{200 + 2 * i, moved});
    granted += server.session().AcceptUpdate(2 * i, {}).ok() ? 1u : 0u;
  }
  EXPECT_GT(granted, 10u);
  EXPECT_LT(granted, 25u);
  EXPECT_GE(server.session().kept_bytes(), before + granted * 1'900);
  EXPECT_LE(server.session().kept_bytes(), limits.request_bytes);
  for (uint64_t i = 0; i < 100; ++i) {
    server.session().Cancel(2 * i, ResetCode::kCancelled);
  }
  EXPECT_EQ(server.session().kept_bytes(), 0u);
}

// They are told of only once their subscription is answered, and their tokens with them.
TEST(Bounds, KeepOnlySoManyTokensOfFetchesThatWait) {
  Limits limits;
  limits.request_bytes = 50'000;
  Server server(limits);
  server.Say(0, Subscribe{0, *TrackName::Of({}, "t"), {}});
  Fetch fetch;
  fetch.type = Fetch::Type::kRelativeJoining;
  fetch.parameters.auth_tokens = {
      {AuthToken::AliasType::kUseValue, 0, 1, std::string(10'000, 't')}};
  for (uint64_t i = 1; i <= 10; ++i) {
    fetch.request_id = 2 * i;
    server.Say(4 * i, fetch);
  }
  EXPECT_EQ(server.refused(), 6u);
  EXPECT_GT(server.session().kept_bytes(), 40'000u);
  Parameters answer;
  answer.largest_object = Location{7, 0};
  ASSERT_TRUE(server.session().AcceptSubscribe(0, answer, {}).ok());
  EXPECT_LT(server.session().kept_bytes(), 1'000u);
}

// Others may want more of a peer than it lets us ask.
TEST(Bounds, AskOnlySoMuchMoreThanThePeerLetsUs) {
  Limits limits;
  limits.requests_ahead = 3;
  Server server(limits);
  server.session().OnStreamsAllowed(2);
  const TrackName track = *TrackName::Of(*TrackNamespace::Of({"a"}), "t");
  for (int i = 0; i < 100; ++i) {
    const auto request = server.session().Subscribe(track, {});
    EXPECT_EQ(request.ok(), i < 5) << i;
    if (request.ok()) {
      server.session().Cancel(*request, ResetCode::kCancelled);  // Which gives no stream back.
    }
  }
  server.session().OnStreamsAllowed(3);
  EXPECT_TRUE(server.session().Subscribe(track, {}).ok());
  EXPECT_FALSE(server.session().Subscribe(track, {}).ok());
}

TEST(Bounds, AskNoMoreOfAPeerThatDoesNotRead) {
  Limits limits;
  limits.session_answer_bytes = 20'000;
  Server server(limits);
  int asked = 0;
  while (asked < 1000 &&
         server.session()
             .Subscribe(*TrackName::Of(*TrackNamespace::Of({"a"}), std::to_string(asked)), {})
             .ok()) {
    ++asked;
  }
  EXPECT_GT(asked, 5);
  EXPECT_LT(asked, 100);
}

TEST(AuthTokens, AreTakenByValueOnly) {
  using Type = AuthToken::AliasType;
  const struct {
    std::vector<AuthToken> tokens;
    std::optional<SessionCode> code;
  } cases[] = {
      {{{Type::kUseValue, 0, 1, "a"}, {Type::kUseValue, 0, 0x9d, "grease"}}, std::nullopt},
      {{{Type::kRegister, 1, 1, "a"}}, SessionCode::kAuthTokenCacheOverflow},
      {{{Type::kUseAlias, 1, 0, ""}}, SessionCode::kUnknownAuthTokenAlias},
      {{{Type::kDelete, 1, 0, ""}}, SessionCode::kUnknownAuthTokenAlias},
      {{{Type::kUseValue, 0, 1, "a"}, {Type::kUseValue, 0, 1, "a"}},
       SessionCode::kProtocolViolation},
  };
  for (const auto& [tokens, code] : cases) {
    Server server;
    server.Say(0, WithTokens(tokens));
    EXPECT_EQ(server.closed(), code ? std::optional(static_cast<uint64_t>(*code)) : std::nullopt);
    Server updated;
    updated.Say(0, WithTokens({}));
    updated.Say(0, RequestUpdate{2, WithTokens(tokens).parameters});
    EXPECT_EQ(updated.closed(), code ? std::optional(static_cast<uint64_t>(*code)) : std::nullopt);
  }
}

TEST(AuthTokens, MayBeAsManyAsFitButNoneTwice) {
  std::vector<AuthToken> tokens;
  for (uint64_t i = 0; i < 10'000; ++i) {
    tokens.push_back({AuthToken::AliasType::kUseValue, 0, (i * 7919) % 10'007, ""});
  }
  Server server;
  server.Say(0, WithTokens(tokens));
  EXPECT_FALSE(server.closed().has_value());
  tokens.push_back(tokens[5'000]);
  Server twice;
  twice.Say(0, WithTokens(tokens));
  EXPECT_EQ(twice.closed(), static_cast<uint64_t>(SessionCode::kProtocolViolation));
}

// SETUP could not know that we keep none.
TEST(AuthTokens, OfSetupThatWereToBeKeptCountAsValues) {
  Session server(Role::kServer, {}, {}, Instant());
  moqt::Setup setup;
  setup.auth_tokens = {{AuthToken::AliasType::kRegister, 4, 1, "a"}};
  server.OnStreamData(2, AsBytes(Unhex(Hex(setup))), false);
  const auto event = server.NextEvent();
  ASSERT_TRUE(event.has_value());
  const AuthToken expected{AuthToken::AliasType::kUseValue, 0, 1, "a"};
  EXPECT_EQ(std::get<SetupDone>(*event).peer.auth_tokens, std::vector{expected});
}

TEST(AuthTokens, AreSaidNotToBeKept) {
  Session server(Role::kServer, {}, {}, Instant());
  (void)server.NextAction();
  const auto sent = server.NextAction();
  const auto read =
      ReadAs<moqt::Setup>(std::get<SendBytes>(*sent).bytes.ToString(), OnControl(Role::kServer));
  EXPECT_EQ(read->auth_token_cache_bytes_max, 0u);
}

}  // namespace
}  // namespace kvcast::moqt
