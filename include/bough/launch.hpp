// SPDX-License-Identifier: BSL-1.0
// launch() runs a function or a program as the ranks of a job; each rank is a process of this
// machine. this_job() is the job that a program was started in.
//
//   const bough::launch_report report = bough::launch(4, [](bough::job job) {
//       bough::communicator comm{bough::shared_memory{job}};
//       ...
//   });
//   if (!report.ok()) std::puts(bough::describe(report).c_str());
//
//   launch(ranks, f [, options])            f(job) runs in a fork of this process: it returns void or
//                                           an exit status
//   launch(ranks, argv [, options])         a program, by fork and exec; it finds its job by this_job()
//   this_job()                              of `bough launch`, launch(), mpirun or srun
//                                           (bough/launch/pmix.hpp), or of one rank
// Each has a form with a last argument std::error_code&, which does not throw; the others throw
// bough::error. How the ranks end is a value, not an error: launch() waits for all of them, and
// reports exit codes and signals. While it waits, it serves their exchanges. If a rank dies, the
// exchanges of the others end with peer_dead. If this process dies, its ranks die with it.
// The rules of fork are in bough/launch/processes.hpp.
#ifndef BOUGH_LAUNCH_HPP
#define BOUGH_LAUNCH_HPP

#include <bough/error.hpp>
#include <bough/launch/job.hpp>
#include <bough/launch/options.hpp>
#include <bough/launch/processes.hpp>
#include <bough/launch/report.hpp>
#include <bough/launch/this_job.hpp>

#include <initializer_list>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace bough::inline BOUGH_ABI {

template <RankFunction F>
launch_report launch(rank_t ranks, F f, const launch_options& options, std::error_code& ec) {
    launch_report report;
    const status s = detail::jobs::launch_function(ranks, detail::jobs::rank_main(f), options, report);
    ec = s.code == errc::ok ? std::error_code() : make_error_code(s.code);
    return report;
}
template <RankFunction F>
launch_report launch(rank_t ranks, F f, const launch_options& options = {}) {
    launch_report report;
    detail::throw_if(detail::jobs::launch_function(ranks, detail::jobs::rank_main(f), options, report));
    return report;
}

inline launch_report launch(rank_t ranks, std::span<const std::string> argv, const launch_options& options,
                            std::error_code& ec) {
    launch_report report;
    const status s = detail::jobs::launch_program(ranks, argv, options, report);
    ec = s.code == errc::ok ? std::error_code() : make_error_code(s.code);
    return report;
}
inline launch_report launch(rank_t ranks, std::span<const std::string> argv, const launch_options& options = {}) {
    launch_report report;
    detail::throw_if(detail::jobs::launch_program(ranks, argv, options, report));
    return report;
}
inline launch_report launch(rank_t ranks, std::initializer_list<std::string> argv, const launch_options& options = {}) {
    return launch(ranks, std::span<const std::string>(argv.begin(), argv.size()), options);
}

inline job this_job(std::error_code& ec) {
    job found;
    const status s = detail::jobs::find_job(found);
    ec = s.code == errc::ok ? std::error_code() : make_error_code(s.code);
    return found;
}
inline job this_job() {
    job found;
    detail::throw_if(detail::jobs::find_job(found));
    return found;
}

} // namespace bough

#endif
