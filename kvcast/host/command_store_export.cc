#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/resting_store.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"
#include "kvcast/io/human_units.h"
#include "kvcast/io/progress.h"
#include "kvcast/io/system_error.h"
#include "kvcast/store/export_stream.h"

namespace kvcast {
namespace {

struct ExportOptions {
  StoreFlags flags;
  std::string file;
};

// Where an export goes: a file that is there as a whole or not at all, or standard output.
class ExportSink {
 public:
  static Result<ExportSink> Open(const std::string& name) {
    ExportSink sink;
    if (name != "-") {
      KVCAST_TRY(FileWriter file, FileWriter::Create(name));
      sink.file_.emplace(std::move(file));
    }
    return sink;
  }

  Result<void> Write(const Bytes& bytes) {
    for (size_t i = 0; i < bytes.piece_count(); ++i) {
      KVCAST_TRY_VOID(file_ ? file_->Append(bytes.piece(i)) : WriteOut(bytes.piece(i)));
    }
    return {};
  }
  Result<void> Commit() { return file_ ? file_->Commit() : Result<void>(); }

 private:
  static Result<void> WriteOut(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR) {
        return SystemError("Cannot write to standard output", errno);
      }
      bytes = bytes.subspan(count < 0 ? 0 : static_cast<size_t>(count));
    }
    return {};
  }

  std::optional<FileWriter> file_;
};

struct Exported {
  uint64_t tracks = 0;
  uint64_t objects = 0;
  uint64_t bytes = 0;    // Of the file.
  uint64_t damaged = 0;  // Objects that were left out.
};

ExportId RandomId() {
  ExportId id;
  FillRandom(id.id.bytes);
  while (id.marker == 0) {
    FillRandom(std::as_writable_bytes(std::span(&id.marker, 1)));
  }
  return id;
}

class Exporting {
 public:
  Exporting(RestingStore& store, ExportSink& sink) : store_(&store), sink_(&sink) {}

  Result<Exported> Run(const std::string& prefix) {
    TrackWalk sizes(*store_, prefix);
    while (const auto track = sizes.Next()) {
      total_bytes_ += track->payload_bytes();
    }
    KVCAST_TRY_VOID(sink_->Write(writer_.Head()));
    TrackWalk walk(*store_, prefix);
    while (const auto track = walk.Next()) {
      KVCAST_TRY_VOID(Track(*track));
    }
    KVCAST_TRY_VOID(sink_->Write(writer_.End()));
    KVCAST_TRY_VOID(sink_->Commit());
    progress_.Done();
    exported_.bytes = writer_.bytes();
    return exported_;
  }

 private:
  Result<void> Record(const TrackName& track, RecordBody body) {
    KVCAST_TRY(const Bytes record, writer_.Record({track, std::move(body)}));
    return sink_->Write(record);
  }

  Result<void> Track(const ListedTrack& track) {
    ++exported_.tracks;
    KVCAST_TRY_VOID(Record(track.name, *store_->FindTrack(track.name)));
    for (const ListedGroup& group : track.groups) {
      KVCAST_TRY_VOID(Objects(track.name, group.group));
      if (group.facts.end) {
        KVCAST_TRY_VOID(Record(track.name, GroupEnd{group.group, *group.facts.end}));
      }
    }
    return {};
  }

  Result<void> Objects(const TrackName& track, uint64_t group) {
    auto object = store_->ObjectFrom(track, {group, 0});
    while (object) {
      auto stored = store_->Read(track, {group, *object});
      if (stored.ok()) {
        done_bytes_ += stored->object.payload.size();
        ++exported_.objects;
        KVCAST_TRY_VOID(Record(track, *std::move(stored)));
        progress_.Update(done_bytes_, total_bytes_);
      } else {
        ++exported_.damaged;
      }
      object =
          *object == UINT64_MAX ? std::nullopt : store_->ObjectFrom(track, {group, *object + 1});
    }
    return {};
  }

  RestingStore* store_;
  ExportSink* sink_;
  ExportWriter writer_{RandomId()};
  Progress progress_{"Exporting"};
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  Exported exported_;
};

// Standard output may be the export itself.
void PrintExported(const Exported& exported, const RestingStore& store,
                   const ExportOptions& options) {
  if (!options.flags.json) {
    fmt::print(stderr, "exported {}, {}: {}\n", Counted(exported.tracks, "track"),
               Counted(exported.objects, "object"), HumanBytes(exported.bytes));
    return;
  }
  Json unlisted = Json::array();
  for (const StoreDamage& one : store.Unlisted()) {
    unlisted.push_back({{"file", one.file}, {"what", one.what}});
  }
  fmt::print(options.file == "-" ? stderr : stdout, "{}",
             JsonText(Json{{"tracks", exported.tracks},
                           {"objects", exported.objects},
                           {"bytes", exported.bytes},
                           {"damaged", exported.damaged},
                           {"unlisted", std::move(unlisted)}}));
}

Result<int> RunExport(const ExportOptions& options) {
  KVCAST_TRY(const std::unique_ptr<RestingStore> store, OpenRestingStore(options.flags.store));
  KVCAST_TRY(ExportSink sink, ExportSink::Open(options.file));
  Exporting exporting(*store, sink);
  KVCAST_TRY(const Exported exported, exporting.Run(options.flags.track_prefix));
  PrintExported(exported, *store, options);
  if (exported.damaged > 0) {
    PrintProblem(Counted(exported.damaged, "object") +
                 " could not be read and left out. 'kvcast store verify' says which.");
  }
  const int listed = TellUnlisted(*store);
  return exported.damaged > 0 ? kExitFailed : listed;
}

}  // namespace

void AddStoreExportCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "export",
      "Write tracks of a store into a file that can be carried elsewhere\n\n"
      "The file holds the tracks with all that is known of them: every object with its header "
      "fields and time of receipt, ends of groups and tracks, gaps, properties. It does not depend "
      "on segments or machines, and every record in it has check sums. 'kvcast store import' "
      "takes it.\n\n"
      "What is damaged or cannot be read is left out, and the exit status is 1 then; the file is "
      "there all the same.");
  command->footer(
      "kvcast store export DIR tracks.kvcast\n"
      "kvcast store export DIR - --track moq | ssh node7 kvcast store import - DIR");
  const auto options = std::make_shared<ExportOptions>();
  AddStoreArgument(*command, options->flags);
  command->add_option("FILE", options->file, "The file to write; - is stdout")->required();
  AddTrackFlag(*command, options->flags);
  command->add_flag("--json", options->flags.json,
                    "Print what was done as JSON; to stderr where FILE is stdout");
  command->callback([options, exit_status] {
    const Result<int> result = RunExport(*options);
    *exit_status = result.ok() ? *result : Failed(result.error());
  });
}

}  // namespace kvcast
