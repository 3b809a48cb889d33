// SPDX-License-Identifier: BSL-1.0
// Runs one job of the soak: draws it from a seed, starts its ranks, strikes one of them, and judges how
// all of them end.
//
//   soak-job SEED FOLDER          FOLDER: for the recordings of the ranks; it exists
//   soak-job SEED FOLDER wrong    a rank does what the plan does not say (draw.hpp: plant), which must be noticed
//   soak-job --describe SEED      the job in words; nothing is run
// The last line it prints is `result: ` and the outcome as JSON. The exit status is 0 if all is well.
#include "soak/board.hpp"
#include "soak/draw.hpp"
#include "soak/over.hpp"
#include "soak/values.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <sys/wait.h>
#include <thread>

namespace {

using namespace soak;
using bough_test::clock_ns;
using bough_test::processes;

constexpr std::uint64_t ms = 1'000'000;
// Of a job: several deadlines, on a machine that is busy.
std::uint64_t limit_ns(const job_plan& job) { return (job.planted == plant::hangs ? 3'000 : 300'000) * ms; }

class watch {
public:
    watch(const job_plan& job, const board& seats, processes& group) : job_(job), seats_(seats), group_(group) {}

    // Until all processes have ended.
    void until_all_end(bough::rank_t count) {
        const std::uint64_t last = clock_ns() + limit_ns(job_);
        for (;;) {
            bool is_over = true;
            for (bough::rank_t r = 0; r != count; ++r) is_over &= has_ended(r);
            if (is_over) return;
            if (clock_ns() > last) return tell_hang();
            if (job_.fault == fault::paused || job_.fault == fault::stopped) free_victim();
            std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
    }
    std::string problem;

private:
    bool is_in(bough::rank_t r, int states) const {
        siginfo_t said{};
        const auto pid = static_cast<id_t>(group_.pid(r));
        return ::waitid(P_PID, pid, &said, states | WNOHANG | WNOWAIT) == 0 && said.si_pid != 0;
    }
    bool has_ended(bough::rank_t r) const { return is_in(r, WEXITED); }
    // Do all others wait for it in an agreement, or have they ended? And have they done so for a while:
    // not only passed by?
    bool others_have_given_up() {
        bool all = true;
        for (bough::rank_t r = 0; r != job_.ranks; ++r) {
            const phase now = seats_.of(r).now;
            all &= r == job_.victim || now == phase::agreeing || now == phase::done; // (nobody else is struck)
        }
        if (!all) given_up_ns_ = 0;
        if (all && given_up_ns_ == 0) given_up_ns_ = clock_ns();
        return all && clock_ns() - given_up_ns_ > 300 * ms;
    }
    void free_victim() {
        if (is_free_ || !is_in(job_.victim, WSTOPPED)) return;
        if (job_.fault == fault::paused) std::this_thread::sleep_for(std::chrono::milliseconds(job_.lasts_ms));
        if (job_.fault == fault::stopped && !others_have_given_up()) return;
        is_free_ = true;
        group_.kill(job_.victim, job_.fault == fault::stopped && job_.is_for_good ? SIGKILL : SIGCONT);
    }
    void tell_hang() {
        problem = "the job does not end:";
        for (bough::rank_t r = 0; r != job_.ranks; ++r) {
            const seat& s = seats_.of(r);
            problem += " rank " + std::to_string(r) + " is " + phase_names[static_cast<std::size_t>(s.now.load())] +
                       " in step " + std::to_string(s.step) + ", call " + std::to_string(s.call) + ";";
        }
    }

    const job_plan& job_;
    const board& seats_;
    processes& group_;
    bool is_free_ = false;
    std::uint64_t given_up_ns_ = 0;
};

// What is wrong with how the ranks have ended, or nothing.
std::string judge(const job_plan& job, const board& seats, const processes& group) {
    const seat* first = nullptr; // of those that have reached the end
    for (bough::rank_t r = 0; r != job.ranks; ++r) {
        const seat& s = seats.of(r);
        const int code = group.exit_code(job.link == link::in_process ? 0 : r);
        const std::string who = "rank " + std::to_string(r);
        if (s.wrong[0] != '\0') return s.wrong.data();
        const bool may_be_killed =
            r == job.victim && (job.fault == fault::killed || (job.fault == fault::stopped && job.is_for_good));
        if (may_be_killed && code == 256 + SIGKILL) continue;
        if (code != 0)
            return who + " ended with " +
                   (code > 256 ? "signal " + std::to_string(code - 256) : "status " + std::to_string(code));
        if (job.is_at_join && seats.of(job.victim).now == phase::not_joined && s.now == phase::not_joined) continue;
        if (s.now == phase::excluded || s.now == phase::left) continue;
        if (s.now != phase::done) return who + " has not come to its end";
        if (first == nullptr) first = &s;
        if (s.size != first->size || s.epoch != first->epoch)
            return who + " ended in another group: of " + std::to_string(s.size) + " ranks, not " +
                   std::to_string(first->size);
        bough::rank_t may_be_lost = 0;
        if (job.fault == fault::killed || job.fault == fault::stopped || job.fault == fault::leaves) may_be_lost = 1;
        for (bough::rank_t other = 0; other != job.ranks && job.fault == fault::no_memory; ++other)
            may_be_lost += seats.of(other).now == phase::excluded ? 1 : 0;
        if (s.size + may_be_lost < job.ranks) return who + " has lost a rank that was there";
    }
    return "";
}

std::string escaped(const std::string& text) {
    std::string made;
    for (const char c : text) {
        if (c == '"' || c == '\\') made += '\\';
        made += c < ' ' ? ' ' : c;
    }
    return made;
}
void tell(const job_plan& job, const board& seats, const std::string& problem) {
    std::uint64_t good = 0, failed = 0;
    std::string causes;
    for (std::size_t c = 0; c != seats.of(0).causes.size(); ++c) {
        std::uint64_t all = 0;
        for (bough::rank_t r = 0; r != job.ranks; ++r)
            if (r != job.victim) all += seats.of(r).causes[c];
        if (all == 0) continue;
        causes += std::string(causes.empty() ? "" : ", ") + "\"" + bough::describe(static_cast<bough::errc>(c)) +
                  "\": " + std::to_string(all);
    }
    std::uint32_t size = 0;
    for (bough::rank_t r = 0; r != job.ranks; ++r) {
        good += seats.of(r).good;
        failed += seats.of(r).failed;
        if (r != job.victim || job.ranks == 1) size = std::max(size, seats.of(r).size);
    }
    std::printf(
        "result: {\"seed\": %llu, \"link\": \"%s\", \"fault\": \"%s\", \"struck\": %s, \"ranks\": %u, \"left\": %u, "
        "\"good\": %llu, \"failed\": %llu, \"causes\": {%s}, \"wrong\": \"%s\"}\n",
        static_cast<unsigned long long>(job.seed), link_names[static_cast<std::size_t>(job.link)],
        fault_names[static_cast<std::size_t>(job.fault)], seats.of(job.victim).is_struck ? "true" : "false", job.ranks,
        size, static_cast<unsigned long long>(good), static_cast<unsigned long long>(failed), causes.c_str(),
        escaped(problem).c_str());
}

int run(const job_plan& job, const std::string& folder) {
    const board seats;
    const bough::rank_t count = job.link == link::in_process ? 1 : job.ranks;
    std::string problem;
    {
        processes group(count, [&](processes::wire& wire, bough_test::report&) {
            const bough::rank_t me = wire.rank();
            switch (job.link) {
            case link::in_process: return play_over_in_process(job, seats, folder);
            case link::shared_memory: return play_over_shared_memory(job, seats.of(me), wire, recording_of(folder, me));
            case link::tcp: return play_over_tcp(job, seats.of(me), wire, recording_of(folder, me));
            case link::one_sided: return play_over_one_sided(job, seats.of(me), wire, recording_of(folder, me));
            case link::composite: return play_over_composite(job, seats.of(me), wire, recording_of(folder, me));
            }
        });
        watch over(job, seats, group);
        over.until_all_end(count);
        problem = over.problem;
        if (problem.empty()) {
            group.wait();
            problem = judge(job, seats, group);
        }
    }
    tell(job, seats, problem);
    return problem.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const bool describes = argc == 3 && std::strcmp(argv[1], "--describe") == 0;
    const auto planted = std::find_if(plant_names.begin(), plant_names.end(), [&](const char* name) {
        return std::strcmp(name, argc == 4 ? argv[3] : "nothing") == 0;
    });
    if (argc < 3 || argc > 4 || planted == plant_names.end()) {
        std::fprintf(stderr, "soak-job SEED FOLDER [wrong|leaves|hangs], or soak-job --describe SEED\n");
        return 2;
    }
    job_plan job = draw_job(std::strtoull(argv[describes ? 2 : 1], nullptr, 10), op_counts());
    job.planted = static_cast<plant>(planted - plant_names.begin());
    std::printf("%s\n", describe(job).c_str());
    if (!describes) return run(job, argv[2]);
    for (std::size_t s = 0; s != job.steps.size(); ++s)
        for (std::size_t k = 0; k != job.steps[s].calls.size(); ++k) {
            const call_plan& c = job.steps[s].calls[k];
            std::printf("step %zu, call %zu: %s\n", s, k,
                        describe(c, types()[c.type].name, types()[c.type].ops[c.op].name).c_str());
        }
    return 0;
}
