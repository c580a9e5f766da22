#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kvcast/base/time.h"
#include "kvcast/client/track_kind.h"
#include "kvcast/client/value_outcome.h"
#include "kvcast/kv/prefix_index.h"
#include "kvcast/moqt/event.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// One batch of values under way from a node into an engine's memory. Each ends by itself: one that
// is not there, or damaged, costs no other. Values that lie side by side in a track are fetched at
// once; one that a track could not give is asked of another that is said to hold it.
//
// A piece is checked, for its value's name and length and its own bytes, before any of it is
// copied; a value is told as loaded when all its pieces are. The place of one that is not may hold
// some of them. Once over() no place is touched any more; destroying it, or Cancel(), makes it so.
class ValueLoading {
 public:
  static constexpr size_t kFetchesMax = 16;  // At a time.
  // Of one fetch, as catalogs have it: so that others come in between.
  static constexpr uint64_t kRunBytesMax = 16 * 1024 * 1024;
  // Of one value: more are not tried.
  static constexpr size_t kSourcesMax = 4;

  // REQUIRES: places of 1 to ValuePiece::kValueBytesMax bytes. The session must outlive it.
  ValueLoading(moqt::Session& session, std::vector<ValuePlace> places, Instant deadline);
  ~ValueLoading() { Cancel(); }
  ValueLoading(const ValueLoading&) = delete;
  ValueLoading& operator=(const ValueLoading&) = delete;

  // Once it is known what the node holds.
  void Start(const PrefixIndex& index, const TrackKind& kind);
  bool started() const { return started_; }

  // Events of requests that it does not own are none of its business.
  bool Owns(moqt::RequestId request) const { return fetches_.contains(request); }
  void OnEvent(const moqt::Event& event);
  void OnNodeLost() { EndAll(ValueOutcome::kNodeLost); }
  void OnTimeout(Instant now);
  void Cancel() { EndAll(ValueOutcome::kCancelled); }

  bool over() const { return open_ == 0; }
  // Absent once it is over.
  std::optional<Instant> deadline() const;
  // Of each place; pending ones are so until over().
  std::vector<ValueOutcome> Outcomes() const;

 private:
  struct Source {
    uint32_t track = 0;
    uint64_t group = 0;
    uint64_t bytes = 0;
  };
  struct Item {
    ValuePlace place;
    std::vector<Source> sources;  // That are left to be tried.
    // Why the last of those before could not give it; what it ends with if none can.
    ValueOutcome fault = ValueOutcome::kAbsent;
    ValueOutcome outcome = ValueOutcome::kPending;
  };
  // What one fetch asks for: an item for each group, one after another.
  struct Run {
    uint32_t track = 0;
    uint64_t first_group = 0;
    uint64_t bytes = 0;
    std::vector<size_t> items;
    size_t at = 0;             // The item that comes next,
    uint32_t next_object = 0;  // and which of its objects.
    bool spoilt = false;       // That item cannot be had from here.
  };
  using Fetches = std::map<moqt::RequestId, Run>;

  void StartFetches();
  Run RunFrom(size_t item, const Source& source) const;
  bool Ask(Run run);
  void Take(moqt::RequestId request);
  void OnObject(Run& run, const Object& object);
  // All groups before this one are over.
  void Advance(Run& run, uint64_t group);
  // The run's next item is as far as it comes.
  void Close(Run& run);
  // The fetch gives nothing more.
  void EndFetch(Fetches::iterator fetch, ValueOutcome rest, bool cancel);
  void Wait(size_t item);
  void StopWaiting(size_t item);
  void Lose(size_t item, uint32_t track, ValueOutcome fault);
  void End(size_t item, ValueOutcome outcome);
  void EndAll(ValueOutcome outcome);

  moqt::Session* session_;
  const Instant deadline_;
  bool started_ = false;
  std::vector<Item> items_;
  size_t open_ = 0;  // Items without an outcome.
  std::vector<TrackName> tracks_;
  std::set<size_t> waiting_;  // Items that nobody is asked for, and where they could be had.
  std::set<std::tuple<uint32_t, uint64_t, size_t>> offers_;
  Fetches fetches_;
};

}  // namespace kvcast
