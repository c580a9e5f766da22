#include "kvcast/store/group_reader.h"

#include <algorithm>
#include <utility>

namespace kvcast {
namespace {

// At a time: others want the disk as well.
constexpr size_t kGroupReadsMax = 8;
// What an object takes besides its payload, wherever it is kept meanwhile.
constexpr uint64_t kObjectOverhead = sizeof(StoredObject) + sizeof(Object) + 64;

// A payload that is less than this part of the blocks that it came in does not hold on to them.
constexpr uint64_t kBlocksShare = 2;

}  // namespace

uint64_t GroupReader::BytesOf(const ListedGroup& group, const DiskIndex& index) {
  return index.RecordBytes(group.track, group.group) + group.facts.object_count * kObjectOverhead;
}

GroupReader::GroupReader(const ListedGroup& group, const Parts& parts)
    : parts_(parts),
      contents_{{group.track, group.group}, group.facts.end, group.key, 0, {}},
      object_count_(group.facts.object_count),
      next_object_(0) {
  ReadMore();
}

void GroupReader::ReadMore() {
  const TrackName& track = contents_.group.track;
  const uint64_t group = contents_.group.group;
  while (!failed_ && next_object_ && readings_.size() < kGroupReadsMax) {
    next_object_ = parts_.index->ObjectFrom(track, {group, *next_object_});
    if (!next_object_) {
      return;
    }
    const Location location{group, *next_object_};
    const DiskIndex::Found found = *parts_.index->Find(track, location);
    const uint64_t offset = BlocksDown(found.place.offset);
    const uint64_t length = BlocksUp(found.place.offset + found.length) - offset;
    readings_.emplace(parts_.outbox->Read(found.place.segment, offset, length),
                      Reading{location, found, offset, length});
    // Its file must not go before it is read.
    ++parts_.table->segments.at(found.place.segment).reads;
    contents_.bytes += length + kObjectOverhead;
    next_object_ =
        location.object == UINT64_MAX ? std::nullopt : std::optional(location.object + 1);
  }
}

bool GroupReader::OnCompletion(const DeviceCompletion& completion) {
  const auto found = readings_.find(completion.token);
  if (found == readings_.end()) {
    return false;
  }
  const Reading reading = found->second;
  readings_.erase(found);
  failed_ = !Keep(reading, completion) || failed_;
  --parts_.table->segments.at(reading.found.place.segment).reads;
  ReadMore();
  return true;
}

bool GroupReader::Keep(const Reading& reading, const DeviceCompletion& completion) {
  if (completion.error) {
    unreadable_ = true;
    return false;
  }
  const DiskPlace place = reading.found.place;
  const RecordSeat seat{parts_.directory, parts_.table->segments.at(place.segment).marker, place};
  auto parsed = ParseRecord(
      completion.bytes.Slice(place.offset - reading.offset, reading.found.length), seat);
  auto* const stored = parsed.ok() ? std::get_if<StoredObject>(&parsed->record.body) : nullptr;
  if (stored == nullptr || parsed->record.track != contents_.group.track ||
      stored->object.location != reading.location) {
    return false;
  }
  Bytes& payload = stored->object.payload;
  if (payload.size() < reading.length / kBlocksShare) {
    payload = Bytes::Of(payload.ToString());
    contents_.bytes -= reading.length - reading.found.length;
  }
  contents_.objects.push_back(std::move(*stored));
  return true;
}

std::optional<EvictedContents> GroupReader::Take() {
  if (failed_ || contents_.objects.size() != object_count_) {
    return std::nullopt;
  }
  std::ranges::sort(contents_.objects, {},
                    [](const StoredObject& stored) { return stored.object.location.object; });
  return std::move(contents_);
}

}  // namespace kvcast
