#include "kvcast/moqt/shared_request.h"

#include <algorithm>
#include <utility>

namespace kvcast::moqt {

SharedRequest::SharedRequest(const Codec& codec, MessageKind kind, size_t parts, size_t home)
    : codec_(&codec), kind_(kind), home_(home), input_(codec) {
  for (size_t i = 0; i < parts; ++i) {
    parts_.emplace_back(codec);
  }
}

// Updates are answered in their order. What is wrong with one the sessions find as well.
void SharedRequest::OnInput(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::optional<std::string> frame = input_.Read(bytes);
    if (!frame) {
      return;
    }
    if (!std::exchange(begun_, true)) {
      continue;
    }
    const Decoded<Message> message = codec_->Decode(*frame, {Role::kClient, false, kind_, false});
    if (message.ok() && std::holds_alternative<RequestUpdate>(*message)) {
      updates_.push_back(std::get<RequestUpdate>(*message).parameters.namespace_prefix.has_value());
    }
  }
}

void SharedRequest::OnSend(size_t part, const Bytes& bytes, bool fin) {
  Part& from = parts_.at(part);
  if (over_) {
    steps_.push_back(Sent{part, bytes.size()});
    return;
  }
  const std::string text = bytes.ToString();
  std::span<const std::byte> rest = AsBytes(text);
  while (!rest.empty()) {
    if (std::optional<std::string> frame = from.frames.Read(rest)) {
      from.waiting.push_back(*std::move(frame));
    }
  }
  from.fin = from.fin || fin;
  Settle();
}

void SharedRequest::OnReset(size_t part, uint64_t code) {
  if (over_) {
    return;
  }
  steps_.push_back(Reset{code});
  End(part);
}

void SharedRequest::OnBytesSent(uint64_t bytes) {
  while (bytes > 0 && !owed_.empty()) {
    Sent& next = owed_.front();
    const uint64_t taken = std::min(bytes, next.bytes);
    steps_.push_back(Sent{next.part, taken});
    bytes -= taken;
    next.bytes -= taken;
    if (next.bytes == 0) {
      owed_.pop_front();
    }
  }
}

std::optional<SharedRequest::Step> SharedRequest::Next() {
  if (steps_.empty()) {
    return std::nullopt;
  }
  Step step = std::move(steps_.front());
  steps_.pop_front();
  return step;
}

bool SharedRequest::IsAnswer(const std::string& frame) const {
  const Decoded<Message> message = codec_->Decode(frame, place());
  return message.ok() && (std::holds_alternative<RequestOk>(*message) ||
                          std::holds_alternative<RequestError>(*message));
}

bool SharedRequest::IsRefusal(const std::string& frame) const {
  const Decoded<Message> message = codec_->Decode(frame, place());
  return message.ok() && std::holds_alternative<RequestError>(*message);
}

void SharedRequest::Settle() {
  while (!over_ && (PassNotices() || PassAnswer())) {
  }
  const auto has_ended = [](const Part& part) { return part.fin && part.waiting.empty(); };
  if (!over_ && std::ranges::all_of(parts_, has_ended)) {
    steps_.push_back(Send{Bytes(), true});
    over_ = true;
  }
}

// What a session tells after its answer is passed on once all have answered, since the peer has no
// answer before.
bool SharedRequest::PassNotices() {
  bool any = false;
  for (size_t part = 0; part < parts_.size(); ++part) {
    std::deque<std::string>& waiting = parts_[part].waiting;
    while (!waiting.empty() && !IsAnswer(waiting.front())) {
      if (IsNews(part, waiting.front())) {
        Emit(part, waiting.front(), false);
      } else {
        Swallow(part, waiting.front());
      }
      waiting.pop_front();
      any = true;
    }
  }
  return any;
}

bool SharedRequest::PassAnswer() {
  const auto is_here = [](const Part& part) { return !part.waiting.empty(); };
  if (!std::ranges::all_of(parts_, is_here)) {
    return false;
  }
  const auto refusing = std::ranges::find_if(
      parts_, [this](const Part& part) { return IsRefusal(part.waiting.front()); });
  const bool refused = refusing != parts_.end();
  const size_t speaker = refused ? static_cast<size_t>(refusing - parts_.begin()) : home_;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const std::string frame = std::move(parts_[part].waiting.front());
    parts_[part].waiting.pop_front();
    if (part == speaker) {
      Emit(part, frame, refused);
    } else {
      parts_[part].refused = refused && IsRefusal(frame);
      Swallow(part, frame);
    }
  }
  if (refused) {
    End(speaker);
    return true;
  }
  if (std::exchange(answered_, true) && !updates_.empty()) {
    if (updates_.front()) {
      told_.clear();  // All below the new prefix is told anew.
    }
    updates_.pop_front();
  }
  return true;
}

bool SharedRequest::IsNews(size_t part, const std::string& frame) {
  const Decoded<Message> message = codec_->Decode(frame, place());
  if (!message.ok()) {
    return true;
  }
  if (const auto* space = std::get_if<Namespace>(&*message)) {
    std::set<size_t>& who = told_[space->below];
    who.insert(part);
    return who.size() == 1;
  }
  if (const auto* done = std::get_if<NamespaceDone>(&*message)) {
    const auto found = told_.find(done->below);
    if (found == told_.end() || found->second.erase(part) == 0 || !found->second.empty()) {
      return false;
    }
    told_.erase(found);
  }
  return true;
}

void SharedRequest::Emit(size_t part, const std::string& frame, bool fin) {
  steps_.push_back(Send{Bytes::Of(frame), fin});
  owed_.push_back({part, frame.size()});
}

void SharedRequest::Swallow(size_t part, const std::string& frame) {
  steps_.push_back(Sent{part, frame.size()});
}

void SharedRequest::End(size_t by) {
  over_ = true;
  for (size_t part = 0; part < parts_.size(); ++part) {
    for (const std::string& frame : std::exchange(parts_[part].waiting, {})) {
      Swallow(part, frame);
    }
    if (part != by && !parts_[part].refused) {
      parts_[part].cancelled = true;
      steps_.push_back(Cancel{part});
    }
  }
}

}  // namespace kvcast::moqt
