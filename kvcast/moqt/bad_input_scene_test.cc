#include "kvcast/moqt/bad_input_scene_test.h"

#include <utility>

namespace kvcast::moqt {

using draft::At;
using draft::Framed;
using draft::Num;
using draft::Sized;
using draft::Space;
using draft::Use;

namespace draft {

std::string PublishOf(uint64_t id, std::string_view name, uint64_t alias) {
  return Framed(0x1d, Num(id) + Space({"a"}) + Sized(name) + Num(alias) + Num(0));
}
std::string SubscribeOf(uint64_t id, std::string_view name) {
  return Framed(0x3, Num(id) + Space({"a"}) + Sized(name) + Num(0));
}
std::string FetchOf(uint64_t id) {
  return Framed(0x16, Num(id) + Num(1) + Space({"a"}) + Sized("f") + At(2, 3) + At(9, 0) + Num(0));
}

}  // namespace draft

namespace {

constexpr Location kFetchedFrom{2, 3};

TrackName Track() { return *TrackName::Of(*TrackNamespace::Of({"a"}), "b"); }
LocationRange Range() { return {kFetchedFrom, {9, LocationRange::kWholeGroup}}; }
TrackNamespace Prefix() { return *TrackNamespace::Of({"p", "q"}); }

class SceneList {
 public:
  explicit SceneList(bool at_server) : at_server_(at_server) {}

  // `requests` of the peer's have come before.
  Scene& Add(std::string name, Use use, uint64_t requests,
             std::function<StreamId(BytePeer&)> prepare) {
    Scene scene{std::move(name), use, std::move(prepare), {}, 0};
    scene.facts.at_server = at_server_;
    for (uint64_t n = 0; n < requests; ++n) {
      scene.facts.used_ids.insert(2 * n + (at_server_ ? 0 : 1));
    }
    scene.next_id = 2 * requests + (at_server_ ? 0 : 1);
    scenes_.push_back(std::move(scene));
    return scenes_.back();
  }
  std::vector<Scene> Take() { return std::move(scenes_); }

