// SPDX-License-Identifier: BSL-1.0
// What the process group of PyTorch asks of bough, in C: PyTorch 1.13 is compiled as C++17 and bough as
// C++20, and a newer c10d needs a new adapter.cpp only.
#ifndef BOUGH_TOOLS_PYTORCH_GROUP_HPP
#define BOUGH_TOOLS_PYTORCH_GROUP_HPP

#include <cstddef>
#include <cstdint>

namespace bough_torch {

enum class kind : std::uint8_t {
    allreduce,      // in place, in `out`
    reduce,         // in place, in `out`
    broadcast,      // in place, in `out`
    allgather,      // `in` has `count` elements, `out` as many for each rank
    reduce_scatter, // `out` has `count` elements, `in` as many for each rank
    gather,         // as allgather; `out` at the root
    scatter,        // as reduce_scatter; `in` at the root
    alltoall,       // both have `count` elements for each rank
    alltoallv,      // by `sends` and `receives`
    barrier,
    send,    // `out`, to `root`
    receive, // into `out`, from `root`
};
enum class dtype : std::uint8_t { u8, i8, i16, i32, i64, f32, f64, f16, bf16, boolean, c64, c128 };
enum class reduction : std::uint8_t { sum, average, product, min, max, band, bor, bxor };

struct call {
    bough_torch::kind kind = kind::barrier;
    bough_torch::dtype type = dtype::u8;
    reduction op = reduction::sum;
    const void* in = nullptr;
    void* out = nullptr;
    std::size_t count = 0;
    int root = 0; // or the other rank of a send or receive
    int tag = 0;
    const std::size_t *sends = nullptr, *receives = nullptr; // alltoallv: elements for and from each rank
    std::uint64_t timeout_ns = 0;                            // 0: that of the group
};

// Where the ranks meet before they can talk. 0: well; 1: nobody set the key in time; 2: it is gone, and
// why() says more; 3: the key has another length.
struct store {
    void* context;
    int (*set)(void* context, const char* key, const void* data, std::size_t bytes);
    int (*get)(void* context, const char* key, void* data, std::size_t bytes, std::uint64_t timeout_ns);
    int (*add)(void* context, const char* key, std::int64_t value, std::int64_t& sum);
    const char* (*why)(void* context);
};

struct options {
    std::uint64_t timeout_ns = 0;
    const char* meets_at = "";        // the host of the store: tcp listens on the way to it; empty: at loopback
    const char* interface = "";       // the network interface at which tcp listens; empty: see meets_at
    const char* reports = "";         // a folder, in which calls are recorded for `bough doctor`; empty: none
    const char* name = "";            // of the group, in the names of these files
    bool same_bits = false;           // sums do not depend on the length of a vector, nor on an element's place
    bool accumulate_in_float = false; // sums of 16 bits are rounded once
};

struct group; // has threads of its own; all functions may be called by any thread
// `error` null: it ended well. Called once for each start, by whichever thread finds out, without a lock. It
// may start further jobs and wait for them.
using done = void(void* context, const char* error);
// May functions of the program run when `done` is called? It says so quickly; nothing is wrong if that
// changes.
using heard = bool(void* context);

// Null: `error` says why, in at most `bytes` characters.
group* make(int rank, int size, const store& where, const options& chosen, char* error, std::size_t bytes);
// What is in flight is given up. It may be called when a job is told that it is over.
void free(group* g);
// Ends its threads: from then on only callers that wait move things on. It waits for functions that these
// threads call now.
void stop_helper(group* g);
// Starts `count` calls, which are one job. Their data must live until it is done.
void start(group* g, const call* calls, std::size_t count, done* told, heard* is_heard, void* context);
// The ranks of `g` that are alive go on in a group of their own: all of them call it. What is in flight is
// given up, and `g` takes no further call. `rank` and `size` are those in the new group. Null: `error` says
// why; it may be called again, unless this rank was left out. `majority`: it fails where no more than half of the
// ranks are left.
group* shrink(group* g, std::uint64_t timeout_ns, bool majority, int& rank, int& size, char* error, std::size_t bytes);
// Where a group that grows and the processes that join it meet.
struct meeting {
    const char* const* hosts = nullptr; // names or addresses at which members may listen
    const std::uint16_t* ports = nullptr;
    std::size_t count = 0;
    const void* key = nullptr; // 32 bytes; null: they are in the file
    std::size_t key_bytes = 0;
    const char* key_file = "";
};
// The ranks of `g`, which all call it, and processes that call join() make a group of `size` ranks. It waits for
// what is in flight. Null: `error` says why, and `g` is as it was; otherwise `g` takes no further call.
group* grow(group* g, const meeting& where, int size, std::uint64_t timeout_ns, int& rank, char* error,
            std::size_t bytes);
// Of `chosen` it takes the interface, the folder of reports and the name. The rest is that of the group.
group* join(const meeting& where, const options& chosen, std::uint64_t timeout_ns, int& rank, int& size, char* error,
            std::size_t bytes);
// How often the group has grown or shrunk, the same on all ranks.
unsigned changes(const group* g);
// What the ranks that are alive have said; it works after failures, too.
struct agreement {
    bool all_said_yes = false;
    bool nobody_is_gone = false; // all ranks of the group have taken part
};
// False: `error` says why that is not known.
bool agree(group* g, bool mine, std::uint64_t timeout_ns, agreement& reached, char* error, std::size_t bytes);
// The address at which the other ranks reach this one.
const char* address(const group* g);
// take(context, text) with what this rank knows: its latest calls, and the ranks that it waits for.
void report(group* g, void (*take)(void* context, const char* text), void* context);
// The same with what these recordings say together.
void diagnose(const char* const* files, std::size_t count, void (*take)(void* context, const char* text),
              void* context);
// Works on what is in flight until over(context) says true, or for so long. False: not over. `context` is that
// of the start for which it waits.
bool wait(group* g, bool (*over)(void*), void* context, std::uint64_t timeout_ns);

} // namespace bough_torch

#endif
