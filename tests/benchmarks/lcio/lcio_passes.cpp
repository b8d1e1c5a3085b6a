// LCIO itself: lcio_passes FILE OUT. For each way one line: its name and the CPU seconds of a pass
// over all events. OUT: of the skim of each tenth event.
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

#include "EVENT/LCEvent.h"
#include "IO/LCReader.h"
#include "IO/LCWriter.h"
#include "IOIMPL/LCFactory.h"
#include "MT/LCReader.h"

namespace {

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double eager(const char* path) {
  MT::LCReader reader{MT::LCReader::directAccess};
  reader.open(path);
  const auto start = cpu_s();
  while (const auto event = reader.readNextEvent()) {
  }
  return cpu_s() - start;
}

double skim(const char* path, const char* out) {
  const std::unique_ptr<IO::LCReader> reader{
      IOIMPL::LCFactory::getInstance()->createLCReader(IO::LCReader::directAccess)};
  const std::unique_ptr<IO::LCWriter> writer{IOIMPL::LCFactory::getInstance()->createLCWriter()};
  reader->open(path);
  writer->open(out, EVENT::LCIO::WRITE_NEW);
  const auto start = cpu_s();
  while (auto* run = reader->readNextRunHeader()) {
    writer->writeRunHeader(run);
  }
  reader->close();
  reader->open(path);
  while (auto* event = reader->readNextEvent()) {
    if (event->getEventNumber() % 10 == 0) {
      writer->writeEvent(event);
    }
  }
  writer->close();
  return cpu_s() - start;
}

}  // namespace

int main(int, char** arguments) {
  (void)eager(arguments[1]);
  std::printf("eager\t%.6f\n", eager(arguments[1]));
  std::printf("eager skim\t%.6f\n", skim(arguments[1], arguments[2]));
}
