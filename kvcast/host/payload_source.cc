#include "kvcast/host/payload_source.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

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

bool PayloadSource::ready() const {
  if (!from_input_ || input_over_) {
    return true;
  }
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) != 0;
}

Bytes PayloadSource::MakeUp() const {
  std::vector<std::byte> bytes(options_.size.value_or(kMadeUpBytes));
  Random(next_).Fill(bytes);
  return Bytes::Copy(bytes);
}

Result<std::optional<Bytes>> PayloadSource::NextOfInput() {
  std::vector<std::byte> bytes(options_.size.value_or(kInputObjectBytes));
  size_t filled = 0;
  while (filled < bytes.size() && !input_over_) {
    const ssize_t count = ::read(STDIN_FILENO, bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return SystemError("Cannot read standard input", errno);
    }
    input_over_ = count == 0;
    filled += static_cast<size_t>(count);
    // Somebody who types wants to see it arrive; only a size that was asked for is waited for.
    if (!options_.size) {
      break;
    }
  }
  if (filled == 0) {
    return std::optional<Bytes>();
  }
  ++next_;
  return std::optional(Bytes::Copy(std::span(bytes).first(filled)));
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
