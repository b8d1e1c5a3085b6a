#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <forkrun/formats/lcio/layout.hpp>

namespace forkrun::lcio {

/// Where numbers of objects are, in the bytes of a collection: those by which others point at its
/// objects, and those of what these point at.
struct ObjectNumbers {
  std::function<void(std::byte*)> of_object;
  std::function<void(std::byte*)> of_pointer;
};

/// Goes through the objects of a collection. `content`: of its block, behind the parameters.
/// \throws InputError
void for_each_number(std::span<std::byte> content, ObjectType type, std::uint32_t version,
                     std::uint32_t flag, const ObjectNumbers& use);

}  // namespace forkrun::lcio
