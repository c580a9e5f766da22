#include "kvcast/relay/fetch_answer.h"

#include <variant>

namespace kvcast::relay {

FetchAnswer::State FetchAnswer::Continue(Store& store, Instant now, size_t peer_bytes_max,
                                         RelayMetrics& metrics) {
  while (true) {
    if (session_->queued_bytes(request_) >= session_->limits().send_queue_high_bytes) {
      cursor_.Pause();
      return State::kAhead;
    }
    if (session_->queued_bytes() >= peer_bytes_max) {
      cursor_.Pause();
      return State::kCrowded;
    }
    const std::optional<moqt::FetchItem> item = cursor_.Next(store, now);
    if (!item && cursor_.waiting()) {
      return State::kReading;
    }
    if (!item) {
      (void)session_->EndFetch(request_).ok();
      return State::kDone;
    }
    const Result<void> sent =
        std::visit([this](const auto& any) { return session_->SendFetched(request_, any); }, *item);
    if (!sent.ok()) {
      return State::kDone;  // Cancelled just now; the event is under way.
    }
    if (const Object* object = std::get_if<Object>(&*item)) {
      metrics.Sent(*object);
      ++sent_objects_;
    } else if (const auto& end = std::get<moqt::RangeEnd>(*item); end.unknown && !unknown_) {
      unknown_ = end.last;
    }
  }
}

void FetchAnswer::NoteUpstreams(const std::vector<UpstreamTrial>& trials) {
  for (const UpstreamTrial& trial : trials) {
    if (upstreams_.size() < UpstreamTrial::kKeptMax) {
      upstreams_.push_back(trial);
    }
  }
}

std::optional<Miss> FetchAnswer::MissOf(Instant now) const {
  if (!unknown_) {
    return std::nullopt;
  }
  Miss miss{.at = now, .track = cursor_.track(), .range = cursor_.range()};
  miss.sent_objects = sent_objects_;
  miss.took = now - begun_;
  miss.missing = unknown_;
  miss.upstreams = upstreams_;
  if (const auto& failed = cursor_.failed()) {
    miss.missing = failed->at;
    miss.trials = failed->trials;
    const bool late =
        !miss.trials.empty() && miss.trials.back().outcome == TierTrial::Outcome::kTooLate;
    miss.reason = late ? Miss::Reason::kTooLate : Miss::Reason::kReadFailed;
  }
  return miss;
}

}  // namespace kvcast::relay
