// SPDX-License-Identifier: BSL-1.0
// The frames that bough::mpi sends, and the memory that they are sent from. Also mpi_parting, which
// keeps the communicator of an ended transport until everything that was sent to it has come.
#ifndef BOUGH_TRANSPORT_MPI_FRAMES_HPP
#define BOUGH_TRANSPORT_MPI_FRAMES_HPP

#include <bough/concepts/transport.hpp>
#include <bough/core/deadline.hpp>
#include <bough/core/ignore_exceptions.hpp>
#include <bough/core/rank.hpp>
#include <bough/os/clock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace bough::inline BOUGH_ABI::detail {

// Precedes every short payload, and travels alone as a message between two transports.
struct mpi_frame {
    enum what : std::uint32_t {
        message,      // its payload follows in the frame
        announcement, // announces a long message, whose payload waits for `go`
        go,           // the receive is posted: send the payload of your long message `number`
        none,         // the payload of my long message `number` was taken back
        done,         // I do not want the payload of your long message `number`
        room,         // only tells `used`
        bye,          // the last frame of a rank
    };
    envelope tag{};
    std::uint64_t bytes = 0;  // of the payload
    std::uint32_t number = 0; // the number of a long message, counted per pair of ranks
    std::uint32_t used = 0;   // of the messages from this frame's receiver, how many its sender has used up
    std::uint32_t kind = message;
    std::uint32_t unused = 0;
};
static_assert(sizeof(mpi_frame) == 56);

