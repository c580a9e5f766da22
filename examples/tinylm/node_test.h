#pragma once

#include <memory>
#include <string>

namespace kvcast::tinylm {

// A node in this process, for a test. What a node is made of is not for an engine's eyes.
class NodeForTest {
 public:
  NodeForTest();
  ~NodeForTest();

  // As 'kvcast serve' says it.
  std::string address() const;
  void Stop();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace kvcast::tinylm
