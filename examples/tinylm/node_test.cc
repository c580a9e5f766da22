#include "examples/tinylm/node_test.h"

#include "kvcast/host/local_node_test.h"

namespace kvcast::tinylm {

struct NodeForTest::Inside {
  LocalNode node;
};

NodeForTest::NodeForTest() : inside_(std::make_unique<Inside>()) {}
NodeForTest::~NodeForTest() = default;
std::string NodeForTest::address() const { return inside_->node.flag(); }
void NodeForTest::Stop() { inside_->node.Stop(); }

}  // namespace kvcast::tinylm
