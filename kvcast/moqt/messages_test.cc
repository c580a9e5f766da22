#include "kvcast/moqt/messages.h"

#include <gtest/gtest.h>

#include "kvcast/moqt/codec_test.h"
#include "kvcast/moqt/draft_wire_test.h"
#include "kvcast/moqt/frame.h"

namespace kvcast::moqt {
namespace {

using draft::Framed;

TrackName ClockTrack() { return *TrackName::Of(*TrackNamespace::Of({"clock", "demo"}), "now"); }

// What another implementation sent: read, and written back byte for byte.
TEST(Messages, AreThoseThatAnotherImplementationSends) {
  const std::string_view setup = "af0000140712696d7175696320302e302e322f616c706861";
  const auto read_setup = ReadAs<moqt::Setup>(Unhex(setup), OnControl(Role::kServer));
  ASSERT_TRUE(read_setup.ok());
  EXPECT_EQ(read_setup->implementation, "imquic 0.0.2/alpha");
  EXPECT_EQ(Hex(*read_setup), setup);

  const std::string_view subscribe = "03001b000205636c6f636b0464656d6f036e6f7704100110800101020101";
  const auto read_subscribe = ReadAs<Subscribe>(Unhex(subscribe));
  ASSERT_TRUE(read_subscribe.ok());
  EXPECT_EQ(read_subscribe->track, ClockTrack());
  EXPECT_EQ(read_subscribe->parameters.forward, true);
  EXPECT_EQ(read_subscribe->parameters.subscriber_priority, 128);
  EXPECT_EQ(read_subscribe->parameters.filter->type, SubscriptionFilter::Type::kLargestObject);
  EXPECT_EQ(read_subscribe->parameters.group_order, GroupOrder::kAscending);
  EXPECT_EQ(Hex(*read_subscribe), subscribe);

  const std::string_view ok = "0400020000";
  EXPECT_EQ(Hex(*ReadAs<SubscribeOk>(Unhex(ok), Within(MessageKind::kSubscribe))), ok);
  EXPECT_EQ(Hex(*ReadAs<RequestOk>(Unhex("07000100"), Within(MessageKind::kPublish))), "07000100");

  const std::string_view done = "0b001103010e5075626c6973686572206c656674";
  const auto read_done = ReadAs<PublishDone>(Unhex(done), Within(MessageKind::kSubscribe));
  ASSERT_TRUE(read_done.ok());
  EXPECT_EQ(read_done->code, DoneCode::kSubscriptionEnded);
  EXPECT_EQ(read_done->streams, 1u);
  EXPECT_EQ(read_done->reason, "Publisher left");
  EXPECT_EQ(Hex(*read_done), done);
}

// Request 4 for everything below ("clock"), not to be forwarded yet; then a track below it.
TEST(Messages, AskForTheTracksBelowAPrefix) {
  const std::string_view hex = "51000b040105636c6f636b011000";
  const auto read = ReadAs<SubscribeTracks>(Unhex(hex));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->request_id, 4u);
  EXPECT_EQ(read->prefix, *TrackNamespace::Of({"clock"}));
  EXPECT_EQ(read->parameters.forward, false);
  EXPECT_EQ(Hex(*read), hex);

  const std::string_view blocked = "0f000a010464656d6f036e6f77";
  const auto read_blocked =
      ReadAs<PublishBlocked>(Unhex(blocked), Within(MessageKind::kSubscribeTracks));
  ASSERT_TRUE(read_blocked.ok());
  EXPECT_EQ(read_blocked->track, *TrackName::Of(*TrackNamespace::Of({"demo"}), "now"));
  EXPECT_EQ(Hex(*read_blocked), blocked);

