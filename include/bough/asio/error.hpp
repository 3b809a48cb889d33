// SPDX-License-Identifier: BSL-1.0
// bough::errc as boost::system::error_code, which the handlers of async_ collectives get.
//
//   [](boost::system::error_code ec) { if (ec == bough::errc::peer_dead) ...; else if (ec) std::cerr << ec.message(); }
// An error of bough compares equal to the nearest generic condition, as with std::error_code
// (bough/error.hpp): ec == boost::system::errc::timed_out for errc::deadline, operation_canceled
// for errc::cancelled.
#ifndef BOUGH_ASIO_ERROR_HPP
#define BOUGH_ASIO_ERROR_HPP

#include <bough/core/status.hpp>
#include <bough/error.hpp>

#include <boost/system/error_code.hpp>

#include <string>
#include <system_error>

namespace bough::inline BOUGH_ABI {

namespace detail {

class boost_category final : public boost::system::error_category {
public:
    const char* name() const noexcept override { return "bough"; }
    std::string message(int code) const override { return describe(static_cast<errc>(code)); }
    boost::system::error_condition default_error_condition(int code) const noexcept override {
        const std::error_condition c = bough::error_category().default_error_condition(code);
        if (c.category() == std::generic_category()) return {c.value(), boost::system::generic_category()};
        return {code, *this};
    }
};

} // namespace detail

// The category of these codes, "bough"; its messages are those of describe(errc).
inline const boost::system::error_category& boost_error_category() noexcept {
    static const detail::boost_category instance;
    return instance;
}
// errc::ok becomes a code without an error.
inline boost::system::error_code make_boost_error_code(errc code) noexcept {
    return code == errc::ok ? boost::system::error_code()
                            : boost::system::error_code(static_cast<int>(code), boost_error_category());
}
// Is `ec` this code of bough's category?
inline bool operator==(const boost::system::error_code& ec, errc code) noexcept {
    return ec == make_boost_error_code(code);
}

} // namespace bough

#endif
