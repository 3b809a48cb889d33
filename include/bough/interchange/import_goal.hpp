// SPDX-License-Identifier: BSL-1.0
// read_goal: reads a GOAL text, as LogGOPSim does: its operations, and the steps that export_goal
// wrote in comments.
//
//   goal_file file = read_goal(text);        file.fault: the first line that is no GOAL
// bough/interchange/import_goal_check.hpp proves what can be proved of it.
#ifndef BOUGH_INTERCHANGE_IMPORT_GOAL_HPP
#define BOUGH_INTERCHANGE_IMPORT_GOAL_HPP

#include <bough/core/rank.hpp>
#include <bough/core/step.hpp>
#include <bough/interchange/import_result.hpp>
#include <bough/schedule/dependence.hpp>
#include <bough/schedule/print_goal.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI {

// One operation of a rank, as the file has it.
struct goal_operation {
    enum class kind : std::uint8_t { send, receive, calc };
    kind what = kind::calc;
    rank_t peer = no_rank;   // a receive with no_rank takes from any rank
    std::uint64_t bytes = 0; // for a calc: its time
    std::uint32_t tag = 0;
    std::size_t line = 0;
    std::size_t first_step = 0, steps = 0; // its annotations, in goal_rank::steps
};
// `op` waits for `earlier`; both are indices in goal_rank::ops.
struct goal_edge {
    std::uint32_t op = 0, earlier = 0;
    bool only_begun = false; // true for irequires
    std::size_t line = 0;
};
// All that the file says of one rank.
struct goal_rank {
    std::vector<goal_operation> ops;
    std::vector<goal_edge> edges;
    std::vector<step> steps; // from annotations
    std::size_t line = 0;    // 0: the file has no such rank
};
struct goal_file {
    std::vector<goal_rank> ranks;
    import_fault fault;
    // From annotations; kind is 0 if the file has none.
    std::uint8_t kind = 0;
    dimensions at{};
    std::uint64_t bytes = 0;
    std::uint64_t element_bytes = 1;
    bool annotated() const noexcept { return kind != 0; }
};

namespace detail {

template <int>
class basic_goal_reader {
public:
    explicit basic_goal_reader(std::string_view text) : text_(text) {}

    goal_file run() {
        while (file_.fault.none() && next_line()) {
            if (in_comment_ || rest_.empty()) {
                if (!skip_comment()) continue;
            }
            if (rest_.starts_with("//")) {
                if (rest_.starts_with("//bough ")) annotation(rest_.substr(8));
                continue;
            }
            if (rest_.starts_with("/*")) {
                in_comment_ = true;
                rest_.remove_prefix(2);
                if (!skip_comment()) continue;
            }
            if (!rest_.empty()) statement();
        }
        if (!file_.fault.none()) return std::move(file_);
        if (rank_ != no_rank) refuse("the file ends before the rank's closing bracket");
        if (file_.ranks.empty()) refuse("there is no num_ranks: this is no GOAL");
        for (rank_t r = 0; r != file_.ranks.size(); ++r)
            if (file_.fault.none() && file_.ranks[r].line == 0) {
                line_ = 0;
                refuse("there is no rank " + std::to_string(r) + ", of " + std::to_string(file_.ranks.size()));
            }
        return std::move(file_);
    }

private:
    static constexpr std::uint64_t most_ranks = std::uint64_t{1} << 22;

    bool refuse(std::string sentence) {
        if (file_.fault.none()) file_.fault = {std::move(sentence), line_, rank_, no_step};
        return false;
    }
    bool next_line() {
        if (at_ >= text_.size()) return false;
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        rest_ = text_.substr(at_, end - at_);
        if (!rest_.empty() && rest_.back() == '\r') rest_.remove_suffix(1);
        at_ = end + 1;
        ++line_;
        skip_blanks();
        return true;
    }
    void skip_blanks() {
        const std::size_t blanks = rest_.find_first_not_of(" \t");
        rest_.remove_prefix(blanks == std::string_view::npos ? rest_.size() : blanks);
    }
    // Skips a comment. Is there more on this line behind it?
    bool skip_comment() {
        if (in_comment_) {
            const std::size_t end = rest_.find("*/");
            if (end == std::string_view::npos) return false;
            rest_.remove_prefix(end + 2);
            in_comment_ = false;
            skip_blanks();
        }
        return !rest_.empty();
    }
    bool takes(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        skip_blanks();
        return true;
    }
    bool number(std::uint64_t& value, std::uint64_t most) {
        std::size_t digits = 0;
        value = 0;
        for (; digits != rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
            const std::uint64_t digit = static_cast<std::uint64_t>(rest_[digits] - '0');
            if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return false;
            value = value * 10 + digit;
        }
        rest_.remove_prefix(digits);
        skip_blanks();
        return digits != 0 && value <= most;
    }
    std::string_view identifier() {
        const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
        std::size_t length = 0;
        while (length != rest_.size() &&
               (letter(rest_[length]) ||
                (length != 0 && (rest_[length] == '_' || (rest_[length] >= '0' && rest_[length] <= '9')))))
            ++length;
        const std::string_view name = rest_.substr(0, length);
        rest_.remove_prefix(length);
        skip_blanks();
        return name;
    }