  // All tracks of the peer's.
  EXPECT_EQ(ReadAs<SubscribeTracks>(Framed(0x51, Unhex("000000")))->prefix, TrackNamespace());
}

// It writes 2^62 - 1 in more bytes than are needed, which we do not.
TEST(Messages, ReadAFetchOfWholeGroups) {
  const auto fetch = ReadAs<Fetch>(
      Unhex("16002300010205636c6f636b0464656d6f036e6f770000ff3fffffffffffffff000220800201"));
  ASSERT_TRUE(fetch.ok());
  EXPECT_EQ(fetch->track, ClockTrack());
  EXPECT_EQ(fetch->range, LocationRange::Groups(0, (uint64_t{1} << 62) - 1));
  EXPECT_EQ(fetch->order(), GroupOrder::kAscending);
  const auto again = ReadAs<Fetch>(Unhex(Hex(*fetch)));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->range, fetch->range);

  const auto ok = ReadAs<FetchOk>(Unhex("18000400010500"), Within(MessageKind::kFetch));
  ASSERT_TRUE(ok.ok());
  EXPECT_EQ(ok->last, (Location{1, 4}));
  EXPECT_EQ(Hex(*ok), "18000400010500");
}

TEST(Messages, WriteTheEndOfAFetchAsOnePastIt) {
  Fetch fetch;
  fetch.track = *TrackName::Of({}, "t");
  fetch.range = {{2, 3}, {4, 5}};
  EXPECT_EQ(Hex(fetch), "16000a00010001740203040600");
  const auto single = ReadAs<Fetch>(Framed(0x16, Unhex("00010001740203020300")));
  ASSERT_TRUE(single.ok());
  EXPECT_TRUE(single->range.empty());  // Refused as a range; the session goes on.
}

TEST(Messages, KeepUnknownPropertiesByteForByte) {
  Publish publish{4, ClockTrack(), 7, {}, *Properties::Parse(Unhex("02800580fd03616263"))};
  publish.parameters.largest_object = Location{3, 9};
  publish.parameters.forward = false;
  const auto read = ReadAs<Publish>(Unhex(Hex(publish)));
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
  const auto read = ReadAs<Subscribe>(Unhex(Hex(subscribe)));
  ASSERT_TRUE(read.ok()) << read.error().reason();
  EXPECT_EQ(read->parameters, all);

  Parameters update;
  update.namespace_prefix = *TrackNamespace::Of({"a"});
  const RequestUpdate message{8, update};
  EXPECT_EQ(
      ReadAs<RequestUpdate>(Unhex(Hex(message)), Within(MessageKind::kSubscribeTracks))->parameters,
      update);
}

TEST(Messages, CarryErrorsWithRetryAndRedirect) {
  RequestError error{RequestCode::kExcessiveLoad, 0, "busy", {}};
  EXPECT_EQ(Hex(error), "05000709010462757379");
  EXPECT_EQ(ReadAs<RequestError>(Unhex("05000709010462757379"), Within(MessageKind::kSubscribe))
                ->retry_after_ms,
            0u);
  error = {RequestCode::kRedirect, std::nullopt, "", Redirect{"moqt://b", ClockTrack()}};
  const auto read = ReadAs<RequestError>(Unhex(Hex(error)), Within(MessageKind::kSubscribe));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->redirect->uri, "moqt://b");
  EXPECT_EQ(read->redirect->track, ClockTrack());
  // A code from the future is an error like any other.
  EXPECT_TRUE(
      ReadAs<RequestError>(Framed(0x05, Unhex("80fd0000")), Within(MessageKind::kSubscribe)).ok());
}

// The code that a message's body is refused with, if it is.
std::optional<uint64_t> CodeOf(uint64_t type, std::string_view body, const MessagePlace& place) {
  const auto read = DefaultCodec().Decode(Framed(type, body), place);
  return read.ok() ? std::optional<uint64_t>() : read.error().code();
}

