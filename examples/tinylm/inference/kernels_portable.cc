// For any processor. Slow where it has no fused multiply-add, as the library then computes one in
// many steps; but the same bits as everywhere.
#include <bit>
#include <cmath>
#include <cstdint>

#include "examples/tinylm/inference/kernel_body.h"
#include "examples/tinylm/inference/kernels.h"

namespace kvcast::tinylm {
namespace {

struct Portable {
  struct Vector {
    float lanes[kLanes];
  };
  static constexpr size_t kTileRows = 2;
  static constexpr size_t kTileVectors = 1;

  template <typename Operation>
  static Vector ForEach(Operation operation) {
    Vector vector;
    for (size_t i = 0; i < kLanes; ++i) {
      vector.lanes[i] = operation(i);
    }
    return vector;
  }
  static Vector Set(float value) {
    return ForEach([&](size_t) { return value; });
  }
  static Vector Load(const float* from) {
    return ForEach([&](size_t i) { return from[i]; });
  }
  static void Store(float* to, const Vector& vector) {
    for (size_t i = 0; i < kLanes; ++i) {
      to[i] = vector.lanes[i];
    }
  }
  static Vector Add(const Vector& a, const Vector& b) {
    return ForEach([&](size_t i) { return a.lanes[i] + b.lanes[i]; });
  }
  static Vector Subtract(const Vector& a, const Vector& b) {
    return ForEach([&](size_t i) { return a.lanes[i] - b.lanes[i]; });
  }
  static Vector Multiply(const Vector& a, const Vector& b) {
    return ForEach([&](size_t i) { return a.lanes[i] * b.lanes[i]; });
  }
  static Vector Divide(const Vector& a, const Vector& b) {
    return ForEach([&](size_t i) { return a.lanes[i] / b.lanes[i]; });
  }
  // The second operand where one is not a number, as vector registers have it.
  static Vector Max(const Vector& a, const Vector& b) {
    return ForEach([&](size_t i) { return a.lanes[i] > b.lanes[i] ? a.lanes[i] : b.lanes[i]; });
  }
  static Vector Min(const Vector& a, const Vector& b) {
    return ForEach([&](size_t i) { return a.lanes[i] < b.lanes[i] ? a.lanes[i] : b.lanes[i]; });
  }
  static Vector MultiplyAdd(const Vector& a, const Vector& b, const Vector& c) {
    return ForEach([&](size_t i) { return std::fma(a.lanes[i], b.lanes[i], c.lanes[i]); });
  }
  static Vector ShiftExponent(const Vector& vector, const Vector& count) {
    return ForEach([&](size_t i) {
      return std::bit_cast<float>(std::bit_cast<uint32_t>(vector.lanes[i]) +
                                  (std::bit_cast<uint32_t>(count.lanes[i]) << 23));
    });
  }
};

constexpr Kernels kKernels = KernelsOf<Portable>("portable");

}  // namespace

const Kernels& PortableKernels() { return kKernels; }

}  // namespace kvcast::tinylm
