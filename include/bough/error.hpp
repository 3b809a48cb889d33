// SPDX-License-Identifier: BSL-1.0
// Errors for hosted programs: bough::errc as std::error_code, and the exception that the throwing
// front doors throw.
#ifndef BOUGH_ERROR_HPP
#define BOUGH_ERROR_HPP

#include <bough/core/absence.hpp>
#include <bough/core/collective_name.hpp>
#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/formats.hpp>
#include <bough/core/status.hpp>
#include <bough/op/names.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <system_error>

namespace bough::inline BOUGH_ABI {

namespace detail {

// A piece of a sentence: a text, or a number.
class text_piece {
public:
    text_piece(const char* text) noexcept : text_(text) {}
    text_piece(const std::string& text) noexcept : text_(text.c_str()) {}
    text_piece(std::uint64_t number) noexcept : number_(number) {}

    void add_to(std::string& sentence) const { sentence += text_ != nullptr ? text_ : std::to_string(number_); }

private:
    const char* text_ = nullptr;
    std::uint64_t number_ = 0;
};
// Joins pieces. All sentences are made by this function, so that none is a row of inlined appends.
BOUGH_COLD inline std::string sentence_of(std::initializer_list<text_piece> pieces) {
    std::string sentence;
    for (const text_piece& p : pieces) p.add_to(sentence);
    return sentence;
}

// "allreduce #17", "barrier #2 of communicator 3", "instance 4 of program 1". The number of the
// first communicator of a group is left out.
BOUGH_COLD inline std::string call_text(std::uint8_t collective, std::uint32_t operation, std::uint16_t context) {
    if (collective == program_kind && operation != 0) {
        const program_instance its = program_instance::unpacked(operation);
        return sentence_of({"instance ", its.instance, " of program ", its.stream});
    }
    const char* const name = collective_name(collective);
    const std::string of = context == 0 ? std::string() : sentence_of({" of communicator ", context});
    if (*name == '\0' && operation == 0) return sentence_of({"create_group", of});
    return sentence_of({*name == '\0' ? "operation" : name, " #", operation, of});
}
// The ranks that a status names as missing: "rank 5", "ranks 5, 6 and 7", "ranks 1, 2, 3, 4, 5, 6,
// 7, 8 and 12 others".
BOUGH_COLD inline std::string missing_text(const status& s) {
    constexpr std::size_t most = 8;
    rank_t ranks[most];
    std::size_t named = 0;
    const rank_t first = s.peer - s.peer % 64;
    for (rank_t r = first; r - first != 64 && named != most; ++r)
        if (is_missing(s, r)) ranks[named++] = r;
    const std::size_t others = s.missing > named ? s.missing - named : 0;
    std::string text = s.missing == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i != named; ++i) {
        const bool is_last = i + 1 == named && others == 0;
        text += sentence_of({i == 0 ? "" : is_last ? " and " : ", ", ranks[i]});
    }
    if (others == 0) return text;
    return sentence_of(
        {text, " and ", s.missing >= 255 ? "at least " : "", others, others == 1 ? " other" : " others"});
}
// Does the status tell of ranks that did not come to an operation before its deadline? What it
// tells is the same on each rank that waited, whatever its code.
inline bool tells_absence(const status& s) noexcept {
    return names_missing(s) || (is_deadline(s) && s.operation != 0 && s.peer == no_rank);
}
BOUGH_COLD inline std::string absence_of(const status& s) {
    const std::string call = call_text(s.collective, s.operation, s.context);
    if (!names_missing(s)) return call;
    const last_call last = last_call_of(s);
    const std::string its = call_text(last.collective, last.operation, last.context);
    if (last.absence == absence::late)
        return sentence_of({"this rank, ", s.peer, ", came too late", s.operation == 0 ? "" : " to ",
                            s.operation == 0 ? std::string() : call});
    const bool one = s.missing == 1;
    const std::string who = missing_text(s), it = one ? "it" : sentence_of({"rank ", s.peer});
    const std::string has = sentence_of({who, one ? " has" : " have", " not come to ", call});
    const std::string is = sentence_of({who, one ? " is" : " are", " missing in ", call});
    switch (last.absence) {
    case absence::not_come:
        if (last.operation == 0) return sentence_of({has, " (", it, " has made no call)"});
        return sentence_of(
            {has, one ? " (its last call" : " (the last call of ", one ? std::string() : it, " was ", its, ")"});
    case absence::elsewhere: return sentence_of({has, " (", it, " is in ", its, ")"});
    case absence::silent: return sentence_of({is, " (", it, " does not answer)"});
    default: return is;
    }
}

// A part of a signature: "double", "plus", "allreduce", "12"; its number if it has no name.
BOUGH_COLD inline std::string value_of(mismatch what, std::uint64_t value) {
    const char* name = nullptr;
    if (what == mismatch::collective && value < 256) name = collective_name(static_cast<std::uint8_t>(value));
    if (what == mismatch::op) name = name_of_op(value);
    if (what == mismatch::type) name = name_of_type(value);
    if (what == mismatch::name && value == 0) name = "no name";
    if (name != nullptr && *name != '\0') return name;
    if (what != mismatch::op && what != mismatch::type && what != mismatch::plan && what != mismatch::name)
        return std::to_string(value);
    std::string hex = "0x0000000000000000";
    for (std::size_t i = hex.size(); value != 0; value >>= 4) hex[--i] = "0123456789abcdef"[value & 15];
    return hex;
}

// The two sides of a difference between builds: "rank 3 speaks version 5 of the session's messages,
// this rank version 6".
BOUGH_COLD inline std::string builds_text(const status& s) {
    static constexpr const char* what[] = {"the machine",         "joining",        "the session's messages",
                                           "the plans",           "the tcp frames", "shared memory",
                                           "the frames over MPI", "rdma",           "growing"};
    const auto format_of = [](std::uint64_t said) { return static_cast<std::size_t>(said >> 8); };
    const auto name = [&](std::uint64_t said) {
        return format_of(said) < std::size(what) ? what[format_of(said)] : "an unknown format";
    };
    const auto machine = [](std::uint64_t said) {
        return sentence_of({8 * (said & 15), " bits and the ", (said & 128) != 0 ? "low" : "high",
                            " byte first, with 8 bytes aligned to ", std::uint64_t{1} << (said >> 4 & 7)});
    };
    const std::string their = s.peer == no_rank ? std::string("another rank") : sentence_of({"rank ", s.peer});
    const std::uint64_t theirs = s.theirs & 255, mine = s.mine & 255; // versions
    if (format_of(s.mine) == static_cast<std::size_t>(wire_format::machine))
        return sentence_of({their, " is built for ", machine(s.theirs), ", this rank for ", machine(s.mine)});
    if (format_of(s.mine) != format_of(s.theirs))
        return sentence_of({their, " joins by version ", theirs, " of ", name(s.theirs), ", this rank by version ",
                            mine, " of ", name(s.mine)});
    return sentence_of({their, " speaks version ", theirs, " of ", name(s.mine), ", this rank version ", mine});
}

// What a status says of an argument, with its values: "RANK: is {mine}" becomes "RANK: is 7". `has_peer`:
// it names the peer.
BOUGH_COLD inline std::string argument_text(const status& s, bool& has_peer) {
    std::string text = s.argument;
    const auto put = [&text](const std::string& name, std::uint64_t value) {
        std::size_t at = text.find(name);
        const bool is_there = at != std::string::npos;
        for (; at != std::string::npos; at = text.find(name, at)) text.replace(at, name.size(), std::to_string(value));
        return is_there;
    };
    put("{mine}", s.mine);
    put("{theirs}", s.theirs);
    has_peer = put("{peer}", s.peer);
    return text;
}

// Of an op that is the same on both ranks, but not the numbers that it holds.
BOUGH_COLD inline std::string numbers_text(std::uint64_t op) {
    const char* const name = name_of_op(op);
    return sentence_of({" in its numbers, such as a scale before or after", name == nullptr ? "" : " (",
                        name == nullptr ? "" : name, name == nullptr ? "" : " on both ranks)"});
}

// The two values of a mismatch. A rank that was told of it, or whose group it has broken, may have called with
// either of them, so there is no "here" then: " (plus on rank 1, max on another rank)".
BOUGH_COLD inline std::string sides_text(const status& s, bool& has_peer) {
    const std::string mine = value_of(s.mismatch, s.mine), theirs = value_of(s.mismatch, s.theirs);
    if (s.code == errc::call_mismatch) return sentence_of({" (", mine, " here, ", theirs, " there)"});
    if (s.peer == no_rank) return sentence_of({" (", mine, " on one rank, ", theirs, " on another)"});
    has_peer = true;
    return sentence_of({" (", theirs, " on rank ", s.peer, ", ", mine, " on another rank)"});
}

// What a status tells besides its code, such as "the op differs (plus here, max there), rank 3". A
// template, so that the compiled form can hold it.
template <std::same_as<status> S>
BOUGH_COLD std::string details_of(const S& s) {
    std::string text;
    const auto add = [&text](std::initializer_list<text_piece> more) {
        if (!text.empty()) text += ", ";
        text += sentence_of(more);
    };
    if (tells_absence(s)) {
        add({absence_of(s), s.cause != errc::ok ? ": " : "", s.cause != errc::ok ? describe(s.cause) : ""});
        return text;
    }
    if (is_deadline(s) && s.missing != 0 && s.peer == no_rank) // of a growth (bough/grow.hpp)
        add({s.mine, " of ", s.theirs, " ranks have come"});
    if (s.code == errc::no_majority) add({s.mine, " of ", s.theirs, " ranks are known to agree"});
    bool has_peer = false;
    if (s.argument != nullptr) add({argument_text(s, has_peer)});
    if (s.mismatch == mismatch::version) {
        add({builds_text(s)});
        return text;
    }
    if (s.mismatch != mismatch::none) {
        static constexpr const char* what[] = {
            "",         "the collective",     "the op",    "the element type",    "the count", "the root",
            "the plan", "the order of calls", "a message", "the list of members", "",          "the name"};
        std::string differs;
        if (s.mismatch == mismatch::op && differ_in_values(s.mine, s.theirs))
            differs = numbers_text(s.mine);
        else if (s.mismatch == mismatch::segment) // it does not say which message was expected
            differs = sentence_of({" from what was expected (its number is ", s.theirs, ")"});
        else if (s.mine != s.theirs)
            differs = sides_text(s, has_peer);
        add({what[static_cast<std::size_t>(s.mismatch)], " differs", differs});
        if (s.mismatch == mismatch::plan)
            add({"perhaps the ranks run different builds, choose by different costs, or gave different counts, "
                 "members or neighbours"});
    }
    if (s.cause != errc::ok) add({"first cause: ", describe(s.cause)});
    if (s.peer != no_rank && !has_peer) add({"rank ", s.peer});
    if (s.operation != 0) add({"operation ", s.operation});
    return text;
}
BOUGH_COMPILED_COMMON(std::string details_of<status>(const status&))

} // namespace detail

