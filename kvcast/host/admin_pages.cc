#include "kvcast/host/admin_pages.h"

#include <utility>

namespace kvcast {

void AdminPages::Answer(const HttpRequest& request, HttpServer::Reply reply) {
  if (!pages_.contains(request.path)) {
    HttpAnswer answer{404, "text/plain; charset=utf-8", "There is no such page. There are:\n"};
    for (const auto& [path, page] : pages_) {
      answer.body += path + "\n";
    }
    reply(std::move(answer));
    return;
  }
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    std::vector<HttpServer::Reply>& waiting = waiting_[request.path];
    if (waiting.size() < kWaitingMax) {
      first = waiting.empty();
      waiting.push_back(std::move(reply));
    }  // Else the server says that the node does not answer, when it is time.
  }
  if (first) {
    loop_->Post([this, path = request.path] { Make(path); });
  }
}

void AdminPages::Make(const std::string& path) {
  const HttpAnswer answer = pages_.at(path)();
  std::vector<HttpServer::Reply> waiting;
  {
    const std::scoped_lock lock(mutex_);
    waiting = std::exchange(waiting_[path], {});
  }
  for (const HttpServer::Reply& reply : waiting) {
    reply(answer);
  }
}

}  // namespace kvcast
