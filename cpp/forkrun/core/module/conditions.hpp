#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <forkrun/core/data/column.hpp>

namespace forkrun {

/// An array of a payload, in C order, in the memory of the payload's owner.
struct ConditionArray {
  ElementType type{};
  std::vector<std::size_t> shape;
  const void* data{};

  [[nodiscard]] std::size_t size() const;
};

/// The value of a condition in one or more IOVs.
struct ConditionPayload {
  std::map<std::string, ConditionArray> arrays{};   ///< "": the only array
  std::map<std::string, std::string> attributes{};  ///< further information
  std::string file{};                               ///< path of its file; may be empty
  std::shared_ptr<const void> owner{};              ///< owner of the arrays

  /// \throws Error naming the nearest existing name.
  [[nodiscard]] const ConditionArray& array(const std::string& name) const;
};

/// A read-only array, shared by modules: `view(i, j)`, or all `values()` in C order.
template <typename T>
class ArrayView {
 public:
  ArrayView() = default;
  /// \throws Error if it holds elements of another type.
  explicit ArrayView(const ConditionArray& array);

  [[nodiscard]] std::span<const std::size_t> shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  [[nodiscard]] std::span<const T> values() const { return values_; }
  /// One index per dimension; not checked.
  template <typename... Index>
  const T& operator()(Index... index) const {
    std::size_t place = 0;
    std::size_t axis = 0;
    ((place = place * shape_[axis++] + static_cast<std::size_t>(index)), ...);
    return values_[place];
  }
  const T& operator[](std::size_t place) const { return values_[place]; }

 private:
  std::vector<std::size_t> shape_;
  std::span<const T> values_;
};

/// Makes an object of a payload: see Construction::condition.
using MakeConditionObject = std::function<std::shared_ptr<const void>(const ConditionPayload&)>;

/// An object that modules want of each payload of a condition, shared by all that name the same
/// label, type and key.
struct ConditionObject {
  std::string label;
  std::type_index type;
  std::string key;
  MakeConditionObject make;
  std::string module{};  ///< first module that wanted it
};

/// Conditions of a job: payloads by label and number, and the payload of each IOV. Made and filled
/// in the parent, before modules are constructed. For a payload missing at the fork each child asks
/// `load` when an IOV begins.
class Conditions {
 public:
  /// Adds a missing payload.
  using Load = std::function<void(const std::string& label, std::uint32_t payload)>;

  explicit Conditions(std::uint32_t n_iovs) : n_iovs_{n_iovs} {}
  Conditions(const Conditions&) = delete;
  Conditions& operator=(const Conditions&) = delete;

  /// `payload_of`: number of the payload, by IOV.
  void add_label(const std::string& label, std::vector<std::uint32_t> payload_of);
  void add_payload(const std::string& label, std::uint32_t number, ConditionPayload payload);
  void set_load(Load load) { load_ = std::move(load); }

  /// Makes the objects of all loaded payloads. Returns the number of the object. \throws Error if
  /// there is no such label, or an object cannot be made.
  std::uint32_t consume(ConditionObject object);

  /// Before blocks of an IOV are processed: loads missing payloads, and makes their objects.
  void prepare(std::uint32_t iov);
  /// Forgets a payload and its objects. No block of its IOVs is in flight.
  void drop(const std::string& label, std::uint32_t number);

  /// Objects for an IOV, by number; null if there are none.
  [[nodiscard]] const void* const* objects_in(std::uint32_t iov) const {
    return iov < rows_.size() ? rows_[iov].data() : nullptr;
  }

 private:
  struct Label {
    std::vector<std::uint32_t> payload_of;
    std::map<std::uint32_t, ConditionPayload> payloads;
  };
  struct Consumed {
    ConditionObject object;
    std::map<std::uint32_t, std::shared_ptr<const void>> made;  ///< by payload
  };

  [[nodiscard]] Label& find(const std::string& label);
  void make(Consumed& consumed, std::uint32_t number, const ConditionPayload& payload);
  void note(std::uint32_t object, std::uint32_t payload);

  std::uint32_t n_iovs_;
  std::map<std::string, Label> labels_;
  std::vector<Consumed> consumed_;
  std::vector<std::vector<const void*>> rows_;  ///< by IOV, by object
  Load load_;
};

/// \throws Error
void check_element_type(const ConditionArray& array, ElementType wanted);

template <typename T>
ArrayView<T>::ArrayView(const ConditionArray& array) : shape_{array.shape} {
  check_element_type(array, element_type_of<T>);
  values_ = {static_cast<const T*>(array.data), array.size()};
}

}  // namespace forkrun
