// SPDX-License-Identifier: BSL-1.0
// One rank of a job: makes the calls of each step, judges how each ends, and agrees with the others on
// how to go on.
//
// All ranks make all calls of a step, whatever comes of them. Then they agree: whether every call ended
// well on every rank, and whether nobody's group is broken. A broken group is shrunk; one that is not
// goes on as it is.
#ifndef BOUGH_TEST_SOAK_RANK_HPP
#define BOUGH_TEST_SOAK_RANK_HPP

#include "soak/board.hpp"
#include "soak/draw.hpp"
#include "soak/flight.hpp"
#include "soak/strike.hpp"
#include "support/counted_new.hpp"
#include <bough/communicator.hpp>
#include <bough/core/absence.hpp>
#include <bough/error.hpp>
#include <bough/group.hpp>
#include <bough/report/recording_file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace soak {

template <class X>
class rank_of_job {
    struct gone {}; // this rank leaves
    using comm_type = bough::communicator<X>;
    static constexpr std::uint64_t patient_ns = 60'000'000'000; // of agreements, which wait for ranks that are late

public:
    rank_of_job(const job_plan& job, seat& mine, X link, std::shared_ptr<bough::recording_place> recording)
        : job_(job), seat_(mine), me_(link.rank()),
          world_(
              comm_type{std::move(link), {.timeout_ns = job.timeout_ns(), .report = {.file = std::move(recording)}}}),
          mine_(job.seed * 16 + me_) {}

    void play() {
        try {
            for (std::uint32_t s = 0; s != job_.steps.size(); ++s) {
                seat_.step = s;
                seat_.call = 0;
                has_failed_ = false;
                if (!play_step(job_.steps[s])) return;
            }
        } catch (const gone&) {
            world_.reset();
            seat_.now = phase::left;
            return;
        }
        call_off_strike();
        seat_.size = world_->size();
        seat_.epoch = world_->epoch();
        seat_.now = phase::done;
    }

private:
    bool is_victim() const { return me_ == job_.victim; }
    // False: the others go on without this rank.
    bool play_step(const step_plan& step) {
        std::optional<comm_type> part, named;
        bough::status made;
        seat_.now = phase::playing;
        if (job_.planted == plant::leaves && is_victim()) throw gone{};
        while (job_.planted == plant::hangs && is_victim()) ::pause();
        if (step.has_part) part = make_part(step, made);
        if (!made && step.has_named) named = bough::duplicate(*world_, made);
        if (made) judge_failure("the making of a group", made, false);
        if (step.has_part || step.has_named) {
            std::uint64_t word = 0;
            if (!agree(made ? 0 : 3, word)) return false;
            if (word != 3) return shrink();
        }
        std::vector<std::unique_ptr<flight<comm_type>>> flights;
        for (std::size_t k = 0; k != step.calls.size(); ++k) {
            comm_type& on = step.calls[k].where == place::part    ? *part
                            : step.calls[k].where == place::named ? *named
                                                                  : *world_;
            call_plan call = step.calls[k];
            call.is_lie = job_.planted == plant::wrong && is_victim();
            flights.push_back(std::make_unique<flight<comm_type>>(on, call, "call/" + std::to_string(k)));
        }
        make_calls(flights);
        bool is_well = true;
        for (std::size_t k = 0; k != flights.size(); ++k) is_well &= judge(step, k, *flights[k]);
        flights.clear();
        const bool is_broken = static_cast<bool>(world_->poison());
        std::uint64_t word = 0;
        if (!agree((is_well ? 1u : 0u) | (is_broken ? 0u : 2u), word)) return false;
        return (word & 2) != 0 || shrink();
    }

