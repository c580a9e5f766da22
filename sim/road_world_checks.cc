// What must hold when an operation of a road world ends.
#include <variant>

#include "kvcast/kv/cache_track.h"
#include "sim/road_world.h"

namespace kvcast::sim {

void RoadWorld::OnPublishEnded(Seat& seat, const PublishReport& report) {
  Note("published " + std::to_string(report.listed) + " of " + std::to_string(report.blocks));
  counts_.published += report.listed;
  counts_.skipped += report.skipped;
  if (!report.fault && report.skipped + report.sent != report.blocks) {
    Violate("A publication ended well without having sent everything.");
  }
  const std::vector<BlockHash>& blocks = seat.operation->blocks;
  if (!report.fault && seat.client->Find(blocks).end_block() < report.blocks) {
    Violate("A publication ended well and is not found.");
  }
  CheckWork(seat);
  seat.operation.reset();
}

void RoadWorld::OnLoadEnded(Seat& seat, const LoadReport& report) {
  Note("loaded " + std::to_string(report.loaded()) + " of " +
       std::to_string(report.outcomes.size()));
  counts_.loaded += report.loaded();
  counts_.live += report.live;
  counts_.again += report.outcomes.size() - report.loaded();
  CheckLoad(seat, report);
  CheckWork(seat);
  seat.operation.reset();
}

// Each has one operation at a time.
void RoadWorld::CheckWork(const Seat& seat) {
  if (seat.executor->waiting() > 0) {
    Violate("Codec work outlived its operation.");
  }
}

void RoadWorld::CheckLoad(const Seat& seat, const LoadReport& report) {
  const Operation& operation = *seat.operation;
  const std::vector<BlockHash>& blocks = prompts_.blocks(operation.prompt);
  size_t told = 0;
  for (const LoadRun& run : report.runs) {
    if (run.first_block != report.first_block + told) {
      return Violate("A load does not say where a block came from.");
    }
    told += run.block_count;
    const Result<CacheTrack> track = CacheTrack::Parse(run.track);
    if (!track.ok() || !publishers_.contains(track->generation)) {
      return Violate("A block was found where nobody had published it.");
    }
    const uint64_t publisher = publishers_.at(track->generation);
    for (size_t i = 0; i < run.block_count; ++i) {
      const size_t block = run.first_block + i;
      if (block < report.first_block + report.loaded() &&
          seat.engine.Read(block) != RoadEngine::Values(publisher, blocks[block])) {
        return Violate("A loaded block is not what was published.");
      }
    }
  }
  if (told != report.loaded()) {
    return Violate("A load says of other blocks than those it loaded where they came from.");
  }
  for (size_t block = 0; block < RoadPrompts::kBlocksMax; ++block) {
    const bool inside = block >= operation.match.first_block() &&
                        block < operation.end_block.value_or(operation.match.end_block());
    if (!inside && seat.engine.Read(block) != operation.before[block]) {
      return Violate("A load touched pages outside its blocks.");
    }
  }
}

void RoadWorld::TakeEvents(Seat& seat) {
  while (std::optional<ClientEvent> event = seat.client->NextEvent()) {
    const auto* published = std::get_if<PublishEnded>(&*event);
    const auto* loaded = std::get_if<LoadEnded>(&*event);
    if (published || loaded) {
      const OperationId id = published ? published->operation : loaded->operation;
      if (!seat.operation || seat.operation->id != id || seat.operation->is_load != !published) {
        return Violate("An operation ended that was not under way.");
      }
    }
    if (published) {
      OnPublishEnded(seat, published->report);
    } else if (loaded) {
      OnLoadEnded(seat, loaded->report);
    }
  }
}

}  // namespace kvcast::sim
