#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/random.h"
#include "kvcast/store/device.h"

namespace kvcast {

// What goes wrong with a memory device, counted in requests from its first.
struct DeviceFaults {
  uint64_t fail_at = 0;            // This request fails; 0: none.
  uint64_t fail_count = 1;         // And so many together.
  uint64_t misdirect_at = 0;       // This one, if it is a write, goes to another place of its file.
  uint64_t capacity = UINT64_MAX;  // Bytes of files that the device has room for.
  bool reorder = false;            // Requests come to their end in any order.
  DeviceFile unreadable = 0;       // So many reads of this file fail.
  uint64_t unreadable_reads = 0;
  // Blocks that cannot be read, by file and offset, until they are written again.
  std::set<std::pair<DeviceFile, uint64_t>> bad_blocks{};
  bool hangs = false;  // Nothing comes to its end.

  bool IsBad(DeviceFile file, uint64_t offset, uint64_t length) const;
};

// A directory in memory, for tests and the simulator: it remembers what has been synced and what
// has not, and can lose its power at any moment.
class MemoryDevice : public Device {
 public:
  explicit MemoryDevice(uint64_t seed) : random_(seed) {}

  void Submit(DeviceRequest request) override;
  std::optional<DeviceCompletion> Next() override;

  // What a machine finds when its power is back: all that was synced, and of what was not, down to
  // requests that had not come to their end, any part, torn at sectors or at blocks.
  MemoryDevice AfterPowerCut(Random& random) const;
  // What a program finds that was killed: all that had come to its end.
  MemoryDevice AfterKill() const;

  DeviceFaults& faults() { return faults_; }
  const DeviceFaults& faults() const { return faults_; }
  uint64_t request_count() const { return requests_; }
  // The file of which a write was misdirected; 0: none.
  DeviceFile misdirected() const { return misdirected_; }
  size_t pending() const { return pending_.size(); }
  uint64_t bytes() const;
  std::vector<DeviceCompletion::File> List() const;
  // For a test to look at or to damage.
  std::vector<std::byte>& contents(DeviceFile file) { return files_.at(file).now; }
  void PutFile(DeviceFile file, std::vector<std::byte> contents);

 private:
  struct Write {
    uint64_t offset = 0;
    Bytes bytes;
  };
  struct File {
    std::vector<std::byte> now;
    std::vector<std::byte> durable;
    std::vector<Write> unsynced;
  };
  struct Pending {
    DeviceRequest request;
    size_t covers = 0;  // Writes that a sync makes durable.
    bool fails = false;
    bool misdirected = false;
  };

  DeviceCompletion Do(Pending& pending);
  void DoCreate(const DeviceRequest& request, DeviceCompletion& completion);
  void DoWrite(const Pending& pending, DeviceCompletion& completion);
  void DoSync(const Pending& pending, DeviceCompletion& completion);
  static void Put(std::vector<std::byte>& image, const Write& write);
  static void PutTorn(std::vector<std::byte>& image, const Write& write, Random& random);

  Random random_;
  DeviceFaults faults_;
  uint64_t requests_ = 0;
  DeviceFile misdirected_ = 0;
  std::map<DeviceFile, File> files_;
  std::deque<Pending> pending_;
};

}  // namespace kvcast
