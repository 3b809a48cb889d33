// SPDX-License-Identifier: BSL-1.0
// Your own way to move bytes, made a Transport: here a locked mailbox per rank. Every collective then runs over it.
#include <bough/allreduce.hpp>
#include <bough/concepts/explain_transport.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

struct message {
    bough::event head; // who sent it, its envelope, where its payload lies
    std::vector<std::byte> payload;
};
struct mailbox {
    std::mutex guard;
    std::map<std::uint64_t, message> messages; // by number of arrival; each stays until it is released
    std::uint64_t last = 0;
    bool closed = false;

    bough::posted put(const bough::event& head, std::span<const std::byte> bytes) {
        const std::scoped_lock lock(guard);
        const auto from_sender = [&](const auto& m) { return m.second.head.peer == head.peer; };
        if (closed) return bough::posted::failed;
        if (head.what == bough::event::kind::arrived &&
            std::count_if(messages.begin(), messages.end(), from_sender) == 16)
            return bough::posted::would_block; // a slow receiver slows its sender down: nothing piles up
        message& m = messages[++last] = {head, {bytes.begin(), bytes.end()}};
        m.head.id = last;
        m.head.bytes = bytes.size();
        m.head.data = m.payload.data();
        return bough::posted::complete; // copied: the sender may reuse its bytes at once
    }
    void close() {
        const std::scoped_lock lock(guard);
        closed = true;
    }
};

class mailboxes { // of all ranks, as one rank sees them
public:
    mailboxes(std::span<mailbox> of_all, bough::rank_t rank) : all_(of_all), me_(rank) {}
    mailboxes(mailboxes&& other) noexcept : all_(std::exchange(other.all_, {})), me_(other.me_) {}
    ~mailboxes() { // whoever waits for this rank must learn that it has left
        if (!all_.empty()) all_[me_].close();
        for (mailbox& box : all_) (void)box.put({.what = bough::event::kind::lost, .peer = me_}, {});
    }
    bough::rank_t rank() const { return me_; }
    bough::rank_t size() const { return static_cast<bough::rank_t>(all_.size()); }
    bough::posted post_send(bough::rank_t to, const bough::envelope& tag, std::span<const std::byte> bytes,
                            std::uint64_t) {
        return to < size() && to != me_ ? all_[to].put({.peer = me_, .envelope = tag}, bytes) : bough::posted::failed;
    }
    std::size_t poll(std::span<bough::event> events) {
        const std::scoped_lock lock(all_[me_].guard);
        const auto& messages = all_[me_].messages;
        std::size_t found = 0;
        for (auto m = messages.upper_bound(polled_); m != messages.end() && found != events.size(); ++m)
            events[found++] = m->second.head, polled_ = m->first;
        return found;
    }
    bough::posted take(std::uint64_t handle, std::span<std::byte> into, std::uint64_t) {
        const std::scoped_lock lock(all_[me_].guard);
        const auto m = all_[me_].messages.find(handle);
        if (m->second.payload.size() != into.size()) return bough::posted::failed;
        std::copy(m->second.payload.begin(), m->second.payload.end(), into.begin());
        all_[me_].messages.erase(m);
        return bough::posted::complete;
    }
    void release(std::uint64_t handle) {
        const std::scoped_lock lock(all_[me_].guard);
        all_[me_].messages.erase(handle);
    }
    bough::errc cancel(std::uint64_t) { return bough::errc::invalid_argument; } // no post is ever pending
    std::uint64_t now_ns() const {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
    }
    void wait(std::uint32_t, std::uint64_t) const { std::this_thread::yield(); } // optional: else bough spins

private:
    std::span<mailbox> all_;
    bough::rank_t me_;
    std::uint64_t polled_ = 0;
};
static_assert(bough::explain_transport<mailboxes>()); // true, or an error that says what is missing

int main() {
    std::vector<mailbox> all(5);
    std::vector<std::thread> ranks;
    for (bough::rank_t r = 0; r != all.size(); ++r)
        ranks.emplace_back([&all, r] {
            bough::communicator comm{mailboxes{all, r}};
            std::vector<double> x(1000, r);
            bough::allreduce(comm, std::span(x), bough::plus{});
            if (r == 2) std::printf("rank 2 has %g, over a transport of its own\n", x[999]);
        });
    for (std::thread& t : ranks) t.join();
}
