#pragma once

#include <string>
#include <vector>

namespace kvcast {

// A library that changes what kvcast does or how fast, and the version of it in this process.
struct LibraryVersion {
  std::string name;
  std::string version;
  std::string purpose;
};

// Asked from the libraries that are loaded, which may be newer than those we were built with.
std::vector<LibraryVersion> LibraryVersions();

}  // namespace kvcast
