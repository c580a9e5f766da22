#include "kvcast/client/publication.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "kvcast/base/check.h"
#include "kvcast/base/hex.h"
#include "kvcast/moqt/wanted_range.h"

namespace kvcast {

std::string_view ToString(PublishFault fault) {
  switch (fault) {
    case PublishFault::kRefused:
      return "refused";
    case PublishFault::kNodeLost:
      return "node lost";
    case PublishFault::kPatienceOver:
      return "patience over";
    case PublishFault::kCancelled:
      return "cancelled";
    case PublishFault::kNotKept:
      return "not kept";
    case PublishFault::kNotDurable:
      return "not durable";
  }
  return "unknown";
}

PublishReport PublishReport::NodeLost(size_t blocks, const std::string& why) {
  PublishReport report;
  report.blocks = blocks;
  report.fault = PublishFault::kNodeLost;
  report.reason = "There is no session to a node: " + why;
  return report;
}

Publication::Publication(moqt::Session& session, const NodeHoldings& held, AckFollower& acks,
                         Offer offer, Duration patience)
    : session_(&session),
      held_(&held),
      acks_(&acks),
      offer_(std::move(offer)),
      track_(offer_.kind.NameOf(offer_.blocks.empty() ? BlockHash() : offer_.blocks.back(),
                                offer_.generation)),
      patience_(patience),
      ready_(std::min(offer_.ready, offer_.blocks.size())),
      end_(offer_.blocks.size()) {
  KVCAST_CHECK(offer_.blocks.size() == offer_.supply->block_count());
  report_.blocks = end_;
}

Publication::~Publication() { Cancel(); }

void Publication::Start(Instant now) {
  KVCAST_CHECK(state_ == State::kNew);
  last_progress_ = now;
  state_ = State::kChecking;
  for (size_t block = 0; block < end_; ++block) {
    missing_.push_back(block);
  }
  Check(now);
}

void Publication::Check(Instant now) {
  check_.emplace(*acks_, offer_.durability);
  for (size_t block = 0; asks_durability() && block < end_; ++block) {
    check_->Add(block, held_->Of(offer_.kind, offer_.blocks[block]), now);
  }
  if (check_->over()) {
    Decide();
  }
}

void Publication::Decide() {
  state_ = State::kDecided;
  durable_held_ = check_->durable();
  check_.reset();
  for (const auto& [block, level] : durable_held_) {
    Reach(level);
  }
  LeaveOutHeld();
  Ask();
}

void Publication::LeaveOutHeld() {
  std::erase_if(missing_, [&](size_t block) {
    return asks_durability() ? durable_held_.contains(block) : IsHeld(block);
  });
  decided_ = true;
  report_.skipped = end_ - missing_.size();
}

// How the track is coded is told with the offer, and may depend on what the first blocks hold.
// While that is being looked at, others may publish them.
void Publication::Ask() {
  if (missing_.empty()) {
    BeOver();
    return;
  }
  if (ready_ == 0) {
    return;
  }
  const Result<bool> prepared = offer_.supply->Prepare(ready_);
  if (!prepared.ok()) {
    Fail(PublishFault::kRefused, prepared.error().message());
  } else if (!*prepared) {
    state_ = State::kPreparing;
  } else if (state_ == State::kPreparing) {
    LeaveOutHeld();
    missing_.empty() ? BeOver() : AskNode();
  } else {
    AskNode();
  }
}

void Publication::AskNode() {
  const Properties properties = offer_.supply->TrackProperties(
      asks_durability() ? DurabilityProperties(offer_.durability) : Properties());
  const Result<moqt::RequestId> request = session_->Publish(track_, {}, properties);
  if (!request.ok()) {
    Fail(PublishFault::kNodeLost, request.error().message());
    return;
  }
  request_ = *request;
  state_ = State::kAsking;
}

void Publication::Ready(size_t blocks, Instant now) {
  if (over() || std::min(blocks, end_) <= ready_) {
    return;
  }
  if (IsWaitingForBlocks()) {
    last_progress_ = now;  // The node is waited for from now on.
  }
  ready_ = std::min(blocks, end_);
  if (state_ == State::kDecided) {
    LeaveOutHeld();  // Computing takes its time, and others compute too.
    Ask();
  }
  Send(now);
}

void Publication::Close(Instant now) {
  if (over() || end_ == ready_) {
    return;
  }
  const bool waited = IsWaitingForBlocks();
  end_ = report_.blocks = ready_;
  std::erase_if(missing_, [&](size_t block) { return block >= end_; });
  if (decided_) {
    report_.skipped = end_ - missing_.size();
  }
  if (state_ == State::kDecided) {
    BeOver();  // Nothing was ready, so nothing was offered.
  }
  if (waited) {
    last_progress_ = now;
  }
  Send(now);
}

bool Publication::IsWaitingForBlocks() const {
  if (state_ == State::kDecided) {
    return true;
  }
  return state_ == State::kSending && next_ < missing_.size() && missing_[next_] >= ready_ &&
         report_.listed == sent_.size() &&
         (!asks_durability() || report_.durable == sent_.size()) &&
         session_->queued_bytes(*request_) == 0;
}

void Publication::OnEvent(const moqt::Event& event, Instant now) {
  if (over()) {
    return;
  }
  last_progress_ = now;
  if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    Fail(PublishFault::kRefused, "The node refused it: " + Printable(refused->error.reason));
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    Fail(PublishFault::kRefused, "The node gave it up: " + Printable(cancelled->reason));
  } else if (std::holds_alternative<moqt::SubgroupStopped>(event)) {
    Fail(PublishFault::kRefused, "The node stopped taking a block.");
  } else {
    if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event)) {
      state_ = State::kSending;
      wanted_ = moqt::WantedBy(std::nullopt, std::nullopt);
      forward_ = true;
      Want(accepted->parameters);
      FollowAcks();
    } else if (const auto* update = std::get_if<moqt::UpdateReceived>(&event)) {
      Want(update->parameters);
    }
    Send(now);  // Accepted, room to send, or something else is wanted.
  }
}

