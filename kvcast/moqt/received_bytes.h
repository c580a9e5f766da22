#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "kvcast/moqt/receive_room.h"

namespace kvcast::moqt {

// Which rooms a session has a part in: of its peer, and of all. Null: none.
struct ReceiveRooms {
  std::shared_ptr<ReceiveRoom> peer;
  std::shared_ptr<ReceiveRoom> all;
  // What we have asked for ourselves is bounded elsewhere: it takes room, and is not held up.
  bool asked_for = false;
};

// What has come to one session, and is neither whole nor taken; and whether that is too much for
// the rooms that it shares.
class ReceivedBytes {
 public:
  ReceivedBytes() = default;
  ~ReceivedBytes() { Share({}); }
  ReceivedBytes(const ReceivedBytes&) = delete;
  ReceivedBytes& operator=(const ReceivedBytes&) = delete;

  // From now on, in place of those before.
  void Share(const ReceiveRooms& rooms) {
    Leave();
    rooms_ = {rooms.peer, rooms.all};
    asked_for_ = rooms.asked_for;
    Enter();
  }

  void Move(size_t from, size_t to) {
    const size_t before = bytes_;
    bytes_ += to - from;
    grown_ = grown_ || to > from;
    for (const std::shared_ptr<ReceiveRoom>& room : rooms_) {
      if (room != nullptr) {
        room->bytes_ += to - from;
        room->sharing_ += size_t{bytes_ > 0} - size_t{before > 0};
      }
    }
  }
  // False: the peer has too many open already.
  bool OpenStream() {
    const bool has_room = All(&ReceiveRoom::HasStream);
    ++streams_;
    for (const std::shared_ptr<ReceiveRoom>& room : rooms_) {
      if (room != nullptr) {
        ++room->streams_;
      }
    }
    return has_room;
  }
  void CloseStream() {
    --streams_;
    for (const std::shared_ptr<ReceiveRoom>& room : rooms_) {
      if (room != nullptr) {
        --room->streams_;
      }
    }
  }

  size_t bytes() const { return bytes_; }
  // The peer should be slowed down; or what it brings is to be refused.
  bool scarce() const { return HasMore(&ReceiveRoom::scarce, 2); }
  bool too_much() const { return HasMore(&ReceiveRoom::over, 1); }
  // What may come of objects that have begun, while room is scarce. As much is left for what the
  // peer may send by the credit it has.
  size_t left() const {
    size_t left = SIZE_MAX;
    for (const std::shared_ptr<ReceiveRoom>& room : rooms_) {
      left = room != nullptr && !asked_for_ ? std::min(left, room->part() / 4) : left;
    }
    return left;
  }
  // More has come since the last call, and there is no room for it.
  bool TakeWanting() {
    const bool any_over = !All([](const ReceiveRoom& room) { return !room.over(); });
    return std::exchange(grown_, false) && any_over;
  }

  // Something of it was refused, for want of room; and how often that has happened.
  void NoteRefused() { ++refused_; }
  uint64_t refused() const { return refused_; }

 private:
  template <typename Holds>
  bool All(Holds holds) const {
    return std::ranges::all_of(rooms_, [&](const std::shared_ptr<ReceiveRoom>& room) {
      return room == nullptr || std::invoke(holds, *room);
    });
  }
  bool HasMore(bool (ReceiveRoom::*is_short)() const, size_t parts) const {
    return !asked_for_ && !All([&](const ReceiveRoom& room) {
      return !(room.*is_short)() || bytes_ <= room.part() / parts;
    });
  }
  void Enter() {
    for (const std::shared_ptr<ReceiveRoom>& room : rooms_) {
      if (room != nullptr) {
        room->bytes_ += bytes_;
        room->sharing_ += size_t{bytes_ > 0};
        room->streams_ += streams_;
      }
    }
  }
  void Leave() {
    for (const std::shared_ptr<ReceiveRoom>& room : rooms_) {
      if (room != nullptr) {
        room->bytes_ -= bytes_;
        room->sharing_ -= size_t{bytes_ > 0};
        room->streams_ -= streams_;
      }
    }
  }

  std::array<std::shared_ptr<ReceiveRoom>, 2> rooms_;
  bool asked_for_ = false;
  bool grown_ = false;
  size_t bytes_ = 0;
  size_t streams_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace kvcast::moqt
