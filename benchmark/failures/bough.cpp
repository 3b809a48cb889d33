// SPDX-License-Identifier: BSL-1.0
// What bough does when something goes wrong.  bough op|length|root|death|stop|late|nan|flood
#include "../arguments.hpp"
#include "told.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/group.hpp>
#include <bough/launch.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/op/min_max.hpp>
#include <bough/reduce.hpp>
#include <bough/transport/tcp.hpp>

#include <array>
#include <csignal>
#include <span>

namespace {

using communicator = bough::communicator<bough::tcp>;

void flood(communicator& comm) {
    const unsigned me = comm.rank();
    std::optional<communicator> calls, waits;
    if (me != 2) calls.emplace(bough::create_group(comm, std::array<bough::rank_t, 2>{0, 1}));
    if (me != 0) waits.emplace(bough::create_group(comm, std::array<bough::rank_t, 2>{1, 2}));
    bough::barrier(comm);
    const double before = failures::most_mib();
    const failures::told told(me);
    if (me == 2) std::this_thread::sleep_for(failures::late);
    if (waits) bough::barrier(*waits);
    std::vector<char> bytes(failures::flood_bytes);
    if (calls)
        for (int i = 0; i != failures::flood_calls; ++i) bough::broadcast(*calls, std::span(bytes), bough::root{0});
    if (me != 2) told.say("success, and %.0f MiB more memory", failures::most_mib() - before);
    bough::barrier(comm);
}

void run(bough::job& job, std::string_view what) {
    if (what == "late" && job.rank() == 1) std::this_thread::sleep_for(failures::late);
    const failures::told joining(job.rank());
    bough::tcp_options options;
    options.near_sockets = false; // TCP itself, as the peers
    communicator comm{bough::tcp(job, options)};
    const unsigned me = comm.rank();
    comm.set_timeout_ns(std::chrono::nanoseconds(failures::deadline).count());
    bough::status s;
    bough::barrier(comm, s); // it may still be under way here when the others have met the difference
    if (s) return joining.say("an error in the barrier before: %s", bough::message_of(s).c_str());
    if (what == "flood") return flood(comm);
    std::array<double, 2> x{me + 1.0};
    if (what == "nan") {
        std::string all;
        for (unsigned where : {comm.size(), 0u, 1u, 2u}) {
            x[0] = me == where ? failures::not_a_number : me + 1.0;
            bough::allreduce(comm, std::span(x).first(1), bough::max{});
            all += " " + std::to_string(x[0]).substr(0, 3);
        }
        const failures::told told(me);
        return told.say("success,%s", all.c_str());
    }
    const failures::told told = what == "late" ? joining : failures::told(me);
    if (what == "death" && me == 1) std::raise(SIGKILL);
    if (what == "stop" && me == 1) std::raise(SIGSTOP);
    if (what == "op" && me == 1)
        bough::allreduce(comm, std::span(x).first(1), bough::max{}, s);
    else if (what == "root")
        bough::reduce(comm, std::span(x).first(1), bough::plus{}, bough::root{me == 1 ? 1u : 0u}, s);
    else
        bough::allreduce(comm, std::span(x).first(what == "length" && me == 1 ? 2 : 1), bough::plus{}, s);
    if (s) return told.say("an error: %s", bough::message_of(s).c_str());
    told.say("success, %g", x[0]);
    bough::barrier(comm, s); // a rank of a reduce may rightly be done before it can know
    if (s) told.say("in the next call, an error: %s", bough::message_of(s).c_str());
}

} // namespace

int main(int argc, char** argv) {
    const char* const usage = "bough op|length|root|death|stop|late|nan|flood";
    const arguments::list given(argc, argv, 1, usage);
    const std::string_view what =
        given.word(1, "what goes wrong", {"op", "length", "root", "death", "stop", "late", "nan", "flood"});
    if (what.empty()) given.refuse(argc, "is missing");
    const auto report = bough::launch(failures::ranks_of(what), [&](bough::job job) { run(job, what); });
    if (!report.ok()) std::fprintf(stderr, "%s\n", bough::describe(report).c_str());
}
