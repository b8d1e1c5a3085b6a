#include <forkrun/bytes/remote/replica_versions.hpp>

#include <algorithm>

#include <forkrun/bytes/remote/remote_requests.hpp>

namespace forkrun {

namespace {

/// Number of answers in which to look for a version of one server among several.
constexpr int n_tries = 8;
/// Number of versions beyond which only the size is trusted.
constexpr std::size_t most_versions = 8;

/// Attributes of one version.
FileEnds read_version(const RemoteVersion& version, const ReplicaVersions::Connect& connect,
                      RemoteProblem& problem) {
  const auto opened = connect();
  if (!opened.connection) {
    problem = opened.problem;
    return {};
  }
  opened.connection->accept({&version, 1});
  return read_file_ends(*opened.connection, problem);
}

}  // namespace

FileEnds read_file_ends(RemoteConnection& connection, RemoteProblem& problem) {
  FileEnds ends;
  const auto ranges = ends_of(connection.version().n_bytes);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ends[i].resize(static_cast<std::size_t>(ranges[i].n_bytes));
    for (int n = 0; n < n_tries; ++n) {
      problem = read_now(connection, ranges[i].place, ends[i]);
      if (!problem.other) {
        break;
      }
    }
    if (problem) {
      break;
    }
  }
  return ends;
}

RemoteProblem changed_on_server(const std::string& change) {
  return {"changed on the server while it was read (" + change +
              "); run the same command once the file is as it was, or begin again with --force",
          true};
}

bool ReplicaVersions::has(const RemoteVersion& version) const {
  return std::ranges::any_of(
      versions_, [&version](const auto& each) { return each.change_to(version).empty(); });
}

/// Answers of the replica's servers when asked again.
struct ReplicaVersions::Survey {
  int n_others = 0;   ///< the version in question
  int n_known = 0;    ///< one that is known
  int n_answers = 0;  ///< of any version
};

RemoteProblem ReplicaVersions::ask_around(const RemoteVersion& other, const Connect& connect,
                                          Survey& survey) const {
  const bool needs_another = first().differs_in_all(other);
  while (survey.n_answers < n_tries) {
    const auto opened = connect();
    if (!opened.connection) {
      return opened.problem;
    }
    const auto told = opened.connection->version();
    ++survey.n_answers;
    survey.n_others += told.change_to(other).empty() ? 1 : 0;
    survey.n_known += has(told) ? 1 : 0;
    if (survey.n_others > 0 && (!needs_another || survey.n_others < survey.n_answers)) {
      break;
    }
  }
  return {};
}

RemoteProblem ReplicaVersions::take_up(const RemoteVersion& other, const Connect& connect,
                                       const std::optional<FileEnds>& ends) {
  const auto changed = changed_on_server(first().change_to(other));
  if (other.n_bytes != first().n_bytes) {
    return changed;
  }
  Survey survey;
  if (auto problem = ask_around(other, connect, survey)) {
    return problem;
  }
  const bool is_always_new = survey.n_others + survey.n_known == 0;
  const bool is_one_alone = first().differs_in_all(other) && survey.n_others == n_tries;
  const RemoteVersion any{other.n_bytes, 0, ""};
  const auto& wanted = is_always_new || versions_.size() == most_versions ? any : other;
  RemoteProblem problem;
  const auto before = ends ? *ends : read_version(first(), connect, problem);
  if (problem.other) {  // nothing was read of what is gone
    versions_ = {wanted};
    return {};
  }
  if (problem || (is_one_alone && ends)) {
    return problem ? problem : changed;
  }
  const auto now = read_version(wanted, connect, problem);
  if (problem) {
    return problem.other ? RemoteProblem{"servers of one name tell different versions of it"}
                         : problem;
  }
  if (before != now) {
    return changed;
  }
  add(wanted);
  return {};
}

}  // namespace forkrun
