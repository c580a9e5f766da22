#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kvcast/catalog/acknowledgement.h"
#include "kvcast/catalog/catalog_track.h"
#include "kvcast/catalog/writer.h"
#include "kvcast/client/engine_memory_test.h"
#include "kvcast/codec/codec.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// What a test wants a node to do wrong.
struct NodeScript {
  bool refuse_tracks = false;
  bool silent_on_tracks = false;
  bool refuse_publish = false;
  bool silent_on_publish = false;
  size_t publishes_answered = SIZE_MAX;  // And is silent on those that come after.
  bool hold_publish = false;             // Accepts, but wants no objects for now.
  std::optional<moqt::SubscriptionFilter> publish_filter{};  // Wants only some objects.
  std::function<void(const moqt::PublishDone&)> on_publish_done;
  // Subscribes to a track of this name in every namespace that it is told of, once with each of
  // these, and anew when the one before is done.
  std::string wanted_name = {};
  std::vector<moqt::SubscriptionFilter> wanted_filters = {};
  bool asks_everything = false;  // A request of each kind, as soon as there is a session.
  std::function<void(const moqt::RequestError&)> on_refused = {};
  bool give_up_publish = false;
  bool never_list = false;
  bool refuse_acks = false;
  // What it tells at once of a namespace of which it holds something, on that track.
  std::map<TrackName, std::vector<AckRecord>> recalled = {};
  bool refuse_fetch = false;
  bool silent_on_fetch = false;
  bool silent_on_catalogs = false;
  moqt::RequestCode refusal = moqt::RequestCode::kUnauthorized;
  // Changes what a fetch of a cache's track brings.
  std::function<void(std::vector<moqt::FetchItem>&)> alter;
  // Resets the answer after so many items; at once, so that they may never arrive, or when they
  // have.
  std::optional<size_t> reset_after;
  bool reset_at_once = false;
  bool accept_fetch_last = false;  // Once its items have left.
  // Leaves the answer open after its last item.
  bool never_end = false;
  bool tells_nothing = false;   // Of a track, in its answers to fetches.
  bool hold_fetches = false;    // Of caches, until ServeHeld().
  bool refuse_live = false;     // To subscribe to a cache's track.
  bool silent_on_live = false;  // And says nothing of it.
  // Changes the payload of a catalog's object as it is fetched.
  std::function<void(Object&)> alter_catalog;
};

// A node as simple as can be, on the server's end of a session: keeps what is published, lists it,
// and gives it back; or does what its script says instead.
class ScriptedNode {
 public:
  using Groups = std::map<uint64_t, std::vector<Object>>;

  explicit ScriptedNode(moqt::Session& session) : session_(&session) { Catalog(); }

  NodeScript script;

  // Deals with everything that has come.
  void OnInput() {
    for (const moqt::RequestId request : std::exchange(resets_, {})) {
      (void)session_->ResetFetch(request, moqt::ResetCode::kInternalError);
    }
    if (accept_last_ && session_->queued_bytes(accept_last_->request) == 0) {
      AcceptFetch(*std::exchange(accept_last_, std::nullopt));
    }
    while (std::optional<moqt::Event> event = session_->NextEvent()) {
      std::visit([&](const auto& any) { On(any); }, *event);
    }
    SendCatalog();
  }

