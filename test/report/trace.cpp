// SPDX-License-Identifier: BSL-1.0
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/group.hpp>
#include <bough/interchange/run_trace.hpp>
#include <bough/model/lrc.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/report/read_trace.hpp>
#include <bough/report/trace.hpp>
#include <bough/report/trace_file.hpp>
#include <bough/schedule/plan.hpp>
#include <bough/select/any_cost_model.hpp>
#include <bough/select/transport_costs.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/transport/in_process.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;

namespace {

struct file_of_test {
    explicit file_of_test(const char* what)
        : name("/tmp/bough_test_" + std::to_string(::getpid()) + '.' + what + ".trace") {}
    ~file_of_test() { std::remove(name.c_str()); }
    std::string bytes() const {
        std::ifstream in(name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    }
    std::string name;
};
std::span<const std::byte> as_bytes(const std::string& text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
merged_traces merged(const std::string& bytes) {
    merged_traces all;
    std::string fault;
    INFO(fault);
    REQUIRE(all.add(as_bytes(bytes), "it", fault));
    return all;
}
std::string json_of(const merged_traces& all) {
    std::ostringstream out;
    all.write(out);
    return out.str();
}
std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}
// A number of a line, in thousandths.
std::uint64_t number(const std::string& line, const std::string& name) {
    const std::size_t at = line.find('"' + name + "\":");
    REQUIRE(at != std::string::npos);
    std::string digits;
    for (std::size_t i = at + name.size() + 3; line[i] == '.' || (line[i] >= '0' && line[i] <= '9'); ++i)
        if (line[i] != '.') digits += line[i];
    return std::stoull(digits);
}
// In each track a slice lies in the one that was open, or begins when it has ended.
void check_nested(const std::string& json) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint64_t>> open; // ends, by rank and track
    std::istringstream in(json);
    std::size_t slices = 0;
    for (std::string line; std::getline(in, line);) {
        if (line.find("\"ph\":\"X\"") == std::string::npos) continue;
        const std::uint64_t begin = number(line, "ts"), end = begin + number(line, "dur");
        auto& ends = open[{number(line, "pid"), number(line, "tid")}];
        while (!ends.empty() && ends.back() <= begin) ends.pop_back();
        INFO(line);
        REQUIRE((ends.empty() || end <= ends.back()));
        ends.push_back(end);
        ++slices;
    }
    CHECK(slices != 0);
}

constexpr model::lrc costs{
    .message_latency_ns = 900, .receive = {300, 0.5}, .combine = {20, 0.25}, .startup_ns = 50, .copy = {5, 0.1}};

// 3 ranks: duplicate, 10 allreduces of 24 bytes, and 4 barriers of the other communicator.
std::string trace_of_three(std::uint64_t& messages, problem* cores = nullptr) {
    const file_of_test file("three");
    std::atomic<std::uint64_t> sent{0};
    {
        const std::shared_ptr<trace_place> place = trace_file(file.name);
        in_process{3}.run([&](auto link) {
            if (cores != nullptr && link.rank() == 0)
                *cores = {.cores = cores_of(link), .switch_ns = switch_ns_of(link)};
            communicator comm{std::move(link), {.costs = costs, .report = {.trace = place}}};
            auto other = duplicate(comm);
            std::vector<double> x(3, 1);
            for (int i = 0; i != 10; ++i) allreduce(comm, std::span(x), plus{}, recursive_doubling{});
            for (int i = 0; i != 4; ++i) barrier(other);
            sent += comm.counters().messages + other.counters().messages;
        });
    }
    messages = sent;
    return file.bytes();
}

} // namespace

TEST_CASE("trace: each call of each rank is a slice, with its messages and a prediction") {
    std::uint64_t messages = 0;
    const merged_traces all = merged(trace_of_three(messages));
    const trace_figures f = all.figures();
    CHECK(f.ranks == 3);
    CHECK(f.calls == 3 * (1 + 10 + 4)); // duplicate is a call, too
    CHECK(f.messages == messages);
    CHECK(f.predicted == f.calls);
    CHECK(f.failed == 0);
    CHECK(f.in_flight == 0);
    CHECK(f.lost == 0);
    CHECK(all.notes().empty());
    const std::string json = json_of(all);
    CHECK(count(json, "\"cat\":\"call\"") == f.calls);
    CHECK(count(json, "\"cat\":\"prediction\"") == f.calls);
    CHECK(count(json, "\"cat\":\"send\"") == messages);
    CHECK(count(json, "\"cat\":\"receive\"") == messages);
    CHECK(count(json, "\"ph\":\"s\"") == messages);
    CHECK(count(json, "\"ph\":\"f\"") == messages);
    CHECK(count(json, "\"name\":\"allreduce #11\"") == 3);
    CHECK(count(json, "\"bytes\":24,\"elements\":3,\"plan\":\"recursive_doubling\"") == 30);
    CHECK(count(json, "ends here") == 0);
    CHECK(count(json, "\"args\":{\"name\":\"rank 2\"}") == 1);
    check_nested(json);
}

