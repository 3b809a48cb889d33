// SPDX-License-Identifier: BSL-1.0
// merged_traces: the traces of all ranks of a run as one file for Perfetto (ui.perfetto.dev) or
// chrome://tracing, with the prediction beside each call. `bough trace` does this.
//
//   bough::merged_traces all;
//   all.add(bytes_of_a_file, "its name", fault);        // each file that trace_file(), or BOUGH_TRACE, made
//   all.write(std::cout);                               // JSON
//   all.figures().in_flight                             // calls that had not ended
// Each rank is a process, each communicator a track: a slice for each call, in it a slice for each
// message that it sent, waited for and received, and an arrow for each message. Below is a track of what
// the call should have taken: its plan, simulated with the costs of the communicator, from the moments
// at which the ranks came. Calls that overlap have tracks of their own.
#ifndef BOUGH_INTERCHANGE_RUN_TRACE_HPP
#define BOUGH_INTERCHANGE_RUN_TRACE_HPP

#include <bough/core/config.hpp>
#include <bough/core/rank.hpp>
#include <bough/core/status.hpp>
#include <bough/error.hpp>
#include <bough/interchange/trace_prediction.hpp>
#include <bough/interchange/traced_run.hpp>
#include <bough/report/options.hpp>
#include <bough/report/read_trace.hpp>
#include <bough/report/words.hpp>
#include <bough/schedule/print_step.hpp>
#include <bough/simulate/trace.hpp>
#include <bough/tree/export_text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Of a merged trace; calls are counted on each rank.
struct trace_figures {
    std::uint64_t ranks = 0, calls = 0, failed = 0, in_flight = 0;
    std::uint64_t messages = 0;  // sent
    std::uint64_t predicted = 0; // calls with a prediction beside them
    std::uint64_t lost = 0;      // entries for which a file had no room
};

namespace detail {

// Events in Chrome's format, as text.
class trace_events {
public:
    // 1234567 ns: "1234.567", in microseconds.
    static std::string us(std::uint64_t ns) {
        std::array<char, 40> text{};
        (void)std::snprintf(text.data(), text.size(), "%llu.%03u", static_cast<unsigned long long>(ns / 1000),
                            static_cast<unsigned>(ns % 1000));
        return text.data();
    }
    static std::string quoted(std::string_view text) { return '"' + json_text(text) + '"'; }
    static std::string place(rank_t rank, std::size_t track) {
        return "\"pid\":" + std::to_string(rank) + ",\"tid\":" + std::to_string(track);
    }

    void slice(const std::string& at, std::string_view name, const char* category, std::uint64_t begin_ns,
               std::uint64_t end_ns, const std::string& args) {
        add("\"ph\":\"X\"," + at + ",\"ts\":" + us(begin_ns) + ",\"dur\":" + us(end_ns - begin_ns) +
            ",\"name\":" + quoted(name) + ",\"cat\":\"" + category + "\",\"args\":{" + args + "}");
    }
    void mark(const std::string& at, std::string_view name, std::uint64_t at_ns) {
        add("\"ph\":\"i\",\"s\":\"p\"," + at + ",\"ts\":" + us(at_ns) + ",\"name\":" + quoted(name));
    }
    void arrow(const std::string& at, bool begins, std::uint64_t at_ns, std::uint64_t id) {
        add(std::string("\"ph\":\"") + (begins ? "s\"," : "f\",\"bp\":\"e\",") + at + ",\"ts\":" + us(at_ns) +
            ",\"id\":" + std::to_string(id) + ",\"name\":\"message\",\"cat\":\"message\"");
    }
    void name(const char* what, const std::string& at, std::string_view text) {
        add(std::string("\"ph\":\"M\",") + at + ",\"name\":\"" + what + "\",\"args\":{\"name\":" + quoted(text) + "}");
    }
    void sort(const char* what, const std::string& at, std::size_t index) {
        add(std::string("\"ph\":\"M\",") + at + ",\"name\":\"" + what +
            "\",\"args\":{\"sort_index\":" + std::to_string(index) + "}");
    }
    std::string take() { return std::exchange(text_, {}); }

private:
    void add(const std::string& event) { text_ += (text_.empty() ? "{" : ",\n{") + event + "}"; }
    std::string text_;
};

// Gives each of some times a lane in which it overlaps no other.
class trace_lanes {
public:
    // Pre: begin_ns is not less than in the call before.
    std::size_t find(std::uint64_t begin_ns, std::uint64_t end_ns) {
        std::size_t i = 0;
        while (i != busy_until_.size() && busy_until_[i] > begin_ns) ++i;
        if (i == busy_until_.size()) busy_until_.push_back(0);
        busy_until_[i] = end_ns;
        return i;
    }
    std::size_t size() const noexcept { return busy_until_.size(); }

private:
    std::vector<std::uint64_t> busy_until_;
};

// A call's place in the picture.
struct drawn_call {
    std::size_t lane = 0, predicted_lane = 0;
    bool is_predicted = false;
    std::uint64_t predicted_end_ns = 0;
    std::vector<traced_deed> deeds; // by the time of the run
};

template <int>
class run_drawing {
public:
    explicit run_drawing(const std::vector<read_part>& parts) : run_(run_collector<0>(parts).run()) {
        for (const traced_track& t : run_.tracks) drawn_.emplace_back(t.calls.size());
        find_calls();
        predict();
    }

