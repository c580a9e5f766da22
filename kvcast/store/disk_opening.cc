#include "kvcast/store/disk_opening.h"

#include <algorithm>
#include <string>
#include <utility>

namespace kvcast {
namespace {

// Segments that are read at the same time.
constexpr size_t kLoadsMax = 16;
// How often, in all, a start waits for segments that cannot be read.
constexpr uint32_t kReadsAgainMax = 5;

}  // namespace

DiskOpening::DiskOpening(const Superblock& fresh, uint64_t key_property, DiskIndex& index,
                         SegmentTable& table, DeviceOutbox& outbox)
    : superblock_(fresh),
      key_property_(key_property),
      index_(&index),
      table_(&table),
      outbox_(&outbox),
      token_(outbox.List()) {}

bool DiskOpening::OnCompletion(const DeviceCompletion& completion) {
  if (token_ != 0 && completion.token == token_) {
    token_ = 0;
    switch (state_) {
      case State::kList:
        OnList(completion);
        break;
      case State::kSuperblock:
        OnSuperblock(completion);
        break;
      case State::kHeaders:
        OnHeader(completion);
        break;
      case State::kWriting:
        OnWritten(completion);
        break;
      case State::kSegments:
      case State::kSyncing:
      case State::kDone:
        break;
    }
    return true;
  }
  if (syncs_.erase(completion.token) > 0) {
    FinishIfSynced();
    return true;
  }
  const bool ours =
      std::ranges::any_of(loads_, [&](SegmentLoad& load) { return load.OnCompletion(completion); });
  if (ours) {
    ApplyLoaded();
  }
  return ours;
}

void DiskOpening::OnList(const DeviceCompletion& completion) {
  if (completion.error) {
    failure_ = completion.error;
    return;
  }
  for (const DeviceCompletion::File& file : completion.files) {
    if (file.number == kSuperblockFile) {
      superblock_bytes_ = file.bytes;
    } else if (file.number <= kSegmentNumberMax) {
      files_.push_back(file);
    }
  }
  std::ranges::sort(files_, {}, &DeviceCompletion::File::number);
  if (superblock_bytes_ && *superblock_bytes_ >= kSuperblockBytes) {
    state_ = State::kSuperblock;
    token_ = outbox_->Read(kSuperblockFile, 0, kDeviceBlockBytes);
  } else {
    AskNextHeader();
  }
}

void DiskOpening::OnSuperblock(const DeviceCompletion& completion) {
  if (completion.error) {
    superblock_error_ = completion.error;
  } else {
    const std::string block = completion.bytes.ToString();
    const auto found = Superblock::Parse(AsBytes(block));
    if (found.ok()) {
      superblock_ = *found;
      superblock_whole_ = true;
      StartSegments();
      return;
    }
    if (found.error().code() == ErrorCode::kUnsupported) {
      refused_ = Error(found.error()).In(DiskFileName(kSuperblockFile));
      return;
    }
  }
  if (!second_copy_) {
    second_copy_ = true;
    token_ = outbox_->Read(kSuperblockFile, kDeviceBlockBytes, kDeviceBlockBytes);
    return;
  }
  ++damaged_;
  AskNextHeader();
}

void DiskOpening::AskNextHeader() {
  state_ = State::kHeaders;
  while (next_file_ < files_.size() && files_[next_file_].bytes < kSegmentBytesMin) {
    ++next_file_;
  }
  if (next_file_ == files_.size()) {
    // Whatever could not be read may say whose directory this is.
    failure_ = superblock_error_ ? superblock_error_ : header_error_;
    if (!failure_) {
      StartSegments();
    }
    return;
  }
  token_ = outbox_->Read(files_[next_file_].number, 0, kDeviceBlockBytes);
}

void DiskOpening::OnHeader(const DeviceCompletion& completion) {
  if (completion.error) {
    header_error_ = completion.error;
    ++next_file_;
    AskNextHeader();
    return;
  }
  const std::string block = completion.bytes.ToString();
  const auto header = SegmentHeader::Parse(AsBytes(block));
  if (header.ok()) {
    superblock_.directory = header->directory;
    superblock_.segment_bytes = header->bytes;
    StartSegments();
  } else if (header.error().code() == ErrorCode::kUnsupported) {
    refused_ = Error(header.error()).In(DiskFileName(files_[next_file_].number));
  } else {
    ++next_file_;
    AskNextHeader();
  }
}

void DiskOpening::StartSegments() {
  state_ = State::kSegments;
  next_file_ = 0;
  LoadSome();
  ApplyLoaded();
}

void DiskOpening::LoadSome() {
  while (next_file_ < files_.size() && loads_.size() < kLoadsMax) {
    const DeviceCompletion::File& file = files_[next_file_++];
    const uint64_t bytes = BlocksDown(file.bytes);
    if (bytes < kSegmentBytesMin || bytes > kSegmentBytesMax) {
      // Its making was cut short, or it is nothing of ours. They are made one after another, so of
      // one with others behind it there was more.
      if (bytes < kSegmentBytesMin && next_file_ < files_.size()) {
        ++damaged_;
        ++cut_segments_;
      }
      table_->Add(file.number, {.bytes = file.bytes,
                                .state = bytes < kSegmentBytesMin ? SegmentState::kFrail
                                                                  : SegmentState::kForeign});
      continue;
    }
    loads_.emplace_back(superblock_.directory, file.number, bytes, key_property_, *outbox_);
  }
}

bool DiskOpening::MayReadAgain() const {
  return loads_.front().unreadable() && reads_again_ < kReadsAgainMax;
}

void DiskOpening::ReadAgain() {
  waits_ = false;
  ++reads_again_;
  for (SegmentLoad& load : loads_) {
    if (load.done() && load.unreadable()) {
      load = SegmentLoad(superblock_.directory, load.segment(), load.segment_bytes(), key_property_,
                         *outbox_);
    }
  }
}

void DiskOpening::ApplyLoaded() {
  while (!waits_ && !loads_.empty() && loads_.front().done()) {
    if (MayReadAgain()) {
      waits_ = true;
      return;
    }
    SegmentLoad& load = loads_.front();
    SegmentLoad::Outcome outcome = load.Take();
    if (outcome.refused) {
      refused_ = outcome.refused;
      return;
    }
    Apply(static_cast<uint32_t>(load.segment()), load.segment_bytes(), outcome);
    loads_.pop_front();
    LoadSome();
  }
  if (!waits_ && loads_.empty() && next_file_ == files_.size() && state_ == State::kSegments) {
    table_->allocated += kSuperblockBytes;
    // What cannot be read must not be written over.
    if (superblock_whole_ || superblock_error_) {
      SyncFrail();
    } else {
      WriteSuperblock(!superblock_bytes_                      ? Step::kCreate
                      : *superblock_bytes_ < kSuperblockBytes ? Step::kRemove
                                                              : Step::kWrite);
    }
  }
}

void DiskOpening::Apply(uint32_t segment, uint64_t bytes, const SegmentLoad::Outcome& outcome) {
  Segment found{.bytes = bytes,
                .marker = outcome.marker,
                .removals = RemovalBytes::In(outcome.contents, segment)};
  damaged_ += outcome.unreadable ? 0 : outcome.damaged;
  if (outcome.foreign) {
    found.state = SegmentState::kForeign;
    ++damaged_;
  } else if (outcome.sealed) {
    found.state = SegmentState::kSealed;
  } else {
    found.state = outcome.unreadable ? SegmentState::kUnread : SegmentState::kFrail;
  }
  if (unread_) {
    removals_.Add(outcome.contents, segment);
  }
  unread_ = unread_ || found.state == SegmentState::kUnread;
  table_->Add(segment, found);
  if (found.state == SegmentState::kUnread) {
    (void)removals_.ApplyLate(outcome.contents, segment, false, *index_);
  } else {
    index_->Apply(outcome.contents, segment);
  }
}

void DiskOpening::SyncFrail() {
  state_ = State::kSyncing;
  for (const auto& [number, segment] : table_->segments) {
    if (segment.state == SegmentState::kFrail || segment.state == SegmentState::kUnread) {
      syncs_.insert(outbox_->Sync(number));
    }
  }
  FinishIfSynced();
}

void DiskOpening::FinishIfSynced() { state_ = syncs_.empty() ? State::kDone : state_; }

void DiskOpening::WriteSuperblock(Step step) {
  state_ = State::kWriting;
  step_ = step;
  switch (step) {
    case Step::kRemove:
      token_ = outbox_->Remove(kSuperblockFile);
      break;
    case Step::kCreate:
      token_ = outbox_->Create(kSuperblockFile, kSuperblockBytes);
      break;
    case Step::kWrite:
      token_ = outbox_->Write(kSuperblockFile, 0, superblock_.Encode());
      break;
    case Step::kSync:
      token_ = outbox_->Sync(kSuperblockFile);
      break;
  }
}

void DiskOpening::OnWritten(const DeviceCompletion& completion) {
  // Without one, the next start finds the directory's name in the segments.
  if (completion.error || step_ == Step::kSync) {
    SyncFrail();
    return;
  }
  WriteSuperblock(static_cast<Step>(static_cast<uint8_t>(step_) + 1));
}

}  // namespace kvcast
