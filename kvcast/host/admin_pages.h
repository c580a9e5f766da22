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
  // What comes of an order that was posted. Called on the loop's thread, for each by itself.
  using Order = std::function<HttpAnswer(const HttpRequest&)>;
  AdminPages(EventLoop& loop, std::map<std::string, Page> pages,
             std::map<std::string, Order> orders = {})
      : loop_(&loop), pages_(std::move(pages)), orders_(std::move(orders)) {}
  AdminPages(const AdminPages&) = delete;
  AdminPages& operator=(const AdminPages&) = delete;

  // Any thread. The loop must not turn once this is gone.
  void Answer(const HttpRequest& request, HttpServer::Reply reply);

  static constexpr size_t kWaitingMax = 64;  // For one page.
  static constexpr size_t kOrdersMax = 16;   // Under way.

 private:
  void Make(const std::string& path);
  void Take(const HttpRequest& request, const HttpServer::Reply& reply);

  EventLoop* loop_;
  const std::map<std::string, Page> pages_;
  const std::map<std::string, Order> orders_;
  std::mutex mutex_;
  std::map<std::string, std::vector<HttpServer::Reply>> waiting_;  // Those of pages being made.
  size_t orders_waiting_ = 0;
};

}  // namespace kvcast