    // Of the ranks of one colour, ordered by their keys.
    std::optional<comm_type> make_part(const step_plan& step, bough::status& made) {
        const auto color_of = [&](std::uint64_t drawn) { return static_cast<std::uint32_t>(drawn % step.colours); };
        const auto key_of = [](std::uint64_t drawn) { return static_cast<std::uint32_t>(drawn >> 32 & 7); };
        const auto drawn_for = [&](bough::rank_t r) { return bough_test::mixed(step.seed + world_->world_rank(r)); };
        const std::uint64_t mine = drawn_for(world_->rank());
        if (!step.is_by_list) return bough::split(*world_, color_of(mine), key_of(mine), made);
        std::vector<std::pair<std::uint32_t, bough::rank_t>> ordered;
        for (bough::rank_t r = 0; r != world_->size(); ++r)
            if (const std::uint64_t drawn = drawn_for(r); color_of(drawn) == color_of(mine))
                ordered.emplace_back(key_of(drawn), r);
        std::sort(ordered.begin(), ordered.end());
        std::vector<bough::rank_t> list;
        for (const auto& [key, r] : ordered) list.push_back(r);
        return bough::create_group(*world_, std::span<const bough::rank_t>(list), made);
    }
    void make_calls(std::vector<std::unique_ptr<flight<comm_type>>>& flights) {
        const std::vector<std::size_t> order = order_of_calls(flights), waits = order_of_waits(flights);
        for (std::uint32_t k = 0; k != order.size(); ++k) {
            flight<comm_type>& f = *flights[order[k]];
            const bool strikes = job_.strikes_at(seat_.step, static_cast<std::uint32_t>(order[k]), me_);
            seat_.call = static_cast<std::uint32_t>(order[k]);
            if (job_.fault == fault::slow && is_victim() && seat_.step == job_.step) sleep_a_little();
            if (strikes) strike(job_, seat_);
            if (strikes && job_.fault == fault::no_memory) begin_to_lack_memory();
            f.make();
            if (strikes) strike_in_flight(f);
            if (mine_.once_in(4)) world_->progress();
            if (mine_.once_in(4)) flights[order[mine_.roll(k + 1)]]->poll();
        }
        for (const std::size_t k : waits) {
            seat_.call = static_cast<std::uint32_t>(k);
            flights[k]->wait();
        }
        bough_test::until_failure = -1;
        bough_test::fail_for_good = false;
    }
    void sleep_a_little() {
        seat_.is_struck = true;
        std::this_thread::sleep_for(std::chrono::microseconds(mine_.roll(job_.lasts_ms * 100 + 1)));
    }
    void begin_to_lack_memory() {
        seat_.is_struck = true;
        bough_test::fail_for_good = job_.is_for_good;
        bough_test::until_failure = job_.after_us % 8;
    }
    void strike_in_flight(flight<comm_type>& f) {
        if (job_.fault == fault::leaves) {
            seat_.is_struck = true;
            throw gone{};
        }
        if (job_.fault == fault::forks) fork_now();
        if (job_.fault != fault::cancelled) return;
        for (std::uint32_t i = job_.after_us % 64; i != 0; --i) f.poll();
        seat_.is_struck = f.strike(job_.blow);
    }
    void fork_now() {
        seat_.is_struck = true;
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            bough::status s;
            bough::barrier(*world_, s);
            ::_exit(s.code == bough::errc::forked_child ? 0 : 1);
        }
        int state = -1;
        pid_t ended = -1;
        while (child > 0 && (ended = ::waitpid(child, &state, 0)) < 0 && errno == EINTR) {
        }
        if (ended != child || state != 0)
            complain("the child of a fork could call, or did not end: " + std::to_string(state));
    }
    void shuffle(std::vector<std::size_t>& some) {
        for (std::size_t i = some.size(); i > 1; --i) std::swap(some[i - 1], some[mine_.roll(i)]);
    }
    // An order of this rank's own, but that of the plan among the calls of one communicator, unless they have
    // names. A call that is not only started waits for others: so all that come before it in the plan come
    // before it here, and no rank waits in vain.
    std::vector<std::size_t> order_of_calls(const std::vector<std::unique_ptr<flight<comm_type>>>& flights) {
        std::vector<std::size_t> order, left(flights.size());
        std::iota(left.begin(), left.end(), std::size_t{0});
        while (!left.empty()) {
            std::array<bool, place_names.size()> has_older{};
            std::vector<std::size_t> may_be_next; // of `left`
            for (std::size_t i = 0; i != left.size(); ++i) {
                const call_plan& call = flights[left[i]]->plan();
                bool& older = has_older[static_cast<std::size_t>(call.where)];
                if (i == 0 || (call.how == form::started && !older)) may_be_next.push_back(i);
                older = older || call.where != place::named;
            }
            const std::size_t i = may_be_next[mine_.roll(may_be_next.size())];
            order.push_back(left[i]);
            left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
        }
        return order;
    }
    std::vector<std::size_t> order_of_waits(const std::vector<std::unique_ptr<flight<comm_type>>>& flights) {
        std::vector<std::size_t> order(flights.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        shuffle(order);
        return order;
    }

    bool judge(const step_plan& step, std::size_t k, const flight<comm_type>& f) {
        const type_kind& type = types()[f.plan().type];
        const auto what = [&] {
            return "call " + std::to_string(k) + " (" + describe(step.calls[k], type.name, type.ops[f.plan().op].name) +
                   ")";
        };
        if (const char* const wrong = f.fault_of_result()) complain(what() + ": " + wrong);
        if (!f.result()) {
            ++seat_.good;
            return true;
        }
        ++seat_.failed;
        judge_failure(what(), f.result(), seat_.step == job_.step && k == job_.call);
        return false;
    }
    // May a call fail like this?
    void judge_failure(const std::string& what, const bough::status& s, bool is_struck_call) {
        using bough::errc;
        const errc cause = s.code == errc::peer_aborted || s.code == errc::group_poisoned ? s.cause : s.code;
        ++seat_.causes[static_cast<std::size_t>(cause)];
        const bool is_first = !std::exchange(has_failed_, true);
        bool is_right = false;
        const bool is_of_victim = is_victim() || s.peer == job_.victim;
        switch (job_.fault) {
        case fault::none:
        case fault::slow:
        case fault::paused:
        case fault::forks:
        case fault::interrupted:
        case fault::short_calls:
        case fault::clock_jumps: break;
        case fault::cancelled:
            is_right = is_struck_call && cause == (job_.blow == blow::time_out ? errc::deadline : errc::cancelled);
            break;
        case fault::killed: is_right = cause == errc::peer_dead && s.peer == job_.victim; break;
        case fault::leaves: is_right = (cause == errc::peer_dead || cause == errc::cancelled) && is_of_victim; break;
        case fault::no_memory:
        case fault::no_descriptors:
        case fault::full_disk: is_right = cause == errc::no_resources && is_of_victim; break;
        case fault::stopped:
            // The rank itself hears that it came too late, or waits for ranks that have gone on. A later
            // call of the same step waits for ranks that come late only because the first one took its
            // whole time.
            is_right =
                cause == errc::deadline && (is_victim() || !is_first || (s.peer == job_.victim && s.missing == 1));
            is_right |= job_.is_for_good && cause == errc::peer_dead && s.peer == job_.victim;
        }
        if (!is_right) complain(what + " failed, and should not, or not like this: " + bough::message_of(s));
    }
    void complain(const std::string& sentence) {
        seat_.complain("seed " + std::to_string(job_.seed) + ", rank " + std::to_string(me_) + ", step " +
                       std::to_string(seat_.step.load()) + ": " + sentence);
    }

    bool agree(std::uint64_t word, std::uint64_t& all) {
        seat_.now = phase::agreeing;
        bough::status s;
        world_->set_timeout_ns(patient_ns);
        const std::optional<std::uint64_t> said = bough::agree(*world_, word, s);
        world_->set_timeout_ns(job_.timeout_ns());
        if (said) {
            all = *said;
            return true;
        }
        return without_me("agree", s);
    }
    bool shrink() {
        bough::status s;
        world_->set_timeout_ns(patient_ns);
        std::optional<comm_type> rest = bough::shrink(*world_, s);
        if (!rest) return without_me("shrink", s);
        world_ = std::move(rest);
        world_->set_timeout_ns(job_.timeout_ns());
        return true;
    }
    // A rank that did not answer for long may be taken for dead.
    bool without_me(const char* what, const bough::status& s) {
        const bool may_be_lost = job_.fault == fault::stopped && is_victim();
        if (!may_be_lost) complain(std::string(what) + ": " + bough::message_of(s));
        call_off_strike();
        seat_.now = phase::excluded;
        return false;
    }

    const job_plan& job_;
    seat& seat_;
    bough::rank_t me_; // in the transport
    std::optional<comm_type> world_;
    dice mine_;               // what only this rank does
    bool has_failed_ = false; // a call of this step
};

