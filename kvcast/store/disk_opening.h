#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kvcast/base/error.h"
#include "kvcast/base/log.h"
#include "kvcast/store/device.h"
#include "kvcast/store/disk_index.h"
#include "kvcast/store/segment_load.h"
#include "kvcast/store/segment_removals.h"
#include "kvcast/store/segment_table.h"

namespace kvcast {

// Starts a disk tier: finds the directory's files, reads what its segments say into the index, in
// the order in which they were written, and makes the superblock where there is none.
//
// Damage costs what is damaged and nothing else. Only two things end it early: a version that we do
// not know, which is left untouched, and a device that does not answer, which is asked again. A
// segment that cannot be read is read again a few times, since what it says comes before what the
// next ones say; then it is left unread.
class DiskOpening {
 public:
  // `fresh` is what a new directory becomes. Index, table and outbox must outlive this.
  DiskOpening(const Superblock& fresh, uint64_t key_property, DiskIndex& index, SegmentTable& table,
              DeviceOutbox& outbox);

  // False: not of this opening.
  bool OnCompletion(const DeviceCompletion& completion);

  bool done() const { return state_ == State::kDone; }
  // Segments could not be read: it goes on when it is told to, after a while.
  bool waits() const { return waits_; }
  void ReadAgain();
  // Of the directory as it is. REQUIRES: done().
  const Superblock& superblock() const { return superblock_; }
  // A version that we do not know.
  const std::optional<Error>& refused() const { return refused_; }
  // The device did not answer; index and table are as they were.
  const std::optional<DeviceError>& failure() const { return failure_; }
  uint64_t damaged() const { return damaged_; }
  // Those of them that are files of which hardly anything is left.
  uint64_t cut_segments() const { return cut_segments_; }
  // Those that the segments have to heed which could not be read.
  SegmentRemovals TakeRemovals() { return std::move(removals_); }

 private:
  enum class Step : uint8_t { kRemove, kCreate, kWrite, kSync };
  enum class State : uint8_t { kList, kSuperblock, kHeaders, kSegments, kWriting, kSyncing, kDone };

  void OnList(const DeviceCompletion& completion);
  void OnSuperblock(const DeviceCompletion& completion);
  // Without a superblock, the segments' headers tell whose they are.
  void AskNextHeader();
  void OnHeader(const DeviceCompletion& completion);
  void StartSegments();
  void LoadSome();
  bool MayReadAgain() const;
  void ApplyLoaded();
  void Apply(uint32_t segment, uint64_t bytes, const SegmentLoad::Outcome& outcome);
  void WriteSuperblock(Step step);
  void OnWritten(const DeviceCompletion& completion);
  // What a killed program had written is on its way; a sync that fails, or lies because an earlier
  // one failed, makes no difference to what is promised.
  void SyncFrail();
  void FinishIfSynced();

  Superblock superblock_;
  uint64_t key_property_;
  DiskIndex* index_;
  SegmentTable* table_;
  DeviceOutbox* outbox_;
  State state_ = State::kList;
  DeviceToken token_ = 0;
  std::vector<DeviceCompletion::File> files_;  // Segments, by rising number.
  size_t next_file_ = 0;
  std::deque<SegmentLoad> loads_;
  uint32_t reads_again_ = 0;
  bool waits_ = false;
  bool unread_ = false;  // There is such a segment.
  SegmentRemovals removals_;
  std::set<DeviceToken> syncs_;
  std::optional<uint64_t> superblock_bytes_;  // Of the file, if there is one.
  bool superblock_whole_ = false;
  bool second_copy_ = false;  // Of the superblock is being read.
  std::optional<DeviceError> superblock_error_;
  std::optional<DeviceError> header_error_;
  Step step_ = Step::kCreate;  // Of making a superblock.
  std::optional<Error> refused_;
  std::optional<DeviceError> failure_;
  uint64_t damaged_ = 0;
  uint64_t cut_segments_ = 0;
};

}  // namespace kvcast
