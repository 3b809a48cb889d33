// SPDX-License-Identifier: BSL-1.0
#include "report/hangs.hpp"
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allgather.hpp>
#include <bough/group.hpp>
#include <bough/report.hpp>
#include <bough/report/asked.hpp>
#include <bough/report/recorder.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace bough;

namespace {

// The recordings of a report, as a merger reads them.
std::vector<detail::recording> read_all(const rank_report& one) {
    std::span<const std::byte> bytes(one.bytes());
    std::vector<detail::recording> made;
    std::string fault;
    while (!bytes.empty()) {
        made.emplace_back();
        REQUIRE(detail::read_recording(bytes, made.back(), fault));
    }
    return made;
}
std::string fault_of(std::span<const std::byte> bytes) {
    merged_reports all;
    std::string fault;
    all.add(bytes, "it", fault);
    return fault;
}
rank_report of_one_rank() {
    communicator comm{self{}};
    double x = 1;
    for (int i = 0; i != 3; ++i) allreduce(comm, std::span(&x, 1), plus{});
    return comm.report();
}
// A report with one field of its first head changed.
template <class F>
rank_report changed(rank_report one, F&& change) {
    std::vector<std::byte> bytes = one.bytes();
    detail::recording_header head;
    std::memcpy(static_cast<void*>(&head), bytes.data(), sizeof head);
    change(head);
    std::memcpy(bytes.data(), &head, sizeof head);
    return rank_report(bytes);
}

struct events_seen {
    std::vector<operation_event> all;
    static void see(void* self, const operation_event& e) { static_cast<events_seen*>(self)->all.push_back(e); }
};

} // namespace

TEST_CASE("report: the latest calls of a communicator are recorded, with what they were and how they ended") {
    std::vector<rank_report> made(2);
    in_process{2}.run([&](auto link) {
        const rank_t me = link.rank();
        communicator comm{std::move(link), {.report = {.calls = 10}}}; // 16
        double x = 1;
        for (int i = 0; i != 20; ++i) allreduce(comm, std::span(&x, 1), plus{});
        std::array<std::int32_t, 6> all{};
        allgather(comm, std::span<std::int32_t>(all));
        barrier(comm);
        made[me] = comm.report();
    });
    for (const rank_report& one : made) {
        const auto its = read_all(one);
        REQUIRE(its.size() == 1);
        CHECK(its[0].members == std::vector<rank_t>{0, 1});
        const auto& calls = its[0].calls;
        REQUIRE(calls.size() == 16);
        for (std::size_t i = 0; i != 16; ++i) {
            CHECK(calls[i].number == 7 + i);
            CHECK((calls[i].its.state == call_state::ended || calls[i].its.state == call_state::ended_at_once));
            if (i != 0) CHECK(calls[i].begin >= calls[i - 1].begin);
            if (calls[i].its.state == call_state::ended) CHECK(calls[i].end >= calls[i].begin);
        }
        CHECK(calls[0].signature.kind == goal::allreduce::kind);
        CHECK(calls[0].bytes() == 8);
        CHECK(calls[14].signature.kind == goal::allgather::kind);
        CHECK(calls[14].bytes() == 12); // those of one rank
        CHECK(calls[15].signature.kind == goal::barrier::kind);
        CHECK(calls[15].bytes() == 0);
        CHECK_FALSE(its[0].plan_text(calls[0].signature.plan).empty());
        CHECK(bough::text_of(one).find("barrier #22") != std::string::npos);
    }
}

TEST_CASE("report: of two communicators each has its own ring, and the reports of one show both") {
    std::vector<rank_report> made(3);
    in_process{3}.run([&](auto link) {
        const rank_t me = link.rank();
        communicator comm{std::move(link)};
        auto part = split(comm, me == 1 ? 1 : 0);
        double x = 1;
        for (int i = 0; i != 100; ++i) allreduce(part, std::span(&x, 1), plus{});
        made[me] = comm.report();
    });
    for (rank_t r = 0; r != 3; ++r) {
        const auto its = read_all(made[r]);
        REQUIRE(its.size() == 2);
        CHECK_FALSE(its[0].calls.empty()); // those of split()
        CHECK(its[1].calls.size() == 64);
        CHECK(its[1].calls.back().number == 100);
        CHECK(its[1].members == (r == 1 ? std::vector<rank_t>{1} : std::vector<rank_t>{0, 2}));
    }
}

TEST_CASE("report: counters count what a communicator sends and waits for") {
    std::vector<counters> seen(2);
    in_process{2}.run([&](auto link) {
        const rank_t me = link.rank();
        communicator comm{std::move(link)};
        double x = 1;
        for (int i = 0; i != 5; ++i) allreduce(comm, std::span(&x, 1), plus{}, recursive_doubling{});
        std::vector<double> long_one(1000, 1);
        broadcast(comm, std::span<double>(long_one), root{0}, flat{});
        seen[me] = comm.counters();
    });
    for (rank_t r = 0; r != 2; ++r) {
        CHECK(seen[r].calls == 6);
        CHECK(seen[r].messages == (r == 0 ? 6 : 5));
        CHECK(seen[r].bytes == (r == 0 ? 40 + 8000 : 40));
        CHECK(seen[r].waits <= 6);
    }
}