inline constexpr int mpi_frame_tag = 0;
// The tag of a long message's payload. MPI guarantees tags up to 32,767.
constexpr int mpi_payload_tag(std::uint32_t number) noexcept { return 1 + static_cast<int>(number % 16'384); }

// Count and datatype for so many bytes, even more than an int can count.
class mpi_bytes {
public:
    explicit mpi_bytes(std::size_t n) {
        constexpr std::size_t most = std::size_t{1} << 30;
        if (n <= most) {
            count = static_cast<int>(n);
            return;
        }
        count = 1;
        MPI_Datatype large;
        MPI_Type_contiguous(static_cast<int>(most), MPI_BYTE, &large);
        const int lengths[2] = {static_cast<int>(n / most), static_cast<int>(n % most)};
        const MPI_Aint places[2] = {0, static_cast<MPI_Aint>(n / most * most)};
        const MPI_Datatype types[2] = {large, MPI_BYTE};
        MPI_Type_create_struct(2, lengths, places, types, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&large);
        made_ = true;
    }
    mpi_bytes(const mpi_bytes&) = delete;
    mpi_bytes& operator=(const mpi_bytes&) = delete;
    ~mpi_bytes() { // MPI keeps the datatype as long as a transfer needs it
        if (made_) MPI_Type_free(&type);
    }
    int count = 0;
    MPI_Datatype type = MPI_BYTE;

private:
    bool made_ = false;
};

// Memory that MPI reads or writes. It is never freed before MPI is done with it.
struct mpi_buffer {
    mpi_buffer() = default;
    explicit mpi_buffer(std::size_t bytes) : memory(std::make_unique<std::byte[]>(bytes)) {}
    mpi_buffer(mpi_buffer&& from) noexcept
        : memory(std::move(from.memory)), request(std::exchange(from.request, MPI_REQUEST_NULL)) {}
    mpi_buffer& operator=(mpi_buffer&& from) noexcept {
        std::swap(memory, from.memory);
        std::swap(request, from.request);
        return *this;
    }
    ~mpi_buffer() {
        if (request != MPI_REQUEST_NULL) (void)memory.release();
    }
    std::unique_ptr<std::byte[]> memory{};
    MPI_Request request = MPI_REQUEST_NULL;
};

// Memory that frames are sent from, reused once MPI has sent them.
class mpi_outgoing {
public:
    explicit mpi_outgoing(std::size_t longest) : longest_(longest) {}

    // False: MPI refuses. Calls failed(rank) for each earlier frame whose sending has failed.
    template <class F>
    bool send(MPI_Comm comm, int to, const mpi_frame& frame, std::span<const std::byte> payload, const F& failed) {
        if (free_.empty()) reclaim(failed);
        flight f{{}, to, sent_ + 1};
        if (free_.empty()) {
            f.data = mpi_buffer(sizeof(mpi_frame) + longest_);
            free_.reserve(made_ + 1); // before MPI has the memory
            flying_.reserve(made_ + 1);
            ++made_;
        } else {
            f.data = std::move(free_.back());
            free_.pop_back();
        }
        std::byte* const bytes = f.data.memory.get();
        std::memcpy(bytes, &frame, sizeof frame);
        if (!payload.empty()) std::memcpy(bytes + sizeof frame, payload.data(), payload.size());
        ++sent_;
        if (MPI_Isend(bytes, static_cast<int>(sizeof frame + payload.size()), MPI_BYTE, to, mpi_frame_tag, comm,
                      &f.data.request) != MPI_SUCCESS)
            return end(f), false;
        const progress how = test(f);
        if (how == progress::flies) flying_.push_back(std::move(f));
        return how != progress::failed;
    }
    // Frees the memory of the frames that MPI has sent by now. The test also moves the others on.
    template <class F>
    void reclaim(const F& failed) {
        for (std::size_t i = 0; i < flying_.size();) {
            flight& f = flying_[i];
            const int to = f.to;
            const progress how = test(f);
            if (how == progress::flies) {
                ++i;
                continue;
            }
            flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
            if (how == progress::failed) failed(to);
        }
    }
    bool all_sent() const noexcept { return flying_.empty(); }
    // How many frames were sent so far, and how many of them, from the first on, need nothing more
    // from this process to reach rank `to`.
    std::uint64_t sent() const noexcept { return sent_; }
    std::uint64_t sent_to(int to) const noexcept {
        for (const flight& f : flying_)
            if (f.to == to) return f.number - 1;
        return sent_;
    }
    template <class F>
    bool is_flying_to(const F& one_of) const {
        return std::any_of(flying_.begin(), flying_.end(), [&](const flight& f) { return one_of(f.to); });
    }

private:
    struct flight {
        mpi_buffer data;
        int to;
        std::uint64_t number; // of the frame
    };
    enum class progress { flies, sent, failed };

    progress test(flight& f) {
        int sent = 0;
        const bool good = MPI_Test(&f.data.request, &sent, MPI_STATUS_IGNORE) == MPI_SUCCESS;
        if (good && sent == 0) return progress::flies;
        end(f);
        return good ? progress::sent : progress::failed;
    }
    void end(flight& f) noexcept {
        if (f.data.request == MPI_REQUEST_NULL) free_.push_back(std::move(f.data)); // there is room
    }

    std::size_t longest_, made_ = 0;
    std::vector<mpi_buffer> free_;
    std::vector<flight> flying_;
    std::uint64_t sent_ = 0;
};

// The communicators of transports that have ended. A communicator is given back when all its peers
// have said bye: then nothing more can come, and MPI_Comm_free need not wait for anybody. This is
// tried whenever a transport is made or ends. What is left is given back when MPI_Finalize calls
// the attribute of MPI_COMM_SELF, while all of MPI still works. Any thread may call this, as far as
// MPI allows it.
class mpi_parting {
public:
    struct remains {
        MPI_Comm comm;
        mpi_outgoing outgoing;
        std::size_t longest; // frame
        int expected;        // peers that have not said bye
        bool is_clean;       // nothing but bye can still come
    };

    static void add(remains what) {
        static const bool hooked = hook();
        (void)hooked;
        std::list<remains> one;
        one.push_back(std::move(what));
        {
            const std::lock_guard held(list().lock);
            list().all.splice(list().all.end(), one);
        }
        give_back();
    }
    // Gives back what can be given back, and waits for at most `patience_ns`. `at_end`: also those
    // to which something else may still come. If memory runs out, a later call does it.
    static void give_back(std::uint64_t patience_ns = 0, bool at_end = false) {
        const std::uint64_t last_ns = deadline_after(steady_now_ns(), patience_ns);
        std::list<remains> mine; // so that two threads never handle the same one
        {
            const std::lock_guard held(list().lock);
            mine.swap(list().all);
        }
        std::vector<std::byte> frame;
        std::size_t longest = 0;
        for (const remains& r : mine) longest = std::max(longest, r.longest);
        ignore_exceptions([&] { frame.resize(longest); });
        for (;;) {
            std::erase_if(mine, [at_end, &frame](remains& r) {
                if (frame.size() >= r.longest) hear(r, frame);
                if (r.expected != 0 || !r.outgoing.all_sent() || !(r.is_clean || at_end)) return false;
                MPI_Comm_free(&r.comm);
                return true;
            });
            const auto may_end = [at_end](const remains& r) { return r.is_clean || at_end; };
            if (std::none_of(mine.begin(), mine.end(), may_end) || steady_now_ns() >= last_ns) break;
            std::this_thread::yield();
        }
        const std::lock_guard held(list().lock);
        list().all.splice(list().all.end(), mine);
    }

private:
    struct shared_list {
        std::mutex lock;
        std::list<remains> all;
    };
    static shared_list& list() {
        static shared_list& one = *new shared_list; // MPI may be finalised after static objects are gone
        return one;
    }
    static bool hook() {
        int key = MPI_KEYVAL_INVALID;
        return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &key, nullptr) == MPI_SUCCESS &&
               MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS &&
               MPI_Comm_free_keyval(&key) == MPI_SUCCESS;
    }
    static int at_finalize(MPI_Comm, int, void*, void*) {
        give_back(1'000'000'000, true); // do not wait for ever: a peer may never say bye
        return MPI_SUCCESS;
    }
    // Receives all frames that have come, and counts the byes.
    static void hear(remains& r, std::vector<std::byte>& frame) {
        r.outgoing.reclaim([](int) {});
        for (;;) {
            MPI_Message message;
            int found = 0;
            if (MPI_Improbe(MPI_ANY_SOURCE, mpi_frame_tag, r.comm, &found, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS)
                r.is_clean = false, r.expected = 0;
            if (found == 0) return;
            MPI_Mrecv(frame.data(), static_cast<int>(r.longest), MPI_BYTE, &message, MPI_STATUS_IGNORE);
            mpi_frame head;
            std::memcpy(&head, frame.data(), sizeof head);
            r.expected -= head.kind == mpi_frame::bye;
        }
    }
};

} // namespace bough::detail

#endif
