// SPDX-License-Identifier: BSL-1.0
// export_svg: draws a simulated run as a picture: ranks down, time across, messages as arrows, in
// the manner of the figures in papers.
//
//   export_svg(out, trace(plan, model, {.bytes = 4096}), {.title = "allreduce by ring", .note = "5 us, 1 ns/byte"});
// A bar is a deed, as long as it takes its rank. A pale bar is a rank that waits for a message. An
// arrow leaves its sender when the send is over, and ends where its receiver takes it. Bars are
// labelled up to 32 ranks; with more ranks, rows are lower and only some ranks are named. From 257
// ranks or 4,000 messages on, arrows have no heads.
#ifndef BOUGH_SIMULATE_EXPORT_SVG_HPP
#define BOUGH_SIMULATE_EXPORT_SVG_HPP

#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/simulate/trace.hpp>
#include <bough/tree/export_text.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bough::inline BOUGH_ABI {

struct svg_options {
    std::string title{};
    std::string note{};                     // a line below the title
    double width = 1180;                    // of the picture
    std::uint32_t most_messages = 1u << 16; // no arrows are drawn for more messages than this
};

namespace detail {

// The unit of the time axis, and the distance of its marks.
struct time_axis {
    const char* unit = "ns";
    double scale = 1; // ns in a unit
    double step = 1;  // in units
};
inline time_axis axis_of(double makespan_ns) {
    time_axis axis;
    if (makespan_ns >= 1e7)
        axis = {"ms", 1e6, 1};
    else if (makespan_ns >= 1e4)
        axis = {"µs", 1e3, 1};
    if (!(makespan_ns > 0)) return axis;
    const double wanted = makespan_ns / axis.scale / 9;
    double power = 0.001;
    while (power * 10 <= wanted) power *= 10;
    axis.step = power;
    for (const double factor : {2.0, 5.0, 10.0})
        if (axis.step < wanted) axis.step = power * factor;
    return axis;
}

class timeline {
public:
    timeline(const sim_trace& run, const svg_options& options) : run_(run), options_(options) {
        const double p = run.size;
        row_ = p <= 32 ? 24 : std::max(0.75, 900 / p);
        bar_ = p <= 32 ? 15 : row_ * (p <= 128 ? 0.7 : p <= 512 ? 0.85 : 1.0);
        height_ = top_ + p * row_ + 56;
        const double span = run.result.makespan_ns > 0 ? run.result.makespan_ns : 1;
        scale_ = (options.width - left_ - right_) / span;
    }

    template <class Out>
    void draw(Out& out) {
        head();
        axes();
        for (rank_t r = 0; r != run_.size; ++r) {
            lane(r);
            flush(out);
        }
        arrows(out);
        for (rank_t r = 0; run_.size <= 32 && r != run_.size; ++r) labels(r);
        text_ += "</svg>\n";
        out << text_;
    }

private:
    static constexpr std::array<const char*, 4> colours_{"#2f6db3", "#3c9168", "#dd8a1f", "#8a8f98"};
    static constexpr std::array<const char*, 4> names_{"send", "receive", "combine", "copy"};
    static constexpr double left_ = 74, right_ = 30, top_ = 96;

    // A hundredth of a pixel is enough, and makes files smaller.
    static std::string num(double v) {
        const double hundredths = static_cast<double>(static_cast<std::int64_t>(v * 100 + (v < 0 ? -0.5 : 0.5)));
        return short_number(hundredths / 100);
    }
    double x(double ns) const { return left_ + ns * scale_; }
    double middle(rank_t r) const { return top_ + (static_cast<double>(r) + 0.5) * row_; }

    template <class Out>
    void flush(Out& out) {
        if (text_.size() < 65536) return;
        out << text_;
        text_.clear();
    }
    // Adds a box to a path: all boxes of one colour in one row are one path.
    void box(std::string& path, double x0, double x1, rank_t r) const {
        const std::string width = num(std::max(x1 - x0, run_.size <= 32 ? 1.2 : 0.6)), height = num(bar_);
        path += 'M' + num(x0) + ' ' + num(middle(r) - bar_ / 2) + 'h' + width + 'v' + height + "h-" + width + 'z';
    }
    void paint(const std::string& path, const char* fill) {
        if (!path.empty()) text_ += "<path d=\"" + path + "\" fill=\"" + fill + "\"/>\n";
    }

