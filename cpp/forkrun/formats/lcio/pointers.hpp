#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <forkrun/formats/lcio/layout.hpp>

namespace forkrun::lcio {

/// Places of object numbers in the bytes of a collection: of its objects, and of their pointers.
struct ObjectNumbers {
  std::function<void(std::byte*)> of_object;
  std::function<void(std::byte*)> of_pointer;
};

/// Scans the objects of a collection. `content`: of its block, after the parameters. \throws
/// InputError
void for_each_number(std::span<std::byte> content, ObjectType type, std::uint32_t version,
                     std::uint32_t flag, const ObjectNumbers& use);

}  // namespace forkrun::lcio
