// Kills a process that puts objects into a directory, again and again, and looks each time whether
// every object that it said to be durable is there, to the byte.
//
// The ledger is this process: it hears of each acknowledgement through a pipe, with name, length
// and digest, and lives on. The budget is small, so that segments are always being emptied; kills
// come after 1 ms to 5 s, evenly on a logarithmic scale, so that many hit a start. What is
// checked is checked twice: by the next victim before it begins, and at the end.
//
//   disk_kills PARENT [--kills N] [--seed N] [--longest-ms N] [--plain]
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/base/check_sum.h"
#include "kvcast/base/random.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/disk_device.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/store/disk_eviction.h"
#include "kvcast/store/disk_tier.h"

namespace kvcast {
namespace {

constexpr uint64_t kSegmentBytes = 1 << 20;
constexpr uint64_t kBudget = kSuperblockBytes + 12 * kSegmentBytes;
constexpr uint64_t kGroupObjects = 8;
constexpr size_t kOpenMax = 24;

struct Options {
  std::string directory;
  uint64_t kills = 20;
  uint64_t seed = 1;
  double longest_ms = 5000;
  DiskDevice::Options device;
};

TrackName Track() { return *TrackName::Of(*TrackNamespace::Of({"service", "tenant"}), "track"); }
Location LocationOf(uint64_t number) { return {number / kGroupObjects, number % kGroupObjects}; }

Object ObjectOf(uint64_t number) {
  Random random(number);
  std::string payload(1 + random.Below(number % 5 == 0 ? 200000 : 30000), '\0');
  random.Fill(std::as_writable_bytes(std::span(payload)));
  Object object;
  object.location = LocationOf(number);
  object.payload = Bytes::Of(payload);
  return object;
}

// What one process tells the other.
struct Message {
  enum class Kind : uint32_t { kReady, kDurable, kEvicted, kNext };
  Kind kind = Kind::kReady;
  uint32_t sum = 0;  // Of the object,
  uint64_t number = 0;
  uint64_t length = 0;  // and its length.
};

struct Promise {
  uint64_t length = 0;
  uint32_t sum = 0;
};

// A tier whose events are told before anything that follows from them is asked of the disk.
class Disk {
 public:
  explicit Disk(const Options& options)
      : device_(*DiskDevice::Open(options.directory, options.device, Log())) {
    DiskTierOptions tier;
    tier.bytes_max = kBudget;
    tier.segment_bytes = kSegmentBytes;
    FillRandom(tier.fresh.bytes);
    FillRandom(std::as_writable_bytes(std::span(&tier.seed, 1)));
    DiskEvictionOptions eviction;
    eviction.limits = {.bytes_max = kBudget, .ghosts_max = 1000};
    eviction.secret = tier.seed;
    tier_.emplace(tier, *DiskEviction::Of(eviction));
  }

  DiskTier& tier() { return *tier_; }

  template <typename OnEvent>
  void Turn(OnEvent on_event) {
    const Instant now = Now();
    bool moved = false;
    while (const auto completion = device_->Next()) {
      tier_->OnCompletion(*completion, now);
      moved = true;
    }
    if (tier_->deadline() && now >= *tier_->deadline()) {
      tier_->OnTime(now);
    }
    while (auto event = tier_->Next()) {
      on_event(*event);
    }
    for (DeviceRequest& request : tier_->TakeRequests()) {
      device_->Submit(std::move(request));
      moved = true;
    }
    if (!moved) {
      ::usleep(100);
    }
  }

 private:
  std::unique_ptr<DiskDevice> device_;
  std::optional<DiskTier> tier_;
};

// The one that is killed.
class Victim {
 public:
  Victim(const Options& options, int pipe) : disk_(options), pipe_(pipe) {}

