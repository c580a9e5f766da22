#include "kvcast/store/segment_load.h"

#include <algorithm>
#include <string>

#include "kvcast/base/byte_reader.h"

namespace kvcast {
namespace {

// The header, and the block that the first record begins in.
constexpr uint64_t kStartBytes = 2 * kDeviceBlockBytes;
// Most footers are within this, and are then read at once.
constexpr uint64_t kEndBytes = 16 * kDeviceBlockBytes;

}  // namespace

SegmentLoad::SegmentLoad(const DirectoryId& directory, uint64_t segment, uint64_t segment_bytes,
                         uint64_t key_property, DeviceOutbox& outbox)
    : directory_(directory),
      segment_(segment),
      segment_bytes_(segment_bytes),
      key_property_(key_property),
      outbox_(&outbox) {
  start_token_ = outbox_->Read(segment_, 0, kStartBytes);
  ReadEnd(std::min(kEndBytes, segment_bytes_ - kDeviceBlockBytes));
}

void SegmentLoad::ReadEnd(uint64_t bytes) {
  end_bytes_ = bytes;
  token_ = outbox_->Read(segment_, segment_bytes_ - bytes, bytes);
}

bool SegmentLoad::OnCompletion(const DeviceCompletion& completion) {
  std::optional<Bytes> bytes;
  if (!completion.error) {
    bytes = completion.bytes;
  }
  if (completion.error && (completion.token == start_token_ || completion.token == token_)) {
    outcome_.unreadable = true;  // Unless a scan shows all that it holds.
  }
  if (completion.token == start_token_) {
    start_token_ = 0;
    OnStart(bytes);
    return true;
  }
  if (completion.token != token_) {
    return false;
  }
  token_ = 0;
  if (state_ == State::kEnds) {
    OnEnd(bytes);
  } else if (state_ == State::kFooter) {
    OnFooter(bytes);
  } else if (state_ == State::kScan) {
    scan_->OnWindow(window_, bytes);
    ScanOn();
  }
  return true;
}

// One bad block must not cost what was read with it: then each is read by itself.
void SegmentLoad::OnStart(const std::optional<Bytes>& bytes) {
  if (start_ == Start::kBoth && bytes) {
    header_ = bytes->Slice(0, kDeviceBlockBytes);
    first_ = bytes->Slice(kDeviceBlockBytes, kDeviceBlockBytes);
  } else if (start_ == Start::kBoth) {
    start_ = Start::kHeader;
    start_token_ = outbox_->Read(segment_, 0, kDeviceBlockBytes);
    return;
  } else if (start_ == Start::kHeader) {
    header_ = bytes;
    start_ = Start::kFirst;
    start_token_ = outbox_->Read(segment_, kDeviceBlockBytes, kDeviceBlockBytes);
    return;
  } else {
    first_ = bytes;
  }
  start_ = Start::kRead;
  OnEnds();
}

void SegmentLoad::OnEnd(const std::optional<Bytes>& bytes) {
  if (!bytes && end_bytes_ > kDeviceBlockBytes) {
    ReadEnd(kDeviceBlockBytes);  // The trailer says how much more there is to read.
    return;
  }
  end_read_ = true;
  end_ = bytes;
  OnEnds();
}

void SegmentLoad::OnEnds() {
  if (start_ != Start::kRead || !end_read_) {
    return;
  }
  OnHeader();
  if (outcome_.refused || outcome_.foreign) {
    state_ = State::kDone;
    return;
  }
  if (end_ && end_->size() >= kTrailerBytes) {
    const std::string last = end_->Slice(end_->size() - kTrailerBytes, kTrailerBytes).ToString();
    const auto trailer = FooterTrailer::Parse(AsBytes(last), directory_, segment_, segment_bytes_);
    if (trailer.ok()) {
      trailer_ = *trailer;
      state_ = State::kFooter;
      const uint64_t footer_bytes = trailer_.footer_bytes();
      if (footer_bytes <= end_->size()) {
        OnFooter(end_);
      } else {
        token_ = outbox_->Read(segment_, segment_bytes_ - footer_bytes, footer_bytes);
      }
      return;
    }
  }
  StartScan();
}

void SegmentLoad::OnHeader() {
  if (!header_) {
    return;
  }
  const std::string block = header_->ToString();
  const auto header = SegmentHeader::Parse(AsBytes(block));
  if (header.ok()) {
    outcome_.foreign = header->directory != directory_ || header->segment != segment_;
    outcome_.marker = header->marker;
    if (header->bytes > segment_bytes_ && !outcome_.foreign) {
      outcome_.missing_bytes = header->bytes - segment_bytes_;
      ++outcome_.damaged;
    }
  } else if (header.error().code() == ErrorCode::kUnsupported) {
    outcome_.refused = Error(header.error()).In(DiskFileName(segment_));
  }
}

void SegmentLoad::OnFooter(const std::optional<Bytes>& bytes) {
  if (bytes) {
    auto contents = ParseFooter(*bytes, trailer_, segment_bytes_);
    if (contents.ok()) {
      outcome_.contents = *std::move(contents);
      outcome_.marker = trailer_.marker;
      outcome_.sealed = true;
      outcome_.unreadable = false;
      state_ = State::kDone;
      return;
    }
  }
  ++outcome_.damaged;
  // The trailer is whole, and its marker is the one of the records.
  outcome_.marker = trailer_.marker;
  StartScan();
}

RecordSeat SegmentLoad::FirstSeat(uint64_t marker) const {
  return {directory_, marker, {static_cast<uint32_t>(segment_), kDeviceBlockBytes}};
}

void SegmentLoad::StartScan() {
  // Without a header, the first record tells its marker.
  if (outcome_.marker == 0 && first_) {
    const std::string first = first_->Slice(0, kRecordHeaderBytes).ToString();
    ByteReader reader(AsBytes(first));
    const uint64_t marker = *reader.U64Le();
    if (RecordHeader::Parse(AsBytes(first), FirstSeat(marker)).ok()) {
      outcome_.marker = marker;
      ++outcome_.damaged;
    }
  }
  if (outcome_.marker == 0) {
    state_ = State::kDone;  // Nothing was ever written, or nothing of it can be told apart.
    return;
  }
  state_ = State::kScan;
  outcome_.unreadable = false;  // All of it is read once more, in another way.
  scan_.emplace(directory_, segment_, outcome_.marker, segment_bytes_, key_property_);
  ScanOn();
}

void SegmentLoad::ScanOn() {
  if (const auto wanted = scan_->Wanted()) {
    window_ = *wanted;
    token_ = outbox_->Read(segment_, window_.offset, window_.length);
    return;
  }
  outcome_.contents = scan_->Take();
  outcome_.damaged += scan_->damaged();
  outcome_.unreadable = scan_->unreadable();
  outcome_.damaged_at = scan_->damaged_at();
  outcome_.damaged_records = scan_->damaged();
  outcome_.tail_at = scan_->tail_at();
  state_ = State::kDone;
}

}  // namespace kvcast
