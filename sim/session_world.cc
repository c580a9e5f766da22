#include "sim/session_world.h"

#include <algorithm>
#include <set>

namespace kvcast::sim {
namespace {

constexpr size_t kSessionObjectBytesMax = 4096;

moqt::Limits DrawLimits(Random& random) {
  moqt::Limits limits;
  limits.object_bytes_max = kSessionObjectBytesMax;
  limits.stream_queue_bytes = 256 + random.Below(8192);
  limits.session_queue_bytes = 256 + random.Below(random.Happens(0.5) ? 2000 : 64 * 1024);
  limits.early_bytes = 1 << 16;
  limits.send_queue_high_bytes = 256 + random.Below(8192);
  limits.send_queue_low_bytes = limits.send_queue_high_bytes / 4;
  // A request may be behind its objects for as long as the peer allows no more of them.
  limits.track_patience = limits.setup_patience = limits.join_patience = std::chrono::hours(100);
  return limits;
}

bool SameObject(const Object& a, const Object& b) {
  return a.location == b.location && a.status == b.status && a.properties == b.properties &&
         a.forwarding == b.forwarding && a.subgroup == b.subgroup && a.priority == b.priority &&
         a.payload == b.payload;
}

bool IsTooLarge(const moqt::FetchItem& item) {
  const Object* object = std::get_if<Object>(&item);
  return object != nullptr &&
         object->payload.size() + object->properties.encoded().size() > kSessionObjectBytesMax;
}

bool SameItem(const moqt::FetchItem& a, const moqt::FetchItem& b) {
  if (a.index() != b.index()) {
    return false;
  }
  const Object* object = std::get_if<Object>(&a);
  return object != nullptr ? SameObject(*object, std::get<Object>(b))
                           : std::get<moqt::RangeEnd>(a) == std::get<moqt::RangeEnd>(b);
}

}  // namespace

void SessionWorldCounts::Add(const SessionWorldCounts& more) {
  requests += more.requests;
  refused += more.refused;
  cancelled += more.cancelled;
  updated += more.updated;
  sent += more.sent;
  taken += more.taken;
  resets += more.resets;
  lost += more.lost;
  repeated += more.repeated;
  overtaken += more.overtaken;
  broken += more.broken;
  leaps += more.leaps;
  given_up += more.given_up;
  used_up += more.used_up;
  put_out += more.put_out;
  late += more.late;
}

SessionWorld::SessionWorld(uint64_t seed)
    : random_(seed),
      limits_(DrawLimits(random_)),
      client_(moqt::Role::kClient, limits_, random_),
      server_(moqt::Role::kServer, limits_, random_),
      link_(random_.Next(), LinkFaults::Draw(random_), client_.session(), server_.session()),
      breaks_(random_.Happens(0.1)) {}

void SessionWorld::Violate(const std::string& what) {
  if (violation_.empty()) {
    violation_ = what;
  }
}

std::string SessionWorld::Play(size_t steps) {
  for (size_t step = 0; step < steps && violation_.empty(); ++step) {
    SessionSide& side = random_.Happens(0.5) ? client_ : server_;
    if (random_.Happens(0.4)) {
      side.Act();
    } else if (random_.Happens(0.02)) {
      Leap();
    } else {
      link_.Step();
    }
    client_.TakeEvents();
    server_.TakeEvents();
    if (step % 16 == 0) {
      CheckBounds();
    }
  }
  if (breaks_) {
    link_.Break();
    ++counts_.broken;
  }
  Settle();
  CheckBounds();
  CheckAll();
  return violation_;
}

void SessionWorld::Leap() {
  link_.Calm();
  const auto most = static_cast<uint64_t>(limits_.end_patience.count());
  now_ += Duration(static_cast<Duration::rep>(random_.Below(2 * most)));
  client_.Pass(now_);
  server_.Pass(now_);
  ++counts_.leaps;
}

void SessionWorld::Settle() {
  link_.StopFaults();
  size_t leaps = 0;  // Since anything has happened.
  for (size_t rounds = 0; violation_.empty(); ++rounds) {
    bool moved = false;
    while (link_.Step()) {
      moved = true;
      if (random_.Happens(0.02)) {
        Leap();
      }
    }
    const uint64_t taken = client_.taken() + server_.taken();
    const auto done = [](const SessionSide& side) {
      return std::ranges::count_if(side.requests(), [](const auto& r) { return r.second.over(); });
    };
    const auto before = done(client_) + done(server_);
    for (SessionSide* side : {&client_, &server_}) {
      side->TakeEvents();
      side->WindUp();
      side->TakeEvents();
    }
    moved = moved || taken != client_.taken() + server_.taken() ||
            before != done(client_) + done(server_) || link_.Step();  // An answer just given.
    leaps = moved || client_.GiveUp() || server_.GiveUp() ? 0 : leaps + 1;
    if (leaps > 10) {
      return;
    }
    if (leaps > 0) {
      Leap();
    }
    if (rounds > 10000) {
      Violate("The two sides never come to rest.");
    }
  }
}

// What waits to be taken is bounded by the limits, and by what was granted before they were
// reached.
void SessionWorld::CheckBounds() {
  for (SessionSide* side : {&client_, &server_}) {
    if (!side->violation().empty()) {
      Violate(side->violation());
    }
    if (side->closed() && !link_.closed()) {
      Violate("A session is closed and its connection is not.");
    }
    if (side->closed() && !side->closed()->reason.empty() && side->closed()->reason != "broken") {
      Violate("A side closed the session: " + side->closed()->reason);
    }
    if (side->session().untaken_bytes() > limits_.session_queue_bytes + (1 << 20)) {
      Violate("More waits to be taken than may.");
    }
  }
}

void SessionWorld::CheckAll() {
  Sha256 hash;
  for (const auto& [id, request] : client_.requests()) {
    const auto other = server_.requests().find(id);
    const SessionRequest* there = other == server_.requests().end() ? nullptr : &other->second;
    CheckRequest(id, request.ours ? &request : there, request.ours ? there : &request);
  }
  for (const auto& [id, request] : server_.requests()) {
    if (!client_.requests().contains(id)) {
      CheckRequest(id, request.ours ? &request : nullptr, request.ours ? nullptr : &request);
    }
  }
  counts_.updated = client_.updated() + server_.updated();
  counts_.sent = client_.sent() + server_.sent();
  counts_.taken = client_.taken() + server_.taken();
  counts_.lost = link_.counts().lost;
  counts_.repeated = link_.counts().repeated;
  counts_.overtaken = link_.counts().overtaken;
  counts_.used_up = link_.counts().used_up;
  counts_.put_out = client_.put_out() + server_.put_out();
  counts_.late = client_.late() + server_.late();
  hash.Update(AsBytes(std::to_string(counts_.sent) + "/" + std::to_string(counts_.taken) + "/" +
                      std::to_string(counts_.requests) + "/" + std::to_string(counts_.cancelled) +
                      "/" + std::to_string(counts_.lost) + "/" +
                      std::to_string(link_.counts().delivered)));
  history_ = hash.Finish();
}

void SessionWorld::Count(const SessionRequest& request) {
  ++counts_.requests;
  counts_.refused += request.refused ? 1 : 0;
  counts_.cancelled += request.cancelled_here || request.cancelled_there ? 1 : 0;
  for (const auto& [stream, state] : request.streams) {
    counts_.resets += state.reset ? 1 : 0;
  }
}

void SessionWorld::CheckRequest(moqt::RequestId id, const SessionRequest* asked,
                                const SessionRequest* served) {
  const std::string what = "Request " + std::to_string(id) + " (" +
                           (asked ? asked->ToString() : "none") + "; " +
                           (served ? served->ToString() : "none") + ")";
  if (asked == nullptr) {
    return Violate(what + " came and was never made.");
  }
  Count(*asked);
  if (served == nullptr) {
    if (!link_.closed() && !asked->over()) {
      Violate(what + " was made and never came.");
    }
    return;
  }
  const SessionRequest& sender = asked->sends ? *asked : *served;
  const SessionRequest& receiver = asked->sends ? *served : *asked;
  CheckStreams(what, sender, receiver);
  counts_.given_up += receiver.given_up ? 1 : 0;
  if (link_.closed()) {
    return;
  }
  CheckAgreement(what, *asked, *served);
  CheckAgreement(what, *served, *asked);
  if (asked->wound_up && asked->spaces != served->spaces) {
    Violate(what + " knows of other namespaces than were announced.");
  }
  // A SUBSCRIBE that a PUBLISH crosses is refused there, and given up here when that is accepted.
  const bool cancelled = asked->cancelled_here || asked->cancelled_there ||
                         served->cancelled_here || served->cancelled_there;
  if (asked->refused != served->refused && !cancelled) {
    Violate(what + " is refused on one side only.");
  }
}

// What one side has brought to an end, the other knows of.
void SessionWorld::CheckAgreement(const std::string& what, const SessionRequest& one,
                                  const SessionRequest& other) {
  if (one.cancelled_here && !other.over()) {
    Violate(what + " was given up, and the other side does not know.");
  }
  if (one.cancelled_there && !other.over()) {
    Violate(what + " is said to be given up, and the other side has not.");
  }
  if (!one.over()) {
    Violate(what + " never ended.");
  }
  const auto unseen = [&](const auto& stream) {
    const bool reset = stream.second.reset || other.cancelled_here || other.cancelled_there;
    return reset && !one.streams.contains(stream.first);
  };
  if (one.given_up && std::ranges::none_of(other.streams, unseen)) {
    Violate(what + " was given up although every stream came.");
  }
}

// Datagrams come in any order or not at all, but none that was not sent, and none twice.
void SessionWorld::CheckDatagrams(const std::string& what, const SessionRequest::Stream& sent,
                                  const SessionRequest::Stream& got) {
  std::set<Location> seen;
  for (const moqt::FetchItem& item : got.items) {
    const auto same = [&item](const moqt::FetchItem& other) { return SameItem(item, other); };
    if (std::ranges::none_of(sent.items, same) ||
        !seen.insert(std::get<Object>(item).location).second) {
      return Violate(what + " has a datagram that was not sent, or twice.");
    }
  }
}

void SessionWorld::CheckStreams(const std::string& what, const SessionRequest& sender,
                                const SessionRequest& receiver) {
  for (const auto& [id, got] : receiver.streams) {
    const auto sent = sender.streams.find(id);
    if (sent == sender.streams.end()) {
      return Violate(what + " has a stream that nobody sent.");
    }
    if (id == moqt::ReceivedObject::kNoStream) {
      CheckDatagrams(what, sent->second, got);
      continue;
    }
    if (got.items.size() > sent->second.items.size() ||
        !std::equal(got.items.begin(), got.items.end(), sent->second.items.begin(), SameItem)) {
      return Violate(what + " has objects that were not sent.");
    }
    if (got.ended && (!sent->second.ended || got.items.size() != sent->second.items.size())) {
      return Violate(what + " has a stream that ended early.");
    }
  }
  const bool given_up = sender.cancelled_here || sender.cancelled_there || sender.refused ||
                        receiver.cancelled_here || receiver.cancelled_there || link_.closed();
  for (const auto& [id, sent] : sender.streams) {
    const auto got = receiver.streams.find(id);
    const bool whole = got != receiver.streams.end() && got->second.ended;
    // A stream that ended is stopped by a receiver to whom one of its objects is too large.
    const bool refused = got != receiver.streams.end() && got->second.reset &&
                         std::ranges::any_of(sent.items, IsTooLarge);
    // One that was late is reset, though it had ended.
    if (sent.ended && !sent.reset && !given_up && !whole && !refused) {
      return Violate(what + " has a stream that was not taken whole.");
    }
    // TRACK_ENDED says that this was all: also of what was reset before any of it was sent.
    if (receiver.finished && got == receiver.streams.end() && !given_up &&
        id != moqt::ReceivedObject::kNoStream) {
      return Violate(what + " has all, and yet lacks a stream.");
    }
  }
}

}  // namespace kvcast::sim