  [[noreturn]] void Run(uint64_t next) {
    while (!disk_.tier().ready()) {
      Turn();
    }
    Tell({});
    while (true) {
      while (open_.size() < kOpenMax) {
        const Object object = ObjectOf(next);
        Tell({.kind = Message::Kind::kNext, .number = next});
        if (const auto ticket = disk_.tier().Put(Track(), object, 0, Now()); ticket.ok()) {
          open_[*ticket] = {next, {object.payload.size(), Crc32c(object.payload)}};
          ++next;
        } else {
          break;
        }
      }
      Turn();
    }
  }

 private:
  void Turn() {
    disk_.Turn([this](TierEvent& event) {
      if (auto* written = std::get_if<TierWritten>(&event)) {
        const auto [number, promise] = open_.at(written->ticket);
        open_.erase(written->ticket);
        if (!written->error) {
          Tell({Message::Kind::kDurable, promise.sum, number, promise.length});
        }
      } else if (auto* evicted = std::get_if<TierEvicted>(&event)) {
        Tell({.kind = Message::Kind::kEvicted, .number = evicted->group.group});
      }
    });
  }
  void Tell(const Message& message) const { (void)!::write(pipe_, &message, sizeof(message)); }

  Disk disk_;
  int pipe_;
  std::map<TierTicket, std::pair<uint64_t, Promise>> open_;
};

class Ledger {
 public:
  void Take(const Message& message) {
    switch (message.kind) {
      case Message::Kind::kReady:
        ++ready;
        break;
      case Message::Kind::kDurable:
        ++acknowledged;
        promises_[message.number] = {message.length, message.sum};
        break;
      case Message::Kind::kEvicted:
        ++evicted;
        Forget(message.number);
        break;
      case Message::Kind::kNext:
        next = std::max(next, message.number + 1);
        break;
    }
  }

  // Opens the directory as the next victim would. Empty, or what is wrong.
  std::string Check(const Options& options) {
    Disk disk(options);
    const Instant until = Now() + std::chrono::seconds(60);
    std::map<TierTicket, uint64_t> gets;
    std::string wrong;
    const auto on_event = [&](TierEvent& event) {
      if (auto* gone = std::get_if<TierEvicted>(&event)) {
        ++evicted;
        Forget(gone->group.group);
      } else if (auto* read = std::get_if<TierRead>(&event)) {
        const uint64_t number = gets.at(read->ticket);
        gets.erase(read->ticket);
        if (read->found && read->found->object.payload != ObjectOf(number).payload) {
          wrong = "object " + std::to_string(number) + " has other bytes";
        } else if (!read->found && promises_.contains(number)) {
          wrong = "object " + std::to_string(number) + " is damaged";
        }
      }
    };
    while (!disk.tier().ready() || !disk.tier().idle()) {
      disk.Turn(on_event);
      if (Now() > until) {
        return "the directory does not come to rest";
      }
    }
    const auto promises = promises_;
    for (const auto& [number, promise] : promises) {
      const auto ticket = disk.tier().Get(Track(), LocationOf(number), Now());
      if (!ticket) {
        return "object " + std::to_string(number) + " is lost";
      }
      gets[*ticket] = number;
      ++checked;
      while (gets.size() > 16 || (number == promises.rbegin()->first && !gets.empty())) {
        disk.Turn(on_event);
      }
    }
    return wrong;
  }

  uint64_t ready = 0;
  uint64_t acknowledged = 0;
  uint64_t evicted = 0;
  uint64_t checked = 0;
  uint64_t next = 0;

