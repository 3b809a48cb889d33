// SPDX-License-Identifier: BSL-1.0
// bough import: reads a foreign schedule, and proves it or names its first bad step.
#include "catalogue.hpp"
#include "commands.hpp"
#include "describe.hpp"
#include "msccl_file.hpp"
#include "parse.hpp"
#include <bough/interchange/import_goal_check.hpp>
#include <bough/interchange/import_msccl.hpp>
#include <bough/verify/verify.hpp>

#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <optional>
#include <sstream>

namespace cli {

namespace {

struct judgement {
    std::string format;                       // "GOAL"
    std::string what;                         // "an allreduce over 8 ranks"
    std::vector<std::string> proved;          // sentences
    std::vector<std::string> not_proved;      // sentences
    bough::import_fault fault;                //
    std::optional<bough::plan_traits> traits; // if the data was proved
};

std::string read_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw usage_error("FILE", "'" + path + "' cannot be opened");
    std::string text;
    try {
        text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    } catch (const std::ios_base::failure&) { // a folder, for one
    }
    if (in.bad() || text.empty()) throw usage_error("FILE", "'" + path + "' cannot be read, or is empty");
    return text;
}

std::string count_of(std::uint64_t n, const std::string& thing) {
    return std::to_string(n) + ' ' + thing + (n == 1 ? "" : "s");
}

judgement judge_goal(const std::string& text, bool verify) {
    judgement j{"GOAL", {}, {}, {}, {}, {}};
    const bough::goal_file file = bough::read_goal(text);
    j.fault = file.fault;
    if (!j.fault.none()) return j;
    const std::string kind(bough::goal_name(file.kind));
    j.what = count_of(file.ranks.size(), "rank");
    if (file.annotated())
        j.what = kind + " over " + j.what + ", " + count_of(file.at.blocks, "block") + ", annotated by bough";
    if (!verify) return j;
    const bough::goal_check structure = bough::check_goal(file);
    j.fault = structure.fault;
    if (!j.fault.none()) return j;
    j.proved.push_back("matching: each of " + count_of(structure.messages, "message") +
                       " meets one receive of its size" +
                       (structure.ambiguous_matching ? " (some share a tag: in the order of the file)" : ""));
    j.proved.push_back("no deadlock, even if every send waits for its receive; the longest chain has " +
                       count_of(structure.hops, "message"));
    j.proved.push_back("volume: " + count_of(structure.bytes, "byte") + ", of the busiest rank " +
                       std::to_string(structure.volume_max));
    if (!file.annotated()) {
        j.not_proved.push_back("data: GOAL says how many bytes are sent, not which; no result can be derived from it");
        return j;
    }
    bough::imported_schedules made;
    j.fault = bough::schedules_of(file, made);
    if (!j.fault.none()) return j;
    if (kind == "multicast") {
        j.not_proved.push_back("data: the file does not say who the members are");
        return j;
    }
    const bough::verdict v = with_goal(find_collective(kind), [&](auto goal) {
        return bough::verify_schedules(goal, made.at, made.schedules, made.scratch);
    });
    j.fault = made.fault_of(v);
    if (!j.fault.none()) return j;
    j.traits = v.traits;
    j.proved.push_back("data: every contribution reaches every result of the " + kind +
                       " exactly once, by the annotations");
    j.proved.push_back("order: requires implies every dependence of the data");
    return j;
}

judgement judge_msccl(const std::string& text, bool verify, std::uint32_t slots) {
    judgement j{"MSCCL XML", {}, {}, {}, {}, {}};
    bough::msccl_algorithm algorithm;
    j.fault = read_msccl(text, algorithm);
    if (!j.fault.none()) return j;
    const std::string use = algorithm.in_place
                                ? (algorithm.out_of_place ? "in place and out of place" : "in place only")
                                : "out of place only";
    j.what = std::string(bough::goal_name(algorithm.kind)) + " over " + count_of(algorithm.size, "GPU") + ", " +
             count_of(algorithm.chunks, "chunk") + " a loop, " + use;
    if (!verify) return j;
    const bough::msccl_import_options options{.slots = slots};
    bough::imported_schedules made;
    j.fault = bough::schedules_of(algorithm, made, options);
    if (!j.fault.none()) return j;
    const bough::verdict v = bough::prove(algorithm, made, options);
    j.fault = made.fault_of(v);
    if (!j.fault.none()) return j;
    j.traits = v.traits;
    j.proved.push_back("no deadlock, if " + count_of(slots, "message") +
                       " on a channel may be sent before the first is received");
    j.proved.push_back("no race: whatever touches the same chunk is ordered by thread blocks, deps and messages");
    j.proved.push_back("data: every contribution reaches every result exactly once, " + use + ", if the op commutes");
    return j;
}

std::string line_of(const std::string& text, std::size_t number) {
    std::istringstream in(text);
    std::string line;
    while (number-- != 0) std::getline(in, line);
    const std::size_t first = line.find_first_not_of(" \t");
    return first == std::string::npos ? std::string() : line.substr(first, 200);
}

} // namespace

int import_file(const import_arguments& typed) {
    const std::string text = read_text(typed.file);
    std::string format = typed.from;
    if (format == "auto") {
        const std::size_t first = text.find_first_not_of(" \t\r\n");
        format = first != std::string::npos && text[first] == '<' ? "msccl" : "goal";
    }
    const auto slots = static_cast<std::uint32_t>(parse_number("--slots", typed.slots, 1, 1u << 20));
    const judgement j = format == "msccl" ? judge_msccl(text, typed.verify, slots) : judge_goal(text, typed.verify);

    if (typed.format == "json") {
        json document{{"file", typed.file}, {"format", j.format}, {"what", j.what}, {"verified", typed.verify}};
        if (typed.verify || !j.fault.none()) document["right"] = j.fault.none(); // what was only read may be wrong
        document["proved"] = j.proved;
        document["not_proved"] = j.not_proved;
        if (j.traits) document["traits"] = json_of(*j.traits);
        if (!j.fault.none()) {
            json fault{{"sentence", j.fault.sentence}};
            if (j.fault.line != 0) fault["line"] = j.fault.line;
            if (j.fault.rank != bough::no_rank) fault["rank"] = j.fault.rank;
            if (j.fault.step != bough::no_step) fault["step"] = j.fault.step;
            document["fault"] = std::move(fault);
        }
        print(std::cout, document);
        return j.fault.none() ? 0 : 1;
    }
    std::cout << typed.file << ": " << j.format << (j.what.empty() ? "" : ", " + j.what) << '\n';
    if (!j.fault.none()) {
        std::cout << "  WRONG: " << to_string(j.fault) << '\n';
        if (j.fault.line != 0)
            std::cout << "  " << std::setw(6) << j.fault.line << " | " << line_of(text, j.fault.line) << '\n';
        return 1;
    }
    if (!typed.verify) std::cout << "  read; --verify proves it\n";
    for (const std::string& sentence : j.proved) std::cout << "  proved      " << sentence << '\n';
    for (const std::string& sentence : j.not_proved) std::cout << "  NOT proved  " << sentence << '\n';
    if (j.traits)
        for (const trait& row : traits())
            std::cout << "  " << std::left << std::setw(14) << row.name << std::setw(12) << row.value(*j.traits)
                      << row.meaning << '\n';
    return 0;
}

} // namespace cli
