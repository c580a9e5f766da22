#include "kvcast/moqt/messages.h"

#include <gtest/gtest.h>

#include "kvcast/base/hex.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/setup.h"

namespace kvcast::moqt {
namespace {

std::string Unhex(std::string_view hex) { return std::string(AsText(*FromHex(hex))); }
std::string Hex(const Result<Bytes>& bytes) { return ToHex(AsBytes(bytes.value().ToString())); }

// The body of the one frame that `hex` is.
std::string BodyOf(std::string_view hex) {
  const std::string wire = Unhex(hex);
  std::span<const std::byte> in = AsBytes(wire);
  FrameReader reader;
  std::optional<Frame> frame = reader.Read(in);
  EXPECT_TRUE(frame.has_value() && in.empty() && !reader.midway());
  return frame ? frame->body : "";
}

TrackName ClockTrack() { return *TrackName::Of(*TrackNamespace::Of({"clock", "demo"}), "now"); }

// What another implementation sent: read, and written back byte for byte.
TEST(Messages, AreThoseThatAnotherImplementationSends) {
  const std::string_view setup = "af0000140712696d7175696320302e302e322f616c706861";
  const auto read_setup = moqt::Setup::Decode(BodyOf(setup), Role::kServer);
  ASSERT_TRUE(read_setup.ok());
  EXPECT_EQ(read_setup->implementation, "imquic 0.0.2/alpha");
  EXPECT_EQ(Hex(read_setup->Encode()), setup);

  const std::string_view subscribe = "03001b000205636c6f636b0464656d6f036e6f7704100110800101020101";
  const auto read_subscribe = Subscribe::Decode(BodyOf(subscribe));
  ASSERT_TRUE(read_subscribe.ok());
  EXPECT_EQ(read_subscribe->track, ClockTrack());
  EXPECT_EQ(read_subscribe->parameters.forward, true);
  EXPECT_EQ(read_subscribe->parameters.subscriber_priority, 128);
  EXPECT_EQ(read_subscribe->parameters.filter->type, SubscriptionFilter::Type::kLargestObject);
  EXPECT_EQ(read_subscribe->parameters.group_order, GroupOrder::kAscending);
  EXPECT_EQ(Hex(read_subscribe->Encode()), subscribe);

  const std::string_view ok = "0400020000";
  EXPECT_EQ(Hex(SubscribeOk::Decode(BodyOf(ok))->Encode()), ok);
  EXPECT_EQ(Hex(RequestOk::Decode(BodyOf("07000100"), ParameterScope::kPublishOk)->Encode()),
            "07000100");

  const std::string_view done = "0b001103010e5075626c6973686572206c656674";
  const auto read_done = PublishDone::Decode(BodyOf(done));
  ASSERT_TRUE(read_done.ok());
  EXPECT_EQ(read_done->code, DoneCode::kSubscriptionEnded);
  EXPECT_EQ(read_done->streams, 1u);
  EXPECT_EQ(read_done->reason, "Publisher left");
  EXPECT_EQ(Hex(read_done->Encode()), done);
}

// Request 4 for everything below ("clock"), not to be forwarded yet; then a track below it.
TEST(Messages, AskForTheTracksBelowAPrefix) {
  const std::string_view hex = "51000b040105636c6f636b011000";
  const auto read = SubscribeTracks::Decode(BodyOf(hex));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->request_id, 4u);
  EXPECT_EQ(read->prefix, *TrackNamespace::Of({"clock"}));
  EXPECT_EQ(read->parameters.forward, false);
  EXPECT_EQ(Hex(read->Encode()), hex);

  const std::string_view blocked = "0f000a010464656d6f036e6f77";
  const auto read_blocked = PublishBlocked::Decode(BodyOf(blocked));
  ASSERT_TRUE(read_blocked.ok());
  EXPECT_EQ(read_blocked->track, *TrackName::Of(*TrackNamespace::Of({"demo"}), "now"));
  EXPECT_EQ(Hex(read_blocked->Encode()), blocked);