// While it wants nothing, nothing is left out: the blocks wait, and so does a stream that is open.
void Publication::Want(const moqt::Parameters& parameters) {
  forward_ = parameters.forward.value_or(forward_);
  if (!parameters.filter) {
    return;
  }
  wanted_ = moqt::WantedBy(parameters.filter, largest_);
  if (block_open_ && !wanted_.Contains({missing_[next_], next_token_})) {
    (void)session_->ResetSubgroup(*request_, subgroup_, moqt::ResetCode::kCancelled).ok();
    block_open_ = false;
  }
}

std::optional<uint32_t> Publication::FirstWanted(size_t block) const {
  const uint64_t first =
      offer_.supply->FirstFrom(block, block == wanted_.first.group ? wanted_.first.object : 0);
  const bool some = !wanted_.empty() && block >= wanted_.first.group &&
                    block <= wanted_.last.group && first < offer_.supply->EndOf(block);
  return some ? std::optional(static_cast<uint32_t>(first)) : std::nullopt;
}

void Publication::Send(Instant now) {
  making_ = false;
  if (state_ != State::kSending) {
    return;
  }
  while (state_ == State::kSending && forward_ && next_ < missing_.size() &&
         missing_[next_] < ready_ &&
         session_->queued_bytes(*request_) < session_->limits().send_queue_high_bytes) {
    if (!block_open_ && IsNextHeld()) {
      missing_.erase(missing_.begin() + static_cast<ptrdiff_t>(next_));
      ++report_.skipped;
    } else if (!block_open_ && !FirstWanted(missing_[next_])) {
      ++next_;
    } else if (!SendObject()) {
      break;
    }
  }
  queued_bytes_ = session_->queued_bytes(*request_);
  if (state_ == State::kSending && next_ == missing_.size()) {
    End();
    Look(now);
  }
}

bool Publication::IsNextHeld() const { return !asks_durability() && IsHeld(missing_[next_]); }

