#pragma once

#include <optional>
#include <vector>

#include "kvcast/catalog/catalog_track.h"
#include "kvcast/catalog/writer.h"
#include "kvcast/client/engine_memory_test.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

// What another node holds, as the one that a client is connected to passes it on.
class PassedOnCatalog {
 public:
  // `session` is the node's, and has been set up.
  PassedOnCatalog(moqt::Session& session, const NodeId& writer)
      : session_(&session),
        catalog_(*session.Publish(CatalogTrack{TestKind().scope().Namespace(), writer, {}}.Name(),
                                  {}, {})) {}

  // REQUIRES: the client has accepted the catalog.
  void List(const TrackName& track, const std::vector<BlockHash>& blocks) {
    for (size_t block = 0; block < blocks.size(); ++block) {
      (void)writer_.Add(track, block, blocks[block], 1000);
    }
    for (const Object& object : writer_.TakeObjects()) {
      if (!stream_) {
        moqt::SubgroupHeader header;
        header.group = object.location.group;
        stream_ = *session_->OpenSubgroup(catalog_, header);
      }
      (void)session_->SendObject(catalog_, *stream_, object);
    }
  }

 private:
  moqt::Session* session_;
  moqt::RequestId catalog_;
  CatalogWriter writer_;
  std::optional<moqt::StreamId> stream_;
};

}  // namespace kvcast
