// SPDX-License-Identifier: BSL-1.0
// Session_mutex: what a session locks. Nothing, unless its transport brings a session_mutex (bough/serialised.hpp).
#ifndef BOUGH_EXECUTE_SESSION_MUTEX_HPP
#define BOUGH_EXECUTE_SESSION_MUTEX_HPP

namespace bough::detail {

// The session is used by one thread at a time.
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
    explicit locked(M& m) : mutex_(m) { mutex_.lock(); }
    ~locked() { mutex_.unlock(); }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

private:
    M& mutex_;
};

} // namespace bough::detail

#endif
