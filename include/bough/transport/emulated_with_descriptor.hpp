// SPDX-License-Identifier: BSL-1.0
// emulated_with_descriptor: an emulated cluster whose ranks can sleep in poll(), epoll or Asio
// until a message is due. Linux.
//
//   bough::communicator comm{bough::emulated_with_descriptor{world.connect(r), {.latency_ns = 50'000}}};
//   bough::event_progress events{comm};
//
// It is bough::emulated, over a DescriptorTransport, with a descriptor of its own. The descriptor
// becomes readable when the inner transport has something, and when a message that is held back is
// due. Links are emulated where messages arrive. So a message may wake its rank twice: when it
// comes, which starts its time, and when it is due. Pre: the inner clock runs as the system's does.
#ifndef BOUGH_TRANSPORT_EMULATED_WITH_DESCRIPTOR_HPP
#define BOUGH_TRANSPORT_EMULATED_WITH_DESCRIPTOR_HPP

#if !defined(__linux__)
#error "bough: emulated_with_descriptor needs Linux (epoll, timerfd)"
#endif

#include <bough/concepts/transport.hpp>
#include <bough/os/fd.hpp>
#include <bough/transport/emulated.hpp>

#include <cstdint>
#include <ctime>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <utility>

namespace bough::inline BOUGH_ABI {

template <DescriptorTransport T>
class emulated_with_descriptor : public emulated<T> {
    using emulated<T>::inner_;

public:
    using emulated<T>::emulated;

    int descriptor() {
        if (queue_) return queue_.get();
        const int inner = inner_.descriptor();
        if (inner < 0) return -1;
        detail::unique_fd queue(::epoll_create1(EPOLL_CLOEXEC));
        timer_ = detail::unique_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        for (const int fd : {inner, timer_.get()}) {
            epoll_event readable{};
            readable.events = EPOLLIN;
            if (::epoll_ctl(queue.get(), EPOLL_CTL_ADD, fd, &readable) != 0) return -1;
        }
        queue_ = std::move(queue);
        return queue_.get();
    }
    bool arm() {
        if (!queue_ || this->look() || !inner_.arm()) return false;
        const std::uint64_t next = this->next_ns(), now = inner_.now_ns();
        if (next <= now) {
            inner_.disarm();
            return false;
        }
        if (next != never) ring_after(next - now);
        return true;
    }
    void disarm() {
        inner_.disarm();
        if (detail::is_forked(*this)) return; // the timer is the parent's
        ring_after(0);
    }

private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    void ring_after(std::uint64_t ns) noexcept { // 0: never
        itimerspec once{};
        once.it_value.tv_sec = static_cast<std::time_t>(ns / 1'000'000'000);
        once.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
        ::timerfd_settime(timer_.get(), 0, &once, nullptr);
    }

    detail::unique_fd queue_, timer_;
};

template <class T>
emulated_with_descriptor(T, const emulation&) -> emulated_with_descriptor<T>;

} // namespace bough

#endif