// A sentence with everything that a status tells. If a deadline was the cause, the sentence is the
// same on the rank whose time was up and on the ranks that were told:
//   rank 5 has not come to allreduce #17 (its last call was broadcast #16): the operation did not end by its deadline
inline std::string message_of(const status& s) {
    if (s.code == errc::peer_aborted && detail::tells_absence(s)) return detail::details_of(s);
    const std::string details = detail::details_of(s);
    return details.empty() ? std::string(describe(s.code)) : details + ": " + describe(s.code);
}

namespace detail {

class category final : public std::error_category {
public:
    const char* name() const noexcept override { return "bough"; }
    std::string message(int code) const override { return describe(static_cast<errc>(code)); }
    std::error_condition default_error_condition(int code) const noexcept override {
        switch (static_cast<errc>(code)) {
        case errc::invalid_argument: return std::errc::invalid_argument;
        case errc::deadline: return std::errc::timed_out;
        case errc::peer_dead: return std::errc::connection_reset;
        case errc::peer_aborted: return std::errc::connection_aborted;
        case errc::call_mismatch:
        case errc::protocol_error: return std::errc::protocol_error;
        case errc::group_poisoned:
        case errc::no_majority: return std::errc::not_connected;
        case errc::cancelled: return std::errc::operation_canceled;
        case errc::size_overflow: return std::errc::value_too_large;
        case errc::no_resources: return std::errc::not_enough_memory;
        case errc::unsupported: return std::errc::not_supported;
        case errc::forked_child: return std::errc::operation_not_permitted;
        case errc::would_block: return std::errc::operation_would_block;
        default: return {code, *this};
        }
    }
};

} // namespace detail