  // All tracks of the peer's.
  EXPECT_EQ(SubscribeTracks::Decode(Unhex("000000"))->prefix, TrackNamespace());
}

// It writes 2^62 - 1 in more bytes than are needed, which we do not.
TEST(Messages, ReadAFetchOfWholeGroups) {
  const auto fetch = Fetch::Decode(
      BodyOf("16002300010205636c6f636b0464656d6f036e6f770000ff3fffffffffffffff000220800201"));
  ASSERT_TRUE(fetch.ok());
  EXPECT_EQ(fetch->track, ClockTrack());
  EXPECT_EQ(fetch->range, LocationRange::Groups(0, (uint64_t{1} << 62) - 1));
  EXPECT_EQ(fetch->order(), GroupOrder::kAscending);
  const auto again = Fetch::Decode(BodyOf(Hex(fetch->Encode())));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->range, fetch->range);

  const auto ok = FetchOk::Decode(BodyOf("18000400010500"));
  ASSERT_TRUE(ok.ok());
  EXPECT_EQ(ok->last, (Location{1, 4}));
  EXPECT_EQ(Hex(ok->Encode()), "18000400010500");
}

TEST(Messages, WriteTheEndOfAFetchAsOnePastIt) {
  Fetch fetch;
  fetch.track = *TrackName::Of({}, "t");
  fetch.range = {{2, 3}, {4, 5}};
  EXPECT_EQ(Hex(fetch.Encode()), "16000a00010001740203040600");
  const auto single = Fetch::Decode(Unhex("00010001740203020300"));
  ASSERT_TRUE(single.ok());
  EXPECT_TRUE(single->range.empty());  // Refused as a range; the session goes on.
}

TEST(Messages, KeepUnknownPropertiesByteForByte) {
  Publish publish{4, ClockTrack(), 7, {}, *Properties::Parse(Unhex("02800580fd03616263"))};
  publish.parameters.largest_object = Location{3, 9};
  publish.parameters.forward = false;
  const auto read = Publish::Decode(BodyOf(Hex(publish.Encode())));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->properties.encoded(), publish.properties.encoded());
  EXPECT_EQ(read->parameters, publish.parameters);
  EXPECT_EQ(read->alias, 7u);
}

TEST(Messages, CarryEveryParameterWhereItMayStand) {
  Parameters all;
  all.object_delivery_timeout_ms = 1;
  all.auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 9, "secret"},
                     {AuthToken::AliasType::kRegister, 5, 0, "other"}};
  all.rendezvous_timeout_ms = 300;
  all.subgroup_delivery_timeout_ms = 2;
  all.forward = true;
  all.subscriber_priority = 255;
  all.filter = {SubscriptionFilter::Type::kAbsoluteRange, {7, 8}, 9};
  all.group_order = GroupOrder::kDescending;
  all.new_group_request = 0;
  const Subscribe subscribe{2, ClockTrack(), all};
  const auto read = Subscribe::Decode(BodyOf(Hex(subscribe.Encode())));
  ASSERT_TRUE(read.ok()) << read.error().reason();
  EXPECT_EQ(read->parameters, all);

  Parameters update;
  update.namespace_prefix = *TrackNamespace::Of({"a"});
  const RequestUpdate message{8, update};
  EXPECT_EQ(RequestUpdate::Decode(BodyOf(Hex(message.Encode())), ParameterScope::kUpdateNamespace)
                ->parameters,
            update);
}

TEST(Messages, CarryErrorsWithRetryAndRedirect) {
  RequestError error{RequestCode::kExcessiveLoad, 0, "busy", {}};
  EXPECT_EQ(Hex(error.Encode()), "05000709010462757379");
  EXPECT_EQ(RequestError::Decode(BodyOf("05000709010462757379"))->retry_after_ms, 0u);
  error = {RequestCode::kRedirect, std::nullopt, "", Redirect{"moqt://b", ClockTrack()}};
  const auto read = RequestError::Decode(BodyOf(Hex(error.Encode())));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->redirect->uri, "moqt://b");
  EXPECT_EQ(read->redirect->track, ClockTrack());
  // A code from the future is an error like any other.
  EXPECT_TRUE(RequestError::Decode(Unhex("80fd0000")).ok());
}

