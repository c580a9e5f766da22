#include "kvcast/host/payload_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "kvcast/base/random.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr uint64_t kInputObjectBytes = 64 * 1024;
constexpr uint64_t kMadeUpBytes = 1024;

}  // namespace

Result<PayloadSource> PayloadSource::Open(Options options) {
  PayloadSource source(std::move(options));
  const std::vector<std::string>& files = source.options_.files;
  source.from_input_ = std::ranges::find(files, "-") != files.end();
  if (source.from_input_ && files.size() > 1) {
    return Error(ErrorCode::kInvalid, "Standard input (-) stands alone.");
  }
  if (files.empty()) {
    source.count_ = source.options_.count;
  } else if (!source.from_input_) {
    KVCAST_TRY_VOID(source.OpenFiles());
  }
  return source;
}

Result<void> PayloadSource::OpenFiles() {
  count_ = 0;
  for (const std::string& file : options_.files) {
    KVCAST_TRY(MappedFile map, MappedFile::Open(file));
    const uint64_t bytes = map.span().size();
    const uint64_t size = options_.size.value_or(std::max<uint64_t>(bytes, 1));
    *count_ += bytes == 0 ? 1 : (bytes + size - 1) / size;
    maps_.push_back(std::move(map));
  }
  return {};
}

Result<bool> PayloadSource::Ready() {
  if (!from_input_) {
    return true;
  }
  gathered_.resize(options_.size.value_or(kInputObjectBytes));
  // Somebody who types wants to see it arrive; only a size that was asked for is waited for.
  const auto enough = [this] {
    return input_over_ || (options_.size ? filled_ == gathered_.size() : filled_ > 0);
  };
  while (!enough()) {
    pollfd input{options_.input, POLLIN, 0};
    if (::poll(&input, 1, 0) == 0) {
      return false;
    }
    const ssize_t count =
        ::read(options_.input, gathered_.data() + filled_, gathered_.size() - filled_);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      return false;
    }
    if (count < 0) {
      return SystemError("Cannot read standard input", errno);
    }
    input_over_ = count == 0;
    filled_ += static_cast<size_t>(count);
  }
  return true;
}

Bytes PayloadSource::MakeUp() const {
  std::vector<std::byte> bytes(options_.size.value_or(kMadeUpBytes));
  Random(next_).Fill(bytes);
  return Bytes::Copy(bytes);
}

std::optional<Bytes> PayloadSource::NextOfInput() {
  const size_t filled = std::exchange(filled_, 0);
  if (filled == 0) {
    return std::nullopt;
  }
  ++next_;
  return Bytes::Copy(std::span(gathered_).first(filled));
}

Result<std::optional<Bytes>> PayloadSource::Next() {
  if (from_input_) {
    return NextOfInput();
  }
  if (next_ == *count_) {
    return std::optional<Bytes>();
  }
  if (maps_.empty()) {
    Bytes made = MakeUp();
    ++next_;
    return std::optional(std::move(made));
  }
  const auto whole = maps_[file_].span();
  const size_t size =
      std::min<uint64_t>(options_.size.value_or(whole.size()), whole.size() - offset_);
  Bytes payload = Bytes::Copy(whole.subspan(offset_, size));
  offset_ += size;
  if (offset_ == whole.size()) {
    ++file_;
    offset_ = 0;
  }
  ++next_;
  return std::optional(std::move(payload));
}

}  // namespace kvcast
