#pragma once

#include <map>
#include <string>

#include "kvcast/base/metrics.h"
#include "kvcast/host/disk_mount.h"

namespace kvcast {

// What is shown of the disks of a node, each by its directory.
class DiskGauges {
 public:
  explicit DiskGauges(Metrics& metrics) : metrics_(&metrics) {}
  void Show(const DiskMount& disk);

 private:
  struct OfDisk {
    Gauge& allocated_bytes;
    Gauge& index_bytes;
    Gauge& queued_bytes;
    Gauge& objects;
    Gauge& damaged;
    Gauge& read_errors;
    Gauge& unreadable;
    Gauge& away;
    Gauge& unread_segments;
    Gauge& write_errors;
  };
  OfDisk Make(const std::string& directory);

  Metrics* metrics_;
  std::map<const DiskMount*, OfDisk> disks_;
};

}  // namespace kvcast
