#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/io/descriptor.h"

namespace kvcast {

// A regular file as memory that is only read: nothing is copied until it is looked at, however
// large the file is.
//
// The memory is the file itself. When another process truncates the file, touching what was cut
// off raises SIGBUS and ends this process (see cut_file_watch.h for last words); when it writes to
// the file, the bytes change under the reader. So map what is written once and then replaced by
// rename, as FileWriter does, and check the digest of what you must not get wrong.
class MappedFile {
 public:
  // An empty file is mapped as an empty span. What is not a regular file cannot be mapped.
  static Result<MappedFile> Open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  // Valid for as long as this object is; moving it moves no bytes.
  std::span<const std::byte> span() const { return span_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(std::span<const std::byte> span, std::filesystem::path path)
      : span_(span), path_(std::move(path)) {}

  std::span<const std::byte> span_;
  std::filesystem::path path_;
};

// Everything in a file, a pipe or a file of /proc, if that is at most `bytes_max`.
// Waits for whoever writes to a pipe, so it is for files that a person named to be read once.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t bytes_max);
// The same for what must be a regular file: anything else is refused, and nothing waited for.
Result<std::string> ReadRegularFile(const std::filesystem::path& path, size_t bytes_max);
// The first bytes of a regular file, `bytes_max` of them or all that there are, and how many there
// were in all just then. Unlike a mapped file it may be cut meanwhile.
struct FileFront {
  std::string bytes;
  uint64_t file_bytes = 0;
};
Result<FileFront> ReadFront(const std::filesystem::path& path, size_t bytes_max);
// The same as ReadFile() for standard input, which errors call just that.
Result<std::string> ReadStandardInput(size_t bytes_max);

// Writes a file piece by piece, into place only when it is whole: a reader of `path` sees the old
// file or the new one, after a crash too.
//
// The bytes go to a temporary file in the same directory, which Commit() makes durable and renames.
// A writer that is destroyed without Commit(), or after a failure, leaves nothing behind. A
// symbolic link at `path` stays: the file that it names is written, beside which the temporary file
// is then. Only a regular file is ever replaced, so that nobody loses a device or a pipe.
class FileWriter {
 public:
  // Fails at once where Commit() would have to: no directory, no permission, or no file in the way.
  // `mode` is what open() takes: who may read and write the file, less the umask.
  static Result<FileWriter> Create(const std::filesystem::path& path, mode_t mode = 0666);

  FileWriter(FileWriter&& other) noexcept = default;
  FileWriter& operator=(FileWriter&& other) noexcept;
  ~FileWriter();

  // REQUIRES, of both: neither has failed before, and Commit() was not called.
  Result<void> Append(std::span<const std::byte> bytes);
  // After this, and only if it succeeds, the file is in place and survives a loss of power.
  Result<void> Commit();

  uint64_t bytes_written() const { return bytes_written_; }

 private:
  FileWriter(std::filesystem::path path, std::filesystem::path temporary, Descriptor descriptor)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        descriptor_(std::move(descriptor)) {}
  Result<void> PutInPlace();
  Error Fail(Error error);
  void Discard();

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  Descriptor descriptor_;  // Closed once the writer is spent, whether it failed or not.
  uint64_t bytes_written_ = 0;
};

// The same for bytes that are all there.
Result<void> WriteFileAtomically(const std::filesystem::path& path,
                                 std::span<const std::byte> bytes, mode_t mode = 0666);

}  // namespace kvcast
