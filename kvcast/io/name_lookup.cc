#include "kvcast/io/name_lookup.h"

#include <mutex>
#include <thread>
#include <utility>

namespace kvcast {

// What the thread has in common with whoever asked, who may be gone by the time of an answer.
struct NameLookup::Question {
  std::mutex mutex;
  EventLoop* loop = nullptr;  // Null: nobody wants to know.
  std::function<void(Places)> tell;
};

NameLookup::NameLookup(EventLoop& loop, const std::string& host_and_port,
                       std::function<void(Places)> tell)
    : question_(std::make_shared<Question>()) {
  question_->loop = &loop;
  question_->tell = std::move(tell);
  std::thread([question = question_, host_and_port] {
    Places places = SocketAddress::ResolveAll(host_and_port);
    const std::lock_guard lock(question->mutex);
    if (question->loop != nullptr) {
      question->loop->Post([question, places = std::move(places)] {
        std::function<void(Places)> told;
        {
          const std::lock_guard inner(question->mutex);
          if (question->loop == nullptr) {
            return;
          }
          told = std::move(question->tell);
        }
        told(places);
      });
    }
  }).detach();
}

NameLookup::~NameLookup() {
  const std::lock_guard lock(question_->mutex);
  question_->loop = nullptr;
}

}  // namespace kvcast
