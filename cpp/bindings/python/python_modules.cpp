#include "python_modules.hpp"

#include <algorithm>
#include <functional>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/process/fork.hpp>

#include "../column_arrays.hpp"
#include "kept_memory.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

/// Python object that is released with the GIL held, on any thread.
class HeldObject {
 public:
  explicit HeldObject(py::object object) : object_{std::move(object)} {}
  // NOLINTNEXTLINE(bugprone-exception-escape): throws only if Python has gone, which ends us, too
  ~HeldObject() {
    const py::gil_scoped_acquire acquire;
    object_ = py::object{};
  }
  HeldObject(const HeldObject&) = delete;
  HeldObject& operator=(const HeldObject&) = delete;
  [[nodiscard]] const py::object& get() const { return object_; }

 private:
  py::object object_;
};

/// Message of an exception; a user's exception may even fail to give one.
std::string message_of(const py::object& exception) {
  try {
    return py::str(exception).cast<std::string>();
  } catch (const std::exception&) {
    return "(its message cannot be shown)";
  }
}

/// Prints to a child's log. On a terminal the Error is enough; so it is if the log cannot be
/// written (a full disk).
void print_traceback(const py::object& exception) {
  if (!is_child() && !is_forked_copy()) {
    return;
  }
  try {
    py::module_::import("traceback").attr("print_exception")(exception);
  } catch (const py::error_already_set&) {  // passed over: the exception itself matters
  }
}

/// The lines of the user's code that led to the exception.
std::string lines_of(const py::object& exception) {
  try {
    const auto home = py::module_::import("forkrun.base.user_code");
    return home.attr("lines_in_user_code")(exception).cast<std::string>();
  } catch (const std::exception&) {  // passed over: the exception itself matters
    return "";
  }
}

/// Exit code that Python would give for an exception that is not caught.
int exit_code_of(const py::error_already_set& error) {
  if (!error.matches(PyExc_SystemExit)) {
    return 1;
  }
  const auto code = error.value().attr("code");
  return code.is_none() ? 0 : py::isinstance<py::int_>(code) ? code.cast<int>() : 1;
}

/// A module may fork: an exception in the copy ends here.
struct CopiesEndHere {
  ~CopiesEndHere() {
    if (is_forked_copy()) {
      end_forked_copy(1);
    }
  }
};

/// Calls Python with the GIL held. A Python exception becomes an Error; its traceback goes to the
/// child's log.
void call_python(const std::function<void()>& call) {
  const py::gil_scoped_acquire acquire;
  const CopiesEndHere end;
  try {
    call();
  } catch (py::error_already_set& error) {
    const auto type = error.type().attr("__name__").cast<std::string>();
    const auto message = message_of(error.value());
    if (is_forked_copy()) {
      end_forked_copy(exit_code_of(error), type + ": " + message);
    }
    print_traceback(error.value());
    if (error.matches(py::module_::import("forkrun.errors").attr("ConfigError"))) {
      throw ScheduleError{{message}};  // It would happen again.
    }
    throw ModuleError(type + (message.empty() ? "" : ": " + message) + lines_of(error.value()));
  }
}

/// Callbacks and blocks of a Python object, for a module of any kind.
template <typename Kind>
class PythonModule : public Kind {
 public:
  PythonModule(const std::string& label, const py::object& module, PythonColumns columns)
      : kept_{std::make_shared<KeptMemory>(KeptMemory{label})},
        module_{module},
        columns_{std::move(columns)} {}

  void pre_fork() override { call_back("pre_fork"); }
  void post_fork(int child) override { call_back("post_fork", child); }
  void begin_job() override { call_back("begin_job"); }
  void end_job() override { call_back("end_job"); }

 protected:
  /// Calls `method` with the block, and `use` with the result.
  void process(const char* method, const EventBlock& block, Mask mask,
               const std::function<void(const py::object&)>& use) {
    call_python([&] {
      const KeptReading reading{kept_, block.n_events()};
      const auto given = std::make_shared<PythonBlock>(PythonBlock{&block, &columns_, mask});
      struct Guard {
        PythonBlock& block;
        ~Guard() { block = {}; }
      } const guard{*given};
      use(module_.get().attr(method)(given));
    });
  }

  [[nodiscard]] const PythonColumns& columns() const { return columns_; }

  template <typename... Arguments>
  void call_back(const char* callback, Arguments... arguments) {
    call_python([&] {
      if (py::hasattr(module_.get(), callback)) {
        module_.get().attr(callback)(arguments...);
      }
    });
  }

 private:
  std::shared_ptr<KeptMemory> kept_;
  HeldObject module_;
  PythonColumns columns_;
};

class PythonProducer : public PythonModule<Producer> {
 public:
  using PythonModule::PythonModule;

  void produce(const EventBlock& block) override { produce_left(block, {}); }
  void produce_left(const EventBlock& block, Mask left) override {
    process("produce", block, left, [&](const py::object& result) {
      if (!py::isinstance<py::dict>(result)) {
        throw Error("produce() returns a dict of columns, not " + type_name(result));
      }
      const auto arrays = py::reinterpret_borrow<py::dict>(result);
      check_names(arrays);
      for (const auto& [name, product] : columns().produced) {
        fill_column(block.mutable_column(product), arrays[py::str(name)],
                    static_cast<std::int64_t>(block.n_events()), "column \"" + name + "\"");
      }
    });
  }

 private:
  static std::string type_name(const py::object& object) {
    return py::type::of(object).attr("__name__").cast<std::string>();
  }

