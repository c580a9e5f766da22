#include "kvcast/host/resting_bucket.h"

#include <poll.h>

#include <algorithm>
#include <set>

#include "kvcast/catalog/block_key.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/progress.h"
#include "kvcast/store/segment_scan.h"

namespace kvcast {
namespace {

constexpr Duration kOpenPatience = std::chrono::seconds(30);
constexpr Duration kBucketToolPatience = std::chrono::seconds(60);
constexpr Duration kAskPatience = std::chrono::seconds(20);
constexpr Duration kTurn = std::chrono::milliseconds(100);
constexpr int kAskTries = 4;
constexpr uint64_t kBucketWindowBytes = 8 << 20;
constexpr size_t kAheadObjects = 256;
constexpr uint64_t kAheadBytes = 16 << 20;

}  // namespace

Result<std::unique_ptr<RestingBucket>> RestingBucket::Open(const BucketFlag& flag) {
  BucketTierOptions options;
  options.prefix = flag.prefix;
  options.key_property = kBlockKeyProperty;
  options.get_patience = kBucketToolPatience;
  options.survey_every = Duration(0);
  Progress progress("Reading the bucket");
  auto driven = DrivenBucket::Open(
      flag.server, options, kOpenPatience, Log(),
      [&](const BucketTier& tier) { progress.Update(tier.counts().bytes_read, 0); });
  if (!driven.ok()) {
    return Error(driven.error()).In(flag.ToString());
  }
  progress.Done();
  KVCAST_TRY(std::unique_ptr<S3Bucket> raw, S3Bucket::Open(flag.server));
  if ((*driven)->tier().packs().packs.empty() && (*driven)->tier().passed_over().empty()) {
    return Error(ErrorCode::kNotFound,
                 "There is no store in it: no pack. Name the bucket and the prefix that the node "
                 "was given.")
        .In(flag.ToString());
  }
  std::unique_ptr<RestingBucket> bucket(new RestingBucket(*std::move(driven), std::move(raw)));
  bucket->last_read_ = Now();
  for (const BucketTier::PassedOver& pack : bucket->driven_->tier().passed_over()) {
    bucket->unlisted_.push_back({pack.key, 0, pack.why});
  }
  return bucket;
}

void RestingBucket::ReadAhead(const TrackName& track, Location location) {
  BucketTier& tier = driven_->tier();
  ahead_.clear();
  std::map<TierTicket, Location> asked;
  uint64_t bytes = 0;
  std::optional<uint64_t> object = location.object;
  while (object && asked.size() < kAheadObjects && bytes < kAheadBytes) {
    const Location at{location.group, *object};
    if (const auto found = tier.index().Find(track, at)) {
      bytes += found->length;
      if (const auto ticket = tier.Get(track, at, Now())) {
        asked[*ticket] = at;
      }
    }
    object = *object == UINT64_MAX ? std::nullopt
                                   : tier.ObjectFrom(track, {location.group, *object + 1});
  }
  while (!asked.empty()) {
    driven_->Turn(kTurn);
    while (auto event = tier.Next()) {
      if (auto* read = std::get_if<TierRead>(&*event)) {
        const auto found = asked.find(read->ticket);
        if (found != asked.end()) {
          ahead_[{track, found->second}] = std::move(read->found);
          asked.erase(found);
        }
      }
    }
  }
}

Result<StoredObject> RestingBucket::Read(const TrackName& track, Location location) {
  const BucketTier& tier = driven_->tier();
  while (true) {
    auto found = ahead_.find({track, location});
    if (found == ahead_.end() || !found->second) {
      ReadAhead(track, location);
      found = ahead_.find({track, location});
    }
    if (found != ahead_.end() && found->second) {
      last_read_ = Now();
      StoredObject stored = *std::move(found->second);
      ahead_.erase(found);
      return stored;
    }
    if (!tier.away() || Now() >= last_read_ + kBucketToolPatience) {
      break;
    }
    driven_->Turn(kTurn);
  }
  return Error(ErrorCode::kMachine, "Object " + location.ToString() + " cannot be read." +
                                        (tier.trouble().empty() ? "" : " " + tier.trouble()));
}

Result<std::vector<StoreFile>> RestingBucket::Files(const StoreProgress& progress) {
  const BucketTier& tier = driven_->tier();
  std::vector<StoreFile> files;
  uint64_t done = 0;
  for (const auto& [segment, pack] : tier.packs().packs) {
    const auto body = ReadEnd(pack);
    const auto objects =
        body ? std::ranges::count_if(body->contents.entries,
                                     [](const SegmentEntry& entry) {
                                       return std::holds_alternative<ObjectEntry>(entry.body);
                                     })
             : 0;
    files.push_back({pack.key, body ? "whole" : "damaged", pack.bytes,
                     tier.index().LiveBytes(segment), static_cast<uint64_t>(objects),
                     pack.written_us > 0 ? std::optional(pack.written_us) : std::nullopt});
    progress(++done, tier.packs().packs.size());
  }
  std::ranges::sort(files, {}, &StoreFile::name);
  return files;
}

Result<Bytes> RestingBucket::Ask(const std::string& key, uint64_t offset, uint64_t length) {
  Error last(ErrorCode::kMachine, "The bucket does not answer.");
  for (int i = 0; i < kAskTries; ++i) {
    BucketRequest request;
    request.kind = BucketRequest::Kind::kGet;
    request.token = ++last_token_;
    request.key = key;
    request.offset = offset;
    request.length = length;
    request.deadline = Now() + kAskPatience;
    raw_->Submit(std::move(request));
    std::optional<BucketCompletion> completion;
    while (!completion) {
      pollfd readable{raw_->descriptor(), POLLIN, 0};
      ::poll(&readable, 1, 1000);
      completion = raw_->Next();
    }
    if (!completion->error) {
      return std::move(completion->bytes);
    }
    last = Error(completion->error->kind == BucketError::Kind::kDamaged ? ErrorCode::kMalformed
                                                                        : ErrorCode::kMachine,
                 completion->error->message);
    if (completion->error->kind == BucketError::Kind::kNotFound) {
      break;
    }
  }
  return last;
}

Result<Bytes> RestingBucket::ReadAt(const Pack& pack, uint64_t offset, uint64_t length) {
  const bool there = pack.key == window_key_ && offset >= window_offset_ &&
                     offset + length <= window_offset_ + window_.size();
  if (!there) {
    if (offset + length > pack.bytes) {
      return Error(ErrorCode::kMalformed, "It lies beyond the pack's end.");
    }
    const uint64_t wanted = std::min(std::max(length, kBucketWindowBytes), pack.bytes - offset);
    KVCAST_TRY(window_, Ask(pack.key, offset, wanted));
    window_key_ = pack.key;
    window_offset_ = offset;
  }
  return window_.Slice(offset - window_offset_, length);
}

std::optional<PackBody> RestingBucket::ReadEnd(const Pack& pack) {
  if (pack.bytes < kTrailerBytes) {
    return std::nullopt;
  }
  const auto last = Ask(pack.key, pack.bytes - kTrailerBytes, kTrailerBytes);
  if (!last.ok()) {
    return std::nullopt;
  }
  const std::string text = last->ToString();
  const auto trailer = PackTrailer::Parse(AsBytes(text), pack.id, pack.bytes);
  if (!trailer.ok()) {
    return std::nullopt;
  }
  const auto bytes =
      Ask(pack.key, pack.bytes - kTrailerBytes - trailer->body_bytes, trailer->body_bytes);
  auto body = bytes.ok() ? ParsePackBody(*bytes, *trailer) : Result<PackBody>(bytes.error());
  return body.ok() ? std::optional(*std::move(body)) : std::nullopt;
}

SegmentContents RestingBucket::Scan(const Pack& pack, Verification& to) {
  SegmentScan scan(pack.id.node, pack.id.number, pack.id.marker, pack.bytes, kBlockKeyProperty);
  while (const auto window = scan.Wanted()) {
    const auto bytes = ReadAt(pack, window->offset, window->length);
    scan.OnWindow(*window, bytes.ok() ? std::optional(*bytes) : std::nullopt);
  }
  for (const uint64_t offset : scan.damaged_at()) {
    if (offset + kTrailerBytes <= pack.bytes) {
      VerifyDamaged(pack, offset, to);
    }
  }
  // More are missing than there are places.
  const uint64_t told = scan.damaged_at().size();
  to.verdict.nameless += scan.damaged() > told ? scan.damaged() - told : 0;
  if (const auto tail = scan.tail_at()) {
    to.verdict.damage.push_back(
        {pack.key, *tail, "no record, behind the last one: the pack's end, or more damage"});
    ++to.verdict.nameless;
  }
  return scan.Take();
}

Result<DiskRecord> RestingBucket::ReadDamaged(const Pack& pack, uint64_t offset) {
  const RecordSeat seat = pack.id.SeatAt(offset);
  KVCAST_TRY(const Bytes start, ReadAt(pack, offset, kRecordHeaderBytes));
  const std::string text = start.ToString();
  KVCAST_TRY(const RecordHeader header, RecordHeader::Parse(AsBytes(text), seat));
  KVCAST_TRY(const Bytes bytes, ReadAt(pack, offset, header.size()));
  return ParseRecordMeta(bytes, seat);
}

void RestingBucket::VerifyDamaged(const Pack& pack, uint64_t offset, Verification& to) {
  StoreDamage damage{pack.key, offset, "no whole record, in a pack whose end is damaged"};
  const auto record = ReadDamaged(pack, offset);
  const auto* const stored = record.ok() ? std::get_if<StoredObject>(&record->body) : nullptr;
  if (record.ok()) {
    damage.track = record->track;
  }
  if (stored != nullptr) {
    const Location location = stored->object.location;
    damage.location = location;
    damage.costs = !driven_->tier().index().Find(record->track, location);
    if (damage.costs) {
      Lose(record->track, {location, static_cast<uint32_t>(stored->object.payload.size()), 0, {}},
           to);
    } else {
      damage.what += ". There is another copy.";
    }
  } else {
    ++to.verdict.nameless;
  }
  to.verdict.damage.push_back(std::move(damage));
}

void RestingBucket::Lose(const TrackName& track, const ObjectEntry& object, Verification& to) {
  const uint64_t group = object.location.group;
  const auto facts = driven_->tier().FindGroup(track, group);
  StoreLoss& loss =
      to.losses.try_emplace({track, group}, StoreLoss{track, group, facts && facts->whole(), 0, 0})
          .first->second;
  ++loss.objects;
  loss.bytes += object.payload_bytes;
}

Result<StoreVerdict> RestingBucket::Verify(const StoreProgress& progress) {
  Verification to;
  // Whoever cannot read a pack cannot tell what was in it. One that came damaged is read below.
  for (StoreDamage& pack : Unlisted()) {
    if (!driven_->tier().packs().Has(pack.file)) {
      to.verdict.damage.push_back(std::move(pack));
      ++to.verdict.unlisted;
    }
  }
  const auto& packs = driven_->tier().packs().packs;
  uint64_t total = 0;
  for (const auto& [segment, pack] : packs) {
    total += pack.bytes;
  }
  uint64_t before = 0;
  for (const auto& [segment, pack] : packs) {
    VerifyPack(segment, pack, progress, before, total, to);
    before += pack.bytes;
  }
  for (auto& [name, loss] : to.losses) {
    to.verdict.losses.push_back(std::move(loss));
  }
  return std::move(to.verdict);
}

void RestingBucket::VerifyPack(uint32_t segment, const Pack& pack, const StoreProgress& progress,
                               uint64_t before, uint64_t total, Verification& to) {
  const auto block = ReadAt(pack, 0, kDeviceBlockBytes);
  if (!block.ok() && block.error().code() != ErrorCode::kMalformed) {
    to.verdict.damage.push_back({pack.key, 0, "cannot be read: " + block.error().message()});
    ++to.verdict.unlisted;
    return;
  }
  const std::string header = block.ok() ? block->ToString() : std::string();
  if (!block.ok() || !PackHeader::Parse(AsBytes(header)).ok()) {
    to.verdict.damage.push_back({pack.key, 0, "its header is damaged; its end says the same"});
  }
  const auto body = ReadEnd(pack);
  if (!body) {
    to.verdict.damage.push_back({pack.key, pack.bytes - std::min(pack.bytes, kTrailerBytes),
                                 "its end is damaged; its records say the same"});
  }
  const SegmentContents contents = body ? body->contents : Scan(pack, to);
  for (const SegmentEntry& entry : contents.entries) {
    VerifyEntry(segment, pack, contents, entry, to);
    progress(before + entry.offset, total);
  }
}

void RestingBucket::VerifyEntry(uint32_t segment, const Pack& pack, const SegmentContents& contents,
                                const SegmentEntry& entry, Verification& to) {
  const TrackName& track = contents.track_of(entry);
  ++to.verdict.records;
  to.verdict.bytes += entry.length;
  const auto bytes = ReadAt(pack, entry.offset, entry.length);
  const auto parsed = bytes.ok() ? ParseRecord(*bytes, pack.id.SeatAt(entry.offset))
                                 : Result<ParsedRecord>(bytes.error());
  if (parsed.ok() && parsed->record.track == track &&
      EntryOf(parsed->record.body, parsed->header.payload_sum, kBlockKeyProperty) == entry.body) {
    return;
  }
  StoreDamage damage{
      pack.key, entry.offset,
      parsed.ok() ? "says something else than the pack's end" : parsed.error().message(), track};
  if (const auto* object = std::get_if<ObjectEntry>(&entry.body)) {
    const BucketTier& tier = driven_->tier();
    damage.location = object->location;
    const auto found = tier.index().Find(track, object->location);
    damage.costs = found && found->place == DiskPlace{segment, entry.offset} &&
                   !tier.copies().Has(track, object->location);
    if (damage.costs) {
      Lose(track, *object, to);
    } else {
      damage.what += " There is another copy, or it was removed.";
    }
  } else {
    damage.what += " The pack's end says the same.";
  }
  to.verdict.damage.push_back(std::move(damage));
}

}  // namespace kvcast
