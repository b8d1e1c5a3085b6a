#include <forkrun/formats/merge/add_text.hpp>

#include <TFile.h>
#include <TObjString.h>

#include <forkrun/formats/root_file/output_file.hpp>
#include <forkrun/formats/ttree/read/tree_file.hpp>
#include <forkrun/formats/ttree/write/plain_tree.hpp>

namespace forkrun::root_io {

void add_text(const std::string& output, const std::string& name, const std::string& text) {
  if (const auto plain = reopen_with_trees(output)) {
    plain->add(name, "TObjString", "Collectable string class", [&](ObjectWriter& to) {
      to.object(1, [&] {
        to.base();
        to.text(text);
      });
    });
    plain->close();
    return;
  }
  OutputFile file{output, TreeFile{output}.compression(), OutputMode::update};
  file.file().cd();
  const TObjString object{text.c_str()};
  object.Write(name.c_str());
  file.close();
}

}  // namespace forkrun::root_io