bool Publication::SendObject() {
  if (!block_open_ && !OpenBlock()) {
    return false;
  }
  const size_t number = missing_[next_];
  LookAhead();
  std::optional<Bytes> payload = offer_.supply->Payload(number, next_token_);
  if (!payload) {
    making_ = true;
    return false;
  }
  Object object;
  object.location = {number, next_token_};
  object.properties = offer_.supply->ObjectPropertiesOf(offer_.blocks[number], number, next_token_);
  object.payload = *std::move(payload);
  report_.bytes += object.payload.size();
  Result<void> sent = session_->SendObject(*request_, subgroup_, object);
  if (sent.ok()) {
    largest_ = object.location;
    next_token_ = offer_.supply->After(number, next_token_);
  }
  if (sent.ok() && next_token_ == offer_.supply->EndOf(number)) {
    sent = session_->EndSubgroup(*request_, subgroup_);
    block_open_ = false;
    ++next_;
    if (first_token_ == 0) {
      sent_.push_back(number);
      report_.sent = sent_.size();
    }
  }
  if (!sent.ok() && sent.error().code() != ErrorCode::kNotFound) {
    Fail(PublishFault::kNodeLost, sent.error().message());
  }
  return sent.ok();  // Not found: the node has just given it up, and the event is under way.
}

void Publication::LookAhead() {
  BlockSupply& supply = *offer_.supply;
  while (supply.wants_more()) {
    const std::optional<size_t> last = supply.last_expected();
    auto block = missing_.begin() + static_cast<ptrdiff_t>(next_);
    bool is_open = block_open_;
    if (last) {
      const auto behind = std::upper_bound(block, missing_.end(), *last);
      is_open = is_open && behind == block;
      block = behind;
    }
    while (!is_open && block != missing_.end() && *block < ready_ && !FirstWanted(*block)) {
      ++block;
    }
    if (block == missing_.end() || *block >= ready_) {
      return;
    }
    supply.Expect(*block, is_open ? next_token_ : *FirstWanted(*block));
  }
}

// REQUIRES: something of the next block is wanted.
bool Publication::OpenBlock() {
  first_token_ = next_token_ = *FirstWanted(missing_[next_]);
  moqt::SubgroupHeader header;
  header.group = missing_[next_];
  header.properties = true;
  header.end_of_group = true;
  header.first_object = first_token_ == 0;
  const Result<moqt::StreamId> subgroup = session_->OpenSubgroup(*request_, header);
  if (!subgroup.ok()) {
    const ErrorCode code = subgroup.error().code();
    if (code != ErrorCode::kInvalid && code != ErrorCode::kNotFound) {
      Fail(PublishFault::kNodeLost, subgroup.error().message());
    }
    // Invalid: the node does not want objects now, and will say when it does. Not found: it has
    // just given up, and the event is under way.
    return false;
  }
  subgroup_ = *subgroup;
  block_open_ = true;
  return true;
}

void Publication::End() {
  state_ = State::kSent;
  const bool all = sent_.size() == missing_.size();
  if (const Result<void> ended = session_->EndTrack(
          *request_, all ? moqt::DoneCode::kTrackEnded : moqt::DoneCode::kSubscriptionEnded,
          all ? "All blocks are sent." : "All that was asked for is sent.");
      !ended.ok()) {
    Fail(PublishFault::kNodeLost, ended.error().message());
  }
}

void Publication::Look(Instant now) {
  if (state_ == State::kChecking) {
    check_->Look(now);
    if (check_->over()) {
      last_progress_ = now;
      Decide();
    }
  }
  if (state_ == State::kPreparing) {
    Ask();
    last_progress_ = now;  // The node is waited for from now on.
  }
  if (state_ == State::kSending || state_ == State::kSent) {
    TakeAcks(now);
  }
  if (state_ != State::kSending && state_ != State::kSent) {
    return;
  }
  if (const uint64_t before = report_.bytes; making_) {
    Send(now);
    last_progress_ = report_.bytes == before ? last_progress_ : now;
  }
  if (over()) {
    return;
  }
  // A slow way is not a dead one.
  const size_t queued = session_->queued_bytes(*request_);
  if (queued < std::exchange(queued_bytes_, queued)) {
    last_progress_ = now;
  }
  // In the order they were sent: a block is listed once, and looked up in vain once per change.
  while (report_.listed < report_.sent && IsHeld(sent_[report_.listed])) {
    ++report_.listed;
    last_progress_ = now;
  }
  const bool durable = !asks_durability() || report_.durable == sent_.size();
  if (state_ == State::kSent && report_.listed == sent_.size() && durable) {
    Finish();
  }
}

