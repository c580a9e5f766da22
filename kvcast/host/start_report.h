#pragma once

#include <string>

#include "kvcast/host/node_ground.h"
#include "kvcast/host/node_server.h"

namespace kvcast {

// What a client is told to find the node, and to be sure of it: HOST:PORT#FINGERPRINT.
std::string AddressOf(const NodeServer& node, const ServerCredentials& credentials);

// What `kvcast serve` says once it serves. `payloads` is what became of the memory set aside, and
// `admin` where pages for operators are, if anywhere.
std::string StartReport(const NodeGround& ground, const NodeServer& node,
                        const std::string& payloads, bool development, const std::string& admin);

}  // namespace kvcast
