#include "sim/network_publisher.h"

#include <utility>

#include "kvcast/catalog/acknowledgement.h"

namespace kvcast::sim {
namespace {

constexpr size_t kQueuedMax = 8 << 10;

}  // namespace

void NetworkPublisher::Attach(moqt::Session& session) {
  session_ = &session;
  closed_ = refused_ = false;
}

void NetworkPublisher::Refuse(moqt::RequestId request, const std::string& word) {
  judge_->Note("publisher " + word);
  if (request == request_) {
    refused_ = true;
    ended_ = false;
    last_word_ = word;
  }
}

void NetworkPublisher::Detach() {
  session_ = nullptr;
  request_.reset();
  accepted_ = false;
  acks_.reset();
  left_.clear();
  open_.clear();
}

void NetworkPublisher::Begin() {
  const Properties properties =
      track_->level() == Durability::kMemory ? Properties() : DurabilityProperties(track_->level());
  const Result<moqt::RequestId> request = session_->Publish(track_->name(), {}, properties);
  if (!request.ok()) {
    refused_ = true;
    return;
  }
  request_ = *request;
  left_.clear();
  open_.clear();
  for (const auto& [group, count] : track_->groups()) {
    left_.push_back(group);
  }
}

void NetworkPublisher::OpenGroup(Random& random) {
  const size_t which = random.Below(left_.size());
  moqt::SubgroupHeader header;
  header.group = left_[which];
  header.properties = true;
  header.end_of_group = true;
  header.first_object = true;
  const Result<moqt::StreamId> stream = session_->OpenSubgroup(*request_, header);
  if (stream.ok()) {
    open_.push_back({*stream, left_[which], 0});
    left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

void NetworkPublisher::Send(size_t which) {
  Open& open = open_[which];
  if (open.sent < track_->groups().at(open.group)) {
    const Object object = track_->At({open.group, open.sent++}, version_);
    (void)session_->SendObject(*request_, open.stream, object).ok();
  } else {
    (void)session_->EndSubgroup(*request_, open.stream).ok();
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }
}

void NetworkPublisher::Act(Random& random) {
  if (ended_ || refused_) {
    return;
  }
  if (!request_) {
    return Begin();
  }
  if (session_->queued_bytes(*request_) > kQueuedMax) {
    return;
  }
  if (left_.empty() && open_.empty()) {
    if (!accepted_) {
      return;  // Who has said all hears of no refusal.
    }
    (void)session_->EndTrack(*request_, moqt::DoneCode::kTrackEnded, "").ok();
    ended_ = true;
    judge_->Note("ended " + std::to_string(track()));
  } else if (open_.empty() || (!left_.empty() && random.Happens(0.3))) {
    OpenGroup(random);
  } else {
    Send(random.Below(open_.size()));
  }
}

void NetworkPublisher::OnEvent(const moqt::Event& event) {
  if (const auto* accepted = std::get_if<moqt::RequestAccepted>(&event)) {
    accepted_ = accepted_ || accepted->request == request_;
    if (accepted->request == request_ && track_->level() != Durability::kMemory) {
      const Result<moqt::RequestId> acks =
          session_->Subscribe(*AckTrackOf(track_->name().space()), {});
      acks_ = acks.ok() ? std::optional(*acks) : std::nullopt;
    }
  } else if (const auto* refused = std::get_if<moqt::RequestRefused>(&event)) {
    Refuse(refused->request, "refused: " + refused->error.reason);
  } else if (const auto* cancelled = std::get_if<moqt::RequestCancelled>(&event)) {
    Refuse(cancelled->request, "cancelled, " + std::to_string(cancelled->code));
  } else if (const auto* closed = std::get_if<moqt::SessionClosed>(&event)) {
    closed_ = true;
    judge_->OnClosed(closed->code, closed->reason);
  }
}

void NetworkPublisher::TakeAcks(bool promises) {
  while (std::optional<moqt::Received> item = session_->Take(*acks_)) {
    const auto* object = std::get_if<moqt::ReceivedObject>(&*item);
    if (object == nullptr) {
      continue;
    }
    const Result<std::vector<AckRecord>> records = ParseAcks(object->object.payload);
    if (!records.ok()) {
      return judge_->Violate("An acknowledgement cannot be read.");
    }
    for (const AckRecord& record : *records) {
      for (const auto& [group, count] : track_->groups()) {
        if (record.level && record.name == track_->name().name() && group >= record.first &&
            group <= record.last && promises) {
          judge_->OnAcknowledged(track(), group, *record.level);
        }
      }
    }
  }
}

bool NetworkPublisher::Take(bool promises) {
  while (std::optional<moqt::Event> event = session_->NextEvent()) {
    OnEvent(*event);
  }
  if (acks_) {
    TakeAcks(promises);
  }
  return !closed_;
}

}  // namespace kvcast::sim