void Publication::BeOver() {
  state_ = State::kOver;
  making_ = false;
  offer_.supply->Stop();  // The pages are the engine's again.
}

// A node that has too little room drops the first blocks while it takes the last ones: each was
// listed, and yet the prompt is of no use to anybody.
void Publication::Finish() {
  BeOver();
  LeaveAcks();
  for (size_t block = 0; block < end_; ++block) {
    if (!IsHeld(block)) {
      gone_.insert(block);
    }
  }
  if (!gone_.empty() && sent_.size() < missing_.size()) {
    report_.fault = PublishFault::kRefused;
    report_.reason = "The node asked for no more than " + std::to_string(sent_.size()) + " of " +
                     std::to_string(missing_.size()) + " blocks.";
  } else if (!gone_.empty()) {
    report_.fault = PublishFault::kNotKept;
    report_.reason = "The node has dropped " + std::to_string(gone_.size()) + " of " +
                     std::to_string(end_) + " blocks again for want of room.";
  }
}

void Publication::Fail(PublishFault fault, std::string reason) {
  if (over()) {
    return;
  }
  BeOver();
  block_open_ = false;
  report_.fault = fault;
  report_.reason = std::move(reason);
  LeaveAcks();
  if (request_) {
    session_->Cancel(*request_, moqt::ResetCode::kCancelled);
  }
}

void Publication::OnNodeLost(const std::string& reason) {
  Fail(PublishFault::kNodeLost, "The session to the node ended: " + Printable(reason));
}

void Publication::OnTimeout(Instant now) {
  Look(now);
  if (!over() && now >= offer_.deadline) {
    Fail(PublishFault::kPatienceOver, "The deadline passed.");
  } else if (deadline() && now >= *deadline()) {
    Fail(PublishFault::kPatienceOver,
         state_ == State::kAsking         ? "The node did not answer."
         : state_ == State::kSending      ? "The node stopped taking blocks."
         : report_.listed == sent_.size() ? "The node did not say that all blocks are durable."
                                          : "The node did not list all blocks in its catalog.");
  }
}

void Publication::Cancel() { Fail(PublishFault::kCancelled, "The publication was cancelled."); }

std::optional<Instant> Publication::deadline() const {
  if (over()) {
    return std::nullopt;
  }
  const bool is_ours =
      state_ == State::kNew || state_ == State::kPreparing || making_ || IsWaitingForBlocks();
  const Instant patient = is_ours ? Instant::max() : last_progress_ + patience_;
  const Instant checked = check_ ? check_->deadline().value_or(Instant::max()) : Instant::max();
  const Instant first = std::min({patient, checked, offer_.deadline});
  return first == Instant::max() ? std::nullopt : std::optional(first);
}

std::vector<Publication::Standing> Publication::Standings() const {
  std::vector<Standing> standings(offer_.blocks.size(),
                                  decided_ ? Standing::kWasHeld : Standing::kOpen);
  for (const size_t block : missing_) {
    standings[block] = Standing::kOpen;
  }
  std::fill(standings.begin() + static_cast<ptrdiff_t>(end_), standings.end(), Standing::kOpen);
  for (size_t i = 0; i < report_.listed; ++i) {
    if (!asks_durability() || reached_.contains(sent_[i])) {
      standings[sent_[i]] = Standing::kStands;
    }
  }
  for (const size_t block : gone_) {
    standings[block] = Standing::kGone;
  }
  return standings;
}

}  // namespace kvcast