  // Holds a prompt's blocks as if somebody had published them.
  TrackName Hold(const EngineMemory& memory, const std::vector<BlockHash>& blocks, size_t first,
                 size_t count, uint8_t generation = 1, Rung rung = Rung::kBf16) {
    TrackName track = TestKind(rung).TrackOf(blocks.back(), {std::byte{generation}}).Name();
    const auto codec = Codec::Plain(rung, TestShape());
    for (size_t block = first; block < first + count; ++block) {
      const std::vector<Bytes> payloads = codec->EncodeBlock(memory.Pages().Block(block));
      for (size_t token = 0; token < payloads.size(); ++token) {
        Object object;
        object.location = {block, token};
        object.properties = token == 0 ? BlockHashProperties(blocks[block]) : Properties();
        object.payload = payloads[token];
        tracks_[track][block].push_back(std::move(object));
      }
      List(track, block);
    }
    SendCatalog();
    return track;
  }
  // Holds what another one has got of a track.
  void Take(const TrackName& track, const Groups& groups) {
    tracks_[track] = groups;
    for (const auto& [group, objects] : groups) {
      List(track, group);
    }
    SendCatalog();
  }
  // As if a publisher were at work: so many objects of a block come, from this one on; they go to
  // who follows the track, and the block is listed once it is whole, unless it is to be unlisted.
  TrackName Live(const EngineMemory& memory, const std::vector<BlockHash>& blocks, size_t block,
                 uint32_t first = 0, uint32_t count = kTestBlockTokens, uint8_t generation = 1,
                 Rung rung = Rung::kBf16) {
    TrackName track = TestKind(rung).TrackOf(blocks.back(), {std::byte{generation}}).Name();
    const std::vector<Bytes> payloads =
        Codec::Plain(rung, TestShape())->EncodeBlock(memory.Pages().Block(block));
    for (uint32_t token = first; token < first + count; ++token) {
      Object object;
      object.location = {block, token};
      object.properties = token == 0 ? BlockHashProperties(blocks[block]) : Properties();
      object.payload = payloads[token];
      tracks_[track][block].push_back(object);
      SendLive(track, object);
    }
    if (first + count == kTestBlockTokens) {
      EndLiveGroup(track, block);
      if (!script.never_list) {
        List(track, block);
        SendCatalog();
      }
    }
    return track;
  }
  // To who follows the track, and nobody else.
  void SendLive(const TrackName& track, const Object& object) {
    const auto follower = followers_.find(track);
    if (follower == followers_.end()) {
      return;
    }
    auto& [request, streams] = follower->second;
    if (!streams.contains(object.location.group)) {
      moqt::SubgroupHeader header;
      header.group = object.location.group;
      header.properties = true;
      header.end_of_group = true;
      header.first_object = object.location.object == 0;
      streams[object.location.group] = *session_->OpenSubgroup(request, header);
    }
    (void)session_->SendObject(request, streams[object.location.group], object);
  }
  void EndLiveGroup(const TrackName& track, uint64_t group, bool whole = true) {
    const auto follower = followers_.find(track);
    if (follower == followers_.end() || !follower->second.streams.contains(group)) {
      return;
    }
    const auto stream = follower->second.streams.extract(group).mapped();
    if (whole) {
      (void)session_->EndSubgroup(follower->second.request, stream);
    } else {
      (void)session_->ResetSubgroup(follower->second.request, stream,
                                    moqt::ResetCode::kInternalError);
    }
  }
  void EndLive(const TrackName& track, moqt::DoneCode code = moqt::DoneCode::kTrackEnded) {
    ended_.insert(track);
    if (const auto follower = followers_.find(track); follower != followers_.end()) {
      (void)session_->EndTrack(follower->second.request, code, "by script");
      followers_.erase(follower);
    }
  }
  void ServeHeld() {
    for (const moqt::FetchReceived& asked : std::exchange(held_fetches_, {})) {
      Serve(asked);
    }
  }
  bool has_follower(const TrackName& track) const { return followers_.contains(track); }
  std::optional<moqt::RequestId> follower(const TrackName& track) const {
    const auto found = followers_.find(track);
    return found == followers_.end() ? std::nullopt : std::optional(found->second.request);
  }
  size_t follows() const { return follows_; }
  void Evict(const TrackName& track, uint64_t group, bool unlist = true) {
    tracks_[track].erase(group);
    if (unlist) {
      writer_.Remove(track, group);
      SendCatalog();
    }
  }
  void StartEpoch() {
    writer_.StartEpoch();
    SendCatalog();
  }
  // The catalog's track ends, as when a node shuts down.
  void EndCatalog() {
    (void)session_->EndTrack(*catalog_, moqt::DoneCode::kGoingAway, "leaving");
    catalog_.reset();
  }
  // A node that has started again offers another catalog.
  void Restart(uint8_t boot) {
    boot_ = boot;
    writer_ = CatalogWriter();
    epoch_.clear();
    tracks_.clear();
    catalog_.reset();
    catalog_stream_.reset();
    Catalog();
    OfferCatalog();
  }
  // Tells who follows the acknowledgements. REQUIRES: somebody does.
  void Acknowledge(const std::vector<AckRecord>& records) {
    if (!ack_stream_) {
      moqt::SubgroupHeader header;
      header.first_object = true;
      ack_stream_ = *session_->OpenSubgroup(*acks_, header);
    }
    Object object;
    object.location = {0, next_ack_++};
    object.payload = EncodeAcks(records);
    (void)session_->SendObject(*acks_, *ack_stream_, object);
  }
  bool has_ack_follower() const { return acks_.has_value(); }
  size_t ack_follows() const { return ack_follows_; }
  const Properties& published_properties() const { return published_properties_; }
  // Loses the next live object of the catalog.
  void LoseLive() { lose_live_ = true; }

