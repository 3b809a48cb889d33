// SPDX-License-Identifier: BSL-1.0
// The answers to what the page asks.
#include "answers.hpp"

#include "algorithms.hpp"
#include "describe.hpp"
#include "parse.hpp"
#include "program.hpp"
#include "question.hpp"
#include "short_name.hpp"
#include <bough/core/version.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/schedule/print_verdict.hpp>
#include <bough/select/choose.hpp>
#include <bough/simulate/trace.hpp>
#include <bough/tree/export_svg.hpp>
#include <bough/tree/in_order.hpp>
#include <bough/tree/outline.hpp>
#include <bough/tree/tree.hpp>
#include <bough/verify/verify.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace playground {

namespace {

using cli::json;

// --- What there is --------------------------------------------------------------------------------

json catalogue(const question&) {
    const bough::version v;
    json document{{"version", std::to_string(v.major) + '.' + std::to_string(v.minor) + '.' + std::to_string(v.patch)},
                  {"most_ranks", most_ranks},
                  {"collectives", json::array()}};
    for (const cli::collective c : cli::all_collectives()) {
        json algorithms = json::array();
        if (cli::has_trees(c))
            for (const cli::shape_name& s : cli::shape_names())
                algorithms.push_back({{"name", s.name},
                                      {"tree", true},
                                      {"degree", s.takes_degree},
                                      {"ordered", cli::find_shape(s.name, {})->rank_ordered()}});
        for (const cli::named_algorithm& a : cli::named_algorithms(c))
            algorithms.push_back(
                {{"name", a.name}, {"tree", false}, {"degree", a.of_degree != nullptr}, {"ordered", false}});
        document["collectives"].push_back(
            {{"name", cli::name_of(c)},
             {"rooted", c == cli::collective::reduce || c == cli::collective::broadcast ||
                            c == cli::collective::gather || c == cli::collective::scatter},
             {"rank_blocks", cli::has_rank_blocks(c)},
             {"combines", cli::combines(c)},
             {"algorithms", std::move(algorithms)}});
    }
    return document;
}

// --- A plan ---------------------------------------------------------------------------------------

json json_of(const bough::verdict& v) {
    json value{{"right", bool(v)}, {"fault", bough::fault_name(v.fault)}, {"sentence", bough::to_string(v)}};
    if (v) return value;
    const auto known = [](std::uint32_t number) { return number == 0xffff'ffffu ? json(nullptr) : json(number); };
    value.update({{"rank", known(v.rank)}, {"step", known(v.step)}, {"block", v.block}, {"peer", known(v.peer)}});
    return value;
}

json traits_of(const bough::plan_traits& t, cli::collective c) {
    json all = json::array();
    for (const cli::trait& f : cli::traits())
        all.push_back({{"name", f.name}, {"meaning", f.meaning}, {"value", f.value(t)}});
    if (c == cli::collective::barrier) return all; // the rest is about values
    for (const cli::trait& a : cli::properties())
        all.push_back({{"name", a.name}, {"meaning", a.meaning}, {"value", a.value(t) != 0}});
    return all;
}

// Parents before children; x in leaves from the left, depth in edges from the root.
json json_of_tree(const bough::Tree auto& tree) {
    json value{{"rank", json::array()},
               {"parent", json::array()},
               {"turn", json::array()},
               {"depth", json::array()},
               {"x", json::array()}};
    const auto placed = bough::detail::place_tree(tree);
    for (const auto& p : placed) {
        value["rank"].push_back(p.rank);
        value["parent"].push_back(placed[p.parent].rank);
        value["turn"].push_back(p.turn);
        value["depth"].push_back(p.depth);
        value["x"].push_back(p.x);
    }
    value["outline"] = bough::outline(tree).str();
    return value;
}
json tree_of(const asked_plan& asked) {
    if (!asked.tree) return nullptr;
    const auto& at = asked.what.at;
    if (asked.ordered) return json_of_tree(bough::in_order(*asked.tree, at.size, at.root));
    return json_of_tree(bough::tree(*asked.tree, at.size, at.root));
}

// A plan that breaks a rule of a single step, or of the cut of messages, cannot be run at all.
bool can_run(bough::fault f) {
    switch (f) {
    case bough::fault::bad_peer:
    case bough::fault::bad_slice:
    case bough::fault::broken_message:
    case bough::fault::length_mismatch: return false;
    default: return true;
    }
}

// The columns of the last run.
struct run_columns {
    std::vector<std::int32_t> verb, peer, message, step;
    std::vector<double> begin, end;

    void add(const bough::traced_deed& d, std::int32_t of_step) {
        verb.push_back(static_cast<std::int32_t>(d.verb));
        peer.push_back(d.peer == bough::no_rank ? -1 : static_cast<std::int32_t>(d.peer));
        message.push_back(d.message == ~0u ? -1 : static_cast<std::int32_t>(d.message));
        step.push_back(of_step);
        begin.push_back(d.begin_ns);
        end.push_back(d.end_ns);
    }
};
run_columns last_run;

// Also keeps the columns.
json json_of(const bough::sim_trace& run, std::span<const bough::schedule> schedules) {
    const bough::sim_result& r = run.result;
    json value{{"makespan_ns", r.makespan_ns}, {"messages", r.messages}, {"bytes", r.bytes}, {"stuck", nullptr},
               {"unended", json::array()},     {"first", run.first}};
    if (r.deadlock())
        value["stuck"] = {{"rank", r.stuck}, {"on", r.stuck_on == bough::no_rank ? json(nullptr) : json(r.stuck_on)}};
    for (bough::rank_t rank = 0; rank != run.size; ++rank) {
        const bough::schedule& steps = schedules[rank];
        std::size_t at = 0; // the parts of a message are one deed, the last part's
        for (std::size_t i = run.first[rank]; i != run.first[rank + std::size_t{1}]; ++i) {
            const bough::traced_deed& d = run.deeds[i];
            while (at != steps.size() && (steps[at].more || steps[at].verb != d.verb || steps[at].peer != d.peer)) ++at;
            last_run.add(d, at == steps.size() ? -1 : static_cast<std::int32_t>(at++));
        }
        if (r.deadlock() && at != steps.size()) value["unended"].push_back(rank);
    }
    return value;
}

// What does not depend on the goal is compiled once, with plan_ref.
json run_of(const asked_plan& asked, const bough::plan_ref& plan, std::span<const bough::schedule> schedules) {
    return std::visit(
        [&](const auto& costs) { return json_of(bough::trace(plan, costs, {.bytes = asked.bytes}), schedules); },
        asked.model.costs);
}

json plan(const question& q) {
    last_run = {};
    const asked_plan asked = parse_plan(q);
    json document = cli::json_of(asked.what);
    document["text"] = cli::text_of(asked.what);
    document["bytes"] = asked.bytes;
    document["model"] = asked.model.text;
    document["changes"] = asked.edits.size();
    cli::with_plain_plan(asked.what, [&](const auto& before) {
        // Both refuse: what is too long, and what cannot be changed.
        std::vector<bough::schedule> schedules = cli::affordable_schedules(asked.what);
        std::size_t steps = 0;
        for (const bough::schedule& s : schedules) steps += s.steps.size();
        document["cpp"] = program_of(asked, steps);
        const edited_plan plan(before, std::move(schedules), asked.edits);
        const bough::verdict found = bough::verify(plan);
        document["verdict"] = json_of(found);
        if (found) document["traits"] = traits_of(found.traits, asked.what.collective);
        document["tree"] = tree_of(asked);
        document["run"] = can_run(found.fault) ? run_of(asked, bough::plan_ref(plan), plan.schedules()) : json();
    });
    return document;
}

json steps_of(const bough::schedule& before, const edit_list& edits, bough::rank_t rank) {
    const std::vector<edited_step> lines = apply(edits, rank, before);
    bough::schedule schedule;
    for (const edited_step& s : lines)
        if (!s.dropped) schedule.steps.push_back(s.step);
    const bough::dependences depend = bough::infer_dependences(schedule.steps);
    json document{{"rank", rank}, {"steps", json::array()}};
    std::uint32_t number = 0;
    for (const edited_step& s : lines) {
        json one{{"line", s.line}, {"number", nullptr}, {"changed", s.changed}, {"text", bough::to_string(s.step)}};
        if (s.dropped) {
            one.update(cli::json_of(s.step, {}, bough::no_step));
        } else {
            one["number"] = number;
            one.update(cli::json_of(s.step, depend.of(number), depend.channel[number]));
            ++number;
        }
        document["steps"].push_back(std::move(one));
    }
    return document;
}

json steps(const question& q) {
    const asked_plan asked = parse_plan(q);
    const auto rank =
        static_cast<bough::rank_t>(cli::parse_number("--rank", q.value("rank", "0"), 0, asked.what.at.size - 1));
    cli::check_affordable(asked.what, rank);
    return cli::with_plain_plan(asked.what,
                                [&](const auto& plan) { return steps_of(plan.schedule_of(rank), asked.edits, rank); });
}

// --- Who wins where -------------------------------------------------------------------------------

json fastest(const question& q) {
    const cli::collective c = cli::find_collective(q.value("collective", "allreduce"));
    const auto ranks = static_cast<bough::rank_t>(cli::parse_number("--ranks", q.value("ranks", "13"), 1, most_ranks));
    const auto sizes = cli::byte_range_of(c, c == cli::collective::barrier ? "" : q.value("bytes"), "8..16M");
    const cli::timed_model model = cli::parse_timed_model(q.value("model", "2500,1500,1000,0.1,0"));
    const bough::any_cost_model costs =
        std::visit([](const auto& m) -> bough::any_cost_model { return m; }, model.costs);
    json document{{"collective", cli::name_of(c)}, {"ranks", ranks}, {"model", model.text}, {"cells", json::array()}};
    for (const std::uint64_t bytes : sizes) {
        const bough::dimensions at{.size = ranks};
        const bough::problem what{.bytes = bytes};
        const auto made =
            bough::choose(cli::standard_candidates(c, at, what, {}, costs), at, what, costs, {.in_a_loop = true});
        json cell{{"bytes", bytes}, {"algorithm", nullptr}};
        if (made) {
            cell["algorithm"] = cli::short_name(made.winner().what.algorithm, ranks);
            cell["blocks"] = made.winner().blocks;
            cell["ns"] = made.winner().predicted_ns;
        }
        document["cells"].push_back(std::move(cell));
    }
    return document;
}

template <class F>
const char* answer(const char* text, F&& f) {
    static std::string kept;
    try {
        kept = f(question(text)).dump();
    } catch (const cli::usage_error& refused) {
        kept = json{{"refused", refused.what()}}.dump();
    }
    return kept.c_str();
}

} // namespace

} // namespace playground

const char* bough_playground_catalogue(const char* question) {
    return playground::answer(question, playground::catalogue);
}
const char* bough_playground_plan(const char* question) { return playground::answer(question, playground::plan); }
const char* bough_playground_steps(const char* question) { return playground::answer(question, playground::steps); }
const char* bough_playground_fastest(const char* question) { return playground::answer(question, playground::fastest); }
const std::int32_t* bough_playground_numbers(const char* name) {
    const auto& run = playground::last_run;
    const std::string_view wanted = name;
    return wanted == "verb"      ? run.verb.data()
           : wanted == "peer"    ? run.peer.data()
           : wanted == "message" ? run.message.data()
           : wanted == "step"    ? run.step.data()
                                 : nullptr;
}
const double* bough_playground_times(const char* name) {
    const auto& run = playground::last_run;
    const std::string_view wanted = name;
    return wanted == "begin" ? run.begin.data() : wanted == "end" ? run.end.data() : nullptr;
}
