#include "kvcast/io/disk_device.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <set>
#include <string>

#include "kvcast/base/random.h"
#include "kvcast/io/scratch_directory.h"
#include "kvcast/io/unprivileged_test.h"
#include "kvcast/store/disk_tier.h"

namespace kvcast {
namespace {

constexpr uint64_t kSegmentBytes = 8 << 20;

TrackName Track() { return *TrackName::Of(*TrackNamespace::Of({"space"}), "track"); }

std::string PayloadOf(uint64_t number) {
  Random random(number);
  std::string payload(1 + random.Below(number % 7 == 0 ? 3 << 20 : 40000), '\0');
  random.Fill(std::as_writable_bytes(std::span(payload)));
  return payload;
}

Object ObjectOf(uint64_t number) {
  Object object;
  object.location = {number / 4, number % 4};
  object.payload = Bytes::Of(PayloadOf(number));
  return object;
}

// A disk tier on a directory of this machine.
class Disk {
 public:
  Disk(const std::filesystem::path& directory, const DiskDevice::Options& options) {
    device_ = *DiskDevice::Open(directory, options, Log());
    DiskTierOptions tier;
    tier.bytes_max = kSuperblockBytes + 24 * kSegmentBytes;
    tier.segment_bytes = kSegmentBytes;
    tier.seed = static_cast<uint64_t>(::getpid()) * 1000003 + 7;
    tier.fresh.bytes.fill(std::byte{1});
    tier_.emplace(tier, std::make_unique<OldestFirst>());
    RunUntil([this] { return tier_->state() == DiskTier::State::kReady; });
  }

  DiskDevice& device() { return *device_; }
  DiskTier& tier() { return *tier_; }
  void Put(uint64_t number) { tickets_[*tier_->Put(Track(), ObjectOf(number), 0, now_)] = number; }
  size_t unacknowledged() const { return tickets_.size(); }

  std::optional<std::string> Get(uint64_t number) {
    const auto ticket = tier_->Get(Track(), ObjectOf(number).location, now_);
    if (!ticket) {
      return std::nullopt;
    }
    found_.reset();
    read_ = false;
    RunUntil([this] { return read_; });
    return found_ ? std::optional(found_->object.payload.ToString()) : std::nullopt;
  }

  void RunUntil(const std::function<bool()>& done) {
    while (!done()) {
      for (DeviceRequest& request : tier_->TakeRequests()) {
        device_->Submit(std::move(request));
      }
      while (const auto completion = device_->Next()) {
        tier_->OnCompletion(*completion, now_);
      }
      while (auto event = tier_->Next()) {
        OnEvent(*event);
      }
      if (!done()) {
        for (DeviceRequest& request : tier_->TakeRequests()) {
          device_->Submit(std::move(request));
        }
        pollfd wait{device_->descriptor(), POLLIN, 0};
        ASSERT_EQ(::poll(&wait, 1, 60000), 1) << "the device has nothing more to say";
      }
    }
  }

  std::function<void(uint64_t)> on_acknowledged;

 private:
  void OnEvent(TierEvent& event) {
    if (auto* written = std::get_if<TierWritten>(&event)) {
      ASSERT_FALSE(written->error.has_value()) << written->error->ToString();
      if (on_acknowledged) {
        on_acknowledged(tickets_.at(written->ticket));
      }
      tickets_.erase(written->ticket);
    } else if (auto* read = std::get_if<TierRead>(&event)) {
      found_ = std::move(read->found);
      read_ = true;
    }
  }