    bool statement() {
        std::uint64_t value = 0;
        if (rank_ == no_rank) {
            if (takes("num_ranks")) {
                if (!number(value, most_ranks) || value == 0)
                    return refuse("num_ranks needs a number from 1 to " + std::to_string(most_ranks));
                if (!file_.ranks.empty()) return refuse("num_ranks stands here a second time");
                file_.ranks.resize(static_cast<std::size_t>(value));
                return rest_.empty() || statement();
            }
            if (!takes("rank")) return refuse("this is neither num_ranks nor rank");
            if (!number(value, no_rank - 1)) return refuse("rank needs a number");
            if (value >= file_.ranks.size()) return refuse("rank " + std::to_string(value) + " is not below num_ranks");
            if (!takes("{")) return refuse("the rank's opening bracket is missing");
            rank_ = static_cast<rank_t>(value);
            if (file_.ranks[rank_].line != 0) return refuse("the rank stands here a second time");
            file_.ranks[rank_].line = line_;
            labels_.clear();
            return rest_.empty() || statement();
        }
        goal_rank& me = file_.ranks[rank_];
        if (takes("}")) {
            if (pending_ != me.steps.size()) return refuse("an annotation has no line behind it");
            pending_ = 0;
            rank_ = no_rank;
            return rest_.empty() || refuse("there is more on the line of the closing bracket");
        }
        std::string_view label = identifier();
        if (label.empty()) return refuse("this is no operation: a label, send, recv or calc is missing");
        if (takes(":")) {
            if (!bind(label)) return false;
            label = identifier();
        } else if (label != "send" && label != "recv" && label != "calc") {
            return edge(label);
        }
        return operation(label);
    }
    bool bind(std::string_view label) {
        const auto number = static_cast<std::uint32_t>(file_.ranks[rank_].ops.size());
        if (!labels_.emplace(std::string(label), number).second)
            return refuse("the label " + std::string(label) + " stands here a second time");
        return true;
    }
    bool find(std::string_view label, std::uint32_t& op) {
        const auto at = labels_.find(std::string(label));
        if (at == labels_.end()) return refuse("there is no label " + std::string(label) + " before this line");
        op = at->second;
        return true;
    }
    bool edge(std::string_view label) {
        goal_edge e;
        e.line = line_;
        if (takes("irequires"))
            e.only_begun = true;
        else if (!takes("requires"))
            return refuse("behind a label stands ':', 'requires' or 'irequires'");
        const std::string_view other = identifier();
        if (other.empty()) return refuse("a label is missing");
        if (!rest_.empty()) return refuse("there is more on the line than a label");
        if (!find(label, e.op) || !find(other, e.earlier)) return false;
        file_.ranks[rank_].edges.push_back(e);
        return true;
    }
    bool operation(std::string_view word) {
        goal_rank& me = file_.ranks[rank_];
        goal_operation op;
        op.line = line_;
        std::uint64_t value = 0;
        const bool sends = word == "send";
        if (!sends && word != "recv" && word != "calc") return refuse("an operation is send, recv or calc");
        if (!number(op.bytes, std::numeric_limits<std::uint64_t>::max()))
            return refuse("a number is missing, or too large");
        if (word != "calc") {
            op.what = sends ? goal_operation::kind::send : goal_operation::kind::receive;
            if (!takes("b")) return refuse("a size ends in b: bytes");
            if (!takes(sends ? "to" : "from")) return refuse(sends ? "to is missing" : "from is missing");
            if (!sends && takes("-1"))
                return refuse("from any (-1): who sends is decided when it runs, so nothing can be proved");
            if (!number(value, no_rank - 1)) return refuse("the peer is missing");
            if (value >= file_.ranks.size())
                return refuse("the peer " + std::to_string(value) + " is not below num_ranks");
            if (value == rank_) return refuse("a message to oneself");
            op.peer = static_cast<rank_t>(value);
            if (takes("tag")) {
                if (takes("-1"))
                    return refuse("any tag (-1): what matches is decided when it runs, so nothing can be proved");
                if (!number(value, 0xffff'fffeu)) return refuse("the tag is missing, or too large");
                op.tag = static_cast<std::uint32_t>(value);
            }
        }
        if (takes("cpu") && !number(value, 255)) return refuse("cpu needs a number up to 255");
        if (word != "calc" && takes("nic") && !number(value, 255)) return refuse("nic needs a number up to 255");
        if (!rest_.empty()) return refuse("there is more on the line: '" + std::string(rest_) + "'");
        op.first_step = pending_;
        op.steps = me.steps.size() - pending_;
        pending_ = me.steps.size();
        me.ops.push_back(op);
        return true;
    }

    // --- annotations ---

    bool annotation(std::string_view text) {
        rest_ = text;
        if (takes("plan")) return plan_annotation();
        if (rank_ == no_rank) return refuse("an annotation of a step stands outside a rank");
        step s;
        std::uint64_t value = 0;
        if (takes("send -> ") || takes("receive <- ")) {
            s.verb = text.starts_with("send") ? verb::send : verb::receive;
            if (!number(value, no_rank - 1)) return refuse("the annotation names no peer");
            s.peer = static_cast<rank_t>(value);
            if (!slice_of(s.verb == verb::send ? s.a : s.out)) return false;
            s.more = takes("+");
        } else if (takes("combine")) {
            s.verb = verb::combine;
            if (!slice_of(s.out) || !takes("= op(") || !slice_of(s.a) || !takes(",") || !slice_of(s.b) || !takes(")"))
                return refuse("the annotation is no combine");
        } else if (takes("copy")) {
            if (!slice_of(s.out) || !takes("=") || !slice_of(s.a)) return refuse("the annotation is no copy");
        } else {
            return refuse("the annotation is no step");
        }
        if (!rest_.empty()) return refuse("the annotation goes on behind the step");
        file_.ranks[rank_].steps.push_back(s);
        return true;
    }
    bool slice_of(slice& s) {
        std::uint64_t first = 0, last = 0, plane = 0;
        if (takes("input"))
            s.buffer = input;
        else if (takes("output"))
            s.buffer = output;
        else if (takes("scratch") && number(plane, 1u << 16))
            s.buffer = scratch(static_cast<std::uint32_t>(plane));
        else if (takes("packed") && number(plane, 1u << 16))
            s.buffer = packed_scratch(static_cast<std::uint32_t>(plane));
        else
            return refuse("the annotation names no buffer");
        if (!takes("[") || !number(first, 0xffff'fffeu) || !takes("..") || !number(last, 0xffff'fffeu) || !takes(")") ||
            last < first)
            return refuse("the annotation names no blocks");
        s.first = static_cast<block_t>(first);
        s.count = static_cast<block_t>(last - first);
        return true;
    }
    bool plan_annotation() {
        const std::string_view name = identifier();
        std::array<std::uint64_t, 5> v{};
        const std::array<std::string_view, 5> words{"size", "root", "blocks", "bytes", "element"};
        file_.kind = goal_kind(name);
        if (file_.kind == 0) return refuse("the annotation names no collective");
        for (std::size_t i = 0; i != 5; ++i)
            if (!takes(words[i]) || !number(v[i], i < 3 ? 0xffff'fffeu : ~std::uint64_t{0}))
                return refuse("the annotation of the plan lacks " + std::string(words[i]));
        file_.at = {static_cast<rank_t>(v[0]), static_cast<rank_t>(v[1]), static_cast<block_t>(v[2])};
        file_.bytes = v[3];
        file_.element_bytes = v[4];
        if (v[0] == 0 || v[1] >= v[0] || v[2] == 0 || v[4] == 0 || v[3] % v[4] != 0)
            return refuse("the annotation of the plan contradicts itself");
        return true;
    }
    std::string_view text_, rest_;
    std::size_t at_ = 0, line_ = 0;
    bool in_comment_ = false;
    rank_t rank_ = no_rank;
    std::size_t pending_ = 0; // annotations that a line took
    std::map<std::string, std::uint32_t> labels_;
    goal_file file_;
};
using goal_reader = basic_goal_reader<0>;

} // namespace detail

// Reads a GOAL text. It never throws for what the text says: file.fault has the first line that is
// wrong.
template <int = 0>
goal_file read_goal(std::string_view text) {
    return detail::goal_reader(text).run();
}

} // namespace bough

#endif
