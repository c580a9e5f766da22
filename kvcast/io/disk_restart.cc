// How long does a start take with a million objects on disk? Makes a directory of sealed segments
// whose headers, footers and first records are real and whose other payloads are holes, opens it as
// a node would, and looks whether all of it is there.
//
//   disk_restart DIRECTORY [OBJECTS [GIGABYTES]]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/base/random.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/store/disk_eviction.h"
#include "kvcast/store/segment_footer.h"

namespace kvcast {
namespace {

constexpr uint64_t kSegmentBytes = 64 << 20;
constexpr uint64_t kGroupObjects = 128;
constexpr uint64_t kTrackGroups = 8;
constexpr uint64_t kKeyProperty = 0x3801;
constexpr int kStarts = 5;

struct Plan {
  std::filesystem::path directory;
  uint64_t objects = 1'000'000;
  uint64_t segments = 100'000'000'000 / kSegmentBytes;

  uint64_t per_segment() const { return (objects + segments - 1) / segments; }
};

TrackName TrackOf(uint64_t object) {
  const std::string prefix =
      "prefix " + std::to_string(object / kGroupObjects / kTrackGroups) + " as long as a digest";
  return *TrackName::Of(
      *TrackNamespace::Of(
          {"moq://kvcache.moq.arpa/v1/", "tenant/model@0123456789abcdef", prefix, "generation"}),
      "BF16");
}

Location LocationOf(uint64_t object) {
  return {object / kGroupObjects % kTrackGroups, object % kGroupObjects};
}

Object ObjectOf(uint64_t number, uint64_t bytes) {
  Object object;
  object.location = LocationOf(number);
  std::string payload(bytes, '\0');
  Random(number).Fill(std::as_writable_bytes(std::span(payload)));
  object.payload = Bytes::Of(payload);
  if (object.location.object == 0) {
    object.properties =
        PropertiesBuilder()
            .Immutable(PropertiesBuilder().Bytes(kKeyProperty, std::string(32, 'k')).Build())
            .Build();
  }
  return object;
}

void WriteAt(int file, const Bytes& bytes, uint64_t offset) {
  const std::string flat = bytes.ToString();
  KVCAST_CHECK(::pwrite(file, flat.data(), flat.size(), static_cast<off_t>(offset)) ==
               static_cast<ssize_t>(flat.size()));
}

// As many bytes as there are for each, with what a record takes besides.
uint64_t PayloadBytes(const Plan& plan) {
  return (kSegmentBytes - (1 << 20)) / plan.per_segment() - 512;
}

void MakeSegment(const Plan& plan, const DirectoryId& directory, uint64_t number) {
  char name[32];
  (void)std::snprintf(name, sizeof(name), "segment-%016llx",
                      static_cast<unsigned long long>(number));
  const Descriptor file(
      ::open((plan.directory / name).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  KVCAST_CHECK(file && ::ftruncate(file.number(), kSegmentBytes) == 0);
  const SegmentHeader header{directory, number, kSegmentBytes, Scatter(number) | 1};
  WriteAt(file.number(), header.Encode(), 0);
  FooterWriter footer;
  const uint64_t payload_bytes = PayloadBytes(plan);
  const uint64_t first = (number - 1) * plan.per_segment();
  const uint64_t end = std::min(first + plan.per_segment(), plan.objects);
  uint64_t offset = kDeviceBlockBytes;
  for (uint64_t object = first; object < end; ++object) {
    // The first is real; of the others only the footer knows.
    const Object made = ObjectOf(object, object == first ? payload_bytes : 0);
    const TrackName track = TrackOf(object);
    const RecordBody body = StoredObject{made, object};
    const RecordDraft draft = *RecordDraft::Of({track, body});
    EntryBody entry = EntryOf(body, draft.payload_sum(), kKeyProperty);
    std::get<ObjectEntry>(entry).payload_bytes = static_cast<uint32_t>(payload_bytes);
    const uint64_t length = draft.size() + (object == first ? 0 : payload_bytes);
    if (object == first) {
      WriteAt(file.number(),
              draft.Encode({directory, header.marker, {static_cast<uint32_t>(number), offset}}, 0),
              offset);
    }
    footer.Add(track, offset, length, entry);
    offset += RecordUp(length);
  }
  const Bytes sealed = footer.Encode(directory, number, kSegmentBytes, header.marker);
  KVCAST_CHECK(offset + sealed.size() <= kSegmentBytes);
  WriteAt(file.number(), sealed, kSegmentBytes - sealed.size());
}

void MakeDirectory(const Plan& plan) {
  std::filesystem::create_directories(plan.directory);
  DirectoryId directory;
  directory.bytes.fill(std::byte{0x17});
  const Descriptor file(
      ::open((plan.directory / "superblock").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  KVCAST_CHECK(file);
  WriteAt(file.number(), Superblock{directory, DiskClass::kSsd, kSegmentBytes}.Encode(), 0);
  for (uint64_t number = 1; number <= plan.segments; ++number) {
    MakeSegment(plan, directory, number);
  }
  ::sync();
}

std::optional<StoredObject> Get(DrivenDisk& disk, uint64_t object) {
  if (!disk.tier().Get(TrackOf(object), LocationOf(object), Now())) {
    return std::nullopt;
  }
  while (true) {
    disk.Turn(std::chrono::seconds(1));
    while (auto event = disk.tier().Next()) {
      if (auto* read = std::get_if<TierRead>(&*event)) {
        return std::move(read->found);
      }
    }
  }
}

// Every object is known, those that are real are read whole, and a hole is a miss.
bool LookThrough(const Plan& plan, DrivenDisk& disk) {
  uint64_t known = 0;
  for (uint64_t object = 0; object < plan.objects; ++object) {
    known +=
        disk.tier().PresenceOf(TrackOf(object), LocationOf(object)) == Presence::kExists ? 1u : 0u;
  }
  uint64_t wrong = 0;
  for (uint64_t first = 0; first < plan.objects; first += 97 * plan.per_segment()) {
    const auto real = Get(disk, first);
    wrong += real && real->object.payload == ObjectOf(first, PayloadBytes(plan)).payload ? 0u : 1u;
    wrong += first + 1 < plan.objects && Get(disk, first + 1) ? 1u : 0u;
  }
  std::printf("%llu of %llu objects known, %llu wrong\n", static_cast<unsigned long long>(known),
              static_cast<unsigned long long>(plan.objects),
              static_cast<unsigned long long>(wrong));
  return known == plan.objects && wrong == 0;
}

int Run(const Plan& plan) {
  if (!std::filesystem::exists(plan.directory / "superblock")) {
    MakeDirectory(plan);
  }
  std::vector<double> seconds;
  bool good = true;
  for (int start = 0; start < kStarts; ++start) {
    DiskTierOptions options;
    options.bytes_max = uint64_t{1} << 45;
    options.key_property = kKeyProperty;
    DiskEvictionOptions eviction;
    eviction.limits = {.bytes_max = options.bytes_max, .ghosts_max = 400'000};
    const Instant begun = Now();
    const auto disk =
        *DrivenDisk::Open(plan.directory, options, *DiskEviction::Of(eviction), {}, Log());
    seconds.push_back(std::chrono::duration<double>(Now() - begun).count());
    const double bytes = static_cast<double>(plan.segments * kSegmentBytes);
    std::printf(
        "%zu objects in %.1f GB of segments: ready in %.3f s, %.3f s per 100 GB; index of "
        "%.1f bytes an object\n",
        disk->tier().index().object_count(), bytes / 1e9, seconds.back(),
        seconds.back() / bytes * 1e11,
        static_cast<double>(disk->tier().index_bytes()) / static_cast<double>(plan.objects));
    good = good && disk->tier().index().object_count() == plan.objects &&
           disk->tier().counts().damaged == 0;
    if (start + 1 == kStarts) {
      good = LookThrough(plan, *disk) && good;
    }
  }
  std::ranges::sort(seconds);
  std::printf("median %.3f s; %s\n", seconds[kStarts / 2], good ? "nothing lost" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace kvcast

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    (void)std::fprintf(stderr, "disk_restart DIRECTORY [OBJECTS [GIGABYTES]]\n");
    return 2;
  }
  kvcast::Plan plan;
  plan.directory = argv[1];
  plan.objects = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : plan.objects;
  plan.segments = argc > 3
                      ? std::strtoull(argv[3], nullptr, 10) * 1'000'000'000 / kvcast::kSegmentBytes
                      : plan.segments;
  return kvcast::Run(plan);
}