// The code that a message's body is refused with, if it is.
template <typename Message>
std::optional<uint64_t> CodeOf(std::string_view body) {
  const auto read = Message::Decode(body);
  return read.ok() ? std::optional<uint64_t>() : read.error().code();
}

TEST(Messages, AreRefusedWithTheCodeThatTheDraftNames) {
  const auto subscribe = CodeOf<Subscribe>;
  const auto publish = CodeOf<Publish>;
  const auto fetch = CodeOf<Fetch>;
  const auto tracks = CodeOf<SubscribeTracks>;
  const auto blocked = CodeOf<PublishBlocked>;
  using Code = SessionCode;
  const struct {
    std::optional<uint64_t> (*decode)(std::string_view);
    const char* hex;
    Code code;
    const char* why;
  } cases[] = {
      {subscribe, "", Code::kProtocolViolation, "empty"},
      {tracks, "0021", Code::kProtocolViolation, "33 fields of a prefix"},
      {tracks, "0001016101218000", Code::kProtocolViolation, "a filter in SUBSCRIBE_TRACKS"},
      {tracks, "0001016100ff", Code::kProtocolViolation, "a byte after the parameters"},
      {blocked, "010161", Code::kProtocolViolation, "no name of a track"},
      {blocked, "0101610162ff", Code::kProtocolViolation, "a byte after the name"},
      {subscribe, "000101610162", Code::kProtocolViolation, "no parameters"},
      {subscribe, "00010161016200ff", Code::kProtocolViolation, "a byte too many"},
      {subscribe, "0001000000", Code::kProtocolViolation, "an empty namespace field"},
      {subscribe, "00210000", Code::kProtocolViolation, "33 fields"},
      {subscribe, "000101610162017700", Code::kProtocolViolation, "an unknown parameter"},
      {subscribe, "00010161016201080a", Code::kProtocolViolation, "EXPIRES in SUBSCRIBE"},
      {subscribe, "0001016101620210010001", Code::kProtocolViolation, "FORWARD twice"},
      {subscribe, "000101610162011002", Code::kProtocolViolation, "FORWARD of 2"},
      {subscribe, "000101610162012203", Code::kProtocolViolation, "GROUP_ORDER of 3"},
      {subscribe, "00010161016201210105", Code::kProtocolViolation, "filter type 5"},
      {subscribe, "0001016101620121020200", Code::kProtocolViolation, "filter too long"},
      {subscribe, "00010161016201210c04ffffffffffffffffff0001", Code::kProtocolViolation,
       "filter past the last group"},
      {subscribe, "000101610162021001ffffffffffffffffff", Code::kProtocolViolation,
       "type past 2^64"},
      {subscribe, "00010161016201030104", Code::kKeyValueFormattingError, "token alias type"},
      {subscribe, "000101610162010300", Code::kKeyValueFormattingError, "token of no bytes"},
      {subscribe, "000101610162010303000100", Code::kKeyValueFormattingError, "token too long"},
      {publish, "00010161016205002203", Code::kProtocolViolation, "publisher group order"},
      {publish, "00010161016205003002", Code::kProtocolViolation, "dynamic groups"},
      {publish, "000101610162050003c1000000", Code::kProtocolViolation, "value too long"},
      {publish, "00010161016205000305", Code::kProtocolViolation, "value cut short"},
      {fetch, "000400", Code::kProtocolViolation, "fetch type 4"},
      {fetch, "0000", Code::kProtocolViolation, "fetch type 0"},
  };
  for (const auto& [decode, hex, code, why] : cases) {
    EXPECT_EQ(decode(Unhex(hex)), static_cast<uint64_t>(code)) << why;
  }
}

TEST(Messages, MakeTheirTrackMalformedWithoutEndingTheSession) {
  // Immutable properties within immutable ones make the track malformed, not the session.
  const auto nested = Publish::Decode(Unhex("00010161016205000b020b00"));
  ASSERT_FALSE(nested.ok());
  EXPECT_EQ(nested.error().scope(), Fault::Scope::kTrack);
}

