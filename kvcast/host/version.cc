#include "kvcast/host/version.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "kvcast/io/library_versions.h"

namespace kvcast {
namespace {

std::string Compiler() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

std::string VersionReport() {
  std::string report = fmt::format("kvcast {}\n", Version());
  report += fmt::format("  build      {}, {}\n", KVCAST_BUILD_TYPE, Compiler());
  for (const LibraryVersion& library : LibraryVersions()) {
    report += fmt::format("  {:<10} {:<8} {}\n", library.name, library.version, library.purpose);
  }
  return report;
}

Json VersionJson() {
  Json libraries = Json::array();
  for (const LibraryVersion& library : LibraryVersions()) {
    libraries.push_back({{"name", std::string(library.name)},
                         {"version", std::string(library.version)},
                         {"purpose", std::string(library.purpose)}});
  }
  return {{"version", std::string(Version())},
          {"build", KVCAST_BUILD_TYPE},
          {"compiler", Compiler()},
          {"libraries", std::move(libraries)}};
}

}  // namespace kvcast
