#include <forkrun/formats/lcio/pointers.hpp>

#include <array>
#include <utility>

#include <forkrun/formats/lcio/cursor.hpp>

namespace forkrun::lcio {

namespace {

/// Follows the decoder's steps through objects, and takes only numbers of objects.
class NumberWalk {
 public:
  NumberWalk(const Members& members, Layout layout, Cursor from, const ObjectNumbers& use)
      : members_{members}, layout_{std::move(layout)}, from_{from}, use_{use} {}

  void run() {
    if (layout_.has_head_counts) {
      read_counts();
    }
    const auto n = from_.count();
    for (std::size_t i = 0; i < n; ++i) {
      run(layout_.actions);
    }
  }

 private:
  void run(std::span<const Action> actions) {
    std::byte* at = nullptr;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto& action = actions[i];
      const auto steps = actions.subspan(i + 1, action.n_steps);
      switch (action.step) {
        case Step::room: at = take(action.n); continue;  // into its steps
        case Step::kept_word: kept_ = big_endian<std::uint32_t>(at); [[fallthrough]];
        case Step::words:
          if (action.which >= 0 &&
              members_.members[static_cast<std::size_t>(action.which)].is_pointer) {
            use_.of_pointer(at);
          }
          at += std::size_t{4} * action.n;
          break;
        case Step::flag: at += 4; break;
        case Step::doubles: at += std::size_t{8} * action.n; break;
        case Step::tag:
        case Step::inner_tag:
          use_.of_object(at);
          at += 4;
          break;
        case Step::list:
        case Step::inner_list: repeat(n_items(action), steps); break;
        case Step::if_bit:
          if ((kept_ >> action.n & 1U) != 0) {
            run(steps);
          }
          break;
        case Step::shorts: (void)from_.take(padded(2 * from_.count(2))); break;
        case Step::texts: skip_texts(); break;
        case Step::three_counts: read_counts(); break;
      }
      i += action.n_steps;
    }
  }

  std::byte* take(std::size_t n) { return const_cast<std::byte*>(from_.take(n)); }  // NOLINT

  std::size_t n_items(const Action& action) {
    if (action.step == Step::list && action.count >= 0) {
      return counts_[static_cast<std::size_t>(action.count)];
    }
    return action.step == Step::list && action.n > 0 ? action.n : from_.count();
  }

  void repeat(std::size_t n, std::span<const Action> steps) {
    for (std::size_t i = 0; i < n; ++i) {
      run(steps);
    }
  }

  void skip_texts() {
    const auto n = from_.count();
    for (std::size_t i = 0; i < n; ++i) {
      (void)from_.text();
    }
  }

  void read_counts() {
    for (auto& count : counts_) {
      count = from_.word();
    }
  }

  const Members& members_;
  Layout layout_;
  Cursor from_;
  const ObjectNumbers& use_;
  std::array<std::size_t, 3> counts_{};
  std::uint32_t kept_{};
};

}  // namespace

void for_each_number(std::span<std::byte> content, ObjectType type, std::uint32_t version,
                     std::uint32_t flag, const ObjectNumbers& use) {
  NumberWalk{members_of(type), layout_of(type, version, flag), Cursor{content}, use}.run();
}

}  // namespace forkrun::lcio