// The category of bough's codes, "bough"; its messages are those of describe(errc).
inline const std::error_category& error_category() noexcept {
    static const detail::category instance;
    return instance;
}
// By this an errc converts to a std::error_code.
inline std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), error_category()}; }

// The exception that bough throws: this, or a class that is derived from it. details() has the
// whole status. Three other kinds of exceptions come through: std::bad_alloc, where the
// documentation of a function names no other error for a lack of memory; what your own functions
// throw where you are their caller, as with a function that is given to in_process::run; and what
// Boost.Asio throws, in the forms for it.
class error : public std::system_error {
public:
    explicit error(const status& s) : error(s, {}) {}
    // `where` begins what().
    error(const status& s, const std::string& where)
        : std::system_error(make_error_code(s.code), sentence(where, detail::details_of(s))), details_(s) {}
    const status& details() const noexcept { return details_; }

private:
    static std::string sentence(const std::string& where, const std::string& details) {
        return where.empty() || details.empty() ? where + details : where + ": " + details;
    }

    status details_;
};

namespace detail {

inline void throw_if(const status& s) {
    if (!s) return;
#if BOUGH_HAS_EXCEPTIONS
    throw error(s);
#else
    contract_broken(describe(s.code), "a front door that throws, compiled without exceptions: use the error_code form",
                    0);
#endif
}

} // namespace detail
} // namespace bough

template <>
struct std::is_error_code_enum<bough::errc> : std::true_type {};

#endif
