// Hashes for tables and for content addresses: XXH3, which is fast and well mixed. It is not a cryptographic
// hash: it detects damage and distinguishes contents, but it does not prevent forgery (ownership of files does,
// see base/file.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace croton::base {

/// 128 bits in big-endian order, so that the bytes on disk do not depend on the machine.
using Digest = std::array<unsigned char, 16>;

/// XXH3-64 of the bytes of a text.
inline std::uint64_t hash64(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

/// Combines `value` with `seed`: the order matters, and every bit of both reaches every bit of the result (the
/// finaliser of MurmurHash3).
inline std::uint64_t hash_combine(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t mixed = seed * 0x9e3779b97f4a7c15ULL + value;
  mixed = (mixed ^ (mixed >> 33)) * 0xff51afd7ed558ccdULL;
  mixed = (mixed ^ (mixed >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return mixed ^ (mixed >> 33);
}

/// XXH3-128 of some bytes.
inline Digest hash128(std::span<const std::byte> bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  Digest digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

/// XXH3-128 of the bytes of a text.
inline Digest hash128(std::string_view text) { return hash128(std::as_bytes(std::span(text))); }

/// 32 lower-case hexadecimal characters.
inline std::string to_hex(const Digest& digest) {
  constexpr std::string_view characters = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (unsigned char byte : digest) {
    text += characters[byte >> 4];
    text += characters[byte & 15];
  }
  return text;
}

}  // namespace croton::base
