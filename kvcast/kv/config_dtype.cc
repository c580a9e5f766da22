#include "kvcast/kv/config_dtype.h"

#include <optional>
#include <string>

#include "kvcast/base/json.h"
#include "kvcast/base/json_place.h"

namespace kvcast {
namespace {

struct SaidDtype {
  std::string name;
  uint64_t at = 0;
};

std::optional<SaidDtype> DtypeSaidBy(const ConfigText& part) {
  for (const char* name : {"dtype", "torch_dtype"}) {
    if (const Json* found = part.Find(name); found != nullptr && found->is_string()) {
      return SaidDtype{found->get<std::string>(), part.Place(name)};
    }
  }
  return std::nullopt;
}

Error KvIsQuantized(const std::string& where, const std::string& name) {
  return Error(ErrorCode::kInvalid, "\"" + where + "\" has \"" + name +
                                        "\", which some engines follow and others do not; say with "
                                        "--kv-dtype what this one computes KV in.");
}

Result<void> RefuseQuantizedKv(const ConfigText& part) {
  const Json* quantized = part.Find("quantization_config");
  for (const char* name : {"kv_cache_scheme", "kv_cache_quant_algo"}) {
    if (quantized == nullptr || !quantized->is_object()) {
      continue;
    }
    if (const auto found = quantized->find(name); found != quantized->end() && !found->is_null()) {
      return KvIsQuantized("quantization_config", name).At(part.Place("quantization_config"));
    }
  }
  return {};
}

}  // namespace

Result<void> CheckQuantConfig(std::string_view text) {
  KVCAST_TRY(const Json config, ParseJson(text));
  if (!config.is_object()) {
    return Error(ErrorCode::kMalformed, "A quantization's configuration is a JSON object.").At(0);
  }
  const auto quantization = config.find("quantization");
  if (quantization == config.end() || !quantization->is_object()) {
    return {};
  }
  const auto algorithm = quantization->find("kv_cache_quant_algo");
  if (algorithm == quantization->end() || algorithm->is_null()) {
    return {};
  }
  return KvIsQuantized("quantization", "kv_cache_quant_algo")
      .At(JsonPlace(text, {"quantization", "kv_cache_quant_algo"}));
}

Result<KvDtype> UsualKvDtype(const ConfigText& whole, const ConfigText& text) {
  KVCAST_TRY_VOID(RefuseQuantizedKv(whole));
  KVCAST_TRY_VOID(RefuseQuantizedKv(text));
  const std::optional<SaidDtype> first = DtypeSaidBy(whole);
  const std::optional<SaidDtype> second = DtypeSaidBy(text);
  if (!first && !second) {
    return Error(ErrorCode::kInvalid,
                 "It does not say what the model computes in, neither as \"torch_dtype\" nor as "
                 "\"dtype\"; say it with --kv-dtype.")
        .At(0);
  }
  if (first && second && first->name != second->name) {
    return Error(ErrorCode::kInvalid,
                 "It says two things about what the model computes in, one here and another in its "
                 "text part; say with --kv-dtype which it is.")
        .At(first->at);
  }
  const SaidDtype& said = first ? *first : *second;
  Result<KvDtype> dtype = KvDtypeOf(said.name);
  if (!dtype.ok()) {
    return std::move(dtype).error().At(said.at);
  }
  return dtype;
}

}  // namespace kvcast
