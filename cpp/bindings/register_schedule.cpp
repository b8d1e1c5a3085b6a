#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/data/nearest_name.hpp>
#include <forkrun/core/schedule/graph.hpp>
#include <forkrun/core/schedule/schedule.hpp>
#include <forkrun/fragments/fragment_output.hpp>

#include "bindings.hpp"
#include "names.hpp"
#include "python/python_modules.hpp"
#include "records.hpp"

namespace py = pybind11;

namespace forkrun::bindings {

namespace {

using Strings = std::vector<std::string>;
using Names = std::map<std::string, std::string>;

/// ScheduleBuilder for Python.
class JobScheduleBuilder {
 public:
  JobScheduleBuilder(std::vector<ColumnDescription> source_columns, std::uint64_t seed,
                     std::shared_ptr<Conditions> conditions)
      : source_columns_{std::move(source_columns)},
        builder_{source_columns_, seed, std::move(conditions)} {}

  void add_cpp_module(const std::string& label, const std::string& class_name,
                      const std::map<std::string, ParameterValue>& params,
                      const std::string& concurrency, std::uint32_t limit,
                      const std::string& instances, const Strings& resources, const Names& sees,
                      const Names& makes) {
    ConcurrencyOverride instead;
    instead.resources = resources;
    instead.limit = limit;
    if (!concurrency.empty()) {
      instead.concurrency = concurrency_of(concurrency);
    }
    if (!instances.empty()) {
      instead.instances = named<Instances>({"shared", "per_block"}, "instances", instances);
    }
    builder_.add_module({label, Parameters{label, params}, instead, {sees, makes}},
                        [&](Construction& construction) {
                          const auto factory = find_module_class(class_name);
                          if (factory == nullptr) {
                            const auto known = registered_module_classes();
                            throw Error("unknown C++ module class \"" + class_name + "\"" +
                                        nearest_name_hint(class_name, known) +
                                        "; its library may be missing in job.plugins");
                          }
                          return factory(construction);
                        });
  }

  void add_python_module(const std::string& label, const std::string& kind,
                         const py::object& module, const Strings& consumes,
                         const std::map<std::string, std::string>& produces,
                         const std::string& random_name, bool one_lumi, const Names& sees,
                         const Names& makes) {
    const PythonDeclaration declaration{
        label, kind, consumes, {produces.begin(), produces.end()}, random_name, one_lumi};
    builder_.add_module({label, Parameters{}, {}, {sees, makes}}, [&](Construction& construction) {
      return make_python_module(construction, module, declaration);
    });
  }

  void reserve_module(const std::string& label) { builder_.reserve_module(label); }

  void add_path(const std::string& name, const Strings& labels) {
    builder_.add_path({name, labels});
  }

  /// Adds an analyzer at the end of a path that notes the path's decisions for outputs.
  void add_path_decision(const std::string& label, const std::string& path) {
    builder_.add_module({label, Parameters{}}, [&](Construction& construction) {
      return std::make_unique<PathDecision>(construction, decisions_, path);
    });
  }

  /// Adds a column with the dataset number of each event's file.
  void add_dataset_column(const std::string& name, const std::vector<std::int32_t>& of_file) {
    builder_.add_module({name + " of events", Parameters{}}, [&](Construction& construction) {
      return std::make_unique<DatasetColumn>(construction, name, of_file);
    });
  }

  void add_output(const std::string& label, const Strings& paths, const Strings& branches,
                  const Strings& products, bool has_decisions) {
    builder_.add_output({label, paths, products}, [&](Construction& construction) {
      FragmentOutputConfig config{label, branches, {}, {}, {}};
      if (has_decisions) {
        config.decisions = decisions_;
      }
      for (const auto& known : {source_columns_, builder_.produced_columns()}) {
        for (const auto& column : known) {
          if (std::ranges::count(products, column.name) > 0) {
            const auto name = column.name.substr(0, column.name.find('@'));  // of any version
            config.products.push_back({name, column.type});
            config.product_numbers.push_back(construction.consume_any_column(column.name));
          }
        }
      }
      return std::make_unique<FragmentOutput>(std::move(config));
    });
  }

  [[nodiscard]] auto produced_columns() const { return builder_.produced_columns(); }
  [[nodiscard]] std::map<std::string, Strings> columns_by_module() const {
    return builder_.columns_by_module();
  }
  [[nodiscard]] std::map<std::string, std::tuple<std::string, Strings, Strings>>
  products_by_module() const {
    std::map<std::string, std::tuple<std::string, Strings, Strings>> names;
    for (const auto& [label, products] : builder_.products_by_module()) {
      names[label] = {products.kind, products.consumed, products.produced};
    }
    return names;
  }
  [[nodiscard]] Strings consumed_source_columns() const {
    return builder_.consumed_source_columns();
  }
  std::unique_ptr<Schedule> compile() { return builder_.compile(); }

