// kvcast store ls, stat, verify, export and import, on directories that a tier has written.
#include "kvcast/host/command_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/catalog/block_key.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_outcome_test.h"
#include "kvcast/host/disk_directory.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/disk_files.h"
#include "kvcast/io/driven_disk.h"
#include "kvcast/io/file.h"
#include "kvcast/io/scratch_directory.h"

namespace kvcast {
namespace {

constexpr uint64_t kSegmentBytes = 1 << 20;

TrackName CacheTrackName(std::string_view tenant) {
  return *TrackName::Of(*TrackNamespace::Of({"moq://kvcache.moq.arpa/v1/",
                                             std::string(tenant) + "/tinylm@0011223344556677",
                                             "prefix", "generation"}),
                        "BF16");
}

std::string PayloadOf(uint64_t group, uint64_t object) {
  return std::string(20000 + 100 * group, static_cast<char>('a' + object));
}

class StoreTools : public testing::Test {
 protected:
  void SetUp() override { Fill(store_); }

  static std::unique_ptr<DrivenDisk> Disk(const std::filesystem::path& path) {
    DiskTierOptions options;
    options.bytes_max = 64 * kSegmentBytes;
    options.segment_bytes = kSegmentBytes;
    options.key_property = kBlockKeyProperty;
    return *DrivenDisk::Open(path, options, std::make_unique<OldestFirst>(), {}, Log());
  }

