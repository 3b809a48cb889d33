// SPDX-License-Identifier: BSL-1.0
// Traces are those of the simulator, to the last bit; pictures and Chrome traces hold every deed and message.
#include "support/catch.hpp"
#include <bough/algorithm/allreduce/recursive_doubling.hpp>
#include <bough/algorithm/reduce/tree.hpp>
#include <bough/algorithm/ring.hpp>
#include <bough/model/alpha_beta_gamma.hpp>
#include <bough/model/logp.hpp>
#include <bough/model/lrc.hpp>
#include <bough/simulate/export_chrome.hpp>
#include <bough/simulate/export_svg.hpp>
#include <bough/simulate/simulate.hpp>
#include <bough/tree/fnomial.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace bough;

namespace {

constexpr model::lrc hosts{
    .message_latency_ns = 5000, .receive = {700, 0.5}, .combine = {300, 0.25}, .startup_ns = 100, .copy = {50, 0.1}};
constexpr model::loggops wires{
    .message_latency_ns = 2500, .overhead = {1500}, .gap = {1000, 0.1}, .combine = {0, 0.5}, .copy = {0, 0.1}};
constexpr model::alpha_beta_gamma ports{.alpha_ns = 5000, .beta_ns_per_byte = 1, .gamma_ns_per_byte = 0.25};

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
}

// All numbers that follow `key` in a line of the picture.
std::vector<double> numbers_of(const std::string& text, const std::vector<std::string>& keys,
                               const std::string& which) {
    std::vector<double> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        if (line.find(which) == std::string::npos) continue;
        for (std::size_t at = 0; at != std::string::npos;) {
            std::size_t next = at;
            for (const std::string& key : keys) {
                next = line.find(key, next);
                if (next == std::string::npos) break;
                next += key.size();
                found.push_back(std::strtod(line.c_str() + next, nullptr));
            }
            at = next;
        }
    }
    return found;
}
// Boxes and arrows are where the times of the run say, to a hundredth of a pixel.
void check_picture(const sim_trace& run) {
    std::ostringstream out;
    export_svg(out, run, {.width = 900});
    const double scale = (900 - 74 - 30) / (run.result.makespan_ns > 0 ? run.result.makespan_ns : 1);
    const auto x = [&](double ns) { return 74 + ns * scale; };
    const auto y = [](rank_t r) { return 96 + (r + 0.5) * 24; };
    using places = std::vector<std::array<double, 4>>;
    const auto check_same = [](const std::vector<double>& found, places expected, std::size_t of) {
        places its;
        for (std::size_t i = 0; i + of <= found.size(); i += of) {
            std::array<double, 4> one{};
            std::copy_n(found.begin() + static_cast<std::ptrdiff_t>(i), of, one.begin());
            its.push_back(one);
        }
        REQUIRE(its.size() == expected.size());
        for (const auto& e : expected) {
            const auto near = std::find_if(its.begin(), its.end(), [&](const auto& one) {
                for (std::size_t k = 0; k != of; ++k)
                    if (std::abs(one[k] - e[k]) > 0.0101) return false;
                return true;
            });
            CAPTURE(e[0], e[1], e[2], e[3]);
            REQUIRE(near != its.end());
            its.erase(near);
        }
    };
    places boxes, arrows;
    std::map<std::size_t, places::value_type> ends;
    for (rank_t r = 0; r != run.size; ++r) {
        double free_ns = run.arrival_ns[r];
        for (std::size_t i = run.first[r]; i != run.first[r + 1]; ++i) {
            const traced_deed& d = run.deeds[i];
            const auto box = [&](double from, double to) {
                boxes.push_back({x(from), y(r) - 7.5, std::max(1.2, (to - from) * scale), 15});
            };
            if (d.verb == verb::receive && d.begin_ns > free_ns) box(free_ns, d.begin_ns);
            box(d.begin_ns, d.end_ns);
            free_ns = d.end_ns;
            if (d.verb == verb::send) {
                const double down = d.peer > r ? 7.5 : -7.5;
                ends[d.message][0] = x(d.end_ns), ends[d.message][1] = y(r) + down;
                ends[d.message][3] = y(d.peer) - down;
            }
            if (d.verb == verb::receive) ends[d.message][2] = x(d.begin_ns);
        }
    }
    for (const auto& [message, at] : ends) arrows.push_back(at);
    std::string text = out.str();
    text.erase(0, text.find("</defs>"));
    check_same(numbers_of(text, {"M", " ", "h", "v"}, "<path d=\"M"), boxes, 4);
    text.erase(0, text.find("<g stroke")); // what stands before is the legend
    check_same(numbers_of(text, {"x1=\"", "y1=\"", "x2=\"", "y2=\""}, "<line"), arrows, 4);
}

