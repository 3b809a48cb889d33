// SPDX-License-Identifier: BSL-1.0
// import bough: the umbrella, threads, helpers and, on Linux, shared memory and launch, as a module.
//
//   import bough;
//   static_assert(bough::proven<bough::verify(bough::plan_allreduce(bough::ring{}, {.size = 7}))>());
//
// Everything belongs to the global module (extern "C++"), so units that import bough and units that
// include its headers may be linked, and one unit may do both. No macro comes with an import: settings
// (bough/core/config.hpp) are those with which this unit is compiled. Transports that need a library of
// their own have headers alone: include them after the import, or without it.
// How to build it: doc/howto/modules.md.
module;
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cmath>
#include <compare>
#include <concepts>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <limits>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>
#if __has_include(<unistd.h>)
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#if defined(__linux__)
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#endif

export module bough;

// The operators that templates of bough call on types of the standard library. A compiler need not keep
// what nothing in this unit names; then a unit that imports these templates would not find them.
export namespace std {
using std::operator==;
using std::operator<=>;
using std::operator!=;
using std::operator<;
using std::operator>;
using std::operator<=;
using std::operator>=;
using std::operator+;
using std::operator-;
using std::operator|;
using std::operator&;
using std::operator<<;
} // namespace std

export extern "C++" {
#include <bough/bough.hpp>
#include <bough/progress/linger.hpp>
#include <bough/progress/thread.hpp>
#include <bough/transport/in_process.hpp>
#include <bough/transport/self.hpp>
#if defined(__linux__)
#include <bough/launch.hpp>
#include <bough/transport/shared_memory.hpp>
#endif
}
