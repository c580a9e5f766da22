#include "examples/tinylm/base/file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace kvcast::tinylm {
namespace {

Error BecauseOfErrno(const std::string& what) {
  return {errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kMachine,
          what + ": " + std::strerror(errno) + "."};
}

Result<std::string> ReadAll(std::FILE* file, size_t bytes_max) {
  constexpr size_t kTogether = 65536;
  std::string all;
  while (true) {
    const size_t before = all.size();
    all.resize(before + kTogether);
    const size_t read = std::fread(all.data() + before, 1, kTogether, file);
    all.resize(before + read);
    if (all.size() > bytes_max) {
      return Error(ErrorCode::kTooLarge,
                   "It has more than " + std::to_string(bytes_max) + " bytes.");
    }
    if (read == 0) {
      return std::ferror(file) != 0 ? Result<std::string>(BecauseOfErrno("Cannot read it"))
                                    : Result<std::string>(std::move(all));
    }
  }
}

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& path, size_t bytes_max) {
  const auto close = [](std::FILE* file) { (void)std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rb"), close);
  auto all = file ? ReadAll(file.get(), bytes_max) : BecauseOfErrno("Cannot open it");
  return all.ok() ? std::move(all) : std::move(all).error().In(path.string());
}

Result<std::string> ReadStandardInput(size_t bytes_max) {
  auto all = ReadAll(stdin, bytes_max);
  return all.ok() ? std::move(all) : std::move(all).error().In("standard input");
}

}  // namespace kvcast::tinylm
