#include "kvcast/host/disk_gauges.h"

namespace kvcast {

DiskGauges::OfDisk DiskGauges::Make(const std::string& directory) {
  const auto gauge = [&](const char* name, const char* help) -> Gauge& {
    return metrics_->gauge(name, help, {{"directory", directory}});
  };
  return {gauge("kvcast_disk_allocated_bytes", "Bytes that the files of a directory take."),
          gauge("kvcast_disk_index_bytes", "Memory that a directory's index takes."),
          gauge("kvcast_disk_queued_bytes", "Bytes that wait to be durable."),
          gauge("kvcast_disk_objects", "Objects in a directory."),
          gauge("kvcast_disk_damaged_records", "Records that did not pass their checks."),
          gauge("kvcast_disk_read_errors", "Reads that the device failed."),
          gauge("kvcast_disk_unreadable_objects",
                "Objects that were given up because they could not be read."),
          gauge("kvcast_disk_away", "1 while the disk does not answer."),
          gauge("kvcast_disk_unread_segments",
                "Segments that could not be read yet: there may be more than is known."),
          gauge("kvcast_disk_write_errors", "Segments that the device failed to make or write.")};
}

void DiskGauges::Show(const DiskMount& disk) {
  auto found = disks_.find(&disk);
  if (found == disks_.end()) {
    found = disks_.emplace(&disk, Make(disk.directory().string())).first;
  }
  const DiskTier& tier = disk.tier();
  const DiskTierCounts counts = tier.counts();
  const auto set = [](Gauge& gauge, uint64_t value) { gauge.Set(static_cast<int64_t>(value)); };
  set(found->second.allocated_bytes, tier.allocated_bytes());
  set(found->second.index_bytes, tier.index_bytes());
  set(found->second.queued_bytes, tier.queued_bytes());
  set(found->second.objects, tier.index().object_count());
  set(found->second.damaged, counts.damaged);
  set(found->second.read_errors, counts.read_errors);
  set(found->second.unreadable, counts.unreadable);
  set(found->second.away, tier.away() ? 1 : 0);
  set(found->second.unread_segments, tier.unread_segments());
  set(found->second.write_errors, counts.write_errors);
}

}  // namespace kvcast
