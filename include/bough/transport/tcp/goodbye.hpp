// SPDX-License-Identifier: BSL-1.0
// How a rank leaves its tcp group: it sends the messages that it has copied before it closes its
// sockets.
#ifndef BOUGH_TRANSPORT_TCP_GOODBYE_HPP
#define BOUGH_TRANSPORT_TCP_GOODBYE_HPP

#include <bough/core/deadline.hpp>
#include <bough/os/clock.hpp>
#include <bough/transport/tcp/link.hpp>
#include <bough/transport/tcp/sockets.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Sends what was copied and waits until the peers' machines have it, for no longer than linger_ns.
// Pending sends are given up.
template <class Stream>
void say_goodbye(const std::vector<std::unique_ptr<tcp_link<Stream>>>& links, std::uint64_t linger_ns) {
    const std::uint64_t last = deadline_after(steady_now_ns(), linger_ns);
    // The links say themselves which are still waited for: there may be no memory for a list.
    bool any = false;
    for (const auto& link : links) {
        if (!link) continue;
        link->waiting = false;
        if (!link->open) continue;
        link->out.keep_copied();
        link->flush([](std::uint64_t) {});
        link->waiting = !has_hung_up(link->stream.socket().native_handle());
        any = any || link->waiting;
    }
    while (any && steady_now_ns() < last) {
        any = false;
        for (const auto& link : links) {
            if (!link || !link->waiting) continue;
            link->out.keep_copied(); // less is left of it since short messages have overtaken a long one
            if (link->has_to_write())
                link->flush([](std::uint64_t) {});
            else if (unsent_bytes(link->stream.socket().native_handle()) == 0 ||
                     has_hung_up(link->stream.socket().native_handle()))
                link->waiting = false;
            any = any || link->waiting;
        }
        if (any) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

} // namespace bough::detail

#endif