 private:
  std::vector<ColumnDescription> source_columns_;
  ScheduleBuilder builder_;
  std::shared_ptr<PathDecisions> decisions_ = std::make_shared<PathDecisions>();
};

/// Content of a histogram, for Python; of one that grows, the part filled by one thread.
struct HistogramCopy {
  std::string module, name, title, storage;
  std::string memory;
  std::size_t n_bytes;
  bool is_sparse;
  std::vector<AxisDescription> axes;
  ExactSums sums;
};

std::vector<HistogramCopy> histograms(Schedule& schedule) {
  std::vector<HistogramCopy> copies;
  for (const auto& [module, histogram] : schedule.histograms()) {
    const auto* const storage =
        histogram->moments() == Moments::weights ? "weights" : "weighted means";
    for (auto& part : histogram->parts()) {
      copies.push_back({*module, histogram->name(), histogram->title(), storage,
                        std::string{name_of(histogram->memory())}, histogram->n_bytes_of_table(),
                        histogram->is_sparse(), std::move(part.axes), std::move(part.sums)});
    }
  }
  return copies;
}

py::tuple bins_of(const AxisDescription& axis) {
  if (axis.kind == AxisKind::category) {
    return axis.texts.empty() ? py::tuple{py::cast(std::vector<std::int64_t>(axis.numbers.begin(),
                                                                             axis.numbers.end()))}
                              : py::tuple{py::cast(axis.texts)};
  }
  py::tuple bins{py::cast(axis.numbers)};
  if (axis.kind == AxisKind::regular) {
    bins[0] = py::cast(axis.n_bins());
  } else if (axis.kind == AxisKind::integer) {
    return py::make_tuple(static_cast<std::int64_t>(axis.numbers[0]),
                          static_cast<std::int64_t>(axis.numbers[1]));
  }
  return bins;
}

py::typing::List<py::tuple> axes_of(const HistogramCopy& histogram) {
  constexpr std::array kinds{"regular", "variable", "integer", "category"};
  py::list axes;
  for (const auto& axis : histogram.axes) {
    axes.append(py::make_tuple(kinds.at(static_cast<std::size_t>(axis.kind)), axis.title,
                               bins_of(axis), axis.underflow, axis.overflow, axis.grows,
                               axis.n_declared));
  }
  return axes;
}

/// (module, name, kind, value). A number's value is (whole, parts, is_float), a table's these by
/// key, a list's its values. The sum of `parts` is exactly that of the floating-point numbers.
py::typing::List<py::typing::Tuple<py::str, py::str, py::str, py::object>> accumulated(
    const Schedule& schedule) {
  constexpr std::array kinds{"number", "table", "list"};
  const auto number = [](const AccumulatedNumber& sum) {
    return py::make_tuple(sum.whole, sum.parts, sum.is_float);
  };
  py::list found;
  for (const auto& [module, accumulator] : schedule.accumulators()) {
    const auto value = accumulator->value();
    py::object shown;
    if (const auto* sum = std::get_if<AccumulatedNumber>(&value)) {
      shown = number(*sum);
    } else if (const auto* table = std::get_if<AccumulatedTable>(&value)) {
      py::dict sums;
      for (const auto& [key, part] : *table) {
        sums[py::str(key)] = number(part);
      }
      shown = sums;
    } else {
      shown = py::cast(std::get<std::vector<ListedValue>>(value));
    }
    found.append(py::make_tuple(*module, accumulator->name(), kinds.at(value.index()), shown));
  }
  return found;
}

void register_histogram(py::module_& module) {
  py::class_<HistogramCopy>(
      module, "Histogram",
      R"(A histogram of a C++ module; of one that grows, the part filled by one thread. `storage`: its
sums. `memory`: their place while several threads fill it. `n_bytes`: of one table of sums. The first axis runs fastest.)")
      .def_readonly("module", &HistogramCopy::module)
      .def_readonly("name", &HistogramCopy::name)
      .def_readonly("title", &HistogramCopy::title)
      .def_readonly("storage", &HistogramCopy::storage)
      .def_readonly("memory", &HistogramCopy::memory)
      .def_readonly("n_bytes", &HistogramCopy::n_bytes)
      .def_readonly("sparse", &HistogramCopy::is_sparse)
      .def_property_readonly("axes", &axes_of)
      .def_readonly("sums", &HistogramCopy::sums);
}

/// Labels of modules and names of input columns, by node.
Strings node_labels(const Schedule& schedule) {
  Strings labels;
  for (const auto& node : schedule.graph().nodes) {
    labels.push_back(*node.name);
  }
  return labels;
}

}  // namespace

void register_schedule(py::module_& module) {
  register_histogram(module);
  py::class_<Schedule>(
      module, "Schedule",
      "A checked job: modules, paths, outputs. Made in the parent, used in the children.")
      .def("pre_fork", [](Schedule& schedule) { schedule.pre_fork(); })
      .def(
          "post_fork", [](Schedule& schedule, int child) { schedule.post_fork(child); },
          py::arg("child"))
      .def("begin_job", [](Schedule& schedule) { schedule.begin_job(); })
      .def("end_job", [](Schedule& schedule) { schedule.end_job(); })
      .def_property_readonly(
          "wants_whole_lumis",
          [](const Schedule& schedule) { return schedule.wants_whole_lumis(); },
          "a module is called with events of one lumi")
      .def(
          "wants_one_lumi",
          [](const Schedule& schedule, std::size_t n_blocks) {
            return schedule.wants_one_lumi(n_blocks);
          },
          py::arg("n_blocks"),
          R"(Whether blocks have to be of one lumi, where so many are in flight, as such a module
cannot be called with parts of a block.)")
      .def("node_labels", &node_labels,
           "Labels of modules and names of input columns, in the schedule's order.")
      .def("histograms", &histograms,
           "Histograms of the C++ modules, in booking order; a snapshot.")
      .def(
          "share_histograms",
          [](Schedule& schedule, std::size_t n_threads) { schedule.share_histograms(n_threads); },
          py::arg("n_threads"),
          "Chooses the memory of sums of analyzers that see several blocks at once.")
      .def("clear_histograms", [](Schedule& schedule) { schedule.clear_histograms(); })
      .def("accumulated", &accumulated,
           R"((module, name, kind, value) of the accumulators of C++ analyzers. Of a number
(whole, parts, is_float): whole numbers, and floats that add up to the others exactly.)")
      .def("clear_accumulators", [](Schedule& schedule) { schedule.clear_accumulators(); });
  py::class_<JobScheduleBuilder>(module, "ScheduleBuilder")
      .def(
          py::init<std::vector<ColumnDescription>, std::uint64_t, std::shared_ptr<Conditions>>(),
          py::arg("source_columns"), py::arg("seed") = 0, py::arg("conditions") = nullptr,
          R"(Name and type ("float32[]") of each column the input offers; `seed` of random numbers.)")
      .def("reserve_module", &JobScheduleBuilder::reserve_module, py::arg("label"),
           "Keeps a place for a module that is added later.")
      .def(
          "add_cpp_module", &JobScheduleBuilder::add_cpp_module, py::arg("label"),
          py::arg("class_name"), py::arg("params"), py::arg("concurrency") = "",
          py::arg("limit") = 1, py::arg("instances") = "", py::arg("resources") = Strings{},
          py::arg("sees") = Names{}, py::arg("makes") = Names{},
          R"(Empty text: the module's own. `sees`, `makes`: products with other names than the module
gives them: versions of a column.)")
      .def("add_python_module", &JobScheduleBuilder::add_python_module, py::arg("label"),
           py::arg("kind"), py::arg("module"), py::arg("consumes"), py::arg("produces"),
           py::arg("random_name") = "", py::arg("one_lumi") = false, py::arg("sees") = Names{},
           py::arg("makes") = Names{},
           R"(`module` is called with a `Block`, with `one_lumi` with a part of it for each lumi:
`produce(block) -> Mapping[str, array]`, `filter(block) -> mask`,
`analyze(block) -> None`; it may also have any of the callbacks
pre_fork(), post_fork(child), begin_job(), end_job(), begin_run(run), end_run(run),
begin_lumi(run, lumi), end_lumi(run, lumi). Its random numbers are those of `random_name`,
or of its label.)")
      .def("add_path", &JobScheduleBuilder::add_path, py::arg("name"), py::arg("labels"))
      .def("add_output", &JobScheduleBuilder::add_output, py::arg("label"), py::arg("paths"),
           py::arg("branches"), py::arg("products"), py::arg("has_decisions") = false,
           R"(`branches`: input branches to keep; `products`: new columns; `has_decisions`:
those of paths follow. Its units' files are fragments, for `make_outputs`.)")
      .def("add_path_decision", &JobScheduleBuilder::add_path_decision, py::arg("label"),
           py::arg("path"),
           "Adds an analyzer for the end of a path. Outputs with `has_decisions` are added later.")
      .def("add_dataset_column", &JobScheduleBuilder::add_dataset_column, py::arg("name"),
           py::arg("of_file"),
           "Adds a producer of a column, int32, with the value of each event's file in `of_file`.")
      .def("produced_columns", &JobScheduleBuilder::produced_columns)
      .def("columns_by_module", &JobScheduleBuilder::columns_by_module)
      .def("products_by_module", &JobScheduleBuilder::products_by_module,
           "Kind of each module, names of products that it consumes, and that it makes.")
      .def("consumed_source_columns", &JobScheduleBuilder::consumed_source_columns)
      .def("compile", &JobScheduleBuilder::compile,
           "Raises ScheduleError with every problem. The builder is empty afterwards.");
}

}  // namespace forkrun::bindings
