#include <forkrun/core/run/announcer.hpp>

#include <limits>
#include <utility>

#include <forkrun/core/data/errors.hpp>

namespace forkrun {

std::string text_of(LumiId lumi) {
  return std::to_string(lumi.run) + ":" + std::to_string(lumi.lumi);
}

namespace {

/// `1:5, events 100…199`, or `1:5:100…1:7:20` if they are of several lumis.
std::string describe_events(const EventBlock& block) {
  const auto events = block.events();
  const auto first = text_of(block.lumis().first());
  if (events.empty()) {
    return first + ", no events";
  }
  if (events.size() == 1) {
    return first + ", event " + std::to_string(events.front());
  }
  if (block.lumis().is_one()) {
    return first + ", events " + std::to_string(events.front()) + "…" +
           std::to_string(events.back());
  }
  return first + ":" + std::to_string(events.front()) + "…" +
         text_of(block.lumi_of(events.size() - 1)) + ":" + std::to_string(events.back());
}

std::string describe_node(const Node& node) {
  switch (node.kind) {
    case NodeKind::source_column: return "reading column \"" + *node.name + "\"";
    case NodeKind::output: return "output \"" + *node.name + "\"";
    default: return "module \"" + *node.name + "\"";
  }
}

}  // namespace

std::string describe_failure(const Node& node, const EventBlock& block) {
  return describe_node(node) + " failed at " + describe_events(block);
}

Announcer::Announcer(const Schedule& schedule) {
  for (const auto& record : schedule.modules()) {
    const bool listens = record.has_transitions();
    place_of_.push_back(listens ? static_cast<std::uint32_t>(modules_.size()) : none);
    if (listens) {
      modules_.emplace_back(record);
    }
  }
}

void Announcer::end_before(const UnitOfWork* next) {
  const auto place = next == nullptr ? Place{} : Place{next->iov, next->dataset, next->lumi};
  for (auto& module : modules_) {
    module.end_before(next == nullptr ? nullptr : &place);
  }
}

void Announcer::begin(const UnitOfWork& unit) {
  unit_ = &unit;
  for (auto& module : modules_) {
    module.begin_unit(unit);
  }
}

void Announcer::end_lumis() {
  for (auto& module : modules_) {
    module.advance(*unit_, std::numeric_limits<std::size_t>::max());
  }
}

void Announcer::end_with_commit() {
  for (auto& module : modules_) {
    if (module.ends_with_commits()) {
      module.end_before(nullptr);
    }
  }
}

void Announcer::advance(std::uint32_t module, std::size_t event) {
  if (place_of_[module] != none) {
    modules_[place_of_[module]].advance(*unit_, event);
  }
}

Announcer::OfModule::OfModule(const ModuleRecord& record)
    : record_{&record},
      ends_with_commits_{dynamic_cast<const Transitions&>(*record.module).ends_with_commits()} {}

void Announcer::OfModule::end_before(const Place* next) {
  const bool same_iov = next != nullptr && iov_ == next->iov;
  const bool same_dataset = next != nullptr && dataset_ == next->dataset;
  const bool same_run = same_dataset && run_ == next->lumi.run;
  if (lumi_ && !(same_iov && same_run && lumi_ == next->lumi)) {
    const auto lumi = *std::exchange(lumi_, std::nullopt);
    call("end_lumi of " + text_of(lumi), [=](Transitions& module) { module.end_lumi(lumi); });
  }
  if (run_ && !same_run) {
    const auto run = *std::exchange(run_, std::nullopt);
    call("end_run of run " + std::to_string(run),
         [=](Transitions& module) { module.end_run(run); });
  }
  if (dataset_ && !same_dataset) {
    const auto dataset = *std::exchange(dataset_, std::nullopt);
    call("end_dataset of dataset " + std::to_string(dataset),
         [=](Transitions& module) { module.end_dataset(dataset); });
  }
  if (iov_ && !same_iov) {
    const auto iov = *std::exchange(iov_, std::nullopt);
    call("end_iov of IOV " + std::to_string(iov),
         [=](Transitions& module) { module.end_iov(iov); });
  }
}

void Announcer::OfModule::begin(const Place& place) {
  end_before(&place);
  const auto [iov, dataset, lumi] = place;
  if (!std::exchange(iov_, iov)) {
    call("begin_iov of IOV " + std::to_string(iov),
         [iov](Transitions& module) { module.begin_iov(iov); });
  }
  if (!std::exchange(dataset_, dataset)) {
    call("begin_dataset of dataset " + std::to_string(dataset),
         [dataset](Transitions& module) { module.begin_dataset(dataset); });
  }
  if (!std::exchange(run_, lumi.run)) {
    call("begin_run of run " + std::to_string(lumi.run),
         [lumi](Transitions& module) { module.begin_run(lumi.run); });
  }
  if (!std::exchange(lumi_, lumi)) {
    call("begin_lumi of " + text_of(lumi),
         [lumi](Transitions& module) { module.begin_lumi(lumi); });
  }
}

void Announcer::OfModule::begin_unit(const UnitOfWork& unit) {
  n_lumis_ = 1;
  begin({unit.iov, unit.dataset, unit.lumi});
}

void Announcer::OfModule::advance(const UnitOfWork& unit, std::size_t event) {
  while (n_lumis_ < unit.lumis.size() && unit.lumis[n_lumis_ - 1].last <= event) {
    begin({unit.iov, unit.dataset, unit.lumis[n_lumis_++].lumi});
  }
}

/// For all objects of the module.
void Announcer::OfModule::call(const std::string& name, const Callback& callback) const {
  try {
    callback(dynamic_cast<Transitions&>(*record_->module));
    for (const auto& clone : record_->clones) {
      callback(dynamic_cast<Transitions&>(*clone));
    }
  } catch (...) {
    rethrow_of_module("module \"" + record_->label + "\" failed in " + name);
  }
}

}  // namespace forkrun
