#include "kvcast/store/bucket_reads.h"

#include <algorithm>
#include <utility>

namespace kvcast {
namespace {

// What lies between two records is read with them, if it is no more than this: a request takes
// longer than that many bytes.
constexpr uint64_t kReadGapBytes = 64 << 10;
constexpr uint64_t kReadRunBytes = 8 << 20;
constexpr Duration kReadDelay = std::chrono::milliseconds(10);
// What comes damaged so often, as the server itself says, is taken for it.
constexpr uint32_t kReadDamagedTries = 3;

}  // namespace

void BucketReads::Ask(Reading reading) {
  wanted_.push_back({reading.found.place.segment, reading.found.place.offset, reading.found.length,
                     reading.ticket});
  bytes_ += reading.found.length;
  pending_.emplace(reading.ticket, std::move(reading));
}

void BucketReads::Start(const PackTable& table, BucketCalls& calls, Instant now) {
  std::vector<Wanted> wanted = std::exchange(wanted_, {});
  std::erase_if(wanted, [&](const Wanted& one) {
    const bool over = !pending_.contains(one.ticket);
    bytes_ -= over ? one.length : 0;
    return over;
  });
  std::ranges::sort(wanted);
  Run run;
  for (const Wanted& one : wanted) {
    // What came damaged is read by itself: what was read with it may be to blame.
    const bool alone = pending_.at(one.ticket).again ||
                       (!run.records.empty() && pending_.at(run.records.front().ticket).again);
    const bool joins = !alone && !run.records.empty() &&
                       run.records.front().segment == one.segment &&
                       one.offset <= run.end + kReadGapBytes &&
                       one.end() - run.records.front().offset <= kReadRunBytes;
    if (!joins && !run.records.empty()) {
      StartRun(std::exchange(run, {}), table, calls, now);
    }
    run.records.push_back(one);
    run.end = std::max(run.end, one.end());
  }
  if (!run.records.empty()) {
    StartRun(std::move(run), table, calls, now);
  }
}

void BucketReads::StartRun(Run run, const PackTable& table, BucketCalls& calls, Instant now) {
  const Wanted& first = run.records.front();
  const Pack* pack = table.Find(first.segment);
  Instant last = now;
  for (const Wanted& one : run.records) {
    last = std::max(last, pending_.at(one.ticket).deadline);
    if (pack == nullptr) {
      bytes_ -= one.length;
      Answered(one.ticket, std::nullopt, Answer::Fault::kFailed);
    }
  }
  if (pack == nullptr) {
    return;
  }
  BucketRequest request;
  request.kind = BucketRequest::Kind::kGet;
  request.key = pack->key;
  request.offset = first.offset;
  request.length = run.end - first.offset;
  const auto id = calls.Start(std::move(request), {.urgency = BucketCalls::Urgency::kReader,
                                                   .give_up = last,
                                                   .attempt = last - now,
                                                   .delay = kReadDelay,
                                                   .damaged_tries = kReadDamagedTries});
  runs_.emplace(id, std::move(run));
}

bool BucketReads::OnEnded(const BucketCalls::Ended& ended, const PackTable& table) {
  const auto found = runs_.find(ended.id);
  if (found == runs_.end()) {
    return false;
  }
  const Run run = std::move(found->second);
  runs_.erase(found);
  const uint64_t start = run.records.front().offset;
  const auto& error = ended.completion.error;
  const Bytes& bytes = ended.completion.bytes;
  for (const Wanted& one : run.records) {
    bytes_ -= one.length;
    if (!pending_.contains(one.ticket)) {
      continue;  // It was answered when its time was over.
    }
    if (error && error->kind != BucketError::Kind::kDamaged) {
      Answered(one.ticket, std::nullopt,
               error->kind == BucketError::Kind::kNotFound  ? Answer::Fault::kGone
               : error->kind == BucketError::Kind::kTimeout ? Answer::Fault::kLate
                                                            : Answer::Fault::kFailed);
    } else {
      const bool whole = !error && bytes.size() == run.end - start;
      OnRecord(one, whole ? bytes.Slice(one.offset - start, one.length) : Bytes(), table);
    }
  }
  return true;
}

void BucketReads::OnRecord(const Wanted& wanted, const Bytes& bytes, const PackTable& table) {
  Reading& reading = pending_.at(wanted.ticket);
  const Pack* pack = table.Find(wanted.segment);
  if (pack == nullptr) {
    Answered(wanted.ticket, std::nullopt, Answer::Fault::kFailed);
    return;
  }
  auto parsed = ParseRecord(bytes, pack->id.SeatAt(wanted.offset));
  auto* const stored = parsed.ok() ? std::get_if<StoredObject>(&parsed->record.body) : nullptr;
  if (stored != nullptr && parsed->record.track == reading.track &&
      stored->object.location == reading.location) {
    Answered(wanted.ticket, std::move(*stored), Answer::Fault::kNone);
  } else if (!reading.again) {
    reading.again = true;
    wanted_.push_back(wanted);
    bytes_ += wanted.length;
  } else {
    Answered(wanted.ticket, std::nullopt, Answer::Fault::kDamaged);
  }
}

void BucketReads::Answered(TierTicket ticket, std::optional<StoredObject> found,
                           Answer::Fault fault) {
  const auto reading = pending_.find(ticket);
  answers_.push_back({std::move(reading->second), std::move(found), fault});
  pending_.erase(reading);
}

void BucketReads::OnTime(Instant now) {
  while (!pending_.empty() && now >= pending_.begin()->second.deadline) {
    Answered(pending_.begin()->first, std::nullopt, Answer::Fault::kLate);
  }
}

std::vector<BucketReads::Answer> BucketReads::TakeAnswers() { return std::exchange(answers_, {}); }

std::optional<Instant> BucketReads::deadline() const {
  return pending_.empty() ? std::nullopt : std::optional(pending_.begin()->second.deadline);
}

}  // namespace kvcast
