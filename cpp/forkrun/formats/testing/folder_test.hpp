#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace forkrun::root_io {

/// A test with a folder of its own for files, which is removed behind it.
class FolderTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("forkrun-test-" + std::to_string(::getpid()));
};

}  // namespace forkrun::root_io