TEST_CASE("trace: a prediction is the simulation of the call's plan with the communicator's costs") {
    std::uint64_t messages = 0;
    problem cores;
    const std::string bytes = trace_of_three(messages, &cores);
    std::span<const std::byte> left = as_bytes(bytes);
    std::vector<detail::read_part> parts;
    std::string fault;
    while (!left.empty()) REQUIRE(detail::read_trace(left, parts.emplace_back(), fault));
    detail::traced_run run = detail::run_collector<0>(parts).run();
    detail::traced_ranks whole;
    for (detail::traced_track& t : run.tracks)
        if (t.of.context == 0) {
            t.calls[1].begin_ns = 1000; // the first is that of duplicate
            whole.tracks.push_back(&t);
            whole.calls.push_back(&t.calls[1]);
        }
    REQUIRE(whole.calls.size() == 3);
    sim_trace made;
    REQUIRE(detail::predict_call(whole, made));
    const plan<goal::allreduce, recursive_doubling> expected({}, {.size = 3});
    const auto seen = detail::share_cores(costs, cores, 3);
    const sim_result simulated = simulate(expected, seen, {.bytes = 24, .element_bytes = 8});
    CHECK(made.result.makespan_ns > 1000);
    const double difference = made.result.makespan_ns - simulated.makespan_ns;
    CHECK((difference < 0.5 && difference > -0.5)); // costs are written as floats
    CHECK(made.result.messages == simulated.messages);

    // A rank that has sent less than its plan says, or made another call: there is no prediction.
    detail::traced_call other = *whole.calls[1];
    other.messages.clear();
    whole.calls[1] = &other;
    CHECK_FALSE(detail::predict_call(whole, made));
    other = *whole.calls[0];
    ++other.count;
    CHECK_FALSE(detail::predict_call(whole, made));
}

TEST_CASE("trace: a call that failed says why, one that has not ended is in flight") {
    const file_of_test file("failed");
    std::atomic<bool> has_called{false}, is_looked_at{false};
    std::string in_between;
    {
        const std::shared_ptr<trace_place> place = trace_file(file.name);
        in_process{2}.run([&](auto link) {
            const rank_t me = link.rank();
            communicator comm{std::move(link), {.timeout_ns = 50'000'000, .report = {.trace = place}}};
            double x = 1;
            allreduce(comm, std::span(&x, 1), plus{});
            if (me == 1) has_called = true;
            while (!has_called) std::this_thread::yield();
            if (me == 0) {
                status s;
                auto op = start_allreduce(comm, std::span(&x, 1), plus{});
                in_between = file.bytes();
                (void)op.wait(s);
                CHECK(s.code == errc::deadline);
                is_looked_at = true;
            }
            while (!is_looked_at) std::this_thread::yield();
        });
    }
    const merged_traces during = merged(in_between), after = merged(file.bytes());
    CHECK(during.figures().in_flight == 1);
    CHECK(during.figures().failed == 0);
    CHECK(count(json_of(during), "\"name\":\"allreduce #2: in flight at the end\"") == 1);
    CHECK(count(json_of(during), "\"ended\":false") == 1);
    CHECK(after.figures().in_flight == 0);
    CHECK(after.figures().failed == 1);
    CHECK(count(json_of(after), std::string("\"error\":\"") + describe(errc::deadline)) == 1);
    check_nested(json_of(during));
    check_nested(json_of(after));
}

TEST_CASE("trace: a part of a program, and a file that has no room") {
    const file_of_test file("paused"), small("small");
    {
        const std::shared_ptr<trace_place> place = trace_file(file.name);
        const std::shared_ptr<trace_place> full = trace_file(small.name, 8192);
        for (const auto& [to, calls] : {std::pair{place, 10}, {full, 1000}})
            in_process{1}.run([&, its = to, n = calls](auto link) {
                communicator comm{std::move(link), {.report = {.trace = its}}};
                for (int i = 0; i != n; ++i) {
                    if (i == 3) its->pause();
                    if (i == 7) its->resume();
                    barrier(comm);
                }
            });
    }
    CHECK(merged(file.bytes()).figures().calls == 6);
    const merged_traces cut = merged(small.bytes());
    const trace_figures f = cut.figures();
    CHECK(small.bytes().size() <= 8192);
    CHECK(f.calls > 20);
    CHECK(f.calls + f.lost >= 996);
    REQUIRE(cut.notes().size() == 1);
    CHECK(cut.notes()[0].find("had no room") != std::string::npos);
}

TEST_CASE(
    "trace: what is cut, broken, empty or of another version is refused in a sentence, and read as far as it goes") {
    std::uint64_t messages = 0;
    const std::string whole = trace_of_three(messages);
    const auto fault_of = [](const std::string& bytes) {
        merged_traces all;
        std::string fault;
        CHECK_FALSE(all.add(as_bytes(bytes), "it", fault));
        return fault;
    };
    CHECK(fault_of("") == "it: is empty");
    CHECK(fault_of("no trace, but a text that is long enough") == "it: is no trace of bough");
    CHECK(fault_of(whole.substr(0, 10)) == "it: is cut: it ends in the first bytes of a part");
    std::string other = whole;
    other[8] = 7;
    CHECK(fault_of(other).find("is of another version of bough: format 7") != std::string::npos);

    std::uint64_t calls = 0;
    for (std::size_t length = 300; length < whole.size(); length += 397) {
        merged_traces all;
        std::string fault;
        (void)all.add(as_bytes(whole).first(length), "it", fault);
        const trace_figures f = all.figures();
        CHECK(f.calls >= calls);
        CHECK(json_of(all).ends_with("]}\n"));
        calls = f.calls;
    }
    CHECK(calls > 20);
    std::uint64_t dice = 1;
    for (int i = 0; i != 300; ++i) { // nothing that a file says does harm
        std::string broken = whole;
        for (int k = 0; k != 4; ++k) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            broken[dice >> 33 & 1 ? (dice >> 34) % 1024 : (dice >> 34) % broken.size()] = static_cast<char>(dice >> 20);
        }
        merged_traces all;
        std::string fault;
        (void)all.add(as_bytes(broken), "it", fault);
        CHECK(json_of(all).ends_with("]}\n"));
    }
    status s;
    CHECK(trace_file("/no/such/folder/file", s) == nullptr);
    CHECK(s.code == errc::invalid_argument);
}