  const std::map<TrackName, Groups>& tracks() const { return tracks_; }
  const std::vector<moqt::FetchReceived>& fetches() const { return fetches_; }
  // All that it had to say to those has left.
  bool fetches_have_left() const {
    return std::ranges::all_of(fetches_, [&](const moqt::FetchReceived& asked) {
      return session_->queued_bytes(asked.request) == 0;
    });
  }
  size_t cancelled() const { return cancelled_; }
  size_t publishes() const { return publishes_; }
  std::optional<moqt::RequestId> last_publish() const { return last_publish_; }

 private:
  template <typename T>
  void On(const T&) {}
  void On(const moqt::RequestCancelled& cancelled) {
    ++cancelled_;
    std::erase_if(followers_,
                  [&](const auto& each) { return each.second.request == cancelled.request; });
  }
  void On(const moqt::SetupDone&) {
    if (script.asks_everything) {
      const TrackName track = *TrackName::Parse("no-such--track");
      (void)session_->Subscribe(track, {});
      (void)session_->Fetch(track, {{0, 0}, {1, 1}}, {});
      (void)session_->AskTrackStatus(track, {});
      (void)session_->Publish(track, {}, {});
      (void)session_->PublishNamespace(track.space(), {});
      (void)session_->SubscribeNamespace(track.space(), {});
      (void)session_->SubscribeTracks(track.space(), {});
    }
  }
  void On(const moqt::RequestRefused& refused) {
    if (script.on_refused) {
      script.on_refused(refused.error);
    }
  }