  std::unique_ptr<DiskDevice> device_;
  std::optional<DiskTier> tier_;
  Instant now_{std::chrono::hours(1)};
  std::map<TierTicket, uint64_t> tickets_;
  std::optional<StoredObject> found_;
  bool read_ = false;
};

TEST(DiskDevice, KeepsATiersObjectsHoweverTheMachineLetsIt) {
  ChunkPool chunks(300 << 10);  // Soon full.
  for (const DiskDevice::Options options : {DiskDevice::Options{true, true},
                                            {false, true},
                                            {true, false},
                                            {false, false},
                                            {true, true, &chunks},
                                            {true, true, nullptr, 0}}) {
    const ScratchDirectory scratch = *ScratchDirectory::Make();
    for (int start = 0; start < 2; ++start) {
      Disk disk(scratch.path(), options);
      if (start == 0) {
        for (uint64_t number = 0; number < 30; ++number) {
          disk.Put(number);
        }
        disk.RunUntil([&] { return disk.unacknowledged() == 0; });
      }
      for (uint64_t number = 0; number < 30; ++number) {
        ASSERT_EQ(disk.Get(number), PayloadOf(number)) << number;
      }
      EXPECT_LE(disk.tier().allocated_bytes(), kSuperblockBytes + 24 * kSegmentBytes);
    }
  }
}

TEST(DiskDevice, BuffersTakeNoMoreThanTheyMay) {
  for (const uint64_t bytes_max : {uint64_t{0}, DiskRing::kLeastBytes, uint64_t{8} << 20,
                                   uint64_t{16} << 20, DiskRing::kMostBytes, uint64_t{1} << 40}) {
    const DiskRing::Shape shape = DiskRing::Shape::Within(bytes_max);
    EXPECT_LE(shape.bytes(), std::max(bytes_max, DiskRing::kLeastBytes));
    EXPECT_GE(shape.bytes(), std::min(bytes_max, DiskRing::kMostBytes) / 2);
    EXPECT_EQ(shape.buffer_bytes % kDeviceBlockBytes, 0u);
    const ScratchDirectory scratch = *ScratchDirectory::Make();
    const auto device = *DiskDevice::Open(scratch.path(), {.buffer_bytes_max = bytes_max}, Log());
    EXPECT_TRUE(!device->ring() || device->buffer_bytes() == shape.bytes());
  }
}

// As for all users but root, unless somebody has raised their limit.
TEST(DiskDevice, KeepsManyRequestsUnderWayWhereLittleMayBeLocked) {
  {
    const ScratchDirectory scratch = *ScratchDirectory::Make();
    if (!(*DiskDevice::Open(scratch.path(), {}, Log()))->ring()) {
      GTEST_SKIP() << "this kernel refuses io_uring";
    }
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const rlimit little{256 << 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &little), 0);
  {
    const Unprivileged nobody;
    const ScratchDirectory scratch = *ScratchDirectory::Make();
    Disk disk(scratch.path(), {});
    EXPECT_TRUE(disk.device().ring());
    EXPECT_FALSE(disk.device().pinned());
    for (uint64_t number = 0; number < 30; ++number) {
      disk.Put(number);
    }
    disk.RunUntil([&] { return disk.unacknowledged() == 0; });
    for (uint64_t number = 0; number < 30; ++number) {
      ASSERT_EQ(disk.Get(number), PayloadOf(number)) << number;
    }
  }
  ASSERT_EQ(::setrlimit(RLIMIT_MEMLOCK, &before), 0);
}

TEST(DiskDevice, GivesADirectoryToOneProcessAtATime) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  auto first = DiskDevice::Open(scratch.path(), {}, Log());
  ASSERT_TRUE(first.ok());
  const auto second = DiskDevice::Open(scratch.path(), {}, Log());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().ToString().find("Another process"), std::string::npos);
  first->reset();
  EXPECT_TRUE(DiskDevice::Open(scratch.path(), {}, Log()).ok());
}

TEST(DiskDevice, SaysWhatTheMachineSaid) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const auto files = *DiskFiles::Open(scratch.path(), false);
  DeviceOutbox outbox;
  outbox.Create(1, uint64_t{1} << 60);
  outbox.Read(7, 0, kDeviceBlockBytes);
  outbox.Remove(7);
  const auto requests = outbox.Take();
  EXPECT_TRUE(files->Do(requests[0]).error.has_value());
  EXPECT_TRUE(files->Do(requests[1]).error.has_value());
  EXPECT_FALSE(files->Do(requests[2]).error.has_value());  // Gone is gone.
}

