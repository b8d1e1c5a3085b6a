#include <forkrun/core/module/external_work.hpp>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

ExternalWork::~ExternalWork() {
  if (waiter_ != nullptr) {
    answer(std::make_exception_ptr(Error{"its external work was destroyed without an answer"}));
  }
}

}  // namespace forkrun
