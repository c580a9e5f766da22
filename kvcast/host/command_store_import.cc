#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/driven_store.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/shard_plan.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/descriptor.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"
#include "kvcast/io/system_error.h"
#include "kvcast/object/track_shard.h"
#include "kvcast/store/export_stream.h"

namespace kvcast {
namespace {

constexpr uint64_t kQueuedMax = 64 << 20;
constexpr size_t kPieceBytes = kChunkBytesMax;
constexpr Duration kTidyFor = std::chrono::seconds(5);

struct ImportOptions {
  std::string file;
  std::string store;
  std::string disk_class = "ssd";
  bool json = false;
};

// Bytes of a file or of standard input, piece by piece.
class ImportSource {
 public:
  static Result<ImportSource> Open(const std::string& name) {
    if (name == "-") {
      return ImportSource("standard input", Descriptor(::dup(STDIN_FILENO)));
    }
    Descriptor opened(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) {
      return SystemError("Cannot open it", errno).In(name);
    }
    return ImportSource(name, std::move(opened));
  }

  const std::string& name() const { return name_; }
  uint64_t bytes() const {
    struct stat status {};
    const bool known = ::fstat(file_.number(), &status) == 0 && S_ISREG(status.st_mode);
    return known ? static_cast<uint64_t>(status.st_size) : 0;
  }
  // Empty at the end.
  Result<Bytes> Read() {
    ChunkRef chunk = ChunkRef::OnHeap(kPieceBytes);
    while (true) {
      const ssize_t count = ::read(file_.number(), chunk.mutable_data(), kPieceBytes);
      if (count >= 0) {
        return Bytes::Of(std::move(chunk), 0, static_cast<size_t>(count));
      }
      if (errno != EINTR) {
        return SystemError("Cannot read it", errno).In(name_);
      }
    }
  }

 private:
  ImportSource(std::string name, Descriptor file)
      : name_(std::move(name)), file_(std::move(file)) {}
  std::string name_;
  Descriptor file_;
};

// Puts records into a store, and waits until they are durable.
class Importing {
 public:
  explicit Importing(std::unique_ptr<DrivenStore> target) : target_(std::move(target)) {}

  // `on_wait` is called while it waits.
  Result<void> Add(const DiskRecord& record, const std::function<void()>& on_wait) {
    while (target_->queued_bytes() > kQueuedMax) {
      KVCAST_TRY_VOID(Turn());
      on_wait();
    }
    const auto ticket = Ask(record);
    if (!ticket.ok()) {
      return ticket.error();
    }
    open_.insert(*ticket);
    return {};
  }

  Result<void> Finish() {
    Progress progress("Waiting until it is durable");
    const uint64_t total = target_->queued_bytes();
    target_->Hurry();
    while (!open_.empty()) {
      KVCAST_TRY_VOID(Turn());
      progress.Update(total - std::min(total, target_->queued_bytes()), total);
    }
    progress.Done();
    const Instant until = Now() + kTidyFor;
    while (target_->Tidy() && Now() < until) {
      KVCAST_TRY_VOID(Turn());
    }
    return {};
  }

  uint64_t objects = 0;
  std::set<TrackName> tracks;

 private:
  Result<TierTicket> Ask(const DiskRecord& record) {
    LowerTier& tier = target_->tier();
    if (const auto* stored = std::get_if<StoredObject>(&record.body)) {
      Result<TierTicket> asked = tier.Put(record.track, stored->object, stored->received_us, Now());
      objects += asked.ok() ? 1u : 0u;
      tracks.insert(record.track);
      return asked;
    }
    tracks.insert(record.track);
    if (const auto* facts = std::get_if<TrackFacts>(&record.body)) {
      return tier.Describe(record.track, *facts, Now());
    }
    if (const auto* end = std::get_if<GroupEnd>(&record.body)) {
      return tier.EndGroup(record.track, *end, Now());
    }
    return Error(ErrorCode::kMalformed, "An export holds no removals.");
  }

  Result<void> Turn() {
    target_->Turn(std::chrono::milliseconds(100));
    while (auto event = target_->tier().Next()) {
      if (auto* written = std::get_if<TierWritten>(&*event)) {
        open_.erase(written->ticket);
        if (written->error) {
          return *written->error;
        }
      }
    }
    return {};
  }