 private:
  void Forget(uint64_t group) {
    promises_.erase(promises_.lower_bound(group * kGroupObjects),
                    promises_.lower_bound((group + 1) * kGroupObjects));
  }
  std::map<uint64_t, Promise> promises_;
};

constexpr uint64_t kMoreKills = 30;
constexpr double kLongestMs = 20'000;

void KillOnce(const Options& options, Ledger& ledger, Random& random) {
  int ends[2];
  KVCAST_CHECK(::pipe(ends) == 0);
  const pid_t child = ::fork();
  KVCAST_CHECK(child >= 0);
  if (child == 0) {
    ::close(ends[0]);
    Victim(options, ends[1]).Run(ledger.next);
  }
  ::close(ends[1]);
  const double share = static_cast<double>(random.Below(1 << 20)) / (1 << 20);
  const double wait_ms = std::exp(share * std::log(options.longest_ms));
  const Instant until = Now() + std::chrono::microseconds(static_cast<int64_t>(wait_ms * 1000));
  // A reader that keeps up, so that the victim never waits for its pipe.
  std::string told;
  char piece[1 << 16];
  const int flags = ::fcntl(ends[0], F_GETFL);
  ::fcntl(ends[0], F_SETFL, flags | O_NONBLOCK);
  while (Now() < until) {
    const ssize_t count = ::read(ends[0], piece, sizeof(piece));
    if (count > 0) {
      told.append(piece, static_cast<size_t>(count));
    } else {
      ::usleep(200);
    }
  }
  KVCAST_CHECK(::kill(child, SIGKILL) == 0 && ::waitpid(child, nullptr, 0) == child);
  ::fcntl(ends[0], F_SETFL, flags);
  for (ssize_t count = 1; count > 0;) {
    count = ::read(ends[0], piece, sizeof(piece));
    told.append(piece, static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  ::close(ends[0]);
  for (size_t at = 0; at + sizeof(Message) <= told.size(); at += sizeof(Message)) {
    Message message;
    std::memcpy(&message, told.data() + at, sizeof(message));
    ledger.Take(message);
  }
}

int Run(const Options& options) {
  Ledger ledger;
  Random random(options.seed);
  Options patient = options;
  const auto proves_nothing = [&] { return ledger.acknowledged <= options.kills / 10; };
  uint64_t kills = 0;
  // On a machine so slow that hardly anything was written before each kill, some live longer.
  for (; kills < options.kills || (proves_nothing() && kills < options.kills + kMoreKills);
       ++kills) {
    if (kills >= options.kills) {
      patient.longest_ms = std::min(patient.longest_ms * 2, kLongestMs);
    }
    KillOnce(patient, ledger, random);
    // Every third start is killed again without a look, so that recovery meets recovery.
    if (kills % 3 == 2 && kills + 1 < options.kills) {
      continue;
    }
    if (const std::string wrong = ledger.Check(options); !wrong.empty()) {
      std::printf("seed %llu, kill %llu: %s\n", static_cast<unsigned long long>(options.seed),
                  static_cast<unsigned long long>(kills), wrong.c_str());
      return 1;
    }
  }
  std::printf(
      "%llu kills, %llu of them during a start; %llu acknowledged, %llu groups evicted, %llu "
      "objects read back: nothing lost, nothing wrong\n",
      static_cast<unsigned long long>(kills), static_cast<unsigned long long>(kills - ledger.ready),
      static_cast<unsigned long long>(ledger.acknowledged),
      static_cast<unsigned long long>(ledger.evicted),
      static_cast<unsigned long long>(ledger.checked));
  return proves_nothing() ? 1 : 0;
}

}  // namespace
}  // namespace kvcast

int main(int argc, char** argv) {
  kvcast::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const bool has_value = i + 1 < argc;
    if (flag == "--plain") {
      options.device = {.direct = false, .ring = false};
    } else if (flag == "--kills" && has_value) {
      options.kills = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--seed" && has_value) {
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (flag == "--longest-ms" && has_value) {
      options.longest_ms = std::strtod(argv[++i], nullptr);
    } else if (options.directory.empty() && !flag.starts_with("--")) {
      options.directory = flag;
    } else {
      options.directory.clear();
      break;
    }
  }
  if (options.directory.empty()) {
    (void)std::fprintf(stderr,
                       "disk_kills PARENT [--kills N] [--seed N] [--longest-ms N] [--plain]\n");
    return 2;
  }
  const auto scratch = kvcast::ScratchDirectory::Make(options.directory);
  if (!scratch.ok()) {
    (void)std::fprintf(stderr, "%s\n", scratch.error().ToString().c_str());
    return 2;
  }
  options.directory = scratch->path() / "store";
  return kvcast::Run(options);
}