    trace_figures figures() const {
        trace_figures made;
        std::vector<rank_t> ranks;
        for (std::size_t i = 0; i != run_.tracks.size(); ++i) {
            const traced_track& t = run_.tracks[i];
            if (ranks.empty() || ranks.back() != t.head.rank) ranks.push_back(t.head.rank);
            made.lost += t.lost;
            made.calls += t.calls.size();
            for (const traced_call& c : t.calls) {
                made.in_flight += !c.has_ended;
                made.failed += c.has_ended && c.code != errc::ok;
                for (const traced_message& m : c.messages) made.messages += m.what == operation_event::kind::sent;
            }
            for (const drawn_call& d : drawn_[i]) made.predicted += d.is_predicted;
        }
        made.ranks = ranks.size();
        return made;
    }
    std::vector<std::string> notes() const {
        std::vector<std::string> made;
        if (run_.machines.size() > 1) {
            std::string text = "the ranks are on " + std::to_string(run_.machines.size()) + " machines (";
            for (std::size_t i = 0; i != run_.machines.size(); ++i)
                text += (i == 0 ? "" : "; ") + ranks_text(run_.machines[i]);
            made.push_back(text + "): times of different machines are aligned by their time of day only");
        }
        const trace_figures f = figures();
        if (f.lost != 0)
            made.push_back(std::to_string(f.lost) + " events are missing: their files had no room for them");
        return made;
    }

    template <class Out>
    void write(Out& out) {
        out << std::string("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"notes\":[");
        const char* between = "";
        for (const std::string& note : notes()) out << std::exchange(between, ",") + trace_events::quoted(note);
        out << std::string("]},\"traceEvents\":[\n");
        between = "";
        std::size_t row = 0; // of the rank
        for (std::size_t i = 0; i != run_.tracks.size(); ++i) {
            const bool is_first = i == 0 || run_.tracks[i - 1].head.rank != run_.tracks[i].head.rank;
            trace_events events;
            if (is_first) {
                row = 0;
                const rank_t rank = run_.tracks[i].head.rank;
                events.name("process_name", trace_events::place(rank, 0), "rank " + std::to_string(rank));
                events.sort("process_sort_index", trace_events::place(rank, 0), rank);
            }
            draw(i, row, events);
            out << between + events.take();
            between = ",\n";
        }
        out << std::string("\n]}\n");
    }

private:
    struct seat {
        std::size_t track = 0, call = 0;
        friend bool operator==(const seat&, const seat&) = default;
    };
    // (communicator, number, the so many-th call with it), by rank of the communicator
    using call_key = std::tuple<traced_group, std::uint32_t, std::uint32_t>;

