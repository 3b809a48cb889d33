// SPDX-License-Identifier: BSL-1.0
// session_mutex: the mutex of a session. It is none, unless the transport has a session_mutex
// (bough/transport/serialised.hpp).
#ifndef BOUGH_SESSION_MUTEX_HPP
#define BOUGH_SESSION_MUTEX_HPP

#include <bough/core/config.hpp>

namespace bough::inline BOUGH_ABI::detail {

// For sessions that are used by one thread at a time.
struct no_mutex {
    constexpr void lock() noexcept {}
    constexpr void unlock() noexcept {}
};
template <class T>
struct session_mutex_of {
    using type = no_mutex;
};
template <class T>
requires requires { typename T::session_mutex; }
struct session_mutex_of<T> {
    using type = typename T::session_mutex; // recursive
};

template <class M>
class locked {
public:
    locked(M& m, bool needed) : mutex_(needed ? &m : nullptr) {
        if (needed) m.lock();
    }
    ~locked() {
        if (mutex_ != nullptr) mutex_->unlock();
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

private:
    M* mutex_;
};
template <>
class locked<no_mutex> {
public:
    constexpr explicit locked(no_mutex&) noexcept {}
    constexpr ~locked() {} // not trivial, so that compilers do not warn of an unused variable
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;
};

} // namespace bough::detail

#endif
