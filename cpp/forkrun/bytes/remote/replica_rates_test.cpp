#include <forkrun/bytes/remote/replica_rates.hpp>

#include <gtest/gtest.h>

namespace forkrun {

TEST(ReplicaRates, ReadersThatHardlyWaitStayWhereTheyAre) {
  ReplicaRates rates{2};
  rates.add(1'000'000'000, 2.9);
  EXPECT_EQ(rates.best(0), 0U);
}

TEST(ReplicaRates, OneReplicaIsNeverLeft) {
  ReplicaRates rates{1};
  rates.add(10, 100);
  EXPECT_EQ(rates.best(0), 0U);
}

TEST(ReplicaRates, EachIsTriedAndTheFastestStays) {
  ReplicaRates rates{3};
  rates.add(3'000, 3);
  EXPECT_EQ(rates.best(0), 1U);
  rates.add(9'000, 3);
  EXPECT_EQ(rates.best(1), 2U);
  rates.add(6'000, 3);
  EXPECT_EQ(rates.best(2), 1U);
  rates.add(8'000, 3);
  EXPECT_EQ(rates.best(1), 1U);
  rates.add(3'000, 3);  // it has become slow
  EXPECT_EQ(rates.best(1), 2U);
}

TEST(ReplicaRates, AReplicaThatIsHardlyFasterIsNotWorthIt) {
  ReplicaRates rates{2};
  rates.add(12'000, 3);
  EXPECT_EQ(rates.best(0), 1U);
  rates.add(10'000, 3);
  EXPECT_EQ(rates.best(1), 1U);
}

TEST(ReplicaRates, OneThatCannotBeReadIsNotTriedAgain) {
  ReplicaRates rates{2};
  rates.add(3'000, 3);
  EXPECT_EQ(rates.best(0), 1U);
  rates.note_failure(1);
  rates.add(3'000, 3);
  EXPECT_EQ(rates.best(0), 0U);
}

}  // namespace forkrun
