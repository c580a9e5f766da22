#include "kvcast/store/memory_device.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "kvcast/base/check.h"

namespace kvcast {
namespace {

constexpr uint64_t kSectorBytes = 512;

}  // namespace

bool DeviceFaults::IsBad(DeviceFile file, uint64_t offset, uint64_t length) const {
  const auto bad = bad_blocks.lower_bound({file, offset - offset % kDeviceBlockBytes});
  return bad != bad_blocks.end() && bad->first == file && bad->second < offset + length;
}

void MemoryDevice::Submit(DeviceRequest request) {
  ++requests_;
  Pending pending{.request = std::move(request)};
  const uint64_t since = requests_ - faults_.fail_at;
  pending.fails =
      faults_.fail_at != 0 && requests_ >= faults_.fail_at && since < faults_.fail_count;
  pending.misdirected = requests_ == faults_.misdirect_at;
  if (pending.request.kind == DeviceRequest::Kind::kRead && faults_.unreadable_reads > 0 &&
      pending.request.file == faults_.unreadable) {
    --faults_.unreadable_reads;
    pending.fails = true;
  }
  if (pending.request.kind == DeviceRequest::Kind::kSync) {
    const auto file = files_.find(pending.request.file);
    pending.covers = file == files_.end() ? 0 : file->second.unsynced.size();
  }
  pending_.push_back(std::move(pending));
}

std::optional<DeviceCompletion> MemoryDevice::Next() {
  if (pending_.empty() || faults_.hangs) {
    return std::nullopt;
  }
  const size_t which = faults_.reorder ? random_.Below(pending_.size()) : 0;
  Pending pending = std::move(pending_[which]);
  pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(which));
  return Do(pending);
}

DeviceCompletion MemoryDevice::Do(Pending& pending) {
  const DeviceRequest& request = pending.request;
  DeviceCompletion completion{.token = request.token};
  if (pending.fails) {
    completion.error = DeviceError{false, "an error was asked for"};
  }
  const auto file = files_.find(request.file);
  switch (request.kind) {
    case DeviceRequest::Kind::kList:
      completion.files = List();
      break;
    case DeviceRequest::Kind::kCreate:
      DoCreate(request, completion);
      break;
    case DeviceRequest::Kind::kRemove:
      if (!completion.error) {
        files_.erase(request.file);
      }
      break;
    case DeviceRequest::Kind::kRead:
      if (file == files_.end()) {
        completion.error = DeviceError{false, "no such file"};
      } else if (faults_.IsBad(request.file, request.offset, request.length)) {
        completion.error = DeviceError{false, "a bad block"};
      } else if (!completion.error) {
        KVCAST_CHECK(request.offset % kDeviceBlockBytes == 0 &&
                     request.length % kDeviceBlockBytes == 0);
        KVCAST_CHECK(request.offset + request.length <= file->second.now.size());
        completion.bytes =
            Bytes::Copy(std::span(file->second.now).subspan(request.offset, request.length));
      }
      break;
    case DeviceRequest::Kind::kWrite:
      DoWrite(pending, completion);
      break;
    case DeviceRequest::Kind::kSync:
      DoSync(pending, completion);
      break;
  }
  return completion;
}

void MemoryDevice::DoCreate(const DeviceRequest& request, DeviceCompletion& completion) {
  KVCAST_CHECK(!files_.contains(request.file));
  if (!completion.error && bytes() + request.length > faults_.capacity) {
    completion.error = DeviceError{true, "no space left on device"};
  }
  if (!completion.error || random_.Happens(0.5)) {
    // A failed one may leave a file behind that is not what was asked for.
    const uint64_t length = completion.error ? 0 : request.length;
    files_[request.file] = {std::vector<std::byte>(length), std::vector<std::byte>(length), {}};
  }
}

void MemoryDevice::Put(std::vector<std::byte>& image, const Write& write) {
  write.bytes.CopyTo(std::span(image).subspan(write.offset, write.bytes.size()));
}

