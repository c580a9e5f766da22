#include "kvcast/host/admin_pages.h"

#include <utility>

namespace kvcast {

void AdminPages::Answer(const HttpRequest& request, HttpServer::Reply reply) {
  const bool is_post = request.method == "POST";
  if (is_post && orders_.contains(request.path)) {
    Take(request, reply);
    return;
  }
  if (is_post && pages_.contains(request.path)) {
    reply({405, "text/plain; charset=utf-8", "This page can only be read.\n", "GET, HEAD"});
    return;
  }
  if (orders_.contains(request.path)) {
    reply({405, "text/plain; charset=utf-8", "This is an order, which is posted.\n", "POST"});
    return;
  }
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

void AdminPages::Take(const HttpRequest& request, const HttpServer::Reply& reply) {
  {
    const std::scoped_lock lock(mutex_);
    if (orders_waiting_ >= kOrdersMax) {
      reply({503, "text/plain; charset=utf-8", "Too much is asked of the node at once.\n"});
      return;
    }
    ++orders_waiting_;
  }
  loop_->Post([this, request, reply] {
    reply(orders_.at(request.path)(request));
    const std::scoped_lock lock(mutex_);
    --orders_waiting_;
  });
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
