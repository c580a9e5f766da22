#include "sim/session_side.h"

#include <utility>

#include "kvcast/base/bytes.h"

namespace kvcast::sim {

using moqt::FetchItem;
using moqt::GroupOrder;
using moqt::Parameters;
using moqt::RangeEnd;
using moqt::ResetCode;
using moqt::StreamId;

namespace {

moqt::Setup SetupOf(moqt::Role role) {
  moqt::Setup setup;
  if (role == moqt::Role::kClient) {
    setup.path = "/";
    setup.authority = "node.example";
  }
  return setup;
}

// Every third object or so has properties, which must come out as they went in.
Properties SomeProperties(Random& random) {
  PropertiesBuilder builder;
  if (random.Happens(0.3)) {
    builder.Number(0x3802, random.Next());
  }
  if (random.Happens(0.1)) {
    builder.Immutable(PropertiesBuilder().Bytes(0x3801, "key").Build());
  }
  return builder.Build();
}

}  // namespace

std::string SessionRequest::ToString() const {
  static const char* const kNames[] = {
      "PUBLISH",           "SUBSCRIBE",          "FETCH", "TRACK_STATUS", "SUBSCRIBE_TRACKS",
      "PUBLISH_NAMESPACE", "SUBSCRIBE_NAMESPACE"};
  std::string text = kNames[static_cast<size_t>(kind)];
  const std::pair<bool, const char*> flags[] = {
      {accepted, " accepted"},   {refused, " refused"},
      {published, " published"}, {cancelled_here, " cancelled here"},
      {finished, " finished"},   {cancelled_there, " cancelled there"},
      {given_up, " given up"},
  };
  for (const auto& [is, name] : flags) {
    text += is ? name : "";
  }
  for (const auto& [stream, state] : streams) {
    text += ", " + std::to_string(stream) + ": " + std::to_string(state.items.size()) +
            (state.ended ? " ended" : "") + (state.reset ? " reset" : "");
  }
  return text;
}

SessionSide::SessionSide(moqt::Role role, const moqt::Limits& limits, Random& random)
    : session_(role, SetupOf(role), limits, Instant()),
      random_(&random),
      takes_(random.Happens(0.5) ? 0.05 : 1) {}

void SessionSide::Violate(const std::string& what) {
  if (violation_.empty()) {
    violation_ = what;
  }
}

std::pair<const moqt::RequestId, SessionRequest>* SessionSide::Pick(
    const std::function<bool(const SessionRequest&)>& wanted) {
  std::vector<std::pair<const Id, SessionRequest>*> found;
  for (auto& entry : requests_) {
    if (wanted(entry.second)) {
      found.push_back(&entry);
    }
  }
  return found.empty() ? nullptr : found[random_->Below(found.size())];
}

void SessionSide::Act() {
  if (closed_) {
    return;
  }
  const uint64_t what = random_->Below(100);
  if (what < 8) {
    return Ask();
  }
  if (what < 20) {
    auto* waiting = Pick([](const auto& r) { return !r.ours && !r.accepted && !r.over(); });
    return waiting ? Answer(waiting->first, waiting->second, true) : void();
  }
  if (what < 60) {
    auto* open = Pick([](const auto& r) { return r.sends && !r.over() && !r.published; });
    return open ? Send(open->first, open->second) : void();
  }
  if (what < 62) {
    auto* open = Pick([](const auto& r) { return r.may_change(); });
    return open ? Update(open->first, open->second) : void();
  }
  if (what < 65) {
    auto* open = Pick([](const auto& r) {
      return !r.ours && r.kind == Kind::kSubscribeNamespace && r.accepted && !r.over();
    });
    return open ? Announce(open->first, open->second) : void();
  }
  if (what < 68) {
    auto* open = Pick([](const auto& r) { return r.sends && r.accepted && !r.over(); });
    return open ? End(open->first, open->second) : void();
  }
  if (what < 98) {
    auto* coming = Pick([](const auto& r) { return r.takes(); });
    return coming && random_->Happens(takes_)
               ? Take(coming->first, coming->second, 1 + random_->Below(5))
               : void();
  }
  auto* open = Pick([](const auto& r) { return !r.over(); });
  return open ? Cancel(open->first, open->second) : void();
}

SessionRequest& SessionSide::Begin(Id id, Kind kind, bool ours, bool sends) {
  SessionRequest request;
  request.kind = kind;
  request.ours = ours;
  request.sends = sends;
  return requests_.insert_or_assign(id, std::move(request)).first->second;
}

void SessionSide::Ask() {
  // A session is asked of by names nobody else uses: two subscriptions to one track are refused.
  const std::string name = "t" + std::to_string(names_++);
  const TrackName track = *TrackName::Of(*TrackNamespace::Of({"sim"}), name);
  Parameters parameters;
  parameters.subscriber_priority = static_cast<uint8_t>(random_->Below(256));
  const auto begun = [this](const Result<Id>& id, Kind kind, bool sends) -> SessionRequest* {
    return id.ok() ? &Begin(*id, kind, true, sends) : nullptr;
  };
  switch (random_->Below(13)) {
    case 0:
    case 1:
    case 2:
      begun(session_.Publish(track, {}, {}), Kind::kPublish, true);
      return;
    case 3:
    case 4:
      begun(session_.Subscribe(track, parameters), Kind::kSubscribe, false);
      return;
    case 5:
    case 6: {
      const LocationRange range{{random_->Below(3), random_->Below(3)},
                                {3 + random_->Below(4), LocationRange::kWholeGroup}};
      if (random_->Happens(0.3)) {
        parameters.group_order = GroupOrder::kAscending;
      }
      if (auto* fetch = begun(session_.Fetch(track, range, parameters), Kind::kFetch, false)) {
        fetch->range = range;
      }
      return;
    }
    case 7:
      begun(session_.AskTrackStatus(track, {}), Kind::kTrackStatus, false);
      return;
    case 8:
    case 9:
      return Join();
    default:
      return AskAboutNamespaces(name);
  }
}

void SessionSide::AskAboutNamespaces(const std::string& name) {
  const TrackNamespace space = *TrackNamespace::Of({name});
  const uint64_t which = random_->Below(3);
  const Result<Id> id = which == 0   ? session_.SubscribeTracks(space, {})
                        : which == 1 ? session_.PublishNamespace(space, {})
                                     : session_.SubscribeNamespace(space, {});
  const Kind kinds[] = {Kind::kSubscribeTracks, Kind::kPublishNamespace, Kind::kSubscribeNamespace};
  if (id.ok()) {
    Begin(*id, kinds[which], true, false);
  }
}

// What came before a subscription of ours.
void SessionSide::Join() {
  auto* open = Pick([](const auto& r) {
    return r.ours && r.kind == Kind::kSubscribe && r.accepted && !r.over();
  });
  if (open == nullptr) {
    return;
  }
  const auto type = random_->Happens(0.5) ? moqt::Fetch::Type::kRelativeJoining
                                          : moqt::Fetch::Type::kAbsoluteJoining;
  const Result<Id> id = session_.FetchJoining(open->first, type, random_->Below(3), {});
  if (id.ok()) {
    Begin(*id, Kind::kFetch, true, false);
  }
}

void SessionSide::Update(Id id, SessionRequest& request) {
  Parameters change;
  const bool subscribed = request.kind == Kind::kSubscribe || request.kind == Kind::kPublish;
  if (!request.sends && (subscribed || request.kind == Kind::kFetch)) {
    change.subscriber_priority = static_cast<uint8_t>(random_->Below(256));
  }
  if (!request.sends && subscribed && random_->Happens(0.3)) {
    change.object_delivery_timeout_ms = 1 + random_->Below(10'000);
    change.subgroup_delivery_timeout_ms = 1 + random_->Below(10'000);
  }
  if (session_.Update(id, change).ok()) {
    ++request.updates;
  }
}

// A namespace below the prefix, or its end.
void SessionSide::Announce(Id id, SessionRequest& request) {
  const std::string name = "n" + std::to_string(random_->Below(4));
  const Result<TrackNamespace> space = request.prefix.Join(*TrackNamespace::Of({name}));
  if (request.spaces.contains(name)) {
    if (session_.WithdrawNamespace(id, *space).ok()) {
      request.spaces.erase(name);
    }
  } else if (session_.AnnounceNamespace(id, *space).ok()) {
    request.spaces.insert(name);
  }
}

void SessionSide::Answer(Id id, SessionRequest& request, bool may_refuse) {
  if (may_refuse && random_->Happens(0.1)) {
    request.refused =
        session_.RefuseRequest(id, {moqt::RequestCode::kUninterested, {}, "no", {}}).ok();
    return;
  }
  switch (request.kind) {
    case Kind::kPublish:
      request.accepted = session_.AcceptPublish(id, {}).ok();
      break;
    case Kind::kSubscribe: {
      Parameters answer;
      if (random_->Happens(0.7)) {
        answer.largest_object = Location{random_->Below(4), random_->Below(4)};
      }
      request.accepted = session_.AcceptSubscribe(id, answer, SomeProperties(*random_)).ok();
      request.next_group = 10;  // Beyond what a fetch may join.
      break;
    }
    case Kind::kFetch: {
      moqt::FetchOk answer;
      answer.last = request.range.last;
      request.accepted = session_.AcceptFetch(id, answer).ok();
      request.finished = request.published && request.accepted;
      break;
    }
    case Kind::kTrackStatus:
      request.accepted = session_.AnswerTrackStatus(id, {}, SomeProperties(*random_)).ok();
      request.finished = request.accepted;
      break;
    case Kind::kSubscribeTracks:
      request.accepted = session_.AcceptSubscribeTracks(id, {}).ok();
      break;
    case Kind::kPublishNamespace:
      request.accepted = session_.AcceptPublishNamespace(id, {}).ok();
      break;
    case Kind::kSubscribeNamespace:
      request.accepted = session_.AcceptSubscribeNamespace(id, {}).ok();
      break;
  }
  if (!request.accepted) {
    Violate("A request that waits for an answer took none.");
  }
}

bool SessionSide::MaySend(Id id, const SessionRequest& request) const {
  // A publisher need not wait for its answer, one that was subscribed to gives it first.
  const bool open = request.accepted || request.kind != Kind::kSubscribe;
  return open && session_.queued_bytes(id) < session_.limits().send_queue_high_bytes;
}

void SessionSide::Send(Id id, SessionRequest& request) {
  if (!MaySend(id, request)) {
    return;
  }
  if (request.kind == Kind::kFetch) {
    SendFetched(id, request);
  } else if (request.kind == Kind::kPublish || request.kind == Kind::kSubscribe) {
    if (random_->Happens(0.05)) {
      SendDatagram(id, request);
    } else {
      SendSubgroup(id, request);
    }
  }
}

// Each in a group of its own. They are kept as if on a stream, in whatever order they come.
void SessionSide::SendDatagram(Id id, SessionRequest& request) {
  Object object = MakeObject({request.next_group++, 0});
  object.forwarding = Forwarding::kDatagram;
  object.priority = static_cast<uint8_t>(random_->Below(4));
  if (session_.SendDatagramObject(id, object, random_->Happens(0.5)).ok()) {
    request.streams[moqt::ReceivedObject::kNoStream].items.emplace_back(std::move(object));
    ++sent_;
  }
}

Object SessionSide::MakeObject(Location location) {
  Object object;
  object.location = location;
  const size_t most = random_->Happens(0.1) ? 6000 : 200;  // Few exceed what a receiver takes.
  std::string payload(random_->Below(most), '\0');
  for (char& c : payload) {
    c = static_cast<char>(random_->Next());
  }
  object.payload = Bytes::Of(payload);
  object.properties = SomeProperties(*random_);
  return object;
}

// On a new stream, or on one that is open: an object, its end, or its reset.
void SessionSide::SendSubgroup(Id id, SessionRequest& request) {
  std::vector<StreamId> open;
  for (const auto& [stream, state] : request.streams) {
    if (!state.ended && !state.reset && stream != moqt::ReceivedObject::kNoStream) {
      open.push_back(stream);
    }
  }
  if (open.empty() || random_->Happens(0.1)) {
    moqt::SubgroupHeader header;
    header.group = request.next_group++;
    header.mode = static_cast<moqt::SubgroupHeader::Mode>(random_->Below(3));
    header.subgroup = header.mode == moqt::SubgroupHeader::Mode::kExplicit ? random_->Below(9) : 0;
    header.properties = true;
    header.priority = static_cast<uint8_t>(random_->Below(4));
    header.end_of_group = random_->Happens(0.5);
    if (const auto stream = session_.OpenSubgroup(id, header); stream.ok()) {
      SessionRequest::Stream& state = request.streams[*stream];
      state.group = header.group;
      state.priority = *header.priority;
      if (header.mode != moqt::SubgroupHeader::Mode::kFirstObject) {
        state.subgroup = header.subgroup;
      }
    }
    return;
  }
  const StreamId stream = open[random_->Below(open.size())];
  SessionRequest::Stream& state = request.streams[stream];
  const uint64_t what = random_->Below(100);
  if (what < 10) {
    state.ended = session_.EndSubgroup(id, stream).ok();
  } else if (what < 12) {
    state.reset = session_.ResetSubgroup(id, stream, ResetCode::kDeliveryTimeout).ok();
  } else {
    const uint64_t next =
        state.items.empty() ? 0 : std::get<Object>(state.items.back()).location.object + 1;
    Object object = MakeObject({state.group, next + random_->Below(3)});
    const Location first =
        state.items.empty() ? object.location : std::get<Object>(state.items.front()).location;
    object.subgroup = state.subgroup.value_or(first.object);
    object.priority = state.priority;
    if (session_.SendObject(id, stream, object).ok()) {
      state.items.emplace_back(std::move(object));
      ++sent_;
    }
  }
}

void SessionSide::SendGroup(Id id, SessionRequest& request) {
  moqt::SubgroupHeader header;
  header.group = request.next_group++;
  header.properties = true;
  const Result<StreamId> stream = session_.OpenSubgroup(id, header);
  if (!stream.ok()) {
    return;
  }
  SessionRequest::Stream& state = request.streams[*stream];
  Object object = MakeObject({header.group, 0});
  object.priority = moqt::kDefaultPriority;
  if (session_.SendObject(id, *stream, object).ok()) {
    state.items.emplace_back(std::move(object));
    ++sent_;
  }
  state.ended = session_.EndSubgroup(id, *stream).ok();
}

// The next object of the range, or a gap. The stream's number is not told: it has number 0 here.
void SessionSide::SendFetched(Id id, SessionRequest& request) {
  SessionRequest::Stream& state = request.streams[0];
  Location next = request.range.first;
  if (!state.items.empty()) {
    const auto* object = std::get_if<Object>(&state.items.back());
    next = object ? object->location : std::get<RangeEnd>(state.items.back()).last;
    next =
        random_->Happens(0.2) ? Location{next.group + 1, 0} : Location{next.group, next.object + 1};
  }
  if (!request.range.Contains(next)) {
    return;
  }
  if (random_->Happens(0.1)) {
    const RangeEnd end{next, random_->Happens(0.5)};
    if (session_.SendFetched(id, end).ok()) {
      state.items.emplace_back(end);
    }
    return;
  }
  Object object = MakeObject(next);
  object.subgroup = random_->Below(3);
  object.priority = static_cast<uint8_t>(random_->Below(3));
  object.forwarding = random_->Happens(0.1) ? Forwarding::kDatagram : Forwarding::kSubgroup;
  if (object.forwarding == Forwarding::kDatagram) {
    object.subgroup = 0;
  }
  if (session_.SendFetched(id, object).ok()) {
    state.items.emplace_back(std::move(object));
    ++sent_;
  }
}

void SessionSide::End(Id id, SessionRequest& request) {
  if (request.kind == Kind::kFetch) {
    if (request.published) {
      return;
    }
    SessionRequest::Stream& state = request.streams[0];
    if (random_->Happens(0.2)) {
      state.reset = session_.ResetFetch(id, ResetCode::kUnknownObjectStatus).ok();
    } else {
      state.ended = session_.EndFetch(id).ok();
    }
    request.published = state.reset || state.ended;
    request.finished = request.published && request.accepted;
    return;
  }
  if (request.kind != Kind::kPublish && request.kind != Kind::kSubscribe) {
    return;
  }
  for (auto& [stream, state] : request.streams) {
    if (!state.ended && !state.reset && stream != moqt::ReceivedObject::kNoStream) {
      state.ended = session_.EndSubgroup(id, stream).ok();
    }
  }
  for (uint64_t last = random_->Below(4); last > 0; --last) {  // Of which nothing was sent yet.
    SendGroup(id, request);
  }
  request.published = session_.EndTrack(id, moqt::DoneCode::kTrackEnded, "").ok();
  request.finished = request.published;
}

void SessionSide::Take(Id id, SessionRequest& request, size_t most) {
  while (most-- > 0) {
    const std::optional<moqt::Received> received = session_.Take(id);
    if (!received) {
      return;
    }
    Got(request, *received);
  }
}

void SessionSide::Cancel(Id id, SessionRequest& request) {
  request.cancelled_here = true;
  session_.Cancel(id, ResetCode::kCancelled);
}

bool SessionSide::GiveUp() {
  bool any = false;
  for (auto& [id, request] : requests_) {
    if (!closed_ && std::exchange(request.to_be_taken, false)) {
      any = true;
      session_.Cancel(id, ResetCode::kCancelled);
    }
    if (closed_ || request.over()) {
      continue;
    }
    const bool endless = request.kind == Kind::kSubscribeTracks ||
                         request.kind == Kind::kPublishNamespace ||
                         request.kind == Kind::kSubscribeNamespace;
    if (endless && request.ours && request.accepted) {
      request.wound_up = any = true;
      Cancel(id, request);
    }
  }
  return any;
}

void SessionSide::WindUp() {
  for (auto& [id, request] : requests_) {
    if (!closed_ && !request.ours && !request.accepted && !request.over()) {
      Answer(id, request, false);
    }
    if (!closed_ && request.sends && request.accepted && !request.over()) {
      End(id, request);
    }
    if (request.takes()) {
      Take(id, request, ~size_t{0});
    }
  }
}

}  // namespace kvcast::sim
