// SPDX-License-Identifier: BSL-1.0
// Runs the matrix of one goal over in_process, and over self for one rank.
#ifndef BOUGH_TEST_MATRIX_RUN_HPP
#define BOUGH_TEST_MATRIX_RUN_HPP

#include "matrix/matrix.hpp"
#include "support/catch.hpp"
#include <bough/error.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>

#include <mutex>

namespace test::matrix {

// The first faults that any rank finds.
struct faults {
    std::mutex guard;
    std::vector<std::string> found;
    template <class T>
    void add(const one_case<T>& c, bough::rank_t rank, const std::string& what) {
        const std::scoped_lock lock(guard);
        if (found.size() < 5)
            found.push_back(c.plan->name + ", " + c.element->name + ", count " + std::to_string(c.count) +
                            (c.in_place ? ", in place" : "") + (c.cut ? ", cut" : "") + ", rank " +
                            std::to_string(rank) + ": " + what);
    }
};

template <class T, class Goal>
void run_all(bough::communicator<T>& comm, const std::vector<one_case<T>>& cases, faults& seen) {
    comm.set_timeout_ns(120'000'000'000);
    for (std::size_t i = 0; i != cases.size(); ++i) {
        const std::string what = run_case<T, Goal>(comm, cases[i], i % 4);
        if (what.empty()) continue;
        seen.add(cases[i], comm.rank(), what);
        if (comm.poison()) return;
    }
}

// `keep_one_in`: how much of the matrix of eight ranks is run if not all is.
template <class Goal>
std::size_t run_matrix(std::uint64_t keep_one_in) {
    using namespace bough;
    using thread_end = in_process::endpoint;
    std::size_t total = 0;
    for (rank_t size = 1; size != 34; ++size) {
        if (size > 17 && size < 31) continue;
        const auto plans = plans_of<thread_end, Goal>(size);
        const auto cases = cases_of<thread_end, Goal>(plans, size, (keep_one_in * size + 7) / 8);
        faults seen;
        // Few slots and a low eager limit, so that senders are refused and messages are long.
        const in_process_options options{.slots = size % 2 == 0 ? 2u : 8u, .eager_bytes = size % 3 == 0 ? 64u : 2048u};
        in_process(size, options).run([&](auto end) {
            communicator comm{std::move(end)};
            run_all<thread_end, Goal>(comm, cases, seen);
        });
        CAPTURE(size, seen.found);
        CHECK(seen.found.empty());
        total += cases.size();
    }
    const auto plans = plans_of<self, Goal>(1);
    const auto cases = cases_of<self, Goal>(plans, 1, 1);
    faults seen;
    communicator comm{self{}};
    run_all<self, Goal>(comm, cases, seen);
    CAPTURE(seen.found);
    CHECK(seen.found.empty());
    return total + cases.size();
}

} // namespace test::matrix

#endif
