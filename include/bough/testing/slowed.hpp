// SPDX-License-Identifier: BSL-1.0
// slowed: a transport over another one that makes each message cost its rank some time: a cluster of ranks that differ in
// speed, on a machine whose cores do not.
//
//   bough::communicator comm{bough::testing::slowed{std::move(transport), {.send = {1'000'000}, .receive = {}}}};
//
// A send takes its cost before the message leaves, and a receive before the message is handed over, as in the model of
// bough/tree/costs.hpp. The rank sleeps meanwhile, so that many ranks share few cores without disturbing each other; or it
// is busy. It sleeps until shortly before the end, as systems wake sleepers up late: give costs of a millisecond and more,
// or be busy. A send that is refused is paid once. Waiting is done in naps, so that ranks that wait leave the cores to those that work.
//
// Every message costs, those of a barrier and other helpers too.
#ifndef BOUGH_TESTING_SLOWED_HPP
#define BOUGH_TESTING_SLOWED_HPP

#include <bough/concepts/transport.hpp>
#include <bough/model/lrc.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <utility>

namespace bough::testing {

struct slowness {
    model::cost_per_size send{};
    model::cost_per_size receive{};
    bool busy = false; // compute instead of sleeping
};

template <Transport T>
class slowed {
public:
    slowed(T inner, slowness costs) : inner_(std::move(inner)), costs_(costs) {}

    rank_t rank() const noexcept { return inner_.rank(); }
    rank_t size() const noexcept { return inner_.size(); }
    std::uint64_t now_ns() const noexcept { return inner_.now_ns(); }

    posted post_send(rank_t to, const envelope& tag, std::span<const std::byte> bytes, std::uint64_t id) {
        if (!paid_) spend(costs_.send.at_ns(bytes.size()));
        const posted result = inner_.post_send(to, tag, bytes, id);
        paid_ = result == posted::would_block;
        return result;
    }
    std::size_t poll(std::span<event> events) {
        // One at a time: the cost of a message is paid before the next is looked at.
        const std::size_t found = inner_.poll(events.first(events.empty() ? 0 : 1));
        if (found == 1 && events[0].what == event::kind::arrived) spend(costs_.receive.at_ns(events[0].bytes));
        return found;
    }
    posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t id) {
        return inner_.take(handle, into, id);
    }
    bool claim(std::uint64_t handle) requires InPlaceTransport<T> { return inner_.claim(handle); }
    void release(std::uint64_t handle) { inner_.release(handle); }
    errc cancel(std::uint64_t id) { return inner_.cancel(id); }
    void wait(std::uint32_t idle, std::uint64_t deadline_ns) {
        if (costs_.busy) {
            if constexpr (WaitableTransport<T>)
                inner_.wait(idle, deadline_ns);
            else
                std::this_thread::yield();
        } else if (idle > 2) {
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

private:
    void spend(double ns) const {
        if (!(ns > 0)) return;
        using clock = std::chrono::steady_clock;
        const auto end = clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
        if (!costs_.busy) std::this_thread::sleep_until(end - std::chrono::microseconds(100)); // it wakes up late
        while (clock::now() < end) {
        }
    }

    T inner_;
    slowness costs_;
    bool paid_ = false;
};

template <class T>
slowed(T, slowness) -> slowed<T>;

} // namespace bough::testing

#endif