    void find_calls() {
        for (std::size_t i = 0; i != run_.tracks.size(); ++i) {
            const traced_track& t = run_.tracks[i];
            const auto me = std::find(t.of.members.begin(), t.of.members.end(), t.head.rank);
            if (me == t.of.members.end()) continue;
            std::map<std::uint32_t, std::uint32_t> seen;
            for (std::size_t k = 0; k != t.calls.size(); ++k) {
                const std::uint32_t n = t.calls[k].number;
                auto& seats = calls_[{t.of, n, seen[n]++}];
                seats.resize(t.of.members.size(), no_seat);
                seats[static_cast<std::size_t>(me - t.of.members.begin())] = {i, k};
            }
        }
    }
    void predict() {
        for (const auto& [key, seats] : calls_) {
            if (std::find(seats.begin(), seats.end(), no_seat) != seats.end()) continue;
            traced_ranks whole;
            std::uint64_t begin_ns = ~std::uint64_t{0};
            for (const seat& s : seats) {
                whole.tracks.push_back(&run_.tracks[s.track]);
                whole.calls.push_back(&run_.tracks[s.track].calls[s.call]);
                begin_ns = std::min(begin_ns, whole.calls.back()->begin_ns);
            }
            sim_trace made;
            if (!detail::predict_call(whole, made)) continue;
            for (rank_t r = 0; r != made.size; ++r) {
                drawn_call& d = drawn_[seats[r].track][seats[r].call];
                d.is_predicted = true;
                d.deeds.assign(made.deeds.begin() + static_cast<std::ptrdiff_t>(made.first[r]),
                               made.deeds.begin() + static_cast<std::ptrdiff_t>(made.first[r + std::size_t{1}]));
                d.predicted_end_ns = whole.calls[r]->begin_ns;
                for (traced_deed& e : d.deeds) {
                    e.begin_ns += static_cast<double>(begin_ns), e.end_ns += static_cast<double>(begin_ns);
                    d.predicted_end_ns = std::max(d.predicted_end_ns, ns_of(e.end_ns));
                }
            }
        }
    }
    static std::uint64_t ns_of(double ns) { return static_cast<std::uint64_t>(std::llround(std::max(0.0, ns))); }

    static std::string name_of(const traced_track& t) {
        std::string text = "communicator " + std::to_string(t.of.context);
        if (t.of.instance != 0) text += '.' + std::to_string(t.of.instance + 1);
        if (t.of.members.size() != t.of.size) text += " of " + ranks_text(t.of.members);
        return t.of.epoch > 1 ? text + ", epoch " + std::to_string(t.of.epoch) : text;
    }
    static std::string plan_name(const traced_track& t, std::uint64_t plan) {
        for (const std::uint64_t id : {plan, ~plan})
            if (const read_plan* known = t.find_plan(id)) return known->name;
        return {};
    }

    // The tracks of one communicator of a rank; moves `row` behind them.
    void draw(std::size_t track, std::size_t& row, trace_events& events) {
        const traced_track& t = run_.tracks[track];
        trace_lanes real, predicted;
        for (std::size_t k = 0; k != t.calls.size(); ++k) {
            drawn_call& d = drawn_[track][k];
            d.lane = real.find(t.calls[k].begin_ns, t.calls[k].end_ns);
            if (d.is_predicted) d.predicted_lane = predicted.find(t.calls[k].begin_ns, d.predicted_end_ns);
        }
        const rank_t rank = t.head.rank;
        const std::size_t first = row + 1, behind = first + std::max<std::size_t>(real.size(), 1);
        for (std::size_t l = first; l != behind; ++l)
            name_track(events, trace_events::place(rank, l), name_of(t) + (l == first ? "" : ", beside it"), l);
        for (std::size_t l = 0; l != predicted.size(); ++l)
            name_track(events, trace_events::place(rank, behind + l),
                       name_of(t) + ", predicted" + (l == 0 ? "" : ", beside it"), behind + l);
        for (std::size_t k = 0; k != t.calls.size(); ++k) {
            const drawn_call& d = drawn_[track][k];
            draw_call(t, t.calls[k], d, trace_events::place(rank, first + d.lane), events);
            draw_arrows(track, t.calls[k], trace_events::place(rank, first + d.lane), events);
            if (d.is_predicted)
                draw_prediction(t.calls[k], d, trace_events::place(rank, behind + d.predicted_lane), events);
        }
        if (t.closed_ns == 0)
            events.mark(trace_events::place(rank, first), "the trace of rank " + std::to_string(rank) + " ends here",
                        t.last_ns);
        row = behind + predicted.size() - 1;
    }
    static void name_track(trace_events& events, const std::string& at, const std::string& text, std::size_t index) {
        events.name("thread_name", at, text);
        events.sort("thread_sort_index", at, index);
    }