    void head() {
        text_ += svg_head(options_.width, height_);
        text_ +=
            "<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" "
            "orient=\"auto\"><path d=\"M0 0.8 L7.5 4 L0 7.2 z\" fill=\"#475467\"/></marker></defs>\n";
        text_ += svg_text(20, 30, options_.title, "font-size=\"18\" font-weight=\"600\" fill=\"#1d2939\"");
        text_ += svg_text(20, 51, options_.note, "font-size=\"12.5\" fill=\"#667085\"");
        double at = left_;
        const auto entry = [&](std::string_view name, const char* fill, const char* edge) {
            text_ += "<rect x=\"" + num(at) + "\" y=\"64\" width=\"14\" height=\"11\" fill=\"" + fill + "\" stroke=\"" +
                     edge + "\" stroke-width=\"0.8\"/>\n";
            text_ += svg_text(at + 19, 74, name, "font-size=\"12\" fill=\"#344054\"");
            at += 34 + 7.0 * static_cast<double>(name.size());
        };
        std::array<bool, 4> used{};
        for (const traced_deed& d : run_.deeds) used[static_cast<std::size_t>(d.verb)] = true;
        for (std::size_t v = 0; v != 4; ++v)
            if (used[v]) entry(names_[v], colours_[v], colours_[v]);
        entry("waits for a message", "#e9edf2", "#cbd2db");
        if (used[0] && draws_arrows()) {
            text_ += "<line x1=\"" + num(at) + "\" y1=\"69.5\" x2=\"" + num(at + 22) +
                     "\" y2=\"69.5\" stroke=\"#475467\" stroke-width=\"1\" marker-end=\"url(#head)\"/>\n";
            text_ += svg_text(at + 28, 74, "message", "font-size=\"12\" fill=\"#344054\"");
        }
    }
    void axes() {
        const time_axis axis = axis_of(run_.result.makespan_ns);
        const double bottom = top_ + static_cast<double>(run_.size) * row_;
        const double end = run_.result.makespan_ns > 0 ? run_.result.makespan_ns : 0;
        for (int i = 0; axis.step * i * axis.scale <= end * 1.0001; ++i) {
            const double at = x(axis.step * i * axis.scale);
            text_ += "<line x1=\"" + num(at) + "\" y1=\"" + num(top_ - 4) + "\" x2=\"" + num(at) + "\" y2=\"" +
                     num(bottom + 5) + "\" stroke=\"#e4e7ec\" stroke-width=\"1\"/>\n";
            text_ += svg_text(at, bottom + 20, num(axis.step * i),
                              "font-size=\"12\" fill=\"#475467\" text-anchor=\"middle\"");
        }
        text_ += svg_text((left_ + options_.width - right_) / 2, bottom + 42, std::string("time in ") + axis.unit,
                          "font-size=\"13\" fill=\"#344054\" text-anchor=\"middle\"");
        rank_t every = 1;
        while (row_ * every < 14) every *= 2;
        for (rank_t r = 0; r < run_.size; r += every)
            text_ += svg_text(left_ - 10, middle(r) + 4, std::to_string(r),
                              "font-size=\"12\" fill=\"#475467\" text-anchor=\"end\"");
        const std::string y = num((top_ + bottom) / 2);
        text_ +=
            svg_text(24, (top_ + bottom) / 2, "rank",
                     "font-size=\"13\" fill=\"#344054\" text-anchor=\"middle\" transform=\"rotate(-90 24 " + y + ")\"");
    }
    void lane(rank_t r) {
        double free_ns = run_.arrival_ns[r];
        if (run_.size <= 128) {
            const std::size_t last = run_.first[r + std::size_t{1}];
            const double end_ns = last == run_.first[r] ? free_ns : run_.deeds[last - 1].end_ns;
            text_ += "<line x1=\"" + num(x(free_ns)) + "\" y1=\"" + num(middle(r)) + "\" x2=\"" + num(x(end_ns)) +
                     "\" y2=\"" + num(middle(r)) + "\" stroke=\"#98a2b3\" stroke-width=\"0.8\"/>\n";
        }
        std::array<std::string, 4> done;
        std::string waits;
        for (std::size_t i = run_.first[r]; i != run_.first[r + std::size_t{1}]; ++i) {
            const traced_deed& d = run_.deeds[i];
            if (d.verb == verb::receive && d.begin_ns > free_ns) box(waits, x(free_ns), x(d.begin_ns), r);
            box(done[static_cast<std::size_t>(d.verb)], x(d.begin_ns), x(d.end_ns), r);
            free_ns = d.end_ns;
        }
        paint(waits, "#e9edf2");
        for (std::size_t v = 0; v != 4; ++v) paint(done[v], colours_[v]);
    }
    bool draws_arrows() const { return run_.result.messages <= options_.most_messages; }
    template <class Out>
    void arrows(Out& out) {
        if (!draws_arrows()) {
            text_ +=
                svg_text(options_.width - right_, 74, std::to_string(run_.result.messages) + " messages, not drawn",
                         "font-size=\"12\" fill=\"#667085\" text-anchor=\"end\"");
            return;
        }
        const bool dense = run_.size > 256 || run_.result.messages > 4000;
        const bool heads = !dense;
        const double width = dense ? 0.3 : run_.size <= 32 ? 1.0 : 0.6;
        text_ += "<g stroke=\"#475467\" stroke-width=\"" + num(width) + "\" stroke-opacity=\"" +
                 num(run_.size <= 32    ? 0.85
                     : run_.size <= 256 ? 0.5
                                        : 0.22) +
                 "\"" + (heads ? " marker-end=\"url(#head)\"" : "") + ">\n";
        std::vector<std::size_t> receive_of(static_cast<std::size_t>(run_.result.messages), run_.deeds.size());
        for (std::size_t i = 0; i != run_.deeds.size(); ++i)
            if (run_.deeds[i].verb == verb::receive && run_.deeds[i].message < receive_of.size())
                receive_of[run_.deeds[i].message] = i;
        for (const traced_deed& d : run_.deeds) {
            if (d.verb != verb::send || d.message >= receive_of.size() || receive_of[d.message] == run_.deeds.size())
                continue;
            const traced_deed& to = run_.deeds[receive_of[d.message]];
            const double down = to.rank > d.rank ? 1 : -1;
            const double gap = run_.size <= 128 ? bar_ / 2 : 0;
            text_ += "<line x1=\"" + num(x(d.end_ns)) + "\" y1=\"" + num(middle(d.rank) + down * gap) + "\" x2=\"" +
                     num(x(to.begin_ns)) + "\" y2=\"" + num(middle(to.rank) - down * gap) + "\"" +
                     (heads ? " marker-end=\"url(#head)\"" : "") + "/>\n";
            flush(out);
        }
        text_ += "</g>\n";
    }
    void labels(rank_t r) {
        for (std::size_t i = run_.first[r]; i != run_.first[r + std::size_t{1}]; ++i) {
            const traced_deed& d = run_.deeds[i];
            const double width = (d.end_ns - d.begin_ns) * scale_;
            if (d.peer == no_rank || width < 26) continue;
            text_ += svg_text(x((d.begin_ns + d.end_ns) / 2), middle(r) + 3.6,
                              (d.verb == verb::send ? "→ " : "← ") + std::to_string(d.peer),
                              "font-size=\"10.5\" fill=\"white\" text-anchor=\"middle\"");
        }
    }

    const sim_trace& run_;
    const svg_options& options_;
    double row_ = 0, bar_ = 0, height_ = 0, scale_ = 1;
    std::string text_;
};

} // namespace detail

// Draws the run. `out` takes text by <<.
template <class Out>
void export_svg(Out& out, const sim_trace& run, const svg_options& options = {}) {
    detail::timeline(run, options).draw(out);
}

} // namespace bough

#endif
