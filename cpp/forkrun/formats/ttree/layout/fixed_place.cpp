#include <forkrun/formats/ttree/layout/value_form.hpp>

namespace forkrun::root_io {

using Kind = ValueForm::Kind;

std::size_t fixed_size(const ValueForm& form) {
  switch (form.kind) {
    case Kind::number: return form.n_items() * size_of(form.element);
    case Kind::packed: return form.n_items() * form.packing.n_bytes();
    default: return 0;
  }
}

std::optional<FixedPlace> fixed_place(const EntryForm& form) {
  const auto& object = *form.value;
  if (form.is_of_many || object.kind != Kind::object || object.has_header) {
    return {};
  }
  FixedPlace place;
  for (std::size_t number = 0; number < object.within.size(); ++number) {
    const auto n_bytes = fixed_size(object.within[number]);
    const bool is_wanted = number == form.path.front();
    if (n_bytes == 0 || (is_wanted && object.within[number].kind != Kind::number)) {
      return {};
    }
    if (is_wanted) {
      place.offset = place.n_entry_bytes;
      place.n_bytes = n_bytes;
    }
    place.n_entry_bytes += n_bytes;
  }
  return place;
}

}  // namespace forkrun::root_io
