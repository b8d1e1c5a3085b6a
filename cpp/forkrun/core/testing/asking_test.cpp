// Modules that ask for products while they run: what they get wrong is an error with a name, and
// chains of them may be long.

#include <gtest/gtest.h>

#include <pthread.h>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <thread>

#include <forkrun/core/data/errors.hpp>
#include <forkrun/core/testing/processor_fixture.hpp>

namespace forkrun::testing {
namespace {

using testing::FunctionAnalyzer;
using testing::FunctionCoroutineProducer;
using testing::FunctionProducer;
using Strings = std::vector<std::string>;

// What the compiler refuses.

template <typename Block, typename Handle>
using Got = decltype(std::declval<const Block&>().get(std::declval<Handle>()));

template <typename Awaitable>
concept CanBeAwaited = requires(Coroutine::Promise promise, Awaitable awaitable) {
  promise.await_transform(awaitable);
};

static_assert(std::convertible_to<Got<EventBlock, LazyInput<int>>, const int&>);
static_assert(!std::convertible_to<Got<CoroutineBlock, LazyInput<int>>, const int&>,
              "a co_await that was forgotten");
static_assert(!std::convertible_to<Got<CoroutineBlock, LazyScalarInput<float>>, ScalarView<float>>);
static_assert(std::same_as<Got<CoroutineBlock, Input<int>>, const int&>);
static_assert(std::same_as<Got<CoroutineBlock, JaggedInput<float>>, JaggedView<float>>);
static_assert(CanBeAwaited<Got<CoroutineBlock, LazyInput<int>>>);
static_assert(!CanBeAwaited<Got<EventBlock, LazyInput<int>>>);
static_assert(!CanBeAwaited<std::suspend_always>, "nobody would resume the coroutine");

class AskingTest : public ProcessorTest {
 protected:
  void maker() {
    builder.add_module({"maker", {}}, [](Construction& construction) {
      const auto output = construction.produces<int>("hits");
      return std::make_unique<FunctionProducer>(
          [output](const EventBlock& block) { block.make(output) = 7; });
    });
  }

  /// An analyzer that consumes `product`, so that it is made.
  void needs(const std::string& product) {
    builder.add_module({"needs_" + product, {}}, [&](Construction& construction) {
      const auto input = construction.consumes<int>(product);
      return std::make_unique<FunctionAnalyzer>(
          [this, input](const EventBlock& block, Mask) { found = block.get(input); });
    });
  }

  /// A module "fit" that may consume "hits"; `body` makes of its block what it produces.
  using Body = std::function<int(const EventBlock&, LazyInput<int>)>;
  void asks(Body body) {
    maker();
    builder.add_module({"fit", {}}, [&](Construction& construction) {
      const auto hits = construction.may_consume<int>("hits");
      const auto output = construction.produces<int>("tracks");
      return std::make_unique<FunctionProducer>(
          [=](const EventBlock& block) { block.make(output) = body(block, hits); });
    });
    needs("tracks");
  }

  std::string error() { return error_of<Error>(unit_of(0, 20)); }

