#include "kvcast/host/object_output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "kvcast/base/digest.h"
#include "kvcast/base/json.h"
#include "kvcast/host/moq_words.h"
#include "kvcast/io/file.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

// One object a line, which a reader takes without waiting for the end.
void PrintLine(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string_view WordOf(ObjectStatus status) {
  switch (status) {
    case ObjectStatus::kNormal:
      return "normal";
    case ObjectStatus::kEndOfGroup:
      return "end of group";
    case ObjectStatus::kEndOfTrack:
      return "end of track";
  }
  return "unknown";
}

// What a pipe that can be written to takes without waiting.
constexpr size_t kWriteBytes = PIPE_BUF;

bool IsFile(int descriptor) {
  struct stat facts {};
  return ::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool IsWritable(int descriptor) {
  pollfd out{descriptor, POLLOUT, 0};
  return ::poll(&out, 1, 0) != 0;
}

Result<void> WriteToFile(const std::filesystem::path& path, const Bytes& payload) {
  KVCAST_TRY(FileWriter writer, FileWriter::Create(path));
  for (size_t i = 0; i < payload.piece_count(); ++i) {
    KVCAST_TRY_VOID(writer.Append(payload.piece(i)));
  }
  return writer.Commit();
}

}  // namespace

std::string Pace(uint64_t bytes, double seconds) {
  std::string text = fmt::format("{} in {:.2f} s", HumanBytes(bytes), seconds);
  if (seconds > 0 && bytes > 0) {
    text += ", " + HumanRate(static_cast<double>(bytes) / seconds);
  }
  return text;
}

Result<ObjectOutput> ObjectOutput::Open(Options options) {
  if (!options.to.empty() && options.to != "-") {
    std::error_code failed;
    std::filesystem::create_directories(options.to, failed);
    if (failed) {
      return SystemError("Cannot make this folder", failed.value()).In(options.to);
    }
  }
  if (options.to == "-" && options.json) {
    return Error(ErrorCode::kInvalid,
                 "Payloads and JSON cannot both go to standard output: name a folder.");
  }
  ObjectOutput output(std::move(options));
  output.may_block_ = !IsFile(output.options_.out);
  return output;
}

Result<void> ObjectOutput::Continue() {
  while (!waiting_.empty()) {
    const Bytes& payload = waiting_.front();
    if (piece_ == payload.piece_count()) {
      waiting_.pop_front();
      piece_ = 0;
      continue;
    }
    if (may_block_ && !IsWritable(options_.out)) {
      return {};
    }
    const std::span<const std::byte> rest = payload.piece(piece_).subspan(offset_);
    const ssize_t count = ::write(options_.out, rest.data(),
                                  may_block_ ? std::min(rest.size(), kWriteBytes) : rest.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
      return {};
    }
    if (count < 0) {
      return SystemError("Cannot write to standard output", errno);
    }
    offset_ += static_cast<size_t>(count);
    if (offset_ == payload.piece(piece_).size()) {
      ++piece_;
      offset_ = 0;
    }
  }
  return {};
}

Result<void> ObjectOutput::Write(const Object& object) {
  start_ = start_.value_or(Now());
  ++objects_;
  bytes_ += object.payload.size();
  progress_->Update(bytes_, 0);
  if (options_.to == "-") {
    waiting_.push_back(object.payload);
    return Continue();
  }
  Print(object);
  if (may_block_) {
    (void)std::fflush(stdout);  // Who reads a pipe wants to see it now; a file can wait.
  }
  if (options_.to.empty() || object.status != ObjectStatus::kNormal) {
    return {};
  }
  return WriteToFile(std::filesystem::path(options_.to) /
                         fmt::format("{}-{}", object.location.group, object.location.object),
                     object.payload);
}

void ObjectOutput::Print(const Object& object) const {
  const bool normal = object.status == ObjectStatus::kNormal;
  const std::string digest = normal ? Sha256::Of(object.payload).ToHex() : "";
  if (options_.json) {
    Json line{{"type", "object"},
              {"group", object.location.group},
              {"object", object.location.object},
              {"subgroup", object.subgroup},
              {"priority", object.priority},
              {"status", WordOf(object.status)},
              {"bytes", object.payload.size()}};
    if (normal) {
      line["sha256"] = digest;
    }
    if (!object.properties.empty()) {
      line["properties"] = JsonOf(object.properties);
    }
    PrintLine(line);
    return;
  }
  std::string text =
      normal ? fmt::format("{:>9} bytes  sha256 {}", object.payload.size(), digest.substr(0, 16))
             : std::string(WordOf(object.status));
  if (object.subgroup != 0) {
    text += fmt::format("  subgroup {}", object.subgroup);
  }
  if (!object.properties.empty()) {
    text += "  " + TextOf(object.properties);
  }
  fmt::print("{:<10} {}\n", object.location.ToString(), text);
}

void ObjectOutput::WriteGap(Location last, bool unknown) {
  if (options_.json) {
    PrintLine(
        {{"type", "gap"}, {"group", last.group}, {"object", last.object}, {"unknown", unknown}});
  } else if (options_.to != "-") {
    const std::string place = last.object == LocationRange::kWholeGroup
                                  ? fmt::format("the end of group {}", last.group)
                                  : last.ToString();
    fmt::print("nothing up to {}: {}\n", place,
               unknown ? "the relay does not know whether there is" : "it does not exist");
  }
}

void ObjectOutput::WriteBroken(uint64_t group, std::optional<uint64_t> subgroup) {
  if (options_.json) {
    Json line{{"type", "broken"}, {"group", group}};
    if (subgroup) {
      line["subgroup"] = *subgroup;
    }
    PrintLine(line);
  } else if (options_.to != "-") {
    fmt::print("a subgroup of group {} was broken off\n", group);
  }
}

void ObjectOutput::Finish(bool complete, const std::string& reason) {
  progress_->Done();
  (void)std::fflush(stdout);
  const double seconds = start_ ? std::chrono::duration<double>(Now() - *start_).count() : 0.0;
  if (options_.json) {
    PrintLine({{"type", "end"},
               {"objects", objects_},
               {"bytes", bytes_},
               {"seconds", seconds},
               {"complete", complete},
               {"reason", reason}});
    return;
  }
  fmt::print(stderr, "{} object{}, {}{}\n", objects_, objects_ == 1 ? "" : "s",
             Pace(bytes_, seconds), reason.empty() ? "" : ": " + reason);
}

}  // namespace kvcast