// Puts objects until it is killed, and says through the pipe which were acknowledged.
[[noreturn]] void PutUntilKilled(const std::filesystem::path& directory, uint64_t first, int pipe) {
  Disk disk(directory, {});
  disk.on_acknowledged = [pipe](uint64_t number) { (void)!::write(pipe, &number, sizeof(number)); };
  for (uint64_t number = first;; ++number) {
    disk.Put(number);
    disk.RunUntil([&] { return disk.unacknowledged() < 8; });
  }
}

TEST(DiskDevice, LosesNothingAcknowledgedToAKill) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  Random random(11);
  std::set<uint64_t> acknowledged;
  for (int kill = 0; kill < 8; ++kill) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const uint64_t first = static_cast<uint64_t>(kill) * 20;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      PutUntilKilled(scratch.path(), first, ends[1]);
    }
    ::close(ends[1]);
    // Some acknowledgements, then a moment: it is killed in the middle of whatever it does.
    const uint64_t wanted = random.Below(8);
    uint64_t number = 0;
    for (uint64_t i = 0; i < wanted; ++i) {
      ASSERT_EQ(::read(ends[0], &number, sizeof(number)), static_cast<ssize_t>(sizeof(number)));
      acknowledged.insert(number);
    }
    ::usleep(static_cast<useconds_t>(random.Below(3000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    while (::read(ends[0], &number, sizeof(number)) == static_cast<ssize_t>(sizeof(number))) {
      acknowledged.insert(number);
    }
    ::close(ends[0]);
  }
  Disk disk(scratch.path(), {});
  EXPECT_GT(acknowledged.size(), 8u);
  for (const uint64_t number : acknowledged) {
    ASSERT_EQ(disk.Get(number), PayloadOf(number)) << number;
  }
}

// A terabyte has more segments than a process may have files open by default.
TEST(DiskDevice, ReadsMoreFilesThanMayBeOpen) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  constexpr uint64_t kFiles = 200;
  const auto files = DiskFiles::Open(scratch.path(), true);
  ASSERT_TRUE(files.ok());
  using Kind = DeviceRequest::Kind;
  const auto block = [](uint64_t number) {
    return Bytes::Of(std::string(kDeviceBlockBytes, static_cast<char>('a' + number % 26)));
  };
  size_t open_most = 0;
  for (uint64_t number = 1; number <= kFiles; ++number) {
    for (const Kind kind : {Kind::kCreate, Kind::kWrite, Kind::kSync}) {
      DeviceRequest request{.kind = kind, .token = 1, .file = number, .length = kDeviceBlockBytes};
      request.bytes = kind == Kind::kWrite ? block(number) : Bytes();
      const DeviceCompletion done = (*files)->Do(request);
      EXPECT_FALSE(done.error) << "file " << number << ": " << done.error->message;
    }
    open_most = std::max(open_most, (*files)->open_count());
  }
  for (uint64_t number = 1; number <= kFiles; ++number) {
    const DeviceCompletion done = (*files)->Do(
        {.kind = Kind::kRead, .token = 1, .file = number, .length = kDeviceBlockBytes});
    EXPECT_FALSE(done.error) << "file " << number << ": " << done.error->message;
    EXPECT_EQ(done.bytes, block(number));
    open_most = std::max(open_most, (*files)->open_count());
  }
  EXPECT_EQ(open_most, DiskFiles::kOpenLeast);
  // What is not known to be durable is not closed: its errors are told to whoever has it open.
  for (uint64_t number = 1; number <= 2 * DiskFiles::kOpenLeast; ++number) {
    DeviceRequest request{.kind = Kind::kWrite, .token = 1, .file = number};
    request.length = kDeviceBlockBytes;
    request.bytes = block(number);
    EXPECT_FALSE((*files)->Do(request).error);
  }
  EXPECT_EQ((*files)->open_count(), 2 * DiskFiles::kOpenLeast);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace kvcast