TEST(Messages, AreRefusedWithTheCodeThatTheDraftNames) {
  constexpr uint64_t subscribe = 0x03;
  constexpr uint64_t publish = 0x1d;
  constexpr uint64_t fetch = 0x16;
  constexpr uint64_t tracks = 0x51;
  constexpr uint64_t blocked = 0x0f;
  using Code = SessionCode;
  const struct {
    uint64_t type;
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
  for (const auto& [type, hex, code, why] : cases) {
    const MessagePlace place =
        type == blocked ? Within(MessageKind::kSubscribeTracks) : MessagePlace();
    EXPECT_EQ(CodeOf(type, Unhex(hex), place), static_cast<uint64_t>(code)) << why;
  }
}

TEST(Messages, MakeTheirTrackMalformedWithoutEndingTheSession) {
  // Immutable properties within immutable ones make the track malformed, not the session.
  const auto nested = ReadAs<Publish>(Framed(0x1d, Unhex("00010161016205000b020b00")));
  ASSERT_TRUE(nested.ok());
  EXPECT_TRUE(nested->malformed);
  EXPECT_EQ(nested->alias, 5u);
  const auto answer =
      ReadAs<SubscribeOk>(Framed(0x04, Unhex("05000b020b00")), Within(MessageKind::kSubscribe));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().scope(), Fault::Scope::kTrack);
}

TEST(Messages, RefuseLongReasonsAndUris) {
  RequestError error{RequestCode::kInternalError, {}, std::string(2000, 'r'), {}};
  EXPECT_EQ(ReadAs<RequestError>(Unhex(Hex(error)), Within(MessageKind::kSubscribe))->reason.size(),
            kReasonBytesMax);
  EXPECT_FALSE(
      ReadAs<RequestError>(Framed(0x05, Unhex("0000") + Unhex("8401") + std::string(1025, 'r')),
                           Within(MessageKind::kSubscribe))
          .ok());
  const GoAway away{std::string(8193, 'u'), 0, 2};
  EXPECT_FALSE(ReadAs<GoAway>(Unhex(Hex(away)), OnControl(Role::kServer)).ok());
  EXPECT_FALSE(ReadAs<GoAway>(Framed(0x10, Unhex("0000")), OnControl(Role::kServer)).ok());
  EXPECT_TRUE(ReadAs<GoAway>(Framed(0x10, Unhex("0000")), Within(MessageKind::kFetch)).ok());
}

TEST(Messages, ThatDoNotFitAreNotWritten) {
  Publish publish{0, ClockTrack(), 0, {}, {}};
  publish.properties = PropertiesBuilder()
                           .Bytes(0x3801, std::string(40000, 'a'))
                           .Bytes(0x3803, std::string(40000, 'b'))
                           .Build();
  EXPECT_EQ(DefaultCodec().Encode(publish).error().code(), ErrorCode::kTooLarge);
}

TEST(Setup, CarriesItsOptionsAndIgnoresOthers) {
  moqt::Setup setup;
  setup.path = "/kv?x=1";
  setup.authority = "node.example:4433";
  setup.implementation = "kvcast";
  setup.auth_token_cache_bytes_max = 100;
  setup.auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 1, "t"}};
  const auto read = ReadAs<moqt::Setup>(Unhex(Hex(setup)), OnControl(Role::kClient));
  ASSERT_TRUE(read.ok()) << read.error().reason();
  EXPECT_EQ(*read, setup);
  // 0x9d and 0x0b are no options of ours; the latter is a property elsewhere.
  EXPECT_TRUE(
      ReadAs<moqt::Setup>(Framed(0x2f00, Unhex("0b020b00809201000101")), OnControl(Role::kClient))
          .ok());
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
    const auto read = ReadAs<moqt::Setup>(Framed(0x2f00, Unhex(hex)), OnControl(sender));
    ASSERT_FALSE(read.ok()) << hex;
    EXPECT_EQ(read.error().code(), static_cast<uint64_t>(code)) << hex;
  }
}

