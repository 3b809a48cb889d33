// SPDX-License-Identifier: BSL-1.0
// Runs under mpirun, with any MPI: every rank checks bough::mpi from its end. Prints one line per fault; status 1 if any.
#include "mpi/gives_way.hpp"
#include "support/any_order.hpp"
#include "support/child_of_fork.hpp"
#include "support/counted_new.hpp"
#include "support/process_collectives.hpp"
#include "support/two_late.hpp"
#include <bough/allreduce.hpp>
#include <bough/barrier.hpp>
#include <bough/broadcast.hpp>
#include <bough/core/deadline.hpp>
#include <bough/group.hpp>
#include <bough/launch/mpi.hpp>
#include <bough/op/arithmetic.hpp>
#include <bough/testing/process_conformance.hpp>
#include <bough/testing/wire_up_conformance.hpp>
#include <bough/transport/mpi.hpp>
#include <bough/tree/flat.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace bough;

// Between bough and MPI, by MPI's profiling interface.
namespace {
std::atomic<bool> isends_fail{false}, tests_fail{false};
std::atomic<int> payloads{0}; // that have been begun
int mpi_calls = 0;            // of those that end something
bool duplicates_fail = false; // the next one of this rank
bool duplicates_fail_always = false;
std::atomic<int> held{0};                    // duplicates that are not given back
int slow_sender = -1, probed = -1;           // its next frame does not come whole; the sender of the last message found
MPI_Request slow_request = MPI_REQUEST_NULL; // of that frame
bool slow_fails = false;                     // it will never come
// The frames of this rank leave, but MPI does not say so.
bool frames_fly = false;
std::array<MPI_Request, 64> flying{};
std::size_t flying_frames = 0;
bool flies(MPI_Request request) {
    const auto end = flying.begin() + static_cast<std::ptrdiff_t>(flying_frames);
    return std::find(flying.begin(), end, request) != end;
}
} // namespace
extern "C" int MPI_Comm_dup(MPI_Comm of, MPI_Comm* made) {
    const int code = PMPI_Comm_dup(of, made); // all take part
    if (code == MPI_SUCCESS && (duplicates_fail_always || std::exchange(duplicates_fail, false))) {
        PMPI_Comm_free(made);
        return MPI_ERR_NO_MEM;
    }
    held += code == MPI_SUCCESS;
    return code;
}
extern "C" int MPI_Comm_split_type(MPI_Comm of, int type, int key, MPI_Info info, MPI_Comm* made) {
    held += 1;
    return PMPI_Comm_split_type(of, type, key, info, made);
}
extern "C" int MPI_Finalized(int* over) {
    ++mpi_calls;
    return PMPI_Finalized(over);
}
extern "C" int MPI_Comm_free(MPI_Comm* of) {
    ++mpi_calls;
    held -= 1;
    return PMPI_Comm_free(of);
}
extern "C" int MPI_Improbe(int from, int tag, MPI_Comm comm, int* found, MPI_Message* message, MPI_Status* about) {
    const int code = PMPI_Improbe(from, tag, comm, found, message, about);
    if (slow_sender != -1 && about != MPI_STATUS_IGNORE && code == MPI_SUCCESS && *found != 0)
        probed = about->MPI_SOURCE;
    return code;
}
extern "C" int MPI_Imrecv(void* into, int count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
    const int code = PMPI_Imrecv(into, count, type, message, request);
    if (slow_sender != -1 && slow_request == MPI_REQUEST_NULL && probed == slow_sender) slow_request = *request;
    return code;
}
extern "C" int MPI_Test(MPI_Request* request, int* over, MPI_Status* about) {
    if (tests_fail && *request != MPI_REQUEST_NULL) return MPI_ERR_OTHER;
    if (slow_sender != -1 && *request != MPI_REQUEST_NULL && *request == slow_request)
        return slow_fails ? MPI_ERR_OTHER : (*over = 0, MPI_SUCCESS);
    if (frames_fly && *request != MPI_REQUEST_NULL && flies(*request)) return *over = 0, MPI_SUCCESS;
    return PMPI_Test(request, over, about);
}
extern "C" int MPI_Isend(const void* from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                         MPI_Request* request) {
    if (isends_fail) return MPI_ERR_OTHER;
    payloads += tag != detail::mpi_frame_tag;
    const int code = PMPI_Isend(from, count, type, to, tag, comm, request);
    if (frames_fly && tag == detail::mpi_frame_tag && flying_frames != flying.size())
        flying[flying_frames++] = *request;
    return code;
}