 private:
  bool at_server_;
  std::vector<Scene> scenes_;
};

// The peer's first message on a stream of its own.
void AddRequests(SceneList& list) {
  const auto fresh = [](BytePeer& peer) { return peer.SetUp().PeersRequest(0); };
  for (const Use use : {Use::kSubscribe, Use::kPublish, Use::kFetch, Use::kTrackStatus,
                        Use::kPublishNamespace, Use::kSubscribeNamespace, Use::kSubscribeTracks}) {
    list.Add("on a new stream", use, 0, fresh);
  }
  // Beside a subscription that a fetch may join.
  Scene& joining = list.Add("beside a subscription", Use::kFetch, 1, [](BytePeer& peer) {
    peer.SetUp().Send(peer.PeersRequest(0), draft::SubscribeOf(peer.PeersId(0), "b"));
    Parameters answer;
    answer.largest_object = Location{7, 9};
    KVCAST_CHECK(peer.session().AcceptSubscribe(peer.PeersId(0), answer, {}).ok());
    return peer.PeersRequest(1);
  });
  joining.facts.joinable = *joining.facts.used_ids.begin();
  joining.facts.joined_group = 7;
}

// What follows a request of the peer's on its stream.
void AddFollowers(SceneList& list) {
  const auto after_publish = [](BytePeer& peer) {
    peer.SetUp().Send(peer.PeersRequest(0), draft::PublishOf(peer.PeersId(0), "b", 7));
    KVCAST_CHECK(peer.session().AcceptPublish(peer.PeersId(0), {}).ok());
    return peer.PeersRequest(0);
  };
  const auto after_subscribe = [](BytePeer& peer) {
    peer.SetUp().Send(peer.PeersRequest(0), draft::SubscribeOf(peer.PeersId(0), "b"));
    KVCAST_CHECK(peer.session().AcceptSubscribe(peer.PeersId(0), {}, {}).ok());
    return peer.PeersRequest(0);
  };
  list.Add("after PUBLISH", Use::kGoAwayRequest, 1, after_publish);
  list.Add("after PUBLISH", Use::kPublishDone, 1, after_publish);
  list.Add("after PUBLISH", Use::kUpdateSubscription, 1, after_publish);
  list.Add("after SUBSCRIBE", Use::kUpdateSubscription, 1, after_subscribe);
  list.Add("after SUBSCRIBE", Use::kGoAwayRequest, 1, after_subscribe);
  list.Add("after FETCH", Use::kUpdateFetch, 1, [](BytePeer& peer) {
    peer.SetUp().Send(peer.PeersRequest(0), draft::FetchOf(peer.PeersId(0)));
    return peer.PeersRequest(0);
  });
  for (const auto& [type, use] : {std::pair(0x51u, Use::kUpdatePrefix),
                                  {0x50u, Use::kUpdatePrefix},
                                  {0x6u, Use::kUpdateAnnouncement}}) {
    const uint64_t kind = type;
    list.Add("after message " + std::to_string(type), use, 1, [kind](BytePeer& peer) {
      const std::string body = Num(peer.PeersId(0)) + Space({"n"}) + Num(0);
      peer.SetUp().Send(peer.PeersRequest(0), Framed(kind, body));
      return peer.PeersRequest(0);
    });
  }
}

// Answers to requests of ours.
void AddAnswers(SceneList& list) {
  const auto add = [&list](const char* name, Use use, const auto& ask, bool space = false) {
    const auto prepare = [ask](BytePeer& peer) {
      peer.SetUp();
      KVCAST_CHECK(ask(peer.session()).ok());
      return peer.OurRequest(0);
    };
    list.Add(name, Use::kRequestError, 0, prepare).facts.about_namespace = space;
    list.Add(name, Use::kGoAwayRequest, 0, prepare);
    Scene& ok = list.Add(name, use, 0, prepare);
    ok.facts.fetched_from = {kFetchedFrom.group, kFetchedFrom.object};
  };
  add("to SUBSCRIBE", Use::kSubscribeOk, [](Session& s) { return s.Subscribe(Track(), {}); });
  add("to PUBLISH", Use::kPublishOk, [](Session& s) { return s.Publish(Track(), {}, {}); });
  add("to FETCH", Use::kFetchOk, [](Session& s) { return s.Fetch(Track(), Range(), {}); });
  add("to TRACK_STATUS", Use::kTrackStatusOk,
      [](Session& s) { return s.AskTrackStatus(Track(), {}); });
  add("to SUBSCRIBE_TRACKS", Use::kNamespaceOk,
      [](Session& s) { return s.SubscribeTracks(Prefix(), {}); });
  add(
      "to SUBSCRIBE_NAMESPACE", Use::kNamespaceOk,
      [](Session& s) { return s.SubscribeNamespace(Prefix(), {}); }, true);
  add(
      "to PUBLISH_NAMESPACE", Use::kNamespaceOk,
      [](Session& s) { return s.PublishNamespace(Prefix(), {}); }, true);
}

// Answers to a change of ours.
void AddUpdateAnswers(SceneList& list) {
  const auto updated = [](BytePeer& peer) {
    peer.SetUp();
    const RequestId id = *peer.session().Subscribe(Track(), {});
    peer.Send(peer.OurRequest(0), Framed(0x4, Num(7) + Num(0)));
    Parameters change;
    change.forward = false;
    KVCAST_CHECK(peer.session().Update(id, change).ok());
    return peer.OurRequest(0);
  };
  list.Add("to REQUEST_UPDATE", Use::kUpdateOk, 0, updated);
  list.Add("to REQUEST_UPDATE", Use::kRequestError, 0, updated);
}

// What follows an answer to a request of ours.
void AddReports(SceneList& list) {
  list.Add("after SUBSCRIBE_OK", Use::kPublishDone, 0, [](BytePeer& peer) {
    peer.SetUp();
    KVCAST_CHECK(peer.session().Subscribe(Track(), {}).ok());
    peer.Send(peer.OurRequest(0), Framed(0x4, Num(7) + Num(0)));
    return peer.OurRequest(0);
  });
  list.Add("after PUBLISH_OK", Use::kUpdateSubscription, 0, [](BytePeer& peer) {
    peer.SetUp();
    KVCAST_CHECK(peer.session().Publish(Track(), {}, {}).ok());
    peer.Send(peer.OurRequest(0), Framed(0x7, Num(0)));
    return peer.OurRequest(0);
  });
  Scene& blocked =
      list.Add("after SUBSCRIBE_TRACKS_OK", Use::kPublishBlocked, 0, [](BytePeer& peer) {
        peer.SetUp();
        KVCAST_CHECK(peer.session().SubscribeTracks(Prefix(), {}).ok());
        peer.Send(peer.OurRequest(0), Framed(0x7, Num(0)));
        return peer.OurRequest(0);
      });
  blocked.facts.prefix = {"p", "q"};
  const auto discovering = [](BytePeer& peer) {
    peer.SetUp();
    KVCAST_CHECK(peer.session().SubscribeNamespace(Prefix(), {}).ok());
    peer.Send(peer.OurRequest(0), Framed(0x7, Num(0)));
    return peer.OurRequest(0);
  };
  list.Add("after SUBSCRIBE_NAMESPACE_OK", Use::kNamespace, 0, discovering).facts.prefix = {"p",
                                                                                            "q"};
  Scene& done = list.Add("after NAMESPACE", Use::kNamespaceDone, 0, [discovering](BytePeer& peer) {
    const StreamId stream = discovering(peer);
    peer.Send(stream, Framed(0x8, Space({"s"})));
    return stream;
  });
  done.facts.prefix = {"p", "q"};
  done.facts.announced = {{"s"}};
}

}  // namespace

std::vector<Scene> Scenes(bool at_server) {
  SceneList list(at_server);
  list.Add("first of all", Use::kSetup, 0, [](BytePeer& peer) { return peer.PeersControl(); });
  list.Add("after SETUP", Use::kGoAwayControl, 0, [](BytePeer& peer) {
    peer.SetUp();
    return peer.PeersControl();
  });
  AddRequests(list);
  AddFollowers(list);
  AddAnswers(list);
  AddUpdateAnswers(list);
  AddReports(list);
  return list.Take();
}

}  // namespace kvcast::moqt