template <class P, class M>
void check(const P& plan, const M& model, const sim_options& options) {
    const sim_trace run = trace(plan, model, options);
    sim_options figures = options;
    figures.per_rank = true;
    const sim_result same = simulate(plan, model, figures);
    CHECK(run.result == simulate(plan, model, options));
    REQUIRE(run.first.size() == plan.size() + std::size_t{1});
    CHECK(run.deeds.size() == same.events);
    std::map<std::uint32_t, std::vector<const traced_deed*>> messages;
    double last_ns = 0;
    for (rank_t r = 0; r != plan.size(); ++r) {
        CHECK(run.arrival_ns[r] == same.ranks[r].arrival_ns);
        double busy_ns = 0, free_ns = run.arrival_ns[r];
        std::vector<step> wanted; // in program order, the last parts
        for (const step& s : plan.schedule_of(r))
            if (!s.more) wanted.push_back(s);
        CHECK(run.first[r + 1] - run.first[r] == wanted.size());
        for (std::size_t i = run.first[r]; i != run.first[r + 1]; ++i) {
            const traced_deed& d = run.deeds[i];
            CHECK(d.rank == r);
            CHECK(d.begin_ns >= free_ns); // one deed at a time
            CHECK(d.end_ns >= d.begin_ns);
            free_ns = d.end_ns;
            busy_ns += d.end_ns - d.begin_ns;
            if (options.order == step_order::program) {
                CHECK(d.verb == wanted[i - run.first[r]].verb);
                CHECK(d.peer == wanted[i - run.first[r]].peer);
            }
            if (d.peer != no_rank) messages[d.message].push_back(&d);
        }
        if (!options.noise.interrupts()) CHECK(busy_ns + model.start_ns() == Approx(same.ranks[r].busy_ns));
        last_ns = std::max(last_ns, free_ns);
    }
    CHECK(last_ns <= same.makespan_ns);
    CHECK(messages.size() == same.messages);
    for (const auto& [number, ends] : messages) {
        REQUIRE(ends.size() == 2);
        const traced_deed& s = *ends[ends[0]->verb != verb::send];
        const traced_deed& t = *ends[ends[0]->verb == verb::send];
        CHECK(s.verb == verb::send);
        CHECK(t.verb == verb::receive);
        CHECK(s.peer == t.rank);
        CHECK(t.peer == s.rank);
        CHECK(s.bytes == t.bytes);
        CHECK(t.begin_ns >= s.end_ns);
    }

    check_picture(run);
    std::ostringstream svg, chrome;
    export_svg(svg, run, {.title = "a <b> & \"c\""});
    export_chrome(chrome, run, "a \"b\"");
    CHECK(count_of(svg.str(), "marker-end=\"url(#head)\"/>") ==
          same.messages + (same.messages != 0 ? 1 : 0)); // and the legend
    CHECK(svg.str().find("a &lt;b&gt; &amp; &quot;c&quot;") != std::string::npos);
    CHECK(svg.str().ends_with("</svg>\n"));
    CHECK(count_of(chrome.str(), "\"ph\":\"s\"") == same.messages);
    CHECK(count_of(chrome.str(), "\"ph\":\"f\"") == same.messages);
    CHECK(count_of(chrome.str(), "\"ph\":\"X\"") - count_of(chrome.str(), "\"cat\":\"wait\"") == run.deeds.size());
    CHECK(count_of(chrome.str(), "thread_name") == plan.size());
}

} // namespace

TEST_CASE("a trace is the simulated run, whatever the engine") {
    for (const rank_t p : {1u, 2u, 7u, 13u}) {
        CAPTURE(p);
        const auto doubling = plan_allreduce(recursive_doubling{}, {.size = p});
        const auto tree = plan_reduce(fnomial{.degree = 4}, {.size = p, .blocks = 3});
        const auto around = plan_allreduce(ring{}, {.size = p});
        const noise skew{.seed = 3, .arrival = {noise::coming::exponential, 20'000, {}}};
        check(doubling, hosts, {.bytes = 4096});
        check(doubling, hosts, {.bytes = 4096, .noise = skew});
        check(tree, hosts, {.bytes = 999, .engine = simulator::discrete});
        check(tree, wires, {.bytes = 999, .order = step_order::dependence});
        check(around, ports, {.bytes = 4096});
        check(around, wires, {.bytes = 4096, .noise = {.daemons = {{.period_ns = 30'000, .duration_ns = 4'000}}}});
        check(around, wires, {.bytes = 4096, .slots = 1, .eager_bytes = 100});
    }
}

TEST_CASE("the axis of time has round steps, at most twelve, at least four") {
    for (const double ns : {1.0, 7.0, 999.0, 10'000.0, 12'345.0, 99'999.0, 1e6, 9.9e6, 1e7, 3.3e9, 1e12}) {
        const detail::time_axis axis = detail::axis_of(ns);
        CAPTURE(ns, axis.step, axis.unit);
        const double steps = ns / axis.scale / axis.step;
        CHECK(steps <= 12);
        CHECK(steps >= 3.5);
    }
    CHECK(detail::axis_of(0).step == 1);
    CHECK(std::string(detail::axis_of(20'000).unit) == "µs");
}

TEST_CASE("a picture of many ranks leaves out what nobody could see") {
    const sim_trace run = trace(plan_allreduce(recursive_doubling{}, {.size = 1024}), wires, {.bytes = 64});
    std::ostringstream with, without;
    export_svg(with, run);
    CHECK(count_of(with.str(), "marker-end") == 1); // of the legend
    CHECK(with.str().size() < 2'500'000);
    export_svg(without, run, {.most_messages = 100});
    CHECK(without.str().find("10240 messages, not drawn") != std::string::npos);
    CHECK(without.str().size() < 2'000'000);
}