    static void draw_call(const traced_track& t, const traced_call& c, const drawn_call& d, const std::string& at,
                          trace_events& events) {
        std::string name = call_text(c.kind, c.number, 0);
        std::string args = "\"number\":" + std::to_string(c.number) + ",\"bytes\":" + std::to_string(c.bytes()) +
                           ",\"elements\":" + std::to_string(c.count) +
                           ",\"plan\":" + trace_events::quoted(plan_name(t, c.plan)) +
                           ",\"root\":" + std::to_string(c.root);
        if (d.is_predicted) args += ",\"predicted_us\":" + trace_events::us(d.predicted_end_ns - c.begin_ns);
        if (!c.has_ended) {
            name += ": in flight at the end";
            args += ",\"ended\":false";
        } else if (c.code != errc::ok) {
            name += std::string(": ") + describe(c.code);
            args += ",\"error\":" + trace_events::quoted(describe(c.code));
        }
        events.slice(at, name, "call", c.begin_ns, c.end_ns, args);
        std::uint64_t since_ns = c.begin_ns; // the end of what was before
        std::uint64_t until_ns = c.begin_ns; // when the messages that have come have been worked in
        for (const traced_message& m : c.messages) {
            using kind = operation_event::kind;
            const std::uint64_t at_ns = std::min(m.at_ns, c.end_ns);
            const std::string peer = std::to_string(m.peer);
            const std::string about = "\"step\":" + std::to_string(m.step) + ",\"bytes\":" + std::to_string(m.bytes);
            if (m.what == kind::arrived) {
                const bool is_with_others = at_ns < until_ns; // found in the same poll as one before
                if (!is_with_others && at_ns > since_ns)
                    events.slice(at, "wait for " + peer, "wait", since_ns, at_ns, about);
                const std::uint64_t end_ns = end_of_step(c, m, at_ns);
                until_ns = is_with_others ? until_ns : end_ns;
                events.slice(at, "receive from " + peer, "receive", at_ns, std::min(end_ns, until_ns), about);
            } else if (m.what == kind::sent) {
                events.slice(at, "send to " + peer, "send", since_ns, at_ns, about);
            }
            since_ns = at_ns;
        }
    }
    // When the message that arrived had been worked in.
    static std::uint64_t end_of_step(const traced_call& c, const traced_message& m, std::uint64_t at_ns) {
        for (const traced_message* next = &m + 1; next != c.messages.data() + c.messages.size(); ++next)
            if (next->what == operation_event::kind::combined && next->step == m.step)
                return std::clamp(next->at_ns, at_ns, c.end_ns);
        return at_ns;
    }

    // The messages of one kind on the channel to or from a rank, in the order of its steps.
    static std::vector<const traced_message*> channel(const traced_call& c, operation_event::kind what, rank_t peer) {
        std::vector<const traced_message*> made;
        for (const traced_message& m : c.messages)
            if (m.what == what && m.peer == peer) made.push_back(&m);
        std::stable_sort(made.begin(), made.end(),
                         [](const traced_message* a, const traced_message* b) { return a->step < b->step; });
        return made;
    }
    // To and from the peers whose ends of the messages are all known.
    void draw_arrows(std::size_t track, const traced_call& c, const std::string& at, trace_events& events) {
        using kind = operation_event::kind;
        const traced_track& t = run_.tracks[track];
        auto& seen = times_[{track, c.number}];
        const auto whole = calls_.find({t.of, c.number, seen++});
        if (whole == calls_.end()) return;
        for (std::size_t i = 0; i != t.of.members.size(); ++i) {
            const rank_t peer = t.of.members[i];
            const seat its = whole->second[i];
            if (peer == t.head.rank || its == no_seat) continue;
            const traced_call& theirs = run_.tracks[its.track].calls[its.call];
            for (const kind what : {kind::sent, kind::arrived}) {
                const auto mine = channel(c, what, peer);
                const auto other = channel(theirs, what == kind::sent ? kind::arrived : kind::sent, t.head.rank);
                if (mine.size() != other.size()) continue;
                for (std::size_t k = 0; k != mine.size(); ++k)
                    events.arrow(at, what == kind::sent, std::min(mine[k]->at_ns, c.end_ns),
                                 arrow_id(what == kind::sent ? mine[k] : other[k]));
            }
        }
    }
    // The same for both ends: that of the message sent.
    std::uint64_t arrow_id(const traced_message* sent) {
        return arrows_.try_emplace(sent, arrows_.size() + 1).first->second;
    }

