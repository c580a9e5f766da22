#include "kvcast/host/disk_directory.h"

#include <algorithm>
#include <numeric>

#include "kvcast/catalog/block_key.h"
#include "kvcast/io/disk_files.h"
#include "kvcast/io/progress.h"
#include "kvcast/store/disk_opening.h"

namespace kvcast {
namespace {

constexpr uint64_t kWindowBytes = 4 << 20;
// Microseconds since 1970 that a clock can say: up to the year 2255.
constexpr uint64_t kReceivedMax = 9'000'000'000'000'000;

std::string StateOf(const Segment& segment, const SegmentLoad::Outcome& outcome) {
  switch (segment.state) {
    case SegmentState::kSealed:
      return "sealed";
    case SegmentState::kForeign:
      return "foreign";
    case SegmentState::kHeld:
    case SegmentState::kUnread:
      return "unreadable";
    default:
      return outcome.marker == 0 ? "empty" : "open";
  }
}

Error NoStore() {
  return {ErrorCode::kNotFound,
          "There is no store in it: neither a superblock nor a segment. Name the directory that "
          "the node was given."};
}

}  // namespace

Result<std::unique_ptr<DiskDirectory>> DiskDirectory::Open(const std::filesystem::path& path) {
  KVCAST_TRY(std::shared_ptr<DiskFiles> files, DiskFiles::OpenToRead(path, true));
  auto directory = Over([files](const DeviceRequest& request) { return files->Do(request); });
  if (!directory.ok()) {
    return Error(directory.error()).In(path.string());
  }
  return directory;
}

Result<std::unique_ptr<DiskDirectory>> DiskDirectory::Over(ReadFiles read) {
  std::unique_ptr<DiskDirectory> directory(new DiskDirectory(std::move(read)));
  KVCAST_TRY_VOID(directory->Load());
  return directory;
}

void DiskDirectory::Answer(DeviceOutbox& outbox,
                           const std::function<void(const DeviceCompletion&)>& on_completion) {
  for (auto requests = outbox.Take(); !requests.empty(); requests = outbox.Take()) {
    for (const DeviceRequest& request : requests) {
      on_completion(read_(request));
    }
  }
}

Result<void> DiskDirectory::Load() {
  DeviceOutbox outbox;
  // Whatever is made up here stays in memory.
  DiskOpening opening({{}, DiskClass::kSsd, kSegmentBytesMin}, kBlockKeyProperty, index_, table_,
                      outbox);
  bool any = false;
  Progress progress("Reading the directory");
  uint64_t bytes_read = 0;
  const auto on_completion = [&](const DeviceCompletion& completion) {
    any = any || !completion.files.empty();
    bytes_read += completion.bytes.size();
    progress.Update(bytes_read, 0);
    opening.OnCompletion(completion);
  };
  Answer(outbox, on_completion);
  while (opening.waits()) {
    opening.ReadAgain();
    Answer(outbox, on_completion);
  }
  progress.Done();
  if (opening.refused()) {
    return *opening.refused();
  }
  if (opening.failure()) {
    return Error(ErrorCode::kMachine, "It cannot be read: " + opening.failure()->message + ".");
  }
  if (!any) {
    return NoStore();
  }
  directory_ = opening.superblock().directory;
  return {};
}

SegmentLoad::Outcome DiskDirectory::LoadSegment(uint32_t number, const Segment& segment) {
  const uint64_t bytes = BlocksDown(segment.bytes);
  if (bytes < kSegmentBytesMin || bytes > kSegmentBytesMax) {
    return {};
  }
  DeviceOutbox outbox;
  SegmentLoad load(directory_, number, bytes, kBlockKeyProperty, outbox);
  Answer(outbox, [&](const DeviceCompletion& done) { load.OnCompletion(done); });
  return load.Take();
}

Result<Bytes> DiskDirectory::ReadAt(uint32_t segment, uint64_t offset, uint64_t length) {
  const bool there = segment == window_segment_ && offset >= window_offset_ &&
                     offset + length <= window_offset_ + window_.size();
  if (!there) {
    const uint64_t end = BlocksDown(table_.segments.at(segment).bytes);
    const uint64_t first = BlocksDown(offset);
    if (offset + length > end) {
      return Error(ErrorCode::kMalformed, "It lies beyond the segment's end.");
    }
    const auto read = [&](uint64_t bytes) {
      DeviceOutbox outbox;
      outbox.Read(segment, first, bytes);
      return read_(outbox.Take().front());
    };
    // A bad sector costs what lies in it, and not what is read along with it.
    const uint64_t least = BlocksUp(offset + length) - first;
    const uint64_t ahead = std::min(std::max(least, kWindowBytes), end - first);
    const bool bad = segment == bad_segment_ && first < bad_end_;
    DeviceCompletion done = read(bad ? least : ahead);
    if (done.error && !bad && ahead > least) {
      bad_segment_ = segment;
      bad_end_ = first + ahead;
      done = read(least);
    }
    if (done.error) {
      return Error(ErrorCode::kMachine, "It cannot be read: " + done.error->message + ".");
    }
    window_segment_ = segment;
    window_offset_ = first;
    window_ = std::move(done.bytes);
  }
  return window_.Slice(offset - window_offset_, length);
}

Result<ParsedRecord> DiskDirectory::ReadRecord(uint32_t number, uint64_t marker, uint64_t offset,
                                               uint64_t length) {
  KVCAST_TRY(const Bytes bytes, ReadAt(number, offset, length));
  return ParseRecord(bytes, {directory_, marker, {number, offset}});
}

std::vector<StoreDamage> DiskDirectory::Unlisted() const {
  std::vector<StoreDamage> unlisted;
  for (const auto& [number, segment] : table_.segments) {
    if (segment.state == SegmentState::kUnread) {
      unlisted.push_back({DiskFileName(number), 0, "a part of it cannot be read"});
    }
  }
  return unlisted;
}

Result<StoredObject> DiskDirectory::Read(const TrackName& track, Location location) {
  const auto found = index_.Find(track, location);
  if (!found) {
    return Error(ErrorCode::kNotFound, "There is no object " + location.ToString() + ".");
  }
  const uint64_t marker = table_.segments.at(found->place.segment).marker;
  KVCAST_TRY(ParsedRecord parsed,
             ReadRecord(found->place.segment, marker, found->place.offset, found->length));
  auto* const stored = std::get_if<StoredObject>(&parsed.record.body);
  if (stored == nullptr || parsed.record.track != track || stored->object.location != location) {
    return Error(ErrorCode::kMalformed, "Another record stands in its place.");
  }
  return std::move(*stored);
}

std::optional<uint64_t> DiskDirectory::FirstReceipt(uint32_t number,
                                                    const SegmentLoad::Outcome& outcome) {
  const auto first = std::ranges::find_if(outcome.contents.entries, [](const SegmentEntry& entry) {
    return std::holds_alternative<ObjectEntry>(entry.body);
  });
  if (first == outcome.contents.entries.end()) {
    return std::nullopt;
  }
  const auto parsed = ReadRecord(number, outcome.marker, first->offset, first->length);
  const auto* stored = parsed.ok() ? std::get_if<StoredObject>(&parsed->record.body) : nullptr;
  const bool told = stored != nullptr && stored->received_us <= kReceivedMax;
  return told ? std::optional(stored->received_us) : std::nullopt;
}

Result<std::vector<StoreFile>> DiskDirectory::Files(const StoreProgress& progress) {
  std::vector<StoreFile> files;
  uint64_t done = 0;
  for (const auto& [number, segment] : table_.segments) {
    progress(done, table_.allocated);
    done += segment.bytes;
    const SegmentLoad::Outcome outcome = LoadSegment(number, segment);
    const auto objects = std::ranges::count_if(
        outcome.contents.entries,
        [](const SegmentEntry& entry) { return std::holds_alternative<ObjectEntry>(entry.body); });
    files.push_back({DiskFileName(number), StateOf(segment, outcome), segment.bytes,
                     index_.LiveBytes(number), static_cast<uint64_t>(objects),
                     FirstReceipt(number, outcome)});
  }
  return files;
}

Result<StoreVerdict> DiskDirectory::Verify(const StoreProgress& progress) {
  Verification to;
  VerifySuperblock(to);
  uint64_t before = 0;
  for (const auto& [number, segment] : table_.segments) {
    VerifySegment(number, segment, progress, before, to);
    before += segment.bytes;
  }
  for (auto& [name, loss] : to.losses) {
    to.verdict.losses.push_back(std::move(loss));
  }
  return std::move(to.verdict);
}

void DiskDirectory::VerifySuperblock(Verification& to) {
  DeviceOutbox outbox;
  outbox.Read(kSuperblockFile, 0, kSuperblockBytes);
  const DeviceCompletion done = read_(outbox.Take().front());
  const std::string file = DiskFileName(kSuperblockFile);
  if (done.error) {
    to.verdict.damage.push_back({file, 0, "cannot be read; the segments name the directory too"});
    return;
  }
  const std::string blocks = done.bytes.ToString();
  for (uint64_t copy = 0; copy < 2; ++copy) {
    const uint64_t offset = copy * kDeviceBlockBytes;
    if (!Superblock::Parse(AsBytes(blocks).subspan(offset, kDeviceBlockBytes)).ok()) {
      to.verdict.damage.push_back({file, offset, "one of its two copies is damaged"});
    }
  }
  to.verdict.bytes += blocks.size();
}

void DiskDirectory::VerifyHeader(uint32_t number, const SegmentLoad::Outcome& outcome,
                                 Verification& to) {
  const auto block = ReadAt(number, 0, kDeviceBlockBytes);
  const std::string text = block.ok() ? block->ToString() : std::string();
  if (!block.ok() || !SegmentHeader::Parse(AsBytes(text)).ok()) {
    to.verdict.damage.push_back({DiskFileName(number), 0,
                                 outcome.sealed
                                     ? "its header is damaged; its footer says the same"
                                     : "its header is damaged; its first record says the same"});
  }
}

void DiskDirectory::VerifySegment(uint32_t number, const Segment& segment,
                                  const StoreProgress& progress, uint64_t before,
                                  Verification& to) {
  const std::string file = DiskFileName(number);
  if (segment.state == SegmentState::kForeign) {
    to.verdict.damage.push_back({file, 0, "belongs to another directory"});
    return;
  }
  const SegmentLoad::Outcome outcome = LoadSegment(number, segment);
  if (outcome.unreadable) {
    to.verdict.damage.push_back({file, 0, "a part of it cannot be read"});
    to.verdict.nameless += outcome.marker == 0 ? 1 : 0;
  }
  if (outcome.marker == 0) {
    const auto start = ReadAt(number, 0, kDeviceBlockBytes);
    if (start.ok() && *start != ZeroBytes(kDeviceBlockBytes)) {
      to.verdict.damage.push_back(
          {file, 0, "neither header, footer nor first record is whole: nothing of it can be read"});
      ++to.verdict.nameless;
    } else if (!start.ok() && !outcome.unreadable &&
               (segment.bytes > 0 || number != table_.segments.rbegin()->first)) {
      // The last one may be as a crash has left it that was being made.
      to.verdict.damage.push_back({file, 0, "it was cut short: not even its header is left"});
      ++to.verdict.nameless;
    }
    return;  // Made, and never written.
  }
  VerifyHeader(number, outcome, to);
  const uint64_t end = BlocksDown(segment.bytes);
  const auto last = ReadAt(number, end - kTrailerBytes, kTrailerBytes);
  if (outcome.missing_bytes > 0) {
    to.verdict.damage.push_back({file, end,
                                 "it was cut short: its last " +
                                     std::to_string(outcome.missing_bytes) + " bytes are missing"});
    ++to.verdict.nameless;
  } else if (!outcome.sealed && last.ok() && *last != ZeroBytes(kTrailerBytes)) {
    to.verdict.damage.push_back(
        {file, end - kTrailerBytes, "its footer is damaged; its records say the same"});
  }
  const bool ended = last.ok() && *last != ZeroBytes(kTrailerBytes);
  VerifyScanned(number, outcome, ended, to);
  if (outcome.sealed) {
    for (const SegmentEntry& entry : outcome.contents.entries) {
      VerifyEntry(number, outcome, entry, to);
      progress(before + entry.offset, table_.allocated);
    }
  } else {
    // Without a footer they have been read, to find them.
    to.verdict.records += outcome.contents.entries.size();
    to.verdict.bytes += std::accumulate(
        outcome.contents.entries.begin(), outcome.contents.entries.end(), uint64_t{0},
        [](uint64_t sum, const SegmentEntry& entry) { return sum + entry.length; });
  }
}

Result<DiskRecord> DiskDirectory::ReadDamaged(uint32_t number, uint64_t marker, uint64_t offset) {
  const RecordSeat seat{directory_, marker, {number, offset}};
  KVCAST_TRY(const Bytes start, ReadAt(number, offset, kRecordHeaderBytes));
  const std::string text = start.ToString();
  KVCAST_TRY(const RecordHeader header, RecordHeader::Parse(AsBytes(text), seat));
  KVCAST_TRY(const Bytes bytes, ReadAt(number, offset, header.size()));
  return ParseRecordMeta(bytes, seat);
}

// Of a segment without a whole footer: what its records and their ordinals say.
void DiskDirectory::VerifyScanned(uint32_t number, const SegmentLoad::Outcome& outcome, bool ended,
                                  Verification& to) {
  if (outcome.sealed) {
    return;
  }
  const std::string file = DiskFileName(number);
  const uint64_t end = BlocksDown(table_.segments.at(number).bytes);
  uint64_t told = 0;
  for (const uint64_t offset : outcome.damaged_at) {
    if (offset > end - kTrailerBytes) {
      ++told;
      continue;  // A footer's marker, which is the one of its records.
    }
    ++told;
    StoreDamage damage{file, offset,
                       "no whole record, in a segment that was not closed: torn or damaged"};
    const auto record = ReadDamaged(number, outcome.marker, offset);
    const auto* const stored = record.ok() ? std::get_if<StoredObject>(&record->body) : nullptr;
    if (record.ok()) {
      damage.track = record->track;
    }
    if (stored != nullptr) {
      damage.location = stored->object.location;
      damage.costs = !index_.Find(record->track, stored->object.location);
      if (damage.costs) {
        Lose(record->track,
             {stored->object.location, static_cast<uint32_t>(stored->object.payload.size()), 0, {}},
             to);
      } else {
        damage.what += ". There is another copy.";
      }
    } else {
      ++to.verdict.nameless;
    }
    to.verdict.damage.push_back(std::move(damage));
  }
  // More are missing than there are places.
  to.verdict.nameless += outcome.damaged_records > told ? outcome.damaged_records - told : 0;
  if (outcome.tail_at && !ended) {
    to.verdict.damage.push_back(
        {file, *outcome.tail_at,
         "no record, behind the last one: what was being written when it stopped, or damage"});
    ++to.verdict.nameless;
  }
}

void DiskDirectory::VerifyEntry(uint32_t number, const SegmentLoad::Outcome& outcome,
                                const SegmentEntry& entry, Verification& to) {
  const TrackName& track = outcome.contents.track_of(entry);
  ++to.verdict.records;
  to.verdict.bytes += entry.length;
  const auto parsed = ReadRecord(number, outcome.marker, entry.offset, entry.length);
  const bool whole =
      parsed.ok() && parsed->record.track == track &&
      EntryOf(parsed->record.body, parsed->header.payload_sum, kBlockKeyProperty) == entry.body;
  if (whole) {
    return;
  }
  StoreDamage damage{DiskFileName(number), entry.offset,
                     parsed.ok() ? "says something else than the footer" : parsed.error().message(),
                     track};
  if (const auto* object = std::get_if<ObjectEntry>(&entry.body)) {
    damage.location = object->location;
    const auto found = index_.Find(track, object->location);
    damage.costs = found && found->place == DiskPlace{number, entry.offset};
    if (damage.costs) {
      Lose(track, *object, to);
    } else {
      damage.what += " There is a later copy, or it was removed.";
    }
  } else {
    damage.what += " The footer says the same.";
  }
  to.verdict.damage.push_back(std::move(damage));
}

void DiskDirectory::Lose(const TrackName& track, const ObjectEntry& object, Verification& to) {
  const uint64_t group = object.location.group;
  const auto facts = index_.FindGroup(track, group);
  auto& loss =
      to.losses.try_emplace({track, group}, StoreLoss{track, group, facts && facts->whole(), 0, 0})
          .first->second;
  ++loss.objects;
  loss.bytes += object.payload_bytes;
}

}  // namespace kvcast
