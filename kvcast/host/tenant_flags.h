#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kvcast/base/result.h"
#include "kvcast/engine/model_folder.h"
#include "kvcast/kv/cache_track.h"
#include "kvcast/kv/prefix_chain.h"

namespace kvcast {

// The options by which a command is told whose names it uses.
struct TenantFlags {
  std::string tenant = "public";
  std::string key_file;
  std::string salt;

  // Adds them to a command; `flags` must outlive it.
  static void AddTo(CLI::App& command, TenantFlags& flags);
  // What the tenant's names are keyed with. Reads a small file, so ask before a model is hashed.
  Result<NamingKey> Key() const;
  // Where the tenant's caches of a model are.
  Result<ModelScope> ScopeOf(const ModelFolder& model) const;
  // Names blocks of the model under the tenant's key.
  Result<BlockNamer> NamerFor(const ModelFolder& model, const NamingKey& key) const;
};

}  // namespace kvcast