    static void draw_prediction(const traced_call& c, const drawn_call& d, const std::string& at,
                                trace_events& events) {
        const std::string took = c.has_ended ? ",\"took_us\":" + trace_events::us(c.end_ns - c.begin_ns) : "";
        events.slice(at, call_text(c.kind, c.number, 0) + ", predicted", "prediction", c.begin_ns, d.predicted_end_ns,
                     "\"number\":" + std::to_string(c.number) + took);
        std::uint64_t since_ns = c.begin_ns;
        for (const traced_deed& e : d.deeds) {
            const std::uint64_t begin_ns = std::max(since_ns, ns_of(e.begin_ns)),
                                end_ns = std::max(begin_ns, ns_of(e.end_ns));
            std::string name(verb_name(e.verb));
            if (e.peer != no_rank) name += (e.verb == verb::send ? " to " : " from ") + std::to_string(e.peer);
            if (e.verb == verb::receive && begin_ns > since_ns)
                events.slice(at, "wait for " + std::to_string(e.peer), "wait", since_ns, begin_ns, "");
            events.slice(at, name, "step", begin_ns, end_ns, "\"bytes\":" + std::to_string(e.bytes));
            since_ns = end_ns;
        }
    }

    static constexpr seat no_seat{~std::size_t{0}, 0};
    traced_run run_;
    std::vector<std::vector<drawn_call>> drawn_; // by track, then call
    std::map<call_key, std::vector<seat>> calls_;
    std::map<std::pair<std::size_t, std::uint32_t>, std::uint32_t> times_; // by track and number: calls so far
    std::map<const traced_message*, std::uint64_t> arrows_;
};

} // namespace detail

// The trace files of the processes of one run.
class merged_traces {
public:
    // Takes what a file has. `name` is for sentences. False: `fault` says what is wrong, and what could be
    // read before that is kept.
    template <int = 0>
    bool add(std::span<const std::byte> bytes, const std::string& name, std::string& fault) {
        fault.clear();
        if (bytes.empty()) return fault = name + ": is empty", false;
        std::string first;
        while (!bytes.empty()) {
            detail::read_part one;
            std::string why;
            const bool is_read = detail::read_trace(bytes, one, why);
            if (first.empty() && !why.empty()) first = name + ": " + why;
            if (!is_read) break;
            if (job_ != 0 && one.head.job != 0 && one.head.job != job_) {
                fault = name + ": is of job " + std::to_string(one.head.job) + ", others are of job " +
                        std::to_string(job_);
                return false;
            }
            if (one.head.job != 0) job_ = one.head.job;
            parts_.push_back(std::move(one));
        }
        return (fault = first).empty();
    }

    bool empty() const noexcept { return parts_.empty(); }
    template <int = 0>
    trace_figures figures() const {
        return detail::run_drawing<0>(parts_).figures();
    }
    // What a reader of the picture should know.
    template <int = 0>
    std::vector<std::string> notes() const {
        return detail::run_drawing<0>(parts_).notes();
    }
    // Writes JSON. `out` takes text by <<.
    template <class Out>
    void write(Out& out) const {
        detail::run_drawing<0>(parts_).write(out);
    }

private:
    std::vector<detail::read_part> parts_;
    std::uint64_t job_ = 0;
};

} // namespace bough

#endif