// Which streams a message may come on is the draft's table; so is where an update stands.
TEST(Messages, MayStandOnlyOnTheirStreams) {
  const std::string goaway = Framed(0x10, Unhex("0000"));
  const std::string subscribe = Framed(0x03, Unhex("00010161016200"));
  const std::string ok = Framed(0x07, Unhex("00"));
  const MessagePlace control = OnControl(Role::kClient);
  const MessagePlace first;
  const MessagePlace later = Within(MessageKind::kPublish);
  EXPECT_TRUE(DefaultCodec().Decode(subscribe, first).ok());
  EXPECT_FALSE(DefaultCodec().Decode(subscribe, later).ok());
  EXPECT_FALSE(DefaultCodec().Decode(subscribe, control).ok());
  EXPECT_TRUE(DefaultCodec().Decode(ok, later).ok());
  EXPECT_FALSE(DefaultCodec().Decode(ok, first).ok());
  EXPECT_FALSE(DefaultCodec().Decode(ok, control).ok());
  EXPECT_TRUE(DefaultCodec().Decode(goaway, later).ok());
  EXPECT_FALSE(DefaultCodec().Decode(goaway, first).ok());
  EXPECT_FALSE(DefaultCodec().Decode(Framed(0x1e, Unhex("00")), later).ok());  // Unknown.
  // Only a prefix can be changed that there is.
  const std::string prefix = Framed(0x02, Unhex("00013400"));
  EXPECT_TRUE(DefaultCodec().Decode(prefix, Within(MessageKind::kSubscribeNamespace)).ok());
  EXPECT_FALSE(DefaultCodec().Decode(prefix, Within(MessageKind::kPublishNamespace)).ok());
  EXPECT_FALSE(DefaultCodec().Decode(prefix, Within(MessageKind::kFetch)).ok());
}

TEST(Messages, TellOfNamespaces) {
  const std::string_view hex = "06000e000205636c6f636b0464656d6f00";
  const auto read = ReadAs<PublishNamespace>(Unhex(hex));  // As another implementation sends it.
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->space, *TrackNamespace::Of({"clock", "demo"}));
  EXPECT_EQ(Hex(*read), hex);
  EXPECT_EQ(Hex(SubscribeNamespace{2, *TrackNamespace::Of({"a"}), {}}),
            "50000502010161"
            "00");
  EXPECT_EQ(Hex(Namespace{*TrackNamespace::Of({"b"})}), "080003010162");
  EXPECT_EQ(Hex(NamespaceDone{{}}), "0e000100");
  const MessagePlace place = Within(MessageKind::kSubscribeNamespace);
  EXPECT_EQ(ReadAs<Namespace>(Unhex("080003010162"), place)->below, *TrackNamespace::Of({"b"}));
  EXPECT_EQ(ReadAs<NamespaceDone>(Unhex("0e000100"), place)->below, TrackNamespace());
}

TEST(Codec, IsChosenByWhatTheHandshakeAgreedOn) {
  ASSERT_NE(CodecFor("moqt-18"), nullptr);
  EXPECT_EQ(CodecFor("moqt-18")->alpn(), "moqt-18");
  EXPECT_EQ(CodecFor("moqt-99"), nullptr);
  EXPECT_EQ(CodecFor(DefaultCodec().alpn()), &DefaultCodec());
  EXPECT_EQ(SpokenAlpns().front(), DefaultCodec().alpn());
  for (const std::string& alpn : SpokenAlpns()) {
    ASSERT_NE(CodecFor(alpn), nullptr);
    EXPECT_EQ(CodecFor(alpn)->alpn(), alpn);
  }
}

TEST(FrameReader, TakesBytesInAnyCut) {
  const std::string wire = Unhex("0700010016000200ff04000a") + std::string(10, 'x');
  for (size_t cut = 1; cut <= wire.size(); ++cut) {
    FrameReader reader(DefaultCodec());
    std::vector<std::string> frames;
    for (size_t at = 0; at < wire.size(); at += cut) {
      std::span<const std::byte> in = AsBytes(std::string_view(wire).substr(at, cut));
      while (!in.empty()) {
        if (std::optional<std::string> frame = reader.Read(in)) {
          frames.push_back(*std::move(frame));
        }
      }
    }
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[0], Unhex("07000100"));
    EXPECT_EQ(frames[1], Unhex("16000200ff"));
    EXPECT_EQ(frames[2], Unhex("04000a") + std::string(10, 'x'));
    EXPECT_FALSE(reader.midway());
  }
}

}  // namespace
}  // namespace kvcast::moqt