void MemoryDevice::PutTorn(std::vector<std::byte>& image, const Write& write, Random& random) {
  const uint64_t step = random.Happens(0.5) ? kSectorBytes : kDeviceBlockBytes;
  for (uint64_t at = 0; at < write.bytes.size(); at += step) {
    if (random.Happens(0.5)) {
      Put(image, {write.offset + at,
                  write.bytes.Slice(at, std::min<uint64_t>(step, write.bytes.size() - at))});
    }
  }
}

void MemoryDevice::DoWrite(const Pending& pending, DeviceCompletion& completion) {
  File& file = files_.at(pending.request.file);
  Write write{pending.request.offset, pending.request.bytes};
  KVCAST_CHECK(write.offset % kDeviceBlockBytes == 0 &&
               write.bytes.size() % kDeviceBlockBytes == 0 && !write.bytes.empty());
  KVCAST_CHECK(write.offset + write.bytes.size() <= file.now.size());
  if (completion.error) {
    PutTorn(file.now, write, random_);
    return;
  }
  const auto is_written = [&](const auto& bad) {
    return bad.first == pending.request.file && bad.second >= write.offset &&
           bad.second < write.offset + write.bytes.size();
  };
  std::erase_if(faults_.bad_blocks, is_written);
  if (pending.misdirected) {
    misdirected_ = pending.request.file;
    const uint64_t places = (file.now.size() - write.bytes.size()) / kDeviceBlockBytes + 1;
    write.offset = random_.Below(places) * kDeviceBlockBytes;
  }
  Put(file.now, write);
  file.unsynced.push_back(std::move(write));
}

void MemoryDevice::DoSync(const Pending& pending, DeviceCompletion& completion) {
  File& file = files_.at(pending.request.file);
  const auto covered = file.unsynced.begin() + static_cast<std::ptrdiff_t>(pending.covers);
  for (auto write = file.unsynced.begin(); write != covered; ++write) {
    // After a failure nobody knows what is on the disk, and a second sync says that all is well.
    if (!completion.error || random_.Happens(0.5)) {
      Put(file.durable, *write);
    }
  }
  file.unsynced.erase(file.unsynced.begin(), covered);
  for (Pending& other : pending_) {
    if (other.request.kind == DeviceRequest::Kind::kSync &&
        other.request.file == pending.request.file) {
      other.covers -= std::min(other.covers, pending.covers);
    }
  }
}

MemoryDevice MemoryDevice::AfterPowerCut(Random& random) const {
  MemoryDevice after(random.Next());
  for (const auto& [number, file] : files_) {
    File found{{}, file.durable, {}};
    for (const Write& write : file.unsynced) {
      if (random.Happens(0.5)) {
        Put(found.durable, write);
      } else if (random.Happens(0.5)) {
        PutTorn(found.durable, write, random);
      }
    }
    after.files_[number] = std::move(found);
  }
  for (const Pending& pending : pending_) {
    const DeviceRequest& request = pending.request;
    if (!random.Happens(0.5)) {
      continue;
    }
    if (request.kind == DeviceRequest::Kind::kCreate) {
      const bool whole = random.Happens(0.5);
      after.files_[request.file].durable.assign(whole ? request.length : 0, std::byte{});
    } else if (request.kind == DeviceRequest::Kind::kRemove) {
      after.files_.erase(request.file);
    } else if (request.kind == DeviceRequest::Kind::kWrite) {
      PutTorn(after.files_.at(request.file).durable, {request.offset, request.bytes}, random);
    }
  }
  for (auto& [number, file] : after.files_) {
    file.now = file.durable;
  }
  return after;
}

MemoryDevice MemoryDevice::AfterKill() const {
  MemoryDevice after(*this);
  after.pending_.clear();
  after.faults_ = {};
  after.requests_ = 0;
  return after;
}

uint64_t MemoryDevice::bytes() const {
  uint64_t bytes = 0;
  for (const auto& [number, file] : files_) {
    bytes += file.now.size();
  }
  return bytes;
}

std::vector<DeviceCompletion::File> MemoryDevice::List() const {
  std::vector<DeviceCompletion::File> files;
  for (const auto& [number, file] : files_) {
    files.push_back({number, file.now.size()});
  }
  return files;
}

void MemoryDevice::PutFile(DeviceFile file, std::vector<std::byte> contents) {
  files_[file] = {contents, std::move(contents), {}};
}

}  // namespace kvcast
