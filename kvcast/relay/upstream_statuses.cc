#include "kvcast/relay/upstream_statuses.h"

#include <algorithm>

#include "kvcast/relay/refusal.h"

namespace kvcast::relay {

bool UpstreamStatuses::Ask(SubscriberId asker, const TrackName& track,
                           const std::vector<PeerId>& sources, Instant now) {
  auto question = questions_.find(track);
  if (question == questions_.end()) {
    Question asked;
    asked.next.assign(sources.begin(), sources.end());
    if (!AskNext(track, asked, now)) {
      return false;
    }
    question = questions_.emplace(track, std::move(asked)).first;
  } else if (std::ranges::find(sources, question->second.peer) == sources.end()) {
    return false;  // Whoever is being asked is not to wait for itself.
  }
  question->second.askers.insert(asker);
  askers_.insert_or_assign(asker, track);
  return true;
}

bool UpstreamStatuses::AskNext(const TrackName& track, Question& question, Instant now) {
  while (!question.next.empty()) {
    const PeerId peer = question.next.front();
    question.next.pop_front();
    moqt::Session* const session = session_of_(peer);
    const Result<moqt::RequestId> request =
        session == nullptr ? Result<moqt::RequestId>(Error(ErrorCode::kNotFound, "It has gone."))
                           : session->AskTrackStatus(track, {});
    if (request.ok()) {
      question.peer = peer;
      question.request = *request;
      question.answer_by = now + limits_->upstream_patience;
      by_request_.insert_or_assign({peer, *request}, track);
      due_.emplace(question.answer_by, track);
      touched_.insert(peer);
      return true;
    }
  }
  return false;
}

void UpstreamStatuses::Erase(Questions::iterator question) {
  by_request_.erase({question->second.peer, question->second.request});
  due_.erase({question->second.answer_by, question->first});
  for (const SubscriberId& asker : question->second.askers) {
    askers_.erase(asker);
  }
  questions_.erase(question);
}

void UpstreamStatuses::Cancel(Questions::iterator question) {
  if (moqt::Session* const session = session_of_(question->second.peer)) {
    session->Cancel(question->second.request, moqt::ResetCode::kCancelled);
    touched_.insert(question->second.peer);
  }
}

void UpstreamStatuses::Leave(SubscriberId asker) {
  const auto track = askers_.extract(asker);
  if (!track) {
    return;
  }
  const auto question = questions_.find(track.mapped());
  question->second.askers.erase(asker);
  if (question->second.askers.empty()) {
    Cancel(question);
    Erase(question);
  }
}

bool UpstreamStatuses::OnAccepted(PeerId peer, const moqt::RequestAccepted& event) {
  const auto found = by_request_.find({peer, event.request});
  if (found == by_request_.end()) {
    return false;
  }
  const auto question = questions_.find(found->second);
  outcomes_.push_back({question->first, question->second.askers, event, std::nullopt});
  Erase(question);
  return true;
}

bool UpstreamStatuses::OnRefused(PeerId peer, moqt::RequestId request,
                                 const moqt::RequestError& error, Instant now) {
  const auto found = by_request_.find({peer, request});
  if (found == by_request_.end()) {
    return false;
  }
  const auto question = questions_.find(found->second);
  const moqt::RequestError passed = PassedOn(error, question->first);
  std::optional<moqt::RequestError>& refusal = question->second.refusal;
  refusal = refusal ? BetterOf(*refusal, passed) : passed;
  Fail(question, now);
  return true;
}

void UpstreamStatuses::Fail(Questions::iterator question, Instant now) {
  Question& asked = question->second;
  by_request_.erase({asked.peer, asked.request});
  due_.erase({asked.answer_by, question->first});
  if (!AskNext(question->first, asked, now)) {
    outcomes_.push_back({question->first, asked.askers, std::nullopt, asked.refusal});
    Erase(question);
  }
}

void UpstreamStatuses::OnPeerGone(PeerId peer, Instant now) {
  std::vector<TrackName> gone;
  for (auto each = by_request_.lower_bound({peer, 0});
       each != by_request_.end() && each->first.first == peer; ++each) {
    gone.push_back(each->second);
  }
  for (const TrackName& track : gone) {
    Fail(questions_.find(track), now);
  }
}

void UpstreamStatuses::OnTime(Instant now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto question = questions_.find(due_.begin()->second);
    Cancel(question);
    Fail(question, now);
  }
}

std::optional<Instant> UpstreamStatuses::deadline() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

}  // namespace kvcast::relay