namespace {

int failures = 0;

void check(bool good, const char* what, rank_t rank) {
    if (good) return;
    ++failures;
    std::printf("FAILED: rank %u: %s\n", rank, what);
}

void collectives(MPI_Comm world, const mpi_options& options) {
    communicator comm{mpi{world, options}};
    const rank_t me = comm.rank(), size = comm.size();
    check(bough_test::wrong_collectives(comm, {0, 1, size, 1000, 70'000}) == 0, "collectives", me);
    // Two groups side by side, over the one transport.
    auto half = split(comm, me % 2);
    std::vector<long> x(3000, 1);
    allreduce(half, std::span(x), plus{});
    check(x[2999] == static_cast<long>((size + (me % 2 == 0 ? 1 : 0)) / 2), "allreduce of half the ranks", me);
    barrier(comm);
}

// Long messages that nobody has taken leave the window to older operations.
void long_messages_ahead(MPI_Comm world) {
    mpi link{world, {.window = 4}};
    const rank_t me = link.rank();
    if (link.size() != 3) return;
    check(!bough_test::early_messages_in_the_way(std::move(link), 10, 100'000), "long messages ahead", me);
}

// What a rank sees, and lets go.
struct spectator {
    mpi& link;
    std::vector<std::pair<rank_t, std::uint32_t>> seen{}; // the sender, and the number of the operation
    bool is_lost = false;                                 // rank 1

    void poll() {
        std::array<event, 8> events;
        const std::size_t found = link.poll(events);
        for (const event& e : std::span(events).first(found)) {
            is_lost = is_lost || (e.what == event::kind::lost && e.peer == 1);
            if (e.what != event::kind::arrived) continue;
            seen.emplace_back(e.peer, e.envelope.operation);
            link.release(e.id);
        }
    }
    template <class F>
    bool poll_until(const F& done) {
        const std::uint64_t last = deadline_after(link.now_ns(), 30'000'000'000);
        while (!done() && link.now_ns() < last) poll();
        return done();
    }
    bool poll_until_slow() {
        slow_sender = 1;
        return poll_until([] { return slow_request != MPI_REQUEST_NULL; });
    }
};
void end_slowness() {
    slow_sender = -1;
    slow_request = MPI_REQUEST_NULL;
    slow_fails = false;
}
void send_short(mpi& link, std::uint32_t operation) {
    check(link.post_send(0, {.operation = operation}, {}, 1) == posted::complete, "a short message is taken",
          link.rank());
}
// A word from one rank to another, over MPI.
constexpr int word_tag = 78;
void tell(MPI_Comm world, int to) { MPI_Send(nullptr, 0, MPI_BYTE, to, word_tag, world); }
void hear(MPI_Comm world, int from) { MPI_Recv(nullptr, 0, MPI_BYTE, from, word_tag, world, MPI_STATUS_IGNORE); }

// A frame of rank 1 comes slowly, as its sender calls MPI seldom. Those of rank 2 come meanwhile; another one of rank 1
// comes behind the first, or not at all if the first one fails.
void slow_frame(MPI_Comm world, bool fails) {
    mpi link{world};
    const rank_t me = link.rank();
    if (link.size() < 3) return;
    if (me == 1) {
        send_short(link, 1), send_short(link, 2);
    } else if (me == 2) {
        hear(world, 0);
        send_short(link, 3);
    } else if (me == 0) {
        spectator at{link};
        check(at.poll_until_slow(), "a frame begins to come", me);
        tell(world, 2);
        check(at.poll_until([&] { return !at.seen.empty(); }), "a slow frame does not hold up those of others", me);
        using list = std::vector<std::pair<rank_t, std::uint32_t>>;
        check(at.seen == list{{2, 3}}, "nothing overtakes a slow frame", me);
        if (fails) {
            slow_fails = true;
            check(at.poll_until([&] { return at.is_lost; }), "whose frame fails is lost", me);
            check(at.seen.size() == 1, "nothing comes without what was before it", me);
        } else {
            slow_sender = -1;
            check(at.poll_until([&] { return at.seen.size() == 3; }), "a slow frame comes", me);
            check(at.seen == list{{2, 3}, {1, 1}, {1, 2}}, "in order", me);
        }
        end_slowness();
    }
    MPI_Barrier(world); // ends leave afterwards
}

// Both ranks leave while a frame is still coming, and the bye of its sender is behind it.
void slow_frame_at_the_end(MPI_Comm world) {
    detail::mpi_parting::give_back(30'000'000'000);
    const int before = held;
    int me = 0, size = 1;
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &size);
    if (size == 1) return;
    std::optional<mpi> link(std::in_place, world);
    if (me == 0) {
        spectator at{*link};
        check(at.poll_until_slow(), "a frame begins to come", 0);
        tell(world, 1);
        hear(world, 1);
        at.poll();
        link.reset();
    } else if (me == 1) {
        send_short(*link, 1);
        hear(world, 0);
        link.reset();
        tell(world, 0);
    }
    link.reset();
    end_slowness();
    MPI_Barrier(world);
    detail::mpi_parting::give_back(30'000'000'000);
    check(held == before, "who left before a frame had come gives the communicator back", static_cast<rank_t>(me));
}

// Runs f while no memory is to be had. True: f was told so.
template <class F>
bool without_memory(const F& f) {
    bool is_told = false;
    bough_test::fail_for_good = true;
    bough_test::until_failure = 0;
    try {
        f();
    } catch (const std::bad_alloc&) {
        is_told = true;
    }
    bough_test::until_failure = -1;
    bough_test::fail_for_good = false;
    return is_told;
}

// There is no memory for a frame when it comes.
void poor_receiver(MPI_Comm world) {
    mpi link{world};
    if (link.size() == 1) return;
    if (link.rank() == 1) {
        send_short(link, 1);
        tell(world, 0);
    } else if (link.rank() == 0) {
        hear(world, 1);
        spectator at{link};
        const bool is_told = without_memory([&] { at.poll(); });
        check(is_told && at.seen.empty(), "a poll without memory says so", 0);
        check(at.poll_until([&] { return at.seen.size() == 1; }), "a frame waits until there is memory", 0);
    }
    MPI_Barrier(world);
}

// There is no memory for a take. It can be tried again, and the announcement is used up once.
void poor_taker(MPI_Comm world) {
    bool is_told = true;
    for (long few = 0; is_told; ++few) {
        mpi link{world, {.window = 4, .eager_bytes = 0}};
        const rank_t me = link.rank();
        if (link.size() == 1) return;
        std::vector<std::byte> there(100, std::byte{7}), here(100);
        std::vector<std::uint64_t> handles;
        int ends = 0;
        const auto poll_until = [&](const auto& done) {
            const std::uint64_t last = deadline_after(link.now_ns(), 30'000'000'000);
            while (!done() && link.now_ns() < last) {
                std::array<event, 8> events;
                const std::size_t found = link.poll(events);
                for (const event& e : std::span(events).first(found)) {
                    if (e.what == event::kind::arrived) handles.push_back(e.id);
                    ends += e.what == event::kind::complete && e.code == errc::ok;
                }
            }
            return done();
        };
        is_told = false;
        if (me == 1) {
            check(link.post_send(0, {}, there, 1) == posted::pending, "a long message is announced", 1);
            check(poll_until([&] { return ends == 1; }), "it is taken", 1);
            for (int i = 0; i != 2; ++i) send_short(link, 1);
        } else if (me == 0) {
            check(poll_until([&] { return !handles.empty(); }), "a long message comes", 0);
            bough_test::until_failure = few;
            try {
                check(link.take(handles[0], here, 1) == posted::pending, "it is taken at once", 0);
            } catch (const std::bad_alloc&) {
                is_told = true;
            }
            bough_test::until_failure = -1;
            if (is_told) check(link.take(handles[0], here, 1) == posted::pending, "it is taken at last", 0);
            check(poll_until([&] { return ends == 1; }) && here == there, "the payload comes where it is wanted", 0);
            check(poll_until([&] { return handles.size() == 3; }) && handles[1] != handles[2],
                  "two messages lie in two places", 0);
        }
        MPI_Bcast(&is_told, 1, MPI_C_BOOL, 0, world);
    }
}

// What a rank sees of its long messages.
struct long_spectator {
    mpi& link;
    std::vector<std::uint64_t> handles{};               // of what has come
    std::vector<std::pair<std::uint64_t, errc>> ends{}; // by id
    std::array<event, 8> events{};
    std::size_t found = 0; // by the last poll

    void note() { // takes memory
        for (const event& e : std::span(events).first(std::exchange(found, 0))) {
            if (e.what == event::kind::arrived) handles.push_back(e.id);
            if (e.what == event::kind::complete) ends.emplace_back(e.id, e.code);
        }
    }
    template <class F>
    bool poll_until(const F& done) {
        const std::uint64_t last = deadline_after(link.now_ns(), 30'000'000'000);
        while (!done() && link.now_ns() < last) found = link.poll(events), note();
        return done();
    }
    // Polls without memory until that is said, or often. True: it was said.
    bool poll_poor() {
        bool is_told = false;
        for (int turns = 0; turns != 1'000 && !is_told; ++turns) {
            is_told = without_memory([this] { found = link.poll(events); });
            note();
        }
        return is_told;
    }
    bool has_ended(std::uint64_t id, errc how) const {
        return std::count(ends.begin(), ends.end(), std::pair{id, how}) == 1;
    }
};

// A sender without memory. Its receiver asks for a message that has been taken back; the poll that hears so also hands over
// how the message has ended.
void poor_sender(MPI_Comm world) {
    mpi link{world, {.window = 4, .eager_bytes = 0}};
    const rank_t me = link.rank();
    if (link.size() == 1) return;
    std::vector<std::byte> there(1'000'000, std::byte{7}), here(there.size());
    long_spectator at{link};
    if (me == 0) {
        frames_fly = true; // so that an answer takes memory
        bool is_told = true;
        for (long few = 0; is_told; ++few) {
            posted how = posted::failed;
            is_told = false;
            bough_test::until_failure = few;
            try {
                how = link.post_send(1, {}, there, 1);
            } catch (const std::bad_alloc&) {
                is_told = true;
            }
            bough_test::until_failure = -1;
            check(is_told || how == posted::pending, "a long message is announced", 0);
        }
        check(link.post_send(1, {}, there, 2) == posted::pending, "and another", 0);
        hear(world, 1);
        check(link.cancel(1) == errc::ok, "a message is taken back", 0);
        check(at.poll_poor(), "who has no memory for an answer says so", 0);
        check(at.ends == decltype(at.ends){{1, errc::cancelled}} || at.ends.size() == 2,
              "no event is lost, and none comes of nothing", 0);
        check(at.poll_until([&] { return at.ends.size() == 2; }) && at.has_ended(1, errc::cancelled) &&
                  at.has_ended(2, errc::ok),
              "each message ends once", 0);
        tell(world, 1);
        frames_fly = false;
        flying_frames = 0;
    } else if (me == 1) {
        check(at.poll_until([&] { return at.handles.size() == 2; }), "long messages come", 1);
        check(link.take(at.handles[0], here, 8) == posted::pending, "one is asked for", 1);
        tell(world, 0);
        check(at.poll_until([&] { return at.has_ended(8, errc::peer_aborted); }),
              "who asks for what was taken back has an answer", 1);
        check(link.take(at.handles[1], here, 9) == posted::pending, "the other one is asked for", 1);
        check(at.poll_until([&] { return at.has_ended(9, errc::ok); }) && here == there, "and comes", 1);
        hear(world, 0);
    }
    MPI_Barrier(world);
}

// A receiver without memory lets a long message go, and gives up another one whose payload comes all the same.
void poor_release(MPI_Comm world) {
    const int before = payloads;
    mpi link{world, {.window = 2, .eager_bytes = 0}};
    const rank_t me = link.rank();
    if (link.size() == 1) return;
    std::vector<std::byte> there(3'000'000, std::byte{7}), here(there.size());
    long_spectator at{link};
    if (me == 1) {
        for (const std::uint64_t id : {1u, 2u})
            check(link.post_send(0, {}, there, id) == posted::pending, "a long message is announced", 1);
        check(at.poll_until([&] { return payloads != before; }), "the one that is taken is asked for", 1);
        tell(world, 0);
        check(at.poll_until([&] { return at.has_ended(1, errc::ok); }), "a message that is let go ends well", 1);
        check(at.poll_until([&] { return at.has_ended(2, errc::ok); }), "one that is not wanted any more, too", 1);
        const std::uint64_t last = deadline_after(link.now_ns(), 30'000'000'000);
        posted how = posted::would_block;
        while (how == posted::would_block && link.now_ns() < last) {
            how = link.post_send(0, {.operation = 3}, {}, 3);
            at.found = link.poll(at.events), at.note();
        }
        check(how == posted::complete, "there is room again", 1);
    } else if (me == 0) {
        check(at.poll_until([&] { return at.handles.size() == 2; }), "long messages come", 0);
        check(link.take(at.handles[1], here, 5) == posted::pending && link.cancel(5) == errc::ok, "one is given up", 0);
        frames_fly = true;
        (void)without_memory([&] { link.release(at.handles[0]); });
        check(at.poll_poor(), "who has no memory to answer says so", 0);
        hear(world, 1); // the payload of the other one is under way
        for (int turns = 0; turns != 300; ++turns) {
            (void)without_memory([&] { at.found = link.poll(at.events); });
            at.note();
        }
        check(at.poll_until([&] { return at.handles.size() == 3; }), "a message behind them comes", 0);
        check(at.ends.size() == 1 && at.ends[0].first == 5, "a take ends once", 0);
        frames_fly = false;
        flying_frames = 0;
    }
    MPI_Barrier(world);
}

// A word that is owed for want of memory is said when there is some, also after a poll that has thrown.
void owed_word(MPI_Comm world) {
    mpi link{world, {.window = 2, .eager_bytes = 0}};
    const rank_t me = link.rank();
    if (link.size() == 1) return;
    const std::vector<std::byte> there(1'000, std::byte{7});
    long_spectator at{link};
    if (me == 1) {
        check(link.post_send(0, {}, there, 1) == posted::pending, "a long message is announced", 1);
        check(at.poll_until([&] { return at.has_ended(1, errc::ok); }), "a message that is let go ends well", 1);
        tell(world, 0);
    } else if (me == 0) {
        check(at.poll_until([&] { return at.handles.size() == 1; }), "a long message comes", 0);
        (void)without_memory([&] { link.release(at.handles[0]); }); // no frame of this rank is free
        check(at.poll_poor(), "who has no memory to answer says so", 0);
        const auto has_heard = [&] {
            int has_come = 0;
            MPI_Iprobe(1, MPI_ANY_TAG, world, &has_come, MPI_STATUS_IGNORE);
            return has_come != 0;
        };
        check(at.poll_until(has_heard), "the word that was owed has been said", 0);
        hear(world, 1);
    }
    MPI_Barrier(world);
}

// Operations of several communicators that each rank starts in an order of its own.
void any_order(MPI_Comm world) {
    for (std::uint32_t seed = 1; seed != 4; ++seed) {
        mpi link{world, {.window = seed == 1 ? 4u : mpi_options{}.window}};
        const rank_t me = link.rank();
        if (link.size() == 1) return;
        check(!bough_test::any_order(std::move(link), seed), "any order", me);
    }
}

// The last rank forks amid its operations: its children call MPI for nothing.
void forks(MPI_Comm world) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
        bough_test::in_flight mine{std::optional(communicator{mpi{world}, {.timeout_ns = 60'000'000'000}})};
        const rank_t me = mine.comm->rank(), size = mine.comm->size();
        if (size == 1) return; // nothing is in flight for long
        constexpr int go = 77;
        const auto let_go = [&] {
            for (rank_t r = 0; r + 1 != size; ++r) MPI_Send(nullptr, 0, MPI_BYTE, static_cast<int>(r), go, world);
        };
        const auto wait = [&] {
            MPI_Recv(nullptr, 0, MPI_BYTE, static_cast<int>(size - 1), go, world, MPI_STATUS_IGNORE);
        };
        check(bough_test::wrong_beside_children(mine, count, let_go, wait) == 0, "forks amid operations", me);
        barrier(*mine.comm);
    }
}

// Each message goes the way that its receiver says: whole in its frame, or by a call of MPI for its payload alone.
void ways(MPI_Comm world, const mpi_options& options) {
    mpi end{world, options};
    const rank_t me = end.rank();
    if (me > 1 || end.size() == 1) return;
    const std::uint64_t last = end.now_ns() + 20'000'000'000;
    const std::size_t limit = options.eager_bytes;
    event e, message; // the next message may come before the payload of the one that is taken
    bool is_waiting = false;
    const auto look = [&] {
        if (end.poll(std::span(&e, 1)) == 0) return false;
        if (e.what == event::kind::arrived) message = e, is_waiting = true;
        return true;
    };
    const auto is_complete = [&] { // others leave meanwhile
        while (end.now_ns() < last)
            if (look() && e.what == event::kind::complete) return true;
        return false;
    };
    const auto arrived = [&] {
        while (!is_waiting && end.now_ns() < last) look();
        return std::exchange(is_waiting, false);
    };
    for (const std::size_t bytes : {std::size_t{1}, limit, limit + 1, std::size_t{300'000}}) {
        const std::vector<std::byte> sent(bytes, std::byte{4});
        std::vector<std::byte> into(bytes);
        const int before = payloads.load();
        protocol way = protocol::copied;
        bool is_over = false;
        if (me == 1) {
            posted result = posted::would_block;
            while ((result = end.post_send(0, {}, sent, 1)) == posted::would_block && end.now_ns() < last)
                look(); // it hears that there is room
            is_over = result == posted::complete || (result == posted::pending && is_complete() && e.code == errc::ok);
            if (payloads.load() != before) way = protocol::staged;
        } else if (arrived() && message.bytes == bytes) {
            if (message.data == nullptr && bytes != 0) way = protocol::staged;
            const posted result = end.take(message.id, into, 2);
            is_over = (result == posted::complete || is_complete()) && into == sent;
        }
        check(is_over && way == end.way_of(1 - me, bytes, false), "a message goes the way that is said of it", me);
        check((way == protocol::copied) == (bytes <= limit), "eager_bytes limits what is copied", me);
    }
}

// A receiver gives up takes of long messages at any moment: the sender's post ends all the same, and what follows arrives.
void given_up_takes(MPI_Comm world) {
    constexpr std::uint32_t messages = 60;
    mpi end{world, {.window = 4}};
    const rank_t me = end.rank();
    if (me > 1 || end.size() == 1) return;
    std::vector<std::byte> bytes(50'000, std::byte{1}), into(bytes.size());
    std::uint32_t ended = 0, cancelled = 0, wrong = 0;
    const auto handle = [&](const event& e) {
        wrong += e.what == event::kind::complete && e.code != errc::ok && e.code != errc::cancelled;
        cancelled += e.code == errc::cancelled;
        ended += e.what == event::kind::complete;
    };
    const std::uint64_t last = end.now_ns() + 20'000'000'000;
    std::array<event, 4> events;
    if (me == 1) {
        for (std::uint32_t sent = 0; ended != messages && end.now_ns() < last;) {
            if (sent != messages) sent += end.post_send(0, {.segment = sent}, bytes, sent) == posted::pending;
            const std::size_t found = end.poll(events);
            for (std::size_t i = 0; i != found; ++i) handle(events[i]);
        }
        check(ended == messages && cancelled == 0 && wrong == 0, "posts end, whatever becomes of the takes", me);
        return;
    }
    std::vector<event> waiting; // one take at a time: they share `into`
    std::uint32_t seen = 0, taken = 0;
    while (ended != messages && end.now_ns() < last) {
        const std::size_t found = end.poll(events);
        for (std::size_t i = 0; i != found; ++i) {
            if (events[i].what != event::kind::arrived) {
                handle(events[i]);
                continue;
            }
            wrong += events[i].envelope.segment != seen++;
            waiting.push_back(events[i]);
        }
        if (ended != taken || waiting.empty()) continue;
        wrong += end.take(waiting.front().id, into, taken) != posted::pending;
        waiting.erase(waiting.begin());
        for (std::uint32_t k = 0; k != taken % 20; ++k) (void)end.poll({});
        wrong += end.cancel(taken++) != errc::ok;
    }
    check(ended == messages && wrong == 0, "takes end, whenever they are given up", me);
    check(cancelled != 0, "a take can be cancelled", me);
}

// A call of MPI fails. The peer is lost; bytes that MPI may still read are not given back before it says so.
void failing_calls(MPI_Comm world) {
    mpi end{world};
    const rank_t me = end.rank();
    std::vector<std::byte> bytes(std::size_t{8} << 20, std::byte{1});
    const std::uint64_t last = end.now_ns() + 10'000'000'000;
    std::array<event, 4> events;
    const auto pause = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
    for (const bool is_started : {true, false}) {
        const rank_t sender = is_started ? 1 : 2, receiver = is_started ? 0 : 3;
        if (end.size() <= std::max(sender, receiver)) continue;
        if (me == receiver) {
            std::fill(bytes.begin(), bytes.end(), std::byte{});
            event seen;
            while (seen.what != event::kind::arrived || seen.bytes == 0)
                for (std::size_t n = end.poll(events), i = 0; i != n; ++i) seen = events[i];
            check(end.take(seen.id, bytes, 7) == posted::pending, "a long message is taken", me);
            MPI_Send(nullptr, 0, MPI_BYTE, static_cast<int>(sender), 1, world);
            pause(200); // out of MPI: nothing of the payload moves
            errc code = errc::deadline;
            while (code == errc::deadline && end.now_ns() < last)
                for (std::size_t n = end.poll(events), i = 0; i != n; ++i)
                    if (events[i].what == event::kind::complete && events[i].id == 7) code = events[i].code;
            const auto right = static_cast<std::size_t>(std::count(bytes.begin(), bytes.end(), std::byte{1}));
            check(code == errc::peer_dead || (code == errc::ok && right == bytes.size()),
                  "a take of a sender whose MPI fails is right or an error", me);
        } else if (me == sender) {
            check(end.post_send(receiver, {}, bytes, 5) == posted::pending, "a long message is pending", me);
            MPI_Recv(nullptr, 0, MPI_BYTE, static_cast<int>(receiver), 1, world, MPI_STATUS_IGNORE);
            if (is_started) {
                for (const int before = payloads.load(); payloads.load() == before && end.now_ns() < last;)
                    (void)end.poll(events);
                isends_fail = true;
                check(end.post_send(receiver, {}, {}, 6) == posted::would_block, "a call that fails sends nothing", me);
            } else {
                isends_fail = true; // the payload's
            }
            int lost = 0, ended = 0, others = 0;
            errc code = errc::ok;
            const auto look = [&] {
                for (std::size_t n = end.poll(events), i = 0; i != n; ++i) {
                    lost += events[i].what == event::kind::lost && events[i].peer == receiver; // others may have left
                    others += events[i].what == event::kind::arrived;
                    if (events[i].what != event::kind::complete) continue;
                    ++ended;
                    code = events[i].code;
                    std::fill(bytes.begin(), bytes.end(), std::byte{0xdd});
                }
            };
            while ((lost == 0 || ended == 0) && end.now_ns() < last) look();
            isends_fail = false;
            for (int i = 0; i != 100; ++i) look();
            check(lost == 1 && ended == 1 && others == 0,
                  "a failing call loses its peer, once, and ends its send, once", me);
            check(code == errc::peer_dead || (is_started && code == errc::ok), "and says why", me);
            check(end.post_send(receiver, {}, {}, 8) == posted::failed, "a send to a lost peer fails", me);
        }
    }
}

// MPI says only later that a frame has failed, on either side: the peer is lost then, too, and nothing waits for the frame.
void failing_tests(MPI_Comm world) {
    constexpr int go = 3;
    mpi end{world, {.window = 4, .eager_bytes = 1u << 20}};
    const rank_t me = end.rank();
    if (end.size() == 1 || me > 1) return;
    const std::vector<std::byte> bytes(me == 0 ? 8 : 1u << 20);
    std::array<event, 4> events;
    const std::uint64_t last = end.now_ns() + 10'000'000'000;
    int lost = 0, arrived = 0;
    const auto look = [&] {
        for (std::size_t n = end.poll(events), i = 0; i != n; ++i) {
            lost += events[i].what == event::kind::lost && events[i].peer == 1 - me;
            arrived += events[i].what == event::kind::arrived && events[i].peer == 1 - me;
        }
    };
    if (me == 1) {
        check(end.post_send(0, {}, bytes, 1) == posted::complete, "a frame is taken", me);
        check(end.unsent(), "a long frame waits for its receiver", me);
        tests_fail = true;
        end.flush();
        tests_fail = false;
        check(!end.unsent() && end.handed_over(0) == end.accepted(0), "nobody waits for a frame that has failed", me);
        look();
        check(lost == 1, "its receiver is lost", me);
        MPI_Send(nullptr, 0, MPI_BYTE, 0, go, world);
    } else {
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, go, world, MPI_STATUS_IGNORE);
        tests_fail = true;
        while (lost == 0 && end.now_ns() < last) look();
        tests_fail = false;
        check(lost == 1 && arrived == 0, "the sender of a frame that cannot be received is lost", me);
    }
}

// No memory to say goodbye with: the others hear of it all the same.
void poor_ends(MPI_Comm world) {
    for (const bool for_good : {false, true})
        for (long few = 0; few != 4; ++few) {
            std::optional<mpi> end(std::in_place, world);
            const rank_t me = end->rank();
            if (me == 0) {
                bough_test::fail_for_good = for_good;
                bough_test::until_failure = few;
                end.reset();
                bough_test::until_failure = -1;
                bough_test::fail_for_good = false;
                continue;
            }
            const std::uint64_t last = deadline_after(end->now_ns(), 30'000'000'000);
            bool is_lost = false;
            for (std::array<event, 8> events; !is_lost && end->now_ns() < last;)
                for (std::size_t n = end->poll(events), i = 0; i != n; ++i)
                    is_lost = is_lost || (events[i].what == event::kind::lost && events[i].peer == 0);
            check(is_lost, "who leaves without memory says so", me);
        }
}

// The child of a fork leaves MPI to its parent.
void forked_wire_up(MPI_Comm world) {
    mpi_wire_up wire{world};
    const rank_t me = wire.rank();
    if (me != 0) return;
    const pid_t child = ::fork();
    if (child == 0) {
        status s;
        mpi_calls = 0;
        {
            mpi_wire_up copy(std::move(wire));
            std::vector<std::byte> all(copy.size());
            s = copy.exchange(std::span(all).first(1), all, 1'000'000);
        }
        ::_exit(s.code == errc::forked_child && mpi_calls == 0 ? 0 : 1);
    }
    int how = 0;
    check(::waitpid(child, &how, 0) == child && WIFEXITED(how) && WEXITSTATUS(how) == 0,
          "the child of a fork does not call MPI for a wire-up", me);
}

// A rank is silent when its broadcast has returned, and calls neither bough nor MPI until the others have their data. Frames
// are so long that MPI sends them only when their receiver has come, and the sender calls MPI after that.
void silent_sender(MPI_Comm world, std::uint64_t turn) {
    communicator comm{mpi{world, {.window = 4, .eager_bytes = 1u << 20}}};
    const rank_t me = comm.rank(), size = comm.size();
    comm.set_timeout_ns(30'000'000'000);
    const auto sign_of = [&](rank_t r) { // a file: whoever asks MPI helps it to send
        return std::filesystem::temp_directory_path() /
               ("bough-mpi-" + std::to_string(turn) + "-" + std::to_string(size) + "-" + std::to_string(r));
    };
    std::filesystem::remove(sign_of(me));
    barrier(comm);
    std::vector<int> x(200'000, me == 0 ? 7 : 0);
    status s;
    for (int i = 0; i != 2; ++i) broadcast(comm, std::span(x), root{0}, flat{}, s);
    check(!s && x.back() == 7, "a broadcast of a rank that is silent then", me);
    if (me != 0) std::ofstream(sign_of(me)) << "done";
    bool all = true;
    const std::uint64_t last = detail::steady_now_ns() + 20'000'000'000;
    for (rank_t r = 1; me == 0 && r != size; ++r)
        while (all && !std::filesystem::exists(sign_of(r))) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            all = detail::steady_now_ns() < last;
        }
    check(all, "the others have what a silent rank has sent", me);
    barrier(comm, s);
    std::filesystem::remove(sign_of(me));
}

// Ranks that make different calls hear of it, over MPI too.
void different_calls(MPI_Comm world) {
    communicator comm{mpi{world}};
    if (comm.size() == 1) return;
    std::vector<long> x(comm.rank() == 0 ? 10 : 11, 1);
    std::error_code ec;
    comm.set_timeout_ns(5'000'000'000);
    allreduce(comm, std::span(x), plus{}, ec);
    check(ec == errc::call_mismatch || ec == errc::peer_aborted || ec == errc::group_poisoned, "a mismatch is an error",
          comm.rank());
}

// A communicator that MPI refuses to one rank, or options that may not be: an error on all, and nothing is left behind.
void refused(MPI_Comm world) {
    int me = 0, size = 0;
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &size);
    for (const int victim : {0, size / 2, size - 1})
        for (const bool by_mpi : {true, false}) {
            const bool is_victim = me == victim;
            const errc cause = by_mpi ? errc::no_resources : errc::invalid_argument;
            const mpi_options options{.window = is_victim && !by_mpi ? 0u : 32u};
            // It is tried twice, for peers may give some back in between.
            for (const bool throws : {false, true}) {
                status s;
                std::string what;
                duplicates_fail_always = is_victim && by_mpi;
                if (throws) {
                    try {
                        mpi link{world, options};
                    } catch (const error& e) {
                        s = e.details();
                        what = e.what();
                    }
                } else {
                    (void)mpi::join(world, options, s);
                }
                duplicates_fail_always = false;
                if (is_victim) {
                    check(s.code == cause, "a rank that cannot join says why", static_cast<rank_t>(me));
                    check(!throws || !by_mpi || what.find("MPI_Comm_dup") != what.npos, "in the words of MPI",
                          static_cast<rank_t>(me));
                } else {
                    check(s.code == errc::peer_aborted && s.cause == cause && s.peer == static_cast<rank_t>(victim),
                          "and is named to the others", static_cast<rank_t>(me));
                }
            }
        }
    // Once only: the second try is good.
    duplicates_fail = me == size - 1;
    status s;
    const auto link = mpi::join(world, {}, s);
    check(link.has_value() && !s, "what is refused once is had the second time", static_cast<rank_t>(me));
}

// Transports come and go, and so do their communicators. MPICH 4.0 has some 2,000.
void churn(MPI_Comm world, int times) {
    int most = 0, me = 0;
    MPI_Comm_rank(world, &me);
    for (int i = 0; i != times; ++i) {
        communicator comm{mpi{world}};
        int x = 1;
        allreduce(comm, std::span(&x, 1), plus{});
        most = std::max(most, held.load());
    }
    check(most < 100, "communicators are given back when all ranks have ended their transport",
          static_cast<rank_t>(me));
}

// With MPI_THREAD_MULTIPLE each thread has transports of its own.
void threads(MPI_Comm world, int times) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE) return;
    std::array<MPI_Comm, 3> comms;
    for (MPI_Comm& c : comms) MPI_Comm_dup(world, &c);
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (const MPI_Comm c : comms)
        all.emplace_back([&, c] {
            for (int i = 0; i != times; ++i) {
                communicator comm{mpi{c}};
                int x = 1;
                allreduce(comm, std::span(&x, 1), plus{});
                wrong += x != static_cast<int>(comm.size());
            }
        });
    for (std::thread& t : all) t.join();
    for (MPI_Comm& c : comms) MPI_Comm_free(&c);
    check(wrong == 0, "transports in several threads", 0);
}

} // namespace

int main(int argc, char** argv) {
    int level = 0, ranks = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    {
        const std::uint64_t turn = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
        int me = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        for (const mpi_options options : {mpi_options{}, mpi_options{.window = 1, .eager_bytes = 0},
                                          mpi_options{.window = 4, .eager_bytes = 200'000}}) {
            for (const std::uint64_t seed : {2 * turn - 1, 2 * turn}) {
                const auto fault =
                    testing::check_transport_process(mpi{MPI_COMM_WORLD, options}, {.seed = seed, .messages = 150});
                check(!fault, fault.sentence, static_cast<rank_t>(me));
            }
            collectives(MPI_COMM_WORLD, options);
            ways(MPI_COMM_WORLD, options);
        }
        given_up_takes(MPI_COMM_WORLD);
        long_messages_ahead(MPI_COMM_WORLD);
        slow_frame(MPI_COMM_WORLD, false);
        slow_frame(MPI_COMM_WORLD, true);
        slow_frame_at_the_end(MPI_COMM_WORLD);
        poor_receiver(MPI_COMM_WORLD);
        poor_taker(MPI_COMM_WORLD);
        poor_sender(MPI_COMM_WORLD);
        poor_release(MPI_COMM_WORLD);
        owed_word(MPI_COMM_WORLD);
        any_order(MPI_COMM_WORLD);
        forks(MPI_COMM_WORLD);
        failing_calls(MPI_COMM_WORLD);
        failing_tests(MPI_COMM_WORLD);
        forked_wire_up(MPI_COMM_WORLD);
        silent_sender(MPI_COMM_WORLD, turn);
        different_calls(MPI_COMM_WORLD);
        refused(MPI_COMM_WORLD);
        const bool all = std::getenv("BOUGH_TEST_ALL") != nullptr;
        churn(MPI_COMM_WORLD, all && ranks == 2 && turn == 1 ? 10'000 : 150);
        threads(MPI_COMM_WORLD, ranks <= 2 ? 20 : 5);
        mpi_wire_up wire{MPI_COMM_WORLD};
        const auto fault = testing::check_wire_up(wire, {.break_it = false});
        check(!fault, fault.sentence, static_cast<rank_t>(me));
        poor_ends(MPI_COMM_WORLD);
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? 0 : 1;
}
