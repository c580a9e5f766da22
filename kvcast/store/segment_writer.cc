#include "kvcast/store/segment_writer.h"

#include <algorithm>

#include "kvcast/base/check.h"
#include "kvcast/base/planted.h"

namespace kvcast {
namespace {

// What one write takes, and how many of them a segment keeps a device busy with.
constexpr uint64_t kWriteBytes = 1 << 20;
constexpr size_t kWritesMax = 8;
// What one sync is for. Without a bound a busy disk would stand still by turns: all that waits is
// synced together, and only then does more come. With it, what follows is written meanwhile.
constexpr uint64_t kCommitBytesMax = 8 << 20;

uint64_t CommitBytes(const SegmentHeader& header) {
  return std::min(kCommitBytesMax, header.bytes / 4);
}

}  // namespace

SegmentWriter::SegmentWriter(const SegmentHeader& header, DeviceOutbox& outbox)
    : header_(header), outbox_(&outbox), buffer_(header.Encode()) {
  durable_ = buffer_.size();  // No record begins before.
}

bool SegmentWriter::FitsEmpty(uint64_t segment_bytes, const TrackName& track,
                              const RecordDraft& draft, const EntryBody& entry) {
  const uint64_t records = BlocksUp(kDeviceBlockBytes + RecordUp(draft.size()));
  return records + FooterWriter().BytesWith(track, entry) <= segment_bytes;
}

bool SegmentWriter::Fits(const TrackName& track, const RecordDraft& draft, const EntryBody& entry,
                         uint64_t spare) const {
  const uint64_t records = BlocksUp(end() + RecordUp(draft.size()));
  return records + footer_.BytesWith(track, entry) + spare <= header_.bytes;
}

DiskPlace SegmentWriter::Append(const TrackName& track, const RecordDraft& draft,
                                const EntryBody& entry) {
  KVCAST_CHECK(!sealing_ && !failure_);
  const RecordSeat seat{header_.directory, header_.marker, {segment(), end()}};
  footer_.Add(track, seat.place.offset, draft.size(), entry);
  buffer_.Append(draft.Encode(seat, ordinal_++));
  const uint64_t begun = commit_ends_.empty() ? commit_.value_or(durable_) : commit_ends_.back();
  if (end() - begun >= CommitBytes(header_)) {
    PadToBlock();
    commit_ends_.push_back(end());
  }
  return seat.place;
}

void SegmentWriter::Seal() { sealing_ = true; }

void SegmentWriter::PadToBlock() {
  buffer_.Append(ZeroBytes(BlocksUp(buffer_.size()) - buffer_.size()));
}

void SegmentWriter::WriteUpTo(uint64_t bytes) {
  const Bytes part = buffer_.Slice(0, bytes);
  buffer_ = buffer_.Slice(bytes, buffer_.size() - bytes);
  writes_.emplace(outbox_->Write(header_.segment, buffer_start_, part), buffer_start_);
  buffer_start_ += bytes;
}

bool SegmentWriter::WritesBefore(uint64_t offset) const {
  return std::ranges::any_of(writes_, [&](const auto& write) { return write.second < offset; });
}

void SegmentWriter::Pump() {
  if (failure_ || sealed_) {
    return;
  }
  // Whoever waits for a sync waits for the blocks in front of it, so they are all asked for.
  const bool unsynced = end() > durable_;
  if (!commit_ && sync_ == 0 && unsynced && phase_ == Phase::kRecords) {
    if (commit_ends_.empty()) {
      PadToBlock();
      commit_ends_.push_back(end());
    }
    commit_ = commit_ends_.front();
    commit_ends_.pop_front();
  }
  while (writes_.size() < kWritesMax) {
    const uint64_t due = commit_ && *commit_ > buffer_start_ ? *commit_ - buffer_start_ : 0;
    const uint64_t whole = buffer_.size() >= kWriteBytes ? kWriteBytes : due;
    if (whole == 0) {
      break;
    }
    WriteUpTo(std::min(whole, kWriteBytes));
  }
  if (commit_ && sync_ == 0 && buffer_start_ >= *commit_ && !WritesBefore(*commit_)) {
    sync_ = outbox_->Sync(header_.segment);
    durable_ = Planted(PlantedBug::kAcknowledgedUnsynced) ? *commit_ : durable_;
  }
  const bool all_durable = !commit_ && sync_ == 0 && buffer_.empty() && writes_.empty();
  if (sealing_ && all_durable && phase_ == Phase::kRecords) {
    const Bytes footer =
        footer_.Encode(header_.directory, header_.segment, header_.bytes, header_.marker);
    KVCAST_CHECK(buffer_start_ + footer.size() <= header_.bytes);
    phase_ = Phase::kFooter;
    writes_.emplace(outbox_->Write(header_.segment, header_.bytes - footer.size(), footer),
                    header_.bytes - footer.size());
  } else if (phase_ == Phase::kFooter && writes_.empty()) {
    phase_ = Phase::kFooterSync;
    sync_ = outbox_->Sync(header_.segment);
  }
}

bool SegmentWriter::OnCompletion(const DeviceCompletion& completion) {
  const bool was_sync = sync_ != 0 && completion.token == sync_;
  if (!was_sync && writes_.erase(completion.token) == 0) {
    return false;
  }
  if (was_sync) {
    sync_ = 0;
  }
  if (completion.error) {
    failure_ = failure_ ? failure_ : completion.error;
    buffer_ = Bytes();
    commit_ends_.clear();
    commit_.reset();
    return true;
  }
  if (was_sync && !failure_) {
    if (phase_ == Phase::kFooterSync) {
      sealed_ = true;
    } else {
      durable_ = *commit_;
      commit_.reset();
    }
  }
  return true;
}

}  // namespace kvcast
