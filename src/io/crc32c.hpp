// CRC-32C (Castagnoli's polynomial, RFC 3720), one bit at a time, because it is only for short records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace croton::io {

constexpr std::uint32_t crc32c(std::span<const std::byte> bytes) {
  constexpr std::uint32_t polynomial = 0x82F63B78;  // with the lowest power in the highest bit
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? polynomial : 0);
  }
  return ~crc;
}

}  // namespace croton::io
