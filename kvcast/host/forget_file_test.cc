#include "kvcast/host/forget_file.h"

#include <gtest/gtest.h>

#include "kvcast/host/admin_secret.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

TEST(ForgetFile, BringsBackWhatWasWritten) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::filesystem::path path = scratch.path() / kForgetFile;
  EXPECT_EQ(*ReadForgetFile(path), relay::ForgetMemory());
  relay::ForgetMemory memory;
  memory.lists["acme"].Add("llama", std::nullopt, 5);
  memory.lists["acme"].Add(std::nullopt, Sha256::Of("p"), 6);
  memory.followed[{"origin:4433", {std::byte{7}}, "acme"}] = ForgetList::kLastUs;
  ASSERT_TRUE(WriteForgetFile(path, memory).ok());
  EXPECT_EQ(*ReadForgetFile(path), memory);
}

// A node that went on without it would let come back what it was told to forget.
TEST(ForgetFile, RefusesWhatItCannotRead) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::filesystem::path path = scratch.path() / kForgetFile;
  for (const char* text :
       {"", "[]", "{}", R"({"lists":{"a":5},"followed":[]})",
        R"({"lists":{"a":"00"},"followed":[]})", R"({"lists":{},"followed":[{}]})",
        R"({"lists":{},"followed":[{"node":"00","at":1}]})"}) {
    ASSERT_TRUE(WriteFileAtomically(path, AsBytes(text)).ok());
    EXPECT_FALSE(ReadForgetFile(path).ok()) << text;
  }
}

TEST(AdminSecret, IsForItsOwnerAloneAndGoesWithThePort) {
  const ScratchDirectory scratch = *ScratchDirectory::Make();
  const std::string token = *DrawAdminSecret();
  EXPECT_NE(token, *DrawAdminSecret());
  ASSERT_TRUE(WriteAdminSecret(scratch.path(), token, "127.0.0.1:4480").ok());
  EXPECT_EQ(std::filesystem::status(scratch.path() / AdminSecret::kTokenFile).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_EQ(AdminSecret::Read(scratch.path())->token, token);
  EXPECT_EQ(AdminSecret::Read(scratch.path())->address, "127.0.0.1:4480");
  ASSERT_TRUE(WriteAdminSecret(scratch.path(), token, "").ok());
  EXPECT_EQ(AdminSecret::Read(scratch.path()).error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kvcast