TEST_CASE("report: messages that come before their call are counted, and named while they wait") {
    simulated world(2, {.seed = 3});
    test::running_rank zero(world, 0,
                            {{test::made_call::what::broadcast, 0, 2}, {test::made_call::what::broadcast, 1, 3}}, {});
    test::running_rank one(world, 1, {{test::made_call::what::reduce, 1, 1}, {test::made_call::what::broadcast, 1, 1}},
                           {});
    for (int i = 0; i != 200; ++i) {
        zero.drive();
        one.comm(0).progress();
        world.advance_to(world.now_ns() + 1'000);
    }
    const std::string text = text_of(one.report());
    CHECK(text.find("early: 16 bytes from rank 0 for broadcast #1\n") != std::string::npos);
    CHECK(text.find("early: 24 bytes from rank 0 for broadcast #1 of communicator 1") != std::string::npos);
    std::vector<double> data(2);
    auto op = start_broadcast(one.comm(0), std::span<double>(data), root{0});
    for (int i = 0; i != 10 && !op.poll(); ++i) world.advance_to(world.now_ns() + 1'000);
    CHECK(op.poll());
    CHECK(one.comm(0).counters().early_messages == 1);
    CHECK(one.comm(0).counters().early_bytes == 16);
}

TEST_CASE("report: a failure is reported once to the function that the options name, with what was in flight") {
    test::hanging_job job;
    job.victim = 2;
    job.calls = {{test::made_call::what::allreduce, 0, 1}, {test::made_call::what::allreduce, 1, 2}};
    job.at = 1;
    std::vector<rank_report> reported;
    report_sink to;
    to.context = &reported;
    to.function = [](const report_sink& self, const rank_report& one) {
        static_cast<std::vector<rank_report>*>(self.context)->push_back(one);
    };
    const test::outcome_of_hang ended = test::run_hang(job, {.on_failure = to});
    CHECK(ended.has_failed);
    REQUIRE(reported.size() == 3);
    merged_reports all;
    std::string fault;
    for (const rank_report& r : reported) CHECK(all.add(r, "r", fault));
    const diagnosis d = all.find();
    CHECK(d.what == diagnosis::cause::not_called);
    CHECK(d.ranks == std::vector<rank_t>{2});
    CHECK(d.sentence.find("rank 2 has not called allreduce #1 of communicator 1, 16 bytes") == 0);
    CHECK(all.text().find("waits for rank 2 (step") != std::string::npos);
    CHECK(all.text().find("rank 2: no report and no recording") != std::string::npos);
}

TEST_CASE("report: ranks that chose different plans are told both of them in words, and why that may be") {
    std::vector<rank_report> made(3);
    in_process{3}.run([&](auto link) {
        const rank_t me = link.rank();
        communicator comm{std::move(link)};
        std::array<double, 12> x{};
        std::error_code code;
        if (me == 1)
            allreduce(comm, std::span(x), plus{}, recursive_doubling{}, code);
        else
            allreduce(comm, std::span(x), plus{}, flat{}, code);
        CHECK(code);
        made[me] = comm.report();
    });
    merged_reports all;
    std::string fault;
    for (const rank_report& one : made) all.add(one, "a report", fault);
    const diagnosis d = all.find();
    INFO(d.sentence);
    CHECK((d.what == diagnosis::cause::differs && d.ranks == std::vector<rank_t>{1}));
    CHECK(d.sentence.find("(recursive_doubling, where others have ") != std::string::npos);
    CHECK(d.sentence.find("flat") != std::string::npos);
    CHECK(d.sentence.find("perhaps the ranks run different builds") != std::string::npos);
}
TEST_CASE("report: a signal asks the ranks that wait for reports, and its handler of before is called") {
    static volatile std::sig_atomic_t before = 0;
    std::signal(SIGUSR2, [](int) { before = before + 1; });
    std::ostringstream out;
    std::vector<status> ended(2);
    in_process{2}.run([&](auto link) {
        const rank_t me = link.rank();
        communicator comm{
            std::move(link),
            {.timeout_ns = 20'000'000'000, .report = {.on_signal = SIGUSR2, .signalled = report_to(out)}}};
        double x = 1;
        if (me == 0) return allreduce(comm, std::span(&x, 1), plus{}, ended[0]);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        std::raise(SIGUSR2);
        for (int i = 0; i != 100 && out.view().empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        comm.core()->options.report.on_signal = 0; // two ranks of one process: the other one answers
        allreduce(comm, std::span(&x, 1), plus{}, ended[1]);
    });
    std::signal(SIGUSR2, SIG_DFL);
    CHECK(before == 1);
    CHECK_FALSE(ended[0]);
    CHECK_FALSE(ended[1]);
    CHECK(out.str().find("allreduce #1 of 8 bytes") != std::string::npos);
    CHECK(out.str().find("waits for rank 1") != std::string::npos);
}

TEST_CASE("report: hooks see the start, the messages and the end of each operation") {
    std::vector<events_seen> seen(2);
    in_process{2}.run([&](auto link) {
        const rank_t me = link.rank();
        communicator comm{std::move(link), {.report = {.hook = {&events_seen::see, &seen[me]}}}};
        double x = 1;
        for (int i = 0; i != 3; ++i) allreduce(comm, std::span(&x, 1), plus{}, recursive_doubling{});
        status s;
        broadcast(comm, std::span(&x, me == 0 ? 1 : 0), root{0}, s); // it fails
    });
    using kind = operation_event::kind;
    for (const events_seen& its : seen) {
        const auto count = [&](std::uint32_t number, kind what) {
            return std::count_if(its.all.begin(), its.all.end(),
                                 [&](const operation_event& e) { return e.number == number && e.what == what; });
        };
        for (std::uint32_t n = 1; n <= 3; ++n) {
            CHECK(count(n, kind::start) == 1);
            CHECK(count(n, kind::sent) == 1);
            CHECK(count(n, kind::arrived) == 1);
            CHECK(count(n, kind::combined) == 1);
            CHECK(count(n, kind::end) == 1);
        }
        const operation_event& last = its.all.back();
        CHECK(last.what == kind::end);
    }
}

TEST_CASE("report: what is cut, broken, empty, of another version or of another job is refused in a sentence") {
    const rank_report whole = of_one_rank();
    const std::span<const std::byte> bytes(whole.bytes());
    CHECK(fault_of(bytes).empty());
    CHECK(fault_of({}) == "it: is empty");
    CHECK(fault_of(bytes.first(20)) == "it: is cut: it ends in the first bytes of a recording");
    CHECK(fault_of(bytes.first(200)).starts_with("it: is cut: it has 200 of the first "));
    CHECK(fault_of(bytes.first(bytes.size() - 100)).starts_with("it: is cut: it has "));
    CHECK(fault_of(bytes.subspan(8)) == "it: is no recording of bough");
    CHECK(fault_of(std::as_bytes(std::span("#!/bin/sh\necho this is a text of some length", 40))) ==
          "it: is no recording of bough");
    using head = detail::recording_header;
    CHECK(fault_of(changed(whole, [](head& h) { h.version = 7; }).bytes())
              .starts_with("it: is of another version of bough: format 7 with a head of "));
    for (const rank_report& bad :
         {changed(whole, [](head& h) { h.of.rank = 1; }), changed(whole, [](head& h) { h.of.size = 0; }),
          changed(whole, [](head& h) { h.of.calls = 65; }), changed(whole, [](head& h) { h.bytes += 64; }),
          changed(whole, [](head& h) { h.of.members = 7; }),
          changed(whole, [](head& h) { h.poison.code = static_cast<errc>(200); })})
        CHECK(fault_of(bad.bytes()) == "it: is broken: its head contradicts itself");

    merged_reports all;
    std::string fault;
    REQUIRE(all.add(whole, "a", fault));
    CHECK(all.add(whole, "again", fault)); // the same
    CHECK_FALSE(all.add(of_one_rank(), "b", fault));
    CHECK(fault == "b: is of rank 0, that of a too, but of another process: they are of different jobs");
    CHECK_FALSE(all.add(changed(whole, [](head& h) { h.of.size = 2; }), "c", fault));
    CHECK(fault == "c: is of a job of 2 ranks, that of a of one of 1");
    merged_reports jobs;
    REQUIRE(jobs.add(changed(whole, [](head& h) { h.of.job = 5; }), "a", fault));
    CHECK_FALSE(jobs.add(changed(whole, [](head& h) { h.of.job = 6; }), "b", fault));
    CHECK(fault == "b: is of job 6, that of a of job 5");
    // Every length and every changed byte is read to some end.
    for (std::size_t n = 0; n < bytes.size(); n += n < 300 ? 1 : 97) (void)fault_of(bytes.first(n));
    for (std::size_t i = 0; i != sizeof(head); ++i) {
        std::vector<std::byte> one(bytes.begin(), bytes.end());
        one[i] ^= std::byte{0x55};
        merged_reports some;
        some.add(one, "it", fault);
        if (!some.empty()) (void)some.text();
    }
}

TEST_CASE("report: a file that cannot be written is refused in a sentence") {
    const status bad = save(of_one_rank(), "/nowhere/at/all");
    CHECK(bad.code == errc::invalid_argument);
    CHECK(std::string(bad.argument) == "file: cannot be written");
    CHECK(save(of_one_rank(), "/dev/full").code == errc::no_resources);
}
