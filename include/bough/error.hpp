// SPDX-License-Identifier: BSL-1.0
// Errors for hosted programs: bough::errc as std::error_code, and the exception that the throwing front doors throw.
#ifndef BOUGH_ERROR_HPP
#define BOUGH_ERROR_HPP

#include <bough/core/config.hpp>
#include <bough/core/contract.hpp>
#include <bough/core/status.hpp>

#include <string>
#include <system_error>

namespace bough {

namespace detail {

// What a status knows besides its code: "the op differs (12 here, 7 there), rank 3, operation 4".
inline std::string details_of(const status& s) {
    std::string text;
    const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
    if (s.argument != nullptr) add(s.argument);
    if (s.mismatch != mismatch::none) {
        static constexpr const char* what[] = {
            "",         "the collective",     "the op",      "the element type", "the count", "the root",
            "the plan", "the order of calls", "the messages"};
        std::string differs = std::string(what[static_cast<std::size_t>(s.mismatch)]) + " differs";
        if (s.mine != s.theirs)
            differs += " (" + std::to_string(s.mine) + " here, " + std::to_string(s.theirs) + " there)";
        add(differs);
    }
    if (s.cause != errc::ok) add(std::string("first cause: ") + describe(s.cause));
    if (s.peer != no_rank) add("rank " + std::to_string(s.peer));
    if (s.operation != 0) add("operation " + std::to_string(s.operation));
    return text;
}

} // namespace detail

// A sentence with everything that a status knows.
inline std::string message_of(const status& s) {
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
        case errc::group_poisoned: return std::errc::not_connected;
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

inline const std::error_category& error_category() noexcept {
    static const detail::category instance;
    return instance;
}
inline std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), error_category()}; }

// What the throwing front doors throw; details() has the whole status.
class error : public std::system_error {
public:
    explicit error(const status& s) : std::system_error(make_error_code(s.code), detail::details_of(s)), details_(s) {}
    const status& details() const noexcept { return details_; }

private:
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