  void On(const moqt::SubscribeTracksReceived& asked) {
    if (script.refuse_tracks) {
      Refuse(asked.request);
    } else if (!script.silent_on_tracks) {
      (void)session_->AcceptSubscribeTracks(asked.request, {});
      subscribed_ = true;
      scope_ = *TrackNamespace::Of({asked.prefix.field(0), asked.prefix.field(1)});
      OfferCatalog();
    }
  }
  void On(const moqt::SubscribeReceived& asked) {
    if (asked.track.name() != kAckTrackName) {
      OnFollow(asked);
      return;
    }
    if (script.refuse_acks) {
      Refuse(asked.request);
      return;
    }
    (void)session_->AcceptSubscribe(asked.request, {}, {});
    ++ack_follows_;
    const auto recalled = script.recalled.find(asked.track);
    if (recalled == script.recalled.end()) {
      acks_ = asked.request;
      ack_stream_.reset();
    } else if (!recalled->second.empty()) {
      Recall(asked.request, recalled->second);
    }
  }
  void Recall(moqt::RequestId request, const std::vector<AckRecord>& records) {
    moqt::SubgroupHeader header;
    header.first_object = true;
    const moqt::StreamId stream = *session_->OpenSubgroup(request, header);
    Object object;
    for (size_t first = 0; first < records.size(); first += 1000) {
      const size_t last = std::min(records.size(), first + 1000);
      object.location = {0, first / 1000};
      object.payload = EncodeAcks({records.begin() + static_cast<ptrdiff_t>(first),
                                   records.begin() + static_cast<ptrdiff_t>(last)});
      (void)session_->SendObject(request, stream, object);
    }
  }
  void On(const moqt::PublishReceived& offered) {
    ++publishes_;
    published_properties_ = offered.properties;
    properties_[offered.track] = offered.properties;
    last_publish_ = offered.request;
    if (publishes_ > script.publishes_answered) {
      return;
    }
    if (script.refuse_publish) {
      Refuse(offered.request);
    } else if (!script.silent_on_publish) {
      moqt::Parameters parameters;
      parameters.forward = script.hold_publish ? std::optional(false) : std::nullopt;
      parameters.filter = script.publish_filter;
      (void)session_->AcceptPublish(offered.request, parameters);
      publications_.emplace(offered.request, offered.track);
    }
  }
  void On(const moqt::PublishDoneReceived& event) {
    if (script.on_publish_done) {
      script.on_publish_done(event.done);
    }
  }
  void On(const moqt::PublishNamespaceReceived& told) {
    (void)session_->AcceptPublishNamespace(told.request, {});
    space_ = told.space;
    SubscribeNext();
  }
  void SubscribeNext() {
    if (next_filter_ < script.wanted_filters.size()) {
      moqt::Parameters parameters;
      parameters.filter = script.wanted_filters[next_filter_++];
      const TrackName track = *TrackName::Of(*space_, script.wanted_name);
      publications_.emplace(*session_->Subscribe(track, parameters), track);
    }
  }
  void On(const moqt::ObjectsReady& ready) {
    const auto found = publications_.find(ready.request);
    while (std::optional<moqt::Received> item = session_->Take(ready.request)) {
      if (found == publications_.end()) {
        continue;
      }
      if (auto* object = std::get_if<moqt::ReceivedObject>(&*item)) {
        if (script.give_up_publish) {
          session_->Cancel(ready.request, moqt::ResetCode::kExcessiveLoad);
          return;
        }
        tracks_[found->second][object->object.location.group].push_back(object->object);
        SendLive(found->second, object->object);
      } else if (auto* end = std::get_if<moqt::SubgroupEnd>(&*item)) {
        EndLiveGroup(found->second, end->group, end->complete);
        if (end->complete && end->end_of_group && !script.never_list) {
          List(found->second, end->group);
        }
      } else if (std::holds_alternative<moqt::TrackEnd>(*item) && space_) {
        SubscribeNext();
      }
    }
  }
  void On(const moqt::FetchReceived& asked) {
    if (CatalogTrack::Parse(asked.track).ok()) {
      if (!script.silent_on_catalogs) {
        ServeCatalog(asked);
      }
      return;
    }
    fetches_.push_back(asked);
    if (script.hold_fetches) {
      held_fetches_.push_back(asked);
    } else if (script.refuse_fetch) {
      Refuse(asked.request);
    } else if (!script.silent_on_fetch) {
      Serve(asked);
    }
  }

  void OnFollow(const moqt::SubscribeReceived& asked) {
    ++follows_;
    if (script.refuse_live) {
      Refuse(asked.request);
    } else if (!script.silent_on_live) {
      moqt::Parameters parameters;
      if (!tracks_[asked.track].empty()) {
        parameters.largest_object = tracks_[asked.track].rbegin()->second.back().location;
      }
      (void)session_->AcceptSubscribe(asked.request, parameters, properties_[asked.track]);
      followers_[asked.track] = {asked.request, {}};
      if (ended_.contains(asked.track)) {
        EndLive(asked.track);
      }
    }
  }

  void Serve(const moqt::FetchReceived& asked) {
    std::vector<moqt::FetchItem> items;
    for (uint64_t group = asked.range.first.group; group <= asked.range.last.group; ++group) {
      const auto held = tracks_[asked.track].find(group);
      if (held == tracks_[asked.track].end()) {
        items.push_back(moqt::RangeEnd{{group, 1000}, true});
        continue;
      }
      for (const Object& object : held->second) {
        if (asked.range.Contains(object.location)) {
          items.push_back(object);
        }
      }
    }
    if (script.alter) {
      script.alter(items);
    }
    if (script.accept_fetch_last) {
      accept_last_ = asked;
    } else {
      AcceptFetch(asked);
    }
    for (size_t i = 0; i < items.size(); ++i) {
      if (script.reset_after == i) {
        if (script.reset_at_once) {
          (void)session_->ResetFetch(asked.request, moqt::ResetCode::kInternalError);
        } else {
          resets_.push_back(asked.request);
        }
        return;
      }
      std::visit([&](const auto& item) { (void)session_->SendFetched(asked.request, item); },
                 items[i]);
    }
    if (!script.never_end) {
      (void)session_->EndFetch(asked.request);
    }
  }

