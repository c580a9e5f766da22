#pragma once

#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kvcast/io/clock.h"
#include "kvcast/io/event_loop.h"

namespace kvcast {

// Takes values from one loop's thread to another's, in their order: what a turn of the first brings
// goes over together, and the second is woken once for whatever waits there.
//
// Belongs to the first loop's thread but for Close(), after which nothing is taken any more.
template <typename T>
class LoopBridge {
 public:
  // Called on the second loop's thread; may move from them.
  using Take = std::function<void(std::vector<T>&)>;

  LoopBridge(EventLoop& from, EventLoop& to, Take take)
      : to_(&to),
        landing_(std::make_shared<Landing>(std::move(take))),
        flush_(from, [this] { Flush(); }) {}
  LoopBridge(const LoopBridge&) = delete;
  LoopBridge& operator=(const LoopBridge&) = delete;

  // Goes over at the end of the loop's turn.
  void Send(T value) {
    if (leaving_.empty()) {
      flush_.Set(Now());
    }
    leaving_.push_back(std::move(value));
  }
  // What has not gone over yet: the last ones may still be changed.
  std::vector<T>& leaving() { return leaving_; }

  // On the second loop's thread, or when that no longer turns.
  void Close() { landing_->take = nullptr; }

 private:
  struct Landing {
    explicit Landing(Take how) : take(std::move(how)) {}
    Take take;  // The second loop's thread alone.
    std::mutex mutex;
    std::vector<T> waiting;
  };

  void Flush() {
    bool first = false;
    {
      const std::scoped_lock lock(landing_->mutex);
      first = landing_->waiting.empty();
      if (first) {
        landing_->waiting.swap(leaving_);
      } else {
        landing_->waiting.insert(landing_->waiting.end(), std::make_move_iterator(leaving_.begin()),
                                 std::make_move_iterator(leaving_.end()));
      }
    }
    leaving_.clear();
    if (first) {
      to_->Post([landing = landing_] {
        std::vector<T> taken;
        {
          const std::scoped_lock lock(landing->mutex);
          taken.swap(landing->waiting);
        }
        if (landing->take) {
          landing->take(taken);
        }
      });
    }
  }

  EventLoop* to_;
  std::shared_ptr<Landing> landing_;
  std::vector<T> leaving_;
  LoopTimer flush_;
};

}  // namespace kvcast
