#include "kvcast/relay/ring_watch.h"

#include <algorithm>
#include <chrono>

#include "kvcast/base/bytes.h"
#include "kvcast/base/digest.h"

namespace kvcast::relay {
namespace {

constexpr size_t kNumberBytes = 16;

std::string_view TextOf(const NodeId& node) {
  return {reinterpret_cast<const char*>(node.data()), node.size()};
}

}  // namespace

bool RingWatch::IsQuestion(const TrackName& track) {
  return track.space().field_count() == 2 && track.space().field(0) == kSpace &&
         track.space().field(1).size() == NodeId().size() && track.name().size() == kNumberBytes;
}

TrackName RingWatch::QuestionFor(PeerId upstream) {
  const Digest digest = Sha256::Of(std::to_string(secret_) + "/" + std::to_string(++questions_) +
                                   "/" + std::string(TextOf(node_)));
  const std::string number(reinterpret_cast<const char*>(digest.bytes.data()), kNumberBytes);
  Forget(upstream);
  asked_.emplace(number, upstream);
  return *TrackName::Of(*TrackNamespace::Of({kSpace, TextOf(node_)}), number);
}

void RingWatch::Forget(PeerId upstream) {
  std::erase_if(asked_, [&](const auto& each) { return each.second == upstream; });
}

// What goes round would do so for ever, and whoever asks much would have others ask much.
bool RingWatch::MayPass(const TrackName& track, Instant now) {
  if (now >= second_ + std::chrono::seconds(1)) {
    second_ = now;
    passed_in_second_ = 0;
  }
  if (passed_in_second_ >= kPassedPerSecond || !passed_.insert(track).second) {
    return false;
  }
  ++passed_in_second_;
  passed_order_.push_back(track);
  if (passed_order_.size() > kPassedMax) {
    passed_.erase(passed_order_.front());
    passed_order_.pop_front();
  }
  return true;
}

RingWatch::Answer RingWatch::On(const TrackName& track, Instant now) {
  Answer answer;
  const std::string_view node = track.space().field(1);
  if (node == TextOf(node_)) {
    const auto asked = asked_.find(track.name());
    if (asked != asked_.end()) {
      answer.ring = asked->second;
      asked_.erase(asked);
    }
  } else if (node > TextOf(node_)) {
    answer.pass_on = MayPass(track, now);
  } else if (!asked_at_ || now >= *asked_at_ + std::chrono::seconds(1)) {
    asked_at_ = now;
    answer.ask = true;
  }
  return answer;
}

}  // namespace kvcast::relay
