#include <forkrun/core/run/announcer.hpp>

#include <utility>

namespace forkrun {

void Announcer::end_before(const UnitOfWork* next) {
  const bool same_iov = next != nullptr && iov_ == next->iov;
  const bool same_dataset = next != nullptr && dataset_ == next->dataset;
  const bool same_run = same_dataset && run_ == next->lumi.run;
  if (lumi_ && !(same_iov && same_run && lumi_ == next->lumi)) {
    schedule_.end_lumi(*std::exchange(lumi_, std::nullopt));
  }
  if (run_ && !same_run) {
    schedule_.end_run(*std::exchange(run_, std::nullopt));
  }
  if (dataset_ && !same_dataset) {
    schedule_.end_dataset(*std::exchange(dataset_, std::nullopt));
  }
  if (iov_ && !same_iov) {
    schedule_.end_iov(*std::exchange(iov_, std::nullopt));
  }
}

void Announcer::begin(const UnitOfWork& unit) {
  end_before(&unit);
  if (!iov_) {
    iov_ = unit.iov;
    schedule_.begin_iov(unit.iov);
  }
  if (!dataset_) {
    dataset_ = unit.dataset;
    schedule_.begin_dataset(unit.dataset);
  }
  if (!run_) {
    run_ = unit.lumi.run;
    schedule_.begin_run(unit.lumi.run);
  }
  if (!lumi_) {
    lumi_ = unit.lumi;
    schedule_.begin_lumi(unit.lumi);
  }
}

}  // namespace forkrun