// join() -> the transport.
template <class Join>
void play_rank(const job_plan& job, seat& mine, bough::rank_t me, const std::string& recording, const Join& join) {
    using link_type = decltype(join());
    try {
        auto file = bough::recording_file(recording);
        if (me == job.victim) strike_before_join(job, mine);
        std::optional<link_type> link;
        try {
            link.emplace(join());
        } catch (const bough::error& e) {
            const bough::status& s = e.details();
            const bool is_right = me == job.victim ? s.code == bough::errc::no_resources
                                                   : s.code == bough::errc::peer_aborted &&
                                                         s.cause == bough::errc::no_resources && s.peer == job.victim;
            ++mine.causes[static_cast<std::size_t>(s.cause != bough::errc::ok ? s.cause : s.code)];
            if (!job.is_at_join || !is_right)
                mine.complain("seed " + std::to_string(job.seed) + ", rank " + std::to_string(me) +
                              " could not join: " + bough::message_of(s));
            mine.now = phase::not_joined;
            return;
        }
        rank_of_job<link_type>(job, mine, std::move(*link), std::move(file)).play();
    } catch (const std::exception& e) {
        mine.complain("seed " + std::to_string(job.seed) + ", rank " + std::to_string(me) +
                      ": an exception: " + e.what());
    }
}

} // namespace soak

#endif
