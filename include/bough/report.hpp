// SPDX-License-Identifier: BSL-1.0
// Reports: what they say as text, how they are saved, and how those of all ranks are merged.
//
//   std::cerr << bough::text_of(comm.report());                  // one rank: its calls, and for whom they wait
//   bough::save(comm.report(), "3.report");                      // for bough doctor
//   .report = {.on_failure = bough::report_to_file("reports")}   // by itself (bough/report/options.hpp)
//
//   bough::merged_reports all;                                   // what bough doctor does
//   all.add(report_of_rank_0, "0"), all.add(report_of_rank_1, "1");
//   std::cerr << all.text();
//   // rank 5 has not called allreduce #17 of 8 bytes; its last call was broadcast #16 of 8 bytes, 2.3 s
//   // ago; ...
#ifndef BOUGH_REPORT_HPP
#define BOUGH_REPORT_HPP

#include <bough/core/config.hpp>
#include <bough/core/status.hpp>
#include <bough/report/call_record.hpp>
#include <bough/report/diagnosis.hpp>
#include <bough/report/options.hpp>
#include <bough/report/rank_text.hpp>
#include <bough/report/read.hpp>
#include <bough/report/value.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// Reports and recordings of the ranks of one job. Any number of them may be of one rank: the latest of
// each communicator counts.
class merged_reports {
public:
    // Takes what a file, or a report, has. `name` is for sentences. False: `fault` says what is wrong,
    // and what could be read before that is kept. A recording that is cut in its list of calls is
    // used, and `fault` says that it is cut.
    template <int = 0>
    bool add(std::span<const std::byte> bytes, const std::string& name, std::string& fault) {
        fault.clear();
        if (bytes.empty()) return fault = name + ": is empty", false;
        while (!bytes.empty()) {
            detail::recording one;
            const std::size_t length = bytes.size();
            if (!detail::read_recording(bytes, one, fault)) return fault = name + ": " + fault, false;
            const bool is_cut = length < one.head.bytes;
            if (is_cut)
                fault = name + ": is cut: it has " + std::to_string(length) + " of " + std::to_string(one.head.bytes) +
                        " bytes of its last recording";
            if (std::string why = contradiction(one); !why.empty()) return fault = name + ": " + why, false;
            keep(std::move(one), name);
        }
        return fault.empty();
    }
    bool add(const rank_report& one, const std::string& name, std::string& fault) {
        return add(one.bytes(), name, fault);
    }

    bool empty() const noexcept { return all_.empty(); }
    // What holds up or broke the job.
    template <int = 0>
    diagnosis find() const {
        return detail::diagnostician(all_).find();
    }
    // The cause, and what each rank does.
    template <int = 0>
    std::string text() const {
        const detail::diagnostician doctor(all_);
        std::string made = doctor.find().sentence + "\n";
        std::map<rank_t, std::vector<const detail::recording*>> ranks;
        for (const detail::recording& r : all_) ranks[r.head.of.rank].push_back(&r);
        for (const auto& [rank, its] : ranks) made += detail::rank_text(its, doctor.now_ns(), 2);
        if (!all_.empty() && ranks.size() != all_[0].head.of.size) {
            std::vector<rank_t> absent;
            for (rank_t r = 0; r != all_[0].head.of.size; ++r)
                if (ranks.count(r) == 0) absent.push_back(r);
            made += detail::ranks_text(absent) + ": no report and no recording\n";
        }
        return made;
    }

private:
    // Why it cannot be of the job of the others; empty: it can.
    std::string contradiction(const detail::recording& one) const {
        const detail::recording_identity& its = one.head.of;
        for (std::size_t i = 0; i != all_.size(); ++i) {
            const detail::recording_identity& other = all_[i].head.of;
            const std::string of_other = ", that of " + names_[i];
            if (its.size != other.size)
                return "is of a job of " + std::to_string(its.size) + " ranks" + of_other + " of one of " +
                       std::to_string(other.size);
            if (its.job != 0 && other.job != 0 && its.job != other.job)
                return "is of job " + std::to_string(its.job) + of_other + " of job " + std::to_string(other.job);
            if (its.rank == other.rank && its.born_ns != other.born_ns)
                return "is of rank " + std::to_string(its.rank) + of_other +
                       " too, but of another process: they are of different jobs";
        }
        return {};
    }
    void keep(detail::recording one, const std::string& name) {
        for (detail::recording& known : all_) {
            const detail::recording_identity &a = known.head.of, &b = one.head.of;
            if (a.rank != b.rank || a.epoch != b.epoch || a.context != b.context || a.is_closed != b.is_closed ||
                known.members != one.members)
                continue;
            if (known.last_sign() <= one.last_sign()) known = std::move(one);
            return;
        }
        all_.push_back(std::move(one));
        names_.push_back(name);
    }