  int found{};
};

const std::string cannot_wait =
    "module \"fit\" asks for product \"hits\" where it cannot wait for it: only the thread that "
    "calls its produce(), filter() or analyze() can, in that call and for its block.";

TEST_P(AskingTest, a_get_in_a_thread_of_the_modules_own_is_an_error) {
  asks([](const EventBlock& block, LazyInput<int> hits) {
    std::exception_ptr failure;
    std::thread own{[&] {
      try {
        [[maybe_unused]] const int& value = block.get(hits);
      } catch (...) {
        failure = std::current_exception();
      }
    }};
    own.join();
    std::rethrow_exception(failure);
    return 0;
  });
  EXPECT_NE(error().find(cannot_wait), std::string::npos) << error();
}

TEST_P(AskingTest, a_get_in_a_coroutine_without_co_await_is_an_error_where_types_do_not_show_it) {
  maker();
  builder.add_module({"fit", {}}, [](Construction& construction) {
    const auto hits = construction.may_consume<int>("hits");
    const auto output = construction.produces<int>("tracks");
    return std::make_unique<FunctionCoroutineProducer>(
        [=](const CoroutineBlock& block) -> Coroutine {
          const EventBlock& plain = block;
          const int& value = plain.get(hits);
          block.make(output) = value;
          co_return;
        });
  });
  needs("tracks");
  EXPECT_NE(error().find("module \"fit\" asks for product \"hits\" without co_await"),
            std::string::npos);
}

TEST_P(AskingTest, a_handle_of_another_module_is_an_error) {
  LazyInput<int> of_other;
  maker();
  builder.add_module({"other", {}}, [&](Construction& construction) {
    of_other = construction.may_consume<int>("hits");
    construction.produces<int>("unneeded");
    return std::make_unique<FunctionProducer>([](const EventBlock&) {});
  });
  builder.add_module({"fit", {}}, [&](Construction& construction) {
    construction.may_consume<int>("hits");
    const auto output = construction.produces<int>("tracks");
    return std::make_unique<FunctionProducer>([=, &of_other](const EventBlock& block) {
      const int& value = block.get(of_other);
      block.make(output) = value;
    });
  });
  needs("tracks");
  EXPECT_NE(error().find("module \"fit\" failed at 1:1"), std::string::npos);
  EXPECT_NE(error().find("asks for product \"hits\" where it cannot wait for it"),
            std::string::npos);
}

TEST_P(AskingTest, a_handle_that_construction_has_not_given_is_an_error) {
  std::atomic<int> n_asked = 0;  // several blocks ask at a time
  asks([&n_asked](const EventBlock& block, LazyInput<int>) -> int {
    switch (n_asked++) {
      case 0: return block.get(Input<int>{});
      case 1: return block.make(Output<int>{});
      case 2: return static_cast<int>(block.get(ScalarInput<float>{}).size());
      case 3: return block.condition(ConditionInput<int>{});
      default: return block.get(LazyInput<int>{});
    }
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(error().find("module \"fit\" failed at 1:1"), std::string::npos) << i;
    EXPECT_NE(error().find("a handle is not from Construction"), std::string::npos);
  }
}

TEST_P(AskingTest, a_get_of_a_product_that_nobody_needs_is_an_error) {
  Input<int> of_other;
  builder.add_module({"other", {}}, [&](Construction& construction) {
    of_other = {construction.produces<int>("unneeded").product};
    return std::make_unique<FunctionProducer>([](const EventBlock&) {});
  });
  asks([&](const EventBlock& block, LazyInput<int>) { return block.get(of_other); });
  EXPECT_NE(error().find("product \"unneeded\" is used with a handle of another module"),
            std::string::npos);
}

/// Asks while it has its work done outside.
class AsksInAcquire final : public Producer, public External {
 public:
  explicit AsksInAcquire(Construction& construction)
      : hits_{construction.may_consume<int>("hits")}, out_{construction.produces<int>("tracks")} {}
  void acquire(const EventBlock& block, ExternalWork work) override {
    const int& hits = block.get(hits_);
    (void)hits;
    work.done();
    work.done();  // Once is enough, twice does not hurt.
  }
  void produce(const EventBlock& block) override { block.make(out_) = 1; }

 private:
  LazyInput<int> hits_;
  Output<int> out_;
};

TEST_P(AskingTest, a_get_while_work_outside_is_begun_is_an_error) {
  maker();
  builder.add_module({"fit", {}}, [](Construction& construction) {
    return std::make_unique<AsksInAcquire>(construction);
  });
  needs("tracks");
  EXPECT_NE(error().find(cannot_wait), std::string::npos);
}

TEST_P(AskingTest, a_coroutine_that_is_none_is_an_error) {
  builder.add_module({"fit", {}}, [](Construction& construction) {
    construction.produces<int>("tracks");
    return std::make_unique<FunctionCoroutineProducer>(
        [](const CoroutineBlock&) { return Coroutine{}; });
  });
  needs("tracks");
  EXPECT_NE(error().find("it returned an empty Coroutine"), std::string::npos);
}

/// Keeps its Construction, and uses it for its blocks.
class Late final : public Producer {
 public:
  explicit Late(Construction& construction) : construction_{construction} {
    construction.produces<int>("tracks");
  }
  void produce(const EventBlock&) override { construction_.consumes<int>("hits"); }

 private:
  Construction& construction_;
};

TEST_P(AskingTest, what_is_declared_after_the_constructor_is_an_error) {
  builder.add_module({"late", {}}, [](Construction& construction) {
    return std::make_unique<Late>(construction);
  });
  needs("tracks");
  EXPECT_NE(error().find("module \"late\" uses its Construction after its constructor"),
            std::string::npos);
}

// Long chains.

enum class Way : std::uint8_t { before, asks, coroutine };

#ifdef __SANITIZE_THREAD__
// The thread sanitizer records at most 65,536 calls that are under way.
constexpr int long_chain = 3'000;
constexpr int very_long_chain = 3'000;
#else
constexpr int long_chain = 10'000;
constexpr int very_long_chain = 100'000;
#endif

class ChainTest : public AskingTest {
 protected:
  /// Module i adds 1 to what module i - 1 makes.
  void chain(int n_modules, Way way, std::size_t frame_bytes = 0) {
    builder = ScheduleBuilder{MemorySource::description()};
    builder.add_module({"m0", {}}, [](Construction& construction) {
      const auto output = construction.produces<int>("p0");
      return std::make_unique<FunctionProducer>(
          [output](const EventBlock& block) { block.make(output) = 1; });
    });
    for (int i = 1; i < n_modules; ++i) {
      builder.add_module({"m" + std::to_string(i), {}}, [&](Construction& construction) {
        return link(construction, "p" + std::to_string(i - 1), "p" + std::to_string(i), way,
                    frame_bytes);
      });
    }
    needs("p" + std::to_string(n_modules - 1));
  }

  static std::unique_ptr<Module> link(Construction& construction, const std::string& from,
                                      const std::string& to, Way way, std::size_t frame_bytes) {
    const auto output = construction.produces<int>(to);
    if (way == Way::before) {
      const auto input = construction.consumes<int>(from);
      return std::make_unique<FunctionProducer>(
          [=](const EventBlock& block) { block.make(output) = block.get(input) + 1; });
    }
    const auto lazy = construction.may_consume<int>(from);
    if (way == Way::coroutine) {
      return std::make_unique<FunctionCoroutineProducer>(
          [=](const CoroutineBlock& block) -> Coroutine {
            const int& value = co_await block.get(lazy);
            block.make(output) = value + 1;
          });
    }
    return std::make_unique<FunctionProducer>([=](const EventBlock& block) {
      auto* const frame = static_cast<volatile char*>(__builtin_alloca(frame_bytes + 1));
      frame[0] = 1;
      frame[frame_bytes] = 1;
      const int& value = block.get(lazy);
      block.make(output) = value + frame[0];
    });
  }

  int value_of_chain(int n_modules, Way way, std::size_t frame_bytes = 0) {
    chain(n_modules, way, frame_bytes);
    found = 0;
    schedule = builder.compile();
    Processor runs{*schedule, source, GetParam(), &status};
    runs.process(unit_of(0, 1), {});
    return found;
  }
};

TEST_P(ChainTest, modules_that_wait_for_each_other_go_on_where_there_is_stack) {
  EXPECT_EQ(value_of_chain(long_chain, Way::asks), long_chain);
}

TEST_P(ChainTest, modules_with_large_frames_do_too) {
  EXPECT_EQ(value_of_chain(3'000, Way::asks, 40'000), 3'000);
}

TEST_P(ChainTest, coroutines_that_await_each_other_do_too) {
  EXPECT_EQ(value_of_chain(long_chain, Way::coroutine), long_chain);
}

TEST_P(ChainTest, modules_that_consume_what_the_one_before_makes_need_no_stack) {
  EXPECT_EQ(value_of_chain(long_chain, Way::before), long_chain);
}

TEST_P(ChainTest, where_there_is_no_more_stack_the_error_names_module_and_remedy) {
  constexpr std::size_t frame_bytes = 900'000;  // Sixteen of them fill a fresh stack.
  chain(1'500, Way::asks, frame_bytes);
  const auto text = error_of<Error>(unit_of(0, 1));
  EXPECT_NE(text.find(" asks for product \"p"), std::string::npos) << text;
  EXPECT_NE(text.find("at the end of a chain of modules that wait for each other"),
            std::string::npos);
  EXPECT_NE(text.find("declare what they need with consumes()"), std::string::npos);
}

/// On a thread with a stack of 128 KiB, which executors' threads have after `ulimit -s 128`.
TEST_P(ChainTest, small_stacks_of_threads_are_enough) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a thread needs more than that for the thread sanitizer's own data";
#endif
  pthread_attr_t attributes{};
  ASSERT_EQ(::pthread_attr_init(&attributes), 0);
  std::size_t default_bytes = 0;
  ASSERT_EQ(::pthread_getattr_default_np(&attributes), 0);
  ASSERT_EQ(::pthread_attr_getstacksize(&attributes, &default_bytes), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&attributes, 128 << 10), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&attributes), 0);
  int value = 0;
  std::thread small{[&] { value = value_of_chain(long_chain, Way::asks); }};
  small.join();
  ASSERT_EQ(::pthread_attr_setstacksize(&attributes, default_bytes), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&attributes), 0);
  ::pthread_attr_destroy(&attributes);
  EXPECT_EQ(value, long_chain);
}

INSTANTIATE_TEST_SUITE_P(Executors, AskingTest, all_executors, name_of);
INSTANTIATE_TEST_SUITE_P(Executors, ChainTest,
                         ::testing::ValuesIn(std::vector<ProcessorConfig>{
                             {ExecutorKind::serial, 1, 1, 0},
                             {ExecutorKind::serial, 1, 1, 0, true},
                             {ExecutorKind::tbb, 2, 2, 0},
                             {ExecutorKind::tbb, 3, 1, 0, true},
                             {ExecutorKind::tbb, 3, 2, 0}}),
                         name_of);

/// So that it is made once with calls of the block and once with tasks only, recorded.
class LongChainTest : public ChainTest {};

TEST_P(LongChainTest, a_hundred_thousand_modules_wait_for_each_other) {
  EXPECT_EQ(value_of_chain(very_long_chain, Way::asks), very_long_chain);
}

ProcessorConfig recorded(ProcessorConfig config) {
  config.records = true;
  return config;
}

INSTANTIATE_TEST_SUITE_P(Executors, LongChainTest,
                         ::testing::Values(ProcessorConfig{ExecutorKind::serial, 1, 1, 0},
                                           recorded(ProcessorConfig{ExecutorKind::tbb, 2, 1, 0,
                                                                    true})),
                         name_of);

}  // namespace
}  // namespace forkrun::testing