  // Two tenants, six groups of four objects each; the last group of the second is not whole.
  static void Fill(const std::filesystem::path& path) {
    const auto disk = Disk(path);
    DiskTier& tier = disk->tier();
    for (const char* tenant : {"acme", "zoo"}) {
      const TrackName track = CacheTrackName(tenant);
      TrackFacts facts;
      facts.properties = PropertiesBuilder().Number(4, 60000).Build();
      ASSERT_TRUE(tier.Describe(track, facts, Now()).ok());
      for (uint64_t group = 0; group < 6; ++group) {
        for (uint64_t object = 0; object < 4; ++object) {
          Object put;
          put.location = {group, object};
          put.payload = Bytes::Of(PayloadOf(group, object));
          if (object == 0) {
            Digest key;
            key.bytes.fill(static_cast<std::byte>(group));
            put.properties = BlockKeyProperties(key);
          }
          ASSERT_TRUE(tier.Put(track, put, 1'700'000'000'000'000, Now()).ok());
        }
        const bool whole = group < 5 || std::string_view(tenant) == "acme";
        ASSERT_TRUE(tier.EndGroup(track, {group, whole ? uint64_t{4} : uint64_t{5}}, Now()).ok());
      }
    }
    while (!tier.idle()) {
      disk->Turn(std::chrono::seconds(1));
    }
    tier.Seal(Now());
    while (!tier.idle()) {
      disk->Turn(std::chrono::seconds(1));
    }
  }

  static std::string Contents(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::map<std::string, std::string> All(const std::filesystem::path& path) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      all[entry.path().filename().string()] = Contents(entry.path());
    }
    return all;
  }
  static void Flip(const std::filesystem::path& file, uint64_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(stream.get() ^ 4);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
  }
  static Json Listed(const std::filesystem::path& path) {
    const CommandOutcome outcome = RunKvcast({"store", "ls", path.c_str(), "--json"});
    EXPECT_EQ(outcome.status, kExitOk) << outcome.err;
    return *ParseJson(outcome.out);
  }

  const ScratchDirectory scratch_ = *ScratchDirectory::Make();
  const std::filesystem::path store_ = scratch_ / "store";
  const std::filesystem::path file_ = scratch_ / "tracks.kvcast";
};

TEST_F(StoreTools, LsTellsTracksAndGroups) {
  const CommandOutcome tracks = RunKvcast({"store", "ls", store_.c_str()});
  ASSERT_EQ(tracks.status, kExitOk) << tracks.err;
  EXPECT_NE(tracks.out.find(CacheTrackName("acme").Render() + "\n    6 groups, whole; 24 objects"),
            std::string::npos)
      << tracks.out;
  EXPECT_NE(tracks.out.find("6 groups, 5 of them whole"), std::string::npos) << tracks.out;
  EXPECT_NE(tracks.out.find("\n2 tracks, "), std::string::npos) << tracks.out;

  const std::string prefix = CacheTrackName("zoo").Render().substr(0, 45);
  const CommandOutcome groups =
      RunKvcast({"store", "ls", store_.c_str(), "--groups", "--track", prefix.c_str()});
  EXPECT_NE(groups.out.find("         5          4         82,000  no     0505"), std::string::npos)
      << groups.out;
  EXPECT_EQ(groups.out.find("acme"), std::string::npos);

  const Json json = Listed(store_);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[1]["tenant"], "acme");  // Shorter names come first.
  EXPECT_EQ(json[1]["groups"].size(), 6u);
  EXPECT_TRUE(json[1]["groups"][3]["key"].get<std::string>().starts_with("030303"));
  EXPECT_EQ(json[0]["groups"][5]["whole"], false);
  EXPECT_EQ(json[0]["largest"], Json::array({5, 3}));
}

TEST_F(StoreTools, StatCountsByTenantAndSegment) {
  const CommandOutcome outcome = RunKvcast({"store", "stat", store_.c_str()});
  ASSERT_EQ(outcome.status, kExitOk) << outcome.err;
  EXPECT_NE(outcome.out.find("groups    12, 11 of them whole"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("2023-11-14T22:13:20.000Z"), std::string::npos) << outcome.out;
  const CommandOutcome json = RunKvcast({"store", "stat", store_.c_str(), "--json"});
  const Json parsed = *ParseJson(json.out);
  EXPECT_EQ(parsed["objects"], 48);
  EXPECT_EQ(parsed["tenants"]["zoo"]["whole_groups"], 5);
  EXPECT_EQ(parsed["segments"][0]["state"], "sealed");
  EXPECT_EQ(parsed["segments"][0]["received_us"], 1'700'000'000'000'000);
}

TEST_F(StoreTools, LookingChangesNothing) {
  // Without its superblock, and with a segment that was never closed: a node would mend both.
  {
    const auto disk = Disk(store_);
    Object object;
    object.location = {7, 0};
    object.payload = Bytes::Of("open");
    ASSERT_TRUE(disk->tier().Put(CacheTrackName("acme"), object, 1, Now()).ok());
    while (!disk->tier().idle()) {
      disk->Turn(std::chrono::seconds(1));
    }
  }
  std::filesystem::remove(store_ / "superblock");
  const auto before = All(store_);
  EXPECT_EQ(Listed(store_)[1]["groups"].size(), 7u);
  RunKvcast({"store", "stat", store_.c_str()});
  RunKvcast({"store", "verify", store_.c_str()});
  RunKvcast({"store", "export", store_.c_str(), file_.c_str()});
  EXPECT_EQ(All(store_), before);
}

TEST_F(StoreTools, VerifyFindsEveryDamagedRecordAndSaysWhatItCosts) {
  const CommandOutcome whole = RunKvcast({"store", "verify", store_.c_str()});
  EXPECT_EQ(whole.status, kExitOk) << whole.out;
  EXPECT_NE(whole.out.find("damage   none"), std::string::npos) << whole.out;

  // Into the payloads of three objects of two groups, wherever they lie.
  size_t flipped = 0;
  for (const auto& [group, object] :
       std::vector<std::pair<uint64_t, uint64_t>>{{1, 0}, {1, 2}, {4, 3}}) {
    for (const auto& [name, text] : All(store_)) {
      // The first of two tenants with these bytes.
      const size_t at = text.find(PayloadOf(group, object));
      if (at != std::string::npos) {
        Flip(store_ / name, at + 10000);
        ++flipped;
        break;
      }
    }
  }
  ASSERT_EQ(flipped, 3u);
  const CommandOutcome text = RunKvcast({"store", "verify", store_.c_str()});
  EXPECT_EQ(text.status, kExitFailed);
  EXPECT_NE(text.out.find("damage   3 places"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("cost     3 objects of 2 groups, "), std::string::npos) << text.out;

  const CommandOutcome outcome = RunKvcast({"store", "verify", store_.c_str(), "--json"});
  EXPECT_EQ(outcome.status, kExitFailed);
  const Json json = *ParseJson(outcome.out);
  ASSERT_EQ(json["losses"].size(), 2u);
  EXPECT_EQ(json["losses"][0]["group"], 1);
  EXPECT_EQ(json["losses"][0]["objects"], 2);
  EXPECT_EQ(json["losses"][0]["bytes"], 2 * 20100);
  EXPECT_EQ(json["losses"][0]["was_whole"], true);
  EXPECT_EQ(json["losses"][1]["group"], 4);

  // What is damaged is not exported.
  const CommandOutcome exported = RunKvcast({"store", "export", store_.c_str(), file_.c_str()});
  EXPECT_EQ(exported.status, kExitFailed);
  EXPECT_NE(exported.err.find("3 objects could not be read"), std::string::npos) << exported.err;
}

// Without a footer nothing lists what there was but the records themselves, by their ordinals.
TEST_F(StoreTools, VerifyMissesNothingInASegmentThatWasNotClosed) {
  const std::filesystem::path path = scratch_ / "open";
  {
    const auto disk = Disk(path);
    while (!disk->tier().ready()) {
      disk->Turn(std::chrono::seconds(1));
    }
    for (uint64_t number = 0; number < 6; ++number) {
      Object object;
      object.location = {0, number};
      object.payload = Bytes::Of(PayloadOf(0, number));
      ASSERT_TRUE(disk->tier().Put(CacheTrackName("acme"), object, 1, Now()).ok());
    }
    while (!disk->tier().idle()) {
      disk->Turn(std::chrono::seconds(1));
    }
  }
  ASSERT_EQ(RunKvcast({"store", "verify", path.c_str()}).status, kExitOk);
  const std::filesystem::path segment = path / "segment-0000000000000001";
  const std::string text = Contents(segment);
  const std::string marker = text.substr(4096, 8);
  std::vector<size_t> records;
  for (size_t at = text.find(marker, 4096); at != std::string::npos;
       at = text.find(marker, at + 8)) {
    records.push_back(at);
  }
  ASSERT_EQ(records.size(), 6u);
  for (const bool named : {false, true}) {
    // The marker, the header, or the payload: only then is it known which object it was.
    for (const size_t at : named ? std::vector<size_t>{records[3] + 9000}
                                 : std::vector<size_t>{records[3], records[3] + 20, records[5]}) {
      Flip(segment, at);
      const CommandOutcome outcome = RunKvcast({"store", "verify", path.c_str(), "--json"});
      EXPECT_EQ(outcome.status, kExitFailed) << at;
      const Json json = *ParseJson(outcome.out);
      EXPECT_EQ(json["damage"].size(), 1u) << outcome.out;
      EXPECT_EQ(json["losses"].size(), named ? 1u : 0u) << outcome.out;
      EXPECT_EQ(json["nameless"], named ? 0 : 1) << outcome.out;
      const CommandOutcome told = RunKvcast({"store", "verify", path.c_str()});
      EXPECT_EQ(told.out.find("cost     nothing"), std::string::npos) << told.out;
      Flip(segment, at);
    }
  }
}

TEST_F(StoreTools, VerifySeesHeadersFootersAndSuperblock) {
  for (const auto& [file, at] : std::vector<std::pair<std::string, uint64_t>>{
           {"superblock", 20},
           {"superblock", 4096 + 20},
           {"segment-0000000000000001", 20},
           {"segment-0000000000000001", kSegmentBytes - 30},
           {"segment-0000000000000001", kSegmentBytes - 200}}) {
    Flip(store_ / file, at);
    const CommandOutcome outcome = RunKvcast({"store", "verify", store_.c_str(), "--json"});
    EXPECT_EQ(outcome.status, kExitFailed) << file << " " << at;
    EXPECT_TRUE(ParseJson(outcome.out)->at("losses").empty()) << outcome.out;
    EXPECT_EQ(ParseJson(outcome.out)->at("damage").size(), 1u) << outcome.out;
    Flip(store_ / file, at);
  }
  EXPECT_EQ(RunKvcast({"store", "verify", store_.c_str()}).status, kExitOk);
}

// Whatever sector it is: what it takes is lost, the rest can be read, and verify says all of it.
// Whatever a file system lost of a file, its header says how long it was.
TEST_F(StoreTools, VerifySeesWhatWasCutOff) {
  const std::filesystem::path segment = store_ / "segment-0000000000000001";
  const uint64_t bytes = std::filesystem::file_size(segment);
  // Everything behind the last record, a part of a record, all but the header, and more than that.
  for (const uint64_t left : {bytes - 4096, bytes / 2 + 99, uint64_t{37919}, uint64_t{8192},
                              uint64_t{4096}, uint64_t{100}}) {
    std::filesystem::resize_file(segment, left);
    const CommandOutcome outcome = RunKvcast({"store", "verify", store_.c_str(), "--json"});
    EXPECT_EQ(outcome.status, kExitFailed) << left << outcome.out;
    EXPECT_GT((*ParseJson(outcome.out))["nameless"], 0u) << left << outcome.out;
  }
}

// To nothing, even. Of the last one nobody can tell: a crash may have left it so that was making
// it.
TEST_F(StoreTools, VerifySeesASegmentOfWhichNothingIsLeft) {
  const std::filesystem::path path = scratch_ / "emptied";
  {
    const auto disk = Disk(path);
    while (!disk->tier().ready()) {
      disk->Turn(std::chrono::seconds(1));
    }
    for (uint64_t number = 0; number < 120; ++number) {
      Object object;
      object.location = {number, 0};
      object.payload = Bytes::Of(PayloadOf(number, 0));
      ASSERT_TRUE(disk->tier().Put(CacheTrackName("acme"), object, 1, Now()).ok());
      while (!disk->tier().idle()) {
        disk->Turn(std::chrono::seconds(1));
      }
    }
  }
  ASSERT_EQ(RunKvcast({"store", "verify", path.c_str()}).status, kExitOk);
  std::filesystem::resize_file(path / "segment-0000000000000001", 0);
  const CommandOutcome outcome = RunKvcast({"store", "verify", path.c_str(), "--json"});
  EXPECT_EQ(outcome.status, kExitFailed) << outcome.out;
  const Json json = *ParseJson(outcome.out);
  EXPECT_EQ(json["nameless"], 1) << outcome.out;
  EXPECT_EQ(json["damage"].size(), 1u) << outcome.out;
}

void ExpectABadSectorToCostWhatLiesInIt(const std::filesystem::path& store, bool has_footer) {
  const std::shared_ptr<DiskFiles> files = *DiskFiles::OpenToRead(store, true);
  const uint64_t blocks = kSegmentBytes / kDeviceBlockBytes;
  for (uint64_t bad = 0; bad < blocks; bad += bad < 2 ? 1 : 7) {
    SCOPED_TRACE(bad);
    const auto directory = DiskDirectory::Over([&](const DeviceRequest& request) {
      DeviceCompletion done = files->Do(request);
      const auto covers = [&](uint64_t block) {
        return request.offset <= block * kDeviceBlockBytes &&
               block * kDeviceBlockBytes < request.offset + request.length;
      };
      if (request.kind == DeviceRequest::Kind::kRead && request.file == 1 &&
          (covers(bad) || (!has_footer && covers(blocks - 1)))) {
        done.bytes = Bytes();
        done.error = DeviceError{false, "Input/output error"};
      }
      return done;
    });
    ASSERT_TRUE(directory.ok()) << directory.error().ToString();
    uint64_t lost = 0;
    for (const char* tenant : {"acme", "zoo"}) {
      for (uint64_t group = 0; group < 6; ++group) {
        for (uint64_t object = 0; object < 4; ++object) {
          const auto read = (*directory)->Read(CacheTrackName(tenant), {group, object});
          if (read.ok()) {
            EXPECT_EQ(read->object.payload.ToString(), PayloadOf(group, object));
          } else {
            ++lost;
          }
        }
      }
    }
    EXPECT_LE(lost, 2u);  // Objects of 20 KB: a sector lies in one of them, or in two.
    const StoreVerdict verdict = *(*directory)->Verify([](uint64_t, uint64_t) {});
    uint64_t told = verdict.nameless;  // Without a footer nobody knows what was there.
    for (const StoreLoss& loss : verdict.losses) {
      told += loss.objects;
    }
    EXPECT_GE(told, lost);
    EXPECT_TRUE(!has_footer || told == lost);
    EXPECT_FALSE((lost > 0 || !has_footer) && verdict.damage.empty());
  }
}

TEST_F(StoreTools, ABadSectorCostsWhatLiesInIt) {
  ExpectABadSectorToCostWhatLiesInIt(store_, true);
}

TEST_F(StoreTools, ABadSectorCostsWhatLiesInItWithoutAFooterToo) {
  ExpectABadSectorToCostWhatLiesInIt(store_, false);
}

TEST_F(StoreTools, ExportAndImportCarryEverything) {
  const std::filesystem::path other = scratch_ / "deep" / "other";
  ASSERT_EQ(RunKvcast({"store", "export", store_.c_str(), file_.c_str()}).status, kExitOk);
  const CommandOutcome imported = RunKvcast({"store", "import", file_.c_str(), other.c_str()});
  ASSERT_EQ(imported.status, kExitOk) << imported.err;
  EXPECT_NE(imported.out.find("imported 2 tracks, 48 objects"), std::string::npos) << imported.out;
  EXPECT_EQ(Listed(other), Listed(store_));
  EXPECT_EQ(RunKvcast({"store", "verify", other.c_str()}).status, kExitOk);
  const auto disk = Disk(other);
  EXPECT_EQ(disk->tier().index().object_count(), 48u);
  EXPECT_EQ(disk->tier().FindTrack(CacheTrackName("zoo"))->properties.List().front().number,
            60000u);
}

TEST_F(StoreTools, ExportAndImportTellProgramsWhatTheyDid) {
  const std::filesystem::path other = scratch_ / "other";
  const CommandOutcome exported =
      RunKvcast({"store", "export", store_.c_str(), file_.c_str(), "--json"});
  ASSERT_EQ(exported.status, kExitOk) << exported.err;
  const Json out = *ParseJson(exported.out);
  EXPECT_EQ(out["tracks"], 2);
  EXPECT_EQ(out["objects"], 48);
  EXPECT_EQ(out["bytes"], std::filesystem::file_size(file_));
  EXPECT_EQ(out["damaged"], 0);
  EXPECT_EQ(out["unlisted"], Json::array());
  const CommandOutcome imported =
      RunKvcast({"store", "import", file_.c_str(), other.c_str(), "--json"});
  ASSERT_EQ(imported.status, kExitOk) << imported.err;
  EXPECT_EQ(*ParseJson(imported.out),
            (Json{{"tracks", 2}, {"objects", 48}, {"store", other.string()}}));
}

TEST_F(StoreTools, ImportingTwiceChangesNothing) {
  const std::filesystem::path other = scratch_ / "other";
  ASSERT_EQ(RunKvcast({"store", "export", store_.c_str(), file_.c_str()}).status, kExitOk);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(RunKvcast({"store", "import", file_.c_str(), other.c_str()}).status, kExitOk);
  }
  EXPECT_EQ(Listed(other), Listed(store_));
}

TEST_F(StoreTools, ExportTakesOnlyTheTracksNamed) {
  const std::filesystem::path other = scratch_ / "other";
  const std::string prefix = CacheTrackName("zoo").Render().substr(0, 45);
  ASSERT_EQ(RunKvcast({"store", "export", store_.c_str(), file_.c_str(), "--track", prefix.c_str()})
                .status,
            kExitOk);
  ASSERT_EQ(RunKvcast({"store", "import", file_.c_str(), other.c_str()}).status, kExitOk);
  const Json json = Listed(other);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["tenant"], "zoo");
}

TEST_F(StoreTools, ACutOrForeignFileIsSaidToBeSo) {
  ASSERT_EQ(RunKvcast({"store", "export", store_.c_str(), file_.c_str()}).status, kExitOk);
  const std::filesystem::path other = scratch_ / "other";
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 100);
  const CommandOutcome cut = RunKvcast({"store", "import", file_.c_str(), other.c_str()});
  EXPECT_EQ(cut.status, kExitFailed);
  EXPECT_NE(cut.err.find("ends early"), std::string::npos) << cut.err;

  std::ofstream(file_) << std::string(10000, 'x');
  const std::filesystem::path none = scratch_ / "none";
  EXPECT_EQ(RunKvcast({"store", "import", file_.c_str(), none.c_str()}).status, kExitFailed);
  EXPECT_FALSE(std::filesystem::exists(none));
}

TEST_F(StoreTools, WhatStandsBeforeDamageIsImported) {
  ASSERT_EQ(RunKvcast({"store", "export", store_.c_str(), file_.c_str()}).status, kExitOk);
  const std::filesystem::path other = scratch_ / "other";
  const uint64_t at = std::filesystem::file_size(file_) / 2;
  Flip(file_, at);
  const CommandOutcome imported = RunKvcast({"store", "import", file_.c_str(), other.c_str()});
  EXPECT_EQ(imported.status, kExitFailed);
  const size_t byte = imported.err.find(": byte ");
  ASSERT_NE(byte, std::string::npos) << imported.err;
  const uint64_t named = std::stoull(imported.err.substr(byte + 7));
  EXPECT_LE(named, at) << imported.err;
  EXPECT_GT(named + 30'000, at) << "the record that holds it begins there";
  const auto disk = Disk(other);
  const size_t objects = disk->tier().index().object_count();
  EXPECT_GT(objects, 15u);
  EXPECT_LT(objects, 33u);
  EXPECT_NE(imported.err.find("imported " + std::to_string(objects) + " objects until then"),
            std::string::npos)
      << imported.err;
}

TEST_F(StoreTools, KeepOutWhileANodeHasTheDirectory) {
  ASSERT_EQ(RunKvcast({"store", "export", store_.c_str(), file_.c_str()}).status, kExitOk);
  const auto disk = Disk(store_);
  for (const auto& command :
       std::vector<std::vector<const char*>>{{"store", "ls", store_.c_str()},
                                             {"store", "stat", store_.c_str()},
                                             {"store", "verify", store_.c_str()},
                                             {"store", "export", store_.c_str(), file_.c_str()},
                                             {"store", "import", file_.c_str(), store_.c_str()}}) {
    const CommandOutcome outcome = RunKvcast(command);
    EXPECT_EQ(outcome.status, kExitFailed);
    EXPECT_NE(outcome.err.find("Another process uses the directory, most likely a node. Stop it "
                               "first."),
              std::string::npos)
        << outcome.err;
  }
}

TEST_F(StoreTools, RefuseAnotherVersionUntouched) {
  ASSERT_EQ(RunKvcast({"store", "export", store_.c_str(), file_.c_str()}).status, kExitOk);
  ByteWriter fields;
  fields.Write(std::string(32, '\0'));
  const std::string block = SealBlock(fields, {"kvcastD\n", 7, "directory"}).ToString();
  std::ofstream(store_ / "superblock", std::ios::binary) << block << block;
  const auto before = All(store_);
  for (const auto& command :
       std::vector<std::vector<const char*>>{{"store", "ls", store_.c_str()},
                                             {"store", "verify", store_.c_str()},
                                             {"store", "import", file_.c_str(), store_.c_str()}}) {
    const CommandOutcome outcome = RunKvcast(command);
    EXPECT_EQ(outcome.status, kExitFailed);
    EXPECT_NE(outcome.err.find("superblock: It is of version 7"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(All(store_), before);
}

TEST_F(StoreTools, SayWhereThereIsNoStore) {
  const std::filesystem::path empty = scratch_ / "empty";
  EXPECT_EQ(RunKvcast({"store", "ls", empty.c_str()}).status, kExitFailed);
  EXPECT_FALSE(std::filesystem::exists(empty));
  std::filesystem::create_directory(empty);
  const CommandOutcome outcome = RunKvcast({"store", "ls", empty.c_str()});
  EXPECT_EQ(outcome.status, kExitFailed);
  EXPECT_NE(outcome.err.find("There is no store in it"), std::string::npos) << outcome.err;
  EXPECT_EQ(RunKvcast({"store", "ls"}).status, kExitUsage);
  EXPECT_EQ(RunKvcast({"store", "import", file_.c_str()}).status, kExitUsage);
}

}  // namespace
}  // namespace kvcast
