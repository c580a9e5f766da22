#include "kvcast/host/node_state.h"

#include <gtest/gtest.h>

#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

TEST(NodeState, IsTheSameInEveryRun) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const auto first = NodeState::Open(scratch / "a" / "b");
  ASSERT_TRUE(first.ok());
  EXPECT_NE(first->node_id(), NodeId{});
  EXPECT_EQ(NodeState::Open(scratch / "a" / "b")->node_id(), first->node_id());
  EXPECT_NE(NodeState::Open(scratch / "c")->node_id(), first->node_id());
  const auto rights = std::filesystem::status(scratch / "a" / "b").permissions();
  EXPECT_EQ(rights & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
            std::filesystem::perms::none);
}

// Drawing another id would orphan what others know of the node: a person has to decide that.
TEST(NodeState, DoesNotReplaceAnIdThatItCannotRead) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  for (const char* text : {"", "12", "zz112233445566778899aabbccddeeff", "a directory"}) {
    ASSERT_TRUE(WriteFileAtomically(scratch / NodeState::kNodeIdFile, AsBytes(text)).ok());
    EXPECT_EQ(NodeState::Open(scratch.path()).error().code(), ErrorCode::kMalformed) << text;
  }
}

}  // namespace
}  // namespace kvcast
