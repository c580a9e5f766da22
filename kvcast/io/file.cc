#include "kvcast/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "kvcast/base/hex.h"
#include "kvcast/io/cut_file_watch.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/regular_file.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr int kLinksMax = 40;  // As many as the kernel follows.

Result<std::span<const std::byte>> Map(const std::filesystem::path& path) {
  KVCAST_TRY(const RegularFile file, OpenRegular(path));
  const auto bytes = static_cast<size_t>(file.status.st_size);
  if (bytes == 0) {
    return std::span<const std::byte>();
  }
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.descriptor.number(), 0);
  if (memory == MAP_FAILED) {
    return SystemError("Cannot map it into memory", errno);
  }
  const std::span<const std::byte> span(static_cast<const std::byte*>(memory), bytes);
  RememberMapping(span, path);
  return span;
}

// Adds what one read() gives, and says how much that was; 0 at the end.
Result<size_t> ReadMore(int descriptor, std::string& text) {
  const size_t start = text.size();
  text.resize(start + kReadBytes);
  ssize_t got = 0;
  do {
    got = ::read(descriptor, text.data() + start, kReadBytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return SystemError("Cannot read it", errno).At(start);
  }
  text.resize(start + static_cast<size_t>(got));
  return static_cast<size_t>(got);
}

Result<std::string> ReadAll(int descriptor, size_t bytes_max) {
  // The size that a file claims is not asked for: those of /proc claim none, and pipes have none.
  std::string text;
  while (true) {
    KVCAST_TRY(const size_t got, ReadMore(descriptor, text));
    if (text.size() > bytes_max) {
      return Error(ErrorCode::kTooLarge,
                   "This is longer than the " + std::to_string(bytes_max) +
                       " bytes that such a file may have. Is it the right file?")
          .At(bytes_max);
    }
    if (got == 0) {
      return text;
    }
  }
}

Result<std::string> In(std::string_view name, Result<std::string> text) {
  if (!text.ok()) {
    return std::move(text).error().In(name);
  }
  return text;
}

std::filesystem::path DirectoryOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Where a chain of links ends, whether there is a file or not.
Result<std::filesystem::path> FollowLinks(std::filesystem::path path) {
  std::error_code error;
  for (int links = 0; links < kLinksMax; ++links) {
    if (!std::filesystem::is_symlink(path, error)) {
      return path;  // What else is wrong with it shows when it is written.
    }
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) {
      return SystemError("Cannot follow this link", error.value());
    }
    path = DirectoryOf(path) / target;
  }
  return Error(ErrorCode::kInvalid, "This link leads to links without an end. Name a file.");
}

std::string_view KindName(std::filesystem::file_type type) {
  switch (type) {
    case std::filesystem::file_type::block:
    case std::filesystem::file_type::character:
      return "a device";
    case std::filesystem::file_type::fifo:
      return "a pipe";
    case std::filesystem::file_type::socket:
      return "a socket";
    default:
      return "no file";
  }
}

// That a rename to `path`, which is no link any more, takes away nothing but a regular file.
Result<void> CheckReplaceable(const std::filesystem::path& path) {
  using std::filesystem::file_type;
  std::error_code ignored;  // What cannot be looked at cannot be written either, which is told.
  const file_type type = std::filesystem::symlink_status(path, ignored).type();
  if (!path.has_filename() || type == file_type::directory) {
    return Error(ErrorCode::kInvalid,
                 "A file is to be written here, but this names a directory. Name a file in it.");
  }
  if (type != file_type::regular && type != file_type::not_found && type != file_type::none) {
    return Error(ErrorCode::kInvalid,
                 "This is " + std::string(KindName(type)) +
                     ", and only a regular file can be replaced. Name another path.");
  }
  return {};
}

std::filesystem::path TemporaryIn(const std::filesystem::path& directory) {
  std::array<std::byte, 8> random{};
  FillRandom(random);
  return directory / (".kvcast-" + ToHex(random) + ".tmp");
}

