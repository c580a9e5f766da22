// A parameter of ours that may not stand in a message is not sent; the peer would end the session.
#include <gtest/gtest.h>

#include <functional>

#include "kvcast/moqt/session_pair.h"

namespace kvcast::moqt {
namespace {

const TrackNamespace kSpace = *TrackNamespace::Of({"a"});
const TrackName kTrack = *TrackName::Of(kSpace, "t");

// Each parameter alone.
std::vector<Parameters> EveryParameter() {
  std::vector<Parameters> all(13);
  all[0].object_delivery_timeout_ms = 1;
  all[1].auth_tokens = {{AuthToken::AliasType::kUseValue, 0, 9, "secret"}};
  all[2].rendezvous_timeout_ms = 300;
  all[3].subgroup_delivery_timeout_ms = 2;
  all[4].expires_ms = 3;
  all[5].largest_object = Location{1, 2};
  all[6].fill_timeout_ms = 4;
  all[7].forward = true;
  all[8].subscriber_priority = 255;
  all[9].filter = {SubscriptionFilter::Type::kLargestObject, {}, 0};
  all[10].group_order = GroupOrder::kDescending;
  all[11].new_group_request = 0;
  all[12].namespace_prefix = *TrackNamespace::Of({"b"});
  return all;
}

// A kind of request, and how it is accepted.
struct Kind {
  const char* name;
  std::function<Result<RequestId>(Session&, const Parameters&)> ask;
  std::function<Result<void>(Session&, RequestId, const Parameters&)> accept;
};

std::vector<Kind> Kinds() {
  const Properties dynamic = PropertiesBuilder().Number(0x30, 1).Build();
  const LocationRange range = LocationRange::Groups(0, 9);
  return {
      {"SUBSCRIBE", [](Session& s, const Parameters& p) { return s.Subscribe(kTrack, p); },
       [dynamic](Session& s, RequestId id, const Parameters& p) {
         return s.AcceptSubscribe(id, p, dynamic);
       }},
      {"PUBLISH",
       [dynamic](Session& s, const Parameters& p) { return s.Publish(kTrack, p, dynamic); },
       [](Session& s, RequestId id, const Parameters& p) { return s.AcceptPublish(id, p); }},
      {"FETCH", [range](Session& s, const Parameters& p) { return s.Fetch(kTrack, range, p); },
       [](Session& s, RequestId id, const Parameters& p) {
         return s.AcceptFetch(id, FetchOk{false, {9, 9}, p, {}});
       }},
      {"TRACK_STATUS", [](Session& s, const Parameters& p) { return s.AskTrackStatus(kTrack, p); },
       [](Session& s, RequestId id, const Parameters& p) {
         return s.AnswerTrackStatus(id, p, {});
       }},
      {"PUBLISH_NAMESPACE",
       [](Session& s, const Parameters& p) { return s.PublishNamespace(kSpace, p); },
       [](Session& s, RequestId id, const Parameters& p) {
         return s.AcceptPublishNamespace(id, p);
       }},
      {"SUBSCRIBE_NAMESPACE",
       [](Session& s, const Parameters& p) { return s.SubscribeNamespace(kSpace, p); },
       [](Session& s, RequestId id, const Parameters& p) {
         return s.AcceptSubscribeNamespace(id, p);
       }},
      {"SUBSCRIBE_TRACKS",
       [](Session& s, const Parameters& p) { return s.SubscribeTracks(kSpace, p); },
       [](Session& s, RequestId id, const Parameters& p) {
         return s.AcceptSubscribeTracks(id, p);
       }},
  };
}

// A command is either refused, with nothing sent, or the peer takes what it sends.
class ParameterPlaces {
 public:
  template <typename Command>
  void Try(SessionPair& pair, Session& session, const std::string& what, Command command) {
    pair.Run();
    const bool sent = command().ok();
    EXPECT_EQ(session.NextAction().has_value() && !sent, false) << what;
    pair.Run();
    EXPECT_FALSE(pair.connection_closed()) << what;
    ++(sent ? sent_ : refused_);
  }
  size_t sent() const { return sent_; }
  size_t refused() const { return refused_; }

 private:
  size_t sent_ = 0;
  size_t refused_ = 0;
};

TEST(Parameters, OfOursAreSentOnlyWhereTheyMayStand) {
  ParameterPlaces requests;
  ParameterPlaces answers;
  ParameterPlaces updates;
  ParameterPlaces update_answers;
  size_t number = 0;
  for (const Parameters& parameters : EveryParameter()) {
    for (const Kind& kind : Kinds()) {
      const std::string what = kind.name + std::string(", parameter ") + std::to_string(number);
      SessionPair asking;
      requests.Try(asking, asking.client(), what,
                   [&] { return kind.ask(asking.client(), parameters); });
      SessionPair answering;
      const RequestId asked = *kind.ask(answering.client(), {});
      answers.Try(answering, answering.server(), "the answer to " + what,
                  [&] { return kind.accept(answering.server(), asked, parameters); });
      if (kind.name == std::string("TRACK_STATUS")) {
        continue;  // It cannot be changed.
      }
      SessionPair changing;
      const RequestId changed = *kind.ask(changing.client(), {});
      changing.Run();
      ASSERT_TRUE(kind.accept(changing.server(), changed, {}).ok());
      updates.Try(changing, changing.client(), "an update of " + what,
                  [&] { return changing.client().Update(changed, parameters); });
      SessionPair granting;
      const RequestId granted = *kind.ask(granting.client(), {});
      granting.Run();
      ASSERT_TRUE(kind.accept(granting.server(), granted, {}).ok());
      granting.Run();
      ASSERT_TRUE(granting.client().Update(granted, {}).ok());
      update_answers.Try(granting, granting.server(), "the answer to an update of " + what,
                         [&] { return granting.server().AcceptUpdate(granted, parameters); });
    }
    ++number;
  }
  // As the draft's table of parameters has them.
  EXPECT_EQ(requests.sent(), 9u + 4u + 4u + 1u + 1u + 1u + 2u);
  EXPECT_EQ(answers.sent(), 2u + 8u + 0u + 2u);
  EXPECT_EQ(updates.sent(), 7u + 7u + 4u + 3u + 4u + 4u);
  EXPECT_EQ(update_answers.sent(), 6u * 2u);
  EXPECT_GT(requests.refused() + answers.refused() + updates.refused(), 190u);
}

}  // namespace
}  // namespace kvcast::moqt