  void AcceptFetch(const moqt::FetchReceived& asked) {
    const Properties told = script.tells_nothing ? Properties() : properties_[asked.track];
    (void)session_->AcceptFetch(asked.request, {false, asked.range.last, {}, told});
  }

  void ServeCatalog(const moqt::FetchReceived& asked) {
    (void)session_->AcceptFetch(asked.request, {false, asked.range.last, {}, {}});
    for (Object object : epoch_) {
      if (asked.range.Contains(object.location)) {
        if (script.alter_catalog) {
          script.alter_catalog(object);
        }
        (void)session_->SendFetched(asked.request, object);
      }
    }
    (void)session_->EndFetch(asked.request);
  }

  void Refuse(moqt::RequestId request) {
    (void)session_->RefuseRequest(request, {script.refusal, std::nullopt, "by script", {}});
  }

  void List(const TrackName& track, uint64_t group) {
    const std::vector<Object>& objects = tracks_[track][group];
    uint64_t bytes = 0;
    for (const Object& object : objects) {
      bytes += object.payload.size();
    }
    const auto key = BlockHashIn(objects.front().properties);
    if (key.ok() && *key) {
      (void)writer_.Add(track, group, **key, bytes);
    }
  }

  void Catalog() {
    for (Object& object : writer_.TakeObjects()) {
      epoch_.push_back(std::move(object));
    }
  }
  void OfferCatalog() {
    if (!subscribed_ || catalog_) {
      return;
    }
    moqt::Parameters parameters;
    parameters.largest_object = epoch_.back().location;
    const CatalogTrack track{scope_, {}, {std::byte{boot_}}};
    catalog_ = *session_->Publish(track.Name(), parameters, {});
  }
  void SendCatalog() {
    const std::vector<Object> objects = writer_.TakeObjects();
    for (const Object& object : objects) {
      if (object.location.object == 0) {
        epoch_.clear();
        catalog_stream_.reset();
      }
      epoch_.push_back(object);
      if (!catalog_ || std::exchange(lose_live_, false)) {
        continue;
      }
      if (!catalog_stream_) {
        moqt::SubgroupHeader header;
        header.group = object.location.group;
        const Result<moqt::StreamId> opened = session_->OpenSubgroup(*catalog_, header);
        catalog_stream_ = opened.ok() ? std::optional(*opened) : std::nullopt;
      }
      if (catalog_stream_) {
        (void)session_->SendObject(*catalog_, *catalog_stream_, object);
      }
    }
  }

  moqt::Session* session_;
  std::map<TrackName, Groups> tracks_;
  std::map<TrackName, Properties> properties_;
  std::map<moqt::RequestId, TrackName> publications_;
  // Who follows a cache's track, and the streams of groups that are open.
  struct Follower {
    moqt::RequestId request = 0;
    std::map<uint64_t, moqt::StreamId> streams;
  };
  std::map<TrackName, Follower> followers_;
  std::set<TrackName> ended_;
  size_t follows_ = 0;
  std::vector<moqt::FetchReceived> fetches_;
  std::vector<moqt::FetchReceived> held_fetches_;
  std::vector<moqt::RequestId> resets_;
  std::optional<moqt::FetchReceived> accept_last_;  // When all of it has left.
  CatalogWriter writer_;
  std::vector<Object> epoch_;
  uint8_t boot_ = 1;
  bool subscribed_ = false;
  TrackNamespace scope_;
  std::optional<moqt::RequestId> catalog_;
  std::optional<moqt::StreamId> catalog_stream_;
  bool lose_live_ = false;
  size_t cancelled_ = 0;
  size_t publishes_ = 0;
  std::optional<moqt::RequestId> last_publish_;
  std::optional<TrackNamespace> space_;  // That it was told of.
  size_t next_filter_ = 0;
  std::optional<moqt::RequestId> acks_;
  std::optional<moqt::StreamId> ack_stream_;
  uint64_t next_ack_ = 0;
  size_t ack_follows_ = 0;
  Properties published_properties_;
};

}  // namespace kvcast