// Until its directory is on the disk too, a renamed file may be gone after a loss of power.
Result<void> SyncDirectory(const std::filesystem::path& directory) {
  const Descriptor descriptor(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // EINVAL: this file system has no such thing, and thus nothing to lose.
  if (!descriptor || (::fsync(descriptor.number()) != 0 && errno != EINVAL)) {
    return SystemError("The file is written, but may not survive a loss of power", errno);
  }
  return {};
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::filesystem::path& path) {
  auto span = Map(path);
  if (!span.ok()) {
    return std::move(span).error().In(path.string());
  }
  return MappedFile(*span, path);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : span_(std::exchange(other.span_, {})), path_(std::move(other.path_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(span_, other.span_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!span_.empty()) {
    ForgetMapping(span_);
    ::munmap(const_cast<std::byte*>(span_.data()), span_.size());
  }
}

Result<std::string> ReadFile(const std::filesystem::path& path, size_t bytes_max) {
  if (path.empty()) {
    return NoFileNamed();
  }
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) {
    return SystemError("Cannot open it", errno).In(path.string());
  }
  return In(path.string(), ReadAll(file.number(), bytes_max));
}

Result<std::string> ReadRegularFile(const std::filesystem::path& path, size_t bytes_max) {
  const Result<RegularFile> file = OpenRegular(path);
  if (!file.ok()) {
    return Error(file.error()).In(path.string());
  }
  return In(path.string(), ReadAll(file->descriptor.number(), bytes_max));
}

Result<FileFront> ReadFront(const std::filesystem::path& path, size_t bytes_max) {
  const Result<RegularFile> file = OpenRegular(path);
  if (!file.ok()) {
    return Error(file.error()).In(path.string());
  }
  FileFront front{{}, static_cast<uint64_t>(file->status.st_size)};
  while (front.bytes.size() < bytes_max) {
    const Result<size_t> got = ReadMore(file->descriptor.number(), front.bytes);
    if (!got.ok()) {
      return Error(got.error()).In(path.string());
    }
    if (*got == 0) {
      break;
    }
  }
  front.bytes.resize(std::min(front.bytes.size(), bytes_max));
  return front;
}

Result<std::string> ReadStandardInput(size_t bytes_max) {
  return In("standard input", ReadAll(STDIN_FILENO, bytes_max));
}

Result<FileWriter> FileWriter::Create(const std::filesystem::path& path, mode_t mode) {
  Result<std::filesystem::path> target = FollowLinks(path);
  if (!target.ok()) {
    return std::move(target).error().In(path.string());
  }
  if (auto replaceable = CheckReplaceable(*target); !replaceable.ok()) {
    return std::move(replaceable).error().In(path.string());
  }
  std::filesystem::path temporary = TemporaryIn(DirectoryOf(*target));
  Descriptor descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!descriptor) {
    return SystemError("Cannot create a file in this directory", errno)
        .In(DirectoryOf(*target).string());
  }
  return FileWriter(*std::move(target), std::move(temporary), std::move(descriptor));
}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_written_, other.bytes_written_);
  return *this;
}

FileWriter::~FileWriter() { Discard(); }

void FileWriter::Discard() {
  if (descriptor_) {
    ::unlink(temporary_.c_str());
    descriptor_ = Descriptor();
  }
}

Error FileWriter::Fail(Error error) {
  Discard();
  return std::move(error).In(path_.string());
}

Result<void> FileWriter::Append(std::span<const std::byte> bytes) {
  KVCAST_CHECK(descriptor_);
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return Fail(SystemError("Cannot write it", errno).At(bytes_written_));
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    bytes_written_ += static_cast<uint64_t>(written);
  }
  return {};
}

Result<void> FileWriter::PutInPlace() {
  if (::fsync(descriptor_.number()) != 0) {
    return SystemError("Cannot make it durable", errno);
  }
  KVCAST_TRY_VOID(CheckReplaceable(path_));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return SystemError("Cannot put it in place", errno);
  }
  return {};
}

Result<void> FileWriter::Commit() {
  KVCAST_CHECK(descriptor_);
  if (auto placed = PutInPlace(); !placed.ok()) {
    return Fail(std::move(placed).error());
  }
  descriptor_ = Descriptor();  // There is no temporary file any more.
  if (auto synced = SyncDirectory(DirectoryOf(path_)); !synced.ok()) {
    return Fail(std::move(synced).error());
  }
  return {};
}

Result<void> WriteFileAtomically(const std::filesystem::path& path,
                                 std::span<const std::byte> bytes, mode_t mode) {
  KVCAST_TRY(FileWriter writer, FileWriter::Create(path, mode));
  KVCAST_TRY_VOID(writer.Append(bytes));
  return writer.Commit();
}

}  // namespace kvcast