  void check_names(const py::dict& arrays) const {
    for (const auto& [name, product] : columns().produced) {
      if (!arrays.contains(name)) {
        throw Error("produce() did not return column \"" + name + "\"");
      }
    }
    for (const auto& [key, values] : arrays) {
      const auto name = py::str(key).cast<std::string>();
      if (std::ranges::none_of(columns().produced,
                               [&](const auto& c) { return c.first == name; })) {
        throw Error("produce() returned column \"" + name +
                    "\", which the module does not declare in `produces`");
      }
    }
  }
};

class PythonFilter : public PythonModule<Filter> {
 public:
  using PythonModule::PythonModule;

  void filter(const EventBlock& block, std::span<std::uint8_t> accept) override {
    filter_left(block, {}, accept);
  }
  void filter_left(const EventBlock& block, Mask left, std::span<std::uint8_t> accept) override {
    process("filter", block, left, [&](const py::object& result) {
      const auto mask = py::array::ensure(result);
      if (!mask || mask.ndim() != 1 || mask.dtype().kind() != 'b') {
        PyErr_Clear();
        throw Error("filter() returns one bool per event, not " +
                    py::str(py::type::of(result)).cast<std::string>() +
                    (mask ? " of " + py::str(mask.dtype()).cast<std::string>() : ""));
      }
      if (static_cast<std::size_t>(mask.size()) != accept.size()) {
        throw Error("wanted one value per event from filter(): " + std::to_string(accept.size()) +
                    ", got " + std::to_string(mask.size()));
      }
      const auto values = py::array_t<bool, py::array::c_style | py::array::forcecast>(mask);
      std::copy_n(values.data(), accept.size(), accept.begin());
    });
  }
};

class PythonAnalyzer : public PythonModule<Analyzer> {
 public:
  using PythonModule::PythonModule;

  void analyze(const EventBlock& block, Mask selected) override {
    process("analyze", block, selected, [](const py::object&) {});
  }
};

/// The same for a module with transition callbacks. It sees the conditions of the open IOV.
template <typename Kind>
class WithTransitions final : public Kind, public Transitions {
 public:
  using Kind::Kind;
  void begin_iov(std::uint32_t iov) override {
    iov_ = iov;
    call_back_in_iov("begin_iov", iov);
  }
  void end_iov(std::uint32_t iov) override { call_back_in_iov("end_iov", iov); }
  void begin_dataset(std::uint32_t dataset) override { call_back_in_iov("begin_dataset", dataset); }
  void end_dataset(std::uint32_t dataset) override { call_back_in_iov("end_dataset", dataset); }
  void begin_run(std::uint32_t run) override { call_back_in_iov("begin_run", run); }
  void end_run(std::uint32_t run) override { call_back_in_iov("end_run", run); }
  void begin_lumi(LumiId lumi) override { call_back_in_iov("begin_lumi", lumi.run, lumi.lumi); }
  void end_lumi(LumiId lumi) override { call_back_in_iov("end_lumi", lumi.run, lumi.lumi); }
  bool ends_with_commits() const override { return has_ends_; }
  /// Whether the module has one of the end callbacks.
  void set_has_ends(bool has_ends) { has_ends_ = has_ends; }

 private:
  template <typename... Arguments>
  void call_back_in_iov(const char* callback, Arguments... arguments) {
    this->call_back("enter_iov", iov_);
    this->call_back(callback, arguments...);
  }

  std::uint32_t iov_{};
  bool has_ends_ = true;
};

/// Whether the module has a transition callback whose name begins with `word`.
bool has_callbacks(const py::object& module, const std::string& word) {
  static constexpr const char* transitions[] = {"_iov", "_dataset", "_run", "_lumi"};
  return std::ranges::any_of(
      transitions, [&](const char* each) { return py::hasattr(module, (word + each).c_str()); });
}

template <typename Kind>
std::unique_ptr<Module> make(const std::string& label, const py::object& module,
                             PythonColumns columns) {
  const bool has_ends = has_callbacks(module, "end");
  if (has_ends || has_callbacks(module, "begin")) {
    auto made = std::make_unique<WithTransitions<Kind>>(label, module, std::move(columns));
    made->set_has_ends(has_ends);
    return made;
  }
  return std::make_unique<Kind>(label, module, std::move(columns));
}

PythonColumns declare(Construction& construction, const PythonDeclaration& declaration) {
  PythonColumns columns;
  const auto& random_name = declaration.random_name;
  columns.random = random_name.empty() ? construction.random() : construction.random(random_name);
  for (const auto& name : declaration.consumes) {
    columns.consumed[name] = construction.consume_any_column(name);
  }
  for (const auto& [name, type_name] : declaration.produces) {
    columns.produced.emplace_back(name,
                                  construction.produce_column(name, ColumnType::parse(type_name)));
  }
  return columns;
}

}  // namespace

std::unique_ptr<Module> make_python_module(Construction& construction, const py::object& module,
                                           const PythonDeclaration& declaration) {
  const auto& kind = declaration.kind;
  auto columns = declare(construction, declaration);
  construction.set_concurrency(Concurrency::unsafe);
  construction.set_sees_events_left();
  if (declaration.one_lumi) {
    construction.set_one_lumi();
  }
  if (kind == "producer") {
    return make<PythonProducer>(declaration.label, module, std::move(columns));
  }
  if (kind == "filter") {
    return make<PythonFilter>(declaration.label, module, std::move(columns));
  }
  if (kind == "analyzer") {
    return make<PythonAnalyzer>(declaration.label, module, std::move(columns));
  }
  throw Error("a Python module must be a producer, a filter or an analyzer, not \"" + kind + "\"");
}

}  // namespace forkrun::bindings
