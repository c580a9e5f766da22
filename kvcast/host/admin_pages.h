#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "kvcast/io/event_loop.h"
#include "kvcast/io/http_server.h"

namespace kvcast {

// Pages about a node, made on its loop's thread when somebody asks for them on another. What
// crosses is the finished page.
//
// A page that is being made is made once, however many ask for it; and a loop that is stuck costs
// those who ask their patience, and the node a bounded number of replies.
class AdminPages {
 public:
  // What a page says. Called on the loop's thread.
  using Page = std::function<HttpAnswer()>;
  AdminPages(EventLoop& loop, std::map<std::string, Page> pages)
      : loop_(&loop), pages_(std::move(pages)) {}
  AdminPages(const AdminPages&) = delete;
  AdminPages& operator=(const AdminPages&) = delete;

  // Any thread. The loop must not turn once this is gone.
  void Answer(const HttpRequest& request, HttpServer::Reply reply);

  static constexpr size_t kWaitingMax = 64;  // For one page.

 private:
  void Make(const std::string& path);

  EventLoop* loop_;
  const std::map<std::string, Page> pages_;
  std::mutex mutex_;
  std::map<std::string, std::vector<HttpServer::Reply>> waiting_;  // Those of pages being made.
};

}  // namespace kvcast
