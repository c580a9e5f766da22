#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kvcast/catalog/catalog_track.h"

namespace kvcast {

// How a node says who it is when a session begins: in the text by which MoQT has each side name its
// implementation, behind the program's name. A relay passes catalogs on and no greetings, so
// whoever hears one knows which of all catalogs are those of the node that it talks to.
//
//   greeting := program " node/" id, 32 hex digits of lower case
std::string NodeGreeting(std::string_view program, const NodeId& node);
// Absent: who greets so is no node, or one that does not say.
std::optional<NodeId> NodeIn(std::string_view greeting);

// Each shard of a node has catalogs of its own, under an id that differs in its last byte.
bool IsOfNode(const NodeId& writer, const NodeId& node);

}  // namespace kvcast