  std::unique_ptr<DrivenStore> target_;
  std::set<TierTicket> open_;
};

// The head is looked at before the store is touched.
Result<void> ImportRecords(ImportSource& source, ExportReader& reader, const ImportOptions& options,
                           std::optional<Importing>& importing) {
  Progress progress("Importing");
  const std::optional<ShardPlace> shard = ShardPlace::In(options.store);
  const uint64_t total = source.bytes();
  uint64_t done = 0;
  bool more = true;
  while (more) {
    KVCAST_TRY(const Bytes piece, source.Read());
    more = !piece.empty();
    done += piece.size();
    reader.Append(piece);
    while (true) {
      auto record = reader.Next();
      if (!record.ok()) {
        return Error(record.error()).In(source.name());
      }
      if (!*record) {
        break;
      }
      if (shard && ShardOf((*record)->track.space(), shard->count) != shard->index) {
        continue;
      }
      if (!importing) {
        KVCAST_TRY(std::unique_ptr<DrivenStore> target,
                   DrivenStore::Open(options.store, options.disk_class));
        importing.emplace(std::move(target));
      }
      const Result<void> added =
          importing->Add(**record, [&] { progress.Update(done - piece.size(), total); });
      if (!added.ok()) {
        return Error(added.error()).In(options.store);
      }
    }
    progress.Update(done, total);
  }
  progress.Done();
  return {};
}

// Whatever ends it: what was added before becomes durable.
Result<void> ImportAll(ImportSource& source, const ImportOptions& options,
                       std::optional<Importing>& importing) {
  ExportReader reader;
  const Result<void> read = ImportRecords(source, reader, options, importing);
  const Result<void> finished = importing ? importing->Finish() : Result<void>();
  if (!finished.ok()) {
    return Error(finished.error()).In(options.store);
  }
  if (!read.ok() && importing) {
    fmt::print(stderr, "imported {} until then: they are in {}\n",
               Counted(importing->objects, "object"), options.store);
  }
  KVCAST_TRY_VOID(read);
  if (!reader.ended()) {
    return Error(ErrorCode::kMalformed, reader.records() == 0
                                            ? "It is no export of kvcast, or an empty one."
                                            : "It ends early. What was in it has been imported.")
        .In(source.name());
  }
  return {};
}

Result<void> RunImport(const ImportOptions& options) {
  KVCAST_TRY(ImportSource source, ImportSource::Open(options.file));
  std::optional<Importing> importing;
  KVCAST_TRY_VOID(ImportAll(source, options, importing));
  const uint64_t tracks = importing ? importing->tracks.size() : 0;
  const uint64_t objects = importing ? importing->objects : 0;
  if (options.json) {
    fmt::print("{}",
               JsonText(Json{{"tracks", tracks}, {"objects", objects}, {"store", options.store}}));
  } else {
    fmt::print("imported {}, {} into {}\n", Counted(tracks, "track"), Counted(objects, "object"),
               options.store);
  }
  return {};
}

}  // namespace

void AddStoreImportCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "import",
      "Put the tracks of an exported file into a store\n\n"
      "Takes what 'kvcast store export' wrote. A directory is made if there is none; a bucket must "
      "be there. What is there already stays, and nothing is pushed out; an object that is there "
      "with other bytes ends the import. When it is done, all of it survives a loss of power, and "
      "in a bucket the loss of this machine.\n\n"
      "A file that turns out to be damaged ends the import too: what stood before the damage has "
      "been checked and is there.\n\n"
      "Into the part of a directory that one shard of a node has, such as DIR/shard-1-of-4, goes "
      "what belongs there, and the rest is passed over: so what a node of another number of shards "
      "has kept is brought over, by importing all of it into each part.\n\n"
      "What goes into a bucket is no node's: the bytes= of none count it, and none deletes it.");
  command->footer(
      "kvcast store import tracks.kvcast DIR\n"
      "kvcast store import - DIR < tracks.kvcast\n"
      "kvcast store import tracks.kvcast s3://BUCKET/PREFIX");
  const auto options = std::make_shared<ImportOptions>();
  command->add_option("FILE", options->file, "What was exported; - is stdin")->required();
  command->add_option("STORE", options->store, "A directory, or a bucket: s3://BUCKET[/PREFIX]…")
      ->required();
  command
      ->add_option("--class", options->disk_class,
                   "What a new directory lies on: ssd, or hdd for larger segments (default: ssd)")
      ->check(CLI::IsMember({"ssd", "hdd"}))
      ->type_name("CLASS");
  command->add_flag("--json", options->json, "Print what was done as JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunImport(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
