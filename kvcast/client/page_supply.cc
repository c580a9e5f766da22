#include "kvcast/client/page_supply.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "kvcast/base/check.h"
#include "kvcast/kv/track_properties.h"

namespace kvcast {

PageSupply::PageSupply(PromptPages pages, Ladder ladder, Rung rung, Executor& executor,
                       const WorkLimits& work, std::shared_ptr<TrackCoding> coding)
    : pages_(std::move(pages)),
      ladder_(std::move(ladder)),
      rung_(rung),
      executor_(&executor),
      work_(work),
      coding_(coding != nullptr ? std::move(coding) : std::make_shared<TrackCoding>()),
      jobs_(executor.Open()) {}

// What the track says of its coding stays, so later blocks are not asked.
Result<bool> PageSupply::Prepare(size_t blocks) {
  if (coding_->codec == nullptr) {
    if (ladder_.LooksAtPages(rung_) && !survey_) {
      survey_.emplace(pages_.First(blocks), ladder_.pages(), *executor_, work_);
    }
    if (survey_ && !survey_->Look()) {
      return false;
    }
    KVCAST_TRY(coding_->codec,
               ladder_.Encoder(rung_, pages_, survey_ ? &survey_->seen() : nullptr));
    KVCAST_CHECK(coding_->codec->shape() == pages_.shape());
  }
  survey_.reset();
  codec_ = coding_->codec;
  return true;
}

void PageSupply::Stop() {
  if (survey_) {
    survey_->Stop();
  }
  jobs_.Close();
}

Properties PageSupply::TrackProperties(const Properties& others) const {
  return WithFormat(others, codec_->format().Encode());
}

uint32_t PageSupply::EndOf(size_t) const { return pages_.shape().tokens(); }

// An object is known by its first token: one that begins before what is wanted is not.
uint64_t PageSupply::FirstFrom(size_t, uint64_t object) const {
  const uint64_t run = codec_->format().run_tokens;
  return object / run * run + (object % run == 0 ? 0 : run);
}

uint32_t PageSupply::After(size_t, uint32_t object) const {
  return object + codec_->TokensFrom(object);
}

Properties PageSupply::ObjectPropertiesOf(const BlockHash& hash, size_t, uint32_t object) const {
  return ObjectProperties(hash, object, codec_->format().run_tokens);
}

std::optional<Bytes> PageSupply::Payload(size_t block, uint32_t object) {
  TakeDone();
  GoTo({block, object});
  BeginJobs();
  TakeDone();
  Part& part = parts_.front();
  if (!part.made) {
    return std::nullopt;
  }
  Bytes payload = std::move(part.objects.front());
  made_bytes_ -= payload.size();
  part.objects.pop_front();
  part.next = After(block, object);
  if (part.objects.empty()) {
    parts_.pop_front();
  }
  BeginJobs();
  return payload;
}

void PageSupply::Expect(size_t block, uint32_t object) {
  plan_.emplace_back(block, object);
  BeginJobs();
}

std::optional<size_t> PageSupply::last_expected() const {
  if (!plan_.empty()) {
    return plan_.back().first;
  }
  return parts_.empty() ? std::nullopt : std::optional(parts_.back().block);
}

void PageSupply::GoTo(Place place) {
  while (!parts_.empty() && Place(parts_.front().block, parts_.front().next) != place) {
    DropFirst();
  }
  if (!parts_.empty()) {
    return;
  }
  const auto planned = std::ranges::find(plan_, place);
  plan_.erase(plan_.begin(), planned);
  if (plan_.empty()) {
    plan_.push_back(place);
  }
}

// One that is being made is made for nobody.
void PageSupply::DropFirst() {
  for (const Bytes& object : parts_.front().objects) {
    made_bytes_ -= object.size();
  }
  parts_.pop_front();
}

// What is asked for is always begun: of what is ahead of it, only as much as there is room for.
void PageSupply::BeginJobs() {
  while (!plan_.empty() && (parts_.empty() || !IsFull())) {
    auto& [block, token] = plan_.front();
    if (view_ == nullptr || viewed_ != block) {
      view_ = std::make_shared<const BlockView>(pages_.Block(block));
      viewed_ = block;
    }
    const uint32_t end = EndOf(block);
    const uint32_t first = token;
    size_t objects = 0;
    const size_t token_bytes =
        std::max<size_t>(pages_.shape().values_per_token() * pages_.value_bytes(), 1);
    do {
      token = After(block, token);
      ++objects;
    } while (
        token < end && objects < work_.job_objects_max &&
        ((token - first) * token_bytes < work_.encode_job_bytes || objects < codec_->Together()));
    const uint64_t number = next_number_++;
    parts_.push_back({number, block, first});
    jobs_.Submit(std::make_unique<EncodeJob>(number, codec_, view_, first, objects));
    if (token >= end) {
      plan_.pop_front();
    }
    TakeDone();
  }
}

void PageSupply::TakeDone() {
  while (const std::unique_ptr<EncodeJob> job = jobs_.TakeDone()) {
    const auto part = std::ranges::find(parts_, job->number(), &Part::number);
    if (part == parts_.end()) {
      continue;
    }
    part->made = true;
    std::vector<Bytes> made = job->TakeObjects();
    std::ranges::move(made, std::back_inserter(part->objects));
    for (const Bytes& object : part->objects) {
      made_bytes_ += object.size();
    }
  }
}

}  // namespace kvcast
