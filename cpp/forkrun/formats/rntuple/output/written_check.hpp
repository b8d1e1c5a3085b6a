#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <forkrun/formats/rntuple/write/ntuple_file.hpp>

namespace forkrun::rntuple {

/// Reads a complete file back: that it has so many entries, that all of its pages have the bytes of
/// their checksums, and those that are sampled the values that they were made of. \throws
/// VerificationFailed naming file, field and page.
void check_written(const std::string& path, const std::string& ntuple, std::int64_t n_entries,
                   std::span<const WrittenPage> samples, std::size_t n_threads);

}  // namespace forkrun::rntuple