    std::vector<detail::recording> all_;
    std::vector<std::string> names_; // of their files
};

// What one rank knows, as text of several lines.
template <int = 0>
std::string text_of(const rank_report& one) {
    merged_reports all;
    std::string fault;
    all.add(one, "the report", fault);
    if (all.empty()) return fault + "\n";
    std::span<const std::byte> bytes(one.bytes());
    std::vector<detail::recording> list;
    while (!bytes.empty()) {
        list.emplace_back();
        if (!detail::read_recording(bytes, list.back(), fault)) return fault + "\n";
    }
    std::uint64_t now_ns = 0;
    std::vector<const detail::recording*> its;
    for (const detail::recording& r : list) its.push_back(&r), now_ns = std::max(now_ns, r.last_sign());
    return detail::rank_text(its, now_ns, 8);
}

namespace detail {

inline status write_report(const rank_report& one, const std::string& file, const char* mode) {
    std::FILE* const out = std::fopen(file.c_str(), mode);
    if (out == nullptr) {
        static constexpr const char* why = "file: cannot be written";
        return invalid_argument(why);
    }
    (void)std::setvbuf(out, nullptr, _IOFBF, one.bytes().size() + 1); // one write, so that ranks can share a file
    const bool whole = std::fwrite(one.bytes().data(), 1, one.bytes().size(), out) == one.bytes().size();
    const bool closed = std::fclose(out) == 0;
    return whole && closed ? status{} : status{.code = errc::no_resources, .argument = "file: is not written whole"};
}

} // namespace detail

// Writes a report to a file, in place of what is there. An error names the argument.
inline status save(const rank_report& one, const std::string& file) { return detail::write_report(one, file, "wb"); }

// Each report is added to this file, which bough doctor reads; ranks of one machine may share it. If it
// cannot be written, standard error gets a sentence and the report as text.
inline report_sink report_to_file(std::string file) {
    report_sink made;
    made.name = std::move(file);
    made.function = [](const report_sink& self, const rank_report& one) {
        const status bad = detail::write_report(one, self.name, "ab");
        if (bad)
            (void)std::fprintf(stderr, "bough: a report for '%s': %s\n%s", self.name.c_str(), bad.argument,
                               bough::text_of(one).c_str());
    };
    return made;
}

// Each report is written as text to a C stream, which must outlive the communicator.
inline report_sink report_to(std::FILE* out) {
    report_sink made;
    made.context = out;
    made.function = [](const report_sink& self, const rank_report& one) {
        const std::string text = bough::text_of(one);
        auto* const to = static_cast<std::FILE*>(self.context);
        (void)std::fwrite(text.data(), 1, text.size(), to);
        (void)std::fflush(to);
    };
    return made;
}

// The same to a std::ostream, or whatever takes a std::string by <<.
template <class Out>
report_sink report_to(Out& out) {
    report_sink made;
    made.context = &out;
    made.function = [](const report_sink& self, const rank_report& one) {
        *static_cast<Out*>(self.context) << bough::text_of(one);
    };
    return made;
}

} // namespace bough

#endif
