#include "kvcast/catalog/reader.h"

#include <utility>

#include "kvcast/base/planted.h"
#include "kvcast/catalog/catalog_object.h"

namespace kvcast {

void CatalogReader::Restart() {
  wanted_.object = 0;
  broken_ = false;
  missed_ = false;
  synced_ = false;
}

Result<CatalogReader::Update> CatalogReader::OnObject(Location location, const Bytes& payload) {
  if (location.group > wanted_.group) {
    wanted_.group = location.group;
    Restart();
  }
  if (location < wanted_ || broken_) {
    return Update();
  }
  if (wanted_ < location && !Planted(PlantedBug::kDeltaLost)) {
    missed_ = true;
    return Update();
  }
  Result<Update> update = Take(location, payload);
  if (update.ok()) {
    ++wanted_.object;
    missed_ = false;
    return update;
  }
  broken_ = true;
  return std::move(update).error().In("catalog object " + location.ToString());
}

Result<CatalogReader::Update> CatalogReader::Take(Location location, const Bytes& payload) {
  KVCAST_TRY(CatalogObject object, CatalogObject::Parse(payload));
  const bool snapshot_expected = !synced_;
  if (snapshot_expected != (object.kind == CatalogKind::kSnapshot)) {
    return Error(ErrorCode::kMalformed, snapshot_expected
                                            ? "An epoch begins with a snapshot; this is a delta."
                                            : "The snapshot is over; this is another part of one.")
        .At(CatalogObject::kKindAt);
  }
  if (snapshot_expected) {
    const bool first = location.object == 0;
    if (object.part != location.object || (!first && object.parts != snapshot_parts_)) {
      return Error(ErrorCode::kMalformed,
                   "Part " + std::to_string(object.part) + " of " + std::to_string(object.parts) +
                       " does not belong at object " + std::to_string(location.object) + ".")
          .At(CatalogObject::kPartAt);
    }
    snapshot_parts_ = object.parts;
    synced_ = object.part + 1 == object.parts;
  }
  Update update;
  update.restart = location.object == 0;
  update.records = std::move(object.records);
  return update;
}

}  // namespace kvcast
