#include <forkrun/formats/table/row_origins.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <forkrun/core/data/errors.hpp>

namespace forkrun::root_io {

namespace {

/// A file with a carried tree: the weight of each row, and where the rows came from.
struct File {
  std::string name;
  std::vector<OriginRows> origins;
  std::vector<std::int64_t> weights;
};

std::vector<std::int64_t> sorted_weights(const std::vector<const File*>& files) {
  std::vector<std::int64_t> all;
  for (const auto* file : files) {
    all.insert(all.end(), file->weights.begin(), file->weights.end());
  }
  std::ranges::sort(all);
  return all;
}

/// What a merge makes of files that have records of their origins.
File merged(const std::string& name, const std::vector<const File*>& files) {
  RowOrigins origins;
  File output{name, {}, {}};
  for (const auto* file : files) {
    const auto taken = origins.take_carried(file->name, file->origins);
    output.origins.insert(output.origins.end(), taken.origins.begin(), taken.origins.end());
    for (const auto& [first, last] : taken.rows) {
      output.weights.insert(output.weights.end(), file->weights.begin() + first,
                            file->weights.begin() + last);
    }
  }
  return output;
}

/// An input file of random weights; some have no rows.
File random_source(std::mt19937_64& random, std::uint64_t number) {
  File file{"source" + std::to_string(number), {}, std::vector<std::int64_t>(random() % 4)};
  std::ranges::generate(file.weights,
                        [&] { return static_cast<std::int64_t>(random() >> 20) - (1L << 43); });
  file.origins = {{{number, 7, 100}, static_cast<std::int64_t>(file.weights.size())}};
  return file;
}

std::vector<const File*> some_of(std::mt19937_64& random, const std::vector<File>& files) {
  std::vector<const File*> some;
  for (const auto& file : files) {
    if (random() % 2 == 0) {
      some.push_back(&file);
    }
  }
  std::ranges::shuffle(some, random);
  return some;
}

std::vector<const File*> all_of(const std::vector<File>& files) {
  std::vector<const File*> all;
  std::ranges::transform(files, std::back_inserter(all), [](const auto& file) { return &file; });
  return all;
}

}  // namespace

TEST(RowOrigins, OfTenThousandRandomSplitsAreTakenOnceEach) {
  std::mt19937_64 random{20};
  for (int split = 0; split < 10'000; ++split) {
    std::vector<File> sources;
    for (std::uint64_t i = 0; i < 1 + random() % 6; ++i) {
      sources.push_back(random_source(random, i));
    }
    std::vector<File> level;  // outputs of jobs, each over parts of some of the sources
    for (std::size_t job = 0; job < 1 + random() % 5; ++job) {
      level.push_back(merged("job" + std::to_string(job), some_of(random, sources)));
    }
    level.push_back(merged("all", all_of(sources)));  // so that none is missing
    for (std::size_t more = random() % 4; more > 0; --more) {
      level.push_back(merged("merge" + std::to_string(more), some_of(random, level)));
    }
    std::ranges::shuffle(level, random);
    const auto last = merged("last", all_of(level));
    const auto expected = sorted_weights(all_of(sources));
    ASSERT_EQ(sorted_weights({&last}), expected);
    ASSERT_EQ(std::accumulate(last.weights.begin(), last.weights.end(), std::int64_t{}),
              std::accumulate(expected.begin(), expected.end(), std::int64_t{}));
  }
}

TEST(RowOrigins, OfAFileThatIsNamedTwiceAreTakenTwiceUnlessTheyWereCarried) {
  const OriginRows rows{{1, 2, 3}, 5};
  RowOrigins origins;
  EXPECT_TRUE(origins.take_own("a.root", rows).is_all());
  EXPECT_TRUE(origins.take_own("a.root", rows).is_all());
  EXPECT_EQ(origins.take_carried("skim.root", {rows}).other_file, "a.root");
  RowOrigins other_way;
  EXPECT_TRUE(other_way.take_carried("skim.root", {rows}).is_all());
  EXPECT_EQ(other_way.take_own("a.root", rows).other_file, "skim.root");
}

TEST(RowOrigins, OfAFileThatAnotherProgramJoinedTwiceAreTakenOnce) {
  const Origin one{1, 0, 3};
  const Origin two{2, 0, 3};
  const auto taken = RowOrigins{}.take_carried("hadd.root", {{one, 2}, {two, 3}, {one, 2}});
  ASSERT_EQ(taken.rows.size(), 2U);
  EXPECT_EQ(taken.rows.back().first, 2);
  EXPECT_EQ(taken.rows.back().last, 5);
  EXPECT_EQ(taken.other_file, "hadd.root");
}

TEST(RowOrigins, AreNamedByUuidAndSize) {
  const auto origin = Origin::of("a210a3f8-3648-11ea-a29f-f5b55c90beef", 12);
  EXPECT_EQ(origin, (Origin{0xa210a3f8364811eaU, 0xa29ff5b55c90beefU, 12}));
  EXPECT_THROW(static_cast<void>(Origin::of("a210a3f8-3648", 12)), InputError);
  EXPECT_THROW(static_cast<void>(Origin::of("g210a3f8-3648-11ea-a29f-f5b55c90beef", 12)),
               InputError);
}

}  // namespace forkrun::root_io