TEST(Messages, RefuseLongReasonsAndUris) {
  RequestError error{RequestCode::kInternalError, {}, std::string(2000, 'r'), {}};
  EXPECT_EQ(RequestError::Decode(BodyOf(Hex(error.Encode())))->reason.size(), kReasonBytesMax);
  EXPECT_FALSE(RequestError::Decode(Unhex("0000") + Unhex("8401") + std::string(1025, 'r')).ok());
  const GoAway away{std::string(8193, 'u'), 0, 2};
  EXPECT_FALSE(GoAway::Decode(BodyOf(Hex(away.Encode())), true).ok());
  EXPECT_FALSE(GoAway::Decode(Unhex("0000"), true).ok());
  EXPECT_TRUE(GoAway::Decode(Unhex("0000"), false).ok());
}

TEST(Messages, ThatDoNotFitAreNotWritten) {
  Publish publish{0, ClockTrack(), 0, {}, {}};
  publish.properties = PropertiesBuilder()
                           .Bytes(0x3801, std::string(40000, 'a'))
                           .Bytes(0x3803, std::string(40000, 'b'))
                           .Build();
  EXPECT_EQ(publish.Encode().error().code(), ErrorCode::kTooLarge);
}

TEST(Setup, CarriesItsOptionsAndIgnoresOthers) {
  moqt::Setup setup;
  setup.path = "/kv?x=1";
  setup.authority = "node.example:4433";
  setup.implementation = "kvcast";
  setup.auth_token_cache_bytes_max = 100;
  setup.auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 1, "t"}};
  const auto read = moqt::Setup::Decode(BodyOf(Hex(setup.Encode())), Role::kClient);
  ASSERT_TRUE(read.ok()) << read.error().reason();
  EXPECT_EQ(*read, setup);
  // 0x9d and 0x0b are no options of ours; the latter is a property elsewhere.
  EXPECT_TRUE(moqt::Setup::Decode(Unhex("0b020b00809201000101"), Role::kClient).ok());
}

TEST(Setup, IsRefusedWithTheCodeThatTheDraftNames) {
  const struct {
    const char* hex;
    Role sender;
    SessionCode code;
  } cases[] = {
      {"01012f", Role::kServer, SessionCode::kInvalidPath},
      {"050161", Role::kServer, SessionCode::kInvalidAuthority},
      {"010161", Role::kClient, SessionCode::kMalformedPath},
      {"01022f20", Role::kClient, SessionCode::kMalformedPath},
      {"01032f2531", Role::kClient, SessionCode::kMalformedPath},
      {"0500", Role::kClient, SessionCode::kMalformedAuthority},
      {"05023a31", Role::kClient, SessionCode::kMalformedAuthority},
      {"03020200", Role::kClient, SessionCode::kProtocolViolation},
      {"030104", Role::kClient, SessionCode::kKeyValueFormattingError},
      {"01012f00012f", Role::kClient, SessionCode::kProtocolViolation},
      {"0101", Role::kClient, SessionCode::kProtocolViolation},
      {"01c10000", Role::kClient, SessionCode::kProtocolViolation},
      {"0401ffffffffffffffffff01", Role::kClient, SessionCode::kProtocolViolation},
  };
  for (const auto& [hex, sender, code] : cases) {
    const auto read = moqt::Setup::Decode(Unhex(hex), sender);
    ASSERT_FALSE(read.ok()) << hex;
    EXPECT_EQ(read.error().code(), static_cast<uint64_t>(code)) << hex;
  }
}

TEST(FrameReader, TakesBytesInAnyCut) {
  const std::string wire = Unhex("0700010016000200ff04000a") + std::string(10, 'x');
  for (size_t cut = 1; cut <= wire.size(); ++cut) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (size_t at = 0; at < wire.size(); at += cut) {
      std::span<const std::byte> in = AsBytes(std::string_view(wire).substr(at, cut));
      while (!in.empty()) {
        if (std::optional<Frame> frame = reader.Read(in)) {
          frames.push_back(*std::move(frame));
        }
      }
    }
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0].body, std::string(1, '\0'));
    EXPECT_EQ(frames[1].type, 0x16u);
    EXPECT_EQ(frames[2].body, std::string(10, 'x'));
    EXPECT_FALSE(reader.midway());
  }
}

}  // namespace
}  // namespace kvcast::moqt
